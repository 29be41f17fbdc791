/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc.c: tests of device-only memory that another process imports
 *
 * The other process is this program, which is started again with other
 * variables in the environment.
 */

#include <string.h>

#include "util.h"

#define SIZE 6000

/* The variable with the handle, in base 64, for the other process. */
#define VARIABLE "TEST_IPC_HANDLE"

/* The position of the UUID in the handle. */
#define UUID_OFFSET 16

static GstMemory *
new_device_only (GstVkgdrAllocator *allocator, guint seed)
{
  GError *error = NULL;
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_device_only (allocator, SIZE, &error);
  GstMapInfo map;

  fail_unless (memory != NULL, "%s", error ? error->message : "");
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, seed);
  gst_memory_unmap (memory, &map);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  return memory;
}

static void
assert_mapped (GstMemory *memory, guint seed)
{
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  fail_unless_equals_int (map.size, SIZE);
  fail_unless (test_matches (map.data, SIZE, seed));
  gst_memory_unmap (memory, &map);
}

static GBytes *
export_handle (GstMemory *memory)
{
  GError *error = NULL;
  GBytes *handle = gst_vkgdr_memory_export_ipc_handle (memory, &error);

  fail_unless (handle != NULL, "%s", error ? error->message : "");
  return handle;
}

/* A thread of the library releases imported memory. Waits until nothing holds
 * the allocator any more. */
static void
finish (GstVkgdrAllocator *allocator)
{
  guint ms;

  for (ms = 0; ms < 5000 && GST_OBJECT_REFCOUNT_VALUE (allocator) > 1; ms++)
    g_usleep (1000);
  gst_object_unref (allocator);
}

/* Runs the test with this name in another process. Returns whether it
 * passed. */
static gboolean
passes_elsewhere (const gchar *test, GBytes *handle)
{
  gchar *argv[] = { g_file_read_link ("/proc/self/exe", NULL), NULL };
  gchar **env = g_environ_setenv (g_get_environ (), "GST_CHECKS", test, TRUE);
  gchar *text = g_base64_encode (
      g_bytes_get_data (handle, NULL), g_bytes_get_size (handle));
  GError *error = NULL;
  gchar *output = NULL;
  gint status = -1;

  env = g_environ_setenv (env, VARIABLE, text, TRUE);
  fail_unless (g_spawn_sync (NULL, argv, env, G_SPAWN_DEFAULT, NULL, NULL,
                   &output, NULL, &status, &error),
      "%s", error ? error->message : "");
  /* Not to stdout: the output has a summary, which must not be mistaken for the
   * summary of this program. */
  if (status != 0)
    g_printerr ("the other process:\n%s\n", output);
  g_free (output);
  g_free (text);
  g_strfreev (env);
  g_free (argv[0]);
  return status == 0;
}

static void
assert_refused (
    GstVkgdrAllocator *allocator, GBytes *handle, const gchar *sentence)
{
  GError *error = NULL;

  fail_unless (gst_vkgdr_allocator_import_ipc_handle (allocator, handle, &error)
               == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT));
  fail_unless (strstr (error->message, sentence) != NULL, "%s", error->message);
  g_error_free (error);
}

/* ---- in the other process ----------------------------------------------- */

static GBytes *
given_handle (void)
{
  gsize size = 0;
  guchar *data = g_base64_decode (g_getenv (VARIABLE), &size);

  return g_bytes_new_take (data, size);
}

static GstMemory *
import_given (GstVkgdrAllocator *allocator)
{
  GBytes *handle = given_handle ();
  GError *error = NULL;
  GstMemory *memory =
      gst_vkgdr_allocator_import_ipc_handle (allocator, handle, &error);

  fail_unless (memory != NULL, "%s", error ? error->message : "");
  fail_unless_equals_int (memory->size, SIZE);
  g_bytes_unref (handle);
  return memory;
}

GST_START_TEST (other_reads_and_writes)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *memory = import_given (allocator);
  guint8 *bytes = test_device_bytes (memory);
  GError *error = NULL;
  GstMapInfo map;

  fail_unless (test_matches (bytes, SIZE, 5));
  g_free (bytes);
  assert_mapped (memory, 5);
  fail_unless (gst_vkgdr_memory_export_ipc_handle (memory, &error) == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT), "%s",
      error ? error->message : "");
  g_error_free (error);

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, 6);
  gst_memory_unmap (memory, &map);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  gst_memory_unref (memory);
  finish (allocator);
}
GST_END_TEST

