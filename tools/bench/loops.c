/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * loops.c: a loop that writes frames without GStreamer, which is the upper
 * limit for pipelines
 *
 * The loop writes in the same way as the benchmark's source, to the same number
 * of frames. The difference from a pipeline is GStreamer's overhead. The
 * difference from ordinary memory is due to the machine.
 */

#include "bench.h"

/* Frames start at multiples of this, in bytes. */
#define ALIGNMENT ((gsize) 4096)

/* The part of the time that is not counted, in which caches and page tables are
 * filled. */
#define WARM_UP_SHARE 0.3

/* From pinned memory, asynchronous DMA copies each frame to the device. */
typedef struct {
  const vkgdr_cuda *cu;
  BenchFill fill;
  BenchBlock block;
  CUdeviceptr device;
  CUstream stream;
  CUevent sent[BENCH_BUFFERS];
  gint64 size;  /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  guint64 n_written;
} Loop;

/* Writes to the frames in turn. A staged frame is only written when its last
 * transfer has ended. */
static void
write_frame (gpointer data)
{
  Loop *self = data;
  BenchBlock *block = &self->block;
  guint64 number = self->n_written++;
  guint frame = number % BENCH_BUFFERS;
  gsize offset = frame * self->stride;

  if (block->is_pinned)
    bench_check (
        self->cu->cuEventSynchronize (self->sent[frame]), "cuEventSynchronize");
  bench_fill_write (&self->fill, block->host + offset, self->size, number);
  bench_keep_stores ();
  if (block->window) {
    vkgdr_memory_flush (block->window, offset, self->size);
  } else if (block->is_pinned) {
    bench_check (self->cu->cuMemcpyHtoDAsync (self->device + offset,
                     block->host + offset, self->size, self->stream),
        "cuMemcpyHtoDAsync");
    bench_check (self->cu->cuEventRecord (self->sent[frame], self->stream),
        "cuEventRecord");
  }
}

/* The request has `place`, `bytes` of a frame, `area` (see bench_fill_init())
 * and `seconds`. The reply has `rate`. */
void
bench_loop (GVariant *request)
{
  Loop self = { .cu = vkgdr_driver_load () };
  const gchar *place;
  gdouble seconds;
  gint64 area;
  gsize size;
  guint i;

  g_variant_lookup (request, "place", "&s", &place);
  g_variant_lookup (request, "bytes", "x", &self.size);
  g_variant_lookup (request, "area", "x", &area);
  g_variant_lookup (request, "seconds", "d", &seconds);
  self.stride = (self.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size = self.stride * BENCH_BUFFERS;
  bench_fill_init (&self.fill, area);
  bench_block_init (&self.block, place, size);
  bench_check (self.cu->cuMemAlloc (&self.device, size), "cuMemAlloc");
  bench_check (self.cu->cuStreamCreate (&self.stream, CU_STREAM_NON_BLOCKING),
      "cuStreamCreate");
  for (i = 0; i < BENCH_BUFFERS; i++)
    bench_check (
        self.cu->cuEventCreate (&self.sent[i], CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
  bench_time_calls (write_frame, &self, seconds * WARM_UP_SHARE);
  bench_reply (g_variant_new_parsed (
      "{'rate': %d}", 1 / bench_time_calls (write_frame, &self, seconds)));
  self.cu->cuStreamSynchronize (self.stream);
  for (i = 0; i < BENCH_BUFFERS; i++)
    self.cu->cuEventDestroy (self.sent[i]);
  self.cu->cuStreamDestroy (self.stream);
  self.cu->cuMemFree (self.device);
  bench_block_clear (&self.block);
  bench_fill_clear (&self.fill);
}
