/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-frames.c: tests of vkgdr/frames.h and of its protocol: what a server
 * does when clients do not read, have no file descriptors or send rubbish, and
 * a client when its server does
 *
 * tests/gst/ipc-*.c test what vkgdripcsink and vkgdripcsrc make of it.
 */

#include "../gst/slow.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame-server.h"
#include "frame-socket.h"

#define SECOND INT64_C (1000000000)
#define WIDTH 66
#define HEIGHT 50

/* Bytes of metas: a socket has room for a few such frames. */
#define LARGE 60000

static char path[64];

static void
set_up (void)
{
  snprintf (path, sizeof (path), "/tmp/vkgdr-frames-%d", (int) getpid ());
}

static void
tear_down (void)
{
  unlink (path);
}

TEST_REQUIRE (test_require_device);

TEST_FIXTURE (set_up, tear_down);

/* --- a client that consists of a socket ---------------------------------- */

static void
send_number (int fd, uint32_t type, uint64_t number)
{
  const vkgdr_wire_number message = { { type, sizeof (message) }, number };

  vkgdr_socket_send (fd, &message, sizeof (message), -1);
}

/* The type of a message, or, for a STATE, its kind. */
#define STATE(kind) (100 + (kind))

/* Reads the next message, also if it is late. Returns its type, or 0 if the
 * connection was closed. The first number of the message is data[1]. */
static uint32_t
receive_message (int fd, uint64_t *data, size_t *size, int *attached)
{
  const size_t room = *size;
  vkgdr_socket_result result;

  while ((result = vkgdr_socket_receive (fd, data, size, attached))
         == VKGDR_SOCKET_AGAIN) {
    vkgdr_socket_wait (fd, SECOND);
    *size = room;
  }
  if (result != VKGDR_SOCKET_OK)
    return 0;
  return (uint32_t) data[0] == VKGDR_WIRE_STATE ? STATE ((uint32_t) data[1])
                                                : (uint32_t) data[0];
}

/* The same for a client that skips MEMORY, and releases frames at once. Sets
 * @number to that of a frame or of a memory. */
static uint32_t
next (int fd, uint64_t *number)
{
  static uint64_t data[VKGDR_WIRE_MAX_PACKET / 8];
  uint32_t type;
  int attached;

  do {
    size_t size = sizeof (data);

    type = receive_message (fd, data, &size, &attached);
    if (type != 0 && attached >= 0)
      close (attached);
  } while (type == VKGDR_WIRE_MEMORY);
  *number = data[1];
  if (type == VKGDR_WIRE_FRAME)
    send_number (fd, VKGDR_WIRE_RELEASE, *number);
  return type;
}

/* Expects a message, and if @number is not 0, that number. */
static void
expect (int fd, uint32_t type, uint64_t number)
{
  uint64_t found;

  ck_assert_uint_eq (next (fd, &found), type);
  ck_assert (number == 0 || found == number);
}

/* Expects frames in their order, and EOS. Returns the number of frames. */
static int
read_until_eos (int fd)
{
  uint64_t number, last = 0;
  uint32_t type;
  int n = 0;

  for (; (type = next (fd, &number)) == VKGDR_WIRE_FRAME; last = number, n++)
    ck_assert_uint_gt (number, last);
  ck_assert_uint_eq (type, STATE (VKGDR_WIRE_EOS));
  return n;
}

/* Connects, and says that the client knows these versions, unless @max is 0. */
static int
come_with (uint32_t min, uint32_t max)
{
  const vkgdr_wire_hello hello = { { VKGDR_WIRE_HELLO, sizeof (hello) },
    VKGDR_WIRE_MAGIC_BYTES, min, max };
  int fd;

  /* Other clients may still wait to be accepted. */
  while ((fd = vkgdr_socket_connect (path)) < 0)
    usleep (1000);
  if (max > 0)
    vkgdr_socket_send (fd, &hello, sizeof (hello), -1);
  return fd;
}

