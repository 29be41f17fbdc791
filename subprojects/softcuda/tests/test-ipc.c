/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-ipc.c: tests of memory that a process shares with another one
 *
 * The other process is this program, which is started again with other
 * variables in the environment.
 */

#include <semaphore.h>
#include <string.h>

#include "driver.h"
#include "gate.h"

/* More than a page, and not a multiple of pages. */
#define SIZE 10000

#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

/* The variable with the handle, in hexadecimal, for the other process. */
#define VARIABLE "TEST_IPC_HANDLE"

static CUdeviceptr
new_memory (gsize size, guint8 value)
{
  CUdeviceptr pointer;

  ok (cu.cuMemAlloc (&pointer, size));
  ok (cu.cuMemsetD8 (pointer, value, size));
  return pointer;
}

static void
assert_bytes (CUdeviceptr pointer, gsize size, guint8 value)
{
  guint8 *bytes = g_malloc (size);
  gsize i = 0;

  ok (cu.cuMemcpyDtoH (bytes, pointer, size));
  while (i < size && bytes[i] == value)
    i++;
  ck_assert_int_eq (i, size);
  g_free (bytes);
}

/* Runs the test with this name in another process. Returns whether it
 * passed. */
static gboolean
passes_elsewhere (const gchar *test, const CUipcMemHandle *handle)
{
  gchar *argv[] = { g_file_read_link ("/proc/self/exe", NULL), NULL };
  gchar **env = g_environ_setenv (g_get_environ (), "CK_RUN_CASE", test, TRUE);
  GString *text = g_string_new (NULL);
  GError *error = NULL;
  gint status = -1;

  for (gsize i = 0; i < sizeof handle->reserved; i++)
    g_string_append_printf (text, "%02x", (guint8) handle->reserved[i]);
  env = g_environ_setenv (env, VARIABLE, text->str, TRUE);
  ck_assert_msg (g_spawn_sync (NULL, argv, env, G_SPAWN_DEFAULT, NULL, NULL,
                     NULL, NULL, &status, &error),
      "%s", error ? error->message : "");
  g_string_free (text, TRUE);
  g_strfreev (env);
  g_free (argv[0]);
  return status == 0;
}

/* ---- in the other process ---- */

static CUipcMemHandle
given_handle (void)
{
  const gchar *text = g_getenv (VARIABLE);
  CUipcMemHandle handle;

  ck_assert_int_eq (strlen (text), 2 * sizeof handle.reserved);
  for (gsize i = 0; i < sizeof handle.reserved; i++)
    handle.reserved[i] = g_ascii_xdigit_value (text[2 * i]) * 16
                         + g_ascii_xdigit_value (text[2 * i + 1]);
  return handle;
}

