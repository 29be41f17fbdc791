/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/tail.h: the last work that was queued on a stream
 *
 * An event costs a microsecond, which is much for a small frame. So a fence
 * behind all work of a stream is shared by all callers until more work is
 * queued. A kernel needs no event in front of it if everything that it waits
 * for is known: the earlier work of the stream, and the fences that the stream
 * waits for. The fence may be deferred (see sync/fence.h): then the tail keeps
 * it until its event is recorded.
 *
 * Kernels that are known to end may be launched together (see sync/graph.h).
 * The tail keeps such kernels until something else is queued on the stream, a
 * fence is recorded, or a thread waits for the stream. They count as queued: no
 * caller can tell the difference.
 *
 * All code that queues work on a stream of this library reports it here. When
 * the handle of a stream has been given to other code, the last work is not
 * known any more. Thread-safe.
 */

#ifndef __GST_VKGDR_TAIL_H__
#define __GST_VKGDR_TAIL_H__

#include <glib.h>
#include <gst/vkgdr/gstvkgdrstream.h>

#include "sync/graph.h"

G_BEGIN_DECLS

typedef struct {
  GstVkgdrContext *context; /* not a reference */
  GMutex lock;              /* for the fields below */
  GstVkgdrGraph *graph;     /* NULL after the stream was disposed */
  gboolean is_shared;       /* other code may queue work at any time */
  gboolean is_known;        /* `waits` is complete */
  GPtrArray *waits;         /* of GstVkgdrFence; waits since the last kernel */
  guint64 n_queued;         /* changes whenever something is queued */
  GstVkgdrFence *fence;     /* behind all that was queued, or NULL */
  CUresult failure;         /* of kept kernels that no fence covered yet */
  const gchar *failed;      /* the call that returned it */
} GstVkgdrTail;

/* For the stream @handle of @context, which must outlive @self. */
void gst_vkgdr_tail_init (
    GstVkgdrTail *self, GstVkgdrContext *context, CUstream handle);

/* Must be called when the stream is disposed. Releases the fences. Work that is
 * queued later counts as unknown. */
void gst_vkgdr_tail_end (GstVkgdrTail *self);

void gst_vkgdr_tail_clear (GstVkgdrTail *self);

/* Must be called when the stream's handle is given to other code. */
void gst_vkgdr_tail_share (GstVkgdrTail *self);

/* Launches a kernel, or keeps it if @may_wait. Must be called with the CUDA
 * context current. On failure, *@what is the call that returned the error,
 * maybe for an earlier kernel. */
CUresult gst_vkgdr_tail_launch (GstVkgdrTail *self,
    const GstVkgdrLaunch *launch, gboolean may_wait, const gchar **what);

/* Launches the kernels that were kept. Must be called before anything is queued
 * on the stream that is not reported here. On failure, *@what is the call that
 * returned the error. @is_current: whether the CUDA context is current. */
CUresult gst_vkgdr_tail_launch_kept (
    GstVkgdrTail *self, gboolean is_current, const gchar **what);

/* Must be called when a kernel was queued. If it is not watched, it is unknown
 * when it ends, so the waits of the next kernel are not complete. A deferred
 * fence covers the kernel, too. */
void gst_vkgdr_tail_add_kernel (GstVkgdrTail *self, gboolean is_watched);

/* Must be called when the stream waits for @fence, which is kept for the next
 * kernel if @is_watched. */
void gst_vkgdr_tail_add_wait (
    GstVkgdrTail *self, GstVkgdrFence *fence, gboolean is_watched);

/* Replaces *@waits, an empty array of GstVkgdrFence, by the fences that the
 * next kernel waits for besides earlier kernels. FALSE if these are not known.
 */
gboolean gst_vkgdr_tail_take_waits (GstVkgdrTail *self, GPtrArray **waits);

/* Returns an empty array for gst_vkgdr_tail_take_waits (). */
GPtrArray *gst_vkgdr_tail_new_waits (void);

/* Launches the kernels that were kept, and records the event of a deferred
 * fence, so that it covers no later work.
 * @is_current: whether the CUDA context is current. */
void gst_vkgdr_tail_record_deferred (GstVkgdrTail *self, gboolean is_current);

/* Returns a reference to a fence behind all queued work, which may be deferred;
 * NULL if there is none. In that case @n_queued is set, and the caller makes a
 * fence and passes it to gst_vkgdr_tail_set_fence () with @n_queued. */
GstVkgdrFence *gst_vkgdr_tail_get_fence (GstVkgdrTail *self, guint64 *n_queued);

/* Keeps @fence, unless work was queued since @n_queued was set, another fence
 * is kept, or the handle was given to other code. A deferred fence that is not
 * kept is recorded behind the kernels that were kept. If kept kernels could not
 * be launched since the last fence, this one is lost. Must be called with the
 * CUDA context current. */
void gst_vkgdr_tail_set_fence (
    GstVkgdrTail *self, GstVkgdrFence *fence, guint64 n_queued);

G_END_DECLS

#endif /* __GST_VKGDR_TAIL_H__ */
