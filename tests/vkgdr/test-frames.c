/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-frames.c: tests of vkgdr/frames.h: servers, clients, and what either
 * does when the other one sends rubbish or dies
 */

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame-server.h"
#include "frames-raw.h"

#define WIDTH 66
#define HEIGHT 50

/* The two fuzzers use this number of cases, and this seed, unless VKGDR_FUZZ
 * and VKGDR_FUZZ_SEED are set. */
static int
get_number (const char *variable, int number)
{
  const char *value = getenv (variable);

  return value ? atoi (value) : number;
}

static vkgdr_frame_server_t
open_server (const char *format)
{
  const vkgdr_frame_server_params params = {
    .path = path,
    .format = format,
    .width = WIDTH,
    .height = HEIGHT,
  };
  vkgdr_frame_server_t server;

  vkgdr_driver_load ();
  server = vkgdr_frame_server_open (&params);
  assert_no_error ();
  ck_assert_ptr_nonnull (server);
  return server;
}

static vkgdr_frames_t
connect_client (void)
{
  const vkgdr_frames_params params = { .path = path, .timeout = 5 * SECOND };
  vkgdr_frames_t frames = vkgdr_frames_connect (&params);

  assert_no_error ();
  ck_assert_ptr_nonnull (frames);
  return frames;
}

/* Fills all planes with the number. */
static void
fill (vkgdr_frame_server_t server, vkgdr_frame_buffer *buffer, uint32_t number)
{
  const vkgdr_frame_format *format = vkgdr_frame_server_get_format (server);
  uint32_t p;

  for (p = 0; p < format->n_planes; p++)
    memset (buffer->planes[p].host, (int) (number + p) & 255,
        (size_t) buffer->planes[p].stride * format->planes[p].height);
}

static void
send_frame (vkgdr_frame_server_t server, uint32_t number)
{
  vkgdr_frame_buffer *buffer = vkgdr_frame_server_acquire (server, 10 * SECOND);

  ck_assert_ptr_nonnull (buffer);
  fill (server, buffer, number);
  ck_assert (vkgdr_frame_server_send (server, buffer, (int64_t) number));
}

static bool
is_whole (vkgdr_frame_t frame)
{
  const vkgdr_frame_info *info = vkgdr_frame_get_info (frame);
  uint32_t p, y, x;

  ck_assert (vkgdr_frame_invalidate (frame));
  for (p = 0; p < info->n_planes; p++)
    for (y = 0; y < info->format->planes[p].height; y++)
      for (x = 0; x < info->format->planes[p].width; x++)
        if (((const uint8_t *) info->planes[p]
                    .host)[y * info->planes[p].stride + x]
            != (uint8_t) (info->time + p))
          return false;
  return true;
}

/* Expects this status, which is not VKGDR_FRAMES_FRAME. */
static void
assert_status (
    vkgdr_frames_t frames, int64_t timeout, vkgdr_frames_status status)
{
  vkgdr_frame_t frame;

  ck_assert_int_eq (vkgdr_frames_receive (frames, timeout, &frame), status);
}

static vkgdr_frame_t
receive (vkgdr_frames_t frames)
{
  vkgdr_frame_t frame;

  ck_assert_int_eq (
      vkgdr_frames_receive (frames, 10 * SECOND, &frame), VKGDR_FRAMES_FRAME);
  return frame;
}

/* Receives and releases a whole frame with this time. */
static void
receive_time (vkgdr_frames_t frames, int64_t time)
{
  vkgdr_frame_t frame = receive (frames);

  ck_assert_int_eq (vkgdr_frame_get_info (frame)->time, time);
  ck_assert (is_whole (frame));
  vkgdr_frame_release (frame);
}

static void
wait_for_clients (vkgdr_frame_server_t server, uint32_t n)
{
  int i;

  for (i = 0; i < 1000 && vkgdr_frame_server_count_clients (server) != n; i++)
    usleep (10000);
  ck_assert_int_eq (vkgdr_frame_server_count_clients (server), n);
}

