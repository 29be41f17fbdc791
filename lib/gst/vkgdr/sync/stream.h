/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/stream.h: what other files of this room have to know of a stream
 *
 * A stream fails when one of its kernels runs for too long, or when it is
 * unknown whether its work has ended. Thread-safe.
 */

#ifndef __GST_VKGDR_STREAM_PRIVATE_H__
#define __GST_VKGDR_STREAM_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrLaunch GstVkgdrLaunch;

/* A kernel with a time limit, from just before its launch until it has ended.
 * The reclaim thread of the context watches it (see sync/reclaim.h). */
struct _GstVkgdrLaunch {
  GstVkgdrStream *stream; /* a reference */
  const gchar *kernel;    /* interned */
  guint limit;            /* milliseconds */
  GstVkgdrFence *begin;   /* in front of the kernel */
  GstVkgdrFence *end;     /* behind it; NULL if it could not be recorded */
  gint is_closed;         /* `end` is final; atomic */
  GstVkgdrLaunch *next;   /* in the stream's open launches */

  /* Under the lock of the context's reclaim thread: */
  gint64 since;         /* when it was first seen to be able to run, or 0 */
  gboolean is_hung;     /* exceeded its limit; was reported */
  gboolean is_reported; /* failed; is being reported */
};

/* The limit of the next kernel in milliseconds, or 0. */
guint gst_vkgdr_stream_get_kernel_timeout (GstVkgdrStream *stream);

/* FALSE with @error set if the stream has failed. */
gboolean gst_vkgdr_stream_check (GstVkgdrStream *stream, GError **error);

/* Makes the stream fail and emits its signal "failed", once. Takes @error. Must
 * be called without a lock. */
void gst_vkgdr_stream_fail (GstVkgdrStream *stream, GError *error);

/* A launch is open from the moment when its kernel is queued until a fence is
 * recorded behind it. Both functions take no ownership. */
void gst_vkgdr_stream_add_open (GstVkgdrStream *stream, GstVkgdrLaunch *launch);
GstVkgdrLaunch *gst_vkgdr_stream_steal_open (GstVkgdrStream *stream);

gboolean gst_vkgdr_stream_has_open (GstVkgdrStream *stream);

/* Counts the launches of the stream that have not ended. */
void gst_vkgdr_stream_count_launch (GstVkgdrStream *stream, gint change);
gint gst_vkgdr_stream_get_n_launches (GstVkgdrStream *stream);

/* For a pass over the launches of a context: whether this is the first call
 * with @pass. Must be called with the lock of the reclaim thread held. */
gboolean gst_vkgdr_stream_begin_pass (GstVkgdrStream *stream, guint pass);

G_END_DECLS

#endif /* __GST_VKGDR_STREAM_PRIVATE_H__ */
