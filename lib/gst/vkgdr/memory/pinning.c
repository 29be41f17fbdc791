/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinning.c: host memory of other elements, pinned for DMA
 *
 * Pinning takes as long as copying, so it pays for memory that comes back,
 * which is known when it is seen for the second time.
 *
 * What is pinned are pages, not addresses: if an address gets other pages while
 * it is pinned, DMA goes on using the old pages, without an error. So only
 * memory is pinned whose address keeps its pages:
 *
 * - this library's own pinned memory, which is pinned already;
 * - system memory whose bytes are in one piece with the GstMemory. A reference
 *   keeps it from being freed while it is pinned;
 * - memory of a file descriptor, through a mapping that this file makes and
 *   keeps.
 *
 * Any other kind is copied by the CPU.
 *
 * The driver unpins memory only when the device is idle. So the owner of a
 * memory must not wait for that: a thread looks from time to time which
 * memories nobody else has any more, unpins these, and frees them.
 */

#include <sys/mman.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>

#include "memory/memory-private.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_pinning_debug);
#define GST_CAT_DEFAULT gst_vkgdr_pinning_debug

/* Microseconds between two looks for memories that nobody else has. */
#define LOOK_INTERVAL (50 * G_TIME_SPAN_MILLISECOND)

/* Bytes behind the GstMemory within which its own bytes begin, its alignment
 * not counted: the size of the structure of GStreamer's system allocator, and
 * room for later versions of that. */
#define STRUCTURE_MAX 1024

typedef enum { SEEN_ONCE, PINNING, PINNED, CANNOT_PIN } State;

/* A memory that is pinned. */
typedef struct {
  GstVkgdrContext *context; /* a reference */
  GstMemory *memory;        /* a reference; NULL for a file descriptor's */
  guint8 *data;
  gsize size;
} Pin;

/* What is known of a memory; attached to it. */
typedef struct {
  State state;
  guint8 *data; /* what is pinned; the first byte of the root */
  Pin *pin;     /* of a file descriptor's memory, which ends with it; or NULL */
} Known;

static GMutex lock;     /* for Known of all memories, and for what follows */
static GPtrArray *pins; /* of Pin that have a memory */
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

/* In the thread that may wait for the device. */
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

static void look_later (GstVkgdrContext *context);

/* In that thread: unpins what nobody else has any more. */
static void
look (gpointer user_data)
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
    look_later (context);
  gst_vkgdr_context_unref_in_background (context);
}

/* Each pin keeps the context alive, so the look may, too. */
static void
look_later (GstVkgdrContext *context)
{
  if (!gst_vkgdr_reclaim_later (context, LOOK_INTERVAL, look,
          gst_vkgdr_context_ref_in_background (context)))
    gst_vkgdr_context_unref_in_background (context);
}

/* With the lock held. */
static gboolean
has_pins (GstVkgdrContext *context)
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
  first = !has_pins (pin->context);
  g_ptr_array_add (pins, pin);
  g_mutex_unlock (&lock);
  if (first)
    look_later (pin->context);
}

/* --- pinning ---------------------------------------------------------------
 */

/* Whether the bytes of @memory, whose first one is at @data, are in one piece
 * with the structure, as GStreamer's default allocator makes it: they live as
 * long as that. Memory that wraps an application's bytes is not. */
static gboolean
is_in_one_piece (GstMemory *memory, const guint8 *data)
{
  const guint8 *begin = (const guint8 *) memory;

  return g_strcmp0 (memory->allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0
         && data > begin && data <= begin + STRUCTURE_MAX + memory->align;
}

/* A mapping of its own, which stays. Memory of a DMA buffer needs calls around
 * each access, and may not be ordinary memory. */
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

/* Sets `data`, and `memory` if a reference has to keep the bytes. */
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
        "its address may get other pages while it lives");
    return FALSE;
  }
  pin->data = first;
  pin->memory = gst_memory_ref (memory);
  /* It may be unpinned only after gst_deinit (). */
  GST_MINI_OBJECT_FLAG_SET (memory, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  return TRUE;
}

static void
log_failure (GstMemory *memory, const GError *error)
{
  static gint told = FALSE;
  gboolean first = g_atomic_int_compare_and_exchange (&told, FALSE, TRUE);

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

/* What is known of @memory; notes that it was seen. */
static Known *
see (GstMemory *memory, gboolean *is_second_time)
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
 * Pins @memory, so that transfers to and from it run at full speed and
 * asynchronously, if it is known to come back: that is, from the second call
 * with it, or with a part of it, on. Memory whose address may get other pages
 * while it lives cannot be pinned. Memory stays pinned until it is freed.
 *
 * The result is an address for DMA alone. It need not be the one that mapping
 * @memory gives, but the bytes are the same. Keep @memory mapped during the
 * transfer, so that nobody writes to it. May be called from any thread.
 *
 * Returns: (transfer none) (nullable): the first byte of @memory in pinned
 *   memory, valid as long as @memory; %NULL if it is not pinned
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
  known = see (root, &is_second_time);
  if (is_second_time)
    pin_known (context, root, known);
  g_mutex_lock (&lock);
  data = known->state == PINNED ? known->data : NULL;
  g_mutex_unlock (&lock);
  return data ? data + memory->offset : NULL;
}

/**
 * gst_vkgdr_context_pin_memory:
 * @context: a context
 * @memory: any memory that the CPU can map
 *
 * As gst_vkgdr_context_get_pinned_data(), for callers that do not need the
 * address. May be called from any thread.
 *
 * Returns: whether @memory is pinned
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_pin_memory (GstVkgdrContext *context, GstMemory *memory)
{
  return gst_vkgdr_context_get_pinned_data (context, memory) != NULL;
}