TEST_REQUIRE (test_require_device);

/* --- frames -------------------------------------------------------------- */

TEST_FIXTURE (set_up, tear_down);

TEST (one_frame)
{
  vkgdr_frame_server_t server = open_server ("NV12");
  vkgdr_frames_t frames = connect_client ();
  const vkgdr_frame_info *info;
  vkgdr_frame_t frame;

  wait_for_clients (server, 1);
  assert_status (frames, 0, VKGDR_FRAMES_TIMEOUT);
  send_frame (server, 7);
  frame = receive (frames);
  info = vkgdr_frame_get_info (frame);
  ck_assert_str_eq (info->format->name, "NV12");
  ck_assert_int_eq (info->format->width, WIDTH);
  ck_assert_int_eq (info->format->planes[1].width, WIDTH / 2);
  ck_assert_int_eq (info->format->planes[1].channels, 2);
  ck_assert_int_eq (info->n_planes, 2);
  ck_assert_int_eq (info->number, 1);
  ck_assert_int_eq (info->time, 7);
  ck_assert (info->planes[0].device != 0);
  ck_assert (is_whole (frame));
  vkgdr_frame_release (frame);
  vkgdr_frame_server_end (server);
  assert_status (frames, 10 * SECOND, VKGDR_FRAMES_EOS);
  vkgdr_frame_server_close (server);
  assert_status (frames, 10 * SECOND, VKGDR_FRAMES_BYE);
  vkgdr_frames_close (frames);
}

/* A client that comes after EOS gets it. */
TEST (late_client)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  vkgdr_frames_t frames;

  send_frame (server, 1);
  vkgdr_frame_server_end (server);
  frames = connect_client ();
  assert_status (frames, 10 * SECOND, VKGDR_FRAMES_EOS);
  /* The next stream. */
  send_frame (server, 2);
  receive_time (frames, 2);
  vkgdr_frames_close (frames);
  vkgdr_frame_server_close (server);
}

/* A slow client loses frames, and knows how many. A frame stays valid after its
 * connection and its server were closed. */
TEST (lost_frames)
{
  vkgdr_frame_server_t server = open_server ("RGBA");
  vkgdr_frames_t frames = connect_client ();
  vkgdr_frame_t kept[4], frame;
  int i;

  wait_for_clients (server, 1);
  for (i = 0; i < 10; i++)
    send_frame (server, i);
  for (i = 0; i < 4; i++)
    kept[i] = receive (frames);
  assert_status (frames, SECOND / 20, VKGDR_FRAMES_TIMEOUT);
  vkgdr_frame_release (kept[3]);
  frame = receive (frames);
  ck_assert_int_eq (vkgdr_frame_get_info (frame)->time, 9);
  ck_assert_int_eq (vkgdr_frame_get_info (frame)->lost, 5);
  ck_assert (vkgdr_frame_get_info (frame)->flags & VKGDR_FRAME_DISCONT);
  ck_assert_int_eq (vkgdr_frames_get_lost (frames), 5);
  vkgdr_frame_release (frame);
  vkgdr_frames_close (frames);
  vkgdr_frame_server_close (server);
  for (i = 0; i < 3; i++) {
    ck_assert (is_whole (kept[i]));
    vkgdr_frame_release (kept[i]);
  }
}

typedef struct {
  const vkgdr_cuda *cu;
  atomic_int is_done;
} work;

static void
slow_work (void *data)
{
  work *self = data;

  usleep (200000);
  atomic_store (&self->is_done, 1);
}

/* Neither side waits for the device; the other side gets a frame or a buffer
 * only after the work. */
