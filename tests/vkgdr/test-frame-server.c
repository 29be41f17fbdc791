/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-frame-server.c: tests of a frame server with clients that do not read,
 * without file descriptors, and with memory that ends
 *
 * No memory is used, so no device is needed.
 */

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "frame-server.h"
#include "frames-raw.h"

/* Bytes of metas: a socket has room for a few such frames. */
#define LARGE 60000

static vkgdr_server *server;
static vkgdr_export *memory;
static atomic_int n_sent, n_released;

static int
check_written (void *user_data, bool wait)
{
  return 1;
}

static void
on_release (void *user_data)
{
  atomic_fetch_add (&n_released, 1);
}

static vkgdr_export *
new_export (void)
{
  const vkgdr_fd_info info = { .size = 4096 };
  static uint64_t key;
  vkgdr_export *export;
  int fd = memfd_create ("memory", MFD_CLOEXEC);

  ck_assert_int_ge (fd, 0);
  export = vkgdr_export_new (++key, fd, &info);
  ck_assert_ptr_nonnull (export);
  return export;
}

static void
serve (vkgdr_server_leaky leaky, uint32_t max_buffers)
{
  const vkgdr_server_params params = {
    .path = path, .leaky = leaky, .max_buffers = max_buffers
  };

  server = vkgdr_server_new (&params);
  assert_no_error ();
  ck_assert_ptr_nonnull (server);
  memory = new_export ();
}

static void
stop (void)
{
  vkgdr_server_close (server);
  vkgdr_server_unref (server);
  vkgdr_export_unref (memory);
  ck_assert_int_eq (atomic_load (&n_released), atomic_load (&n_sent));
}

static void
send_in (vkgdr_export *export, size_t metas_size)
{
  static const char metas[LARGE];
  const vkgdr_server_frame frame = { .n_ranges = 1,
    .ranges = { { export, 0, 4096 } },
    .metas = metas,
    .metas_size = metas_size,
    .check_written = check_written,
    .release = on_release };

  ck_assert_int_eq (vkgdr_server_send (server, &frame), VKGDR_SERVER_SENT);
  atomic_fetch_add (&n_sent, 1);
}

static uint32_t
count_clients (void)
{
  vkgdr_server_figures figures;

  vkgdr_server_get_figures (server, &figures);
  return figures.clients;
}

static int
come (void)
{
  uint32_t n = count_clients ();
  int fd = connect_raw (), i;

  say_hello (fd, VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  expect (fd, VKGDR_WIRE_WELCOME);
  for (i = 0; i < 1000 && count_clients () <= n; i++)
    usleep (1000);
  return fd;
}

/* Reads until a frame, EOS, BYE or FORGET, and returns its type. Sets @number
 * to that of the frame or of the memory. */
static uint32_t
read_on (int fd, uint64_t *number)
{
  static uint64_t data[VKGDR_WIRE_MAX_PACKET / 8];
  uint32_t type;

  do {
    size_t size = sizeof (data);

    type = next_type (fd, data, &size);
    *number = data[1];
  } while (type == VKGDR_WIRE_MEMORY);
  return type;
}

static void
read_and_release (int fd, uint64_t expected)
{
  uint64_t number;

  ck_assert_int_eq (read_on (fd, &number), VKGDR_WIRE_FRAME);
  ck_assert_uint_eq (number, expected);
  send_number (fd, VKGDR_WIRE_RELEASE, number);
}

static void
wait_for_release (int n_kept)
{
  int i;

  for (i = 0; i < 5000; i++) {
    if (atomic_load (&n_released) + n_kept >= atomic_load (&n_sent))
      return;
    usleep (1000);
  }
  ck_abort_msg ("%d of %d frames were released", atomic_load (&n_released),
      atomic_load (&n_sent));
}

TEST_FIXTURE (set_up, tear_down);

/* The socket of a client that does not read is full after some frames. One
 * frame waits for it, and the others are lost. Another client gets all. */
TEST (full_socket)
{
  uint64_t number, last = 0, n = 0;
  vkgdr_server_figures figures;
  int reader, deaf, i;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 1000);
  deaf = come ();
  reader = come ();
  for (i = 1; i <= 50; i++) {
    send_in (memory, LARGE);
    read_and_release (reader, (uint64_t) i);
  }
  vkgdr_server_get_figures (server, &figures);
  ck_assert_uint_gt (figures.lost, 30);
  do {
    ck_assert_int_eq (read_on (deaf, &number), VKGDR_WIRE_FRAME);
    ck_assert_uint_gt (number, last);
    send_number (deaf, VKGDR_WIRE_RELEASE, number);
    last = number;
    n++;
  } while (number < 50);
  ck_assert_uint_eq (n + figures.lost, 50);
  wait_for_release (0);
  close (deaf);
  close (reader);
  stop ();
}

/* A client that reads neither the end of a stream nor the next streams keeps no
 * more frames than it has. Later it gets frames and EOS in their order. */
