/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copies.c: copies between the CPU and the device
 *
 * The copies go through the window, or the CUDA driver makes them. The same
 * copies inside ordinary memory are measured for comparison. Does not depend on
 * pipelines.
 */

#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "json.h"

/* The shortest time of one measurement in nanoseconds, so that reading the
 * clock, which takes about 20 ns, does not matter. */
#define MIN_STRETCH 4000

/* The size of the largest copies from an uncached window, which memcpy() reads
 * at 0.06 GB/s, and streaming loads at 1 GB/s. */
#define MAX_READ_MEMCPY ((gsize) 1 << 20)
#define MAX_READ_STREAMING ((gsize) 16 << 20)

/* How the bytes are copied. */
typedef enum {
  BY_MEMCPY,
  BY_STORES,     /* vkgdr_copy_to_bar() */
  BY_STORES_2,   /* the same, with two threads */
  BY_LOADS,      /* vkgdr_copy_from_bar() */
  BY_HTOD,       /* cuMemcpyHtoD() */
  BY_HTOD_ASYNC, /* cuMemcpyHtoDAsync(), and a wait for the stream */
  BY_DTOH,
  BY_DTOH_ASYNC
} How;

/* Memories of the host. The window is the first one. */
typedef enum { WINDOW, RAM, OTHER_RAM, PINNED, N_MEMORIES } Memory;

/**
 * Kind:
 * @id: its name in JSON
 * @label: its name in tables
 * @how: how it copies
 * @from: the source; with BY_DTOH, not used
 * @to: the destination; with BY_HTOD, not used
 * @max_uncached: size of the largest copy if the window is not cached; 0 means
 *   any size
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  How how;
  Memory from;
  Memory to;
  gsize max_uncached;
} Kind;

static const Kind kinds_to_device[] = {
  { "window-memcpy", "window, memcpy", BY_MEMCPY, RAM, WINDOW },
  { "window-copy-1", "window, 1 thread", BY_STORES, RAM, WINDOW },
  { "window-copy-2", "window, 2 threads", BY_STORES_2, RAM, WINDOW },
  { "htod-pageable", "HtoD, pageable", BY_HTOD, RAM, RAM },
  { "htod-pageable-async", "HtoD async, pageable", BY_HTOD_ASYNC, RAM, RAM },
  { "htod-pinned", "HtoD, pinned", BY_HTOD, PINNED, PINNED },
  { "htod-pinned-async", "HtoD async, pinned", BY_HTOD_ASYNC, PINNED, PINNED },
  { "ram-memcpy", "RAM, memcpy", BY_MEMCPY, RAM, OTHER_RAM },
  { "ram-copy-1", "RAM, 1 thread", BY_STORES, RAM, OTHER_RAM },
  { "ram-copy-2", "RAM, 2 threads", BY_STORES_2, RAM, OTHER_RAM },
};

static const Kind kinds_from_device[] = {
  { "window-read-memcpy", "window, memcpy", BY_MEMCPY, WINDOW, RAM,
      MAX_READ_MEMCPY },
  { "window-read-copy", "window, streaming", BY_LOADS, WINDOW, RAM,
      MAX_READ_STREAMING },
  { "dtoh-pageable", "DtoH, pageable", BY_DTOH, RAM, RAM },
  { "dtoh-pageable-async", "DtoH async, pageable", BY_DTOH_ASYNC, RAM, RAM },
  { "dtoh-pinned", "DtoH, pinned", BY_DTOH, PINNED, PINNED },
  { "dtoh-pinned-async", "DtoH async, pinned", BY_DTOH_ASYNC, PINNED, PINNED },
  { "ram-read-memcpy", "RAM, memcpy", BY_MEMCPY, RAM, OTHER_RAM },
  { "ram-read-copy", "RAM, streaming", BY_LOADS, RAM, OTHER_RAM },
};

/**
 * Buffers:
 * @cu: the driver
 * @size: bytes of each memory
 * @handle: the device, for @window
 * @window: memory in the window, or %NULL if the device has none
 * @cached: whether the CPU reads @window as fast as ordinary memory
 * @device: memory that CUDA has allocated
 * @host: host pointers of the memories
 * @stream: for asynchronous copies
 */