TEST (streams)
{
  const vkgdr_cuda *cu = test_enter_context ();
  vkgdr_frame_server_t server = open_server ("GRAY8");
  vkgdr_frames_t frames = connect_client ();
  work written = { cu, 0 }, read = { cu, 0 };
  vkgdr_frame_buffer *buffers[8];
  vkgdr_frame_t frame;
  CUstream stream;
  int i;

  wait_for_clients (server, 1);
  ck_assert_int_eq (
      cu->cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (i = 0; i < 8; i++)
    buffers[i] = vkgdr_frame_server_acquire (server, 0);
  ck_assert_ptr_null (vkgdr_frame_server_acquire (server, 0));
  cu->cuLaunchHostFunc (stream, slow_work, &written);
  ck_assert (vkgdr_frame_server_send_on_stream (server, buffers[0], 5, stream));
  ck_assert_int_eq (atomic_load (&written.is_done), 0);
  frame = receive (frames);
  ck_assert_int_eq (vkgdr_frame_get_info (frame)->time, 5);
  ck_assert_int_eq (atomic_load (&written.is_done), 1);
  vkgdr_frame_release (frame);

  ck_assert (vkgdr_frame_server_send (server, buffers[1], 6));
  cu->cuLaunchHostFunc (stream, slow_work, &read);
  ck_assert (vkgdr_frame_release_on_stream (receive (frames), stream));
  ck_assert_int_eq (atomic_load (&read.is_done), 0);
  while ((buffers[1] = vkgdr_frame_server_acquire (server, 10 * SECOND))
         == buffers[0])
    ; /* the first frame may come back earlier */
  ck_assert_int_eq (atomic_load (&read.is_done), 1);
  for (i = 0; i < 8; i++)
    vkgdr_frame_server_cancel (server, buffers[i]);
  vkgdr_frames_close (frames);
  cu->cuStreamDestroy (stream);
  vkgdr_frame_server_close (server);
}

static void *
count_frames (void *data)
{
  vkgdr_frames_t frames = data;
  int64_t last = -1, n = 0;
  vkgdr_frame_t frame;

  while (vkgdr_frames_receive (frames, -1, &frame) == VKGDR_FRAMES_FRAME) {
    ck_assert (vkgdr_frame_get_info (frame)->time > last);
    last = vkgdr_frame_get_info (frame)->time;
    ck_assert (is_whole (frame));
    vkgdr_frame_release (frame);
    n++;
  }
  ck_assert_int_eq (last, 9999);
  return (void *) (intptr_t) n;
}

TEST (ten_thousand_frames)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  vkgdr_frames_t frames[2] = { connect_client (), connect_client () };
  pthread_t threads[2];
  void *n;
  int i;

  wait_for_clients (server, 2);
  for (i = 0; i < 2; i++)
    pthread_create (&threads[i], NULL, count_frames, frames[i]);
  for (i = 0; i < 10000; i++)
    send_frame (server, i);
  vkgdr_frame_server_end (server);
  for (i = 0; i < 2; i++) {
    pthread_join (threads[i], &n);
    ck_assert_int_eq ((intptr_t) n + vkgdr_frames_get_lost (frames[i]), 10000);
    vkgdr_frames_close (frames[i]);
  }
  vkgdr_frame_server_close (server);
}

/* Frames that the client has not read when it closes go back at once. */
TEST (close_returns_frames)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  vkgdr_frames_t frames = connect_client ();
  vkgdr_frame_buffer *buffers[8];
  vkgdr_frame_t frame;
  int i;

  wait_for_clients (server, 1);
  for (i = 0; i < 4; i++)
    send_frame (server, i);
  frame = receive (frames);
  vkgdr_frames_close (frames);
  for (i = 0; i < 7; i++) {
    buffers[i] = vkgdr_frame_server_acquire (server, 10 * SECOND);
    ck_assert_ptr_nonnull (buffers[i]);
  }
  ck_assert_ptr_null (vkgdr_frame_server_acquire (server, SECOND / 20));
  vkgdr_frame_release (frame);
  buffers[7] = vkgdr_frame_server_acquire (server, 10 * SECOND);
  ck_assert_ptr_nonnull (buffers[7]);
  for (i = 0; i < 8; i++)
    vkgdr_frame_server_cancel (server, buffers[i]);
  vkgdr_frame_server_close (server);
}

