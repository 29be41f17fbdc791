/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/register.c: host memory of others, pinned where it lies
 *
 * Pinning takes as long as copying does, so it pays for memory that comes back.
 * That it does is known when it is seen for the second time. What is known of a
 * memory is attached to it, and goes with it.
 */

#include "memory/memory-private.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_register_debug);
#define GST_CAT_DEFAULT gst_vkgdr_register_debug

typedef struct {
  GstVkgdrContext *context; /* NULL while it is not pinned */
  gpointer data;
  gboolean hopeless; /* pinning was tried, and failed */
} Known;

static GMutex lock;
static GQuark known_quark;

static void
known_free (gpointer user_data)
{
  Known *known = user_data;

  if (known->context && gst_vkgdr_context_push_alone (known->context, NULL)) {
    gst_vkgdr_context_get_driver (known->context)
        ->cuMemHostUnregister (known->data);
    gst_vkgdr_context_pop_alone (known->context);
  }
  gst_clear_object (&known->context);
  g_free (known);
}

static void
init (void)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_register_debug, "vkgdrregister", 0,
        "pinning of other host memory");
    known_quark = g_quark_from_static_string ("gst-vkgdr-registered");
    g_once_init_leave (&done, 1);
  }
}

/* Under the lock: pins all of @memory, which nobody has tried before. */
static gboolean
pin (GstVkgdrContext *context, GstMemory *memory, Known *known)
{
  static gboolean told = FALSE;
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GError *error = NULL;
  GstMapInfo map;
  gboolean ok;

  known->hopeless = TRUE;
  if (!gst_memory_map (memory, &map, GST_MAP_READ))
    return FALSE;
  known->data = map.data - memory->offset;
  ok = gst_vkgdr_context_push (context, &error);
  if (ok) {
    ok = gst_vkgdr_check (cuda,
        cuda->cuMemHostRegister (
            known->data, memory->maxsize, CU_MEMHOSTREGISTER_PORTABLE),
        "cuMemHostRegister", &error);
    gst_vkgdr_context_pop (context);
  }
  gst_memory_unmap (memory, &map);
  if (ok) {
    known->hopeless = FALSE;
    known->context = gst_object_ref (context);
    GST_DEBUG ("pinned %" G_GSIZE_FORMAT " bytes of type %s", memory->maxsize,
        memory->allocator->mem_type);
  } else {
    GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, told ? GST_LEVEL_DEBUG : GST_LEVEL_INFO,
        NULL, "memory of type %s cannot be pinned and is copied: %s",
        memory->allocator->mem_type, error->message);
    told = TRUE;
    g_error_free (error);
  }
  return ok;
}

/**
 * gst_vkgdr_context_pin_memory:
 * @context: a context
 * @memory: any memory that the CPU can map
 *
 * Pins @memory, so that transfers to and from it run at full speed and
 * asynchronously, if it is known to come back: that is, from the second call
 * with it, or with a part of it, on. It stays pinned until it is freed.
 *
 * Returns: whether it is pinned
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_pin_memory (GstVkgdrContext *context, GstMemory *memory)
{
  gboolean pinned = FALSE;
  Known *known;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);
  g_return_val_if_fail (memory != NULL, FALSE);

  init ();
  if (memory->parent)
    memory = memory->parent;
  g_mutex_lock (&lock);
  known = gst_mini_object_get_qdata (GST_MINI_OBJECT (memory), known_quark);
  if (!known)
    gst_mini_object_set_qdata (
        GST_MINI_OBJECT (memory), known_quark, g_new0 (Known, 1), known_free);
  else
    pinned = known->context != NULL
             || (!known->hopeless && pin (context, memory, known));
  g_mutex_unlock (&lock);
  return pinned;
}
