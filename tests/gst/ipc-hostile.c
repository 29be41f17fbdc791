/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-hostile.c: tests of vkgdripcsrc with hostile servers, and of the
 * permission to connect
 *
 * A hostile server is the server of libvkgdr, with caps, tags and metas that a
 * vkgdripcsink does not send. tests/vkgdr has the tests with hostile clients,
 * and with messages of any form.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame-server.h"
#include "frame-wire.h"
#include "ipc-process.h"
#include "slow.h"
#include "util.h"

static GstElement *server, *ipc;

static void
say_hello (gint fd)
{
  const vkgdr_wire_hello hello = { { VKGDR_WIRE_HELLO, sizeof (hello) },
    VKGDR_WIRE_MAGIC_BYTES, VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION };

  send (fd, &hello, sizeof (hello), MSG_NOSIGNAL);
}

static gint
connect_to_server (void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  gint fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, test_ipc_path, sizeof (address.sun_path));
  if (connect (fd, (struct sockaddr *) &address, sizeof (address)) == 0)
    return fd;
  close (fd);
  return -1;
}

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* --- the permission to connect ------------------------------------------- */

/* Connects as another user. Returns -2 if the process cannot become another
 * user, -1 if the connection fails with an error that names the remedy, 0 if
 * there is no message, and otherwise the type of the first message. */
static gint
connect_as_other_user (void)
{
  const vkgdr_frames_params params = { .path = test_ipc_path };
  guint32 type = 0;
  gint fd;

  if (setgid (65534) != 0 || setuid (65534) != 0)
    return -2;
  fd = connect_to_server ();
  if (fd < 0)
    return !vkgdr_frames_connect (&params)
                   && strstr (vkgdr_last_error (), "allowed-peers")
               ? -1
               : -3;
  say_hello (fd);
  /* The first call fails if the server has not read the greeting. */
  if (recv (fd, &type, sizeof (type), MSG_TRUNC) < 0 && errno == ECONNRESET)
    recv (fd, &type, sizeof (type), MSG_TRUNC);
  return (gint) type;
}

/* Calls connect_as_other_user () in a child process. The child writes the
 * result to a pipe, because its exit status may be that of a checking tool. */
static gint
ask_as_other_user (void)
{
  gint result = -2, ends[2];
  pid_t child;

  fail_unless (pipe (ends) == 0);
  child = fork ();
  if (child == 0) {
    result = connect_as_other_user ();
    if (write (ends[1], &result, sizeof (result)) < 0)
      _exit (1);
    _exit (0);
  }
  fail_unless (read (ends[0], &result, sizeof (result)) == sizeof (result));
  fail_unless (waitpid (child, NULL, 0) == child);
  close (ends[0]);
  close (ends[1]);
  fail_unless (result != -2);
  return result;
}

static const struct {
  const gchar *properties;
  mode_t mode;
  gint answer;        /* to another user */
  gint answer_if_666; /* the same, if the socket's mode permits everything */
} permissions[] = {
  { "", 0600, -1, VKGDR_WIRE_BYE },
  { "allowed-peers=group", 0660, -1, VKGDR_WIRE_BYE },
  { "allowed-peers=all", 0666, VKGDR_WIRE_WELCOME, VKGDR_WIRE_WELCOME },
};

TEST_LOOP (other_users, G_N_ELEMENTS (permissions))
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);
  struct stat status;

  if (test_ipc_cannot_export ())
    return;
  if (geteuid () != 0) {
    g_print ("skipped: only root can be another user\n");
    return;
  }
  /* All users can search the folder, so that only the socket decides. */
  fail_unless (chmod (folder, 0755) == 0);
  server =
      test_ipc_new_server ("testframes buffers=32 ! identity sleep-time=4000",
          permissions[__i__].properties, &ipc);
  gst_element_set_state (server, GST_STATE_PLAYING);
  fail_unless (stat (test_ipc_path, &status) == 0);
  fail_unless_equals_int_hex (
      status.st_mode, S_IFSOCK | permissions[__i__].mode);
  fail_unless_equals_int (ask_as_other_user (), permissions[__i__].answer);
  fail_unless (chmod (test_ipc_path, 0666) == 0);
  fail_unless_equals_int (
      ask_as_other_user (), permissions[__i__].answer_if_666);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "clients-refused"),
      permissions[__i__].answer_if_666 == VKGDR_WIRE_BYE);
  test_ipc_stop_server (server, ipc);
}

