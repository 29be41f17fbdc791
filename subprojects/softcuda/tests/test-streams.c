/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-streams.c: tests of the order of work on the software device
 *
 * Streams, events and host functions.
 */

#include <string.h>

#include "driver.h"

FIXTURE (setup_context, teardown_context);

static CUevent
new_event (unsigned int flags)
{
  CUevent event;

  ok (cu.cuEventCreate (&event, flags));
  return event;
}

static void
set_int (void *data)
{
  g_atomic_int_set ((gint *) data, 1);
}

TEST (order_in_a_stream)
{
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);
  CUdeviceptr device = new_memory (64, 0);
  unsigned char *host;
  Gate gate = { 0 };

  ok (cu.cuMemHostAlloc ((void **) &host, 64, 0));
  memset (host, 1, 64);
  ok (cu.cuLaunchHostFunc (stream, gate_wait, &gate));
  ok (cu.cuMemcpyHtoDAsync (device, host, 64, stream));
  ok (cu.cuMemsetD8Async (device + 32, 2, 32, stream));
  ok (cu.cuMemcpyDtoDAsync (device, device + 48, 8, stream));
  ok (cu.cuMemcpyDtoHAsync (host, device, 64, stream));
  fails (cu.cuStreamQuery (stream), CUDA_ERROR_NOT_READY);
  memset (host, 3, 64); /* the copy has not begun */
  gate_open (&gate);
  ok (cu.cuStreamSynchronize (stream));
  ok (cu.cuStreamQuery (stream));
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (host[i], i < 8 || i >= 32 ? 2 : 3);
  ok (cu.cuStreamDestroy (stream));
  fails (cu.cuStreamDestroy (stream), CUDA_ERROR_INVALID_HANDLE);
  fails (cu.cuStreamSynchronize (stream), CUDA_ERROR_INVALID_HANDLE);
}

/* The driver does not know this memory, so it may be freed as soon as the call
 * returns. */
TEST (pageable_memory_is_done_with)
{
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);
  CUdeviceptr device = new_memory (16, 0);
  unsigned char bytes[16];

  memset (bytes, 5, sizeof bytes);
  ok (cu.cuMemcpyHtoDAsync (device, bytes, 16, stream));
  memset (bytes, 6, sizeof bytes);
  ok (cu.cuMemcpyDtoHAsync (bytes, device, 16, stream));
  ck_assert_int_eq (bytes[15], 5);
}

/* As CUDA documents it: calls that are not asynchronous wait only if host
 * memory is involved. */
TEST (device_memory_is_not_waited_for)
{
  CUdeviceptr device = new_memory (64, 0);
  unsigned char *host;
  Gate gate = { 0 };

  ok (cu.cuMemHostAlloc ((void **) &host, 64, 0));
  ok (cu.cuLaunchHostFunc (NULL, gate_wait, &gate));
  ok (cu.cuMemsetD8 (device, 7, 32));
  ok (cu.cuMemcpyDtoD (device + 32, device, 32));
  fails (cu.cuStreamQuery (NULL), CUDA_ERROR_NOT_READY);
  gate_open (&gate);
  ok (cu.cuMemsetD8 ((CUdeviceptr) (uintptr_t) host, 9, 64));
  ck_assert_int_eq (host[63], 9);
  ok (cu.cuMemcpyDtoH (host, device, 64));
  ck_assert_int_eq (host[63], 7);
}

