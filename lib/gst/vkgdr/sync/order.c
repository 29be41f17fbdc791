/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/order.c: see sync/sync-private.h
 */

#include <string.h>

#include "sync/sync-private.h"

static guint
count_readers (const GstVkgdrOrder *order)
{
  return order->readers ? order->readers->len : 0;
}

/* Lost fences stay, because they must keep the memory from being reused. */
static void
forget_reached_readers (GstVkgdrOrder *order)
{
  guint i;

  for (i = count_readers (order); i-- > 0;)
    if (gst_vkgdr_fence_is_signaled (g_ptr_array_index (order->readers, i)))
      g_ptr_array_remove_index_fast (order->readers, i);
}

/* Does not query fences that @fence covers, because the query of a fence that
 * is not reached costs as much as half a launch. */
static void
forget_readers_before (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  guint i;

  for (i = count_readers (order); i-- > 0;) {
    GstVkgdrFence *reader = g_ptr_array_index (order->readers, i);

    if (gst_vkgdr_fence_covers (fence, reader)
        || gst_vkgdr_fence_is_signaled (reader))
      g_ptr_array_remove_index_fast (order->readers, i);
  }
}

static void
forget_written (GstVkgdrOrder *order)
{
  if (order->written && gst_vkgdr_fence_is_signaled (order->written))
    g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
}

/* Replaces the fence behind the last write. */
static void
set_written (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
  order->written = fence;
  order->n_written++;
}

gboolean
gst_vkgdr_order_settle_unknown (GstVkgdrOrder *order)
{
  GstVkgdrFence *fence;

  if (!order->has_unknown_use)
    return TRUE;
  fence = gst_vkgdr_fence_new_on_all (order->context);
  if (!fence)
    return FALSE;
  set_written (order, fence);
  order->has_unknown_use = FALSE;
  return TRUE;
}

GPtrArray *
gst_vkgdr_order_finish (GstVkgdrOrder *order)
{
  GPtrArray *fences;

  if (!gst_vkgdr_order_settle_unknown (order))
    order->readers = gst_vkgdr_fences_add (
        order->readers, gst_vkgdr_fence_new_lost (order->context));
  if (order->written)
    order->readers = gst_vkgdr_fences_add (order->readers, order->written);
  fences = order->readers;
  g_clear_error (&order->lost);
  memset (order, 0, sizeof (*order));
  return fences;
}

gboolean
gst_vkgdr_order_check (GstVkgdrOrder *order, GError **error)
{
  if (!order->lost)
    return TRUE;
  if (error)
    *error = g_error_copy (order->lost);
  return FALSE;
}

/* --- the CPU ---------------------------------------------------------------
 */

/* Returns a reference to a fence that an access with @flags has to follow, or
 * NULL. */
static GstVkgdrFence *
find_pending (GstVkgdrOrder *order, GstMapFlags flags)
{
  forget_written (order);
  if (order->written)
    return gst_vkgdr_fence_ref (order->written);
  if (!(flags & GST_MAP_WRITE))
    return NULL;
  forget_reached_readers (order);
  return count_readers (order) > 0
             ? gst_vkgdr_fence_ref (g_ptr_array_index (order->readers, 0))
             : NULL;
}

/* Waits for @fence (transfer full), or, if it is NULL, for the whole CUDA
 * context because of an unknown use. That one is forgotten only after the wait,
 * so that other threads wait, too. */
static gboolean
wait_unlocked (
    GstVkgdrOrder *order, GstVkgdrFence *fence, GMutex *lock, GError **error)
{
  gboolean is_unknown = fence == NULL, ok;

  g_mutex_unlock (lock);
  ok = fence ? gst_vkgdr_fence_wait (fence, error)
             : gst_vkgdr_context_synchronize (order->context, error);
  g_clear_pointer (&fence, gst_vkgdr_fence_unref);
  g_mutex_lock (lock);
  if (ok && is_unknown)
    order->has_unknown_use = FALSE;
  return ok;
}

gboolean
gst_vkgdr_order_wait (
    GstVkgdrOrder *order, GMutex *lock, GstMapFlags flags, GError **error)
{
  GstVkgdrFence *fence;
  gboolean ok = TRUE;

  while (ok && gst_vkgdr_order_check (order, error)) {
    gboolean is_settled = gst_vkgdr_order_settle_unknown (order);

    fence = is_settled ? find_pending (order, flags) : NULL;
    if (is_settled && !fence)
      return TRUE;
    ok = wait_unlocked (order, fence, lock, error);
  }
  return FALSE;
}

/* --- streams ---------------------------------------------------------------
 */

gboolean
gst_vkgdr_order_settle (GstVkgdrOrder *order, GMutex *lock, GError **error)
{
  return gst_vkgdr_order_settle_unknown (order)
         || gst_vkgdr_order_wait (order, lock, GST_MAP_READ, error);
}

gboolean
gst_vkgdr_order_make_wait (GstVkgdrOrder *order, GstVkgdrContext *context,
    CUstream handle, GstVkgdrStream *stream, GstMapFlags flags, GError **error)
{
  guint i;

  if (!gst_vkgdr_order_check (order, error))
    return FALSE;
  if (order->written
      && !gst_vkgdr_fence_precede (
          order->written, context, handle, stream, error))
    return FALSE;
  if (!(flags & GST_MAP_WRITE))
    return TRUE;
  for (i = 0; i < count_readers (order); i++)
    if (!gst_vkgdr_fence_precede (g_ptr_array_index (order->readers, i),
            context, handle, stream, error))
      return FALSE;
  return TRUE;
}

void
gst_vkgdr_order_mark (
    GstVkgdrOrder *order, GstVkgdrFence *fence, GstMapFlags flags)
{
  if (!fence) {
    order->has_unknown_use = TRUE;
    return;
  }
  if (!(flags & GST_MAP_WRITE)) {
    forget_readers_before (order, fence);
    order->readers = gst_vkgdr_fences_add (order->readers, fence);
    return;
  }
  /* A writer waits for all readers, so its fence covers theirs as well. */
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  set_written (order, fence);
}

void
gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  set_written (order, fence);
  order->has_unknown_use = FALSE;
}

gboolean
gst_vkgdr_order_is_written (GstVkgdrOrder *order)
{
  if (order->has_unknown_use || order->lost)
    return FALSE;
  forget_written (order);
  return !order->written;
}

static gboolean
is_behind (const GstVkgdrOrder *order, GstVkgdrFence *earlier)
{
  guint i;

  for (i = 0; i < count_readers (order); i++)
    if (gst_vkgdr_fence_is_behind (
            g_ptr_array_index (order->readers, i), earlier))
      return TRUE;
  return order->written && gst_vkgdr_fence_is_behind (order->written, earlier);
}

gboolean
gst_vkgdr_order_is_idle (GstVkgdrOrder *order, GstVkgdrFence **pending)
{
  GstVkgdrFence *fence;

  if (order->has_unknown_use || (*pending && is_behind (order, *pending)))
    return FALSE;
  fence = find_pending (order, GST_MAP_WRITE);
  if (!fence)
    return TRUE;
  g_clear_pointer (pending, gst_vkgdr_fence_unref);
  *pending = fence;
  return FALSE;
}
