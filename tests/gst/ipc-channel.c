/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-channel.c: tests of gst/ipc/channel.h and gst/ipc/ring.h
 */

#include <gst/check/gstcheck.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../gst/ipc/channel.h"
#include "../../gst/ipc/protocol.h"
#include "../../gst/ipc/ring.h"
#include "util.h"

/* --- a channel whose ends are in this process ---------------------------- */

static gint fds[2];
static GstVkgdrIpcSender sender;
static GstVkgdrIpcReceiver receiver;

static void
setup (void)
{
  fail_unless (
      socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
  gst_vkgdr_ipc_sender_init (&sender, fds[0]);
  gst_vkgdr_ipc_receiver_init (&receiver, fds[1]);
}

static void
teardown (void)
{
  gst_vkgdr_ipc_sender_clear (&sender);
  gst_vkgdr_ipc_receiver_clear (&receiver);
  close (fds[0]);
  close (fds[1]);
}

/* Returns the type of the next message, and stores its number. 0: no message */
static guint32
next (guint64 *number)
{
  const guint8 *data = NULL;
  guint32 type = 0;
  GstByteReader reader;
  gsize size = 0;
  gint attached;

  *number = 0;
  if (gst_vkgdr_ipc_receiver_next (&receiver, &data, &size, &attached)
      != GST_VKGDR_IPC_OK)
    return 0;
  fail_unless (gst_vkgdr_ipc_read_type (data, size, &reader, &type));
  if (type == GST_VKGDR_IPC_RING)
    fail_unless (gst_vkgdr_ipc_receiver_add_ring (&receiver, attached));
  else if (type == GST_VKGDR_IPC_FORGET)
    fail_unless (gst_vkgdr_ipc_read_number (&reader, number));
  if (attached >= 0)
    close (attached);
  return type;
}

/* The client gets a ring, and watches it. */
static void
add_ring (void)
{
  guint64 number;

  fail_unless (gst_vkgdr_ipc_sender_add_ring (&sender) == GST_VKGDR_IPC_OK);
  fail_unless_equals_int (next (&number), GST_VKGDR_IPC_RING);
  gst_vkgdr_ipc_receiver_set_awake (&receiver, TRUE);
}

static GstVkgdrIpcResult
send_number (guint64 number, gint attached)
{
  GBytes *message = gst_vkgdr_ipc_write_number (GST_VKGDR_IPC_FORGET, number);
  GstVkgdrIpcResult result =
      gst_vkgdr_ipc_sender_send (&sender, message, attached);

  g_bytes_unref (message);
  return result;
}

static void
assert_next (guint64 expected)
{
  guint64 number;

  fail_unless_equals_int (next (&number), GST_VKGDR_IPC_FORGET);
  fail_unless_equals_uint64 (number, expected);
}

static void
assert_no_more (void)
{
  guint64 number;

  fail_unless_equals_int (next (&number), 0);
}

/* Returns how many packets were sent for @n messages. */
static guint64
send_numbers (guint64 first, guint n)
{
  guint64 before = sender.n_packets;
  guint i;

  for (i = 0; i < n; i++)
    fail_unless (send_number (first + i, -1) == GST_VKGDR_IPC_OK);
  return sender.n_packets - before;
}

/* --- through the ring or the socket -------------------------------------- */

GST_START_TEST (test_no_ring)
{
  fail_unless_equals_uint64 (send_numbers (0, 3), 3);
  assert_next (0);
  assert_next (1);
  assert_next (2);
  assert_no_more ();
}
GST_END_TEST

GST_START_TEST (test_awake)
{
  guint i;

  add_ring ();
  for (i = 0; i < 1000; i++) {
    fail_unless_equals_uint64 (send_numbers (i, 1), 0);
    assert_next (i);
    assert_no_more ();
  }
}
GST_END_TEST

GST_START_TEST (test_asleep)
{
  add_ring ();
  gst_vkgdr_ipc_receiver_set_awake (&receiver, FALSE);
  fail_unless_equals_uint64 (send_numbers (0, 2), 2);
  fail_if (gst_vkgdr_ipc_receiver_has_message (&receiver));
  assert_next (0);
  assert_next (1);
  assert_no_more ();
}
GST_END_TEST

/* Messages that do not fit into the ring go through the socket. The client gets
 * all messages in the order in which they were sent. */
GST_START_TEST (test_full_ring)
{
  guint64 packets;
  guint i;

  add_ring ();
  packets = send_numbers (0, 40);
  fail_unless (packets > 0 && packets < 40);
  for (i = 0; i < 20; i++)
    assert_next (i);
  /* Now the ring has room again, but older messages are still in the socket. */
  fail_unless_equals_uint64 (send_numbers (40, 10), 0);
  for (i = 20; i < 50; i++)
    assert_next (i);
  assert_no_more ();
}
GST_END_TEST

GST_START_TEST (test_large_messages)
{
  gchar *reason = g_strnfill (GST_VKGDR_IPC_RING_MAX_MESSAGE - 4, 'a');
  GBytes *largest = gst_vkgdr_ipc_write_bye (reason), *larger;
  guint64 number;
  gchar *longer = g_strconcat (reason, "a", NULL);

  larger = gst_vkgdr_ipc_write_bye (longer);
  add_ring ();
  number = sender.n_packets;
  fail_unless (
      gst_vkgdr_ipc_sender_send (&sender, largest, -1) == GST_VKGDR_IPC_OK);
  fail_unless_equals_uint64 (sender.n_packets, number);
  fail_unless (
      gst_vkgdr_ipc_sender_send (&sender, larger, -1) == GST_VKGDR_IPC_OK);
  fail_unless_equals_uint64 (sender.n_packets, number + 1);
  send_numbers (7, 1);
  fail_unless_equals_int (next (&number), GST_VKGDR_IPC_BYE);
  fail_unless_equals_int (next (&number), GST_VKGDR_IPC_BYE);
  assert_next (7);
  g_bytes_unref (larger);
  g_bytes_unref (largest);
  g_free (longer);
  g_free (reason);
}
GST_END_TEST

/* Messages with and without descriptors arrive in order. */
GST_START_TEST (test_attached)
{
  gint event = eventfd (0, EFD_CLOEXEC);

  add_ring ();
  send_numbers (0, 1);
  fail_unless (send_number (1, event) == GST_VKGDR_IPC_OK);
  send_numbers (2, 1);
  fail_unless (send_number (3, event) == GST_VKGDR_IPC_OK);
  assert_next (0);
  assert_next (1);
  assert_next (2);
  assert_next (3);
  assert_no_more ();
  close (event);
}
GST_END_TEST

/* All messages that were sent can be read after the server has gone. */
GST_START_TEST (test_closed)
{
  gint event = eventfd (0, EFD_CLOEXEC);
  const guint8 *data;
  gsize size;
  gint attached;

  add_ring ();
  send_numbers (0, 2);
  fail_unless (send_number (2, event) == GST_VKGDR_IPC_OK);
  send_numbers (3, 2);
  close (event);
  shutdown (fds[0], SHUT_RDWR);
  assert_next (0);
  assert_next (1);
  assert_next (2);
  assert_next (3);
  assert_next (4);
  fail_unless (gst_vkgdr_ipc_receiver_next (&receiver, &data, &size, &attached)
               == GST_VKGDR_IPC_CLOSED);
}
GST_END_TEST

/* --- concurrent sending and receiving ------------------------------------ */

/* Called before the next recvmsg (), once. */
static void (*before_receiving) (void);

ssize_t
recvmsg (int fd, struct msghdr *message, int flags)
{
  void (*call) (void) = before_receiving;

  before_receiving = NULL;
  if (call)
    call ();
  return syscall (SYS_recvmsg, fd, message, flags);
}

static void
send_both (void)
{
  gint event = eventfd (0, EFD_CLOEXEC);

  fail_unless_equals_uint64 (send_numbers (0, 1), 0);
  fail_unless (send_number (1, event) == GST_VKGDR_IPC_OK);
  close (event);
}

/* Two messages are sent after the reader has looked at the ring, and before it
 * looks at the socket. */
GST_START_TEST (test_both_between_looks)
{
  add_ring ();
  before_receiving = send_both;
  assert_next (0);
  fail_unless (before_receiving == NULL);
  assert_next (1);
  assert_no_more ();
}
GST_END_TEST

/* A packet with a descriptor has been received, and a message of the ring
 * buffer is due before it. If the reader ends then, it closes the
 * descriptor. */
GST_START_TEST (test_attached_at_end)
{
  guint before;

  add_ring ();
  before = test_count_fds ();
  before_receiving = send_both;
  assert_next (0);
  fail_unless_equals_int (test_count_fds (), before + 1);
  gst_vkgdr_ipc_receiver_clear (&receiver);
  fail_unless_equals_int (test_count_fds (), before);
  gst_vkgdr_ipc_receiver_init (&receiver, fds[1]);
}
GST_END_TEST

/* Sends a message through the ring, and a packet that is too large. */
static void
send_oversized (void)
{
  static const guint8 data[GST_VKGDR_IPC_MAX_MESSAGE + 1];

  fail_unless_equals_uint64 (send_numbers (0, 1), 0);
  fail_unless (send (fds[0], data, sizeof (data), 0) == sizeof (data));
}

/* A packet that is too large ends the connection, also if there is a message in
 * the ring that comes before it. */
GST_START_TEST (test_oversized_packet)
{
  const guint8 *data;
  gint attached;
  gsize size;
  guint i;

  add_ring ();
  before_receiving = send_oversized;
  assert_next (0);
  fail_unless (gst_vkgdr_ipc_receiver_has_message (&receiver));
  for (i = 0; i < 2; i++)
    fail_unless (
        gst_vkgdr_ipc_receiver_next (&receiver, &data, &size, &attached)
        == GST_VKGDR_IPC_CLOSED);
}
GST_END_TEST

#define N_MESSAGES 50000

static gint n_received;

static void
send_again (guint64 number, gint attached)
{
  while (send_number (number, attached) == GST_VKGDR_IPC_AGAIN)
    g_thread_yield ();
}

/* Sends all messages. If @data is not NULL, waits after each message until it
 * has been received; otherwise makes pauses after some messages. Messages with
 * a file descriptor always take the socket. */
static gpointer
send_all (gpointer data)
{
  GRand *rand = g_rand_new_with_seed (1);
  gint event = eventfd (0, EFD_CLOEXEC), i;

  for (i = 0; i < N_MESSAGES; i++) {
    send_again (i, g_rand_int_range (rand, 0, 20) == 0 ? event : -1);
    while (data && g_atomic_int_get (&n_received) == i)
      g_thread_yield ();
    if (!data && g_rand_int_range (rand, 0, 50) == 0)
      g_usleep (g_rand_int_range (rand, 0, 200));
  }
  close (event);
  g_rand_free (rand);
  return NULL;
}

/* Receives all messages from a thread. Sleeps at any time, as the client does.
 * If it is not woken, it sleeps until the time limit of the test. */
static void
receive_all (gboolean one_by_one)
{
  GRand *rand = g_rand_new_with_seed (3);
  gint never = eventfd (0, EFD_CLOEXEC);
  guint64 number;
  GThread *thread;
  gboolean sleeps;

  add_ring ();
  g_atomic_int_set (&n_received, 0);
  thread = g_thread_new ("sender", send_all, GINT_TO_POINTER (one_by_one));
  while (n_received < N_MESSAGES) {
    sleeps = g_rand_int_range (rand, 0, 4) == 0;
    gst_vkgdr_ipc_receiver_set_awake (&receiver, !sleeps);
    if (sleeps && !gst_vkgdr_ipc_receiver_has_message (&receiver))
      fail_unless (gst_vkgdr_ipc_wait (fds[1], never, -1));
    switch (next (&number)) {
    case 0:
    case GST_VKGDR_IPC_WAKE:
      break;
    case GST_VKGDR_IPC_FORGET:
      fail_unless_equals_uint64 (number, n_received);
      g_atomic_int_inc (&n_received);
      break;
    default:
      fail ("an unexpected message");
    }
  }
  g_thread_join (thread);
  close (never);
  g_rand_free (rand);
}

GST_START_TEST (test_no_lost_wake_up)
{
  receive_all (TRUE);
}
GST_END_TEST

GST_START_TEST (test_order)
{
  receive_all (FALSE);
}
GST_END_TEST

/* --- the memory ---------------------------------------------------------- */

/* The client uses only memory whose size cannot change. */
GST_START_TEST (test_other_memory)
{
  gint fd = memfd_create ("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  gint event = eventfd (0, EFD_CLOEXEC), ring_fd;
  GstVkgdrIpcRing *ring = gst_vkgdr_ipc_ring_new (&ring_fd);

  fail_unless (ring != NULL);
  fail_if (gst_vkgdr_ipc_receiver_add_ring (&receiver, -1));
  fail_if (gst_vkgdr_ipc_receiver_add_ring (&receiver, event));
  fail_unless (ftruncate (fd, 1 << 20) == 0);
  fail_if (gst_vkgdr_ipc_receiver_add_ring (&receiver, fd));
  fail_unless (gst_vkgdr_ipc_receiver_add_ring (&receiver, ring_fd));
  /* There can be only one ring. */
  fail_if (gst_vkgdr_ipc_receiver_add_ring (&receiver, ring_fd));
  gst_vkgdr_ipc_ring_free (ring);
  close (ring_fd);
  close (event);
  close (fd);
}
GST_END_TEST

/* If the writer of a ring writes rubbish, the reader gets messages, but returns
 * the size 0 for them, because they are invalid. */
GST_START_TEST (test_rubbish)
{
  guint8 data[GST_VKGDR_IPC_RING_MAX_MESSAGE];
  gint fd;
  GstVkgdrIpcRing *writer = gst_vkgdr_ipc_ring_new (&fd);
  GstVkgdrIpcRing *reader = gst_vkgdr_ipc_ring_map (fd);
  gsize size = lseek (fd, 0, SEEK_END);
  guint8 *memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  guint i, n = 0;

  fail_unless (memory != MAP_FAILED);
  for (i = 1; i < 256; i++) {
    memset (memory, i, size);
    if (!gst_vkgdr_ipc_ring_has_message (reader, G_MAXUINT64))
      continue;
    n++;
    fail_unless_equals_uint64 (gst_vkgdr_ipc_ring_read (reader, data), 0);
  }
  fail_unless (n > 200);
  munmap (memory, size);
  gst_vkgdr_ipc_ring_free (reader);
  gst_vkgdr_ipc_ring_free (writer);
  close (fd);
}
GST_END_TEST

static Suite *
ipc_channel_suite (void)
{
  Suite *suite = suite_create ("ipc-channel");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, setup, teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_no_ring);
  tcase_add_test (tc, test_awake);
  tcase_add_test (tc, test_asleep);
  tcase_add_test (tc, test_full_ring);
  tcase_add_test (tc, test_large_messages);
  tcase_add_test (tc, test_attached);
  tcase_add_test (tc, test_closed);
  tcase_add_test (tc, test_both_between_looks);
  tcase_add_test (tc, test_attached_at_end);
  tcase_add_test (tc, test_oversized_packet);
  tcase_add_test (tc, test_no_lost_wake_up);
  tcase_add_test (tc, test_order);
  tcase_add_test (tc, test_other_memory);
  tcase_add_test (tc, test_rubbish);
  return suite;
}

GST_CHECK_MAIN (ipc_channel);
