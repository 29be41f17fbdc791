/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * loops.c: loops that write frames without GStreamer, which are the upper limit
 * for pipelines
 *
 * Each loop is a thread. It writes in the same way as the benchmark's source,
 * to the same number of frames. The difference from a pipeline is GStreamer's
 * overhead. The difference from ordinary memory is due to the machine.
 */

#include <stdlib.h>

#include "helper.h"

#define MAX_THREADS 64
#define MAX_FRAMES 16

/* Frames start at multiples of this, in bytes. */
#define ALIGNMENT ((gsize) 4096)

/* The part of the time that is not counted, in which caches and page tables are
 * filled. */
#define WARM_UP_SHARE 0.3

/* The number of frames that each thread has to write in the counted time, and a
 * limit of that time in nanoseconds. */
#define MIN_FRAMES 3
#define PATIENCE (10 * G_GINT64_CONSTANT (1000000000))

/* The interval in which the threads are checked, in microseconds. */
#define POLL 1000

/**
 * Where:
 * @IN_RAM: ordinary memory
 * @IN_WINDOW: the window
 * @IN_STAGING: pinned memory, from which asynchronous DMA copies each frame
 */
typedef enum { IN_RAM, IN_WINDOW, IN_STAGING } Where;

/* --- the frames of one loop ----------------------------------------------- */

typedef struct {
  const vkgdr_cuda *cu;
  Where where;
  gsize size;   /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  guint n;

  vkgdr_memory_t window;
  guint8 *host;
  CUdeviceptr device;
  CUstream stream;
  CUevent sent[MAX_FRAMES];
} Frames;

static gboolean
allocate_staging (Frames *self, GError **error)
{
  const vkgdr_cuda *cu = self->cu;
  gsize size = self->stride * self->n;
  guint i;

  if (!bench_check (cu->cuMemHostAlloc ((void **) &self->host, size, 0),
          "cuMemHostAlloc", error)
      || !bench_check (
          cu->cuMemAlloc (&self->device, size), "cuMemAlloc", error)
      || !bench_check (
          cu->cuStreamCreate (&self->stream, CU_STREAM_NON_BLOCKING),
          "cuStreamCreate", error))
    return FALSE;
  for (i = 0; i < self->n; i++)
    if (!bench_check (
            cu->cuEventCreate (&self->sent[i], CU_EVENT_DISABLE_TIMING),
            "cuEventCreate", error))
      return FALSE;
  return TRUE;
}

static gboolean
allocate (Frames *self, vkgdr_t window, GError **error)
{
  gsize size = self->stride * self->n;

  switch (self->where) {
  case IN_RAM:
    if (posix_memalign ((void **) &self->host, ALIGNMENT, size) == 0)
      return TRUE;
    self->host = NULL;
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "there is not enough ordinary memory");
    return FALSE;
  case IN_WINDOW:
    self->window = vkgdr_memory_alloc (window, size, 0);
    if (!self->window)
      return bench_set_last_error (error);
    self->host = vkgdr_memory_get_host_ptr (self->window);
    return TRUE;
  default:
    return allocate_staging (self, error);
  }
}

/* Waits for pending transfers. */
static void
frames_free (Frames *self)
{
  const vkgdr_cuda *cu = self->cu;
  guint i;

  if (self->stream)
    cu->cuStreamSynchronize (self->stream);
  for (i = 0; i < self->n; i++)
    if (self->sent[i])
      cu->cuEventDestroy (self->sent[i]);
  if (self->stream)
    cu->cuStreamDestroy (self->stream);
  if (self->device)
    cu->cuMemFree (self->device);
  if (self->where == IN_RAM)
    free (self->host);
  else if (self->where == IN_STAGING && self->host)
    cu->cuMemFreeHost (self->host);
  vkgdr_memory_free (self->window);
  g_free (self);
}

static Frames *
frames_new (vkgdr_t window, Where where, gsize size, guint n, GError **error)
{
  Frames *self = g_new0 (Frames, 1);

  self->cu = vkgdr_driver_load ();
  self->where = where;
  self->size = size;
  self->stride = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  self->n = CLAMP (n, 1, MAX_FRAMES);
  if (allocate (self, window, error))
    return self;
  frames_free (self);
  return NULL;
}

static CUresult
send (Frames *self, guint frame)
{
  gsize offset = frame * self->stride;
  CUresult result = self->cu->cuMemcpyHtoDAsync (
      self->device + offset, self->host + offset, self->size, self->stream);

  if (result == CUDA_SUCCESS)
    result = self->cu->cuEventRecord (self->sent[frame], self->stream);
  return result;
}

/* Writes frame number @number to the memories in turn. A staged frame is only
 * written when its last transfer has ended. */
static CUresult
frames_write (Frames *self, BenchFill *fill, guint64 number)
{
  guint frame = number % self->n;
  guint8 *host = self->host + frame * self->stride;
  CUresult result = CUDA_SUCCESS;

  if (self->where == IN_STAGING)
    result = self->cu->cuEventSynchronize (self->sent[frame]);
  bench_fill_write (fill, host, self->size, number);
  bench_keep_stores ();
  if (self->where == IN_WINDOW)
    vkgdr_memory_flush (self->window, frame * self->stride, self->size);
  else if (self->where == IN_STAGING && result == CUDA_SUCCESS)
    result = send (self, frame);
  return result;
}

