/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * loops.c: loops that write frames without GStreamer, which are the upper limit
 * for pipelines
 *
 * Each loop is a thread. It writes in the same way as the benchmark's source,
 * to the same number of frames. The difference from a pipeline is GStreamer's
 * overhead. The difference from ordinary memory is due to the machine.
 */

#include <string.h>

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

enum { WARM_UP, COUNT, DONE };

/* A thread with its frames. From pinned memory, asynchronous DMA copies each
 * frame to the device. */
typedef struct {
  GThread *handle;
  BenchFill fill;
  BenchBlock block;
  CUevent sent[MAX_FRAMES];

  gint n_written; /* atomic: frames in the counted time */
  gint64 first;
  gint64 last;
} Loop;

/* One request is answered at a time. */
static struct {
  const vkgdr_cuda *cu;
  GstVkgdrContext *context;
  gint64 n, n_direct, n_frames;
  gint64 size;  /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  gdouble seconds;
  gint phase; /* atomic */
  Loop loops[MAX_THREADS];
} all;

/* Writes frame number @number to the memories in turn. A staged frame is only
 * written when its last transfer has ended. */
static void
write_frame (Loop *self, guint64 number)
{
  BenchBlock *block = &self->block;
  guint frame = number % all.n_frames;
  gsize offset = frame * all.stride;

  if (block->place == BENCH_PINNED)
    bench_check (
        all.cu->cuEventSynchronize (self->sent[frame]), "cuEventSynchronize");
  bench_fill_write (&self->fill, block->host + offset, all.size, number);
  bench_keep_stores ();
  if (block->place == BENCH_WINDOW) {
    vkgdr_memory_flush (block->window, offset, all.size);
  } else if (block->place == BENCH_PINNED) {
    bench_check (all.cu->cuMemcpyHtoDAsync (block->device + offset,
                     block->host + offset, all.size, block->stream),
        "cuMemcpyHtoDAsync");
    bench_check (all.cu->cuEventRecord (self->sent[frame], block->stream),
        "cuEventRecord");
  }
}

static gpointer
run_loop (gpointer data)
{
  Loop *self = data;
  guint64 number = 0;
  gint phase;

  if (!gst_vkgdr_context_push (all.context, NULL))
    bench_die ("a thread cannot use the device");
  while ((phase = g_atomic_int_get (&all.phase)) != DONE) {
    write_frame (self, number++);
    if (phase != COUNT)
      continue;
    self->last = bench_now ();
    if (self->first == 0)
      self->first = self->last;
    g_atomic_int_inc (&self->n_written);
  }
  gst_vkgdr_context_pop (all.context);
  return NULL;
}

static gboolean
is_enough (void)
{
  guint i;

  for (i = 0; i < all.n; i++)
    if (g_atomic_int_get (&all.loops[i].n_written) < MIN_FRAMES)
      return FALSE;
  return TRUE;
}

/* Returns the frames per second of all threads together. */
static gdouble
measure (void)
{
  gdouble rate = 0;
  GError *error = NULL;
  gint64 start;
  guint i;

  for (i = 0; i < all.n; i++) {
    all.loops[i].handle =
        g_thread_try_new ("bench-stream", run_loop, &all.loops[i], &error);
    if (error)
      bench_die ("a thread cannot be started: %s", error->message);
  }
  g_usleep (all.seconds * WARM_UP_SHARE * G_USEC_PER_SEC);
  g_atomic_int_set (&all.phase, COUNT);
  start = bench_now ();
  g_usleep (all.seconds * G_USEC_PER_SEC);
  while (!is_enough () && bench_now () < start + PATIENCE)
    g_usleep (POLL);
  g_atomic_int_set (&all.phase, DONE);
  for (i = 0; i < all.n; i++) {
    Loop *self = &all.loops[i];

    g_thread_join (self->handle);
    if (self->last > self->first)
      rate += (self->n_written - 1) * 1e9 / (self->last - self->first);
  }
  return rate;
}

/* --- the command ---------------------------------------------------------- */

static void
prepare (Loop *self, const gchar *place, const gchar *fill, gint64 area)
{
  gsize size = all.stride * all.n_frames;
  gboolean pinned = g_str_equal (place, "pinned");
  guint i;

  bench_fill_init (&self->fill, fill, area);
  bench_block_init (&self->block, place, size, pinned ? size : 0);
  for (i = 0; pinned && i < all.n_frames; i++)
    bench_check (
        all.cu->cuEventCreate (&self->sent[i], CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
}

static void
release (Loop *self)
{
  guint i;

  bench_block_clear (&self->block);
  for (i = 0; i < MAX_FRAMES && self->sent[i]; i++)
    all.cu->cuEventDestroy (self->sent[i]);
  bench_fill_clear (&self->fill);
}

/* The request has `threads`, `direct` (the number of threads that write to the
 * window), `others` (the place of the other threads), `bytes` of a frame,
 * `buffers`, `fill`, `area` and `seconds`. The reply has `rate`. */
void
bench_loops (GstVkgdrContext *context, GVariant *request)
{
  const gchar *others, *fill;
  gint64 area;
  guint i;

  memset (&all, 0, sizeof (all));
  all.cu = vkgdr_driver_load ();
  all.context = context;
  g_variant_lookup (request, "threads", "x", &all.n);
  g_variant_lookup (request, "direct", "x", &all.n_direct);
  g_variant_lookup (request, "others", "&s", &others);
  g_variant_lookup (request, "bytes", "x", &all.size);
  g_variant_lookup (request, "buffers", "x", &all.n_frames);
  g_variant_lookup (request, "fill", "&s", &fill);
  g_variant_lookup (request, "area", "x", &area);
  g_variant_lookup (request, "seconds", "d", &all.seconds);
  all.stride = (all.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (i = 0; i < all.n; i++)
    prepare (&all.loops[i], i < all.n_direct ? "window" : others, fill, area);
  bench_reply (g_variant_new_parsed ("{'rate': %d}", measure ()));
  for (i = 0; i < all.n; i++)
    release (&all.loops[i]);
}
