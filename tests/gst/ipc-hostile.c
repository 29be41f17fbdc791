/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-hostile.c: tests of vkgdripcsrc with hostile servers, and of the
 * permission to connect
 *
 * A hostile server is the server of libvkgdr, with caps and tags that a
 * vkgdripcsink does not send. tests/vkgdr has the tests with hostile clients,
 * and with messages of any form. ipc-metas.c has more texts and metas.
 */

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame-server.h"
#include "ipc-process.h"

TEST_REQUIRE (test_ipc_require_window);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* --- the permission to connect ------------------------------------------- */

static void *
import_nothing (
    void *self, int fd, const vkgdr_fd_info *info, char *message, size_t size)
{
  return self;
}

/* What another user gets. */
enum { FAILURE, NO_CONNECTION, REFUSAL, FRAME };

/* An error names the remedy. */
static gchar
connect_as_other_user (void)
{
  const vkgdr_frames_params params = { .path = test_ipc_path,
    .allowed_peers = VKGDR_FRAME_PEERS_ALL,
    .import = import_nothing,
    .user_data = &test_ipc_path };
  vkgdr_frames_t frames;
  vkgdr_frame_t frame;

  if (setgid (65534) != 0 || setuid (65534) != 0)
    return FAILURE;
  frames = vkgdr_frames_connect (&params);
  if (frames
      && vkgdr_frames_receive (frames, 10 * GST_SECOND, &frame)
             == VKGDR_FRAMES_FRAME)
    return FRAME;
  if (!strstr (vkgdr_last_error (), "allowed-peers"))
    return FAILURE;
  return frames ? REFUSAL : NO_CONNECTION;
}

/* Calls connect_as_other_user () in a child process. The result is in shared
 * memory, because the exit status may be that of a checking tool. */
static gchar
ask_as_other_user (void)
{
  gchar *result =
      mmap (NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child = fork ();

  if (child == 0) {
    *result = connect_as_other_user ();
    _exit (0);
  }
  fail_unless (waitpid (child, NULL, 0) == child);
  return *result;
}

static const struct {
  const gchar *properties;
  mode_t mode;
  gchar answer;        /* to another user */
  gchar answer_if_666; /* the same, if the socket's mode permits everything */
} permissions[] = {
  { "", 0600, NO_CONNECTION, REFUSAL },
  { "allowed-peers=group", 0660, NO_CONNECTION, REFUSAL },
  { "allowed-peers=all", 0666, FRAME, FRAME },
};

TEST_LOOP (other_users, G_N_ELEMENTS (permissions))
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);
  struct stat status;
  g_autoptr (GstElement) server = NULL;

  if (geteuid () != 0) {
    g_print ("skipped: only root can be another user\n");
    return;
  }
  /* All users can search the folder, so that only the socket decides. */
  fail_unless (chmod (folder, 0755) == 0);
  server =
      test_ipc_new_server ("testframes buffers=32 ! identity sleep-time=4000",
          permissions[__i__].properties);
  gst_element_set_state (server, GST_STATE_PLAYING);
  fail_unless (stat (test_ipc_path, &status) == 0);
  fail_unless_equals_int_hex (
      status.st_mode, S_IFSOCK | permissions[__i__].mode);
  fail_unless_equals_int (ask_as_other_user (), permissions[__i__].answer);
  fail_unless (chmod (test_ipc_path, 0666) == 0);
  fail_unless_equals_int (
      ask_as_other_user (), permissions[__i__].answer_if_666);
  fail_unless_equals_uint64 (test_stat_of (server, "ipc", "clients-refused"),
      permissions[__i__].answer_if_666 == REFUSAL);
  gst_element_set_state (server, GST_STATE_NULL);
}

/* --- hostile servers ----------------------------------------------------- */

#define GOOD_CAPS \
  "video/x-raw, format=(string)RGBA, width=(int)64, height=(int)48, " \
  "framerate=(fraction)30/1"
#define SIZE (64 * 48 * 4)

static int
check_written (void *user_data, bool wait)
{
  return 1;
}

/* Sends a frame with good caps, and then with this state. Its memory is that of
 * a buffer of this process. If @format is not NULL, the frame has @plane in
 * this format. The client must end with an error, or else with EOS. */
