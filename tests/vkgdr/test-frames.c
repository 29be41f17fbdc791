/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-frames.c: tests of vkgdr/frames.h and of its protocol: what a server
 * does when clients do not read, have no file descriptors or send rubbish, and
 * a client when its server does
 *
 * tests/gst/ipc-*.c test what vkgdripcsink and vkgdripcsrc make of it.
 */

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
#include <sys/un.h>
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

/* The two fuzzers use this number of cases, and this seed, unless VKGDR_FUZZ
 * and VKGDR_FUZZ_SEED are set. */
static int
get_number (const char *variable, int number)
{
  const char *value = getenv (variable);

  return value ? atoi (value) : number;
}

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

/* --- messages ------------------------------------------------------------ */

/* Returns the type of the next message, or 0 if the connection was closed. Sets
 * @number to that of a frame or of a memory. */
static uint32_t
next_type (int fd, uint64_t *number)
{
  static uint64_t data[VKGDR_WIRE_MAX_PACKET / 8];
  vkgdr_wire_header *header = (vkgdr_wire_header *) data;
  size_t size = sizeof (data);
  vkgdr_socket_result result;
  int attached;

  while ((result = vkgdr_socket_receive (fd, data, &size, &attached))
         == VKGDR_SOCKET_AGAIN) {
    vkgdr_socket_wait (fd, SECOND);
    size = sizeof (data);
  }
  if (result != VKGDR_SOCKET_OK)
    return 0;
  if (attached >= 0)
    close (attached);
  *number = data[1];
  return header->type;
}

static void
expect (int fd, uint32_t type)
{
  uint64_t number;

  ck_assert_int_eq (next_type (fd, &number), type);
}

static void
send_number (int fd, uint32_t type, uint64_t number)
{
  const vkgdr_wire_number message = { { type, sizeof (message) }, number };

  vkgdr_socket_send (fd, &message, sizeof (message), -1);
}

/* Says that the client knows these versions. */
static void
greet (int fd, uint32_t min, uint32_t max)
{
  const vkgdr_wire_hello hello = { { VKGDR_WIRE_HELLO, sizeof (hello) },
    VKGDR_WIRE_MAGIC_BYTES, min, max };

  vkgdr_socket_send (fd, &hello, sizeof (hello), -1);
}

static int
come_with (uint32_t min, uint32_t max)
{
  int fd;

  /* Other clients may still wait to be accepted. */
  while ((fd = vkgdr_socket_connect (path)) < 0)
    usleep (1000);
  if (max > 0)
    greet (fd, min, max);
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

static void
wait_for_clients (uint32_t n)
{
  int i;

  for (i = 0; i < 5000 && count_clients () != n; i++)
    usleep (1000);
  ck_assert_int_eq (count_clients (), n);
}

static int
come (void)
{
  uint32_t n = count_clients ();
  int fd = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);

  expect (fd, VKGDR_WIRE_WELCOME);
  wait_for_clients (n + 1);
  return fd;
}

