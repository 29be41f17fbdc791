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

#include "bench.h"

#define MAX_THREADS 64
#define MAX_FRAMES 16

/* Frames start at multiples of this, in bytes. */
#define ALIGNMENT ((gsize) 4096)

/* The part of the time that is not counted, in which caches and page tables are
 * filled. */
#define WARM_UP_SHARE 0.3

/* A thread with its frames. From pinned memory, asynchronous DMA copies each
 * frame to the device. */
typedef struct {
  GThread *handle;
  BenchFill fill;
  BenchBlock block;
  CUevent sent[MAX_FRAMES];
  guint64 n_written;
  gdouble frame_time; /* in seconds */
} Loop;

/* One request is answered at a time. */
static struct {
  const vkgdr_cuda *cu;
  GstVkgdrContext *context;
  gint64 n, n_direct, n_frames;
  gint64 size;  /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  gdouble seconds;
  gint n_measured; /* atomic: loops whose time is over */
  Loop loops[MAX_THREADS];
} all;

/* Writes to the frames in turn. A staged frame is only written when its last
 * transfer has ended. */
static void
write_frame (gpointer data)
{
  Loop *self = data;
  BenchBlock *block = &self->block;
  guint64 number = self->n_written++;
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

/* No loop ends before the time of all is over: the last ones would be faster
 * without the others. */
static gpointer
run_loop (gpointer data)
{
  Loop *self = data;

  if (!gst_vkgdr_context_push (all.context, NULL))
    bench_die ("a thread cannot use the device");
  bench_time_calls (write_frame, self, all.seconds * WARM_UP_SHARE);
  self->frame_time = bench_time_calls (write_frame, self, all.seconds);
  g_atomic_int_inc (&all.n_measured);
  while (g_atomic_int_get (&all.n_measured) < all.n)
    write_frame (self);
  gst_vkgdr_context_pop (all.context);
  return NULL;
}

/* Returns the frames per second of all threads together. */
static gdouble
measure (void)
{
  GError *error = NULL;
  gdouble rate = 0;
  guint i;

  for (i = 0; i < all.n; i++) {
    all.loops[i].handle =
        g_thread_try_new ("bench-stream", run_loop, &all.loops[i], &error);
    if (error)
      bench_die ("a thread cannot be started: %s", error->message);
  }
  for (i = 0; i < all.n; i++) {
    g_thread_join (all.loops[i].handle);
    rate += 1 / all.loops[i].frame_time;
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