/* --- hostile servers ----------------------------------------------------- */

static const vkgdr_server_plane no_plane;

/* The memory of a hostile server is that of a buffer of this process. */
typedef struct {
  vkgdr_server *server;
  GstElement *client;
  GstBuffer *buffer;
  vkgdr_export *export;
  gsize offset;
} Attack;

static void
set_state (Attack *self, vkgdr_frames_state state, const gchar *text)
{
  fail_unless (
      vkgdr_server_set_state (self->server, state, text, strlen (text)));
}

#define GOOD_CAPS \
  "video/x-raw, format=(string)RGBA, width=(int)64, height=(int)48, " \
  "framerate=(fraction)30/1"
#define SIZE (64 * 48 * 4)

static void
open_attack (Attack *self)
{
  const vkgdr_server_params params = { .path = test_ipc_path,
    .max_buffers = 4 };
  GBytes *description = NULL;
  vkgdr_fd_info info;
  gint fd;

  self->server = vkgdr_server_new (&params);
  fail_unless (self->server != NULL);
  self->buffer = test_exportable_buffer_new (SIZE);
  fd = gst_vkgdr_memory_export_fd (gst_buffer_peek_memory (self->buffer, 0),
      &description, &self->offset, NULL);
  fail_unless (fd >= 0);
  memcpy (&info, g_bytes_get_data (description, NULL), sizeof (info));
  g_bytes_unref (description);
  self->export = vkgdr_export_new (1, fd, &info);
  self->client = test_launch (
      "vkgdripcsrc socket-path=%s ! fakesink sync=false", test_ipc_path);
  gst_element_set_state (self->client, GST_STATE_PLAYING);
  set_state (self, VKGDR_FRAMES_CAPS, GOOD_CAPS);
}

static int
check_written (void *user_data, bool wait)
{
  return 1;
}

/* Sends a frame with these metas and, if @n_planes is 1, with the plane, as
 * soon as there is a client. */
static void
send_frame (Attack *self, gconstpointer metas, gsize size, guint n_planes,
    vkgdr_server_plane plane)
{
  const vkgdr_server_frame frame = { .pts = 0,
    .n_planes = n_planes,
    .planes = { plane },
    .dts = VKGDR_FRAME_NO_TIME,
    .duration = VKGDR_FRAME_NO_TIME,
    .base = -1,
    .time = -1,
    .n_ranges = 1,
    .ranges = { { self->export, self->offset, SIZE } },
    .metas = metas,
    .metas_size = size,
    .check_written = check_written };
  vkgdr_server_figures figures;

  do {
    g_usleep (1000);
    vkgdr_server_get_figures (self->server, &figures);
  } while (figures.clients == 0);
  fail_unless_equals_int (
      vkgdr_server_send (self->server, &frame), VKGDR_SERVER_SENT);
}

/* Ends the client. Its stream must have ended with an error or EOS, as
 * @is_error says. */