/* What is at the path, the format, and words of the error. */
static const struct {
  enum { NOTHING, SERVER, NO_SOCKET } present;
  const char *format, *error;
} refusals[] = {
  { NOTHING, "NV13", "NV13" },
  { SERVER, "GRAY8", "another process listens" },
  { NO_SOCKET, "GRAY8", "not a socket" },
};

TEST_LOOP (wrong_parameters, N_ELEMENTS (refusals))
{
  vkgdr_frames_params client = { .path = path };
  const vkgdr_frame_server_params params = {
    .path = path, .format = refusals[__i__].format, .width = 8, .height = 8
  };
  vkgdr_frame_server_t server = NULL;

  ck_assert_ptr_null (vkgdr_frames_connect (&client));
  ck_assert_int_eq (errno, ENOENT);
  assert_error ("no process serves", path);
  client.path = NULL;
  ck_assert_ptr_null (vkgdr_frames_connect (&client));
  ck_assert_int_eq (errno, EINVAL);
  if (refusals[__i__].present == SERVER)
    server = open_server ("GRAY8");
  else if (refusals[__i__].present == NO_SOCKET)
    close (open (path, O_CREAT | O_WRONLY, 0600));
  ck_assert_ptr_null (vkgdr_frame_server_open (&params));
  assert_error (refusals[__i__].error);
  vkgdr_frame_server_close (server);
}

/* --- hostile clients ----------------------------------------------------- */

TEST (versions)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  int fd = connect_raw ();

  say_hello (fd, 1, 4);
  expect (fd, VKGDR_WIRE_BYE);
  expect (fd, 0);
  close (fd);
  fd = connect_raw ();
  say_hello (fd, 4, 6);
  expect (fd, VKGDR_WIRE_WELCOME);
  close (fd);
  vkgdr_frame_server_close (server);
}