static void
attack (vkgdr_frames_state state, const gchar *text,
    const vkgdr_frame_format *format, vkgdr_server_plane plane,
    gboolean is_error)
{
  const vkgdr_server_params params = { .path = test_ipc_path,
    .max_buffers = 4 };
  vkgdr_server *server = vkgdr_server_new (&params);
  g_autoptr (GstBuffer) buffer = test_exportable_buffer_new (SIZE);
  g_autoptr (GstElement) client = test_launch (
      "vkgdripcsrc socket-path=%s ! fakesink sync=false", test_ipc_path);
  vkgdr_server_frame frame = { .n_planes = format != NULL,
    .planes = { plane },
    .dts = VKGDR_FRAME_NO_TIME,
    .duration = VKGDR_FRAME_NO_TIME,
    .base = -1,
    .time = -1,
    .n_ranges = 1,
    .check_written = check_written };
  g_autoptr (GBytes) description = NULL;
  g_autoptr (GError) error = NULL;
  vkgdr_server_figures figures = { 0 };
  gsize offset;
  gint fd = gst_vkgdr_memory_export_fd (
      gst_buffer_peek_memory (buffer, 0), &description, &offset, NULL);
  vkgdr_export *export =
      vkgdr_export_new (1, fd, g_bytes_get_data (description, NULL));

  gst_element_set_state (client, GST_STATE_PLAYING);
  fail_unless (vkgdr_server_set_state (
      server, VKGDR_FRAMES_CAPS, GOOD_CAPS, strlen (GOOD_CAPS)));
  fail_unless (vkgdr_server_set_state (server, state, text, strlen (text)));
  fail_unless (!format || vkgdr_server_set_format (server, format));
  test_wait_for (
      (vkgdr_server_get_figures (server, &figures), figures.clients == 1));
  frame.ranges[0] = (vkgdr_server_range){ export, offset, SIZE };
  fail_unless_equals_int (
      vkgdr_server_send (server, &frame), VKGDR_SERVER_SENT);
  vkgdr_server_close (server);
  error = test_play_result (client);
  fail_unless (
      (error != NULL) == is_error, "%s", error ? error->message : "no error");
  vkgdr_server_unref (server);
  vkgdr_export_unref (export);
}

/* Contents of states, and the states that may have them. GStreamer's parsers
 * would need too much stack for some. */
static const struct {
  const gchar *text;
  gboolean is_deep;
  guint allowed; /* bits of vkgdr_frames_state */
} contents[] = {
  { "", FALSE, 1 << VKGDR_FRAMES_STREAM_TAGS | 1 << VKGDR_FRAMES_GLOBAL_TAGS },
  { "taglist, title=x", FALSE, 1 << VKGDR_FRAMES_CAPS },
  { "video/x-raw, width=(int)[1, 2]" },
  { "\377\377\377\377" },
  { "video/x-raw, a=", TRUE },
};

TEST_LOOP (states, G_N_ELEMENTS (contents) * VKGDR_FRAMES_N_STATES)
{
  guint i = __i__ / VKGDR_FRAMES_N_STATES,
        state = __i__ % VKGDR_FRAMES_N_STATES;
  g_autofree gchar *brackets =
      g_strnfill (contents[i].is_deep ? 30000 : 0, '<');
  g_autofree gchar *text = g_strconcat (contents[i].text, brackets, NULL);

  attack (state, text, NULL, (vkgdr_server_plane){ 0 },
      !(contents[i].allowed & 1 << state));
}

/* The plane of a frame fits the format that the server sends, which is smaller
 * than the caps that it sends. */
static const struct {
  vkgdr_server_plane plane;
  guint width, height;
  gboolean is_error;
} planes[] = {
  { { 0, 256, 0 }, 64, 48, FALSE },
  { { 256, 256, 0 }, 64, 47, TRUE },
  { { 0, 4, 0 }, 1, 48, TRUE },
};

TEST_LOOP (planes, G_N_ELEMENTS (planes))
{
  const vkgdr_frame_format format = { .name = "RGBA",
    .width = planes[__i__].width,
    .height = planes[__i__].height,
    .n_planes = 1,
    .planes = { { planes[__i__].width, planes[__i__].height, 4, 8 } } };

  attack (VKGDR_FRAMES_CAPS, GOOD_CAPS, &format, planes[__i__].plane,
      planes[__i__].is_error);
}
