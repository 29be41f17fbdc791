/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-memory.c: copies between the CPU and the device, by size
 *
 * Through the window, and by the CUDA driver; beside them, the same copies
 * within ordinary memory. Knows no pipelines.
 */

#include "bench-memory.h"

#include <stdlib.h>
#include <string.h>

#include "bench-clock.h"
#include "bench-device.h"
#include "bench-progress.h"
#include "driver.h"
#include <vkgdr/vkgdr.h>

/* Part of --seconds that one way to copy takes at one size: there are some two
 * hundred of these. */
#define SHARE 20

/* Nanoseconds that are measured at a stretch at least, so that reading the
 * clock, which takes some 20, does not count. */
#define MIN_STRETCH 4000

/* Largest copies through an uncached window that are read: memcpy() gets 0.06
 * GB/s there, and streaming loads 1 GB/s. */
#define MAX_READ_MEMCPY ((gsize) 1 << 20)
#define MAX_READ_STREAMING ((gsize) 16 << 20)

/* Bytes of a transfer that measures the link. */
#define LINK_SIZE ((gsize) 64 << 20)

static const gsize all_sizes[] = { 64, 256, 1 << 10, 4 << 10, 16 << 10,
  64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20 };
static const gsize quick_sizes[] = { 64, 4 << 10, 256 << 10 };

/**
 * Buffers:
 * @cu: the driver
 * @size: bytes of each memory
 * @handle: the device, for @window
 * @window: memory that the CPU writes to
 * @bar: its host pointer
 * @cached: the CPU reads it as fast as its own
 * @device: memory of CUDA's
 * @pinned: host memory of CUDA's
 * @ram: ordinary memory
 * @other: more of it
 * @stream: for what is asynchronous
 */
typedef struct {
  const vkgdr_cuda *cu;
  gsize size;
  vkgdr_t handle;
  vkgdr_memory_t window;
  guint8 *bar;
  gboolean cached;
  CUdeviceptr device;
  guint8 *pinned;
  guint8 *ram;
  guint8 *other;
  CUstream stream;
} Buffers;

/* --- the ways to copy ---------------------------------------------------- */

static CUresult
window_memcpy (Buffers *b, gsize size)
{
  memcpy (b->bar, b->ram, size);
  vkgdr_memory_flush (b->window, 0, size);
  return CUDA_SUCCESS;
}

static CUresult
window_copy_1 (Buffers *b, gsize size)
{
  vkgdr_copy_to_bar (b->bar, b->ram, size, 1);
  vkgdr_memory_flush (b->window, 0, size);
  return CUDA_SUCCESS;
}

static CUresult
window_copy_2 (Buffers *b, gsize size)
{
  vkgdr_copy_to_bar (b->bar, b->ram, size, 2);
  vkgdr_memory_flush (b->window, 0, size);
  return CUDA_SUCCESS;
}

static CUresult
window_read_memcpy (Buffers *b, gsize size)
{
  vkgdr_memory_invalidate (b->window, 0, size);
  memcpy (b->ram, b->bar, size);
  bench_keep_stores ();
  return CUDA_SUCCESS;
}

static CUresult
window_read_copy (Buffers *b, gsize size)
{
  vkgdr_memory_invalidate (b->window, 0, size);
  vkgdr_copy_from_bar (b->ram, b->bar, size);
  return CUDA_SUCCESS;
}

static CUresult
ram_memcpy (Buffers *b, gsize size)
{
  memcpy (b->other, b->ram, size);
  bench_keep_stores ();
  return CUDA_SUCCESS;
}

static CUresult
ram_copy_1 (Buffers *b, gsize size)
{
  vkgdr_copy_to_bar (b->other, b->ram, size, 1);
  return CUDA_SUCCESS;
}

static CUresult
ram_copy_2 (Buffers *b, gsize size)
{
  vkgdr_copy_to_bar (b->other, b->ram, size, 2);
  return CUDA_SUCCESS;
}

static CUresult
ram_read_copy (Buffers *b, gsize size)
{
  vkgdr_copy_from_bar (b->other, b->ram, size);
  return CUDA_SUCCESS;
}

static CUresult
htod_pageable (Buffers *b, gsize size)
{
  return b->cu->cuMemcpyHtoD (b->device, b->ram, size);
}