/* Another client, which is correct, gets all frames. */
TEST (hostile_client)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  vkgdr_frames_t witness = connect_client ();
  uint64_t data[16];
  unsigned seed = get_number ("VKGDR_FUZZ_SEED", 1);
  int cases = get_number ("VKGDR_FUZZ", 2000), fds, i, j;

  wait_for_clients (server, 1);
  send_frame (server, 1000);
  vkgdr_frame_release (receive (witness));
  fds = test_count_fds ();
  for (i = 0; i < cases; i++) {
    int fd = connect_raw ();

    if (i % 4)
      say_hello (fd, 5, 5);
    if (i % 50 == 0) {
      send_frame (server, i);
      receive_time (witness, i);
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
  wait_for_clients (server, 1);
  for (i = 0; i < 100 && test_count_fds () > fds; i++)
    usleep (10000);
  ck_assert_int_le (test_count_fds (), fds);
  vkgdr_frames_close (witness);
  vkgdr_frame_server_close (server);
}

/* A frame that a client does not have is not released; the client is
 * disconnected. */
TEST (wrong_release)
{
  vkgdr_frame_server_t server = open_server ("GRAY8");
  int fd = connect_raw (), i;

  say_hello (fd, 5, 5);
  expect (fd, VKGDR_WIRE_WELCOME);
  wait_for_clients (server, 1);
  for (i = 0; i < 6; i++)
    send_frame (server, i);
  expect (fd, VKGDR_WIRE_FORMAT);
  expect (fd, VKGDR_WIRE_MEMORY);
  for (i = 0; i < 4; i++)
    expect (fd, VKGDR_WIRE_FRAME);
  send_number (fd, VKGDR_WIRE_RELEASE, 1);
  expect (fd, VKGDR_WIRE_FRAME);
  send_number (fd, VKGDR_WIRE_RELEASE, 1);
  expect (fd, 0);
  close (fd);
  vkgdr_frame_server_close (server);
}

/* --- hostile servers ----------------------------------------------------- */

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

typedef struct {
  int listener, fd;
  vkgdr_frames_t frames;
} session;

static void
open_session (session *self)
{
  const vkgdr_frames_params params = {
    .path = path, .import = fake_import, .forget = fake_forget
  };
  const vkgdr_wire_welcome welcome = { { VKGDR_WIRE_WELCOME, sizeof (welcome) },
    VKGDR_WIRE_MAGIC_BYTES, VKGDR_WIRE_VERSION, 0 };

  self->listener = vkgdr_socket_listen (path, VKGDR_FRAME_PEERS_USER);
  ck_assert_int_ge (self->listener, 0);
  self->frames = vkgdr_frames_connect (&params);
  ck_assert_ptr_nonnull (self->frames);
  self->fd = accept (self->listener, NULL, NULL);
  expect (self->fd, VKGDR_WIRE_HELLO);
  vkgdr_socket_send (self->fd, &welcome, sizeof (welcome), -1);
}

static void
close_session (session *self)
{
  vkgdr_frames_close (self->frames);
  close (self->fd);
  close (self->listener);
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
play (session *self, const stream *messages)
{
  vkgdr_frames_status status;
  vkgdr_frame_t frame;
  int i;

  for (i = 0; i < MAX_MESSAGES; i++)
    vkgdr_socket_send (
        self->fd, messages->data[i], messages->sizes[i], messages->fds[i]);
  while ((status = vkgdr_frames_receive (self->frames, 0, &frame))
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
  session one;

  make_stream (&valid, fd);
  fds = test_count_fds ();
  open_session (&one);
  ck_assert_int_eq (play (&one, &valid), VKGDR_FRAMES_EOS);
  close_session (&one);
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
    open_session (&one);
    play (&one, &bad);
    close_session (&one);
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
  session one;
  int i;

  open_session (&one);
  for (i = 0; i < 1025; i++) {
    memory.id = (uint64_t) i;
    vkgdr_socket_send (one.fd, &memory, sizeof (memory), STDERR_FILENO);
    status = vkgdr_frames_receive (one.frames, 0, &frame);
    ck_assert_int_eq (
        status, i < 1024 ? VKGDR_FRAMES_TIMEOUT : VKGDR_FRAMES_ERROR);
  }
  assert_error ("memory");
  close_session (&one);
}

static vkgdr_frames_status
send_large (session *one, int fd, uint64_t size)
{
  const vkgdr_wire_content head = { { VKGDR_WIRE_STREAM_TAGS, sizeof (head) },
    size };
  vkgdr_frame_t frame;

  vkgdr_socket_send (one->fd, &head, sizeof (head), fd);
  return vkgdr_frames_receive (one->frames, 0, &frame);
}

/* Large contents travel as a memfd. A file that is shorter than its message
 * says, or that is not a memfd, is refused. */
TEST (large_contents)
{
  static char large[1024 * 1024];
  int memfd, pipes[2];
  uint64_t serial;
  size_t size;
  session one;

  memset (large, 'x', sizeof (large));
  memfd = vkgdr_socket_new_memfd (large, sizeof (large));
  ck_assert_int_eq (pipe (pipes), 0);
  open_session (&one);
  ck_assert_int_eq (
      send_large (&one, memfd, sizeof (large)), VKGDR_FRAMES_TIMEOUT);
  ck_assert_mem_eq (vkgdr_frames_get_state (
                        one.frames, VKGDR_FRAMES_STREAM_TAGS, &size, &serial),
      large, sizeof (large));
  ck_assert_int_eq (size, sizeof (large));
  ck_assert_int_eq (
      send_large (&one, memfd, sizeof (large) + 1), VKGDR_FRAMES_ERROR);
  close_session (&one);
  open_session (&one);
  ck_assert_int_eq (send_large (&one, pipes[0], 10), VKGDR_FRAMES_ERROR);
  close_session (&one);
  open_session (&one);
  ck_assert_int_eq (
      send_large (&one, memfd, UINT64_C (1) << 25), VKGDR_FRAMES_ERROR);
  close_session (&one);
  close (memfd);
}