typedef struct {
  const vkgdr_cuda *cu;
  gsize size;
  vkgdr_t handle;
  vkgdr_memory_t window;
  gboolean cached;
  CUdeviceptr device;
  guint8 *host[N_MEMORIES];
  CUstream stream;
} Buffers;

/* --- memory --------------------------------------------------------------- */

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
  b->host[WINDOW] = vkgdr_memory_get_host_ptr (b->window);
  return TRUE;
}

/* Writes to all pages of host memory, so that no page fault is measured. */
static gboolean
allocate_host (Buffers *b, GError **error)
{
  guint i;

  for (i = RAM; i <= OTHER_RAM; i++)
    if (posix_memalign ((void **) &b->host[i], 4096, b->size) != 0) {
      b->host[i] = NULL;
      g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
          "there is not enough ordinary memory");
      return FALSE;
    }
  if (!bench_check (
          b->cu->cuMemHostAlloc ((void **) &b->host[PINNED], b->size, 0),
          "cuMemHostAlloc", error))
    return FALSE;
  for (i = RAM; i < N_MEMORIES; i++)
    memset (b->host[i], 0x5a + i, b->size);
  return TRUE;
}

static gboolean
allocate_device (Buffers *b, gsize size, GError **error)
{
  return bench_check (b->cu->cuMemAlloc (&b->device, size), "cuMemAlloc", error)
         && bench_check (
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
  if (b->host[PINNED])
    b->cu->cuMemFreeHost (b->host[PINNED]);
  free (b->host[RAM]);
  free (b->host[OTHER_RAM]);
  vkgdr_memory_free (b->window);
  vkgdr_close (b->handle);
}

/* --- copies by size ------------------------------------------------------- */

static CUresult
copy_by_driver (Buffers *b, const Kind *kind, gsize size)
{
  guint8 *host = b->host[kind->from];
  CUresult result, waited;

  if (kind->how == BY_HTOD)
    return b->cu->cuMemcpyHtoD (b->device, host, size);
  if (kind->how == BY_DTOH)
    return b->cu->cuMemcpyDtoH (host, b->device, size);
  if (kind->how == BY_HTOD_ASYNC)
    result = b->cu->cuMemcpyHtoDAsync (b->device, host, size, b->stream);
  else
    result = b->cu->cuMemcpyDtoHAsync (host, b->device, size, b->stream);
  waited = b->cu->cuStreamSynchronize (b->stream);
  return result == CUDA_SUCCESS ? waited : result;
}

static CUresult
copy (Buffers *b, const Kind *kind, gsize size)
{
  guint8 *from = b->host[kind->from], *to = b->host[kind->to];

  if (kind->how >= BY_HTOD)
    return copy_by_driver (b, kind, size);
  if (kind->from == WINDOW)
    vkgdr_memory_invalidate (b->window, 0, size);
  if (kind->how == BY_MEMCPY)
    memcpy (to, from, size);
  else if (kind->how == BY_LOADS)
    vkgdr_copy_from_bar (to, from, size);
  else
    vkgdr_copy_to_bar (to, from, size, kind->how == BY_STORES_2 ? 2 : 1);
  bench_keep_stores ();
  if (kind->to == WINDOW)
    vkgdr_memory_flush (b->window, 0, size);
  return CUDA_SUCCESS;
}

/* Returns seconds for one call. The calls are timed in batches, which grow
 * until reading the clock does not matter. */
static CUresult
time_calls (Buffers *b, const Kind *kind, gdouble seconds, gdouble *result)
{
  gint64 budget = seconds * 1e9;
  gint64 elapsed = 0;
  guint64 calls = 0;
  guint batch = 1;
  CUresult status;
  guint i;

  status = copy (b, kind, b->size);
  while (status == CUDA_SUCCESS && (calls == 0 || elapsed < budget)) {
    gint64 start = bench_now ();
    gint64 took;

    for (i = 0; i < batch && status == CUDA_SUCCESS; i++)
      status = copy (b, kind, b->size);
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
measure_kinds (Buffers *b, const Kind *kinds, guint n, const gchar *direction,
    JsonObject *request, JsonArray *results)
{
  const gchar *only = bench_get_text (request, "only");
  const Kind *kind;

  for (kind = kinds; kind < kinds + n; kind++) {
    gboolean in_window = kind->from == WINDOW || kind->to == WINDOW;
    GError *error = NULL;
    JsonObject *result;
    gdouble seconds;

    if ((*only && strcmp (only, kind->id) != 0) || (in_window && !b->window)
        || (!b->cached && kind->max_uncached && b->size > kind->max_uncached))
      continue;
    result = json_object_new ();
    json_set_text (result, "id", kind->id);
    json_set_text (result, "label", kind->label);
    json_set_text (result, "direction", direction);
    if (bench_check (time_calls (b, kind, bench_get_number (request, "seconds"),
                         &seconds),
            kind->label, &error))
      json_set_number (result, "seconds", seconds);
    else
      json_set_text (result, "error", error->message);
    g_clear_error (&error);
    json_array_add_object_element (results, result);
  }
}

/* Measures all kinds of copies of `bytes`, or `only` one, each for `seconds`.
 * The reply has their times in `copies`. */
gboolean
bench_copies (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  Buffers b = { vkgdr_driver_load (), bench_get_integer (request, "bytes") };
  JsonArray *results;
  gboolean ok;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = allocate_window (&b, error) && allocate_host (&b, error)
       && allocate_device (&b, b.size, error);
  if (ok) {
    results = json_array_new ();
    measure_kinds (&b, kinds_to_device, G_N_ELEMENTS (kinds_to_device),
        "to-device", request, results);
    measure_kinds (&b, kinds_from_device, G_N_ELEMENTS (kinds_from_device),
        "from-device", request, results);
    json_object_set_array_member (reply, "copies", results);
  }
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
  return ok;
}

/* --- copies on the device ------------------------------------------------- */

/* Adds the time of one copy on the device, in milliseconds. */
static CUresult
time_copy_within (Buffers *b, CUevent *events, gdouble *total)
{
  CUresult result = b->cu->cuEventRecord (events[0], b->stream);
  float took = 0;

  if (result == CUDA_SUCCESS)
    result = b->cu->cuMemcpyDtoDAsync (
        b->device + b->size, b->device, b->size, b->stream);
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
 * of a kernel. Copies in a row would overlap at their ends. Returns seconds. */
static CUresult
time_copies_within (Buffers *b, CUevent *events, gdouble seconds, gdouble *mean)
{
  gdouble total = 0;
  CUresult result = time_copy_within (b, events, &total);
  gint64 until = bench_now () + (gint64) (seconds * 1e9);
  guint64 n = 0;

  total = 0; /* the first copy takes longer */
  while (result == CUDA_SUCCESS && (n == 0 || bench_now () < until)) {
    result = time_copy_within (b, events, &total);
    n++;
  }
  *mean = n ? total / 1e3 / n : 0;
  return result;
}

/* Measures copies of `bytes` on the device for `seconds`. The reply has the
 * time of one copy in `time`. */
gboolean
bench_device_copy (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error)
{
  Buffers b = { vkgdr_driver_load (), bench_get_integer (request, "bytes") };
  gdouble seconds = bench_get_number (request, "seconds"), time = 0;
  CUevent events[2] = { NULL };
  gboolean ok;
  guint i;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = allocate_device (&b, 2 * b.size, error)
       && bench_check (
           b.cu->cuEventCreate (&events[0], 0), "cuEventCreate", error)
       && bench_check (
           b.cu->cuEventCreate (&events[1], 0), "cuEventCreate", error)
       && bench_check (time_copies_within (&b, events, seconds, &time),
           "cuMemcpyDtoDAsync", error);
  json_set_number (reply, "time", time);
  for (i = 0; i < 2; i++)
    if (events[i])
      b.cu->cuEventDestroy (events[i]);
  buffers_clear (&b);
  gst_vkgdr_context_pop (context);
  return ok;
}
