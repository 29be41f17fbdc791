/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-hostile.c: tests of hostile clients and servers, and of the permission to
 * connect
 *
 * In the tests of hostile clients, another client, which is correct, gets all
 * frames.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc-process.h"
#include "slow.h"
#include "util.h"

/* Numbers of messages, as in gst/ipc/protocol.h. */
#define HELLO 1
#define BYE 2
#define MEMORY 6
#define FRAME 8
#define FLUSH_START 10
#define RELEASE 12
#define RING 14
#define WAKE 15
#define GLOBAL_TAGS 16

/* A correct greeting, with the version of the protocol. */
static const guint8 hello[] = { HELLO, 0, 0, 0, 'V', 'k', 'g', 'd', 'r', 'I',
  'p', 'c', 4, 0, 0, 0 };

static GstElement *server, *ipc;
static GSubprocess *witness;

static void
start_server (const gchar *properties)
{
  server = test_ipc_new_server (
      "testframes buffers=32 ! identity sleep-time=4000", properties, &ipc);
  gst_element_set_state (server, GST_STATE_PLAYING);
}

/* Starts a server and a correct client. With this max-buffers, the client loses
 * no frame, even if the machine is busy for a second. The source writes frames
 * directly, so that none is lost because the device is too slow. */
static void
begin (void)
{
  start_server ("max-buffers=1024 access=direct");
  witness = test_ipc_start ("client");
  g_free (test_ipc_read_line (witness));
  test_ipc_wait_clients (ipc, 1);
}

/* Stops the server. The correct client must have got all frames. */
static void
finish (void)
{
  TestIpcReport report;

  test_ipc_stop_server (server, ipc);
  test_ipc_finish (witness, &report);
  fail_unless_equals_string (report.end, "eos");
  fail_unless_equals_int (report.torn, 0);
  fail_unless_equals_int (report.frames, report.last - report.first + 1);
}

/* Waits until the correct client is the only client, and then calls finish ().
 */
static void
end (void)
{
  test_ipc_wait_clients (ipc, 1);
  finish ();
}

/* --- hostile clients ----------------------------------------------------- */

static gint
connect_to (gint type)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  gint fd = socket (AF_UNIX, type | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, test_ipc_path, sizeof (address.sun_path));
  if (connect (fd, (struct sockaddr *) &address, sizeof (address)) == 0)
    return fd;
  close (fd);
  return -1;
}

static gint
connect_client (void)
{
  gint fd = connect_to (SOCK_SEQPACKET);

  fail_unless (fd >= 0, "%s", g_strerror (errno));
  return fd;
}

/* Reads messages up to one of @type, whose content is stored. Returns FALSE if
 * the server closes the connection before that. */
static gboolean
read_until (gint fd, guint32 type, guint8 *data, gsize size)
{
  struct timeval limit = { 10, 0 };
  gssize n;
  guint32 found = 0;

  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof (limit));
  while (found != type) {
    n = recv (fd, data, size, 0);
    if (n < 0 && errno == ECONNRESET)
      continue;
    fail_unless (n >= 0, "the server says nothing: %s", g_strerror (errno));
    if (n < 4)
      return FALSE;
    memcpy (&found, data, sizeof (found));
  }
  return TRUE;
}

static void
assert_closed (gint fd)
{
  guint8 data[65536];

  fail_if (read_until (fd, 0xffffffff, data, sizeof (data)));
  close (fd);
}

static void
send_bytes (gint fd, gconstpointer data, gsize size)
{
  fail_unless (send (fd, data, size, MSG_NOSIGNAL) == (gssize) size, "%s",
      g_strerror (errno));
}

static void
send_release (gint fd, guint64 id)
{
  guint8 message[12] = { RELEASE };

  memcpy (message + 4, &id, sizeof (id));
  send (fd, message, sizeof (message), MSG_NOSIGNAL);
}

/* Returns the number of the next frame. */
static guint64
read_frame (gint fd)
{
  guint8 data[65536];
  guint64 id;

  fail_unless (read_until (fd, FRAME, data, sizeof (data)));
  memcpy (&id, data + 4, sizeof (id));
  return id;
}

GST_START_TEST (test_rubbish)
{
  guint8 data[4096];
  guint i, size;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  for (i = 0; i < 50; i++) {
    size = 1 + i * 80;
    test_fill (data, size, i);
    fd = connect_client ();
    send_bytes (fd, data, size);
    assert_closed (fd);
  }
  end ();
}
GST_END_TEST