static CUresult
htod_pinned (Buffers *b, gsize size)
{
  return b->cu->cuMemcpyHtoD (b->device, b->pinned, size);
}

static CUresult
dtoh_pageable (Buffers *b, gsize size)
{
  return b->cu->cuMemcpyDtoH (b->ram, b->device, size);
}

static CUresult
dtoh_pinned (Buffers *b, gsize size)
{
  return b->cu->cuMemcpyDtoH (b->pinned, b->device, size);
}

static CUresult
finish (Buffers *b, CUresult result)
{
  CUresult waited = b->cu->cuStreamSynchronize (b->stream);

  return result == CUDA_SUCCESS ? waited : result;
}

static CUresult
htod_pageable_async (Buffers *b, gsize size)
{
  return finish (
      b, b->cu->cuMemcpyHtoDAsync (b->device, b->ram, size, b->stream));
}

static CUresult
htod_pinned_async (Buffers *b, gsize size)
{
  return finish (
      b, b->cu->cuMemcpyHtoDAsync (b->device, b->pinned, size, b->stream));
}

static CUresult
dtoh_pageable_async (Buffers *b, gsize size)
{
  return finish (
      b, b->cu->cuMemcpyDtoHAsync (b->ram, b->device, size, b->stream));
}

static CUresult
dtoh_pinned_async (Buffers *b, gsize size)
{
  return finish (
      b, b->cu->cuMemcpyDtoHAsync (b->pinned, b->device, size, b->stream));
}

/**
 * Way:
 * @id: its name in JSON
 * @label: its name for people
 * @direction: which way the bytes go
 * @copy: does it once
 * @max_uncached: bytes of the largest copy where the window is not cached, 0
 *   for any
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  BenchDirection direction;
  CUresult (*copy) (Buffers *b, gsize size);
  gsize max_uncached;
} Way;

static const Way ways[] = {
  { "window-memcpy", "window, memcpy", BENCH_TO_DEVICE, window_memcpy },
  { "window-copy-1", "window, 1 thread", BENCH_TO_DEVICE, window_copy_1 },
  { "window-copy-2", "window, 2 threads", BENCH_TO_DEVICE, window_copy_2 },
  { "htod-pageable", "HtoD, pageable", BENCH_TO_DEVICE, htod_pageable },
  { "htod-pageable-async", "HtoD async, pageable", BENCH_TO_DEVICE,
      htod_pageable_async },
  { "htod-pinned", "HtoD, pinned", BENCH_TO_DEVICE, htod_pinned },
  { "htod-pinned-async", "HtoD async, pinned", BENCH_TO_DEVICE,
      htod_pinned_async },
  { "ram-memcpy", "RAM, memcpy", BENCH_TO_DEVICE, ram_memcpy },
  { "ram-copy-1", "RAM, 1 thread", BENCH_TO_DEVICE, ram_copy_1 },
  { "ram-copy-2", "RAM, 2 threads", BENCH_TO_DEVICE, ram_copy_2 },
  { "window-read-memcpy", "window, memcpy", BENCH_FROM_DEVICE,
      window_read_memcpy, MAX_READ_MEMCPY },
  { "window-read-copy", "window, streaming", BENCH_FROM_DEVICE,
      window_read_copy, MAX_READ_STREAMING },
  { "dtoh-pageable", "DtoH, pageable", BENCH_FROM_DEVICE, dtoh_pageable },
  { "dtoh-pageable-async", "DtoH async, pageable", BENCH_FROM_DEVICE,
      dtoh_pageable_async },
  { "dtoh-pinned", "DtoH, pinned", BENCH_FROM_DEVICE, dtoh_pinned },
  { "dtoh-pinned-async", "DtoH async, pinned", BENCH_FROM_DEVICE,
      dtoh_pinned_async },
  { "ram-read-memcpy", "RAM, memcpy", BENCH_FROM_DEVICE, ram_memcpy },
  { "ram-read-copy", "RAM, streaming", BENCH_FROM_DEVICE, ram_read_copy },
};

/* --- memory -------------------------------------------------------------- */

