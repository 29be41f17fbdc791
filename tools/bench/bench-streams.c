/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-streams.c: bare loops in several threads
 *
 * Measures the upper limit for several streams, with direct access in all
 * threads, staged access in all threads, or a mix. Does not depend on
 * pipelines.
 */

#include "bench-streams.h"

#include "bench-clock.h"
#include "bench-device.h"
#include "bench-frames.h"

#define MAX_THREADS 64

/* The part of the time that is not counted. */
#define WARM_UP_SHARE 0.3

/* The number of frames that each thread has to write in the counted time, and a
 * limit of that time in nanoseconds. */
#define MIN_FRAMES 3
#define PATIENCE (10 * G_GINT64_CONSTANT (1000000000))

/* The interval in which the threads are checked, in microseconds. */
#define POLL 1000

/* Up to this number of threads, every number of direct threads is measured. */
#define ALL_NUMBERS 4

typedef enum { PHASE_WARM_UP, PHASE_COUNT, PHASE_DONE } Phase;

typedef struct _Streams Streams;

typedef struct {
  Streams *streams;
  BenchFill fill;
  BenchFrames *window; /* or NULL */
  BenchFrames *staged; /* or NULL */
  gboolean is_direct;

  gint frames; /* atomic: frames in the counted time */
  gint64 first;
  gint64 last;
  CUresult result;
} Thread;

struct _Streams {
  GstVkgdrContext *context;
  vkgdr_t window;
  const BenchWrites *writes;
  guint n;
  gdouble seconds;
  gint phase; /* atomic */
  Thread threads[MAX_THREADS];
};

/* The rate is measured from the first counted frame. */
static void
count_frame (Thread *self)
{
  gint64 now = bench_now ();

  if (self->first == 0)
    self->first = now;
  self->last = now;
  g_atomic_int_inc (&self->frames);
}

static gpointer
run_thread (gpointer data)
{
  Thread *self = data;
  BenchFrames *frames = self->is_direct ? self->window : self->staged;
  guint64 number = 0;
  gint phase;

  if (!gst_vkgdr_context_push (self->streams->context, NULL)) {
    self->result = CUDA_ERROR_INVALID_CONTEXT;
    return NULL;
  }
  while ((phase = g_atomic_int_get (&self->streams->phase)) != PHASE_DONE
         && self->result == CUDA_SUCCESS) {
    self->result = bench_frames_write (frames, &self->fill, number++);
    if (phase == PHASE_COUNT)
      count_frame (self);
  }
  gst_vkgdr_context_pop (self->streams->context);
  return NULL;
}

static gboolean
is_enough (Streams *self)
{
  guint i;

  for (i = 0; i < self->n; i++)
    if (g_atomic_int_get (&self->threads[i].frames) < MIN_FRAMES)
      return FALSE;
  return TRUE;
}

static void
wait_while_counting (Streams *self)
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
sum_rates (const Streams *self, gdouble *rate, GError **error)
{
  guint i;

  *rate = 0;
  for (i = 0; i < self->n; i++) {
    const Thread *thread = &self->threads[i];

    if (!bench_check (
            vkgdr_driver_load (), thread->result, "a transfer", error))
      return FALSE;
    if (thread->last > thread->first)
      *rate += (thread->frames - 1) * 1e9 / (thread->last - thread->first);
  }
  return TRUE;
}

static GThread *
start_thread (Thread *thread, gboolean is_direct, GError **error)
{
  GThread *handle;

  thread->is_direct = is_direct;
  thread->frames = 0;
  thread->first = thread->last = 0;
  thread->result = CUDA_SUCCESS;
  handle = g_thread_try_new ("bench-stream", run_thread, thread, error);
  if (!handle)
    g_prefix_error (error, "a thread cannot be started: ");
  return handle;
}

