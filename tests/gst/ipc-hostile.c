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
start_server (const gchar *properties)
{
  server = test_ipc_new_server (
      "testframes buffers=32 ! identity sleep-time=4000", properties, &ipc);
  gst_element_set_state (server, GST_STATE_PLAYING);
}

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

static void
assert_mode (mode_t mode)
{
  struct stat status;

  fail_unless (stat (test_ipc_path, &status) == 0);
  fail_unless (S_ISSOCK (status.st_mode));
  fail_unless_equals_int_hex (status.st_mode & 0777, mode);
}

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

/* Lets all users search the folder of the socket, so that only the socket
 * decides. */
static void
open_folder (void)
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);

  fail_unless (chmod (folder, 0755) == 0);
}

TEST (other_users)
{
  if (test_ipc_cannot_export ())
    return;
  if (geteuid () != 0) {
    g_print ("skipped: only root can be another user\n");
    return;
  }
  open_folder ();
  start_server ("");
  assert_mode (0600);
  fail_unless_equals_int (ask_as_other_user (), -1);
  /* The user of the client is checked, even if the socket's mode permits
   * everything. */
  fail_unless (chmod (test_ipc_path, 0666) == 0);
  fail_unless_equals_int (ask_as_other_user (), VKGDR_WIRE_BYE);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "clients-refused"), 1);
  test_ipc_stop_server (server, ipc);
  start_server ("allowed-peers=group");
  assert_mode (0660);
  fail_unless_equals_int (ask_as_other_user (), -1);
  test_ipc_stop_server (server, ipc);
  start_server ("allowed-peers=all");
  assert_mode (0666);
  fail_unless_equals_int (ask_as_other_user (), VKGDR_WIRE_WELCOME);
  test_ipc_stop_server (server, ipc);
}

/* --- hostile servers ----------------------------------------------------- */

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

/* Sends a frame with these metas, as soon as there is a client. */
static void
send_frame (Attack *self, gconstpointer metas, gsize size)
{
  const vkgdr_server_frame frame = { .pts = 0,
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

/* Adds a meta of @kind with the content @text to @metas. */
static void
add_meta (GByteArray *metas, guint32 kind, const gchar *text)
{
  guint32 head[2] = { kind, strlen (text) };

  g_byte_array_append (metas, (const guint8 *) head, sizeof (head));
  g_byte_array_append (metas, (const guint8 *) text, strlen (text));
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

static gchar *
nest (const gchar *start, const gchar *part, guint n)
{
  GString *text = g_string_new (start);

  while (n-- > 0)
    g_string_append (text, part);
  g_string_append_c (text, '1');
  return g_string_free (text, FALSE);
}

/* GStreamer's parsers would overflow the stack. */
TEST (deep_caps)
{
  static const gchar *const parts[] = { "{", "<", "(structure)[a, b=" };
  Attack attack;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  for (i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autofree gchar *text = nest ("video/x-raw, a=", parts[i], 30000);

    open_attack (&attack);
    set_state (&attack, VKGDR_FRAMES_CAPS, text);
    send_frame (&attack, NULL, 0);
    close_attack (&attack, TRUE);
  }
}

TEST (wrong_states)
{
  static const gchar *const texts[] = { "", "taglist, title=x",
    "video/x-raw, width=(int)[1, 2]", "\377\377\377\377" };
  Attack attack;
  guint i, s;

  if (test_ipc_cannot_export ())
    return;
  for (s = 0; s < VKGDR_FRAMES_N_STATES; s++)
    for (i = 0; i < G_N_ELEMENTS (texts); i++) {
      /* No tags, and caps without fields, are allowed. */
      gboolean is_allowed = (s >= VKGDR_FRAMES_STREAM_TAGS && i == 0)
                            || (s == VKGDR_FRAMES_CAPS && i == 1);

      open_attack (&attack);
      set_state (&attack, s, texts[i]);
      send_frame (&attack, NULL, 0);
      close_attack (&attack, !is_allowed);
    }
}

/* The kinds of metas, as in docs/ipc-protocol.md. */
#define CUSTOM 3
#define REFERENCE 5

/* Metas that are named like other types are left out. */
TEST (names_of_types)
{
  static const gchar *const names[] = { "GstBuffer, a=1;", "GObject, a=1;",
    "GstVideoMeta, a=1;", "gint, a=1;", "GstVideo, a=1;" };
  g_autoptr (GByteArray) metas = g_byte_array_new ();
  Attack attack;
  guint i;

  if (!test_ipc_cannot_export ()) {
    open_attack (&attack);
    for (i = 0; i < G_N_ELEMENTS (names); i++)
      add_meta (metas, CUSTOM, names[i]);
    send_frame (&attack, metas->data, metas->len);
    close_attack (&attack, FALSE);
  }
}

TEST (deep_metas)
{
  g_autofree gchar *custom = nest ("my-meta, a=", "<", 30000);
  g_autofree gchar *reference =
      nest ("0123456789abcdefvideo/x-raw, a=", "<", 30000);
  Attack attack;
  guint i;

  for (i = 0; i < 2 && !test_ipc_cannot_export (); i++) {
    g_autoptr (GByteArray) metas = g_byte_array_new ();

    open_attack (&attack);
    add_meta (metas, i == 0 ? CUSTOM : REFERENCE, i == 0 ? custom : reference);
    send_frame (&attack, metas->data, metas->len);
    close_attack (&attack, TRUE);
  }
}

/* The process keeps the names of fields for ever. */
TEST (many_names)
{
  GString *text = g_string_new ("video/x-raw");
  Attack attack;
  guint i;

  for (i = 0; i < 10000; i++)
    g_string_append_printf (text, ", vkgdr-test-name-%u=1", i);
  if (!test_ipc_cannot_export ()) {
    open_attack (&attack);
    set_state (&attack, VKGDR_FRAMES_CAPS, text->str);
    send_frame (&attack, NULL, 0);
    close_attack (&attack, TRUE);
    fail_unless_equals_int (g_quark_try_string ("vkgdr-test-name-1"), 0);
  }
  g_string_free (text, TRUE);
}