/* Tests each beginning of a message, and a message that is too long. */
GST_START_TEST (test_half_messages)
{
  static const guint8 message[16] = { RELEASE, 0, 0, 0, 1 };
  guint size;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  for (size = 1; size <= sizeof (message); size++) {
    if (size == 12)
      continue;
    fd = connect_client ();
    send_bytes (fd, message, size);
    assert_closed (fd);
  }
  end ();
}
GST_END_TEST

/* The client returns frames that it did not get, or returns a frame twice. */
GST_START_TEST (test_wrong_numbers)
{
  guint64 id;
  guint i;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  fd = connect_client ();
  send_release (fd, 1u << 30);
  assert_closed (fd);
  fd = connect_client ();
  id = read_frame (fd);
  send_release (fd, id);
  send_release (fd, id);
  assert_closed (fd);
  /* The first one of a million wrong numbers is enough. */
  fd = connect_client ();
  for (i = 0; i < 1000000; i++)
    send_release (fd, ((guint64) i << 32) + 1);
  assert_closed (fd);
  end ();
}
GST_END_TEST

/* The server closes file descriptors that a client sends. */
GST_START_TEST (test_own_descriptors)
{
  union {
    struct cmsghdr header;
    gchar room[CMSG_SPACE (16 * sizeof (gint))];
  } control;
  guint8 message[12] = { RELEASE };
  struct iovec vector = { message, sizeof (message) };
  struct msghdr header = { .msg_iov = &vector,
    .msg_iovlen = 1,
    .msg_control = &control,
    .msg_controllen = sizeof (control) };
  gint fds[16], fd, zero = open ("/dev/zero", O_RDONLY | O_CLOEXEC);
  guint i, before = 0;
  guint64 id;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  for (i = 0; i < 16; i++)
    fds[i] = zero;
  memset (&control, 0, sizeof (control));
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN (sizeof (fds));
  memcpy (CMSG_DATA (&control.header), fds, sizeof (fds));
  fd = connect_client ();
  for (i = 0; i < 100; i++) {
    if (i == 50)
      before = test_count_fds ();
    id = read_frame (fd);
    memcpy (message + 4, &id, sizeof (id));
    fail_unless (sendmsg (fd, &header, MSG_NOSIGNAL) == sizeof (message));
  }
  test_assert_fds (before);
  close (fd);
  close (zero);
  end ();
}
GST_END_TEST

/* Reads messages up to one of @type, and returns its file descriptor. Closes
 * those of the other messages. */
static gint
receive_descriptor (gint fd, guint32 type)
{
  union {
    struct cmsghdr header;
    gchar room[CMSG_SPACE (sizeof (gint))];
  } control;
  guint32 found = 0;
  struct iovec vector = { &found, sizeof (found) };
  struct msghdr header = { .msg_iov = &vector,
    .msg_iovlen = 1,
    .msg_control = &control,
    .msg_controllen = sizeof (control) };
  gint attached = -1;

  while (found != type) {
    if (attached >= 0)
      close (attached);
    header.msg_controllen = sizeof (control);
    fail_unless (recvmsg (fd, &header, MSG_CMSG_CLOEXEC) > 0);
    attached =
        header.msg_controllen > 0 ? *(gint *) CMSG_DATA (&control.header) : -1;
  }
  return attached;
}

/* Returns the memory of the ring buffer, which the caller unmaps, and its
 * size. */