GST_START_TEST (other_imports_twice)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *one = import_given (allocator);
  GstMemory *same = import_given (allocator);

  fail_unless_equals_uint64 (gst_vkgdr_memory_get_device_pointer (one),
      gst_vkgdr_memory_get_device_pointer (same));
  gst_memory_unref (one);
  assert_mapped (same, 5);
  gst_memory_unref (same);
  one = import_given (allocator);
  assert_mapped (one, 5);
  gst_memory_unref (one);
  finish (allocator);
}
GST_END_TEST

/* Lets each call fail. Nothing stays open. */
GST_START_TEST (other_fails)
{
  static const gchar *const calls[] = { "cuCtxPushCurrent",
    "cuIpcOpenMemHandle", "cuPointerGetAttribute" };
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GBytes *handle = given_handle ();
  guint i;

  for (i = 0; i < G_N_ELEMENTS (calls); i++) {
    gchar *spec = g_strdup_printf ("%s:1:2", calls[i]);
    GError *error = NULL;

    test_make_calls_fail (spec);
    fail_unless (
        gst_vkgdr_allocator_import_ipc_handle (allocator, handle, &error)
            == NULL,
        "%s", spec);
    test_make_calls_fail (NULL);
    fail_unless (error != NULL);
    g_error_free (error);
    g_free (spec);
  }
  g_bytes_unref (handle);
  finish (allocator);
}
GST_END_TEST

GST_START_TEST (other_is_too_late)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GBytes *handle = given_handle ();
  GstMemory *memory;
  guint i;

  /* A thread of the first process frees the memory, and may not have done it
   * yet. */
  for (i = 0; i < 100; i++) {
    memory = gst_vkgdr_allocator_import_ipc_handle (allocator, handle, NULL);
    if (!memory)
      break;
    gst_memory_unref (memory);
    g_usleep (50 * 1000);
  }
  assert_refused (allocator, handle, "freed its memory, or has ended");
  g_bytes_unref (handle);
  gst_object_unref (allocator);
}
GST_END_TEST

/* ---- in this process ---- */

/* Exports a memory that is not the first one in its slab. */
GST_START_TEST (test_two_processes)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *before = new_device_only (allocator, 1);
  GstMemory *memory = new_device_only (allocator, 5);
  GBytes *handle = export_handle (memory);

  assert_mapped (memory, 5); /* its staging buffer is outdated after this */
  fail_unless (passes_elsewhere ("other_reads_and_writes", handle));
  assert_mapped (memory, 6);
  assert_mapped (before, 1);
  g_bytes_unref (handle);
  gst_memory_unref (before);
  gst_memory_unref (memory);
  gst_object_unref (allocator);
}
GST_END_TEST

GST_START_TEST (test_parts)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GError *error = NULL;
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_device_only (allocator, 2 * SIZE, &error);
  GstMemory *part;
  GBytes *handle;
  GstMapInfo map;

  fail_unless (memory != NULL, "%s", error ? error->message : "");
  part = gst_memory_share (memory, 1024, SIZE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data + 1024, SIZE, 5);
  gst_memory_unmap (memory, &map);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  handle = export_handle (part);
  fail_unless (passes_elsewhere ("other_imports_twice", handle));
  g_bytes_unref (handle);
  gst_memory_unref (part);
  gst_memory_unref (memory);
  gst_object_unref (allocator);
}
GST_END_TEST

