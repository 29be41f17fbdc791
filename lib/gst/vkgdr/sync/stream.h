/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/stream.h: what other files of this room have to know of a stream
 *
 * A stream fails when one of its kernels runs for too long, or when it is
 * unknown whether its work has ended. Thread-safe.
 */

#ifndef __GST_VKGDR_STREAM_PRIVATE_H__
#define __GST_VKGDR_STREAM_PRIVATE_H__

#include "sync/sync-private.h"

G_BEGIN_DECLS

struct _GstVkgdrStream {
  GstObject parent;

  GstVkgdrContext *context;
  CUstream handle;
  gboolean is_wrapped; /* the handle belongs to another library */
  gint is_shared;      /* others may queue work on the handle; atomic */
  gint limit;          /* of the next kernel: milliseconds, or 0; atomic */
  gint failed;         /* `error` is set; atomic */
  gpointer reached;    /* the largest serial, as a number, of its fences that
                        * are known to be reached; atomic */

  /* Under the object lock: */
  GError *error;       /* why it failed, or NULL */
  GQueue launches;     /* of GstVkgdrFence, whose kernels may not have ended */
  guint n_open;        /* how many of these are open (sync/task.c) */
  GPtrArray *waits;    /* what the next kernel waits for; NULL: nothing */
  gboolean is_watched; /* a timer will check the launches */
};

/* FALSE with @error set if the stream has failed. */
gboolean gst_vkgdr_stream_check (GstVkgdrStream *self, GError **error);

/* Makes the stream fail and emits its signal "failed", once. Must be called
 * without a lock. @error: (transfer full) */
void gst_vkgdr_stream_fail (GstVkgdrStream *self, GError *error);

G_END_DECLS

#endif /* __GST_VKGDR_STREAM_PRIVATE_H__ */
