/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-memory.c: measures copies between the CPU and the device, by size
 *
 * The copies go through the window or are made by the CUDA driver. The same
 * copies inside ordinary memory are measured for comparison. Does not depend on
 * pipelines.
 */

#include "bench-memory.h"

#include <stdlib.h>
#include <string.h>

#include "bench-clock.h"
#include "bench-device.h"
#include "bench-progress.h"
#include "driver.h"
#include <vkgdr/vkgdr.h>

/* One kind of copy of one size is measured for 1/SHARE of --seconds. There are
 * about two hundred such measurements. */
#define SHARE 20

/* The shortest time of one measurement in nanoseconds, so that reading the
 * clock, which takes about 20 ns, does not matter. */
#define MIN_STRETCH 4000

/* The size of the largest copies from an uncached window, which memcpy() reads
 * at 0.06 GB/s, and streaming loads at 1 GB/s. */
#define MAX_READ_MEMCPY ((gsize) 1 << 20)
#define MAX_READ_STREAMING ((gsize) 16 << 20)

/* The size of a transfer that measures the link. */
#define LINK_SIZE ((gsize) 64 << 20)

static const gsize all_sizes[] = { 64, 256, 1 << 10, 4 << 10, 16 << 10,
  64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20 };
static const gsize quick_sizes[] = { 64, 4 << 10, 256 << 10 };

/**
 * Buffers:
 * @cu: the driver
 * @size: bytes of each memory
 * @handle: the device, for @window
 * @window: memory in the window, or %NULL if the device has none
 * @bar: its host pointer
 * @cached: whether the CPU reads @window as fast as ordinary memory
 * @device: memory that CUDA has allocated
 * @pinned: pinned host memory
 * @ram: ordinary memory
 * @other: a second area of ordinary memory
 * @stream: for asynchronous copies
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

/* --- kinds of copies ---------------------------------------------------- */

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
 * CopyKind:
 * @id: its name in JSON
 * @label: its name in tables
 * @direction: the direction of the copy
 * @copy: makes one copy
 * @max_uncached: size of the largest copy if the window is not cached; 0 means
 *   any size
 *
 * A kind of copy whose name begins with "window-" needs a window.
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  BenchDirection direction;
  CUresult (*copy) (Buffers *b, gsize size);
  gsize max_uncached;
} CopyKind;