static gboolean
allocate_window (Buffers *b, GError **error)
{
  vkgdr_device_info info;

  b->handle = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT);
  if (!b->handle)
    return bench_set_last_error (error);
  vkgdr_get_device_info (b->handle, &info);
  b->cached = info.host_cached;
  b->window = vkgdr_memory_alloc (b->handle, b->size, 0);
  if (!b->window)
    return bench_set_last_error (error);
  b->bar = vkgdr_memory_get_host_ptr (b->window);
  return TRUE;
}

/* All of @size bytes, touched, so that no page fault is measured. */
static gboolean
allocate_host (Buffers *b, GError **error)
{
  if (posix_memalign ((void **) &b->ram, 4096, b->size) != 0
      || posix_memalign ((void **) &b->other, 4096, b->size) != 0) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "there is not enough ordinary memory");
    return FALSE;
  }
  memset (b->ram, 0x5a, b->size);
  memset (b->other, 0xa5, b->size);
  if (!bench_check (b->cu,
          b->cu->cuMemHostAlloc ((void **) &b->pinned, b->size, 0),
          "cuMemHostAlloc", error))
    return FALSE;
  memset (b->pinned, 0x5a, b->size);
  return TRUE;
}

static gboolean
allocate_device (Buffers *b, GError **error)
{
  return bench_check (b->cu, b->cu->cuMemAlloc (&b->device, b->size),
             "cuMemAlloc", error)
         && bench_check (b->cu,
             b->cu->cuStreamCreate (&b->stream, CU_STREAM_NON_BLOCKING),
             "cuStreamCreate", error);
}

static void
buffers_clear (Buffers *b)
{
  if (b->stream)
    b->cu->cuStreamDestroy (b->stream);
  if (b->device)
    b->cu->cuMemFree (b->device);
  if (b->pinned)
    b->cu->cuMemFreeHost (b->pinned);
  free (b->ram);
  free (b->other);
  vkgdr_memory_free (b->window);
  vkgdr_close (b->handle);
}

/* --- measuring ----------------------------------------------------------- */

/* Seconds a call. Calls are counted in batches that grow until one is long
 * beside the reading of the clock. */
static CUresult
time_calls (Buffers *b, CUresult (*copy) (Buffers *, gsize), gsize size,
    gdouble seconds, gdouble *result)
{
  gint64 budget = seconds * 1e9;
  gint64 elapsed = 0;
  guint64 calls = 0;
  guint batch = 1;
  CUresult status;
  guint i;

  status = copy (b, size);
  while (status == CUDA_SUCCESS && (calls == 0 || elapsed < budget)) {
    gint64 start = bench_now ();
    gint64 took;

    for (i = 0; i < batch && status == CUDA_SUCCESS; i++)
      status = copy (b, size);
    took = bench_now () - start;
    if (took < MIN_STRETCH) {
      batch *= 2;
      continue;
    }
    elapsed += took;
    calls += batch;
  }
  *result = calls ? elapsed / 1e9 / calls : 0;
  return status;
}

static void
measure (Buffers *b, const Way *way, BenchPoint *point, gdouble seconds)
{
  GError *error = NULL;
  gdouble value;

  if (point->seconds.error)
    return;
  if (bench_check (b->cu,
          time_calls (b, way->copy, point->bytes, seconds, &value), way->label,
          &error))
    g_array_append_val (point->seconds.values, value);
  else
    bench_samples_fail (&point->seconds, error);
}

/* One curve a way, with a point for each size that suits it. */
static GPtrArray *
make_curves (const Buffers *b, const gsize *sizes, guint n_sizes)
{
  GPtrArray *curves = g_ptr_array_new ();
  guint i, j;

  for (i = 0; i < G_N_ELEMENTS (ways); i++) {
    BenchCurve *curve =
        bench_curve_new (ways[i].id, ways[i].label, ways[i].direction);

    for (j = 0; j < n_sizes; j++) {
      if (b->cached || !ways[i].max_uncached
          || sizes[j] <= ways[i].max_uncached)
        bench_curve_add (curve, sizes[j]);
    }
    g_ptr_array_add (curves, curve);
  }
  return curves;
}

/* Size by size, all ways in turn, and that as often as was asked for: what
 * disturbs the machine disturbs all ways. */
