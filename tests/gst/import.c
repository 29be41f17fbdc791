/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * import.c: tests of memory that is imported from a file descriptor and its
 * description, and of parts of it
 */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gate.h"

#define SIZE 5000

static GstMemory *memory; /* which is exported, with pattern 3 */
static GstMemory *whole;  /* the same, imported as another process would */
static gsize at;          /* where the memory is in that */
static gint n_calls;      /* of a part's callback; atomic */
static gint done;         /* set by the gate; atomic */

static gint
export_fd (GBytes **description)
{
  GError *error = NULL;
  gint fd = gst_vkgdr_memory_export_fd (memory, description, &at, &error);

  g_assert_no_error (error);
  fail_unless (fd >= 0);
  return fd;
}

static void
setup (void)
{
  g_autoptr (GstVkgdrAllocator) allocator = NULL;
  g_autoptr (GBytes) description = NULL;
  GError *error = NULL;
  gint fd;

  test_setup ();
  if (!test_has_window ())
    return;
  allocator = test_allocator ();
  memory = gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  test_write (memory, 3);
  fd = export_fd (&description);
  whole = gst_vkgdr_allocator_import_fd (allocator, fd, description, &error);
  g_assert_no_error (error);
  fail_unless (whole->size >= at + SIZE);
  close (fd);
}

static void
teardown (void)
{
  g_clear_pointer (&memory, gst_memory_unref);
  g_clear_pointer (&whole, gst_memory_unref);
  test_teardown ();
}

static void
count (gpointer unused)
{
  g_atomic_int_inc (&n_calls);
}

static GstMemory *
new_part (GstMemoryFlags flags)
{
  GstMemory *part =
      gst_vkgdr_memory_new_part (whole, at, SIZE, flags, count, NULL);

  fail_unless (part != NULL);
  return part;
}

TEST_FIXTURE (setup, teardown);

/* The part holds a reference to the imported memory, which keeps the
 * allocation. */
TEST (part)
{
  GstMemory *part;
  guint fds;

  if (!whole)
    return;
  part = new_part (GST_MEMORY_FLAG_READONLY);
  fail_unless (GST_MEMORY_IS_READONLY (part));
  fail_unless (gst_vkgdr_memory_is_written (part));
  fail_unless (gst_vkgdr_memory_is_idle (part));
  fds = test_count_fds ();
  g_clear_pointer (&whole, gst_memory_unref);
  g_clear_pointer (&memory, gst_memory_unref);
  test_assert_read (part, 3);
  fail_unless_equals_int (g_atomic_int_get (&n_calls), 0);
  gst_memory_unref (part);
  fail_unless_equals_int (g_atomic_int_get (&n_calls), 1);
  test_assert_fds (fds);
}

/* The imported memory has a host pointer, and can be written. The exported
 * memory then has the new bytes. */
TEST (both_write)
{
  GstMemory *part;

  if (!whole)
    return;
  part = new_part (0);
  fail_unless (gst_vkgdr_memory_get_host_pointer (part) != NULL);
  test_write (part, 8);
  fail_unless (gst_vkgdr_memory_wait_idle (part, NULL));
  test_assert_read (memory, 8);
  gst_memory_unref (part);
}

TEST (ranges)
{
  const gsize wrong[][2] = { { 0, 0 }, { 0, whole ? whole->size + 1 : 0 },
    { whole ? whole->size - 1 : 0, 2 }, { G_MAXSIZE - 1, 4 } };
  guint i;

  for (i = 0; whole && i < G_N_ELEMENTS (wrong); i++)
    fail_if (gst_vkgdr_memory_new_part (
        whole, wrong[i][0], wrong[i][1], 0, NULL, NULL));
}

/* A part has fences of its own, so that its users do not wait for users of
 * another part. The callback is called when the device has finished. */
TEST (parts_have_fences)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstMemory *one, *other;

  if (!whole)
    return;
  one = new_part (0);
  other = gst_vkgdr_memory_new_part (whole, at, SIZE, 0, NULL, NULL);
  stream = test_stream_new (test_context);
  test_gate_access (one, stream, GST_MAP_WRITE, 100, &done);
  fail_if (gst_vkgdr_memory_is_written (one));
  fail_unless (gst_vkgdr_memory_is_idle (other));
  fail_unless (gst_vkgdr_memory_wait_idle (other, NULL));
  fail_if (g_atomic_int_get (&done));
  gst_memory_unref (other);
  gst_memory_unref (one);
  fail_unless_equals_int (g_atomic_int_get (&n_calls), 0);
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&n_calls) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_calls), 1);
  fail_unless (g_atomic_int_get (&done));
}

static void
assert_no_import (
    gint fd, gconstpointer data, gsize size, const gchar *sentence)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GBytes) description = g_bytes_new (data, size);
  GError *error = NULL;

  fail_if (gst_vkgdr_allocator_import_fd (allocator, fd, description, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_ARGUMENT, sentence);
}

TEST (wrong_descriptions)
{
  GBytes *description = NULL;
  gsize size;
  guint8 *data;
  gint fd;

  if (!whole)
    return;
  fd = export_fd (&description);
  data = g_bytes_unref_to_data (description, &size);
  assert_no_import (fd, "text", 4, "not a description");
  assert_no_import (-1, data, size, "not an open file descriptor");
  data[size - 1] ^= 1; /* the last byte of the driver's UUID */
  assert_no_import (fd, data, size, "driver");
  data[size - 1] ^= 1;
  data[size - 17] ^= 1; /* the last byte of the device's UUID */
  assert_no_import (fd, data, size, "another device");
  data[size - 17] ^= 1;
  data[G_STRUCT_OFFSET (vkgdr_fd_info, reserved)] = 1;
  assert_no_import (fd, data, size, "not a description");
  g_free (data);
  close (fd);
}

TEST_FIXTURE (test_setup, test_teardown);

/* A frame can be sent while the device reads it, but not while the device
 * writes to it. */
TEST (wait_written)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstMemory) frame = test_memory_new (test_context, SIZE);

  test_gate_access (frame, stream, GST_MAP_READ, 0, &done);
  fail_unless (gst_vkgdr_memory_is_written (frame));
  fail_unless (gst_vkgdr_memory_wait_written (frame, NULL));
  fail_if (g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_idle (frame, NULL));

  g_atomic_int_set (&done, FALSE);
  test_gate_access (frame, stream, GST_MAP_WRITE, 100, &done);
  fail_if (gst_vkgdr_memory_is_written (frame));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_written (frame, NULL));
  fail_unless (g_atomic_int_get (&done));
}

/* Memory that shares its allocation with other memory is not exported. */
TEST (no_export)
{
  g_autoptr (GstMemory) small = test_memory_new (test_context, SIZE);
  GBytes *description = NULL;
  GError *error = NULL;
  gsize offset;

  fail_unless_equals_int (
      gst_vkgdr_memory_export_fd (small, &description, &offset, &error), -1);
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (description == NULL);
}
