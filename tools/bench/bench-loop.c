/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-loop.c: frames written in a bare loop: what a pipeline can reach at
 * most
 *
 * The same writes as the benchmark's source makes, over as many frames of
 * memory, without GStreamer: what a pipeline lacks beside this is overhead, and
 * what this lacks beside ordinary memory is the machine's. Knows no pipelines.
 */

#include "bench-loop.h"

#include <stdlib.h>
#include <string.h>

#include "bench-clock.h"
#include "bench-device.h"
#include "driver.h"
#include <vkgdr/vkgdr.h>

#define MAX_FRAMES 16

/* Frames start at multiples of this. */
#define ALIGNMENT ((gsize) 4096)

/* Part of the time that is not counted: caches and page tables fill. */
#define WARM_UP_SHARE 0.2

typedef struct {
  const vkgdr_cuda *cu;
  BenchLoop loop;
  gsize size;   /* bytes of a frame */
  gsize stride; /* from one frame to the next */
  guint n;

  vkgdr_t handle;
  vkgdr_memory_t window;
  guint8 *host;
  CUdeviceptr device;
  CUstream stream;
  CUevent sent[MAX_FRAMES];
} Loop;

static gboolean
allocate_ram (Loop *self, GError **error)
{
  if (posix_memalign ((void **) &self->host, ALIGNMENT, self->stride * self->n)
      == 0)
    return TRUE;
  self->host = NULL;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "there is not enough ordinary memory");
  return FALSE;
}

static gboolean
allocate_window (Loop *self, GError **error)
{
  self->handle = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT);
  if (self->handle)
    self->window = vkgdr_memory_alloc (self->handle, self->stride * self->n, 0);
  if (self->window) {
    self->host = vkgdr_memory_get_host_ptr (self->window);
    return TRUE;
  }
  return bench_set_last_error (error);
}

static gboolean
allocate_staged (Loop *self, GError **error)
{
  const vkgdr_cuda *cu = self->cu;
  gsize size = self->stride * self->n;
  guint i;

  if (!bench_check (cu, cu->cuMemHostAlloc ((void **) &self->host, size, 0),
          "cuMemHostAlloc", error)
      || !bench_check (
          cu, cu->cuMemAlloc (&self->device, size), "cuMemAlloc", error)
      || !bench_check (cu,
          cu->cuStreamCreate (&self->stream, CU_STREAM_NON_BLOCKING),
          "cuStreamCreate", error))
    return FALSE;
  for (i = 0; i < self->n; i++)
    if (!bench_check (cu,
            cu->cuEventCreate (&self->sent[i], CU_EVENT_DISABLE_TIMING),
            "cuEventCreate", error))
      return FALSE;
  return TRUE;
}

static gboolean
allocate (Loop *self, GError **error)
{
  switch (self->loop) {
  case BENCH_LOOP_RAM:
    return allocate_ram (self, error);
  case BENCH_LOOP_WINDOW:
    return allocate_window (self, error);
  default:
    return allocate_staged (self, error);
  }
}

static void
release (Loop *self)
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
  if (self->loop == BENCH_LOOP_RAM)
    free (self->host);
  else if (self->loop == BENCH_LOOP_STAGED && self->host)
    cu->cuMemFreeHost (self->host);
  vkgdr_memory_free (self->window);
  vkgdr_close (self->handle);
}

static CUresult
send (Loop *self, guint frame)
{
  gsize offset = frame * self->stride;
  CUresult result = self->cu->cuMemcpyHtoDAsync (
      self->device + offset, self->host + offset, self->size, self->stream);

  if (result == CUDA_SUCCESS)
    result = self->cu->cuEventRecord (self->sent[frame], self->stream);
  return result;
}

static CUresult
write_frame (Loop *self, guint64 number)
{
  guint frame = number % self->n;
  guint8 *host = self->host + frame * self->stride;
  CUresult result = CUDA_SUCCESS;

  if (self->loop == BENCH_LOOP_STAGED)
    result = self->cu->cuEventSynchronize (self->sent[frame]);
  memset (host, (int) (number & 0xff), self->size);
  bench_keep_stores ();
  if (self->loop == BENCH_LOOP_WINDOW)
    vkgdr_memory_flush (self->window, frame * self->stride, self->size);
  else if (self->loop == BENCH_LOOP_STAGED && result == CUDA_SUCCESS)
    result = send (self, frame);
  return result;
}

/* Writes frames for @seconds, and at least one. */
static CUresult
write_for (Loop *self, gdouble seconds, gdouble *rate)
{
  gint64 start = bench_now (), now = start;
  CUresult result = CUDA_SUCCESS;
  guint64 frames = 0;

  while (
      result == CUDA_SUCCESS && (frames == 0 || now - start < seconds * 1e9)) {
    result = write_frame (self, frames++);
    now = bench_now ();
  }
  *rate = frames * 1e9 / (now - start);
  return result;
}

void
bench_loop_measure (GstVkgdrContext *context, BenchLoop loop, gsize size,
    guint n, gdouble seconds, BenchSamples *samples)
{
  Loop self = { vkgdr_driver_load (), loop, size,
    (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, MIN (n, MAX_FRAMES) };
  GError *error = NULL;
  gdouble rate = 0;

  if (!gst_vkgdr_context_push (context, &error)) {
    bench_samples_fail (samples, error);
    return;
  }
  if (allocate (&self, &error)
      && bench_check (self.cu,
          write_for (&self, seconds * WARM_UP_SHARE, &rate), "a transfer",
          &error)
      && bench_check (
          self.cu, write_for (&self, seconds, &rate), "a transfer", &error))
    g_array_append_val (samples->values, rate);
  else
    bench_samples_fail (samples, error);
  release (&self);
  gst_vkgdr_context_pop (context);
}
