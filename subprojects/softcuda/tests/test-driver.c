/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-driver.c: tests of the software device, of contexts, of calls that are
 * counted, and of calls that are made to fail
 */

#include <string.h>

#include "driver.h"

/* ---- without a context ---- */

TEST (nothing_before_init)
{
  int count;

  load_driver ();
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_NOT_INITIALIZED);
  invalid (cu.cuInit (1));
  ok (cu.cuInit (0));
  ok (cu.cuDeviceGetCount (&count));
  ck_assert_int_eq (count, 1);
}

TEST (fail_by_environment)
{
  load_driver ();
  g_setenv ("SOFTCUDA_FAIL", "cuInit:2:CUDA_ERROR_NO_DEVICE", TRUE);
  ok (cu.cuInit (0));
  fails (cu.cuInit (0), CUDA_ERROR_NO_DEVICE);
  ok (cu.cuInit (0));
  g_setenv ("SOFTCUDA_FAIL", "nonsense", TRUE);
  invalid (cu.cuInit (0));
  g_unsetenv ("SOFTCUDA_FAIL");
  ok (cu.cuInit (0));
}

TEST (no_encoder)
{
  void *library = open_library ("libnvidia-encode.so.1");
  int (*version) (guint32 *) =
      find_symbol (library, "NvEncodeAPIGetMaxSupportedVersion");
  int (*create) (void *) = find_symbol (library, "NvEncodeAPICreateInstance");
  struct {
    guint32 version[2];
    int (*call[320]) (void *, void **);
  } api = { { 0 } };
  guint32 newest = 0;
  void *session;

  ck_assert_int_eq (version (&newest), 0);
  ck_assert_int_eq (newest >> 4, 12);
  ck_assert_int_eq (create (&api), 0);
  ck_assert_int_eq (api.call[29](NULL, &session), 1);
  ck_assert (api.call[40] == NULL);
}

/* ---- the device ---- */

FIXTURE (setup_context, teardown_context);

