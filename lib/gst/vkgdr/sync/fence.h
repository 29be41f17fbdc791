/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: what other files of this room have to know of a fence
 */

#ifndef __GST_VKGDR_FENCE_H__
#define __GST_VKGDR_FENCE_H__

#include "sync/stream.h"

G_BEGIN_DECLS

struct _GstVkgdrFence {
  gint result;       /* atomic; a CUresult; final unless CUDA_ERROR_NOT_READY */
  const gchar *what; /* the call that failed; atomic */
  GstVkgdrContext *context; /* a reference, unless `stream` has one */
  GstVkgdrStream *stream;   /* a reference; NULL for a foreign stream */
  CUevent event; /* atomic; NULL if it is not recorded yet, or cannot be */

  /* Numbers of the same counter of the process. What was recorded before
   * another fence of the stream was made is reached before it. */
  gsize serial;   /* when the fence was made */
  gsize recorded; /* when it had been recorded; valid if there is an `event` */

  /* Of a launch; these do not change. */
  const gchar *kernel; /* interned; NULL: not a launch */
  gint limit;          /* milliseconds, or 0; atomic; may be set later */
  GPtrArray *waits;    /* the fences that the kernel waits for, except that of
                        * the launch before it; NULL: none */

  /* Of a launch; under the object lock of the stream. */
  GList link;           /* in the stream's list; `data` is NULL outside of it */
  gint64 since;         /* when it was first seen to be able to run, or 0 */
  gboolean is_open;     /* the kernel is queued, and the thread does something
                         * else before the event is recorded */
  gboolean is_hung;     /* exceeded its limit; was reported */
  gboolean is_reported; /* failed; is being reported */
};

/* Records a fence behind all work queued so far. NULL with @error set on
 * failure. */
GstVkgdrFence *gst_vkgdr_fence_new (GstVkgdrStream *stream, GError **error);

/* Makes a fence for work that will be queued on @stream. It is pending until
 * gst_vkgdr_fence_record () was called and the device has reached it. */
GstVkgdrFence *gst_vkgdr_fence_new_pending (GstVkgdrStream *stream);

/* Records the event of such a fence behind all work queued so far. FALSE with
 * @error set on failure: then the fence stays pending. Must be called once. */
gboolean gst_vkgdr_fence_record (GstVkgdrFence *fence, GError **error);

/* If @fence is pending, queries a later launch of its stream. If that is
 * reached, neither @fence nor those between the two have to be queried. Must be
 * called without the object lock of a stream. */
void gst_vkgdr_fence_look_ahead (GstVkgdrFence *fence);

/* Drops what the next kernel of the stream would wait for. */
void gst_vkgdr_stream_forget_waits (GstVkgdrStream *stream);

G_END_DECLS

#endif /* __GST_VKGDR_FENCE_H__ */