TEST (full_socket_and_ends)
{
  int reader, deaf, kept = 0, i, k;
  uint64_t number, last = 0;
  uint32_t type;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 1000);
  deaf = come ();
  reader = come ();
  for (k = 0; k < 20; k++) {
    for (i = 1; i <= 10; i++) {
      send_in (memory, LARGE);
      read_and_release (reader, (uint64_t) (10 * k + i));
    }
    vkgdr_server_end (server);
    ck_assert_int_eq (read_on (reader, &number), VKGDR_WIRE_EOS);
    if (k == 1) {
      wait_for_release (10);
      kept = atomic_load (&n_sent) - atomic_load (&n_released);
    }
  }
  wait_for_release (kept);
  /* The frames that were sent, EOS, perhaps a frame of a later stream. */
  do {
    type = read_on (deaf, &number);
    ck_assert (type == VKGDR_WIRE_FRAME || type == VKGDR_WIRE_EOS);
    if (type == VKGDR_WIRE_FRAME) {
      ck_assert_uint_gt (number, last);
      send_number (deaf, VKGDR_WIRE_RELEASE, number);
      last = number;
    }
  } while (type != VKGDR_WIRE_EOS);
  wait_for_release (0);
  close (deaf);
  close (reader);
  stop ();
}

/* A client that does not read delays the end by two seconds at most, and gets
 * its frames back to the source. */
TEST (full_socket_at_the_end)
{
  int64_t start;
  int deaf, i;

  serve (VKGDR_SERVER_LEAKY_NO, 1000);
  deaf = come ();
  for (i = 0; i < 20; i++)
    send_in (memory, LARGE);
  start = vkgdr_socket_now ();
  stop ();
  ck_assert_int_lt (vkgdr_socket_now () - start, 10 * SECOND);
  close (deaf);
}

/* Opens files until the process may open no more. Returns their number. */
static int
use_all_descriptors (int *fds, int max)
{
  const struct rlimit limit = { (rlim_t) max, (rlim_t) max * 2 };
  int n = 0;

  ck_assert_int_eq (setrlimit (RLIMIT_NOFILE, &limit), 0);
  while ((fds[n] = dup (STDERR_FILENO)) >= 0)
    n++;
  ck_assert_int_eq (errno, EMFILE);
  return n;
}

static int64_t
used_time (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND
         + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* A server that cannot accept clients serves those that it has, does not use a
 * processor meanwhile, and accepts the others later. */
TEST (no_descriptors_in_the_server)
{
  int late = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int client, fds[128], n, i;
  int64_t start;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 4);
  client = come ();
  n = use_all_descriptors (fds, 128);
  strcpy (address.sun_path, path);
  ck_assert_int_eq (
      connect (late, (struct sockaddr *) &address, sizeof (address)), 0);
  say_hello (late, VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  start = used_time ();
  usleep (500000);
  ck_assert_int_lt (used_time () - start, SECOND / 5);
  /* The client needs a descriptor for the memory of the first frame. */
  close (fds[--n]);
  close (fds[--n]);
  for (i = 1; i <= 20; i++) {
    send_in (memory, 0);
    read_and_release (client, (uint64_t) i);
  }
  while (n > 0)
    close (fds[--n]);
  expect (late, VKGDR_WIRE_WELCOME);
  close (late);
  close (client);
  stop ();
}

static void *
fake_import (void *user_data, int fd, const vkgdr_fd_info *info, char *message,
    size_t message_size)
{
  return user_data;
}

/* The error of a client that cannot get the memory tells the user why. */
TEST (no_descriptors_in_the_client)
{
  const vkgdr_frames_params params = {
    .path = path, .import = fake_import, .user_data = &server
  };
  int fds[128], n;
  vkgdr_frames_t frames;
  vkgdr_frame_t frame;

  serve (VKGDR_SERVER_LEAKY_NO, 4);
  frames = vkgdr_frames_connect (&params);
  ck_assert_ptr_nonnull (frames);
  while (count_clients () < 1)
    usleep (1000);
  n = use_all_descriptors (fds, 128);
  send_in (memory, 0);
  ck_assert_int_eq (
      vkgdr_frames_receive (frames, 10 * SECOND, &frame), VKGDR_FRAMES_ERROR);
  assert_error ("ulimit -n");
  while (n > 0)
    close (fds[--n]);
  vkgdr_frames_close (frames);
  stop ();
}

/* A client is told at once about memory that has ended, even if nothing else
 * happens, and the server keeps no descriptor of it. */
TEST (exports_end)
{
  int client, fds, i;
  uint64_t number, ids = 0;

  serve (VKGDR_SERVER_LEAKY_NO, 4);
  client = come ();
  fds = test_count_fds ();
  for (i = 1; i <= 300; i++) {
    vkgdr_export *export = new_export ();

    send_in (export, 0);
    if (i % 2)
      vkgdr_export_unref (export);
    read_and_release (client, (uint64_t) i);
    if (i % 2 == 0) {
      wait_for_release (0);
      vkgdr_export_unref (export);
    }
    ck_assert_int_eq (read_on (client, &number), VKGDR_WIRE_FORGET);
    ck_assert_uint_gt (number, ids);
    ids = number;
  }
  ck_assert_int_eq (test_count_fds (), fds);
  close (client);
  stop ();
}

static void *
come_in_thread (void *data)
{
  int fd = connect_raw ();

  say_hello (fd, VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  *(int *) data = fd;
  return NULL;
}

/* A client that comes while the stream ends gets EOS. */
TEST (races_with_the_end)
{
  uint64_t number;
  uint32_t type;
  int i, fd;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 4);
  for (i = 0; i < 300; i++) {
    pthread_t thread;

    pthread_create (&thread, NULL, come_in_thread, &fd);
    send_in (memory, 0);
    if (i % 3)
      usleep (i * 7 % 100);
    vkgdr_server_end (server);
    pthread_join (thread, NULL);
    expect (fd, VKGDR_WIRE_WELCOME);
    do {
      type = read_on (fd, &number);
    } while (type == VKGDR_WIRE_FRAME);
    ck_assert_int_eq (type, VKGDR_WIRE_EOS);
    close (fd);
  }
  stop ();
}