static guint8 *
map_ring (gint fd, gsize *size)
{
  gint ring = receive_descriptor (fd, RING);
  struct stat status;
  guint8 *memory;

  /* Its size cannot be changed under the server. */
  fail_unless (ftruncate (ring, 0) != 0);
  fail_unless (fstat (ring, &status) == 0);
  *size = status.st_size;
  memory = mmap (NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
  fail_unless (memory != MAP_FAILED);
  close (ring);
  return memory;
}

/* A client writes random bytes to the ring buffer all the time. Depending on
 * these bytes, the server uses the ring buffer or the socket. */
GST_START_TEST (test_rubbish_in_ring)
{
  guint64 before;
  guint8 *memory;
  gsize size;
  guint i;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  fd = connect_client ();
  memory = map_ring (fd, &size);
  test_ipc_wait_clients (ipc, 2);
  before = test_ipc_stat (ipc, "frames");
  for (i = 0; test_ipc_stat (ipc, "frames") < before + 300; i++)
    test_fill (memory, size, i);
  munmap (memory, size);
  close (fd);
  end ();
}
GST_END_TEST

/* The file descriptor of an allocation is sent once. The frames refer to it by
 * its number. */
GST_START_TEST (test_descriptors_travel_once)
{
  GHashTable *known;
  guint frames = 0;
  guint8 data[65536];
  guint32 type;
  guint64 id;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  fd = connect_client ();
  while (frames < 200) {
    fail_unless (recv (fd, data, sizeof (data), 0) >= 4);
    memcpy (&type, data, sizeof (type));
    memcpy (&id, data + 4, sizeof (id));
    if (type == MEMORY) {
      fail_if (g_hash_table_contains (known, &id), "again allocation %u",
          (guint) id);
      g_hash_table_add (known, g_memdup2 (&id, sizeof (id)));
    } else if (type == FRAME) {
      frames++;
      send_release (fd, id);
      /* After 10 fields: the allocation of the first memory. */
      memcpy (&id, data + 4 + 8 * 6 + 4 + 8 * 2 + 4, sizeof (id));
      fail_unless (g_hash_table_contains (known, &id));
    }
  }
  fail_unless (g_hash_table_size (known) > 0);
  fail_unless (g_hash_table_size (known) < 20);
  g_hash_table_unref (known);
  close (fd);
  end ();
}
GST_END_TEST

/* Clients that never read do not disturb the correct client. */
GST_START_TEST (test_deaf_clients)
{
  gint fds[16];
  guint64 before;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  for (i = 0; i < G_N_ELEMENTS (fds); i++)
    fds[i] = connect_client ();
  test_ipc_wait_clients (ipc, 17);
  before = test_ipc_stat (ipc, "frames");
  while (test_ipc_stat (ipc, "frames") < before + 300)
    g_usleep (1000);
  for (i = 0; i < G_N_ELEMENTS (fds); i++)
    close (fds[i]);
  end ();
}
GST_END_TEST

/* A client that does not read cannot delay the end of the server for long. */
GST_START_TEST (test_end_with_deaf_client)
{
  guint8 data[65536];
  guint64 before;
  gint64 since;
  gint fd;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  fd = connect_client ();
  test_ipc_wait_clients (ipc, 2);
  before = test_ipc_stat (ipc, "frames");
  while (test_ipc_stat (ipc, "frames") < before + 600)
    g_usleep (1000);
  since = g_get_monotonic_time ();
  finish ();
  fail_unless (
      g_get_monotonic_time () - since < test_limit (10 * G_TIME_SPAN_SECOND));
  /* Messages that were sent before can still be read. */
  fail_unless (read_until (fd, FRAME, data, sizeof (data)));
  close (fd);
}
GST_END_TEST

/* Many connections that are closed at once, and one by another type of
 * socket. */
GST_START_TEST (test_many_connections)
{
  guint i;

  if (test_ipc_cannot_export ())
    return;
  begin ();
  for (i = 0; i < 500; i++)
    close (connect_client ());
  fail_unless (connect_to (SOCK_STREAM) < 0);
  end ();
}
GST_END_TEST

/* --- flushes of hostile clients ------------------------------------------ */

static void
flush_server (void)
{
  fail_unless (gst_element_send_event (server, gst_event_new_flush_start ()));
  fail_unless (
      gst_element_send_event (server, gst_event_new_flush_stop (TRUE)));
}

/* Writes as much as possible to @fd, and makes it blocking. */
static void
fill (gint fd)
{
  guint64 most = G_MAXUINT64 - 1;

  signal (SIGPIPE, SIG_IGN);
  fail_unless (fcntl (fd, F_SETFL, O_NONBLOCK) == 0);
  while (write (fd, &most, sizeof (most)) > 0)
    ;
  fail_unless (fcntl (fd, F_SETFL, 0) == 0);
}

/* When the server announces a flush, a client cannot make it wait. */
GST_START_TEST (test_blocking_descriptor)
{
  gint fd, flush_fd;

  if (test_ipc_cannot_export ())
    return;
  start_server ("");
  fd = connect_client ();
  flush_fd = receive_descriptor (fd, HELLO);
  fill (flush_fd);
  flush_server ();
  flush_server ();
  close (flush_fd);
  close (fd);
  test_ipc_stop_server (server, ipc);
}
GST_END_TEST

/* Reads all messages that the client has got. Returns FALSE if the server has
 * closed the connection. */
static gboolean
drain (gint fd)
{
  guint8 data[65536];
  gssize n;

  while ((n = recv (fd, data, sizeof (data), MSG_DONTWAIT)) > 0)
    ;
  return n < 0 && errno == EAGAIN;
}

/* A client that reads messages, but does not take notice of flushes, is
 * disconnected at some time. */
GST_START_TEST (test_ignored_flushes)
{
  gint fd, flush_fd;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  start_server ("");
  fd = connect_client ();
  flush_fd = receive_descriptor (fd, HELLO);
  for (i = 0; i < 10000 && drain (fd); i++)
    flush_server ();
  test_ipc_wait_clients (ipc, 0);
  close (flush_fd);
  close (fd);
  test_ipc_stop_server (server, ipc);
}
GST_END_TEST

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
 * user, -1 if the connection fails, 0 if there is no message, and otherwise the
 * type of the first message. */
static gint
connect_as_other_user (void)
{
  guint32 type = 0;
  gint fd;

  if (setgid (65534) != 0 || setuid (65534) != 0)
    return -2;
  fd = connect_to (SOCK_SEQPACKET);
  if (fd < 0)
    return -1;
  return recv (fd, &type, sizeof (type), MSG_TRUNC) < 4 ? 0 : (gint) type;
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
  gchar *folder = g_path_get_dirname (test_ipc_path);

  fail_unless (chmod (folder, 0755) == 0);
  g_free (folder);
}

GST_START_TEST (test_other_users)
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
  fail_unless_equals_int (ask_as_other_user (), BYE);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "clients-refused"), 1);
  test_ipc_stop_server (server, ipc);
  start_server ("allowed-peers=group");
  assert_mode (0660);
  fail_unless_equals_int (ask_as_other_user (), -1);
  test_ipc_stop_server (server, ipc);
  start_server ("allowed-peers=all");
  assert_mode (0666);
  fail_unless_equals_int (ask_as_other_user (), HELLO);
  test_ipc_stop_server (server, ipc);
}
GST_END_TEST

