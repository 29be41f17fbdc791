/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copies.c: memory, and copies between the CPU and the device
 *
 * The copies go through the window, or the CUDA driver makes them. The same
 * copies inside ordinary memory are measured for comparison. Does not depend on
 * pipelines.
 */

#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define ALIGNMENT 4096

/* --- memory --------------------------------------------------------------- */

/* The device for the window, which is opened once. */
static vkgdr_t
get_window (void)
{
  static vkgdr_t window;

  if (!window)
    window = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT);
  if (!window)
    bench_die_of_vkgdr ();
  return window;
}

void
bench_block_init (BenchBlock *block, const gchar *place, gsize size)
{
  void *memory = NULL;

  *block = (BenchBlock){ 0 };
  if (g_str_equal (place, "window")) {
    block->window = vkgdr_memory_alloc (get_window (), size, 0);
    if (!block->window)
      bench_die_of_vkgdr ();
    memory = vkgdr_memory_get_host_ptr (block->window);
  } else if (g_str_equal (place, "pinned")) {
    block->is_pinned = TRUE;
    bench_check (vkgdr_driver_load ()->cuMemHostAlloc (&memory, size, 0),
        "cuMemHostAlloc");
  } else if (posix_memalign (&memory, ALIGNMENT, size) != 0) {
    bench_die ("there is not enough ordinary memory");
  }
  block->host = memset (memory, 0x5a, size);
}

void
bench_block_clear (BenchBlock *block)
{
  vkgdr_memory_free (block->window);
  if (block->is_pinned)
    vkgdr_driver_load ()->cuMemFreeHost (block->host);
  else if (!block->window)
    free (block->host);
}

/* --- copies --------------------------------------------------------------- */

/* How the bytes are copied. With two threads, STORES_2 is STORES. */
typedef enum {
  MEMCPY,
  STORES, /* vkgdr_copy_to_bar() */
  STORES_2,
  LOADS, /* vkgdr_copy_from_bar() */
  HTOD,
  DTOH,
  DTOD /* timed by the device */
} How;

static const gchar *const hows[] = { "memcpy", "stores", "stores-2", "loads",
  "htod", "dtoh", "dtod" };

typedef struct {
  const vkgdr_cuda *cu;
  How how;
  gsize size;
  BenchBlock from; /* also the host's memory that is copied to, from a device */
  BenchBlock to;   /* of a copy that the driver does not make */
  CUdeviceptr device; /* of one that the driver makes */
  CUevent events[2];
  gdouble device_time; /* of copies on the device, in milliseconds */
  guint n_copies;
} Copy;

/* Each copy is measured alone, between two events, in the same way as the time
 * of a kernel. Copies in a row would overlap at their ends. */
static void
copy_on_device (Copy *c)
{
  float took = 0;

  bench_check (c->cu->cuEventRecord (c->events[0], NULL), "cuEventRecord");
  bench_check (
      c->cu->cuMemcpyDtoDAsync (c->device + c->size, c->device, c->size, NULL),
      "cuMemcpyDtoDAsync");
  bench_check (c->cu->cuEventRecord (c->events[1], NULL), "cuEventRecord");
  bench_check (c->cu->cuEventSynchronize (c->events[1]), "cuEventSynchronize");
  bench_check (c->cu->cuEventElapsedTime (&took, c->events[0], c->events[1]),
      "cuEventElapsedTime");
  c->device_time += took;
  c->n_copies++;
}

static void
copy (gpointer data)
{
  Copy *c = data;
  guint8 *from = c->from.host, *to = c->to.host;
  gsize size = c->size;

  if (c->from.window)
    vkgdr_memory_invalidate (c->from.window, 0, size);
  switch (c->how) {
  case MEMCPY:
    memcpy (to, from, size);
    break;
  case STORES:
  case STORES_2:
    vkgdr_copy_to_bar (to, from, size, c->how == STORES_2 ? 2 : 1);
    break;
  case LOADS:
    vkgdr_copy_from_bar (to, from, size);
    break;
  case HTOD:
    bench_check (c->cu->cuMemcpyHtoD (c->device, from, size), "cuMemcpyHtoD");
    break;
  case DTOH:
    bench_check (c->cu->cuMemcpyDtoH (from, c->device, size), "cuMemcpyDtoH");
    break;
  case DTOD:
    copy_on_device (c);
    break;
  }
  bench_keep_stores ();
  if (c->to.window)
    vkgdr_memory_flush (c->to.window, 0, size);
}

/* The request has `bytes`, `how` (of hows), `from` and, for copies by the CPU,
 * `to` (places), and `seconds`. The reply has `seconds` of one copy. */
void
bench_copy (GVariant *request)
{
  Copy c = { .cu = vkgdr_driver_load () };
  const gchar *how, *from, *to;
  gdouble seconds;
  gint64 size;
  guint i;

  g_variant_lookup (request, "bytes", "x", &size);
  g_variant_lookup (request, "how", "&s", &how);
  g_variant_lookup (request, "from", "&s", &from);
  g_variant_lookup (request, "to", "&s", &to);
  g_variant_lookup (request, "seconds", "d", &seconds);
  c.size = size;
  while (strcmp (how, hows[c.how]) != 0)
    c.how++;
  bench_block_init (&c.from, from, size);
  if (c.how < HTOD)
    bench_block_init (&c.to, to, size);
  else
    bench_check (c.cu->cuMemAlloc (&c.device, 2 * size), "cuMemAlloc");
  for (i = 0; i < 2; i++)
    bench_check (c.cu->cuEventCreate (&c.events[i], 0), "cuEventCreate");
  copy (&c); /* the first copy takes longer */
  c.device_time = c.n_copies = 0;
  seconds = bench_time_calls (copy, &c, seconds);
  if (c.n_copies > 0)
    seconds = c.device_time / 1e3 / c.n_copies;
  bench_reply (g_variant_new_parsed ("{'seconds': %d}", seconds));
  bench_block_clear (&c.from);
  bench_block_clear (&c.to);
  for (i = 0; i < 2; i++)
    c.cu->cuEventDestroy (c.events[i]);
  c.cu->cuMemFree (c.device);
}
