/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinning.c: pins host memory of other elements for DMA
 *
 * Pinning takes as long as copying, so it only pays for memory that is used
 * repeatedly. A memory is pinned when it is used for the second time.
 *
 * Pages are pinned, not addresses: if an address gets other pages while it is
 * pinned, DMA uses the old pages, without an error. So only memory whose
 * address keeps its pages is pinned:
 *
 * - this library's own pinned memory, which is already pinned;
 * - system memory whose bytes are in the same allocation as the GstMemory. A
 *   reference prevents it from being freed while it is pinned;
 * - memory of a file descriptor, through a mapping that this file makes and
 *   keeps.
 *
 * Any other memory is copied by the CPU.
 *
 * The driver unpins memory only when the device is idle. The owner of a memory
 * must not wait for that. So the timer thread looks for memories that have no
 * other owner, and the reclaim thread (sync/reclaim.c) unpins and frees these.
 */

#include <sys/mman.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>

#include "memory/memory-private.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_pinning_debug);
#define GST_CAT_DEFAULT gst_vkgdr_pinning_debug

/* Microseconds between two checks for memories without another owner. A check
 * is cheap: it reads one reference count for each pinned memory. */
#define CHECK_INTERVAL (50 * G_TIME_SPAN_MILLISECOND)

/* The bytes of a system memory follow the GstMemory in the same allocation.
 * They begin at most this many bytes, plus the alignment, after its start.
 * GStreamer's structure is smaller; later versions may have a larger one. */
#define STRUCTURE_MAX_SIZE 1024

typedef enum { SEEN_ONCE, PINNING, PINNED, CANNOT_PIN } State;

/* A memory that is pinned. */
typedef struct {
  GstVkgdrContext *context; /* a reference */
  GstMemory *memory;        /* a reference; NULL for a mapped file */
  guint8 *data;
  gsize size;
} Pin;

/* The state of a memory for pinning; attached to the memory. */
typedef struct {
  State state;
  guint8 *data; /* the pinned address: first byte of the root */
  Pin *pin;     /* owned, for memory of a file descriptor; or NULL */
} Known;

static GMutex lock;     /* protects Known of all memories, and `pins` */
static GPtrArray *pins; /* of Pin with a memory */
static GQuark known_quark;

static void
init (void)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_pinning_debug, "vkgdrpinning", 0,
        "pinning of other host memory");
    known_quark = g_quark_from_static_string ("gst-vkgdr-pinning");
    pins = g_ptr_array_new ();
    g_once_init_leave (&done, 1);
  }
}

/* --- unpinning -------------------------------------------------------------
 */

/* Runs in the reclaim thread, because unpinning may wait for the device. */
static void
unpin (gpointer user_data)
{
  Pin *pin = user_data;

  if (gst_vkgdr_context_push (pin->context, NULL)) {
    gst_vkgdr_context_get_driver (pin->context)
        ->cuMemHostUnregister (pin->data);
    gst_vkgdr_context_pop (pin->context);
  }
  if (pin->memory)
    gst_memory_unref (pin->memory);
  else
    munmap (pin->data, pin->size);
  gst_vkgdr_context_unref_in_background (pin->context);
  g_free (pin);
}

static void
unpin_later (Pin *pin)
{
  gst_vkgdr_reclaim (pin->context, NULL, unpin, pin);
}

static void unpin_unused_later (GstVkgdrContext *context);

/* Runs in the timer thread. Unpins memories without another owner. */
static void
unpin_unused (gpointer user_data)
{
  GstVkgdrContext *context = user_data;
  gboolean again = FALSE;
  GPtrArray *unused = g_ptr_array_new ();
  guint i = 0;

  g_mutex_lock (&lock);
  while (i < pins->len) {
    Pin *pin = g_ptr_array_index (pins, i);

    if (pin->context != context) {
      i++;
    } else if (GST_MINI_OBJECT_REFCOUNT_VALUE (pin->memory) > 1) {
      again = TRUE;
      i++;
    } else {
      g_ptr_array_add (unused, g_ptr_array_remove_index_fast (pins, i));
    }
  }
  g_mutex_unlock (&lock);

  for (i = 0; i < unused->len; i++)
    unpin_later (g_ptr_array_index (unused, i));
  g_ptr_array_unref (unused);
  if (again)
    unpin_unused_later (context);
  gst_vkgdr_context_unref_in_background (context);
}