START_TEST (other_reads_and_writes)
{
  CUdeviceptr pointer, start;
  CUcontext context;
  size_t size;

  ok (cu.cuIpcOpenMemHandle (&pointer, given_handle (), LAZY));
  assert_bytes (pointer, SIZE, 7);
  ok (cu.cuMemsetD8 (pointer, 9, SIZE));
  ok (cu.cuMemGetAddressRange (&start, &size, pointer + 100));
  ck_assert_uint_eq (start, pointer);
  ck_assert_uint_eq (size, SIZE);
  ok (cu.cuPointerGetAttribute (
      &context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  ck_assert (context == primary);
  fails (cu.cuMemFree (pointer), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuIpcCloseMemHandle (pointer));
  fails (cu.cuMemsetD8 (pointer, 9, SIZE), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (other_opens_twice)
{
  CUipcMemHandle handle = given_handle ();
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
  fails (cu.cuIpcCloseMemHandle (one), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (other_is_too_late)
{
  CUdeviceptr pointer;

  fails (cu.cuIpcOpenMemHandle (&pointer, given_handle (), LAZY),
      CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (other_ends_with_its_context)
{
  CUipcMemHandle handle = given_handle ();
  CUdeviceptr pointer;
  CUcontext another;

  ok (cu.cuCtxCreate (&another, 0, 0));
  ok (cu.cuIpcOpenMemHandle (&pointer, handle, LAZY));
  ok (cu.cuCtxDestroy (another));
  fails (cu.cuIpcCloseMemHandle (pointer), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* ---- in this process ---- */

START_TEST (test_two_processes)
{
  CUdeviceptr pointer = new_memory (SIZE, 7);
  CUipcMemHandle handle;

  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  assert_bytes (pointer, SIZE, 7); /* other pages replace the ones that were
                                    * mapped here */
  ck_assert (passes_elsewhere ("other_reads_and_writes", &handle));
  assert_bytes (pointer, SIZE, 9);
}
END_TEST;

START_TEST (test_counted)
{
  CUdeviceptr pointer = new_memory (SIZE, 7);
  CUipcMemHandle handle;

  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  ck_assert (passes_elsewhere ("other_opens_twice", &handle));
  ck_assert (passes_elsewhere ("other_ends_with_its_context", &handle));
}
END_TEST;

START_TEST (test_handles)
{
  CUdeviceptr pointer = new_memory (SIZE, 7), opened;
  CUipcMemHandle handle, same;

  ok (cu.cuIpcGetMemHandle (&handle, pointer));
  ok (cu.cuIpcGetMemHandle (&same, pointer + 5000));
  ck_assert (memcmp (&handle, &same, sizeof handle) == 0);
  fails (cu.cuIpcOpenMemHandle (&opened, handle, LAZY),
      CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuIpcOpenMemHandle (&opened, handle, 0), CUDA_ERROR_INVALID_VALUE);
  memset (&same, 1, sizeof same);
  fails (cu.cuIpcOpenMemHandle (&opened, same, LAZY), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuIpcCloseMemHandle (pointer), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemFree (pointer));
  ck_assert (passes_elsewhere ("other_is_too_late", &handle));
}
END_TEST;

START_TEST (test_no_handle)
{
  CUdeviceptr small = new_memory (512, 0);
  CUipcMemHandle handle;
  void *host;

  ok (cu.cuMemHostAlloc (&host, SIZE, 0));
  fails (cu.cuIpcGetMemHandle (&handle, (uintptr_t) host),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuIpcGetMemHandle (&handle, 4096), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuIpcGetMemHandle (&handle, small), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST;

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
START_TEST (test_export_waits_for_running_work)
{
  Export e = { new_memory (SIZE, 7), 0 };
  CUstream streams[2];
  Gate early = GATE, late = GATE;
  GThread *thread;

  for (int i = 0; i < 2; i++)
    ok (cu.cuStreamCreate (&streams[i], CU_STREAM_NON_BLOCKING));
  ok (cu.cuLaunchHostFunc (streams[0], gate_wait, &early));
  thread = g_thread_new ("export", run_export, &e);
  g_usleep (A_WHILE_US); /* usually, the call waits for the first gate now */
  ok (cu.cuLaunchHostFunc (streams[1], gate_wait, &late));
  gate_wait_until_reached (&late);
  gate_open (&early);
  ok (cu.cuStreamSynchronize (streams[0]));
  g_usleep (A_WHILE_US);
  ck_assert_int_eq (g_atomic_int_get (&e.returned), 0);
  gate_open (&late);
  g_thread_join (thread);
  assert_bytes (e.pointer, SIZE, 7);
}
END_TEST;

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

START_TEST (test_export_of_a_busy_program)
{
  Export e = { new_memory (SIZE, 7), 0 };
  GThread *thread;
  CUstream stream;
  Relay relay;

  sem_init (&relay.may_pass, 0, 0);
  sem_init (&relay.passed, 0, 0);
  ok (cu.cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));
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
  ok (cu.cuStreamDestroy (stream));
  ok (cu.cuMemFree (e.pointer));
  sem_destroy (&relay.may_pass);
  sem_destroy (&relay.passed);
}
END_TEST;

/* Memory that was exported is freed as other memory is. */
START_TEST (test_again_and_again)
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
END_TEST;

static TCase *
add_case (Suite *s, const char *name)
{
  TCase *tc = tcase_create (name);

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup_context, teardown_context);
  return tc;
}

/* Makes a test case of one test, because CK_RUN_CASE selects test cases. */
#define ADD_ALONE(s, test) tcase_add_test (add_case (s, #test), test)

static Suite *
other_suite (void)
{
  Suite *s = suite_create ("softcuda-ipc-other");

  ADD_ALONE (s, other_reads_and_writes);
  ADD_ALONE (s, other_opens_twice);
  ADD_ALONE (s, other_is_too_late);
  ADD_ALONE (s, other_ends_with_its_context);
  return s;
}

static Suite *
ipc_suite (void)
{
  Suite *s = suite_create ("softcuda-ipc");
  TCase *tc = add_case (s, "general");

  tcase_add_test (tc, test_two_processes);
  tcase_add_test (tc, test_counted);
  tcase_add_test (tc, test_handles);
  tcase_add_test (tc, test_no_handle);
  tcase_add_test (tc, test_export_waits_for_running_work);
  tcase_add_test (tc, test_export_of_a_busy_program);
  tcase_add_test (tc, test_again_and_again);
  return s;
}

int
main (void)
{
  return run_suite (g_getenv (VARIABLE) ? other_suite () : ipc_suite ());
}