/* --- a server whose memory is no memory of a device ---------------------- */

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
  const vkgdr_fd_info info = { .size = 16384, .device_uuid = { 1 } };
  static uint64_t key;

  return vkgdr_export_new (
      ++key, memfd_create ("memory", MFD_CLOEXEC), &info, NULL);
}

static void
serve (bool is_leaky, uint32_t max_buffers)
{
  const vkgdr_server_params params = {
    .path = path, .is_leaky = is_leaky, .max_buffers = max_buffers
  };

  server = vkgdr_server_new (&params);
  assert_no_error ();
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
    .ranges = { { export, 4096, 8192 } },
    .metas = metas,
    .metas_size = metas_size,
    .check_written = check_written,
    .release = on_release };

  ck_assert_int_eq (vkgdr_server_send (server, &frame), VKGDR_SERVER_SENT);
  atomic_fetch_add (&n_sent, 1);
}

static int
count_used (void)
{
  return atomic_load (&n_sent) - atomic_load (&n_released);
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
  int fd = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);

  expect (fd, VKGDR_WIRE_WELCOME, 0);
  test_wait_for (count_clients () == n + 1);
  return fd;
}

/* --- a client of libvkgdr, which imports no memory ----------------------- */

static vkgdr_frames_t frames;
static int n_imports;

static void *
fake_import (void *user_data, int fd, const vkgdr_fd_info *info, char *message,
    size_t message_size)
{
  uint64_t *size = malloc (sizeof (*size));

  n_imports++;
  *size = info->size;
  return size;
}

static void
fake_forget (void *user_data, void *object)
{
  n_imports--;
  free (object);
}

static void
connect_frames (void)
{
  const vkgdr_frames_params params = {
    .path = path, .import = fake_import, .forget = fake_forget
  };

  frames = vkgdr_frames_connect (&params);
  ck_assert_ptr_nonnull (frames);
}

/* Expects this status. Returns the frame, if there is one. */
static vkgdr_frame_t
receive (int64_t timeout, vkgdr_frames_status status)
{
  vkgdr_frame_t frame = NULL;

  ck_assert_int_eq (vkgdr_frames_receive (frames, timeout, &frame), status);
  return frame;
}

/* --- frames -------------------------------------------------------------- */

static vkgdr_frame_server_t
open_source (void)
{
  const vkgdr_frame_server_params params = {
    .path = path, .format = "GRAY8", .width = WIDTH, .height = HEIGHT
  };
  vkgdr_frame_server_t source = vkgdr_frame_server_open (&params);

  assert_no_error ();
  return source;
}

static void
connect_to_source (void)
{
  const vkgdr_frames_params params = { .path = path, .timeout = 20 * SECOND };

  frames = vkgdr_frames_connect (&params);
  assert_no_error ();
}

/* Sends a frame, and waits to be killed. */
static void
serve_one_frame (void)
{
  vkgdr_frame_server_t source;
  vkgdr_frame_buffer *buffer;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  source = open_source ();
  buffer = vkgdr_frame_server_acquire (source, 0);
  memset (buffer->planes[0].host, 7, HEIGHT * buffer->planes[0].stride);
  test_wait_for (vkgdr_frame_server_count_clients (source) == 1);
  vkgdr_frame_server_send (source, buffer, 5);
  pause ();
}

/* A client notices that the server was killed, and its frames stay valid. The
 * next server replaces the socket. */
TEST (killed_server)
{
  const vkgdr_frame_plane *plane;
  pid_t child = fork ();
  vkgdr_frame_t frame;

  if (child == 0)
    serve_one_frame ();
  connect_to_source ();
  frame = receive (20 * SECOND, VKGDR_FRAMES_FRAME);
  kill (child, SIGKILL);
  ck_assert_int_eq (waitpid (child, NULL, 0), child);
  receive (10 * SECOND, VKGDR_FRAMES_ERROR);
  assert_error ("the server has ended");
  ck_assert (vkgdr_frame_invalidate (frame));
  plane = &vkgdr_frame_get_info (frame)->planes[0];
  ck_assert_int_eq (
      ((uint8_t *) plane->host)[(HEIGHT - 1) * plane->stride + WIDTH - 1], 7);
  vkgdr_frame_release (frame);
  vkgdr_frames_close (frames);
  serve (false, 4);
  close (come ());
  stop ();
}

