/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copies.c: copies between the CPU and the device
 *
 * The copies go through the window, or the CUDA driver makes them. The same
 * copies inside ordinary memory, and on the device, are measured for
 * comparison. Does not depend on pipelines.
 */

#include <string.h>

#include "helper.h"

/* The shortest time of one measurement in nanoseconds, so that reading the
 * clock, which takes about 20 ns, does not matter. */
#define MIN_STRETCH 4000

/* The size of the largest copies from an uncached window, which memcpy() reads
 * at 0.06 GB/s, and streaming loads at 1 GB/s. */
#define MAX_READ_MEMCPY ((gsize) 1 << 20)
#define MAX_READ_STREAMING ((gsize) 16 << 20)

/* How the bytes are copied. With two threads, BY_STORES_2 is BY_STORES. An
 * asynchronous copy is waited for. */
typedef enum {
  BY_MEMCPY,
  BY_STORES, /* vkgdr_copy_to_bar() */
  BY_STORES_2,
  BY_LOADS, /* vkgdr_copy_from_bar() */
  BY_HTOD,
  BY_HTOD_ASYNC,
  BY_DTOH,
  BY_DTOH_ASYNC,
  BY_DTOD /* timed by the device */
} How;

/* Memories of the host. The window is the first one. */
typedef enum { WINDOW, RAM, OTHER_RAM, PINNED, N_MEMORIES } Memory;

static const BenchPlace places[N_MEMORIES] = { BENCH_WINDOW, BENCH_RAM,
  BENCH_RAM, BENCH_PINNED };

typedef struct {
  const gchar *id;
  const gchar *label;
  const gchar *direction;
  How how;
  Memory from;        /* for HtoD and DtoH: the memory of the host */
  Memory to;          /* for HtoD and DtoH: not used */
  gsize max_uncached; /* size of the largest copy if the window is not cached; 0
                         means any size */
} Kind;

#define TO "to-device"
#define FROM "from-device"

static const Kind kinds[] = {
  { "window-memcpy", "window, memcpy", TO, BY_MEMCPY, RAM, WINDOW },
  { "window-copy-1", "window, 1 thread", TO, BY_STORES, RAM, WINDOW },
  { "window-copy-2", "window, 2 threads", TO, BY_STORES_2, RAM, WINDOW },
  { "htod-pageable", "HtoD, pageable", TO, BY_HTOD, RAM },
  { "htod-pageable-async", "HtoD async, pageable", TO, BY_HTOD_ASYNC, RAM },
  { "htod-pinned", "HtoD, pinned", TO, BY_HTOD, PINNED },
  { "htod-pinned-async", "HtoD async, pinned", TO, BY_HTOD_ASYNC, PINNED },
  { "ram-memcpy", "RAM, memcpy", TO, BY_MEMCPY, RAM, OTHER_RAM },
  { "ram-copy-1", "RAM, 1 thread", TO, BY_STORES, RAM, OTHER_RAM },
  { "ram-copy-2", "RAM, 2 threads", TO, BY_STORES_2, RAM, OTHER_RAM },
  { "window-read-memcpy", "window, memcpy", FROM, BY_MEMCPY, WINDOW, RAM,
      MAX_READ_MEMCPY },
  { "window-read-copy", "window, streaming", FROM, BY_LOADS, WINDOW, RAM,
      MAX_READ_STREAMING },
  { "dtoh-pageable", "DtoH, pageable", FROM, BY_DTOH, RAM },
  { "dtoh-pageable-async", "DtoH async, pageable", FROM, BY_DTOH_ASYNC, RAM },
  { "dtoh-pinned", "DtoH, pinned", FROM, BY_DTOH, PINNED },
  { "dtoh-pinned-async", "DtoH async, pinned", FROM, BY_DTOH_ASYNC, PINNED },
  { "ram-read-memcpy", "RAM, memcpy", FROM, BY_MEMCPY, RAM, OTHER_RAM },
  { "ram-read-copy", "RAM, streaming", FROM, BY_LOADS, RAM, OTHER_RAM },
  /* only if it is asked for */
  { "on-device", "on the device", "on-device", BY_DTOD, RAM, OTHER_RAM },
};

typedef struct {
  const vkgdr_cuda *cu;
  gsize size;          /* of each memory */
  vkgdr_t handle;      /* the device, for the window */
  gboolean has_window; /* FALSE: copies through the window are left out */
  gboolean cached;     /* the CPU reads the window as fast as ordinary memory */
  BenchBlock blocks[N_MEMORIES];
  BenchTarget target; /* twice the size */
  CUevent events[2];
  gdouble device_time; /* of copies on the device, in milliseconds */
  guint64 n_device;    /* copies on the device */
} Buffers;