/* --- hostile servers ----------------------------------------------------- */

static gint liar; /* the socket at which the hostile server listens */

static GstElement *
start_client_of_liar (void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  GstElement *pipeline = test_launch (
      "vkgdripcsrc socket-path=%s ! fakesink sync=false", test_ipc_path);

  liar = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  g_strlcpy (address.sun_path, test_ipc_path, sizeof (address.sun_path));
  fail_unless (
      bind (liar, (struct sockaddr *) &address, sizeof (address)) == 0);
  fail_unless (listen (liar, 1) == 0);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  return pipeline;
}

/* Stops and frees the client. Returns its error. */
static GError *
finish_client_of_liar (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GError *error = NULL;
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, 10 * GST_SECOND, GST_MESSAGE_ERROR);

  fail_unless (message != NULL, "there was no error");
  gst_message_parse_error (message, &error, NULL);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  close (liar);
  remove (test_ipc_path);
  return error;
}

/* Returns the error of a client whose server sends @data. */
static GError *
ask_liar (gconstpointer data, gsize size)
{
  GstElement *pipeline = start_client_of_liar ();
  gint fd = accept (liar, NULL, NULL);
  GError *error;

  send_bytes (fd, data, size);
  error = finish_client_of_liar (pipeline);
  close (fd);
  return error;
}

GST_START_TEST (test_lying_server)
{
  guint8 data[512];
  guint i;

  for (i = 0; i < 40; i++) {
    GError *error;

    /* Messages of each type with random content and a wrong length. */
    test_fill (data, sizeof (data), i);
    memset (data, 0, 4);
    data[0] = i % (GLOBAL_TAGS + 1);
    if (data[0] == BYE || (data[0] >= 9 && data[0] <= 11))
      continue; /* these have no content that could be wrong, or end the
                 * stream */
    error = ask_liar (data, 4 + i * 7);
    fail_unless (error->domain == GST_RESOURCE_ERROR, "%s", error->message);
    g_error_free (error);
  }
}
GST_END_TEST

