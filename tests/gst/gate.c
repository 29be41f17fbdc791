/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gate.c: see gate.h
 */

#include "gate.h"

/* Less than the time limits of the tests. While many other programs open and
 * close the same GPU, a call of the driver can take several seconds. */
#define PATIENCE (25 * G_TIME_SPAN_SECOND)

static struct {
  GMutex lock;
  GCond cond;
  gboolean open;
  gint missed; /* atomic */
} gate;

static vkgdr_cuda real; /* the driver's table before it is changed */

void
test_gate_set (gboolean open)
{
  g_mutex_lock (&gate.lock);
  gate.open = open;
  g_cond_broadcast (&gate.cond);
  g_mutex_unlock (&gate.lock);
}

gboolean
test_gate_was_missed (void)
{
  return g_atomic_int_get (&gate.missed);
}

void
test_gate_wait (void *user_data)
{
  gint64 deadline = g_get_monotonic_time () + PATIENCE;

  g_mutex_lock (&gate.lock);
  while (!gate.open && !g_atomic_int_get (&gate.missed))
    if (!g_cond_wait_until (&gate.cond, &gate.lock, deadline))
      g_atomic_int_set (&gate.missed, TRUE);
  g_mutex_unlock (&gate.lock);
}

void
test_gate_delay (GstVkgdrStream *stream, guint ms, gint *done)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  CUstream handle = gst_vkgdr_stream_get_handle (stream);

  test_gate_set (FALSE);
  fail_unless (gst_vkgdr_context_push (context, NULL));
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuLaunchHostFunc (handle, test_gate_wait, NULL),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);
  test_stream_delay (stream, ms, done);
}

void
test_gate_access (GstMemory *memory, GstVkgdrStream *stream, GstMapFlags flags,
    guint ms, gint *done)
{
  fail_unless (gst_vkgdr_memory_begin_access (memory, stream, flags, NULL));
  test_gate_delay (stream, ms, done);
  fail_unless (gst_vkgdr_memory_end_access (memory, stream, flags, NULL));
}

static CUresult
gated_htod (CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  real.cuLaunchHostFunc (stream, test_gate_wait, NULL);
  return real.cuMemcpyHtoDAsync (dst, src, size, stream);
}

void
test_gate_transfers (void)
{
  test_change_driver (&real)->cuMemcpyHtoDAsync = gated_htod;
}
