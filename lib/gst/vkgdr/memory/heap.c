/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/heap.c: see memory/heap.h
 */

#include <stdlib.h>
#include <string.h>

#include "memory/heap.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_heap_debug);
#define GST_CAT_DEFAULT gst_vkgdr_heap_debug

/* Bytes of the smallest slab. Small enough not to waste a 256 MiB window, large
 * enough for thousands of network packets. */
#define SLAB_MIN (16 * 1024 * 1024)

/* A slab holds this many blocks of the size that made it necessary: the
 * buffers of one pool. */
#define BLOCKS_PER_SLAB 4

/* Bytes of a slab are a multiple of this: the page size of GPUs. */
#define SLAB_GRANULE (64 * 1024)

typedef struct {
  gsize offset;
  gsize size;
} Range;

struct _GstVkgdrSlab {
  GstVkgdrPlace place;
  vkgdr_memory_t memory; /* NULL beside the window */
  CUdeviceptr device;
  gsize size;
  guint blocks;
  GArray *free; /* of Range, by offset; neighbours are merged */
};

struct _GstVkgdrHeap {
  GstVkgdrContext *context;
  GPtrArray *slabs;
  gboolean holding;
  guint64 active_bytes;
  guint active_blocks;
};

static gsize
round_up (gsize size, gsize granule)
{
  return (size + granule - 1) / granule * granule;
}

GstVkgdrHeap *
gst_vkgdr_heap_new (GstVkgdrContext *context)
{
  static gsize done = 0;
  GstVkgdrHeap *heap = g_new0 (GstVkgdrHeap, 1);

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_heap_debug, "vkgdrheap", 0, "slabs of vkgdr memory");
    g_once_init_leave (&done, 1);
  }
  heap->context = context; /* the heap's user holds the reference */
  heap->slabs = g_ptr_array_new ();
  heap->holding = TRUE;
  return heap;
}

/* Memory in the window is Vulkan's as well, and has a part of the host's: that
 * is freed also where CUDA lets nobody into its context. */
static void
slab_release (GstVkgdrSlab *slab, GstVkgdrContext *context)
{
  if (slab->place == GST_VKGDR_IN_WINDOW) {
    vkgdr_memory_free (slab->memory);
  } else if (gst_vkgdr_context_push (context, NULL)) {
    gst_vkgdr_context_get_driver (context)->cuMemFree (slab->device);
    gst_vkgdr_context_pop (context);
  }
}

static void
slab_free (GstVkgdrHeap *heap, GstVkgdrSlab *slab)
{
  GST_DEBUG ("freeing a slab of %" G_GSIZE_FORMAT " bytes", slab->size);
  if (gst_vkgdr_context_begin_alone (heap->context, NULL)) {
    slab_release (slab, heap->context);
    gst_vkgdr_context_end_alone (heap->context);
  }
  g_array_unref (slab->free);
  g_free (slab);
}

void
gst_vkgdr_heap_free (GstVkgdrHeap *heap)
{
  g_warn_if_fail (heap->active_blocks == 0);
  gst_vkgdr_heap_trim (heap);
  g_ptr_array_unref (heap->slabs);
  g_free (heap);
}

static gboolean
slab_allocate (GstVkgdrSlab *slab, GstVkgdrContext *context, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  if (slab->place == GST_VKGDR_BESIDE_WINDOW)
    return gst_vkgdr_check (cuda, cuda->cuMemAlloc (&slab->device, slab->size),
        "cuMemAlloc", error);

  slab->memory = vkgdr_memory_alloc (
      gst_vkgdr_context_get_handle (context), slab->size, 0);
  if (!slab->memory) {
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_MEMORY);
    return FALSE;
  }
  slab->device = vkgdr_memory_get_device_ptr (slab->memory);
  return TRUE;
}

static GstVkgdrSlab *
slab_new (GstVkgdrHeap *heap, GstVkgdrPlace place, gsize size, GError **error)
{
  Range all = { 0, size };
  GstVkgdrSlab *slab;
  gboolean ok;

  if (!gst_vkgdr_context_push (heap->context, error))
    return NULL;
  slab = g_new0 (GstVkgdrSlab, 1);
  slab->place = place;
  slab->size = size;
  ok = slab_allocate (slab, heap->context, error);
  gst_vkgdr_context_pop (heap->context);
  if (!ok) {
    g_free (slab);
    return NULL;
  }

  GST_DEBUG ("allocated a slab of %" G_GSIZE_FORMAT " bytes", size);
  slab->free = g_array_new (FALSE, FALSE, sizeof (Range));
  g_array_append_val (slab->free, all);
  g_ptr_array_add (heap->slabs, slab);
  return slab;
}

/* A slab with room to spare for @size; where there is no memory for that,
 * first what is held is given up, then one of just the size will do. */
static GstVkgdrSlab *
grow (GstVkgdrHeap *heap, GstVkgdrPlace place, gsize size, GError **error)
{
  gsize wanted = MAX (SLAB_MIN,
      round_up (MIN (size, G_MAXSIZE / 8) * BLOCKS_PER_SLAB, SLAB_GRANULE));
  GstVkgdrSlab *slab = NULL;

  slab = slab_new (heap, place, wanted, NULL);
  if (slab)
    return slab;
  GST_INFO ("no memory for a slab of %" G_GSIZE_FORMAT " bytes", wanted);
  gst_vkgdr_heap_trim (heap);
  slab = slab_new (heap, place, wanted, NULL);
  if (slab)
    return slab;
  return slab_new (heap, place, round_up (size, SLAB_GRANULE), error);
}

