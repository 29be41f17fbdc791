/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-process.c: see ipc-process.h
 */

#include "ipc-process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

gchar *test_ipc_path;

#define ROLE "TEST_IPC_ROLE"
#define PATH "TEST_IPC_PATH"

/* How long the role "slow" uses each frame, in microseconds. */
#define SLOW (20 * 1000)

/* The maximum of busy-poll, in microseconds. */
#define MAX_BUSY_POLL (10 * 1000 * 1000)

/* --- in the other process ------------------------------------------------ */

gboolean
test_ipc_is_whole (GstBuffer *buffer, guint width, guint height)
{
  guint number = GST_BUFFER_PTS (buffer) / GST_MSECOND, x, y;
  gboolean is_whole = TRUE;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return FALSE;
  for (y = 0; y < height; y++)
    for (x = 0; x < width; x++)
      is_whole =
          is_whole && map.data[y * width + x] == test_frame_byte (number, x, y);
  gst_buffer_unmap (buffer, &map);
  return is_whole;
}

/* The same as test_launch (), in a process that is not a test. */
static GstElement *
launch (const gchar *format, const gchar *path, guint number)
{
  g_autofree gchar *text = g_strdup_printf (format, path, number);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (text, &error);

  if (!pipeline || error)
    g_error ("%s: %s", text, error ? error->message : "");
  return pipeline;
}

static void
look_at (GstBuffer *buffer, gboolean is_slow, TestIpcReport *report)
{
  guint number = GST_BUFFER_PTS (buffer) / GST_MSECOND;
  gboolean is_whole =
      test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT);

  if (is_slow) {
    g_usleep (SLOW);
    is_whole =
        is_whole && test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT);
  }
  report->torn += !is_whole;
  if (report->frames == 0)
    report->first = number;
  else
    report->unordered += number <= report->last;
  report->last = number;
  report->frames++;
}

static void
find_end (GstElement *pipeline, TestIpcReport *report)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, GST_SECOND, GST_MESSAGE_ERROR);
  GError *error = NULL;

  if (message) {
    gst_message_parse_error (message, &error, NULL);
    g_strlcpy (report->end, error->message, sizeof (report->end));
    g_error_free (error);
    gst_message_unref (message);
  } else {
    g_strlcpy (report->end, "eos", sizeof (report->end));
  }
}

/* The role "busy" does not sleep while it waits for frames. The role "holder"
 * keeps the first frame until the end, and checks it then. */
static int
be_client (const gchar *role, const gchar *path)
{
  GstElement *pipeline = launch (
      "vkgdripcsrc socket-path=%s busy-poll=%u ! appsink name=sink sync=false "
      "max-buffers=1",
      path, strcmp (role, "busy") == 0 ? MAX_BUSY_POLL : 0);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gboolean is_slow = strcmp (role, "slow") == 0;
  TestIpcReport report = { 0 };
  GstSample *sample, *kept = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    look_at (gst_sample_get_buffer (sample), is_slow, &report);
    if (report.frames == 1) {
      printf ("first\n");
      fflush (stdout);
    }
    if (!kept && strcmp (role, "holder") == 0)
      kept = gst_sample_ref (sample);
    gst_sample_unref (sample);
  }
  find_end (pipeline, &report);
  if (kept)
    report.torn += !test_ipc_is_whole (
        gst_sample_get_buffer (kept), TEST_IPC_WIDTH, TEST_IPC_HEIGHT);
  g_clear_pointer (&kept, gst_sample_unref);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  printf ("frames=%u torn=%u unordered=%u first=%u last=%u end=%s\n",
      report.frames, report.torn, report.unordered, report.first, report.last,
      report.end);
  fflush (stdout);
  return 0;
}

static int
be_server (const gchar *path)
{
  GstElement *pipeline = launch ("testframes buffers=%2$u ! " TEST_IPC_CAPS
                                 " ! vkgdripcsink socket-path=%1$s",
      path, 16);

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  printf ("playing\n");
  fflush (stdout);
  g_usleep (60 * G_USEC_PER_SEC);
  return 1; /* this process is going to be killed */
}

/* Plays the role of this process, and returns its exit status, or -1 if it has
 * no role. Must be called before gst_check_init (). */
static gint
play_role (int *argc, char ***argv)
{
  const gchar *role = g_getenv (ROLE), *path = g_getenv (PATH);

  if (!role)
    return -1;
  gst_init (argc, argv);
  test_frames_register ();
  return strcmp (role, "server") == 0 ? be_server (path)
                                      : be_client (role, path);
}

/* --- in the test --------------------------------------------------------- */

