/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-ipc.c: tests of memory and events that a process shares with another one
 */

#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

/* More than a page, and not a multiple of pages. */
#define SIZE 10000
/* Less than a page. */
#define SMALL 100

#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

static void
assert_bytes (CUdeviceptr pointer, gsize size, guint8 value)
{
  g_autofree guint8 *bytes = g_malloc (size);
  gsize i = 0;

  ok (cu.cuMemcpyDtoH (bytes, pointer, size));
  while (i < size && bytes[i] == value)
    i++;
  ck_assert_int_eq (i, size);
}

/* Another process, which gets a handle through a pipe. It was made before this
 * process used the driver. */
typedef struct {
  pid_t process;
  int input;
} Other;

static Other
start_other (void (*test) (CUipcMemHandle handle))
{
  CUipcMemHandle handle;
  Other other;
  int ends[2];

  ck_assert_int_eq (pipe (ends), 0);
  other = (Other){ check_fork (), ends[1] };
  if (other.process != 0)
    return other;
  ck_assert_int_eq (read (ends[0], &handle, sizeof handle), sizeof handle);
  setup_context ();
  test (handle);
  exit (EXIT_SUCCESS);
}

static void
begin_other (const Other *other, const void *handle)
{
  ck_assert_int_eq (write (other->input, handle, sizeof (CUipcMemHandle)),
      sizeof (CUipcMemHandle));
}

/* Waits until the other process has passed its test. */
static void
end_other (const Other *other)
{
  int status;

  ck_assert_int_eq (waitpid (other->process, &status, 0), other->process);
  ck_assert_int_eq (status, 0);
}

static void
run_other (const Other *other, const void *handle)
{
  begin_other (other, handle);
  end_other (other);
}

/* ---- in the other process ---- */

