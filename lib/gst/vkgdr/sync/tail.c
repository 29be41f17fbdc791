/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/tail.c: see sync/tail.h
 */

#include "sync/fence.h"
#include "sync/tail.h"

/* Fences that are kept for a kernel. If there are more, an event in front of
 * the kernel is cheaper. */
#define WAITS_MAX 8

GPtrArray *
gst_vkgdr_tail_new_waits (void)
{
  return g_ptr_array_new_with_free_func (
      (GDestroyNotify) gst_vkgdr_fence_unref);
}

void
gst_vkgdr_tail_init (GstVkgdrTail *self)
{
  g_mutex_init (&self->lock);
  self->is_known = TRUE;
  self->waits = gst_vkgdr_tail_new_waits ();
}

/* Moves the fence out of @self, so that it can be released without the lock.
 * Must be called with the lock held. */
static GstVkgdrFence *
forget (GstVkgdrTail *self)
{
  if (self->fence)
    gst_vkgdr_fence_record (self->fence, FALSE);
  self->n_queued++;
  return g_steal_pointer (&self->fence);
}

static void
give_back (GstVkgdrFence *fence)
{
  if (fence)
    gst_vkgdr_fence_unref (fence);
}

void
gst_vkgdr_tail_end (GstVkgdrTail *self)
{
  GPtrArray *waits = gst_vkgdr_tail_new_waits ();

  gst_vkgdr_tail_share (self);
  gst_vkgdr_tail_take_waits (self, &waits);
  g_ptr_array_unref (waits);
}

void
gst_vkgdr_tail_clear (GstVkgdrTail *self)
{
  give_back (self->fence);
  g_ptr_array_unref (self->waits);
  g_mutex_clear (&self->lock);
}

void
gst_vkgdr_tail_share (GstVkgdrTail *self)
{
  GstVkgdrFence *old;

  g_mutex_lock (&self->lock);
  self->is_shared = TRUE;
  old = forget (self);
  g_mutex_unlock (&self->lock);
  give_back (old);
}

void
gst_vkgdr_tail_add_kernel (GstVkgdrTail *self, gboolean is_watched)
{
  GstVkgdrFence *old = NULL;

  g_mutex_lock (&self->lock);
  if (!is_watched)
    self->is_known = FALSE;
  if (self->fence && gst_vkgdr_fence_is_deferred (self->fence))
    self->n_queued++;
  else
    old = forget (self);
  g_mutex_unlock (&self->lock);
  give_back (old);
}

void
gst_vkgdr_tail_record_deferred (GstVkgdrTail *self, gboolean is_current)
{
  g_mutex_lock (&self->lock);
  if (self->fence)
    gst_vkgdr_fence_record (self->fence, is_current);
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_tail_add_wait (
    GstVkgdrTail *self, GstVkgdrFence *fence, gboolean is_watched)
{
  GstVkgdrFence *old;

  g_mutex_lock (&self->lock);
  if (self->is_shared || !is_watched || self->waits->len == WAITS_MAX)
    self->is_known = FALSE;
  else
    g_ptr_array_add (self->waits, gst_vkgdr_fence_ref (fence));
  old = forget (self);
  g_mutex_unlock (&self->lock);
  give_back (old);
}

gboolean
gst_vkgdr_tail_take_waits (GstVkgdrTail *self, GPtrArray **waits)
{
  GPtrArray *taken;
  gboolean is_known;

  g_mutex_lock (&self->lock);
  is_known = self->is_known && !self->is_shared;
  self->is_known = TRUE;
  taken = self->waits;
  self->waits = *waits;
  *waits = taken;
  g_mutex_unlock (&self->lock);
  return is_known;
}

GstVkgdrFence *
gst_vkgdr_tail_get_fence (GstVkgdrTail *self, guint64 *n_queued)
{
  GstVkgdrFence *fence = NULL;

  g_mutex_lock (&self->lock);
  if (self->fence)
    fence = gst_vkgdr_fence_ref (self->fence);
  *n_queued = self->n_queued;
  g_mutex_unlock (&self->lock);
  return fence;
}

void
gst_vkgdr_tail_set_fence (
    GstVkgdrTail *self, GstVkgdrFence *fence, guint64 n_queued)
{
  g_mutex_lock (&self->lock);
  if (!self->is_shared && !self->fence && n_queued == self->n_queued) {
    gst_vkgdr_fence_set_serial (fence, n_queued + 1);
    self->fence = gst_vkgdr_fence_ref (fence);
  } else {
    gst_vkgdr_fence_record (fence, TRUE);
  }
  g_mutex_unlock (&self->lock);
}