static const CopyKind copy_kinds[] = {
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

/* A device without a window is measured without the copies through it. */
static gboolean
allocate_window (Buffers *b, GError **error)
{
  vkgdr_device_info info;

  b->handle = vkgdr_open (
      0, VKGDR_OPEN_CURRENT_CONTEXT_BIT | VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  if (!b->handle)
    return bench_set_last_error (error);
  if (vkgdr_get_window_obstacle (b->handle, NULL, NULL) != VKGDR_OBSTACLE_NONE)
    return TRUE;
  vkgdr_get_device_info (b->handle, &info);
  b->cached = info.host_cached;
  b->window = vkgdr_memory_alloc (b->handle, b->size, 0);
  if (!b->window)
    return bench_set_last_error (error);
  b->bar = vkgdr_memory_get_host_ptr (b->window);
  return TRUE;
}

/* Allocates host memory and writes to all pages, so that no page fault is
 * measured. */
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

/* Returns seconds for one call. The calls are timed in batches, which grow
 * until reading the clock does not matter. */
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
measure (Buffers *b, const CopyKind *kind, BenchPoint *point, gdouble seconds)
{
  GError *error = NULL;
  gdouble value;

  if (point->seconds.error)
    return;
  if (bench_check (b->cu,
          time_calls (b, kind->copy, point->bytes, seconds, &value),
          kind->label, &error))
    g_array_append_val (point->seconds.values, value);
  else
    bench_samples_fail (&point->seconds, error);
}

static gboolean
can_measure (const Buffers *b, const CopyKind *kind)
{
  return b->window || !g_str_has_prefix (kind->id, "window-");
}

/* Makes one curve for each kind of copy that can be measured, with a point for
 * each size up to its maximum. */
static GPtrArray *
make_curves (const Buffers *b, const gsize *sizes, guint n_sizes)
{
  GPtrArray *curves = g_ptr_array_new ();
  guint i, j;

  for (i = 0; i < G_N_ELEMENTS (copy_kinds); i++) {
    BenchCurve *curve;

    if (!can_measure (b, &copy_kinds[i]))
      continue;
    curve = bench_curve_new (
        copy_kinds[i].id, copy_kinds[i].label, copy_kinds[i].direction);
    for (j = 0; j < n_sizes; j++) {
      if (b->cached || !copy_kinds[i].max_uncached
          || sizes[j] <= copy_kinds[i].max_uncached)
        bench_curve_add (curve, sizes[j]);
    }
    g_ptr_array_add (curves, curve);
  }
  return curves;
}

/* Measures one copy of each kind that has a curve. */
static void
measure_size (Buffers *b, GPtrArray *curves, gsize size, gdouble seconds)
{
  guint kind, n = 0;

  for (kind = 0; kind < G_N_ELEMENTS (copy_kinds); kind++) {
    BenchPoint *point;

    if (!can_measure (b, &copy_kinds[kind]))
      continue;
    point = bench_curve_find (g_ptr_array_index (curves, n++), size);
    if (point)
      measure (b, &copy_kinds[kind], point, seconds);
  }
}

/* Measures all kinds of copies in turn for each size, and repeats this. So a
 * disturbance of the machine affects all kinds. */
static void
measure_all (Buffers *b, GPtrArray *curves, const gsize *sizes, guint n_sizes,
    const BenchOptions *options)
{
  guint done = 0;
  guint size;
  gint repeat;

  for (size = 0; size < n_sizes; size++) {
    for (repeat = 0; repeat < options->repeat; repeat++) {
      bench_progress_show (done++, n_sizes * options->repeat,
          "copies of %" G_GSIZE_FORMAT " bytes, repetition %d of %d",
          sizes[size], repeat + 1, options->repeat);
      measure_size (b, curves, sizes[size], options->seconds / SHARE);
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

/* Adds the time of one copy on the device, in milliseconds. */
static CUresult
time_copy_within (
    Buffers *b, CUevent *events, CUdeviceptr to, gsize size, gdouble *total)
{
  CUresult result = b->cu->cuEventRecord (events[0], b->stream);
  float took = 0;

  if (result == CUDA_SUCCESS)
    result = b->cu->cuMemcpyDtoDAsync (to, b->device, size, b->stream);
  if (result == CUDA_SUCCESS)
    result = b->cu->cuEventRecord (events[1], b->stream);
  if (result == CUDA_SUCCESS)
    result = b->cu->cuEventSynchronize (events[1]);
  if (result == CUDA_SUCCESS)
    result = b->cu->cuEventElapsedTime (&took, events[0], events[1]);
  *total += took;
  return result;
}

/* Each copy is measured alone, between two events, in the same way as the time
 * of a kernel. Copies in a row would overlap at their ends. */
static CUresult
time_copies_within (
    Buffers *b, CUevent *events, gsize size, gdouble seconds, gdouble *mean)
{
  gdouble total = 0;
  CUresult result =
      time_copy_within (b, events, b->device + size, size, &total);
  gint64 until = bench_now () + (gint64) (seconds * 1e9);
  guint64 n = 0;

  total = 0; /* the first copy takes longer */
  while (result == CUDA_SUCCESS && (n == 0 || bench_now () < until)) {
    result = time_copy_within (b, events, b->device + size, size, &total);
    n++;
  }
  *mean = n ? total / 1e3 / n : 0;
  return result;
}

void
bench_memory_measure_device (GstVkgdrContext *context, gsize size,
    gdouble seconds, BenchSamples *samples)
{
  Buffers b = { vkgdr_driver_load (), 2 * size };
  CUevent events[2] = { NULL };
  GError *error = NULL;
  gdouble rate, mean = 0;
  guint i;

  if (!gst_vkgdr_context_push (context, &error)) {
    bench_samples_fail (samples, error);
    return;
  }
  if (allocate_device (&b, &error)
      && bench_check (
          b.cu, b.cu->cuEventCreate (&events[0], 0), "cuEventCreate", &error)
      && bench_check (
          b.cu, b.cu->cuEventCreate (&events[1], 0), "cuEventCreate", &error)
      && bench_check (b.cu,
          time_copies_within (&b, events, size, seconds, &mean),
          "cuMemcpyDtoDAsync", &error)) {
    rate = 2.0 * size / mean / 1e9;
    g_array_append_val (samples->values, rate);
  } else {
    bench_samples_fail (samples, error);
  }
  for (i = 0; i < 2; i++)
    if (events[i])
      b.cu->cuEventDestroy (events[i]);
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
}