static GSubprocess *
start (const gchar *const *prefix, const gchar *role)
{
  GSubprocessLauncher *launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_autofree gchar *self = g_file_read_link ("/proc/self/exe", NULL);
  GSubprocess *process;
  GError *error = NULL;

  while (prefix && *prefix)
    g_ptr_array_add (arguments, (gpointer) *prefix++);
  g_ptr_array_add (arguments, self);
  g_ptr_array_add (arguments, NULL);
  g_subprocess_launcher_setenv (launcher, ROLE, role, TRUE);
  g_subprocess_launcher_setenv (launcher, PATH, test_ipc_path, TRUE);
  process = g_subprocess_launcher_spawnv (
      launcher, (const gchar *const *) arguments->pdata, &error);
  fail_unless (process != NULL, "%s", error ? error->message : "");
  g_object_unref (launcher);
  return process;
}

GSubprocess *
test_ipc_start (const gchar *role)
{
  return start (NULL, role);
}

GSubprocess *
test_ipc_start_apart (const gchar *role)
{
  static const gchar *const unshare[] = { "unshare", "--pid", "--fork",
    "--mount-proc", "--kill-child", NULL };
  GSubprocess *probe =
      g_subprocess_new (G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL, "unshare",
          "--pid", "--fork", "--mount-proc", "--kill-child", "true", NULL);
  gboolean can = probe && g_subprocess_wait_check (probe, NULL, NULL);

  g_clear_object (&probe);
  return can ? start (unshare, role) : NULL;
}

gchar *
test_ipc_read_line (GSubprocess *process)
{
  GInputStream *stream = g_subprocess_get_stdout_pipe (process);
  GString *line = g_string_new (NULL);
  gchar c;

  while (g_input_stream_read (stream, &c, 1, NULL, NULL) == 1 && c != '\n')
    g_string_append_c (line, c);
  return g_string_free (line, FALSE);
}

TestIpcReport
test_ipc_finish (GSubprocess *process, const gchar *end)
{
  g_autofree gchar *line = test_ipc_read_line (process);
  TestIpcReport report = { 0 };

  if (strcmp (line, "first") == 0) {
    g_free (line);
    line = test_ipc_read_line (process);
  }
  fail_unless_equals_int (
      sscanf (line,
          "frames=%u torn=%u unordered=%u first=%u last=%u end=%511[^\n]",
          &report.frames, &report.torn, &report.unordered, &report.first,
          &report.last, report.end),
      6);
  fail_unless (g_subprocess_wait (process, NULL, NULL));
  fail_unless (g_subprocess_get_if_exited (process));
  fail_unless (report.torn == 0 && report.unordered == 0
                   && strstr (report.end, end) != NULL,
      "%s", line);
  g_object_unref (process);
  return report;
}

void
test_ipc_kill (GSubprocess *process)
{
  g_subprocess_force_exit (process);
  fail_unless (g_subprocess_wait (process, NULL, NULL));
  g_object_unref (process);
}

static gchar *
make_path (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-ipc-XXXXXX", NULL);
  gchar *path;

  fail_unless (folder != NULL);
  path = g_build_filename (folder, "socket", NULL);
  return path;
}

static void
remove_path (gchar *path)
{
  g_autofree gchar *folder = g_path_get_dirname (path);

  remove (path);
  remove (folder);
  g_free (path);
}

void
test_ipc_setup (void)
{
  if (g_getenv ("VKGDR_DEBUG"))
    test_setup ();
  else
    test_setup_bar ();
  test_frames_register ();
  test_ipc_path = make_path ();
}

void
test_ipc_teardown (void)
{
  g_clear_pointer (&test_ipc_path, remove_path);
  test_teardown ();
}

gboolean
test_ipc_cannot_export (void)
{
  if (test_has_window ())
    return FALSE;
  g_print ("skipped: without a window, memory cannot be exported here\n");
  return TRUE;
}

GstElement *
test_ipc_new_server (
    const gchar *source, const gchar *properties, GstElement **ipc)
{
  GstElement *pipeline = test_launch (
      "%s ! " TEST_IPC_CAPS " ! vkgdripcsink name=ipc socket-path=%s %s",
      source, test_ipc_path, properties);
  test_set_context (pipeline, test_context);
  *ipc = gst_bin_get_by_name (GST_BIN (pipeline), "ipc");
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless (gst_element_get_state (pipeline, NULL, NULL, 10 * GST_SECOND)
               == GST_STATE_CHANGE_SUCCESS);
  return pipeline;
}

void
test_ipc_stop_server (GstElement *pipeline, GstElement *ipc)
{
  gst_object_unref (ipc);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

static guint
count_clients (GstElement *element)
{
  guint n;

  g_object_get (element, "num-clients", &n, NULL);
  return n;
}

void
test_ipc_wait_clients (GstElement *element, guint n)
{
  test_wait_for (count_clients (element) == n);
}

guint64
test_ipc_stat (GstElement *element, const gchar *name)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value), "%s", name);
  return value;
}

void
test_ipc_wait_stat (GstElement *element, const gchar *name, guint64 value)
{
  test_wait_for (test_ipc_stat (element, name) == value);
}

/* The main () of all test programs that start other processes. */
int
main (int argc, char **argv)
{
  gint status = play_role (&argc, &argv);

  return status >= 0 ? status : test_main (argc, argv);
}
