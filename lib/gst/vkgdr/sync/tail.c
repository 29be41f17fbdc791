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
gst_vkgdr_tail_init (
    GstVkgdrTail *self, GstVkgdrContext *context, CUstream handle)
{
  self->context = context;
  g_mutex_init (&self->lock);
  self->graph = gst_vkgdr_graph_new (context, handle);
  self->is_known = TRUE;
  self->waits = gst_vkgdr_tail_new_waits ();
}

/* --- kernels that are kept -------------------------------------------------
 */

/* If a deferred fence covers the kernels, this fence is lost. Otherwise the
 * next fence will be lost. Must be called with the lock held. */
static void
note_failure (GstVkgdrTail *self, CUresult result, const gchar *what)
{
  if (self->fence && gst_vkgdr_fence_is_deferred (self->fence)) {
    gst_vkgdr_fence_set_lost (self->fence, result, what);
    return;
  }
  self->failure = result;
  self->failed = what;
}

/* Must be called with the lock held. */
static CUresult
launch_kept (GstVkgdrTail *self, gboolean is_current, const gchar **what)
{
  CUresult result = CUDA_SUCCESS;

  if (!self->graph || gst_vkgdr_graph_get_length (self->graph) == 0)
    return CUDA_SUCCESS;
  *what = "cuCtxPushCurrent";
  if (!is_current)
    result = gst_vkgdr_context_try_push (self->context);
  if (result == CUDA_SUCCESS) {
    result = gst_vkgdr_graph_launch (self->graph, what);
    if (!is_current)
      gst_vkgdr_context_pop (self->context);
  } else {
    gst_vkgdr_graph_clear (self->graph);
  }
  if (result != CUDA_SUCCESS)
    note_failure (self, result, *what);
  return result;
}

CUresult
gst_vkgdr_tail_launch_kept (
    GstVkgdrTail *self, gboolean is_current, const gchar **what)
{
  CUresult result;

  g_mutex_lock (&self->lock);
  result = launch_kept (self, is_current, what);
  g_mutex_unlock (&self->lock);
  return result;
}

/* Must be called with the lock held. */
static CUresult
add_kernel (GstVkgdrTail *self, const GstVkgdrLaunch *launch, gboolean may_wait,
    const gchar **what)
{
  CUresult result = CUDA_SUCCESS;

  if (!gst_vkgdr_graph_add (self->graph, launch)) {
    result = launch_kept (self, TRUE, what);
    if (result == CUDA_SUCCESS)
      gst_vkgdr_graph_add (self->graph, launch);
  }
  if (result != CUDA_SUCCESS || (may_wait && !self->is_shared))
    return result;
  /* The caller gets the error of this kernel. A fence is only lost because of
   * earlier kernels. */
  if (gst_vkgdr_graph_get_length (self->graph) == 1)
    return gst_vkgdr_graph_launch (self->graph, what);
  return launch_kept (self, TRUE, what);
}

CUresult
gst_vkgdr_tail_launch (GstVkgdrTail *self, const GstVkgdrLaunch *launch,
    gboolean may_wait, const gchar **what)
{
  GPtrArray *dropped;
  CUresult result;

  gst_vkgdr_graph_prepare (
      self->graph, gst_vkgdr_graph_get_length (self->graph) + 1, launch);
  g_mutex_lock (&self->lock);
  result = add_kernel (self, launch, may_wait, what);
  dropped = gst_vkgdr_graph_take_dropped (self->graph);
  g_mutex_unlock (&self->lock);
  if (dropped)
    g_ptr_array_unref (dropped);
  return result;
}

/* --- work and fences -------------------------------------------------------
 */

/* Must be called with the lock held, before something else is queued or a fence
 * is used. */
static void
record (GstVkgdrTail *self, gboolean is_current)
{
  const gchar *what;

  launch_kept (self, is_current, &what);
  if (self->fence)
    gst_vkgdr_fence_record (self->fence, is_current);
}

/* Moves the fence out of @self, so that it can be released without the lock.
 * Must be called with the lock held. */
static GstVkgdrFence *
forget (GstVkgdrTail *self)
{
  record (self, FALSE);
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
  GstVkgdrGraph *graph;

  gst_vkgdr_tail_share (self);
  gst_vkgdr_tail_take_waits (self, &waits);
  g_ptr_array_unref (waits);
  g_mutex_lock (&self->lock);
  graph = g_steal_pointer (&self->graph);
  g_mutex_unlock (&self->lock);
  if (graph)
    gst_vkgdr_graph_free (graph);
}

void
gst_vkgdr_tail_clear (GstVkgdrTail *self)
{
  give_back (self->fence);
  g_clear_pointer (&self->graph, gst_vkgdr_graph_free);
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
  self->n_queued++;
  if (self->fence && !gst_vkgdr_fence_is_deferred (self->fence))
    old = g_steal_pointer (&self->fence);
  g_mutex_unlock (&self->lock);
  give_back (old);
}

void
gst_vkgdr_tail_record_deferred (GstVkgdrTail *self, gboolean is_current)
{
  g_mutex_lock (&self->lock);
  record (self, is_current);
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

/* Records a fence that is not kept. A deferred fence has to cover the kernels
 * that were kept before it was made. Must be called with the lock held. */
static void
record_now (GstVkgdrTail *self, GstVkgdrFence *fence)
{
  const gchar *what;
  CUresult result;

  if (!gst_vkgdr_fence_is_deferred (fence))
    return;
  result = launch_kept (self, TRUE, &what);
  if (result != CUDA_SUCCESS)
    gst_vkgdr_fence_set_lost (fence, result, what);
  else
    gst_vkgdr_fence_record (fence, TRUE);
}

void
gst_vkgdr_tail_set_fence (
    GstVkgdrTail *self, GstVkgdrFence *fence, guint64 n_queued)
{
  g_mutex_lock (&self->lock);
  if (self->failure != CUDA_SUCCESS) {
    gst_vkgdr_fence_set_lost (fence, self->failure, self->failed);
    self->failure = CUDA_SUCCESS;
  }
  if (!self->is_shared && !self->fence && n_queued == self->n_queued) {
    gst_vkgdr_fence_set_serial (fence, n_queued + 1);
    self->fence = gst_vkgdr_fence_ref (fence);
  } else {
    record_now (self, fence);
  }
  g_mutex_unlock (&self->lock);
}