/* The timer may keep the context alive, since each pin does, too. */
static void
unpin_unused_later (GstVkgdrContext *context)
{
  if (!gst_vkgdr_reclaim_later (context, CHECK_INTERVAL, unpin_unused,
          gst_vkgdr_context_ref_in_background (context)))
    gst_vkgdr_context_unref_in_background (context);
}

static gboolean
has_pins_locked (GstVkgdrContext *context)
{
  guint i;

  for (i = 0; i < pins->len; i++)
    if (((Pin *) g_ptr_array_index (pins, i))->context == context)
      return TRUE;
  return FALSE;
}

static void
remember (Pin *pin)
{
  gboolean first;

  g_mutex_lock (&lock);
  first = !has_pins_locked (pin->context);
  g_ptr_array_add (pins, pin);
  g_mutex_unlock (&lock);
  if (first)
    unpin_unused_later (pin->context);
}

/* --- pinning ---------------------------------------------------------------
 */

/* Whether the bytes of @memory, which begin at @data, are in the same
 * allocation as the structure, as in memory of GStreamer's default allocator.
 * Then they live as long as the structure. Wrapped bytes of an application do
 * not. */
static gboolean
is_in_one_piece (GstMemory *memory, const guint8 *data)
{
  const guint8 *begin = (const guint8 *) memory;

  return g_strcmp0 (memory->allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0
         && data > begin && data <= begin + STRUCTURE_MAX_SIZE + memory->align;
}

/* Maps the file of @memory once more, for as long as the memory lives. Refuses
 * DMA buffers: they need calls around each access, and are not always ordinary
 * memory. */
static guint8 *
map_file (GstMemory *memory)
{
  gpointer data;

  if (!gst_is_fd_memory (memory) || gst_is_dmabuf_memory (memory))
    return NULL;
  data = mmap (NULL, memory->maxsize, PROT_READ | PROT_WRITE, MAP_SHARED,
      gst_fd_memory_get_fd (memory), 0);
  if (data == MAP_FAILED)
    data = mmap (NULL, memory->maxsize, PROT_READ, MAP_SHARED,
        gst_fd_memory_get_fd (memory), 0);
  return data == MAP_FAILED ? NULL : data;
}

static gboolean
register_pages (Pin *pin, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (pin->context);
  gboolean ok;

  if (!gst_vkgdr_context_push (pin->context, error))
    return FALSE;
  ok = gst_vkgdr_check (cuda,
      cuda->cuMemHostRegister (
          pin->data, pin->size, CU_MEMHOSTREGISTER_PORTABLE),
      "cuMemHostRegister", error);
  gst_vkgdr_context_pop (pin->context);
  return ok;
}

/* Sets `data`, and `memory` if a reference is needed to keep the bytes. */
static gboolean
find_pages (Pin *pin, GstMemory *memory, GError **error)
{
  GstMapInfo map;
  guint8 *first = NULL;

  pin->data = map_file (memory);
  if (pin->data)
    return TRUE;
  if (gst_memory_map (memory, &map, GST_MAP_READ)) {
    first = map.data - memory->offset;
    gst_memory_unmap (memory, &map);
  }
  if (!first || !is_in_one_piece (memory, first)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "its pages may be replaced while it is pinned");
    return FALSE;
  }
  pin->data = first;
  pin->memory = gst_memory_ref (memory);
  /* The memory may stay pinned beyond gst_deinit (). */
  GST_MINI_OBJECT_FLAG_SET (memory, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  return TRUE;
}

static void
log_failure (GstMemory *memory, const GError *error)
{
  static gint logged = FALSE;
  gboolean first = g_atomic_int_compare_and_exchange (&logged, FALSE, TRUE);

  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, first ? GST_LEVEL_INFO : GST_LEVEL_DEBUG,
      NULL, "memory of type %s cannot be pinned and is copied: %s",
      memory->allocator->mem_type, error->message);
}

