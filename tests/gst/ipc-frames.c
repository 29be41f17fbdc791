/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-frames.c: tests of gst/ipc/frame.h and gst/ipc/export.h
 */

#include "ipc/frame.h"
#include "util.h"

#define SIZE 3000

/* Whether the export @observed_id existed when observe () was called. */
static guint64 observed_id;
static gboolean was_exported;
static guint n_observed;

static void
observe (gpointer unused)
{
  was_exported = gst_vkgdr_ipc_export_lives (observed_id);
  n_observed++;
}

/* Returns a buffer that calls observe () when it is freed. */
static GstBuffer *
new_observer (void)
{
  static guint8 byte;

  return gst_buffer_new_wrapped_full (0, &byte, 1, 0, 1, NULL, observe);
}

static GstVkgdrIpcOutput *
new_output (GstBuffer *buffer, GstBuffer *room)
{
  GstVkgdrIpcTiming timing = { -1, 0 };
  GError *error = NULL;
  GstVkgdrIpcOutput *output =
      gst_vkgdr_ipc_output_new (buffer, room, 1, &timing, &error);

  fail_unless (output != NULL, "%s", error ? error->message : "");
  return output;
}

static guint64
get_export_id (const GstVkgdrIpcOutput *output)
{
  const GstVkgdrIpcExport *export = g_ptr_array_index (output->exports, 0);

  return export->id;
}

/* When the last memory of an allocation is freed, its export is gone. If it was
 * not, another allocation at the same address would get its descriptor. The
 * observer is freed after the memory. */
GST_START_TEST (test_last_memory)
{
  GstVkgdrIpcOutput *output;

  if (!test_has_window ())
    return;
  output = new_output (test_exportable_buffer_new (SIZE), new_observer ());
  observed_id = get_export_id (output);
  fail_unless (gst_vkgdr_ipc_export_lives (observed_id));
  gst_vkgdr_ipc_output_unref (output);
  fail_unless_equals_int (n_observed, 1);
  fail_if (was_exported);
}
GST_END_TEST

/* An export exists as long as the memory does, whether or not it is sent. */
GST_START_TEST (test_memory_is_kept)
{
  GstVkgdrIpcOutput *output;
  GstBuffer *buffer;
  guint64 id;

  if (!test_has_window ())
    return;
  buffer = test_exportable_buffer_new (SIZE);
  output = new_output (gst_buffer_ref (buffer), NULL);
  id = get_export_id (output);
  gst_vkgdr_ipc_output_unref (output);
  fail_unless (gst_vkgdr_ipc_export_lives (id));
  output = new_output (gst_buffer_ref (buffer), NULL);
  fail_unless_equals_uint64 (get_export_id (output), id);
  gst_vkgdr_ipc_output_unref (output);
  gst_buffer_unref (buffer);
  fail_if (gst_vkgdr_ipc_export_lives (id));
}
GST_END_TEST

static Suite *
ipc_frames_suite (void)
{
  Suite *suite = suite_create ("ipc-frames");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, test_setup_bar, test_teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_last_memory);
  tcase_add_test (tc, test_memory_is_kept);
  return suite;
}

GST_CHECK_MAIN (ipc_frames);
