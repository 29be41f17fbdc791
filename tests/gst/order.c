/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * order.c: tests of the fences that the order of a memory keeps
 */

#include "gate.h"
#include "sync/sync-private.h"

static gboolean
contains (const GPtrArray *fences, GstVkgdrFence *fence)
{
  return fences && g_ptr_array_find ((GPtrArray *) fences, fence, NULL);
}

TEST_FIXTURE (test_setup, test_teardown);

/* After a use on streams that were not declared, one fence behind all work of
 * the CUDA context replaces the fences of this CUDA context. It does not cover
 * a reader in another CUDA context. */
TEST (unknown_use_keeps_readers_of_other_contexts)
{
  GstVkgdrFence *near_fence, *far_fence;
  GstVkgdrStream *near, *far;
  GstVkgdrContext *other;
  GstVkgdrOrder order = { .context = test_context };
  CUcontext own = NULL;
  GMutex lock;

  g_mutex_init (&lock);
  if (!vkgdr_driver_load ()->cuCtxRecordEvent) /* an older driver */
    return;
  other = test_other_context_new (&own);
  near = test_stream_new (test_context);
  far = test_stream_new (other);
  test_gate_delay (far, 0, NULL);
  far_fence = gst_vkgdr_stream_record (far, NULL);
  near_fence = gst_vkgdr_stream_record (near, NULL);
  gst_vkgdr_order_mark (&order, gst_vkgdr_fence_ref (far_fence), GST_MAP_READ);
  gst_vkgdr_order_mark (&order, near_fence, GST_MAP_READ);
  gst_vkgdr_order_mark (&order, NULL, GST_MAP_READ);

  fail_unless (gst_vkgdr_order_settle_unknown (&order));
  fail_unless (order.written != NULL);
  fail_unless (contains (order.readers, far_fence));
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  g_mutex_lock (&lock);
  fail_unless (gst_vkgdr_order_wait (&order, &lock, GST_MAP_WRITE, NULL));
  g_mutex_unlock (&lock);
  fail_unless (gst_vkgdr_fence_is_signaled (far_fence));

  g_clear_pointer (&order.written, gst_vkgdr_fence_unref);
  g_clear_pointer (&order.readers, g_ptr_array_unref);
  gst_vkgdr_fence_unref (far_fence);
  gst_object_unref (near);
  gst_object_unref (far);
  test_assert_last_ref (other);
  gst_object_unref (other);
  vkgdr_driver_load ()->cuCtxDestroy (own);
}
