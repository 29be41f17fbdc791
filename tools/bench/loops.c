/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * loops.c: loops that write frames without GStreamer, which are the upper limit
 * for pipelines
 *
 * Each loop is a thread. It writes in the same way as the benchmark's source,
 * to the same number of frames. The difference from a pipeline is GStreamer's
 * overhead. The difference from ordinary memory is due to the machine.
 */

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

typedef enum { PHASE_WARM_UP, PHASE_COUNT, PHASE_DONE } Phase;

typedef struct _Loops Loops;

/* A thread with its frames. From pinned memory, asynchronous DMA copies each
 * frame to the target. */
typedef struct {
  Loops *loops;
  BenchFill fill;
  BenchBlock block;
  BenchTarget target;
  CUevent sent[MAX_FRAMES];

  gint n_written; /* atomic: frames in the counted time */
  gint64 first;
  gint64 last;
  CUresult result;
} Thread;

struct _Loops {
  const vkgdr_cuda *cu;
  GstVkgdrContext *context;
  vkgdr_t window;
  guint n;
  guint n_frames;
  gsize size;   /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  gdouble seconds;
  gint phase; /* atomic */
  Thread threads[MAX_THREADS];
};

/* --- threads -------------------------------------------------------------- */

static CUresult
send (Thread *self, guint frame)
{
  const vkgdr_cuda *cu = self->loops->cu;
  gsize offset = frame * self->loops->stride;
  CUresult result = cu->cuMemcpyHtoDAsync (self->target.device + offset,
      self->block.host + offset, self->loops->size, self->target.stream);

  if (result == CUDA_SUCCESS)
    result = cu->cuEventRecord (self->sent[frame], self->target.stream);
  return result;
}

/* Writes frame number @number to the memories in turn. A staged frame is only
 * written when its last transfer has ended. */
static CUresult
write_frame (Thread *self, guint64 number)
{
  Loops *loops = self->loops;
  guint frame = number % loops->n_frames;
  gsize offset = frame * loops->stride;
  CUresult result = CUDA_SUCCESS;

  if (self->block.place == BENCH_PINNED)
    result = loops->cu->cuEventSynchronize (self->sent[frame]);
  bench_fill_write (
      &self->fill, self->block.host + offset, loops->size, number);
  bench_keep_stores ();
  if (self->block.place == BENCH_WINDOW)
    vkgdr_memory_flush (self->block.window, offset, loops->size);
  else if (self->block.place == BENCH_PINNED && result == CUDA_SUCCESS)
    result = send (self, frame);
  return result;
}

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
    self->result = write_frame (self, number++);
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

static gboolean
prepare_thread (
    Thread *self, BenchPlace place, JsonObject *request, GError **error)
{
  Loops *loops = self->loops;
  gsize size = loops->stride * loops->n_frames;
  gboolean ok;
  guint i;

  bench_fill_init (&self->fill, bench_get_text (request, "fill"),
      bench_get_integer (request, "area"));
  ok = bench_block_init (&self->block, place, loops->window, size, error);
  if (place != BENCH_PINNED)
    return ok;
  ok = ok && bench_target_init (&self->target, size, error);
  for (i = 0; ok && i < loops->n_frames; i++)
    ok = bench_check (
        loops->cu->cuEventCreate (&self->sent[i], CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", error);
  return ok;
}

/* The first `direct` threads write to the window. */
static gboolean
prepare (Loops *self, JsonObject *request, GError **error)
{
  gboolean in_ram = g_str_equal (bench_get_text (request, "others"), "ram");
  guint i, n_direct = bench_get_integer (request, "direct");

  if (n_direct > 0
      && !(self->window = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT)))
    return bench_set_last_error (error);
  for (i = 0; i < self->n; i++) {
    self->threads[i].loops = self;
    if (!prepare_thread (&self->threads[i],
            i < n_direct ? BENCH_WINDOW
            : in_ram     ? BENCH_RAM
                         : BENCH_PINNED,
            request, error))
      return FALSE;
  }
  return TRUE;
}

static void
release (Loops *self)
{
  guint i, k;

  for (i = 0; i < self->n; i++) {
    Thread *thread = &self->threads[i];

    bench_target_clear (&thread->target);
    for (k = 0; k < MAX_FRAMES; k++)
      if (thread->sent[k])
        self->cu->cuEventDestroy (thread->sent[k]);
    bench_block_clear (&thread->block);
    bench_fill_clear (&thread->fill);
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
  Loops *self = g_new0 (Loops, 1);
  gdouble rate = 0;
  gboolean ok;

  self->cu = vkgdr_driver_load ();
  self->context = context;
  self->n = CLAMP (bench_get_integer (request, "threads"), 1, MAX_THREADS);
  self->n_frames =
      CLAMP (bench_get_integer (request, "buffers"), 1, MAX_FRAMES);
  self->size = bench_get_integer (request, "bytes");
  self->stride = (self->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  self->seconds = bench_get_number (request, "seconds");
  ok = gst_vkgdr_context_push (context, error);
  if (ok) {
    ok = prepare (self, request, error) && measure (self, &rate, error);
    bench_set_number (reply, "rate", rate);
    release (self);
    gst_vkgdr_context_pop (context);
  }
  g_free (self);
  return ok;
}