/* Reads until a frame, EOS, BYE or FORGET, and returns its type. */
static uint32_t
read_on (int fd, uint64_t *number)
{
  uint32_t type;

  while ((type = next_type (fd, number)) == VKGDR_WIRE_MEMORY)
    ;
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

/* Reads and releases frames in their order, until EOS. Returns how many there
 * were. */
static int
read_until_eos (int fd)
{
  uint64_t number, last = 0;
  int n = 0;

  while (read_on (fd, &number) != VKGDR_WIRE_EOS) {
    ck_assert_uint_gt (number, last);
    send_number (fd, VKGDR_WIRE_RELEASE, number);
    last = number;
    n++;
  }
  return n;
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

TEST_REQUIRE (test_require_device);

/* --- frames -------------------------------------------------------------- */

TEST_FIXTURE (set_up, tear_down);

static vkgdr_frames_t frames;

/* Expects this status. Returns the frame, if there is one. */
static vkgdr_frame_t
receive (int64_t timeout, vkgdr_frames_status status)
{
  vkgdr_frame_t frame = NULL;

  ck_assert_int_eq (vkgdr_frames_receive (frames, timeout, &frame), status);
  return frame;
}

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

/* Connects a client of libvkgdr, which imports no memory. */
static void
connect_frames (void)
{
  const vkgdr_frames_params params = {
    .path = path, .import = fake_import, .forget = fake_forget
  };

  frames = vkgdr_frames_connect (&params);
  ck_assert_ptr_nonnull (frames);
}

static void
slow_work (void *is_done)
{
  usleep (200000);
  atomic_store ((atomic_int *) is_done, 1);
}

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
wait_for_client (vkgdr_frame_server_t source)
{
  int i;

  for (i = 0; i < 5000 && vkgdr_frame_server_count_clients (source) < 1; i++)
    usleep (1000);
}

/* Sends a frame, and waits to be killed. */
static void
serve_one_frame (void)
{
  vkgdr_frame_server_t source;
  vkgdr_frame_buffer *buffer;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  test_enter_context ();
  source = open_source ();
  buffer = vkgdr_frame_server_acquire (source, 0);
  memset (buffer->planes[0].host, 7, HEIGHT * buffer->planes[0].stride);
  wait_for_client (source);
  vkgdr_frame_server_send (source, buffer, 5);
  pause ();
}

/* A client notices that the server was killed, and its frames stay valid. The
 * next server replaces the socket. */
TEST (killed_server)
{
  const vkgdr_frames_params params = { .path = path, .timeout = 20 * SECOND };
  const vkgdr_frame_plane *plane;
  pid_t child = fork ();
  vkgdr_frame_t frame;

  if (child == 0)
    serve_one_frame ();
  test_enter_context ();
  frames = vkgdr_frames_connect (&params);
  assert_no_error ();
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
  serve (VKGDR_SERVER_LEAKY_NO, 4);
  close (come ());
  stop ();
}

/* Neither side waits for the device; the other side gets a frame or a buffer
 * only after the work. */
TEST (streams)
{
  const vkgdr_frames_params client = { .path = path };
  const vkgdr_cuda *cu = test_enter_context ();
  atomic_int is_written = 0, is_read = 0;
  vkgdr_frame_server_t source;
  vkgdr_frame_buffer *buffers[8];
  CUstream stream;
  int i;

  source = open_source ();
  frames = vkgdr_frames_connect (&client);
  assert_no_error ();
  wait_for_client (source);
  ck_assert_int_eq (
      cu->cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (i = 0; i < 8; i++)
    buffers[i] = vkgdr_frame_server_acquire (source, 0);
  ck_assert_ptr_null (vkgdr_frame_server_acquire (source, 0));
  cu->cuLaunchHostFunc (stream, slow_work, &is_written);
  ck_assert (vkgdr_frame_server_send_on_stream (source, buffers[0], 5, stream));
  ck_assert_int_eq (atomic_load (&is_written), 0);
  vkgdr_frame_release (receive (10 * SECOND, VKGDR_FRAMES_FRAME));
  ck_assert_int_eq (atomic_load (&is_written), 1);

  ck_assert (vkgdr_frame_server_send (source, buffers[1], 6));
  cu->cuLaunchHostFunc (stream, slow_work, &is_read);
  ck_assert (vkgdr_frame_release_on_stream (
      receive (10 * SECOND, VKGDR_FRAMES_FRAME), stream));
  ck_assert_int_eq (atomic_load (&is_read), 0);
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
 * and EOS in their order. Another client gets all. */
TEST (full_socket)
{
  vkgdr_server_figures figures;
  int reader, deaf, kept = 0, i, k;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 1000);
  deaf = come ();
  reader = come ();
  for (k = 0; k < 20; k++) {
    for (i = 1; i <= 10; i++) {
      send_in (memory, LARGE);
      read_and_release (reader, (uint64_t) (10 * k + i));
    }
    vkgdr_server_end (server);
    expect (reader, VKGDR_WIRE_EOS);
    if (k == 1) {
      wait_for_release (10);
      kept = atomic_load (&n_sent) - atomic_load (&n_released);
    }
  }
  wait_for_release (kept);
  vkgdr_server_get_figures (server, &figures);
  ck_assert_uint_gt (figures.lost, 180);
  /* The frames that were sent, EOS, perhaps a frame of a later stream. */
  ck_assert_uint_gt (read_until_eos (deaf), 0);
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

/* --- a lack of file descriptors ------------------------------------------ */

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
  greet (late, VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
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

/* The error of a client that cannot get the memory tells the user why. */
TEST (no_descriptors_in_the_client)
{
  int fds[128], n;

  serve (VKGDR_SERVER_LEAKY_NO, 4);
  connect_frames ();
  wait_for_clients (1);
  n = use_all_descriptors (fds, 128);
  send_in (memory, 0);
  receive (10 * SECOND, VKGDR_FRAMES_ERROR);
  assert_error ("ulimit -n");
  while (n > 0)
    close (fds[--n]);
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

  serve (VKGDR_SERVER_LEAKY_NO, 16);
  connect_frames ();
  wait_for_clients (1);
  for (i = 0; i < 7; i++) {
    vkgdr_export *export = new_export ();

    send_in (export, 0);
    vkgdr_export_unref (export);
  }
  frame = receive (10 * SECOND, VKGDR_FRAMES_FRAME);
  vkgdr_frames_close (frames);
  wait_for_release (1);
  ck_assert_int_eq (atomic_load (&n_released), 6);
  vkgdr_frame_release (frame);
  ck_assert_int_eq (n_imports, 0);
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
come_in_thread (void *fd)
{
  *(int *) fd = come_with (VKGDR_WIRE_VERSION, VKGDR_WIRE_VERSION);
  return NULL;
}

/* A client that comes while the stream ends gets EOS. */
TEST (races_with_the_end)
{
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
    read_until_eos (fd);
    close (fd);
  }
  stop ();
}

/* --- hostile clients ----------------------------------------------------- */

TEST (versions)
{
  int fd;

  serve (VKGDR_SERVER_LEAKY_NO, 4);
  fd = come_with (1, 4);
  expect (fd, VKGDR_WIRE_BYE);
  expect (fd, 0);
  close (fd);
  fd = come_with (4, 6);
  expect (fd, VKGDR_WIRE_WELCOME);
  close (fd);
  stop ();
}

/* Another client, which is correct, gets all frames. */
TEST (hostile_client)
{
  unsigned seed = get_number ("VKGDR_FUZZ_SEED", 1);
  int cases = get_number ("VKGDR_FUZZ", 2000), witness, fds, i, j;
  uint64_t data[16];

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 4);
  witness = come ();
  fds = test_count_fds ();
  for (i = 0; i < cases; i++) {
    int fd = come_with (VKGDR_WIRE_VERSION, i % 4 ? VKGDR_WIRE_VERSION : 0);

    if (i % 50 == 0) {
      send_in (memory, 0);
      read_and_release (witness, (uint64_t) i / 50 + 1);
    }
    for (j = 0; j < (int) (sizeof (data) / 8); j++)
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
  wait_for_clients (1);
  for (i = 0; i < 100 && test_count_fds () > fds; i++)
    usleep (10000);
  ck_assert_int_le (test_count_fds (), fds);
  close (witness);
  stop ();
}

/* A frame that a client does not have is not released; the client is
 * disconnected. */
TEST (wrong_release)
{
  int fd, i;

  serve (VKGDR_SERVER_LEAKY_DOWNSTREAM, 4);
  fd = come ();
  for (i = 0; i < 6; i++)
    send_in (memory, 0);
  expect (fd, VKGDR_WIRE_MEMORY);
  for (i = 0; i < 4; i++)
    expect (fd, VKGDR_WIRE_FRAME);
  send_number (fd, VKGDR_WIRE_RELEASE, 1);
  expect (fd, VKGDR_WIRE_FRAME);
  send_number (fd, VKGDR_WIRE_RELEASE, 1);
  expect (fd, 0);
  close (fd);
  stop ();
}

/* --- hostile servers ----------------------------------------------------- */

/* The server's sockets. */
static int listener, accepted;

static void
open_session (void)
{
  const vkgdr_wire_welcome welcome = { { VKGDR_WIRE_WELCOME, sizeof (welcome) },
    VKGDR_WIRE_MAGIC_BYTES, VKGDR_WIRE_VERSION, 0 };

  listener = vkgdr_socket_listen (path, VKGDR_FRAME_PEERS_USER);
  ck_assert_int_ge (listener, 0);
  connect_frames ();
  accepted = accept (listener, NULL, NULL);
  expect (accepted, VKGDR_WIRE_HELLO);
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

#define MAX_MESSAGES 6

/* The valid messages of a stream of one frame, in a row. */
typedef struct {
  uint8_t data[MAX_MESSAGES][512];
  size_t sizes[MAX_MESSAGES];
  int fds[MAX_MESSAGES];
} stream;

static void
add (stream *self, int i, const void *data, size_t size, int fd)
{
  memcpy (self->data[i], data, size);
  self->sizes[i] = size;
  self->fds[i] = fd;
}

static void
make_stream (stream *self, int fd)
{
  vkgdr_wire_format format = { .header = {
                                   VKGDR_WIRE_FORMAT, sizeof (format) } };
  const vkgdr_wire_memory memory = { { VKGDR_WIRE_MEMORY, sizeof (memory) }, 1,
    { .size = 65536 } };
  struct {
    vkgdr_wire_frame head;
    vkgdr_wire_range range;
    vkgdr_wire_plane planes[2];
  } frame = { .head = { .header = { VKGDR_WIRE_FRAME, sizeof (frame) },
                  .number = 1,
                  .n_ranges = 1,
                  .n_planes = 2 },
    .range = { 1, 4096, 32768 },
    .planes = { { 0, 256, 0 }, { 256 * HEIGHT, 256, 0 } } };
  struct {
    vkgdr_wire_content head;
    char text[16];
  } caps = { .head = { { VKGDR_WIRE_CAPS, sizeof (caps) }, 16 },
    .text = "video/x-raw    " };
  const vkgdr_wire_number forget = { { VKGDR_WIRE_FORGET, sizeof (forget) },
    1 };
  const vkgdr_wire_header eos = { VKGDR_WIRE_EOS, sizeof (eos) };

  vkgdr_frame_format_init (&format.format, "NV12", WIDTH, HEIGHT);
  add (self, 0, &format, sizeof (format), -1);
  add (self, 1, &memory, sizeof (memory), fd);
  add (self, 2, &caps, sizeof (caps), -1);
  add (self, 3, &frame, sizeof (frame), -1);
  add (self, 4, &forget, sizeof (forget), -1);
  add (self, 5, &eos, sizeof (eos), -1);
}

/* Plays a stream, and returns the status that ends it. */
static vkgdr_frames_status
play (const stream *messages)
{
  vkgdr_frames_status status;
  vkgdr_frame_t frame;
  int i;

  for (i = 0; i < MAX_MESSAGES; i++)
    vkgdr_socket_send (
        accepted, messages->data[i], messages->sizes[i], messages->fds[i]);
  while ((status = vkgdr_frames_receive (frames, 0, &frame))
         == VKGDR_FRAMES_FRAME) {
    const vkgdr_frame_info *info = vkgdr_frame_get_info (frame);
    uint32_t i;

    for (i = 0; i < info->n_memories; i++)
      ck_assert (info->memories[i].offset + info->memories[i].size
                 <= *(uint64_t *) info->memories[i].object);
    vkgdr_frame_release (frame);
  }
  return status;
}

TEST (hostile_server)
{
  int fd = memfd_create ("memory", MFD_CLOEXEC), i, j, fds;
  int cases = get_number ("VKGDR_FUZZ", 3000);
  unsigned seed = get_number ("VKGDR_FUZZ_SEED", 1);
  stream valid, bad;

  make_stream (&valid, fd);
  fds = test_count_fds ();
  open_session ();
  ck_assert_int_eq (play (&valid), VKGDR_FRAMES_EOS);
  close_session ();
  for (i = 0; i < cases; i++) {
    bad = valid;
    for (j = rand_r (&seed) % 4; j >= 0; j--) {
      int k = rand_r (&seed) % MAX_MESSAGES;
      size_t place = rand_r (&seed) % bad.sizes[k];

      switch (rand_r (&seed) % 8) {
      case 0:
        bad.sizes[k] = place + 1;
        break;
      case 1:
        bad.fds[k] = bad.fds[k] >= 0 ? -1 : STDERR_FILENO;
        break;
      case 2:
        add (&bad, k, valid.data[(k + 1) % MAX_MESSAGES],
            valid.sizes[(k + 1) % MAX_MESSAGES], -1);
        break;
      case 3:
        memset (bad.data[k] + place / 8 * 8, rand_r (&seed) % 2 ? 255 : 127, 8);
        break;
      default:
        bad.data[k][place] = (uint8_t) rand_r (&seed);
      }
    }
    open_session ();
    play (&bad);
    close_session ();
  }
  ck_assert_int_eq (test_count_fds (), fds);
  close (fd);
}

/* A server sends only so many memories, and none twice. */
TEST (too_many_memories)
{
  vkgdr_wire_memory memory = { { VKGDR_WIRE_MEMORY, sizeof (memory) }, 0,
    { .size = 1 } };
  vkgdr_frames_status status;
  vkgdr_frame_t frame;
  int i;

  open_session ();
  for (i = 0; i < 1025; i++) {
    memory.id = (uint64_t) i;
    vkgdr_socket_send (accepted, &memory, sizeof (memory), STDERR_FILENO);
    status = vkgdr_frames_receive (frames, 0, &frame);
    ck_assert_int_eq (
        status, i < 1024 ? VKGDR_FRAMES_TIMEOUT : VKGDR_FRAMES_ERROR);
  }
  assert_error ("memory");
  close_session ();
}

/* Large contents travel as a memfd. A file that is shorter than its message
 * says, or that is not a memfd, is refused, and so is a size above 16 MiB. */
TEST (large_contents)
{
  static char large[1024 * 1024];
  int memfd = vkgdr_socket_new_memfd (large, sizeof (large));
  const struct {
    int fd;
    uint64_t size;
    vkgdr_frames_status status;
  } contents[] = {
    { memfd, sizeof (large), VKGDR_FRAMES_TIMEOUT },
    { memfd, sizeof (large) + 1, VKGDR_FRAMES_ERROR },
    { memfd, UINT64_C (1) << 25, VKGDR_FRAMES_ERROR },
    { eventfd (0, 0), 10, VKGDR_FRAMES_ERROR },
  };
  size_t i;

  for (i = 0; i < N_ELEMENTS (contents); i++) {
    const vkgdr_wire_content head = { { VKGDR_WIRE_STREAM_TAGS, sizeof (head) },
      contents[i].size };

    open_session ();
    vkgdr_socket_send (accepted, &head, sizeof (head), contents[i].fd);
    receive (0, contents[i].status);
    close_session ();
  }
}