GST_START_TEST (test_no_handles)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *inside = test_memory_new (test_context, SIZE);
  GstMemory *device_only = new_device_only (allocator, 5);
  GBytes *handle = export_handle (device_only), *wrong;
  GError *error = NULL;
  guint8 *bytes;

  fail_unless (gst_vkgdr_memory_export_ipc_handle (inside, &error) == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT));
  fail_unless (strstr (error->message, "export_fd") != NULL);
  g_clear_error (&error);

  assert_refused (allocator, handle, "cannot open a handle that it made");
  wrong = g_bytes_new_from_bytes (handle, 0, 64);
  assert_refused (allocator, wrong, "these 64 bytes are not a handle");
  g_bytes_unref (wrong);
  bytes =
      g_memdup2 (g_bytes_get_data (handle, NULL), g_bytes_get_size (handle));
  bytes[UUID_OFFSET] ^= 1;
  wrong = g_bytes_new_take (bytes, g_bytes_get_size (handle));
  assert_refused (allocator, wrong, "on another device");
  g_bytes_unref (wrong);
  bytes =
      g_memdup2 (g_bytes_get_data (handle, NULL), g_bytes_get_size (handle));
  bytes[0] = 'x';
  wrong = g_bytes_new_take (bytes, g_bytes_get_size (handle));
  assert_refused (allocator, wrong, "are not a handle");
  g_bytes_unref (wrong);

  g_bytes_unref (handle);
  gst_memory_unref (inside);
  gst_memory_unref (device_only);
  gst_object_unref (allocator);
}
GST_END_TEST

/* NVIDIA's driver may or may not keep memory that another process has not
 * opened yet. CUDA promises neither. */
GST_START_TEST (test_too_late)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *memory = new_device_only (allocator, 5);
  GBytes *handle = export_handle (memory);

  gst_memory_unref (memory);
  gst_vkgdr_allocator_free_held (allocator);
  if (test_is_software ())
    fail_unless (passes_elsewhere ("other_is_too_late", handle));
  g_bytes_unref (handle);
  gst_object_unref (allocator);
}
GST_END_TEST

GST_START_TEST (test_calls_that_fail)
{
  static const gchar *const calls[] = { "cuCtxPushCurrent",
    "cuMemGetAddressRange", "cuIpcGetMemHandle" };
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *memory = new_device_only (allocator, 5);
  GBytes *handle = export_handle (memory);
  GError *error = NULL;
  guint i;

  for (i = 0; test_is_software () && i < G_N_ELEMENTS (calls); i++) {
    gchar *spec = g_strdup_printf ("%s:1:2", calls[i]);

    test_make_calls_fail (spec);
    fail_unless (gst_vkgdr_memory_export_ipc_handle (memory, &error) == NULL);
    test_make_calls_fail (NULL);
    fail_unless (
        strstr (error->message, calls[i]) != NULL, "%s", error->message);
    g_clear_error (&error);
    g_free (spec);
  }
  if (test_is_software ())
    fail_unless (passes_elsewhere ("other_fails", handle));
  g_bytes_unref (handle);
  gst_memory_unref (memory);
  gst_object_unref (allocator);
}
GST_END_TEST

/* Device-only memory can be chosen, and can be mapped like other memory. */
GST_START_TEST (test_device_only_memory)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_allocator_new (test_context);
  GstMemory *one = new_device_only (allocator, 1),
            *other = new_device_only (allocator, 2);
  GError *error = NULL;

  assert_mapped (one, 1);
  assert_mapped (other, 2);
  fail_unless_equals_int (gst_vkgdr_memory_get_device_pointer (one) % 512, 0);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 2);
  gst_memory_unref (one);
  gst_memory_unref (other);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
  one = gst_vkgdr_allocator_alloc_device_only (
      allocator, (gsize) 1 << 50, &error);
  fail_unless (one == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY));
  g_error_free (error);
  gst_object_unref (allocator);
}
GST_END_TEST

static Suite *
ipc_suite (gboolean other)
{
  Suite *suite = suite_create (other ? "ipc-other" : "ipc");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, test_setup_bar, test_teardown);
  suite_add_tcase (suite, tc);
  if (other) {
    tcase_add_test (tc, other_reads_and_writes);
    tcase_add_test (tc, other_imports_twice);
    tcase_add_test (tc, other_fails);
    tcase_add_test (tc, other_is_too_late);
    return suite;
  }
  tcase_add_test (tc, test_device_only_memory);
  tcase_add_test (tc, test_two_processes);
  tcase_add_test (tc, test_parts);
  if (!test_hides_vulkan ())
    tcase_add_test (tc, test_no_handles);
  tcase_add_test (tc, test_too_late);
  tcase_add_test (tc, test_calls_that_fail);
  return suite;
}

int
main (int argc, char **argv)
{
  gst_check_init (&argc, &argv);
  return gst_check_run_suite (
      ipc_suite (g_getenv (VARIABLE) != NULL), "ipc", __FILE__);
}