static void
other_reads_and_writes (CUipcMemHandle handle)
{
  CUdeviceptr pointer, start;
  CUcontext context;
  size_t size;

  ok (cu.cuIpcOpenMemHandle (&pointer, handle, LAZY));
  assert_bytes (pointer, SIZE, 7);
  ok (cu.cuMemsetD8 (pointer, 9, SIZE));
  ok (cu.cuMemGetAddressRange (&start, &size, pointer + 100));
  ck_assert_uint_eq (start, pointer);
  ck_assert_uint_eq (size, SIZE);
  ok (cu.cuPointerGetAttribute (
      &context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  ck_assert (context == primary);
  invalid (cu.cuMemFree (pointer));
  ok (cu.cuIpcCloseMemHandle (pointer));
  invalid (cu.cuMemsetD8 (pointer, 9, SIZE));
}

static void
other_opens_twice (CUipcMemHandle handle)
{
  CUdeviceptr one, same;
  CUcontext another;

  ok (cu.cuIpcOpenMemHandle (&one, handle, LAZY));
  ok (cu.cuIpcOpenMemHandle (&same, handle, LAZY));
  ck_assert_uint_eq (one, same);
  ok (cu.cuCtxCreate (&another, 0, 0));
  fails (
      cu.cuIpcOpenMemHandle (&same, handle, LAZY), CUDA_ERROR_ALREADY_MAPPED);
  ok (cu.cuCtxDestroy (another));
  ok (cu.cuIpcCloseMemHandle (one));
  assert_bytes (one, SIZE, 7);
  ok (cu.cuIpcCloseMemHandle (one));
  invalid (cu.cuIpcCloseMemHandle (one));
}

static void
other_is_too_late (CUipcMemHandle handle)
{
  CUdeviceptr pointer;

  invalid (cu.cuIpcOpenMemHandle (&pointer, handle, LAZY));
}

static void
other_ends_with_its_context (CUipcMemHandle handle)
{
  CUdeviceptr pointer;
  CUcontext another;

  ok (cu.cuCtxCreate (&another, 0, 0));
  ok (cu.cuIpcOpenMemHandle (&pointer, handle, LAZY));
  ok (cu.cuCtxDestroy (another));
  invalid (cu.cuIpcCloseMemHandle (pointer));
}

/* ---- in this process ---- */

FIXTURE (NULL, teardown_context);

TEST (two_processes)
{
  Other others[] = { start_other (other_opens_twice),
    start_other (other_ends_with_its_context),
    start_other (other_reads_and_writes) };
  CUdeviceptr pointer;
  CUipcMemHandle handle;

  setup_context ();
  pointer = new_memory (SIZE, 7);
  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  assert_bytes (pointer, SIZE, 7); /* other pages replace the ones that were
                                    * mapped here */
  for (int i = 0; i < 3; i++)
    run_other (&others[i], &handle);
  assert_bytes (pointer, SIZE, 9);
}

/* As in other processes, the neighbours of a small allocation are not a part
 * of it. */
static void
other_uses_small_memory (CUipcMemHandle handle)
{
  CUdeviceptr pointer, start;
  size_t size;

  ok (cu.cuIpcOpenMemHandle (&pointer, handle, LAZY));
  assert_bytes (pointer, SMALL, 7);
  ok (cu.cuMemGetAddressRange (&start, &size, pointer));
  ck_assert_uint_eq (size, SMALL);
  ok (cu.cuMemsetD8 (pointer, 9, SMALL));
  invalid (cu.cuMemsetD8 (pointer, 9, SMALL + 1));
  ok (cu.cuIpcCloseMemHandle (pointer));
}

TEST (small_memory)
{
  Other other = start_other (other_uses_small_memory);
  CUdeviceptr before, pointer, after;
  CUipcMemHandle handle;

  setup_context ();
  before = new_memory (SMALL, 1);
  pointer = new_memory (SMALL, 7);
  after = new_memory (SMALL, 2);
  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  run_other (&other, &handle);
  assert_bytes (pointer, SMALL, 9);
  assert_bytes (before, SMALL, 1);
  assert_bytes (after, SMALL, 2);
}

/* ---- events ---- */

static CUevent
open_event (const CUipcMemHandle *received)
{
  CUipcEventHandle handle;
  CUevent event;

  memcpy (&handle, received, sizeof handle);
  ok (cu.cuIpcOpenEventHandle (&event, handle));
  return event;
}

static void
other_sees_that_it_is_not_reached (CUipcMemHandle handle)
{
  CUevent event = open_event (&handle);

  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  ok (cu.cuEventDestroy (event));
}

static void
other_waits (CUipcMemHandle handle)
{
  CUevent event = open_event (&handle);
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);

  ok (cu.cuStreamWaitEvent (stream, event, 0));
  ok (cu.cuStreamSynchronize (stream));
  ok (cu.cuEventQuery (event));
  ok (cu.cuEventSynchronize (event));
}

static void
other_records (CUipcMemHandle handle)
{
  CUevent event = open_event (&handle);
  float ms;

  ok (cu.cuEventRecord (event, new_stream (CU_STREAM_NON_BLOCKING)));
  ok (cu.cuEventSynchronize (event));
  ok (cu.cuEventQuery (event));
  fails (cu.cuEventElapsedTime (&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
}

TEST (events)
{
  Other early = start_other (other_sees_that_it_is_not_reached);
  Other waiting[] = { start_other (other_waits), start_other (other_waits) };
  Other records = start_other (other_records);
  CUipcEventHandle handle, wrong;
  Gate gate = { 0 };
  CUstream stream;
  CUevent event, own;

  setup_context ();
  stream = new_stream (CU_STREAM_NON_BLOCKING);
  invalid (cu.cuEventCreate (&event, CU_EVENT_INTERPROCESS));
  ok (cu.cuEventCreate (
      &event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  ok (cu.cuEventCreate (&own, CU_EVENT_DISABLE_TIMING));
  fails (cu.cuIpcGetEventHandle (&handle, own), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuIpcGetEventHandle (&handle, event));
  fails (cu.cuIpcOpenEventHandle (&own, handle), CUDA_ERROR_INVALID_CONTEXT);
  memset (&wrong, 1, sizeof wrong);
  invalid (cu.cuIpcOpenEventHandle (&own, wrong));
  ok (cu.cuEventQuery (event));
  ok (cu.cuLaunchHostFunc (stream, gate_wait, &gate));
  ok (cu.cuEventRecord (event, stream));
  fails (cu.cuEventQuery (event), CUDA_ERROR_NOT_READY);
  run_other (&early, &handle);
  for (int i = 0; i < 2; i++)
    begin_other (&waiting[i], &handle);
  g_usleep (A_WHILE_US); /* usually, they wait now */
  ck_assert_int_eq (waitpid (waiting[0].process, NULL, WNOHANG), 0);
  gate_open (&gate);
  for (int i = 0; i < 2; i++)
    end_other (&waiting[i]);
  ok (cu.cuEventSynchronize (event));
  run_other (&records, &handle);
  ok (cu.cuEventQuery (event));
}

TEST (handles)
{
  Other other = start_other (other_is_too_late);
  CUdeviceptr pointer, opened;
  CUipcMemHandle handle, same;

  setup_context ();
  pointer = new_memory (SIZE, 7);
  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  ok (cu.cuIpcGetMemHandle (&same, pointer + 5000));
  ck_assert_mem_eq (&handle, &same, sizeof handle);
  fails (cu.cuIpcOpenMemHandle (&opened, handle, LAZY),
      CUDA_ERROR_INVALID_CONTEXT);
  invalid (cu.cuIpcOpenMemHandle (&opened, handle, 0));
  memset (&same, 1, sizeof same);
  invalid (cu.cuIpcOpenMemHandle (&opened, same, LAZY));
  invalid (cu.cuIpcCloseMemHandle (pointer));
  ok (cu.cuMemFree (pointer));
  run_other (&other, &handle);
}

FIXTURE (setup_context, teardown_context);

TEST (no_handle)
{
  CUipcMemHandle handle;
  void *host;

  ok (cu.cuMemHostAlloc (&host, SIZE, 0));
  invalid (cu.cuIpcGetMemHandle (&handle, (uintptr_t) host));
  invalid (cu.cuIpcGetMemHandle (&handle, 4096));
}

/* A call of cuIpcGetMemHandle() in a thread of its own. */
typedef struct {
  CUdeviceptr pointer;
  gint returned;
} Export;

static gpointer
run_export (gpointer data)
{
  Export *e = data;
  CUipcMemHandle handle;

  ok (cu.cuCtxPushCurrent (primary));
  ok (cu.cuIpcGetMemHandle (&handle, e->pointer));
  g_atomic_int_set (&e->returned, 1);
  ok (cu.cuCtxPopCurrent (NULL));
  return NULL;
}

/* No work is running while the pages are replaced, not even work that was
 * submitted after the call of cuIpcGetMemHandle(). */
TEST (export_waits_for_running_work)
{
  Export e = { new_memory (SIZE, 7), 0 };
  CUstream streams[] = { new_stream (CU_STREAM_NON_BLOCKING),
    new_stream (CU_STREAM_NON_BLOCKING) };
  Gate early = { 0 }, late = { 0 };
  GThread *thread;

  ok (cu.cuLaunchHostFunc (streams[0], gate_wait, &early));
  thread = g_thread_new ("export", run_export, &e);
  g_usleep (A_WHILE_US); /* usually, the call waits for the first gate now */
  ok (cu.cuLaunchHostFunc (streams[1], gate_wait, &late));
  wait_until_true (&late.reached);
  gate_open (&early);
  ok (cu.cuStreamSynchronize (streams[0]));
  g_usleep (A_WHILE_US);
  ck_assert_int_eq (g_atomic_int_get (&e.returned), 0);
  gate_open (&late);
  g_thread_join (thread);
  assert_bytes (e.pointer, SIZE, 7);
}

/* An item of this work runs until the next item has been submitted. So there is
 * always work that is pending. */
typedef struct {
  sem_t may_pass;
  sem_t passed;
} Relay;

static void
run_relay (void *data)
{
  Relay *relay = data;

  sem_wait (&relay->may_pass);
  sem_post (&relay->passed);
}

TEST (export_of_a_busy_program)
{
  Export e = { new_memory (SIZE, 7), 0 };
  GThread *thread;
  CUstream stream = new_stream (CU_STREAM_NON_BLOCKING);
  Relay relay;

  sem_init (&relay.may_pass, 0, 0);
  sem_init (&relay.passed, 0, 0);
  ok (cu.cuLaunchHostFunc (stream, run_relay, &relay));
  thread = g_thread_new ("export", run_export, &e);
  while (!g_atomic_int_get (&e.returned)) {
    ok (cu.cuLaunchHostFunc (stream, run_relay, &relay));
    sem_post (&relay.may_pass);
    sem_wait (&relay.passed);
  }
  sem_post (&relay.may_pass);
  g_thread_join (thread);
  ok (cu.cuStreamSynchronize (stream));
}

/* Memory that was exported is freed as other memory is. */
TEST (again_and_again)
{
  for (guint i = 0; i < 200; i++) {
    CUdeviceptr pointer = new_memory (SIZE + i, i);
    CUipcMemHandle handle;

    if (i % 2 == 0)
      ok (cu.cuIpcGetMemHandle (&handle, pointer));
    assert_bytes (pointer, SIZE + i, i);
    ok (cu.cuMemFree (pointer));
  }
}