/* Pins all of @memory. NULL if it cannot be pinned. */
static Pin *
pin_new (GstVkgdrContext *context, GstMemory *memory)
{
  Pin *pin = g_new0 (Pin, 1);
  GError *error = NULL;

  pin->context = gst_vkgdr_context_ref_in_background (context);
  pin->size = memory->maxsize;
  if (find_pages (pin, memory, &error)) {
    if (register_pages (pin, &error))
      return pin;
    if (pin->memory)
      gst_memory_unref (pin->memory);
    else
      munmap (pin->data, pin->size);
  }
  log_failure (memory, error);
  g_error_free (error);
  gst_vkgdr_context_unref_in_background (pin->context);
  g_free (pin);
  return NULL;
}

static void
known_free (gpointer user_data)
{
  Known *known = user_data;

  if (known->pin)
    unpin_later (known->pin);
  g_free (known);
}

static void
pin_known (GstVkgdrContext *context, GstMemory *memory, Known *known)
{
  Pin *pin = pin_new (context, memory);

  g_mutex_lock (&lock);
  known->state = pin ? PINNED : CANNOT_PIN;
  known->data = pin ? pin->data : NULL;
  g_mutex_unlock (&lock);
  if (!pin)
    return;
  GST_DEBUG ("pinned %" G_GSIZE_FORMAT " bytes of type %s", pin->size,
      memory->allocator->mem_type);
  if (pin->memory)
    remember (pin);
  else
    known->pin = pin;
}

/* Returns the state of @memory, and counts this use. */
static Known *
count_use (GstMemory *memory, gboolean *is_second_time)
{
  Known *known;

  g_mutex_lock (&lock);
  known = gst_mini_object_get_qdata (GST_MINI_OBJECT (memory), known_quark);
  *is_second_time = known && known->state == SEEN_ONCE;
  if (*is_second_time)
    known->state = PINNING;
  if (!known) {
    known = g_new0 (Known, 1);
    gst_mini_object_set_qdata (
        GST_MINI_OBJECT (memory), known_quark, known, known_free);
  }
  g_mutex_unlock (&lock);
  return known;
}

/**
 * gst_vkgdr_context_get_pinned_data:
 * @context: a context
 * @memory: any memory that the CPU can map
 *
 * Pins @memory for fast and asynchronous transfers if it is used repeatedly: a
 * memory, or the root of a shared part, is pinned with the second call. Only
 * memory whose address keeps its physical pages can be pinned: system memory of
 * GStreamer, and memory of a file descriptor. It stays pinned until it is
 * freed.
 *
 * The result is an address for DMA only. It may differ from the address of a
 * mapping of @memory, but the bytes are the same. Keep @memory mapped during
 * the transfer, so that it is not written. May be called from any thread.
 *
 * Returns: (transfer none) (nullable): the address of the first byte of @memory
 *   in pinned memory, valid as long as @memory; %NULL if it is not pinned
 *
 * Since: 0.2
 */
gpointer
gst_vkgdr_context_get_pinned_data (GstVkgdrContext *context, GstMemory *memory)
{
  GstMemory *root;
  Known *known;
  gboolean is_second_time;
  guint8 *data;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (memory != NULL, NULL);

  if (gst_vkgdr_is_pinned_memory (memory))
    return gst_vkgdr_pinned_memory_get_data (memory);
  init ();
  root = memory->parent ? memory->parent : memory;
  known = count_use (root, &is_second_time);
  if (is_second_time)
    pin_known (context, root, known);
  g_mutex_lock (&lock);
  data = known->state == PINNED ? known->data : NULL;
  g_mutex_unlock (&lock);
  return data ? data + memory->offset : NULL;
}
