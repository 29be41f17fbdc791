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

static GstMemory *
new_exportable (guint seed)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);

  fail_unless (memory != NULL);
  test_write (memory, seed);
  return memory;
}

/* Imports @memory as another process would. */
static GstMemory *
import (GstMemory *memory, gsize *offset)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GBytes) description = NULL;
  GError *error = NULL;
  GstMemory *whole;
  gint fd;

  fd = gst_vkgdr_memory_export_fd (memory, &description, offset, &error);
  fail_unless (fd >= 0, "%s", error ? error->message : "");
  whole = gst_vkgdr_allocator_import_fd (allocator, fd, description, &error);
  fail_unless (whole != NULL, "%s", error ? error->message : "");
  close (fd);
  return whole;
}

static void
count (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

TEST_FIXTURE (test_setup, test_teardown);

TEST (part)
{
  GstMemory *memory, *whole, *part;
  gsize offset = 0;
  gint calls = 0;

  if (!test_has_window ())
    return;
  memory = new_exportable (3);
  whole = import (memory, &offset);
  fail_unless (whole->size >= offset + SIZE);
  part = gst_vkgdr_memory_new_part (
      whole, offset, SIZE, GST_MEMORY_FLAG_READONLY, count, &calls);
  fail_unless (part != NULL);
  fail_unless (GST_MEMORY_IS_READONLY (part));
  fail_unless (gst_vkgdr_memory_is_written (part));
  fail_unless (gst_vkgdr_memory_is_idle (part));
  gst_memory_unref (whole);
  /* The part holds a reference to the imported memory, which keeps the
   * allocation. */
  gst_memory_unref (memory);
  test_assert_read (part, 3);
  fail_unless_equals_int (g_atomic_int_get (&calls), 0);
  gst_memory_unref (part);
  fail_unless_equals_int (g_atomic_int_get (&calls), 1);
}

/* The imported memory has a host pointer, and can be written. The exported
 * memory then has the new bytes. */
TEST (both_write)
{
  g_autoptr (GstMemory) memory = NULL, whole = NULL, part = NULL;
  gsize offset = 0;

  if (!test_has_window ())
    return;
  memory = new_exportable (3);
  whole = import (memory, &offset);
  part = gst_vkgdr_memory_new_part (whole, offset, SIZE, 0, NULL, NULL);
  fail_unless (gst_vkgdr_memory_get_host_pointer (part) != NULL);
  test_write (part, 8);
  fail_unless (gst_vkgdr_memory_wait_idle (part, NULL));
  test_assert_read (memory, 8);
}

TEST (ranges)
{
  g_autoptr (GstMemory) memory = NULL, whole = NULL;
  gsize offset = 0;

  if (!test_has_window ())
    return;
  memory = new_exportable (3);
  whole = import (memory, &offset);
  fail_unless (gst_vkgdr_memory_new_part (whole, 0, 0, 0, NULL, NULL) == NULL);
  fail_unless (
      gst_vkgdr_memory_new_part (whole, 0, whole->size + 1, 0, NULL, NULL)
      == NULL);
  fail_unless (
      gst_vkgdr_memory_new_part (whole, whole->size - 1, 2, 0, NULL, NULL)
      == NULL);
  fail_unless (
      gst_vkgdr_memory_new_part (whole, G_MAXSIZE - 1, 4, 0, NULL, NULL)
      == NULL);
}

/* A part has fences of its own, so that its users do not wait for users of
 * another part. The callback is called when the device has finished. */
TEST (parts_have_fences)
{
  GstMemory *memory, *whole, *one, *other;
  g_autoptr (GstVkgdrStream) stream = NULL;
  gint calls = 0, done = FALSE;
  gsize offset = 0;

  if (!test_has_window ())
    return;
  memory = new_exportable (3);
  whole = import (memory, &offset);
  one = gst_vkgdr_memory_new_part (whole, offset, SIZE, 0, count, &calls);
  other = gst_vkgdr_memory_new_part (whole, offset, SIZE, 0, NULL, NULL);
  stream = test_stream_new (test_context);
  fail_unless (
      gst_vkgdr_memory_begin_access (one, stream, GST_MAP_WRITE, NULL));
  test_gate_delay (stream, 100, &done);
  fail_unless (gst_vkgdr_memory_end_access (one, stream, GST_MAP_WRITE, NULL));
  fail_if (gst_vkgdr_memory_is_written (one));
  fail_unless (gst_vkgdr_memory_is_idle (other));
  fail_unless (gst_vkgdr_memory_wait_idle (other, NULL));
  fail_unless_equals_int (g_atomic_int_get (&done), FALSE);
  gst_memory_unref (other);
  gst_memory_unref (one);
  fail_unless_equals_int (g_atomic_int_get (&calls), 0);
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&calls) > 0);
  fail_unless_equals_int (g_atomic_int_get (&calls), 1);
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  gst_memory_unref (whole);
  gst_memory_unref (memory);
}

/* A frame can be sent while the device reads it, but not while the device
 * writes to it. */
TEST (wait_written)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GError *error = NULL;
  gint done = FALSE;

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 0, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (gst_vkgdr_memory_is_written (memory));
  fail_unless (gst_vkgdr_memory_wait_written (memory, &error));
  fail_unless_equals_int (g_atomic_int_get (&done), FALSE);
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_WRITE, NULL));
  done = FALSE;
  test_gate_delay (stream, 100, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_WRITE, NULL));
  fail_if (gst_vkgdr_memory_is_written (memory));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_written (memory, &error));
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
}

static void
assert_no_import (
    gint fd, gconstpointer data, gsize size, const gchar *sentence)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GBytes) description = g_bytes_new (data, size);
  g_autoptr (GError) error = NULL;

  fail_unless (
      gst_vkgdr_allocator_import_fd (allocator, fd, description, &error)
      == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT), "%s",
      error->message);
  test_assert_contains (error->message, sentence);
}

TEST (wrong_descriptions)
{
  g_autoptr (GstMemory) memory = NULL;
  GBytes *description = NULL;
  GError *error = NULL;
  gsize offset, size;
  guint8 *data;
  gint fd;

  if (!test_has_window ())
    return;
  memory = new_exportable (1);
  fd = gst_vkgdr_memory_export_fd (memory, &description, &offset, &error);
  fail_unless (fd >= 0);
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

/* Memory that shares its allocation with other memory is not exported. */
TEST (no_export)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GBytes *description = NULL;
  g_autoptr (GError) error = NULL;
  gsize offset;

  fail_unless_equals_int (
      gst_vkgdr_memory_export_fd (memory, &description, &offset, &error), -1);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT));
  fail_unless (description == NULL);
}