static void
measure_all (Buffers *b, GPtrArray *curves, const gsize *sizes, guint n_sizes,
    const BenchOptions *options)
{
  guint done = 0;
  guint size, way;
  gint repeat;

  for (size = 0; size < n_sizes; size++) {
    for (repeat = 0; repeat < options->repeat; repeat++) {
      bench_progress_show (done++, n_sizes * options->repeat,
          "copies of %" G_GSIZE_FORMAT " bytes, repetition %d of %d",
          sizes[size], repeat + 1, options->repeat);
      for (way = 0; way < G_N_ELEMENTS (ways); way++) {
        BenchPoint *point =
            bench_curve_find (g_ptr_array_index (curves, way), sizes[size]);

        if (point)
          measure (b, &ways[way], point, options->seconds / SHARE);
      }
    }
  }
  bench_progress_clear ();
}

GPtrArray *
bench_memory_run (
    GstVkgdrContext *context, const BenchOptions *options, GError **error)
{
  const gsize *sizes = options->quick ? quick_sizes : all_sizes;
  guint n_sizes =
      options->quick ? G_N_ELEMENTS (quick_sizes) : G_N_ELEMENTS (all_sizes);
  Buffers b = { vkgdr_driver_load (), sizes[n_sizes - 1] };
  GPtrArray *curves = NULL;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  if (allocate_window (&b, error) && allocate_host (&b, error)
      && allocate_device (&b, error)) {
    curves = make_curves (&b, sizes, n_sizes);
    measure_all (&b, curves, sizes, n_sizes, options);
  }
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
  return curves;
}

void
bench_memory_measure_link (GstVkgdrContext *context, BenchDirection direction,
    gdouble seconds, BenchSamples *samples)
{
  Buffers b = { vkgdr_driver_load (), LINK_SIZE };
  GError *error = NULL;
  gdouble value = 0;
  CUresult (*copy) (Buffers *, gsize) =
      direction == BENCH_TO_DEVICE ? htod_pinned_async : dtoh_pinned_async;

  if (!gst_vkgdr_context_push (context, &error)) {
    bench_samples_fail (samples, error);
    return;
  }
  if (allocate_host (&b, &error) && allocate_device (&b, &error)
      && bench_check (b.cu, time_calls (&b, copy, b.size, seconds, &value),
          direction == BENCH_TO_DEVICE ? "cuMemcpyHtoDAsync"
                                       : "cuMemcpyDtoHAsync",
          &error)) {
    value = b.size / value / 1e9;
    g_array_append_val (samples->values, value);
  } else {
    bench_samples_fail (samples, error);
  }
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
}

/* Copies that follow each other without a wait: what is measured is the device,
 * not the calls. */
#define COPIES_AT_ONCE 64

static CUresult
copy_within (Buffers *b, CUdeviceptr to, gsize size)
{
  CUresult result = CUDA_SUCCESS;
  guint i;

  for (i = 0; i < COPIES_AT_ONCE && result == CUDA_SUCCESS; i++)
    result = b->cu->cuMemcpyDtoDAsync (to, b->device, size, b->stream);
  return finish (b, result);
}

void
bench_memory_measure_device (GstVkgdrContext *context, gsize size,
    gdouble seconds, BenchSamples *samples)
{
  Buffers b = { vkgdr_driver_load (), 2 * size };
  gint64 start, until;
  GError *error = NULL;
  guint64 calls = 0;
  CUresult result;
  gdouble value;

  if (!gst_vkgdr_context_push (context, &error)) {
    bench_samples_fail (samples, error);
    return;
  }
  if (!allocate_device (&b, &error)) {
    bench_samples_fail (samples, error);
    goto done;
  }
  result = copy_within (&b, b.device + size, size);
  start = bench_now ();
  until = start + (gint64) (seconds * 1e9);
  while (result == CUDA_SUCCESS && (calls == 0 || bench_now () < until)) {
    result = copy_within (&b, b.device + size, size);
    calls += COPIES_AT_ONCE;
  }
  value = calls * 2.0 * size / (bench_now () - start);
  if (bench_check (b.cu, result, "cuMemcpyDtoDAsync", &error))
    g_array_append_val (samples->values, value);
  else
    bench_samples_fail (samples, error);

done:
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
}