/* Measures with @n_direct threads that write directly. */
static gboolean
measure (Streams *self, guint n_direct, gdouble *rate, GError **error)
{
  GThread *handles[MAX_THREADS];
  guint i, n = 0;

  g_atomic_int_set (&self->phase, PHASE_WARM_UP);
  while (
      n < self->n
      && (handles[n] = start_thread (&self->threads[n], n < n_direct, error)))
    n++;
  if (n == self->n)
    wait_while_counting (self);
  g_atomic_int_set (&self->phase, PHASE_DONE);
  for (i = 0; i < n; i++)
    g_thread_join (handles[i]);
  return n == self->n && sum_rates (self, rate, error);
}

static gboolean
allocate (Streams *self, BenchMix mix, GError **error)
{
  const BenchWrites *writes = self->writes;
  guint i;

  if (mix != BENCH_MIX_STAGED && !(self->window = bench_open_window (error)))
    return FALSE;
  for (i = 0; i < self->n; i++) {
    Thread *thread = &self->threads[i];

    thread->streams = self;
    bench_fill_init (&thread->fill, writes->fill, writes->area);
    if (mix != BENCH_MIX_STAGED
        && !(thread->window = bench_frames_new (self->window, BENCH_LOOP_WINDOW,
                 writes->size, writes->buffers, error)))
      return FALSE;
    if (mix != BENCH_MIX_DIRECT
        && !(thread->staged = bench_frames_new (self->window, BENCH_LOOP_STAGED,
                 writes->size, writes->buffers, error)))
      return FALSE;
  }
  return TRUE;
}

static void
release (Streams *self)
{
  guint i;

  for (i = 0; i < self->n; i++) {
    g_clear_pointer (&self->threads[i].window, bench_frames_free);
    g_clear_pointer (&self->threads[i].staged, bench_frames_free);
    bench_fill_clear (&self->threads[i].fill);
  }
  vkgdr_close (self->window);
}

typedef struct {
  guint n_direct;
  gdouble rate;
} Best;

/* Measures with @n_direct, and keeps the result if it is better. */
static gboolean
try_number (Streams *self, guint n_direct, Best *best, GError **error)
{
  gdouble rate;

  if (!measure (self, n_direct, &rate, error))
    return FALSE;
  if (rate > best->rate)
    *best = (Best){ n_direct, rate };
  return TRUE;
}

/* With few threads, measures every number of direct threads. With more threads,
 * measures some numbers at even distances. Then halves the distance, and
 * measures the two numbers at this distance from the best one, until the
 * distance is 1. */
static gboolean
find_best (Streams *self, Best *best, GError **error)
{
  guint step = self->n <= ALL_NUMBERS ? 1 : self->n / ALL_NUMBERS, k, centre;

  for (k = 0; k <= self->n; k += step)
    if (!try_number (self, k, best, error))
      return FALSE;
  for (step /= 2; step > 0; step /= 2) {
    centre = best->n_direct;
    if (centre >= step && !try_number (self, centre - step, best, error))
      return FALSE;
    if (centre + step <= self->n
        && !try_number (self, centre + step, best, error))
      return FALSE;
  }
  return TRUE;
}

void
bench_streams_measure (GstVkgdrContext *context, const BenchWrites *writes,
    guint n, BenchMix mix, gdouble seconds, BenchSamples *samples, gchar **note)
{
  Streams *self = g_new0 (Streams, 1);
  Best best = { 0, 0 };
  GError *error = NULL;
  gboolean ok;

  self->context = context;
  self->writes = writes;
  self->n = MIN (n, MAX_THREADS);
  self->seconds = seconds;
  ok = gst_vkgdr_context_push (context, &error);
  if (ok) {
    ok = allocate (self, mix, &error)
         && (mix == BENCH_MIX_BEST
                 ? find_best (self, &best, &error)
                 : try_number (
                     self, mix == BENCH_MIX_DIRECT ? n : 0, &best, &error));
    release (self);
    gst_vkgdr_context_pop (context);
  }
  g_clear_pointer (note, g_free);
  if (ok) {
    g_array_append_val (samples->values, best.rate);
    *note = g_strdup_printf ("%u of %u threads direct", best.n_direct, n);
  } else {
    bench_samples_fail (samples, error);
  }
  g_free (self);
}