/* Sends a correct greeting with a file descriptor. */
static void
greet (gint fd, gint attached)
{
  union {
    struct cmsghdr header;
    gchar room[CMSG_SPACE (sizeof (gint))];
  } control = { .header = { .cmsg_level = SOL_SOCKET,
                    .cmsg_type = SCM_RIGHTS,
                    .cmsg_len = CMSG_LEN (sizeof (gint)) } };
  struct iovec vector = { (gpointer) hello, sizeof (hello) };
  struct msghdr header = { .msg_iov = &vector,
    .msg_iovlen = 1,
    .msg_control = &control,
    .msg_controllen = sizeof (control) };

  memcpy (CMSG_DATA (&control.header), &attached, sizeof (attached));
  fail_unless (sendmsg (fd, &header, MSG_NOSIGNAL) == sizeof (hello));
}

/* Makes a file descriptor that is not one for flushes: if a client waited for
 * it, the client would spin or block. */
static gint
new_wrong_descriptor (guint kind)
{
  gint ends[2];

  switch (kind) {
  case 0:
    return open ("/dev/zero", O_RDONLY | O_CLOEXEC);
  case 1:
    return eventfd (1, EFD_CLOEXEC);
  case 2:
    return socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  case 3:
    fail_unless (socketpair (AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close (ends[1]);
    return ends[0];
  default:
    return memfd_create ("other", MFD_CLOEXEC);
  }
}

GST_START_TEST (test_wrong_descriptors)
{
  GstElement *pipeline = start_client_of_liar ();
  gint fd = accept (liar, NULL, NULL);
  gint wrong = new_wrong_descriptor (__i__);
  GError *error;

  fail_unless (fd >= 0 && wrong >= 0);
  greet (fd, wrong);
  error = finish_client_of_liar (pipeline);
  fail_unless (
      strstr (error->message, "greeting") != NULL, "%s", error->message);
  g_error_free (error);
  close (wrong);
  close (fd);
}
GST_END_TEST

/* A server that disappears in the middle of a flush is an error, as at any
 * other time. So is an invalid message. */
GST_START_TEST (test_lost_in_flush)
{
  static const guint8 flush_start[] = { FLUSH_START, 0, 0, 0 };
  static const guint8 invalid[] = { 99, 0, 0, 0 };
  GstElement *pipeline = start_client_of_liar ();
  gint fd = accept (liar, NULL, NULL), ends[2];
  GError *error;

  fail_unless (
      socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  greet (fd, ends[0]);
  close (ends[0]);
  send_bytes (ends[1], "", 1);
  send_bytes (fd, flush_start, sizeof (flush_start));
  if (__i__ == 0)
    shutdown (fd, SHUT_RDWR);
  else
    send_bytes (fd, invalid, sizeof (invalid));
  error = finish_client_of_liar (pipeline);
  fail_unless (
      strstr (error->message, __i__ == 0 ? "has ended" : "not valid") != NULL,
      "%s", error->message);
  g_error_free (error);
  close (ends[1]);
  close (fd);
}
GST_END_TEST

static Suite *
ipc_hostile_suite (void)
{
  Suite *suite = suite_create ("ipc-hostile");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, test_ipc_setup, test_ipc_teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_rubbish);
  tcase_add_test (tc, test_half_messages);
  tcase_add_test (tc, test_wrong_numbers);
  tcase_add_test (tc, test_own_descriptors);
  tcase_add_test (tc, test_rubbish_in_ring);
  tcase_add_test (tc, test_descriptors_travel_once);
  tcase_add_test (tc, test_deaf_clients);
  tcase_add_test (tc, test_end_with_deaf_client);
  tcase_add_test (tc, test_many_connections);
  tcase_add_test (tc, test_blocking_descriptor);
  tcase_add_test (tc, test_ignored_flushes);
  tcase_add_test (tc, test_other_users);
  tcase_add_test (tc, test_lying_server);
  tcase_add_loop_test (tc, test_wrong_descriptors, 0, 5);
  tcase_add_loop_test (tc, test_lost_in_flush, 0, 2);
  return suite;
}

int
main (int argc, char **argv)
{
  return test_ipc_main (argc, argv, ipc_hostile_suite, "ipc-hostile", __FILE__);
}