TEST (default_stream)
{
  CUstream blocking = new_stream (CU_STREAM_DEFAULT);
  CUstream later = new_stream (CU_STREAM_DEFAULT);
  CUstream apart = new_stream (CU_STREAM_NON_BLOCKING);
  gint in_default = 0, in_later = 0, in_apart = 0;
  Gate gate = { 0 };

  ok (cu.cuLaunchHostFunc (blocking, gate_wait, &gate));
  ok (cu.cuLaunchHostFunc (NULL, set_int, &in_default));
  ok (cu.cuLaunchHostFunc (later, set_int, &in_later));
  ok (cu.cuLaunchHostFunc (apart, set_int, &in_apart));
  ok (cu.cuStreamSynchronize (apart));
  ck_assert_int_eq (in_apart, 1);
  g_usleep (A_WHILE_US);
  ck_assert_int_eq (g_atomic_int_get (&in_default), 0);
  ck_assert_int_eq (g_atomic_int_get (&in_later), 0);
  fails (cu.cuStreamQuery (NULL), CUDA_ERROR_NOT_READY);
  gate_open (&gate);
  ok (cu.cuStreamSynchronize (later));
  ck_assert_int_eq (g_atomic_int_get (&in_default), 1);
  ck_assert_int_eq (g_atomic_int_get (&in_later), 1);
  ok (cu.cuStreamQuery (NULL));
}

TEST (events)
{
  CUstream first = new_stream (CU_STREAM_NON_BLOCKING);
  CUstream second = new_stream (CU_STREAM_NON_BLOCKING);
  CUevent event = new_event (CU_EVENT_DISABLE_TIMING);
  gint ran = 0;
  Gate gate = { 0 };

  ok (cu.cuEventQuery (event));
  ok (cu.cuEventSynchronize (event));
  ok (cu.cuStreamWaitEvent (second, event, 0));
  ok (cu.cuLaunchHostFunc (first, gate_wait, &gate));
  ok (cu.cuEventRecord (event, first));
  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  ok (cu.cuStreamWaitEvent (second, event, 0));
  ok (cu.cuLaunchHostFunc (second, set_int, &ran));
  ok (cu.cuEventDestroy (event)); /* a program may destroy an event that a
                                   * stream waits for */
  fails (cu.cuEventQuery (event), CUDA_ERROR_INVALID_HANDLE);
  g_usleep (A_WHILE_US);
  ck_assert_int_eq (g_atomic_int_get (&ran), 0);
  gate_open (&gate);
  ok (cu.cuStreamSynchronize (second));
  ck_assert_int_eq (g_atomic_int_get (&ran), 1);
}

/* A stream waits for the latest record before the call of
 * cuStreamWaitEvent(). */
TEST (wait_takes_the_latest_record)
{
  CUstream first = new_stream (CU_STREAM_NON_BLOCKING);
  CUstream second = new_stream (CU_STREAM_NON_BLOCKING);
  CUstream waiting = new_stream (CU_STREAM_NON_BLOCKING);
  CUevent event = new_event (CU_EVENT_DEFAULT);
  Gate gate = { 0 };

  ok (cu.cuEventRecord (event, first));
  ok (cu.cuStreamWaitEvent (waiting, event, 0));
  ok (cu.cuLaunchHostFunc (second, gate_wait, &gate));
  ok (cu.cuEventRecord (event, second));
  ok (cu.cuStreamSynchronize (waiting));
  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  gate_open (&gate);
  ok (cu.cuEventSynchronize (event));
  ok (cu.cuStreamDestroy (second));
  ok (cu.cuEventQuery (event)); /* the event outlives its stream */
  ok (cu.cuStreamWaitEvent (first, event, 0));
}

