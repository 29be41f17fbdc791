/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-process.c: see ipc-process.h
 */

#include "ipc-process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

gchar *test_ipc_path;

/* In the environment of another process: the socket, and how long it uses each
 * frame, in microseconds. */
#define PATH "TEST_IPC_PATH"
#define DELAY "TEST_IPC_DELAY"
#define SLOW "20000"

gboolean
test_ipc_is_whole (GstBuffer *buffer)
{
  guint number = GST_BUFFER_PTS (buffer) / GST_MSECOND, i = 0;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return FALSE;
  while (i < TEST_IPC_WIDTH * TEST_IPC_HEIGHT
         && map.data[i]
                == test_frame_byte (
                    number, i % TEST_IPC_WIDTH, i / TEST_IPC_WIDTH))
    i++;
  gst_buffer_unmap (buffer, &map);
  return i == TEST_IPC_WIDTH * TEST_IPC_HEIGHT;
}

/* --- in the other process ------------------------------------------------ */

/* Returns the number of a frame, and ends the process if it is not whole. */
static guint
check_frame (GstSample *sample)
{
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  guint number = GST_BUFFER_PTS (buffer) / GST_MSECOND;

  if (!test_ipc_is_whole (buffer))
    g_error ("frame %u is not whole", number);
  return number;
}

static int
be_client (const gchar *path)
{
  g_autofree gchar *text = g_strdup_printf (
      "vkgdripcsrc socket-path=%s ! appsink name=sink sync=false max-buffers=1",
      path);
  GstElement *pipeline = gst_parse_launch (text, NULL);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gulong delay = g_ascii_strtoull (g_getenv (DELAY), NULL, 10);
  guint frames = 0, first = 0, last = 0, number;
  GstSample *sample;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    number = check_frame (sample);
    g_usleep (delay);
    check_frame (sample);
    if (frames++ == 0)
      first = number;
    else if (number <= last)
      g_error ("frame %u comes after frame %u", number, last);
    last = number;
    gst_sample_unref (sample);
    if (frames == 1)
      printf ("first\n");
    fflush (stdout);
  }
  if (gst_bus_timed_pop_filtered (
          GST_ELEMENT_BUS (pipeline), GST_SECOND / 10, GST_MESSAGE_ERROR))
    g_error ("no EOS has come");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  printf ("%u %u %u\n", frames, first, last);
  fflush (stdout);
  return 0;
}

/* The main () of all test programs that start other processes. */
int
main (int argc, char **argv)
{
  const gchar *path = g_getenv (PATH);

  if (!path)
    return test_main (argc, argv);
  gst_init (&argc, &argv);
  return be_client (path);
}

/* --- in the test --------------------------------------------------------- */

GSubprocess *
test_ipc_start (gboolean is_slow)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autofree gchar *self = g_file_read_link ("/proc/self/exe", NULL);
  GSubprocess *process;

  g_subprocess_launcher_setenv (launcher, PATH, test_ipc_path, TRUE);
  g_subprocess_launcher_setenv (launcher, DELAY, is_slow ? SLOW : "0", TRUE);
  process = g_subprocess_launcher_spawn (launcher, NULL, self, NULL);
  fail_unless (process != NULL);
  return process;
}

/* Returns the next line of its output, which the caller frees. */
static gchar *
read_line (GSubprocess *process)
{
  GInputStream *stream = g_subprocess_get_stdout_pipe (process);
  GString *line = g_string_new (NULL);
  gchar c;

  while (g_input_stream_read (stream, &c, 1, NULL, NULL) == 1 && c != '\n')
    g_string_append_c (line, c);
  return g_string_free (line, FALSE);
}

void
test_ipc_wait_first (GSubprocess *process)
{
  g_autofree gchar *line = read_line (process);

  fail_unless_equals_string (line, "first");
}

TestIpcReport
test_ipc_finish (GSubprocess *process)
{
  g_autofree gchar *line = read_line (process);
  TestIpcReport report = { 0 };

  if (strcmp (line, "first") == 0) {
    g_free (line);
    line = read_line (process);
  }
  fail_unless (g_subprocess_wait_check (process, NULL, NULL), "%s", line);
  fail_unless_equals_int (
      sscanf (line, "%u %u %u", &report.frames, &report.first, &report.last),
      3);
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

static int
find_window (void)
{
  g_autoptr (GstVkgdrContext) context = gst_vkgdr_context_new (-1, NULL);
  g_autoptr (GstStructure) device =
      context ? gst_vkgdr_context_describe (context) : NULL;
  gboolean has_window = FALSE;

  if (!device || !gst_structure_get_boolean (device, "has-window", &has_window))
    return EXIT_FAILURE;
  return has_window ? EXIT_SUCCESS : 77;
}

void
test_ipc_require_window (void)
{
  int status = EXIT_FAILURE;
  pid_t child = fork (); /* see test_require_software () */

  if (child == 0)
    _exit (find_window ());
  if (waitpid (child, &status, 0) != child || status != 0)
    exit (WIFEXITED (status) ? WEXITSTATUS (status) : EXIT_FAILURE);
}

void
test_ipc_setup (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-ipc-XXXXXX", NULL);

  if (g_getenv ("VKGDR_DEBUG"))
    test_setup ();
  else
    test_setup_bar ();
  test_frames_register ();
  fail_unless (folder != NULL);
  test_ipc_path = g_build_filename (folder, "socket", NULL);
}

void
test_ipc_teardown (void)
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);

  remove (test_ipc_path);
  remove (folder);
  g_clear_pointer (&test_ipc_path, g_free);
  test_teardown ();
}

GstElement *
test_ipc_new_server (const gchar *source, const gchar *properties)
{
  GstElement *pipeline = test_launch (
      "%s ! " TEST_IPC_CAPS " ! vkgdripcsink name=ipc socket-path=%s %s",
      source, test_ipc_path, properties);

  test_set_context (pipeline, test_context);
  test_preroll (pipeline);
  return pipeline;
}

void
test_ipc_stop_server (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

void
test_ipc_wait_clients (GstElement *element, guint n)
{
  guint clients = 0;

  test_wait_for (
      (g_object_get (element, "num-clients", &clients, NULL), clients == n));
}