static void
close_attack (Attack *self, gboolean is_error)
{
  GstBus *bus = gst_element_get_bus (self->client);
  GstMessage *message;
  GError *error = NULL;

  vkgdr_server_close (self->server);
  message = gst_bus_timed_pop_filtered (
      bus, 20 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (message != NULL, "the client neither ends nor fails");
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  fail_unless (
      (error != NULL) == is_error, "%s", error ? error->message : "no error");
  g_clear_error (&error);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_element_set_state (self->client, GST_STATE_NULL);
  gst_object_unref (self->client);
  vkgdr_server_unref (self->server);
  vkgdr_export_unref (self->export);
  gst_buffer_unref (self->buffer);
}

/* Returns @n times @part behind @start; the caller frees it. */
static gchar *
repeat (const gchar *start, const gchar *part, guint n)
{
  GString *text = g_string_new (start);

  while (n-- > 0)
    g_string_append (text, part);
  return g_string_free (text, FALSE);
}

/* Contents of states, and the states that may have them. The part is repeated:
 * GStreamer's parsers would overflow the stack. */
static const struct {
  const gchar *text, *part;
  guint allowed; /* bits of vkgdr_frames_state */
} contents[] = {
  { "", NULL, 1 << VKGDR_FRAMES_STREAM_TAGS | 1 << VKGDR_FRAMES_GLOBAL_TAGS },
  { "taglist, title=x", NULL, 1 << VKGDR_FRAMES_CAPS },
  { "video/x-raw, width=(int)[1, 2]" },
  { "\377\377\377\377" },
  { "video/x-raw, a=", "{" },
  { "video/x-raw, a=", "<" },
  { "video/x-raw, a=", "(structure)[a, b=" },
};

TEST_LOOP (states, G_N_ELEMENTS (contents) * VKGDR_FRAMES_N_STATES)
{
  guint i = __i__ / VKGDR_FRAMES_N_STATES,
        state = __i__ % VKGDR_FRAMES_N_STATES;
  const gchar *part = contents[i].part;
  g_autofree gchar *text =
      repeat (contents[i].text, part ? part : "", part ? 30000 : 0);
  Attack attack;

  if (test_ipc_cannot_export ())
    return;
  open_attack (&attack);
  set_state (&attack, state, text);
  send_frame (&attack, NULL, 0, 0, no_plane);
  close_attack (&attack, !(contents[i].allowed & 1 << state));
}

/* The kinds of metas, as in docs/ipc-protocol.md. */
#define CUSTOM 3
#define REFERENCE 5

/* Metas that are named like other types are left out. */
static const struct {
  guint32 kind;
  const gchar *text, *part;
} metas[] = {
  { CUSTOM, "GstBuffer, a=1;" },
  { CUSTOM, "GObject, a=1;" },
  { CUSTOM, "GstVideoMeta, a=1;" },
  { CUSTOM, "gint, a=1;" },
  { CUSTOM, "GstVideo, a=1;" },
  { CUSTOM, "my-meta, a=", "<" },
  { REFERENCE, "0123456789abcdefvideo/x-raw, a=", "<" },
};

TEST_LOOP (metas, G_N_ELEMENTS (metas))
{
  const gchar *part = metas[__i__].part;
  g_autofree gchar *text =
      repeat (metas[__i__].text, part ? part : "", part ? 30000 : 0);
  guint32 head[2] = { metas[__i__].kind, strlen (text) };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  Attack attack;

  g_byte_array_append (bytes, (const guint8 *) head, sizeof (head));
  g_byte_array_append (bytes, (const guint8 *) text, strlen (text));
  if (test_ipc_cannot_export ())
    return;
  open_attack (&attack);
  send_frame (&attack, bytes->data, bytes->len, 0, no_plane);
  close_attack (&attack, part != NULL);
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
  { { SIZE - 4, 4, 0 }, 1, 1, TRUE },
  { { 0, 4, 0 }, 1, 48, TRUE },
};

TEST_LOOP (planes, G_N_ELEMENTS (planes))
{
  const vkgdr_frame_format format = { .name = "RGBA",
    .width = planes[__i__].width,
    .height = planes[__i__].height,
    .n_planes = 1,
    .planes = { { planes[__i__].width, planes[__i__].height, 4, 8 } } };
  Attack attack;

  if (test_ipc_cannot_export ())
    return;
  open_attack (&attack);
  fail_unless (vkgdr_server_set_format (attack.server, &format));
  send_frame (&attack, NULL, 0, 1, planes[__i__].plane);
  close_attack (&attack, planes[__i__].is_error);
}

/* The process keeps the names of fields for ever. */
TEST (many_names)
{
  g_autoptr (GString) text = g_string_new ("video/x-raw");
  Attack attack;
  guint i;

  for (i = 0; i < 10000; i++)
    g_string_append_printf (text, ", vkgdr-test-name-%u=1", i);
  if (test_ipc_cannot_export ())
    return;
  open_attack (&attack);
  set_state (&attack, VKGDR_FRAMES_CAPS, text->str);
  send_frame (&attack, NULL, 0, 0, no_plane);
  close_attack (&attack, TRUE);
  fail_unless_equals_int (g_quark_try_string ("vkgdr-test-name-1"), 0);
}