static atomic_int may_begin;

static void
slow_work (void *is_done)
{
  while (!atomic_exchange (&may_begin, 0))
    usleep (1000);
  usleep (30000);
  atomic_store ((atomic_int *) is_done, 1);
}

/* Neither side waits for the device; the other side gets a frame or a buffer
 * only after the work. */
TEST (streams)
{
  const vkgdr_cuda *cu = test_enter_context ();
  atomic_int is_written = 0, is_read = 0;
  vkgdr_frame_server_t source = open_source ();
  vkgdr_frame_buffer *buffers[8];
  CUstream stream;
  int i;

  connect_to_source ();
  test_wait_for (vkgdr_frame_server_count_clients (source) == 1);
  ck_assert_int_eq (
      cu->cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (i = 0; i < 8; i++)
    buffers[i] = vkgdr_frame_server_acquire (source, 0);
  ck_assert_ptr_null (vkgdr_frame_server_acquire (source, 0));
  cu->cuLaunchHostFunc (stream, slow_work, &is_written);
  ck_assert (vkgdr_frame_server_send_on_stream (source, buffers[0], 5, stream));
  ck_assert_int_eq (atomic_load (&is_written), 0);
  atomic_store (&may_begin, 1);
  vkgdr_frame_release (receive (10 * SECOND, VKGDR_FRAMES_FRAME));
  ck_assert_int_eq (atomic_load (&is_written), 1);

  ck_assert (vkgdr_frame_server_send (source, buffers[1], 6));
  cu->cuLaunchHostFunc (stream, slow_work, &is_read);
  ck_assert (vkgdr_frame_release_on_stream (
      receive (10 * SECOND, VKGDR_FRAMES_FRAME), stream));
  ck_assert_int_eq (atomic_load (&is_read), 0);
  atomic_store (&may_begin, 1);
  while ((buffers[1] = vkgdr_frame_server_acquire (source, 10 * SECOND))
         == buffers[0])
    ; /* the first frame may come back earlier */
  ck_assert_int_eq (atomic_load (&is_read), 1);
  for (i = 0; i < 8; i++)
    vkgdr_frame_server_cancel (source, buffers[i]);
  vkgdr_frames_close (frames);
  cu->cuStreamDestroy (stream);
  vkgdr_frame_server_close (source);
}

/* --- clients that do not read -------------------------------------------- */

/* The socket of a client that does not read is full after some frames, and the
 * others are lost. Such a client keeps no more frames than it has, also if it
 * reads neither the end of a stream nor the next streams. Later it gets frames
 * and EOS in their order. Another client gets all. If it does not read, it
 * delays the end by two seconds at most. */
TEST (full_socket)
{
  vkgdr_server_figures figures;
  int reader, deaf, kept = 0, i, k;
  int64_t start;

  serve (true, 1000);
  deaf = come ();
  reader = come ();
  for (k = 0; k < 20; k++) {
    for (i = 1; i <= 10; i++) {
      send_in (memory, LARGE);
      expect (reader, VKGDR_WIRE_FRAME, (uint64_t) (10 * k + i));
    }
    vkgdr_server_end (server);
    expect (reader, STATE (VKGDR_WIRE_EOS), 0);
    if (k == 1) {
      test_wait_for (count_used () <= 10);
      kept = count_used ();
    }
  }
  test_wait_for (count_used () <= kept);
  vkgdr_server_get_figures (server, &figures);
  ck_assert_uint_gt (figures.lost, 180);
  /* The frames that were sent, EOS, perhaps a frame of a later stream. */
  ck_assert_uint_gt (read_until_eos (deaf), 0);
  test_wait_for (count_used () == 0);
  for (i = 0; i < 20; i++)
    send_in (memory, LARGE);
  start = vkgdr_socket_now ();
  stop ();
  ck_assert_int_lt (vkgdr_socket_now () - start, 10 * SECOND);
  close (deaf);
  close (reader);
}

/* --- a lack of file descriptors ------------------------------------------ */

/* The process may open @n more files. */
static void
limit_descriptors (int n)
{
  int first_free = dup (STDERR_FILENO);
  const struct rlimit limit = { (rlim_t) (first_free + n), 1024 };

  close (first_free);
  ck_assert_int_eq (setrlimit (RLIMIT_NOFILE, &limit), 0);
}

/* A server that cannot accept clients serves those that it has, does not use a
 * processor meanwhile, and accepts the others later. */
TEST (no_descriptors_in_the_server)
{
  int client, late;
  clock_t start;
  uint64_t i;

  serve (true, 4);
  client = come ();
  send_in (memory, 0);
  expect (client, VKGDR_WIRE_FRAME, 1);
  limit_descriptors (1);
  late = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  start = clock ();
  usleep (500000);
  ck_assert_int_lt (clock () - start, CLOCKS_PER_SEC / 5);
  for (i = 2; i <= 20; i++) {
    send_in (memory, 0);
    expect (client, VKGDR_WIRE_FRAME, i);
  }
  ck_assert_uint_eq (count_clients (), 1);
  setrlimit (RLIMIT_NOFILE, &(struct rlimit){ 1024, 1024 });
  expect (late, VKGDR_WIRE_WELCOME, 0);
  close (late);
  close (client);
  stop ();
}

/* The error of a client that cannot get the memory tells the user why. */
TEST (no_descriptors_in_the_client)
{
  serve (false, 4);
  connect_frames ();
  test_wait_for (count_clients () == 1);
  limit_descriptors (0);
  send_in (memory, 0);
  receive (10 * SECOND, VKGDR_FRAMES_ERROR);
  assert_error ("ulimit -n");
  vkgdr_frames_close (frames);
  stop ();
}

/* --- ends ---------------------------------------------------------------- */

/* The frames that a client has not read when it closes go back, though it keeps
 * another one. There are other messages between them. */
TEST (close_returns_frames)
{
  vkgdr_frame_t frame;
  int i;

  serve (false, 16);
  connect_frames ();
  test_wait_for (count_clients () == 1);
  for (i = 0; i < 7; i++) {
    vkgdr_export *export = new_export ();

    send_in (export, 0);
    vkgdr_export_unref (export);
  }
  frame = receive (10 * SECOND, VKGDR_FRAMES_FRAME);
  vkgdr_frames_close (frames);
  test_wait_for (count_used () <= 1);
  ck_assert_int_eq (count_used (), 1);
  vkgdr_frame_release (frame);
  ck_assert_int_eq (n_imports, 0);
  stop ();
}

static void *
wait_for_buffer (void *source)
{
  return vkgdr_frame_server_acquire (source, -1);
}

/* When a server is closed, a thread that waits for a buffer goes on. Buffers
 * that were acquired are valid until they are given back. Nothing is left then.
 */
TEST (close_of_a_source)
{
  vkgdr_frame_buffer *buffers[8];
  int round, fds = 0;
  size_t i;

  for (round = 0; round < 20; round++) {
    vkgdr_frame_server_t source = open_source ();
    pthread_t thread;
    void *none;

    for (i = 0; i < N_ELEMENTS (buffers); i++)
      buffers[i] = vkgdr_frame_server_acquire (source, 0);
    pthread_create (&thread, NULL, wait_for_buffer, source);
    usleep (round % 5 * 1000);
    vkgdr_frame_server_close (source);
    pthread_join (thread, &none);
    ck_assert_ptr_null (none);
    for (i = 0; i < N_ELEMENTS (buffers); i++) {
      if (buffers[i]->planes[0].host)
        memset (buffers[i]->planes[0].host, (int) i, buffers[i]->size);
      if (i % 2)
        vkgdr_frame_server_cancel (source, buffers[i]);
      else
        ck_assert (!vkgdr_frame_server_send (source, buffers[i], -1));
    }
    if (round == 0)
      fds = test_count_fds ();
  }
  ck_assert_int_eq (test_count_fds (), fds);
}

/* A client is told at once about memory that has ended, even if nothing else
 * happens, and the server keeps no descriptor of it. */
TEST (exports_end)
{
  uint64_t number, last = 0, i;
  int client, fds;

  serve (false, 4);
  client = come ();
  fds = test_count_fds ();
  for (i = 1; i <= 300; i++) {
    vkgdr_export *export = new_export ();

    send_in (export, 0);
    if (i % 2)
      vkgdr_export_unref (export);
    expect (client, VKGDR_WIRE_FRAME, i);
    if (i % 2 == 0) {
      test_wait_for (count_used () == 0);
      vkgdr_export_unref (export);
    }
    ck_assert_uint_eq (next (client, &number), VKGDR_WIRE_FORGET);
    ck_assert_uint_gt (number, last);
    last = number;
  }
  ck_assert_int_eq (test_count_fds (), fds);
  close (client);
  stop ();
}

/* A client that keeps all frames that it may have gets no other one, but it
 * gets EOS and the end: those do not wait for longer than two seconds. */
TEST_LOOP (kept_frames_and_the_end, 2)
{
  bool has_eos = __i__ == 0;
  uint64_t data[64];
  uint32_t type, last = 0;
  int fd, attached, n = 0, i;
  int64_t start;

  serve (true, 2);
  fd = come ();
  for (i = 0; i < 3; i++)
    send_in (memory, 0);
  start = vkgdr_socket_now ();
  if (has_eos)
    vkgdr_server_end (server);
  stop ();
  ck_assert_int_lt (vkgdr_socket_now () - start, 10 * SECOND);
  do {
    size_t size = sizeof (data);

    type = receive_message (fd, data, &size, &attached);
    if (type != 0 && attached >= 0)
      close (attached);
    n += type == VKGDR_WIRE_FRAME;
    if (type != 0 && type != STATE (VKGDR_WIRE_BYE))
      last = type;
  } while (type != 0);
  ck_assert_int_eq (n, 2);
  ck_assert_uint_eq (last, has_eos ? STATE (VKGDR_WIRE_EOS) : VKGDR_WIRE_FRAME);
  close (fd);
}

/* Connections that say nothing do not keep others out for longer than two
 * seconds. A client that connects meanwhile is not refused. */
TEST (silent_clients)
{
  int silent[256], fd;
  size_t i;

  serve (true, 4);
  for (i = 0; i < N_ELEMENTS (silent); i++)
    silent[i] = come_with (1, 0);
  fd = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  expect (fd, VKGDR_WIRE_WELCOME, 0);
  for (i = 0; i < N_ELEMENTS (silent); i++) {
    expect (silent[i], 0, 0);
    close (silent[i]);
  }
  close (fd);
  stop ();
}

/* How a server does not answer. */
static const struct {
  bool is_listening, says_bye;
  int number;
  const char *error;
} absent[] = {
  { false, false, ENOENT, "no process serves" },
  { true, false, ETIMEDOUT, "does not answer" },
  { true, true, ECONNREFUSED, "has stopped before it accepted" },
};

/* The timeout of a client holds until the server has accepted it. */
TEST_LOOP (no_welcome, N_ELEMENTS (absent))
{
  const vkgdr_wire_state bye = { { VKGDR_WIRE_STATE, sizeof (bye) },
    VKGDR_WIRE_BYE, 0 };
  const vkgdr_frames_params params = { .path = path,
    .timeout = absent[__i__].says_bye ? 0 : SECOND / 5,
    .import = fake_import };
  int64_t start = vkgdr_socket_now ();
  int listener = -1, fd;

  if (absent[__i__].is_listening)
    listener = vkgdr_socket_listen (path, VKGDR_FRAME_PEERS_USER);
  frames = vkgdr_frames_connect (&params);
  if (absent[__i__].says_bye) {
    fd = accept (listener, NULL, NULL);
    vkgdr_socket_send (fd, &bye, sizeof (bye), -1);
    ck_assert (!vkgdr_frames_wait_accepted (frames, 10 * SECOND));
  } else {
    ck_assert_ptr_null (frames);
    ck_assert_int_ge (vkgdr_socket_now () - start, SECOND / 5);
    ck_assert_int_lt (vkgdr_socket_now () - start, 10 * SECOND);
  }
  ck_assert_int_eq (errno, absent[__i__].number);
  assert_error (absent[__i__].error);
}

static void *
come_in_thread (void *fd)
{
  *(int *) fd = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  return NULL;
}

/* A client that comes while the stream ends gets EOS. */
TEST (races_with_the_end)
{
  int i, fd;

  serve (true, 4);
  for (i = 0; i < 300; i++) {
    pthread_t thread;

    pthread_create (&thread, NULL, come_in_thread, &fd);
    send_in (memory, 0);
    if (i % 3)
      usleep (i * 7 % 100);
    vkgdr_server_end (server);
    pthread_join (thread, NULL);
    expect (fd, VKGDR_WIRE_WELCOME, 0);
    read_until_eos (fd);
    close (fd);
  }
  stop ();
}

/* --- hostile clients ----------------------------------------------------- */

/* Clients of other versions, and those that release a frame that they do not
 * have, are disconnected. */
TEST (wrong_clients)
{
  int fd;

  serve (false, 4);
  fd = come_with (1, VKGDR_WIRE_VERSION - 1);
  expect (fd, STATE (VKGDR_WIRE_BYE), 0);
  expect (fd, 0, 0);
  close (fd);
  fd = come_with (VKGDR_WIRE_VERSION - 1, VKGDR_WIRE_VERSION + 1);
  expect (fd, VKGDR_WIRE_WELCOME, 0);
  test_wait_for (count_clients () == 1);
  send_in (memory, 0);
  expect (fd, VKGDR_WIRE_FRAME, 1);
  send_number (fd, VKGDR_WIRE_RELEASE, 1);
  expect (fd, 0, 0);
  close (fd);
  stop ();
}

/* Another client, which is correct, gets all frames. */
TEST (hostile_client)
{
  unsigned seed = 1, i, j;
  guint fds;
  int witness;
  uint64_t data[16];

  serve (true, 4);
  witness = come ();
  fds = test_count_fds ();
  for (i = 0; i < 2000; i++) {
    int fd = come_with (VKGDR_WIRE_VERSION, i % 4 ? VKGDR_WIRE_VERSION : 0);

    if (i % 50 == 0) {
      send_in (memory, 0);
      expect (witness, VKGDR_WIRE_FRAME, i / 50 + 1);
    }
    for (j = 0; j < N_ELEMENTS (data); j++)
      data[j] = (uint64_t) rand_r (&seed) * (uint64_t) rand_r (&seed);
    data[0] = (uint64_t) (i % 3 ? 16 : rand_r (&seed)) << 32
              | (uint64_t) (rand_r (&seed) % 20);
    data[1] = (uint64_t) rand_r (&seed) % 5;
    vkgdr_socket_send (
        fd, data, 1 + rand_r (&seed) % 40, i % 5 == 0 ? STDERR_FILENO : -1);
    if (i % 7 == 0)
      send_number (fd, VKGDR_WIRE_STOP, 0);
    close (fd);
  }
  test_wait_for (count_clients () == 1 && test_count_fds () <= fds);
  close (witness);
  stop ();
}

/* --- hostile servers ----------------------------------------------------- */

/* The server's sockets. */
static int listener, accepted;

static void
open_session (void)
{
  const vkgdr_wire_welcome welcome = { { VKGDR_WIRE_WELCOME, sizeof (welcome) },
    VKGDR_WIRE_VERSION, 4 };

  listener = vkgdr_socket_listen (path, VKGDR_FRAME_PEERS_USER);
  ck_assert_int_ge (listener, 0);
  connect_frames ();
  accepted = accept (listener, NULL, NULL);
  expect (accepted, VKGDR_WIRE_HELLO, 0);
  vkgdr_socket_send (accepted, &welcome, sizeof (welcome), -1);
}

static void
close_session (void)
{
  vkgdr_frames_close (frames);
  close (accepted);
  close (listener);
  ck_assert_int_eq (n_imports, 0);
}

/* A server sends only so many memories, and none twice. */
TEST (too_many_memories)
{
  vkgdr_wire_memory memory = { { VKGDR_WIRE_MEMORY, sizeof (memory) }, 0,
    { .size = 1, .device_uuid = { 1 } } };

  open_session ();
  for (memory.id = 0; memory.id < 1025; memory.id++) {
    vkgdr_socket_send (accepted, &memory, sizeof (memory), STDERR_FILENO);
    receive (0, memory.id < 1024 ? VKGDR_FRAMES_TIMEOUT : VKGDR_FRAMES_ERROR);
  }
  assert_error ("memory");
  close_session ();
}

/* A STATE, and what the client makes of it. */
static const struct {
  uint32_t kind;
  const char *content;
  size_t size;
  vkgdr_frames_status status;
} states[] = {
  { VKGDR_WIRE_BYE, "", 0, VKGDR_FRAMES_BYE },
  { VKGDR_WIRE_BYE, "no room", 7, VKGDR_FRAMES_REFUSED },
  { VKGDR_WIRE_BYE, "caf\xe9", 4, VKGDR_FRAMES_ERROR },
  { VKGDR_WIRE_BYE, "\33[2J", 4, VKGDR_FRAMES_ERROR },
  { VKGDR_WIRE_BYE, "a\0b", 3, VKGDR_FRAMES_ERROR },
  { VKGDR_WIRE_BYE, NULL, 513, VKGDR_FRAMES_ERROR },
  { VKGDR_WIRE_EOS, "", 0, VKGDR_FRAMES_EOS },
  { VKGDR_FRAMES_FORMAT, "", 0, VKGDR_FRAMES_TIMEOUT },
  { VKGDR_FRAMES_FORMAT, NULL, 128, VKGDR_FRAMES_ERROR },
  { VKGDR_FRAMES_TENSOR, NULL, 136, VKGDR_FRAMES_ERROR },
  { VKGDR_FRAMES_CAPS, NULL, VKGDR_WIRE_MAX_CONTENT, VKGDR_FRAMES_TIMEOUT },
  { VKGDR_FRAMES_CAPS, NULL, VKGDR_WIRE_MAX_CONTENT + 1, VKGDR_FRAMES_ERROR },
  { 99, NULL, 5000, VKGDR_FRAMES_TIMEOUT },
};

/* A state of an unknown kind is skipped. Texts that an application would print
 * are checked. */
TEST_LOOP (states, N_ELEMENTS (states))
{
  static uint8_t message[VKGDR_WIRE_MAX_PACKET];
  size_t size = states[__i__].size;
  const vkgdr_wire_state head = { { VKGDR_WIRE_STATE,
                                      (uint32_t) (sizeof (head) + size) },
    states[__i__].kind, 0 };

  open_session ();
  memcpy (message, &head, sizeof (head));
  if (states[__i__].content)
    memcpy (message + sizeof (head), states[__i__].content, size);
  else
    memset (message + sizeof (head), 'x', size);
  vkgdr_socket_send (accepted, message, sizeof (head) + size, -1);
  receive (0, states[__i__].status);
  if (states[__i__].status == VKGDR_FRAMES_REFUSED)
    assert_error ("no room");
  close_session ();
}

/* A memory needs the UUID of its device. */
TEST (memory_of_no_device)
{
  const vkgdr_wire_memory memory = { { VKGDR_WIRE_MEMORY, sizeof (memory) }, 1,
    { .size = 1 } };

  open_session ();
  vkgdr_socket_send (accepted, &memory, sizeof (memory), STDERR_FILENO);
  receive (0, VKGDR_FRAMES_ERROR);
  assert_error ("memory");
  close_session ();
}
