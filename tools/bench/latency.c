/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * latency.c: how long a tensor takes from one process to another one
 *
 * Usage: vkgdr-bench-latency [BYTES [REPETITIONS [SAMPLES]]]
 *
 * The method is that of Holoscan 5.0's channel benchmarks between processes: a
 * tensor every 200 microseconds, one in flight, 1,000 that do not count and at
 * least 1,000 that do, one way; the median of the repetitions of p50 and of
 * p99. The ways:
 *
 *   floor       a futex wakes the other process, and nothing else
 *   query       cuEventQuery() of an event that is reached
 *   frames      vkgdr/frames.h: from the call that sends to the call that has
 *               received; the client sleeps
 *   frames-busy the same, and the client polls
 *   frames-gpu  the same as frames, from before a cuMemsetD8Async() of the
 *               tensor; so the device has to finish
 *   cuda-ipc    memory of cuIpcOpenMemHandle(), which is opened once; the same
 *               work as frames-gpu; the server waits for its stream, and a
 *               futex wakes the client. Some drivers need one PID namespace
 *               for both processes
 *   copy        the same work; then from the device to shared memory, a futex,
 *               and to the client's device
 *
 * Prints a table. Without a GPU, the figures mean nothing.
 */

#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vkgdr/frames.h>

#include "cuda-driver.h"
#include "driver.h"

#define PERIOD 200000 /* nanoseconds between two tensors */
#define WARM_UP 1000
#define MAX_SAMPLES 1000000

typedef struct {
  char reserved[64];
} ipc_handle;

/* What both processes see. */
typedef struct {
  atomic_uint sequence; /* of the last tensor, on which the futex waits */
  atomic_uint received; /* of the last tensor that the client is done with */
  atomic_uint is_ready; /* the server has made what the client needs */
  int64_t time;         /* when the tensor was sent */
  ipc_handle handle;
  uint8_t data[]; /* of the way "copy" */
} shared;

static size_t size;
static unsigned n_repetitions, n_samples;
static shared *both;
static char path[64];
static const vkgdr_cuda *cu;
static int64_t *samples;

static void
check (bool ok, const char *what)
{
  if (ok)
    return;
  fprintf (stderr, "%s failed\n", what);
  exit (EXIT_FAILURE);
}

static int64_t
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