TEST (capture_mode)
{
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

  ok (cu.cuThreadExchangeStreamCaptureMode (&mode));
  ck_assert_int_eq (mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  ok (cu.cuThreadExchangeStreamCaptureMode (&mode));
  ck_assert_int_eq (mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  mode = (CUstreamCaptureMode) 3;
  invalid (cu.cuThreadExchangeStreamCaptureMode (&mode));
}

/* cuCtxRecordEvent() records an event after the work that all streams of the
 * context have at this time. The event does not wait for later work. */
TEST (record_of_a_context)
{
  CUstream first = new_stream (CU_STREAM_NON_BLOCKING);
  CUstream second = new_stream (CU_STREAM_DEFAULT);
  CUstream waiting = new_stream (CU_STREAM_NON_BLOCKING);
  CUevent event = new_event (CU_EVENT_DISABLE_TIMING);
  Gate early[2] = { { 0 } }, late = { 0 };
  CUcontext own;
  gint ran = 0;

  ok (cu.cuCtxRecordEvent (primary, event));
  ok (cu.cuEventSynchronize (event));
  ok (cu.cuLaunchHostFunc (first, gate_wait, &early[0]));
  ok (cu.cuLaunchHostFunc (second, gate_wait, &early[1]));
  ok (cu.cuCtxRecordEvent (primary, event));
  ok (cu.cuLaunchHostFunc (second, gate_wait, &late));
  ok (cu.cuStreamWaitEvent (waiting, event, 0));
  ok (cu.cuLaunchHostFunc (waiting, set_int, &ran));
  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  gate_open (&early[1]);
  g_usleep (A_WHILE_US);
  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  ck_assert_int_eq (g_atomic_int_get (&ran), 0);
  gate_open (&early[0]);
  ok (cu.cuEventSynchronize (event));
  ok (cu.cuStreamSynchronize (waiting));
  ck_assert_int_eq (g_atomic_int_get (&ran), 1);
  fails (cu.cuStreamQuery (second), CUDA_ERROR_NOT_READY);
  gate_open (&late);
  ok (cu.cuCtxSynchronize ());

  fails (cu.cuCtxRecordEvent (NULL, event), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxRecordEvent (primary, NULL), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuCtxCreate (&own, 0, 0));
  fails (cu.cuCtxRecordEvent (own, event), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuCtxDestroy (own));
  fails (cu.cuCtxRecordEvent (own, event), CUDA_ERROR_INVALID_CONTEXT);
}

TEST (elapsed_time)
{
  CUevent start = new_event (CU_EVENT_DEFAULT);
  CUevent end = new_event (CU_EVENT_DEFAULT);
  CUevent untimed = new_event (CU_EVENT_DISABLE_TIMING);
  float ms = -1;
  Gate gate = { 0 };

  fails (cu.cuEventElapsedTime (&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuEventRecord (start, NULL));
  ok (cu.cuEventRecord (untimed, NULL));
  ok (cu.cuLaunchHostFunc (NULL, gate_wait, &gate));
  ok (cu.cuEventRecord (end, NULL));
  fails (cu.cuEventElapsedTime (&ms, start, end), CUDA_ERROR_NOT_READY);
  ok (cu.cuEventSynchronize (start));
  g_usleep (A_WHILE_US);
  gate_open (&gate);
  ok (cu.cuEventSynchronize (end));
  ok (cu.cuEventElapsedTime (&ms, start, end));
  ck_assert_msg (ms >= A_WHILE_US / 1000 && ms < 60000, "%f", ms);
  ok (cu.cuEventElapsedTime (&ms, end, start));
  ck_assert (ms < 0);
  fails (cu.cuEventElapsedTime (&ms, untimed, end), CUDA_ERROR_INVALID_HANDLE);
}

static void
sleep_a_while (void *unused)
{
  g_usleep (A_WHILE_US);
}

TEST (free_waits_for_work)
{
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);
  CUdeviceptr device = new_memory (1000, 0);
  gint ran = 0;

  ok (cu.cuLaunchHostFunc (stream, sleep_a_while, NULL));
  ok (cu.cuMemsetD8Async (device, 1, 1000, stream));
  ok (cu.cuLaunchHostFunc (stream, set_int, &ran));
  ok (cu.cuMemFree (device));
  ck_assert_int_eq (g_atomic_int_get (&ran), 1);
}

/* The work of a destroyed stream is still done, and the call does not wait for
 * it. */
TEST (destroy_does_not_wait)
{
  CUstream stream = new_stream (CU_STREAM_DEFAULT);
  gint ran = 0;
  Gate gate = { 0 };

  ok (cu.cuLaunchHostFunc (stream, gate_wait, &gate));
  ok (cu.cuLaunchHostFunc (stream, set_int, &ran));
  ok (cu.cuStreamDestroy (stream));
  ck_assert_int_eq (g_atomic_int_get (&ran), 0);
  fails (cu.cuStreamQuery (stream), CUDA_ERROR_INVALID_HANDLE);
  fails (cu.cuStreamDestroy (stream), CUDA_ERROR_INVALID_HANDLE);
  gate_open (&gate);
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (g_atomic_int_get (&ran), 1);
}

TEST (context_takes_its_own_along)
{
  CUcontext own;
  CUstream stream;
  CUevent event, foreign = new_event (CU_EVENT_DEFAULT);
  CUdeviceptr pointer;
  gint ran = 0;

  ok (cu.cuCtxCreate (&own, 0, 0));
  stream = new_stream (CU_STREAM_DEFAULT);
  event = new_event (CU_EVENT_DEFAULT);
  pointer = new_memory (100, 0);
  fails (cu.cuEventRecord (foreign, stream), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuLaunchHostFunc (stream, sleep_a_while, NULL));
  ok (cu.cuEventRecord (event, stream));
  ok (cu.cuStreamWaitEvent (NULL, event, 0));
  ok (cu.cuLaunchHostFunc (NULL, set_int, &ran));
  ok (cu.cuCtxDestroy (own));
  ck_assert_int_eq (g_atomic_int_get (&ran), 1);
  fails (cu.cuStreamQuery (stream), CUDA_ERROR_INVALID_HANDLE);
  fails (cu.cuEventQuery (event), CUDA_ERROR_INVALID_HANDLE);
  invalid (cu.cuMemFree (pointer));
}

static void
call_the_driver (void *data)
{
  size_t free_bytes, total;

  g_atomic_int_set ((gint *) data, cu.cuMemGetInfo (&free_bytes, &total));
}

TEST (host_function_may_not_call)
{
  gint result = -1;

  ok (cu.cuLaunchHostFunc (NULL, call_the_driver, &result));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (g_atomic_int_get (&result), CUDA_ERROR_NOT_PERMITTED);
  invalid (cu.cuLaunchHostFunc (NULL, NULL, NULL));
}

/* Several threads use streams of their own, and an event and memory that all
 * share. */
static CUevent shared;
static CUdeviceptr sum;

static gpointer
one_of_many (gpointer unused)
{
  CUstream stream;

  ok (cu.cuCtxPushCurrent (primary));
  stream = new_stream (CU_STREAM_NON_BLOCKING);
  for (int i = 0; i < 50; i++) {
    CUevent own = new_event (CU_EVENT_DISABLE_TIMING);
    CUdeviceptr memory;

    ok (cu.cuMemAlloc (&memory, 256));
    ok (cu.cuMemsetD8Async (memory, i, 256, stream));
    ok (cu.cuEventRecord (own, stream));
    ok (cu.cuEventRecord (shared, stream));
    ok (cu.cuStreamWaitEvent (NULL, own, 0));
    ok (cu.cuStreamWaitEvent (stream, shared, 0));
    ok (cu.cuMemcpyDtoDAsync (sum, memory, 1, NULL));
    ok (cu.cuEventDestroy (own));
    if (i % 8 == 0)
      ok (cu.cuEventSynchronize (shared));
    ok (cu.cuMemFree (memory));
  }
  ok (cu.cuStreamDestroy (stream));
  ok (cu.cuCtxPopCurrent (NULL));
  return NULL;
}

TEST (many_threads)
{
  GThread *threads[4];

  shared = new_event (CU_EVENT_DEFAULT);
  sum = new_memory (1, 0);
  for (int i = 0; i < 4; i++)
    threads[i] = g_thread_new ("crowd", one_of_many, NULL);
  for (int i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  ok (cu.cuCtxSynchronize ());
}