/* Its UUID is that of Vulkan's software device, if there is one. */
TEST (device)
{
  static const CUuuid nothing;
  CUuuid first, second;
  CUdevice device = -1;
  char text[64];
  int value, minor;
  size_t total;

  ok (cu.cuDriverGetVersion (&value));
  ck_assert_int_eq (value, 13000);
  ok (cu.cuDeviceGet (&device, 0));
  fails (cu.cuDeviceGet (&device, 1), CUDA_ERROR_INVALID_DEVICE);
  ok (cu.cuDeviceGetName (text, sizeof text, device));
  ck_assert_msg (g_str_has_prefix (text, "softcuda ("), "%s", text);
  ok (cu.cuDeviceGetName (text, 5, device));
  ck_assert_str_eq (text, "soft");
  ok (cu.cuDeviceGetPCIBusId (text, sizeof text, device));
  ck_assert_str_eq (text, "0000:00:00.0");
  ok (cu.cuDeviceGetByPCIBusId (&device, text));
  ck_assert_int_eq (device, 0);
  fails (cu.cuDeviceGetByPCIBusId (&device, "0000:01:00.0"),
      CUDA_ERROR_INVALID_DEVICE);
  ok (cu.cuDeviceTotalMem (&total, 0));
  ck_assert_uint_eq (total, LIMIT);
  ok (cu.cuDeviceComputeCapability (&value, &minor, 0));
  ck_assert (value == 9 && minor == 0);
  ok (cu.cuDeviceGetUuid (&first, 0));
  ck_assert_mem_ne (&first, &nothing, sizeof first);
  ok (cu.cuDeviceGetUuid_v2 (&second, 0));
  ck_assert_mem_eq (&first, &second, sizeof first);
  invalid (cu.cuDeviceGetUuid (NULL, 0));
  fails (cu.cuDeviceGetUuid (&first, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST (every_attribute_has_a_value)
{
  /* the width of a grid is 5, and 13 is the clock rate in kHz */
  static const int expected[][2] = { { 5, 2147483647 }, { 13, 1000000 },
    { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
    { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 } };
  int value;

  for (int i = 1; i < 140; i++)
    ok (cu.cuDeviceGetAttribute (&value, i, 0));
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++) {
    ok (cu.cuDeviceGetAttribute (&value, expected[i][0], 0));
    ck_assert_int_eq (value, expected[i][1]);
  }
  invalid (cu.cuDeviceGetAttribute (&value, 0, 0));
  invalid (cu.cuDeviceGetAttribute (&value, 9999, 0));
}

TEST (error_names)
{
  const char *text;

  ok (cu.cuGetErrorName (CUDA_ERROR_OUT_OF_MEMORY, &text));
  ck_assert_str_eq (text, "CUDA_ERROR_OUT_OF_MEMORY");
  ok (cu.cuGetErrorString (CUDA_ERROR_OUT_OF_MEMORY, &text));
  ck_assert_str_eq (text, "out of memory");
  invalid (cu.cuGetErrorName (4711, &text));
  ck_assert (text == NULL);
}

/* ---- contexts ---- */

static void
assert_current (CUcontext expected)
{
  CUcontext seen;

  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert_ptr_eq (seen, expected);
}

TEST (context_stack)
{
  CUcontext other, seen;
  CUdevice device = -1;

  ok (cu.cuCtxGetDevice (&device));
  ck_assert_int_eq (device, 0);
  ok (cu.cuCtxCreate (&other, 0, 0));
  ck_assert (other != primary);
  assert_current (other);
  ok (cu.cuCtxPopCurrent (&seen));
  ck_assert (seen == other);
  assert_current (primary);
  ok (cu.cuCtxPushCurrent (other));
  ok (cu.cuCtxSetCurrent (primary));
  assert_current (primary);
  ok (cu.cuCtxSetCurrent (NULL)); /* the fixture's context is the next one on
                                   * the stack */
  assert_current (primary);
  ok (cu.cuCtxSetCurrent (other));
  ok (cu.cuCtxAttach (&seen, 0));
  ck_assert (seen == other);
  ok (cu.cuCtxDetach (other));
  ok (cu.cuCtxSynchronize ());
  ok (cu.cuCtxDetach (other)); /* destroyed, and not on the stack any more */
  fails (cu.cuCtxDetach (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxDestroy (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxSetCurrent (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPushCurrent (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPushCurrent (NULL), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuCtxPushCurrent (primary));
}

TEST (contexts_of_newer_headers)
{
  CUctxCreateParams params = { NULL, 0, NULL };
  CUcontext context;

  ok (cu.cuCtxCreate_v4 (&context, NULL, 0, 0));
  ok (cu.cuCtxDestroy (context));
  ok (cu.cuCtxCreate_v4 (&context, &params, 0, 0));
  ok (cu.cuCtxDestroy (context));
  ok (cu.cuCtxCreate_v3 (&context, NULL, 0, 0, 0));
  ok (cu.cuCtxDestroy (context));
  params.numExecAffinityParams = 1;
  fails (cu.cuCtxCreate_v4 (&context, &params, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

static gpointer
without_context (gpointer data)
{
  CUdeviceptr pointer;

  fails (cu.cuMemAlloc (&pointer, 100), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxSynchronize (), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPopCurrent (NULL), CUDA_ERROR_INVALID_CONTEXT);
  assert_current (NULL);
  return NULL;
}

TEST (current_is_per_thread)
{
  g_thread_join (g_thread_new ("no-context", without_context, NULL));
}

TEST (peers)
{
  CUcontext other, popped;
  char *from = zeroed (1), *to;
  int can = 1;

  ok (cu.cuDeviceCanAccessPeer (&can, 0, 0));
  ck_assert_int_eq (can, 0);
  fails (cu.cuDeviceCanAccessPeer (&can, 0, 1), CUDA_ERROR_INVALID_DEVICE);
  *from = 5;
  ok (cu.cuCtxCreate (&other, 0, 0));
  to = zeroed (1);
  fails (cu.cuCtxEnablePeerAccess (primary, 0), 217);
  fails (cu.cuCtxDisablePeerAccess (primary), 705);
  fails (cu.cuCtxEnablePeerAccess (other, 0), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuMemcpyPeerAsync (
      (uintptr_t) to, other, (uintptr_t) from, primary, 1, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (*to, 5);
  ok (cu.cuCtxPopCurrent (&popped));
  ok (cu.cuCtxDestroy (other));
  fails (cu.cuMemcpyPeerAsync (
             (uintptr_t) from, other, (uintptr_t) from, primary, 1, NULL),
      CUDA_ERROR_INVALID_CONTEXT);
}

TEST (what_a_context_says)
{
  unsigned int flags = 7;
  int least = 7, greatest = 7;
  CUstream stream;

  ok (cu.cuCtxGetFlags (&flags));
  ck_assert_int_eq (flags, 0);
  ok (cu.cuCtxGetStreamPriorityRange (&least, &greatest));
  ck_assert (least == 0 && greatest == 0);
  ok (cu.cuStreamCreateWithPriority (&stream, CU_STREAM_NON_BLOCKING, -5));
  ok (cu.cuStreamGetFlags (stream, &flags));
  ck_assert_int_eq (flags, CU_STREAM_NON_BLOCKING);
  ok (cu.cuStreamGetPriority (stream, &least));
  ck_assert_int_eq (least, 0);
  ok (cu.cuStreamDestroy (stream));
  fails (cu.cuStreamGetFlags (stream, &flags), CUDA_ERROR_INVALID_HANDLE);
}

static void
assert_limit (CUlimit limit, size_t expected)
{
  size_t value;

  ok (cu.cuCtxGetLimit (&value, limit));
  ck_assert_uint_eq (value, expected);
}

TEST (limits)
{
  CUcontext other;
  size_t value;

  assert_limit (CU_LIMIT_STACK_SIZE, 1024);
  ok (cu.cuCtxCreate (&other, 0, 0));
  ok (cu.cuCtxSetLimit (CU_LIMIT_STACK_SIZE, 4096));
  assert_limit (CU_LIMIT_STACK_SIZE, 4096);
  ok (cu.cuCtxDestroy (other));
  assert_limit (CU_LIMIT_STACK_SIZE, 1024);
  ok (cu.cuCtxSetLimit (CU_LIMIT_MALLOC_HEAP_SIZE, 5000));
  assert_limit (CU_LIMIT_MALLOC_HEAP_SIZE, 5000);
  fails (cu.cuCtxGetLimit (&value, (CUlimit) 5), 215);
}

/* ---- the primary context ---- */

static gboolean
primary_is_active (void)
{
  unsigned int flags;
  int active;

  ok (cu.cuDevicePrimaryCtxGetState (0, &flags, &active));
  return active;
}

TEST (primary_is_counted)
{
  CUcontext again;
  CUdeviceptr pointer;

  ok (cu.cuDevicePrimaryCtxRetain (&again, 0));
  ck_assert (again == primary);
  ok (cu.cuDevicePrimaryCtxRelease (0));
  ok (cu.cuMemAlloc (&pointer, 100));
  ck_assert (primary_is_active ());

  ok (cu.cuDevicePrimaryCtxRelease (0));
  ck_assert (!primary_is_active ());
  invalid (cu.cuMemFree (pointer));
  fails (cu.cuMemAlloc (&pointer, 100), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuDevicePrimaryCtxRelease (0), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuDevicePrimaryCtxRetain (&primary, 0));
}

/* Everything in the context is freed, and the context can be used again. */
TEST (primary_reset)
{
  CUdeviceptr memory = new_memory (1000, 0);
  CUstream stream = new_stream (0);

  ok (cu.cuDevicePrimaryCtxReset (0));
  ck_assert_uint_eq (free_memory (), LIMIT);
  invalid (cu.cuMemFree (memory));
  fails (cu.cuStreamQuery (stream), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuMemAlloc (&memory, 1000));
  fails (cu.cuDevicePrimaryCtxReset (1), CUDA_ERROR_INVALID_DEVICE);
}

static gpointer
call_with_device (gpointer call)
{
  ok (((CUresult (*) (CUdevice)) call) (0));
  return NULL;
}

/* A release that comes while the context is reset takes effect after the
 * reset. */
TEST (release_waits_for_reset)
{
  GThread *resetting, *releasing;
  CUstream stream = new_stream (0);
  Gate gate = { 0 };

  ok (cu.cuLaunchHostFunc (stream, gate_wait, &gate));
  resetting =
      g_thread_new ("reset", call_with_device, cu.cuDevicePrimaryCtxReset);
  wait_until_stopping (stream);
  releasing =
      g_thread_new ("release", call_with_device, cu.cuDevicePrimaryCtxRelease);
  g_usleep (A_WHILE_US);
  ck_assert (primary_is_active ());
  gate_open (&gate);
  g_thread_join (resetting);
  g_thread_join (releasing);
  ck_assert (!primary_is_active ());
  fails (cu.cuCtxPushCurrent (primary), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuDevicePrimaryCtxRetain (&primary, 0));
  new_memory (1000, 0);
}

/* The value of a destroyed handle is not used for the next handles, so that it
 * is recognised as invalid. */
TEST (handles_are_not_used_again_at_once)
{
  CUstream stale_stream = new_stream (0), stream;
  CUevent stale_event, event;

  ok (cu.cuStreamDestroy (stale_stream));
  ok (cu.cuEventCreate (&stale_event, 0));
  ok (cu.cuEventDestroy (stale_event));
  for (int i = 0; i < 50; i++) {
    stream = new_stream (0);
    ok (cu.cuEventCreate (&event, 0));
    fails (cu.cuStreamQuery (stale_stream), CUDA_ERROR_INVALID_HANDLE);
    fails (cu.cuEventQuery (stale_event), CUDA_ERROR_INVALID_HANDLE);
    ok (cu.cuStreamDestroy (stream));
    ok (cu.cuEventDestroy (event));
  }
}

/* ---- calls are counted, and made to fail ---- */

static gpointer
count_in_thread (gpointer unused)
{
  int count;

  ok (cu.cuDeviceGetCount (&count));
  return GSIZE_TO_POINTER (count_calls ("cuDeviceGetCount"));
}

/* Each thread has its own counts. Calls that fail are counted, too. */
TEST (count)
{
  unsigned long all = count_calls ("*"), some = count_calls ("cuMemAlloc");
  CUdeviceptr pointer;
  GThread *thread;
  int count;

  ok (cu.cuMemAlloc (&pointer, 10));
  ok (cu.cuMemFree (pointer));
  ok (set_fail ("cuMemAlloc:1"));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_UNKNOWN);
  ck_assert_uint_eq (count_calls ("cuMemAlloc"), some + 2);
  ck_assert_uint_eq (count_calls ("*"), all + 3);
  ck_assert_uint_eq (count_calls ("cuNothing"), 0);
  ok (cu.cuDeviceGetCount (&count));
  some = count_calls ("cuDeviceGetCount");
  thread = g_thread_new ("count", count_in_thread, NULL);
  ck_assert_uint_eq (GPOINTER_TO_SIZE (g_thread_join (thread)), 1);
  ck_assert_uint_eq (count_calls ("cuDeviceGetCount"), some);
}

TEST (fail)
{
  CUdeviceptr pointer;
  int count;

  invalid (set_fail ("cuNothing:1"));
  invalid (set_fail ("cuMemAlloc:0"));
  invalid (set_fail ("cuMemAlloc:x"));
  invalid (set_fail ("cuMemAlloc"));
  invalid (set_fail ("cuMemAlloc:1:CUDA_NONSENSE"));
  ok (set_fail ("cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,cuMemFree:1:719,"
                "cuDeviceGetCount:1"));
  ok (cu.cuMemAlloc (&pointer, 10));
  fails (cu.cuMemFree (pointer), CUDA_ERROR_LAUNCH_FAILED);
  ok (cu.cuMemFree (pointer));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&pointer, 10));
  ok (cu.cuMemFree (pointer));
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_UNKNOWN);
  ok (set_fail ("cuDeviceGetCount:2+:46"));
  ok (cu.cuDeviceGetCount (&count));
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
  ok (set_fail ("*:2"));
  ok (cu.cuDeviceGetCount (&count));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_UNKNOWN);
  ok (cu.cuDeviceGetCount (&count));
  ok (set_fail ("cuDeviceGetCount:1"));
  ok (set_fail (NULL));
  ok (cu.cuDeviceGetCount (&count));
}
