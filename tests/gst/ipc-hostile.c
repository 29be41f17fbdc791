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

  TEST_NEEDS (geteuid () == 0, "root, who can be another user");
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
  gst_element_set_state (server, GST_STATE_NULL);
}

/* --- hostile servers ----------------------------------------------------- */

#define GOOD_CAPS \
  "video/x-raw, format=(string)RGBA, width=(int)64, height=(int)48, " \
  "framerate=(fraction)30/1"
#define SIZE (64 * 48 * 4)

static const vkgdr_frame_format good_format = { .name = "RGBA",
  .width = 64,
  .height = 48,
  .fps_n = 30,
  .fps_d = 1,
  .par_n = 1,
  .par_d = 1,
  .n_planes = 1,
  .planes = { { 64, 48, 4, 8 } } };

static int
check_written (void *user_data, bool wait)
{
  return 1;
}

/* What a server sends. */
typedef struct {
  vkgdr_frame_format format;
  GBytes *states[VKGDR_FRAMES_N_STATES]; /* NULL: good ones, or none */
  vkgdr_server_frame frame;
  guint64 jump; /* the second frame is so much later, if this is not 0 */
} Session;

static Session
good_session (void)
{
  const Session session = { .format = good_format,
    .frame = { .n_planes = 1,
        .planes = { { 0, 256, 0 } },
        .dts = VKGDR_FRAME_NO_TIME,
        .duration = VKGDR_FRAME_NO_TIME,
        .time = -1,
        .n_ranges = 1,
        .check_written = check_written } };

  return session;
}

static void
send_states (vkgdr_server *server, const Session *session)
{
  guint i;

  fail_unless (vkgdr_server_set_state (
      server, VKGDR_FRAMES_CAPS, GOOD_CAPS, strlen (GOOD_CAPS)));
  fail_unless (vkgdr_server_set_state (
      server, VKGDR_FRAMES_FORMAT, &session->format, sizeof (session->format)));
  for (i = 0; i < VKGDR_FRAMES_N_STATES; i++)
    if (session->states[i])
      fail_unless (vkgdr_server_set_state (server, i,
          g_bytes_get_data (session->states[i], NULL),
          g_bytes_get_size (session->states[i])));
}

/* Sends a frame, or two. Their memory is that of a buffer of this process. The
 * client must end with an error that says this, or with EOS if it is NULL.
 * GStreamer must not log criticals. */
static void
play (Session *session, const gchar *expected)
{
  const vkgdr_server_params params = { .path = test_ipc_path,
    .max_buffers = 4 };
  vkgdr_server *server = vkgdr_server_new (&params);
  g_autoptr (GstBuffer) buffer = test_exportable_buffer_new (SIZE);
  g_autoptr (GstElement) client = test_launch (
      "vkgdripcsrc socket-path=\"%s\" ! fakesink sync=true", test_ipc_path);
  g_autoptr (GBytes) description = NULL;
  g_autoptr (GError) error = NULL;
  vkgdr_server_figures figures = { 0 };
  gsize offset;
  gint fd = gst_vkgdr_memory_export_fd (
      gst_buffer_peek_memory (buffer, 0), &description, &offset, NULL);
  vkgdr_export *export =
      vkgdr_export_new (1, fd, g_bytes_get_data (description, NULL), NULL);

  gst_element_set_state (client, GST_STATE_PLAYING);
  send_states (server, session);
  test_wait_for (
      (vkgdr_server_get_figures (server, &figures), figures.clients == 1));
  session->frame.ranges[0] = (vkgdr_server_range){ export, offset, SIZE };
  fail_unless_equals_int (
      vkgdr_server_send (server, &session->frame), VKGDR_SERVER_SENT);
  session->frame.pts += session->jump;
  if (session->jump > 0)
    fail_unless_equals_int (
        vkgdr_server_send (server, &session->frame), VKGDR_SERVER_SENT);
  vkgdr_server_close (server);
  error = test_play_result (client);
  fail_unless ((error != NULL) == (expected != NULL), "%s",
      error ? error->message : "no error");
  if (expected)
    test_assert_contains (error->message, expected);
  vkgdr_server_unref (server);
  vkgdr_export_unref (export);
}

/* Contents of states, and the states that may have them. GStreamer's parsers
 * would need too much stack for some. */
#define BIT(state) (1 << VKGDR_FRAMES_##state)

static const struct {
  const gchar *text;
  gboolean is_deep;
  guint allowed;
} contents[] = {
  { "", FALSE, ~BIT (FORMAT) }, /* raw video needs a format */
  { "taglist, title=x", FALSE, 0 },
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
  Session session = good_session ();

  session.states[state] = g_bytes_new (text, strlen (text));
  play (&session,
      contents[i].allowed & 1 << state ? NULL : "the server has sent");
  g_bytes_unref (session.states[state]);
}

/* Caps with numbers that elements cannot use, or that are not those of the
 * format. */
