/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/order.c: see sync/order.h
 */

#include <string.h>

#include "sync/order.h"

void
gst_vkgdr_order_init (GstVkgdrOrder *order, GstVkgdrContext *context)
{
  order->context = context;
}

static guint
count_readers (const GstVkgdrOrder *order)
{
  return order->readers ? order->readers->len : 0;
}

/* The array is created with the first reader: many memories are small and
 * short-lived and never have one. */
static GPtrArray *
add_fence (GPtrArray *fences, GstVkgdrFence *fence)
{
  if (!fences)
    fences =
        g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  g_ptr_array_add (fences, fence);
  return fences;
}

/* Lost fences stay, because they must keep the memory from being reused. */
static void
forget_reached_readers (GstVkgdrOrder *order)
{
  guint i = 0;

  while (i < count_readers (order)) {
    if (gst_vkgdr_fence_is_signaled (g_ptr_array_index (order->readers, i)))
      g_ptr_array_remove_index_fast (order->readers, i);
    else
      i++;
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
}

/* Forgets the readers that a fence behind all work of the order's CUDA context
 * covers. */
static void
forget_own_readers (GstVkgdrOrder *order)
{
  guint i = 0;

  while (i < count_readers (order)) {
    GstVkgdrFence *fence = g_ptr_array_index (order->readers, i);

    if (gst_vkgdr_context_shares (
            order->context, gst_vkgdr_fence_get_context (fence)))
      g_ptr_array_remove_index_fast (order->readers, i);
    else
      i++;
  }
}

/* Replaces all fences of the CUDA context by one behind all its work. */
gboolean
gst_vkgdr_order_settle_unknown (GstVkgdrOrder *order)
{
  GstVkgdrFence *fence = gst_vkgdr_fence_new_on_all (order->context);

  if (!fence)
    return FALSE;
  forget_own_readers (order);
  set_written (order, fence);
  order->settled_uses = order->unknown_uses;
  return TRUE;
}

GPtrArray *
gst_vkgdr_order_finish (GstVkgdrOrder *order, gboolean *on_context)
{
  GPtrArray *fences;

  *on_context = gst_vkgdr_order_has_unknown_use (order)
                && !gst_vkgdr_order_settle_unknown (order);
  if (order->written)
    order->readers = add_fence (order->readers, order->written);
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

void
gst_vkgdr_order_settle_uses (GstVkgdrOrder *order, guint64 uses)
{
  order->settled_uses = MAX (order->settled_uses, uses);
}

/* --- the CPU ---------------------------------------------------------------
 */

gboolean
gst_vkgdr_order_get_pending (
    GstVkgdrOrder *order, GstMapFlags flags, GstVkgdrPending *pending)
{
  guint i;

  *pending = (GstVkgdrPending){ NULL, FALSE, 0 };
  if (gst_vkgdr_order_needs_context (order, &pending->uses)) {
    pending->on_context = TRUE;
    return TRUE;
  }
  forget_written (order);
  if (order->written)
    pending->fences =
        add_fence (pending->fences, gst_vkgdr_fence_ref (order->written));
  if (!(flags & GST_MAP_WRITE))
    return pending->fences != NULL;
  forget_reached_readers (order);
  for (i = 0; i < count_readers (order); i++)
    pending->fences = add_fence (pending->fences,
        gst_vkgdr_fence_ref (g_ptr_array_index (order->readers, i)));
  return pending->fences != NULL;
}

gboolean
gst_vkgdr_pending_wait (
    GstVkgdrPending *pending, GstVkgdrContext *context, GError **error)
{
  gboolean ok = TRUE;
  guint i;

  if (pending->on_context)
    ok = gst_vkgdr_context_synchronize (context, error);
  for (i = 0; ok && pending->fences && i < pending->fences->len; i++)
    ok = gst_vkgdr_fence_wait (g_ptr_array_index (pending->fences, i), error);
  g_clear_pointer (&pending->fences, g_ptr_array_unref);
  return ok;
}

/* --- streams ---------------------------------------------------------------
 */

gboolean
gst_vkgdr_order_make_wait (GstVkgdrOrder *order, GstVkgdrContext *context,
    CUstream handle, GstVkgdrStream *stream, GstMapFlags flags, GError **error)
{
  guint i;

  if (order->lost && !gst_vkgdr_order_check (order, error))
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
    order->unknown_uses++;
    return;
  }
  if (!(flags & GST_MAP_WRITE)) {
    if (count_readers (order) > 0)
      forget_reached_readers (order);
    order->readers = add_fence (order->readers, fence);
    return;
  }
  /* A writer waits for all readers, so its fence covers theirs as well. */
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  set_written (order, fence);
}

void
gst_vkgdr_order_mark_unknown_stream (GstVkgdrOrder *order, GstMapFlags flags)
{
  gst_vkgdr_order_mark (
      order, gst_vkgdr_fence_new_on_all (order->context), flags);
}

void
gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  set_written (order, fence);
  order->settled_uses = order->unknown_uses;
}

gboolean
gst_vkgdr_order_is_written (GstVkgdrOrder *order)
{
  if (gst_vkgdr_order_has_unknown_use (order) || order->lost)
    return FALSE;
  forget_written (order);
  return !order->written;
}

gboolean
gst_vkgdr_order_is_idle (GstVkgdrOrder *order)
{
  forget_reached_readers (order);
  forget_written (order);
  return !gst_vkgdr_order_has_unknown_use (order) && count_readers (order) == 0
         && !order->written;
}
