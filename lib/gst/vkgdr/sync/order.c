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

/* Made when there is the first: many memories are small, short-lived, and
 * never read. */
static GPtrArray *
make_readers (void)
{
  return g_ptr_array_new_with_free_func (
      (GDestroyNotify) gst_vkgdr_fence_unref);
}

static guint
count_readers (const GstVkgdrOrder *order)
{
  return order->readers ? order->readers->len : 0;
}

static void
add_reader (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  if (!order->readers)
    order->readers = make_readers ();
  g_ptr_array_add (order->readers, fence);
}

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

/* Somebody had the device pointer and told us nothing of his streams: what the
 * whole CUDA context has queued by now counts. The CPU waits for it only where
 * the driver has no fence for that. */
static gboolean
settle_foreign (GstVkgdrOrder *order, GError **error)
{
  GstVkgdrFence *fence;

  if (!order->foreign)
    return TRUE;
  fence = gst_vkgdr_fence_new_on_all (order->context);
  if (!fence && !gst_vkgdr_context_synchronize (order->context, error))
    return FALSE;
  g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
  order->written = fence;
  order->foreign = FALSE;
  return TRUE;
}

GPtrArray *
gst_vkgdr_order_finish (GstVkgdrOrder *order)
{
  GPtrArray *fences;

  settle_foreign (order, NULL);
  if (order->written)
    add_reader (order, order->written);
  fences = order->readers;
  g_clear_error (&order->lost);
  memset (order, 0, sizeof (*order));
  return fences;
}

/* An unmap cannot fail, so the next user of the content is told. */
static gboolean
check_lost (GstVkgdrOrder *order, GError **error)
{
  if (!order->lost)
    return TRUE;
  if (error)
    *error = g_error_copy (order->lost);
  return FALSE;
}

static gboolean
wait_written (GstVkgdrOrder *order, GError **error)
{
  if (!order->written)
    return TRUE;
  if (!gst_vkgdr_fence_wait (order->written, error))
    return FALSE;
  g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
  return TRUE;
}

static gboolean
wait_readers (GstVkgdrOrder *order, GError **error)
{
  while (count_readers (order) > 0) {
    if (!gst_vkgdr_fence_wait (g_ptr_array_index (order->readers, 0), error))
      return FALSE;
    g_ptr_array_remove_index_fast (order->readers, 0);
  }
  return TRUE;
}

gboolean
gst_vkgdr_order_wait (GstVkgdrOrder *order, GstMapFlags flags, GError **error)
{
  if (!check_lost (order, error) || !settle_foreign (order, error)
      || !wait_written (order, error))
    return FALSE;
  return !(flags & GST_MAP_WRITE) || wait_readers (order, error);
}

gboolean
gst_vkgdr_order_precede (GstVkgdrOrder *order, GstVkgdrContext *context,
    CUstream handle, GstMapFlags flags, GError **error)
{
  guint i;

  if (!check_lost (order, error) || !settle_foreign (order, error))
    return FALSE;
  if (order->written
      && !gst_vkgdr_fence_precede (order->written, context, handle, error))
    return FALSE;
  if (!(flags & GST_MAP_WRITE))
    return TRUE;
  for (i = 0; i < count_readers (order); i++)
    if (!gst_vkgdr_fence_precede (
            g_ptr_array_index (order->readers, i), context, handle, error))
      return FALSE;
  return TRUE;
}

gboolean
gst_vkgdr_order_stream (GstVkgdrOrder *order, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  return gst_vkgdr_order_precede (order, gst_vkgdr_stream_get_context (stream),
      gst_vkgdr_stream_get_handle (stream), flags, error);
}

/* Takes @fence, which is NULL where work is queued that no fence stands for. */
static void
mark (GstVkgdrOrder *order, GstVkgdrFence *fence, GstMapFlags flags)
{
  if (!fence) {
    order->foreign = TRUE;
    return;
  }
  if (!(flags & GST_MAP_WRITE)) {
    forget_reached_readers (order);
    add_reader (order, fence);
    return;
  }
  /* Writers wait for readers, so the fence stands for theirs, too. */
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
  order->written = fence;
}

GstVkgdrFence *
gst_vkgdr_order_mark (GstVkgdrOrder *order, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_stream_record (stream, error);

  mark (order, fence, flags);
  return fence;
}

void
gst_vkgdr_order_mark_untold (GstVkgdrOrder *order, GstMapFlags flags)
{
  mark (order, gst_vkgdr_fence_new_on_all (order->context), flags);
}

void
gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence)
{
  if (order->readers)
    g_ptr_array_set_size (order->readers, 0);
  g_clear_pointer (&order->written, gst_vkgdr_fence_unref);
  order->written = fence;
  order->foreign = FALSE;
}

gboolean
gst_vkgdr_order_is_written (GstVkgdrOrder *order)
{
  return !order->foreign && !order->lost
         && (!order->written || gst_vkgdr_fence_is_signaled (order->written));
}

gboolean
gst_vkgdr_order_is_idle (GstVkgdrOrder *order)
{
  forget_reached_readers (order);
  return !order->foreign && count_readers (order) == 0
         && (!order->written || gst_vkgdr_fence_is_signaled (order->written));
}