static const gchar *const caps[] = {
  "video/x-raw, format=RGBA, width=0, height=0, framerate=30/1",
  "video/x-raw, format=RGBA, width=(int)-1, height=(int)48",
  "video/x-raw, format=RGBA, width=64, height=48, pixel-aspect-ratio=0/1",
  "video/x-raw, format=RGBA, width=64, height=47, framerate=30/1",
  "video/x-raw, format=BGRA, width=64, height=48, framerate=30/1",
  "video/x-raw, format=RGBA, width=64, height=48, framerate=30/1, "
  "interlace-mode=interleaved",
  "video/x-raw, format=NONE, width=64, height=48, framerate=30/1",
  "audio/x-raw, format=S16LE, rate=0, channels=0, layout=interleaved",
  "audio/x-raw, format=S16LE, rate=44100, channels=2, layout=interleaved",
  "ANY",
  "EMPTY",
  "NONE",
  "video/x-raw; video/x-raw",
};

TEST_LOOP (caps, G_N_ELEMENTS (caps))
{
  Session session = good_session ();

  session.states[VKGDR_FRAMES_CAPS] =
      g_bytes_new_static (caps[__i__], strlen (caps[__i__]));
  play (&session, "the server has sent caps");
  g_bytes_unref (session.states[VKGDR_FRAMES_CAPS]);
}

/* Segments. */
typedef struct {
  guint32 format, reserved;
  gdouble rate, applied_rate;
  guint64 base, offset, start, stop, time, duration;
} Segment;

#define NONE GST_CLOCK_TIME_NONE
#define YEAR (G_GUINT64_CONSTANT (366) * 24 * 3600 * GST_SECOND)

static const struct {
  Segment segment;
  const gchar *error;
} segments[] = {
  { { 3, 0, 1, 1, 0, 0, 0, NONE, 0, NONE } },
  { { 3, 77, 2, 1, 5, 0, 0, GST_SECOND, 7, NONE } },
  { { 3, 0, 1, 1, 0, 0, 2, 1, 0, NONE }, "a segment" },
  { { 3, 0, -1, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 0, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1, 0, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1e300, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 0, 0, 1, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 99, 0, 1, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1, 1, 0, 0, NONE, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1, 1, 0, 0, 0, G_MAXUINT64 - 1, 0, NONE }, "a segment" },
  { { 3, 0, 1, 1, NONE, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1e-300, 1, 0, 0, 0, NONE, 0, NONE }, "a segment" },
  { { 3, 0, 1, 1, G_MAXINT64 / 2, 0, 0, NONE, 0, NONE } },
};

TEST_LOOP (segments, G_N_ELEMENTS (segments))
{
  Session session = good_session ();

  session.states[VKGDR_FRAMES_SEGMENT] =
      g_bytes_new_static (&segments[__i__].segment, sizeof (Segment));
  play (&session, segments[__i__].error);
  g_bytes_unref (session.states[VKGDR_FRAMES_SEGMENT]);
}

/* Times. A stream may begin at any time, if it does not follow a clock. A sink
 * would wait for a frame that is much later than the frame before. */
static const struct {
  guint64 pts, jump;
  gint64 time;
  guint64 latency;
  const gchar *error;
} times[] = {
  { 0, 0, -1, 0 },
  { 60 * YEAR, 0, -1, 0 },
  { 60 * YEAR, 0, G_MAXINT64, 0 },
  { G_MAXINT64 / 4 * 3, 0, 0, 0 },
  { G_MAXINT64 / 4 * 3, 0, G_MAXINT64, 0 },
  { G_MAXINT64, 0, -1, 0, "a timestamp" },
  { 60 * YEAR, 10 * GST_MSECOND, -1, 0 },
  { NONE, 0, -1, NONE, "a latency" },
  { NONE, 0, -1, G_MAXINT64, "a latency" },
  { NONE - 1, 0, -1, 0, "a frame" },
  { 0, 0, -2, 0, "a frame" },
  { 0, 2 * YEAR, -1, 0, "a timestamp that is years ahead" },
  { 60 * YEAR, 2 * YEAR, -1, 0, "a timestamp that is years ahead" },
  { 0, G_MAXINT64, 0, 0, "a timestamp" },
};

TEST_LOOP (times, G_N_ELEMENTS (times))
{
  Session session = good_session ();

  session.frame.pts = times[__i__].pts;
  session.frame.time = times[__i__].time;
  session.jump = times[__i__].jump;
  session.states[VKGDR_FRAMES_LATENCY] =
      g_bytes_new_static (&times[__i__].latency, sizeof (guint64));
  play (&session, times[__i__].error);
  g_bytes_unref (session.states[VKGDR_FRAMES_LATENCY]);
}

/* Planes, and the size of the format, which the caps must have. */
static const struct {
  guint width, height;
  vkgdr_server_plane plane;
  gboolean is_error;
} planes[] = {
  { 64, 48, { 0, 256, 0 }, FALSE },
  { 64, 48, { 256 * 47, -256, 0 }, FALSE },
  { 64, 48, { 256, 256, 0 }, TRUE },
  { 64, 48, { 0, 255, 0 }, TRUE },
  { 64, 48, { 0, 256, 1 }, TRUE },
  { 64, 47, { 256, 256, 0 }, TRUE },
  { 1, 48, { 0, 4, 0 }, TRUE },
};

TEST_LOOP (planes, G_N_ELEMENTS (planes))
{
  Session session = good_session ();

  session.format.width = session.format.planes[0].width = planes[__i__].width;
  session.format.height = session.format.planes[0].height =
      planes[__i__].height;
  session.frame.planes[0] = planes[__i__].plane;
  play (&session, planes[__i__].is_error ? "the server has sent" : NULL);
}
