/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-frames.c: the frames that a bare loop writes
 *
 * Must not depend on how long the loop runs, or on the number of loops.
 */

#include "bench-frames.h"

#include <stdlib.h>

#include "bench-device.h"

/* Frames start at multiples of this. */
#define ALIGNMENT ((gsize) 4096)

struct _BenchFrames {
  const vkgdr_cuda *cu;
  BenchLoop loop;
  gsize size;   /* bytes of a frame */
  gsize stride; /* the distance between two frames */
  guint n;

  vkgdr_memory_t window;
  guint8 *host;
  CUdeviceptr device;
  CUstream stream;
  CUevent sent[BENCH_FRAMES_MAX];
};

static gboolean
allocate_ram (BenchFrames *self, GError **error)
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
allocate_window (BenchFrames *self, vkgdr_t window, GError **error)
{
  self->window = vkgdr_memory_alloc (window, self->stride * self->n, 0);
  if (self->window) {
    self->host = vkgdr_memory_get_host_ptr (self->window);
    return TRUE;
  }
  return bench_set_last_error (error);
}

static gboolean
allocate_staged (BenchFrames *self, GError **error)
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
allocate (BenchFrames *self, vkgdr_t window, GError **error)
{
  switch (self->loop) {
  case BENCH_LOOP_RAM:
    return allocate_ram (self, error);
  case BENCH_LOOP_WINDOW:
    return allocate_window (self, window, error);
  default:
    return allocate_staged (self, error);
  }
}

void
bench_frames_free (BenchFrames *self)
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
  g_free (self);
}

BenchFrames *
bench_frames_new (
    vkgdr_t window, BenchLoop loop, gsize size, guint n, GError **error)
{
  BenchFrames *self = g_new0 (BenchFrames, 1);

  self->cu = vkgdr_driver_load ();
  self->loop = loop;
  self->size = size;
  self->stride = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  self->n = MIN (n, BENCH_FRAMES_MAX);
  if (allocate (self, window, error))
    return self;
  bench_frames_free (self);
  return NULL;
}

static CUresult
send (BenchFrames *self, guint frame)
{
  gsize offset = frame * self->stride;
  CUresult result = self->cu->cuMemcpyHtoDAsync (
      self->device + offset, self->host + offset, self->size, self->stream);

  if (result == CUDA_SUCCESS)
    result = self->cu->cuEventRecord (self->sent[frame], self->stream);
  return result;
}

CUresult
bench_frames_write (BenchFrames *self, BenchFill *fill, guint64 number)
{
  guint frame = number % self->n;
  guint8 *host = self->host + frame * self->stride;
  CUresult result = CUDA_SUCCESS;

  if (self->loop == BENCH_LOOP_STAGED)
    result = self->cu->cuEventSynchronize (self->sent[frame]);
  bench_fill_write (fill, host, self->size, number);
  bench_keep_stores ();
  if (self->loop == BENCH_LOOP_WINDOW)
    vkgdr_memory_flush (self->window, frame * self->stride, self->size);
  else if (self->loop == BENCH_LOOP_STAGED && result == CUDA_SUCCESS)
    result = send (self, frame);
  return result;
}