/* --- threads -------------------------------------------------------------- */

typedef enum { PHASE_WARM_UP, PHASE_COUNT, PHASE_DONE } Phase;

typedef struct _Loops Loops;

typedef struct {
  Loops *loops;
  BenchFill fill;
  Frames *frames;

  gint n_written; /* atomic: frames in the counted time */
  gint64 first;
  gint64 last;
  CUresult result;
} Thread;

struct _Loops {
  GstVkgdrContext *context;
  vkgdr_t window;
  guint n;
  gdouble seconds;
  gint phase; /* atomic */
  Thread threads[MAX_THREADS];
};

static gpointer
run_thread (gpointer data)
{
  Thread *self = data;
  guint64 number = 0;
  gint phase;

  if (!gst_vkgdr_context_push (self->loops->context, NULL)) {
    self->result = CUDA_ERROR_INVALID_CONTEXT;
    return NULL;
  }
  while ((phase = g_atomic_int_get (&self->loops->phase)) != PHASE_DONE
         && self->result == CUDA_SUCCESS) {
    self->result = frames_write (self->frames, &self->fill, number++);
    if (phase != PHASE_COUNT)
      continue;
    self->last = bench_now ();
    if (self->first == 0)
      self->first = self->last;
    g_atomic_int_inc (&self->n_written);
  }
  gst_vkgdr_context_pop (self->loops->context);
  return NULL;
}

static gboolean
is_enough (Loops *self)
{
  guint i;

  for (i = 0; i < self->n; i++)
    if (g_atomic_int_get (&self->threads[i].n_written) < MIN_FRAMES)
      return FALSE;
  return TRUE;
}

static void
wait_while_counting (Loops *self)
{
  gint64 start;

  g_usleep ((gulong) (self->seconds * WARM_UP_SHARE * G_USEC_PER_SEC));
  g_atomic_int_set (&self->phase, PHASE_COUNT);
  start = bench_now ();
  g_usleep ((gulong) (self->seconds * G_USEC_PER_SEC));
  while (!is_enough (self) && bench_now () < start + PATIENCE)
    g_usleep (POLL);
}

/* Returns the frames per second of all threads together. */
static gboolean
sum_rates (const Loops *self, gdouble *rate, GError **error)
{
  guint i;

  *rate = 0;
  for (i = 0; i < self->n; i++) {
    const Thread *thread = &self->threads[i];

    if (!bench_check (thread->result, "a transfer", error))
      return FALSE;
    if (thread->last > thread->first)
      *rate += (thread->n_written - 1) * 1e9 / (thread->last - thread->first);
  }
  return TRUE;
}

static gboolean
measure (Loops *self, gdouble *rate, GError **error)
{
  GThread *handles[MAX_THREADS];
  guint i, n = 0;

  while (n < self->n
         && (handles[n] = g_thread_try_new (
                 "bench-stream", run_thread, &self->threads[n], error)))
    n++;
  if (n == self->n)
    wait_while_counting (self);
  else
    g_prefix_error (error, "a thread cannot be started: ");
  g_atomic_int_set (&self->phase, PHASE_DONE);
  for (i = 0; i < n; i++)
    g_thread_join (handles[i]);
  return n == self->n && sum_rates (self, rate, error);
}

/* --- the command ---------------------------------------------------------- */

/* The first @n_direct threads write to the window, and the others to @where. */
static gboolean
prepare (Loops *self, JsonObject *request, guint n_direct, Where where,
    GError **error)
{
  guint i;

  if (n_direct > 0
      && !(self->window = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT)))
    return bench_set_last_error (error);
  for (i = 0; i < self->n; i++) {
    Thread *thread = &self->threads[i];

    thread->loops = self;
    bench_fill_init (&thread->fill, bench_get_integer (request, "fill"),
        bench_get_integer (request, "area"));
    thread->frames = frames_new (self->window, i < n_direct ? IN_WINDOW : where,
        bench_get_integer (request, "bytes"),
        bench_get_integer (request, "buffers"), error);
    if (!thread->frames)
      return FALSE;
  }
  return TRUE;
}

static void
release (Loops *self)
{
  guint i;

  for (i = 0; i < self->n; i++) {
    g_clear_pointer (&self->threads[i].frames, frames_free);
    bench_fill_clear (&self->threads[i].fill);
  }
  vkgdr_close (self->window);
}

/* The request has `threads`, `direct` (the number of threads that write to the
 * window), `others` ("ram" or "staging", for the other threads), `bytes` of a
 * frame, `buffers`, `fill`, `area` and `seconds`. The reply has `rate`. */
gboolean
bench_loops (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  gboolean in_ram = g_str_equal (bench_get_text (request, "others"), "ram");
  Loops *self = g_new0 (Loops, 1);
  gdouble rate = 0;
  gboolean ok;

  self->context = context;
  self->n = CLAMP (bench_get_integer (request, "threads"), 1, MAX_THREADS);
  self->seconds = bench_get_number (request, "seconds");
  ok = gst_vkgdr_context_push (context, error);
  if (ok) {
    ok = prepare (self, request, bench_get_integer (request, "direct"),
             in_ram ? IN_RAM : IN_STAGING, error)
         && measure (self, &rate, error);
    json_object_set_double_member (reply, "rate", rate);
    release (self);
    gst_vkgdr_context_pop (context);
  }
  g_free (self);
  return ok;
}
