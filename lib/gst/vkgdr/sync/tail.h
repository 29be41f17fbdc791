/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/tail.h: what was queued on a stream last
 *
 * An event costs a microsecond, which is much for a small frame. So a fence
 * that is behind all work of a stream serves everybody who asks for one, until
 * more is queued. And a kernel needs no event in front if it is known what it
 * waits for: the work before it on the stream, and the fences that the stream
 * was told to wait for.
 *
 * All that queues work on a stream of this library says so here. When the
 * handle of a stream has been given to others, nothing is known any more.
 * Thread-safe.
 */

#ifndef __GST_VKGDR_TAIL_H__
#define __GST_VKGDR_TAIL_H__

#include <glib.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

typedef struct {
  GMutex lock;        /* for what follows */
  gboolean is_shared; /* others may queue work at any time */
  gboolean is_known; /* the waits are all that is in front of the next kernel */
  GPtrArray *waits;  /* of GstVkgdrFence, since the last kernel */
  guint64 n_queued;  /* changes whenever something is queued */
  GstVkgdrFence *fence; /* behind all that was queued, or NULL */
} GstVkgdrTail;

void gst_vkgdr_tail_init (GstVkgdrTail *self);

/* Gives back the fences. What is queued later counts as unknown. */
void gst_vkgdr_tail_end (GstVkgdrTail *self);

void gst_vkgdr_tail_clear (GstVkgdrTail *self);

/* Others have the stream's handle from now on. */
void gst_vkgdr_tail_share (GstVkgdrTail *self);

/* A kernel was queued, which is watched or not: then it is unknown to the next
 * kernel when it ends. */
void gst_vkgdr_tail_add_kernel (GstVkgdrTail *self, gboolean is_watched);

/* The stream was told to wait for @fence, which is kept for the next kernel if
 * that is going to be watched. */
void gst_vkgdr_tail_add_wait (
    GstVkgdrTail *self, GstVkgdrFence *fence, gboolean is_watched);

/* Exchanges *@waits, an empty array of GstVkgdrFence, for what the next kernel
 * waits for besides the kernels before it. FALSE if that is not known. */
gboolean gst_vkgdr_tail_take_waits (GstVkgdrTail *self, GPtrArray **waits);

/* An empty array for that. */
GPtrArray *gst_vkgdr_tail_new_waits (void);

/* A reference to a fence behind all that was queued; NULL if there is none.
 * Then the caller records one, and gives it to gst_vkgdr_tail_set_fence () with
 * @n_queued, which is set. */
GstVkgdrFence *gst_vkgdr_tail_get_fence (GstVkgdrTail *self, guint64 *n_queued);
void gst_vkgdr_tail_set_fence (
    GstVkgdrTail *self, GstVkgdrFence *fence, guint64 n_queued);

G_END_DECLS

#endif /* __GST_VKGDR_TAIL_H__ */