static gboolean
open_window (Buffers *b, GError **error)
{
  vkgdr_device_info info;

  b->handle = vkgdr_open (
      0, VKGDR_OPEN_CURRENT_CONTEXT_BIT | VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  if (!b->handle)
    return bench_set_last_error (error);
  b->has_window =
      vkgdr_get_window_obstacle (b->handle, NULL, NULL) == VKGDR_OBSTACLE_NONE;
  vkgdr_get_device_info (b->handle, &info);
  b->cached = info.host_cached;
  return TRUE;
}

static gboolean
allocate (Buffers *b, GError **error)
{
  guint i;

  if (!open_window (b, error))
    return FALSE;
  for (i = b->has_window ? WINDOW : RAM; i < N_MEMORIES; i++)
    if (!bench_block_init (&b->blocks[i], places[i], b->handle, b->size, error))
      return FALSE;
  for (i = 0; i < 2; i++)
    if (!bench_check (
            b->cu->cuEventCreate (&b->events[i], 0), "cuEventCreate", error))
      return FALSE;
  return bench_target_init (&b->target, 2 * b->size, error);
}

static void
buffers_clear (Buffers *b)
{
  guint i;

  for (i = 0; i < N_MEMORIES; i++)
    bench_block_clear (&b->blocks[i]);
  bench_target_clear (&b->target);
  for (i = 0; i < 2; i++)
    if (b->events[i])
      b->cu->cuEventDestroy (b->events[i]);
  vkgdr_close (b->handle);
}

/* --- copies by size ------------------------------------------------------- */

static CUresult
wait_for (Buffers *b, CUresult result)
{
  CUresult waited = b->cu->cuStreamSynchronize (b->target.stream);

  return result == CUDA_SUCCESS ? waited : result;
}

/* Each copy is measured alone, between two events, in the same way as the time
 * of a kernel. Copies in a row would overlap at their ends. */
static CUresult
copy_on_device (Buffers *b)
{
  BenchTarget t = b->target;
  CUresult result = b->cu->cuEventRecord (b->events[0], t.stream);
  float took = 0;

  if (result == CUDA_SUCCESS)
    result = b->cu->cuMemcpyDtoDAsync (
        t.device + b->size, t.device, b->size, t.stream);
  if (result == CUDA_SUCCESS)
    result = b->cu->cuEventRecord (b->events[1], t.stream);
  result = wait_for (b, result);
  if (result == CUDA_SUCCESS)
    result = b->cu->cuEventElapsedTime (&took, b->events[0], b->events[1]);
  b->device_time += took;
  b->n_device++;
  return result;
}

static CUresult
copy (Buffers *b, const Kind *kind)
{
  guint8 *from = b->blocks[kind->from].host, *to = b->blocks[kind->to].host;
  BenchTarget t = b->target;
  gsize size = b->size;

  if (kind->from == WINDOW)
    vkgdr_memory_invalidate (b->blocks[WINDOW].window, 0, size);
  switch (kind->how) {
  case BY_HTOD:
    return b->cu->cuMemcpyHtoD (t.device, from, size);
  case BY_DTOH:
    return b->cu->cuMemcpyDtoH (from, t.device, size);
  case BY_HTOD_ASYNC:
    return wait_for (
        b, b->cu->cuMemcpyHtoDAsync (t.device, from, size, t.stream));
  case BY_DTOH_ASYNC:
    return wait_for (
        b, b->cu->cuMemcpyDtoHAsync (from, t.device, size, t.stream));
  case BY_DTOD:
    return copy_on_device (b);
  case BY_MEMCPY:
    memcpy (to, from, size);
    break;
  case BY_LOADS:
    vkgdr_copy_from_bar (to, from, size);
    break;
  default:
    vkgdr_copy_to_bar (to, from, size, kind->how == BY_STORES_2 ? 2 : 1);
  }
  bench_keep_stores ();
  if (kind->to == WINDOW)
    vkgdr_memory_flush (b->blocks[WINDOW].window, 0, size);
  return CUDA_SUCCESS;
}

/* Returns seconds for one call. The calls are timed in batches, which grow
 * until reading the clock does not matter. */
static CUresult
time_calls (Buffers *b, const Kind *kind, gdouble seconds, gdouble *result)
{
  gint64 budget = seconds * 1e9, elapsed = 0;
  guint64 calls = 0;
  guint batch = 1, i;
  CUresult status = copy (b, kind);

  b->device_time = b->n_device = 0; /* the first copy takes longer */
  while (status == CUDA_SUCCESS && (calls == 0 || elapsed < budget)) {
    gint64 start = bench_now ();
    gint64 took;

    for (i = 0; i < batch && status == CUDA_SUCCESS; i++)
      status = copy (b, kind);
    took = bench_now () - start;
    if (took < MIN_STRETCH) {
      batch *= 2;
      continue;
    }
    elapsed += took;
    calls += batch;
  }
  *result = calls ? elapsed / 1e9 / calls : 0;
  if (b->n_device > 0)
    *result = b->device_time / 1e3 / b->n_device;
  return status;
}

static gboolean
is_measured (const Buffers *b, const Kind *kind, const gchar *only)
{
  gboolean calls_driver = kind->how >= BY_HTOD;
  gboolean in_window =
      kind->from == WINDOW || (!calls_driver && kind->to == WINDOW);

  return (*only ? strcmp (only, kind->id) == 0 : kind->how != BY_DTOD)
         && (b->has_window || !in_window)
         && (b->cached || !kind->max_uncached || b->size <= kind->max_uncached);
}

static JsonObject *
measure_kind (Buffers *b, const Kind *kind, gdouble seconds)
{
  JsonObject *result = json_object_new ();
  GError *error = NULL;
  gdouble time;

  bench_set_text (result, "id", kind->id);
  bench_set_text (result, "label", kind->label);
  bench_set_text (result, "direction", kind->direction);
  if (bench_check (time_calls (b, kind, seconds, &time), kind->label, &error))
    bench_set_number (result, "seconds", time);
  else
    bench_set_text (result, "error", error->message);
  g_clear_error (&error);
  return result;
}

/* Measures all kinds of copies of `bytes`, or `only` one, each for `seconds`.
 * The reply has their times in `copies`. */
gboolean
bench_copies (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  Buffers b = { vkgdr_driver_load (), bench_get_integer (request, "bytes") };
  JsonArray *results = json_array_new ();
  gboolean ok;
  guint i;

  json_object_set_array_member (reply, "copies", results);
  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = allocate (&b, error);
  for (i = 0; ok && i < G_N_ELEMENTS (kinds); i++)
    if (is_measured (&b, &kinds[i], bench_get_text (request, "only")))
      json_array_add_object_element (results,
          measure_kind (&b, &kinds[i], bench_get_number (request, "seconds")));
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
  return ok;
}
