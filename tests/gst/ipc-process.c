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

/* Ends the process unless each frame is whole, and comes after the one before
 * it, and EOS after the last. Prints a line at the first frame. */
static int
be_client (const gchar *path)
{
  g_autofree gchar *text = g_strdup_printf (
      "vkgdripcsrc socket-path=%s ! appsink name=sink sync=false max-buffers=1",
      path);
  GstElement *pipeline = gst_parse_launch (text, NULL);
  GstAppSink *sink =
      GST_APP_SINK (gst_bin_get_by_name (GST_BIN (pipeline), "sink"));
  gulong delay = g_ascii_strtoull (g_getenv (DELAY), NULL, 10);
  GstClockTime expected = GST_CLOCK_TIME_NONE;
  GstSample *sample;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (sink))) {
    GstBuffer *buffer = gst_sample_get_buffer (sample);
    gboolean is_whole = test_ipc_is_whole (buffer);

    g_usleep (delay);
    if (!is_whole || !test_ipc_is_whole (buffer))
      g_error ("the frame %" G_GUINT64_FORMAT " is not whole",
          GST_BUFFER_PTS (buffer));
    if (!GST_CLOCK_TIME_IS_VALID (expected))
      g_print ("first\n");
    else if (GST_BUFFER_PTS (buffer) != expected)
      g_error ("another frame than %" G_GUINT64_FORMAT, expected);
    expected = GST_BUFFER_PTS (buffer) + GST_MSECOND;
    gst_sample_unref (sample);
  }
  if (gst_bus_timed_pop_filtered (
          GST_ELEMENT_BUS (pipeline), GST_SECOND / 10, GST_MESSAGE_ERROR))
    g_error ("no EOS has come");
  gst_element_set_state (pipeline, GST_STATE_NULL);
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
test_ipc_start (guint delay)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autofree gchar *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree gchar *number = g_strdup_printf ("%u", delay);
  GSubprocess *process;

  g_subprocess_launcher_setenv (launcher, PATH, test_ipc_path, TRUE);
  g_subprocess_launcher_setenv (launcher, DELAY, number, TRUE);
  process = g_subprocess_launcher_spawn (launcher, NULL, self, NULL);
  fail_unless (process != NULL);
  return process;
}

void
test_ipc_wait_first (GSubprocess *process)
{
  gchar line[6] = "";

  g_input_stream_read_all (g_subprocess_get_stdout_pipe (process), line,
      sizeof (line), NULL, NULL, NULL);
  fail_unless (strncmp (line, "first\n", sizeof (line)) == 0);
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