/* The smallest range that @size fits into, so that large ones stay whole. */
static GstVkgdrSlab *
find_best (GstVkgdrHeap *heap, GstVkgdrPlace place, gsize size, guint *index)
{
  GstVkgdrSlab *best = NULL;
  gsize best_size = G_MAXSIZE;
  guint i, k;

  for (i = 0; i < heap->slabs->len; i++) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    for (k = 0; slab->place == place && k < slab->free->len; k++) {
      const Range *range = &g_array_index (slab->free, Range, k);

      if (range->size >= size && range->size < best_size) {
        best = slab;
        best_size = range->size;
        *index = k;
      }
    }
  }
  return best;
}

gboolean
gst_vkgdr_heap_take (GstVkgdrHeap *heap, GstVkgdrPlace place, gsize size,
    GstVkgdrBlock *block, GError **error)
{
  GstVkgdrSlab *slab;
  Range *range;
  guint index = 0;

  if (size > G_MAXSIZE / 2) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
        "%" G_GSIZE_FORMAT " bytes are more than can be addressed", size);
    return FALSE;
  }
  size = round_up (MAX (size, 1), GST_VKGDR_HEAP_GRANULE);
  slab = find_best (heap, place, size, &index);
  if (!slab) {
    slab = grow (heap, place, size, error);
    index = 0;
  }
  if (!slab)
    return FALSE;

  range = &g_array_index (slab->free, Range, index);
  block->slab = slab;
  block->offset = range->offset;
  block->size = size;
  block->host = NULL;
  if (place == GST_VKGDR_IN_WINDOW)
    block->host =
        (guint8 *) vkgdr_memory_get_host_ptr (slab->memory) + block->offset;
  block->device = slab->device + block->offset;
  range->offset += size;
  range->size -= size;
  if (range->size == 0)
    g_array_remove_index (slab->free, index);

  slab->blocks++;
  heap->active_blocks++;
  heap->active_bytes += size;
  return TRUE;
}

/* Puts a range back in its place by offset, merged with its neighbours. */
static void
slab_put (GstVkgdrSlab *slab, gsize offset, gsize size)
{
  GArray *ranges = slab->free;
  Range range = { offset, size };
  guint k = 0;

  while (k < ranges->len && g_array_index (ranges, Range, k).offset < offset)
    k++;
  if (k < ranges->len
      && offset + size == g_array_index (ranges, Range, k).offset) {
    range.size += g_array_index (ranges, Range, k).size;
    g_array_remove_index (ranges, k);
  }
  if (k > 0) {
    Range *before = &g_array_index (ranges, Range, k - 1);

    if (before->offset + before->size == offset) {
      before->size += range.size;
      return;
    }
  }
  g_array_insert_val (ranges, k, range);
}

void
gst_vkgdr_heap_give (GstVkgdrHeap *heap, const GstVkgdrBlock *block)
{
  GstVkgdrSlab *slab = block->slab;

  slab_put (slab, block->offset, block->size);
  slab->blocks--;
  heap->active_blocks--;
  heap->active_bytes -= block->size;
  if (slab->blocks == 0 && !heap->holding) {
    g_ptr_array_remove_fast (heap->slabs, slab);
    slab_free (heap, slab);
  }
}

void
gst_vkgdr_heap_trim (GstVkgdrHeap *heap)
{
  guint i = 0;

  while (i < heap->slabs->len) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    if (slab->blocks > 0) {
      i++;
      continue;
    }
    g_ptr_array_remove_index_fast (heap->slabs, i);
    slab_free (heap, slab);
  }
}

void
gst_vkgdr_heap_stop_holding (GstVkgdrHeap *heap)
{
  heap->holding = FALSE;
  gst_vkgdr_heap_trim (heap);
}

void
gst_vkgdr_heap_get_stats (GstVkgdrHeap *heap, GstVkgdrHeapStats *stats)
{
  guint i;

  memset (stats, 0, sizeof (*stats));
  stats->active_blocks = heap->active_blocks;
  stats->active_bytes = heap->active_bytes;
  stats->slabs = heap->slabs->len;
  for (i = 0; i < heap->slabs->len; i++) {
    const GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    stats->held_blocks += slab->free->len;
    stats->managed_bytes += slab->size;
  }
}

/* libvkgdr answers for flushes through its last error. */
static gboolean
check_last (GError **error)
{
  char *message = vkgdr_last_error ();

  if (!message)
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, message);
  free (message);
  return FALSE;
}

gint
gst_vkgdr_block_export (
    const GstVkgdrBlock *block, gsize *fd_size, gsize *offset, GError **error)
{
  gint fd = vkgdr_memory_get_fd (block->slab->memory);

  if (fd < 0)
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_FAILED);
  *fd_size = vkgdr_memory_get_size (block->slab->memory);
  *offset = block->offset;
  return fd;
}

gboolean
gst_vkgdr_block_flush (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error)
{
  vkgdr_memory_flush (block->slab->memory, block->offset + offset, size);
  return check_last (error);
}

gboolean
gst_vkgdr_block_invalidate (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error)
{
  vkgdr_memory_invalidate (block->slab->memory, block->offset + offset, size);
  return check_last (error);
}
