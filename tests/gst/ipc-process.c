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

void
test_ipc_fill (guint8 *bytes, guint number)
{
  guint i;

  for (i = 0; i < TEST_IPC_SIZE; i++)
    bytes[i] = test_frame_byte (number, i % TEST_IPC_WIDTH, i / TEST_IPC_WIDTH);
}

gboolean
test_ipc_is_whole (GstBuffer *buffer)
{
  guint8 bytes[TEST_IPC_SIZE];

  test_ipc_fill (bytes, GST_BUFFER_PTS (buffer) / GST_MSECOND);
  return gst_buffer_memcmp (buffer, 0, bytes, sizeof (bytes)) == 0;
}

void
test_ipc_require_window (void)
{
  int status = EXIT_FAILURE;
  pid_t child = fork (); /* see test_require_software () */

  if (child == 0)
    _exit (test_has_window () ? EXIT_SUCCESS : 77);
  if (waitpid (child, &status, 0) == child && status == 0)
    return;
  g_print ("skipped: the device has no window\n");
  exit (WIFEXITED (status) ? WEXITSTATUS (status) : EXIT_FAILURE);
}

void
test_ipc_setup (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr ipc-XXXXXX", NULL);

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
      "%s ! " TEST_IPC_CAPS " ! vkgdripcsink name=ipc socket-path=\"%s\" %s",
      source, test_ipc_path, properties);

  test_set_context (pipeline, test_context);
  test_preroll (pipeline);
  return pipeline;
}

void
test_ipc_wait_clients (GstElement *element, guint n)
{
  guint clients = 0;

  test_wait_for (
      (g_object_get (element, "num-clients", &clients, NULL), clients == n));
}