static void
sleep_until (int64_t time)
{
  const struct timespec until = { time / 1000000000, time % 1000000000 };

  clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* --- the futex ----------------------------------------------------------- */

static void
wake (unsigned sequence)
{
  atomic_store (&both->sequence, sequence);
  syscall (SYS_futex, &both->sequence, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void
wait_for (unsigned sequence)
{
  unsigned seen;

  while ((seen = atomic_load (&both->sequence)) < sequence)
    syscall (SYS_futex, &both->sequence, FUTEX_WAIT, seen, NULL, NULL, 0);
}

/* --- CUDA ---------------------------------------------------------------- */

static void
enter_context (void)
{
  CUcontext context;

  cu = vkgdr_driver_load ();
  check (cu && cu->cuDevicePrimaryCtxRetain (&context, 0) == CUDA_SUCCESS
             && cu->cuCtxPushCurrent (context) == CUDA_SUCCESS,
      "opening the device");
}

/* The functions for CUDA IPC, which libvkgdr does not use. */
static void *
find_function (const char *name)
{
  char library[4096] = "libcuda.so.1";
  void *handle;

  if (vkgdr_driver_is_software ())
    snprintf (library, sizeof (library), "%s/libcuda.so.1",
        vkgdr_driver_softcuda_dir ());
  handle = dlopen (library, RTLD_NOW);
  return handle ? dlsym (handle, name) : NULL;
}

/* --- the servers --------------------------------------------------------- */

/* Sends one tensor. */
typedef void (*send_function) (unsigned sequence);

static vkgdr_frame_server_t server;
static CUdeviceptr memory;
static CUstream stream;

static void
send_floor (unsigned sequence)
{
  both->time = now ();
  wake (sequence);
}

static void
send_frame (unsigned sequence)
{
  vkgdr_frame_buffer *buffer = vkgdr_frame_server_acquire (server, -1);

  check (buffer && vkgdr_frame_server_send (server, buffer, now ()), "sending");
}

static void
send_frame_of_gpu (unsigned sequence)
{
  vkgdr_frame_buffer *buffer = vkgdr_frame_server_acquire (server, -1);
  int64_t time = now ();

  check (
      buffer
          && cu->cuMemsetD8Async (
                 buffer->planes[0].device, (uint8_t) sequence, size, stream)
                 == CUDA_SUCCESS
          && vkgdr_frame_server_send_on_stream (server, buffer, time, stream),
      "sending");
}

static void
send_by_cuda_ipc (unsigned sequence)
{
  both->time = now ();
  check (cu->cuMemsetD8Async (memory, (uint8_t) sequence, size, stream)
                 == CUDA_SUCCESS
             && cu->cuStreamSynchronize (stream) == CUDA_SUCCESS,
      "cuMemsetD8Async");
  wake (sequence);
}

static void
send_copy (unsigned sequence)
{
  both->time = now ();
  check (cu->cuMemsetD8Async (memory, (uint8_t) sequence, size, stream)
                 == CUDA_SUCCESS
             && cu->cuMemcpyDtoHAsync (both->data, memory, size, stream)
                    == CUDA_SUCCESS
             && cu->cuStreamSynchronize (stream) == CUDA_SUCCESS,
      "cuMemcpyDtoHAsync");
  wake (sequence);
}

static void
pace (send_function send)
{
  unsigned i, n = n_repetitions * (WARM_UP + n_samples);
  int64_t next = now ();

  for (i = 1; i <= n; i++) {
    next = next + PERIOD > now () ? next + PERIOD : now ();
    sleep_until (next);
    while (atomic_load (&both->received) + 1 < i)
      usleep (10); /* one in flight */
    send (i);
  }
}

static void
open_server (void)
{
  const vkgdr_frame_tensor tensor = { 1, 8, 1, { (int64_t) size }, { 1 } };
  const vkgdr_frame_server_params params = { .path = path,
    .tensor = &tensor,
    .memory_flags = VKGDR_MEMORY_DEVICE_BIT,
    .max_buffers = 2 };

  server = vkgdr_frame_server_open (&params);
  check (server != NULL, vkgdr_last_error ());
  while (vkgdr_frame_server_count_clients (server) == 0)
    usleep (1000);
}

static void
allocate (bool is_shared)
{
  CUresult (*get_handle) (ipc_handle *, CUdeviceptr) = (CUresult (*) (
      ipc_handle *, CUdeviceptr)) find_function ("cuIpcGetMemHandle");

  check (cu->cuMemAlloc (&memory, size) == CUDA_SUCCESS, "cuMemAlloc");
  if (is_shared)
    check (get_handle && get_handle (&both->handle, memory) == CUDA_SUCCESS,
        "cuIpcGetMemHandle");
  else
    cu->cuMemHostRegister (both->data, size, 0);
  atomic_store (&both->is_ready, 1);
  while (atomic_load (&both->is_ready) == 1)
    usleep (1000); /* until the client has opened it */
}

static void
serve (const char *way)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (strcmp (way, "floor") == 0) {
    pace (send_floor);
    return;
  }
  enter_context ();
  check (cu->cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS,
      "cuStreamCreate");
  if (strncmp (way, "frames", 6) == 0)
    open_server ();
  else
    allocate (strcmp (way, "cuda-ipc") == 0);
  pace (strcmp (way, "frames-gpu") == 0 ? send_frame_of_gpu
        : server                        ? send_frame
        : strcmp (way, "copy") == 0     ? send_copy
                                        : send_by_cuda_ipc);
  vkgdr_frame_server_close (server);
}

/* --- the clients --------------------------------------------------------- */

static unsigned n_received;

static void
take_sample (int64_t time)
{
  samples[n_received++] = now () - time;
  atomic_store (&both->received, n_received);
}

static void
receive_frames (bool is_busy)
{
  const vkgdr_frames_params params = { .path = path, .timeout = 20000000000 };
  vkgdr_frames_t frames = vkgdr_frames_connect (&params);
  vkgdr_frames_status status;
  vkgdr_frame_t frame;

  check (frames != NULL, "vkgdr_frames_connect()");
  while ((status = vkgdr_frames_receive (frames, is_busy ? 0 : -1, &frame))
         <= VKGDR_FRAMES_FRAME) {
    const vkgdr_frame_info *info;

    if (status == VKGDR_FRAMES_TIMEOUT)
      continue;
    check (status == VKGDR_FRAMES_FRAME, "vkgdr_frames_receive()");
    info = vkgdr_frame_get_info (frame);
    take_sample (info->time);
    vkgdr_frame_release (frame);
  }
  vkgdr_frames_close (frames);
}

static void
open_by_cuda_ipc (void)
{
  CUresult (*open) (CUdeviceptr *, ipc_handle, unsigned) =
      (CUresult (*) (CUdeviceptr *, ipc_handle, unsigned)) find_function (
          "cuIpcOpenMemHandle_v2");

  check (open && open (&memory, both->handle, 1) == CUDA_SUCCESS,
      "cuIpcOpenMemHandle");
}

static void
receive_by_futex (const char *way)
{
  unsigned i, n = n_repetitions * (WARM_UP + n_samples);
  bool is_copy = strcmp (way, "copy") == 0;

  if (strcmp (way, "floor") != 0) {
    enter_context ();
    while (atomic_load (&both->is_ready) != 1)
      usleep (1000);
    if (is_copy)
      check (cu->cuMemAlloc (&memory, size) == CUDA_SUCCESS, "cuMemAlloc");
    else
      open_by_cuda_ipc ();
    if (is_copy)
      cu->cuMemHostRegister (both->data, size, 0);
    atomic_store (&both->is_ready, 2);
  }
  for (i = 1; i <= n; i++) {
    wait_for (i);
    if (is_copy)
      check (cu->cuMemcpyHtoD (memory, both->data, size) == CUDA_SUCCESS,
          "cuMemcpyHtoD");
    take_sample (both->time);
  }
}

static void
query (void)
{
  unsigned n = n_repetitions * (WARM_UP + n_samples);
  CUevent event;

  enter_context ();
  check (cu->cuEventCreate (&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS
             && cu->cuEventRecord (event, NULL) == CUDA_SUCCESS
             && cu->cuEventSynchronize (event) == CUDA_SUCCESS,
      "cuEventRecord");
  while (n_received < n) {
    int64_t start = now ();

    cu->cuEventQuery (event);
    take_sample (start);
  }
}

/* --- the table ----------------------------------------------------------- */

static int
compare (const void *a, const void *b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

  return (x > y) - (x < y);
}

/* The median over the repetitions of a part of the samples of each. */
static double
summarise (double part)
{
  unsigned each = n_received / n_repetitions, i;
  int64_t *found = calloc (n_repetitions, sizeof (*found));
  double result;

  for (i = 0; i < n_repetitions; i++) {
    int64_t *first = samples + i * each + WARM_UP;
    unsigned n = each - WARM_UP;

    qsort (first, n, sizeof (*first), compare);
    found[i] = first[(unsigned) (part * (n - 1))];
  }
  qsort (found, n_repetitions, sizeof (*found), compare);
  result = (double) found[n_repetitions / 2] / 1000;
  free (found);
  return result;
}

static void
receive (const char *way)
{
  if (strcmp (way, "query") == 0)
    query ();
  else if (strncmp (way, "frames", 6) == 0)
    receive_frames (strcmp (way, "frames-busy") == 0);
  else
    receive_by_futex (way);
  check (n_received / n_repetitions > WARM_UP, "receiving enough");
  printf ("| %s | %u | %.1f | %.1f |\n", way,
      n_received / n_repetitions - WARM_UP, summarise (0.5), summarise (0.99));
}

/* Each side of each way is a process of its own. */
static void
measure (const char *way)
{
  pid_t server_process = -1, client, ended, other;
  int status = 0;

  atomic_store (&both->sequence, 0);
  atomic_store (&both->received, 0);
  atomic_store (&both->is_ready, 0);
  fflush (stdout);
  client = fork ();
  if (client == 0) {
    receive (way);
    fflush (stdout);
    _exit (EXIT_SUCCESS);
  }
  if (strcmp (way, "query") != 0)
    server_process = fork ();
  if (server_process == 0) {
    serve (way);
    _exit (EXIT_SUCCESS);
  }
  ended = waitpid (-1, &status, 0);
  other = ended == client ? server_process : client;
  if (ended == server_process && status == 0)
    other = waitpid (client, &status, 0) == client ? -1 : client;
  if (other > 0) { /* it may wait for the one that has ended */
    kill (other, SIGKILL);
    waitpid (other, NULL, 0);
  }
  if (status != 0)
    printf ("| %s | failed | | |\n", way);
}

static unsigned
get_argument (int argc, char **argv, int i, unsigned value)
{
  return argc > i && atoi (argv[i]) > 0 ? (unsigned) atoi (argv[i]) : value;
}

int
main (int argc, char **argv)
{
  static const char *const ways[] = { "floor", "query", "frames", "frames-busy",
    "frames-gpu", "cuda-ipc", "copy" };
  size_t i;

  size = get_argument (argc, argv, 1, 1 << 20);
  n_repetitions = get_argument (argc, argv, 2, 7);
  n_samples = get_argument (argc, argv, 3, 2000);
  check (n_repetitions * (WARM_UP + n_samples) <= MAX_SAMPLES, "too many");
  samples = calloc (MAX_SAMPLES, sizeof (*samples));
  both = mmap (NULL, sizeof (*both) + size, PROT_READ | PROT_WRITE,
      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check (samples && both != MAP_FAILED, "allocating");
  snprintf (path, sizeof (path), "/tmp/vkgdr-latency-%d", (int) getpid ());
  printf ("| %zu bytes, %u repetitions | samples | p50, µs | p99, µs |\n"
          "|---|---:|---:|---:|\n",
      size, n_repetitions);
  for (i = 0; i < sizeof (ways) / sizeof (ways[0]); i++)
    measure (ways[i]);
  unlink (path);
  return EXIT_SUCCESS;
}
