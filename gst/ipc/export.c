/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.c: see ipc/export.h
 */

#include "ipc/export.h"

/* Attached to a memory. */
typedef struct {
  vkgdr_export *export;
  gsize offset; /* of the memory in the allocation */
} Place;

static GMutex lock; /* The driver must not be called with this lock held. */

static GQuark
place_quark_locked (void)
{
  static GQuark quark;

  if (!quark)
    quark = g_quark_from_static_string ("gst-vkgdr-ipc-export");
  return quark;
}

/* Called before the memory is freed. So the export of the allocation ends
 * before a new allocation can have its address. */
static void
free_place (gpointer data)
{
  Place *place = data;

  vkgdr_export_unref (place->export);
  g_free (place);
}

static Place *
make_place (GstMemory *root, gboolean *is_new, GError **error)
{
  GBytes *description = NULL;
  bool is_made = false;
  gsize offset = 0;
  gint fd = gst_vkgdr_memory_export_fd (root, &description, &offset, error);
  Place *place;

  if (fd < 0)
    return NULL;
  place = g_new0 (Place, 1);
  place->offset = offset;
  place->export =
      vkgdr_export_new (gst_vkgdr_memory_get_device_pointer (root) - offset, fd,
          g_bytes_get_data (description, NULL), &is_made);
  *is_new |= is_made;
  g_bytes_unref (description);
  return place;
}

/* If another sink has set a place in the meantime, that one is kept. */
static void
set_place (GstMemory *root, Place *place)
{
  GstMiniObject *object = GST_MINI_OBJECT_CAST (root);
  gboolean is_first;

  g_mutex_lock (&lock);
  is_first = !gst_mini_object_get_qdata (object, place_quark_locked ());
  if (is_first)
    gst_mini_object_set_qdata (
        object, place_quark_locked (), place, free_place);
  g_mutex_unlock (&lock);
  if (!is_first)
    free_place (place);
}

/* Returns a reference to the export of @root, or NULL if there is none. */
static vkgdr_export *
find (GstMemory *root, gsize *offset)
{
  vkgdr_export *export = NULL;
  Place *place;

  g_mutex_lock (&lock);
  place = gst_mini_object_get_qdata (
      GST_MINI_OBJECT_CAST (root), place_quark_locked ());
  if (place) {
    export = vkgdr_export_ref (place->export);
    *offset = place->offset;
  }
  g_mutex_unlock (&lock);
  return export;
}

static GstMemory *
get_root (GstMemory *memory)
{
  return memory->parent ? memory->parent : memory;
}

gboolean
gst_vkgdr_ipc_is_exported (GstMemory *memory)
{
  gsize offset;
  vkgdr_export *export = find (get_root (memory), &offset);

  if (export)
    vkgdr_export_unref (export);
  return export != NULL;
}

gboolean
gst_vkgdr_ipc_export (GstMemory *memory, vkgdr_server_range *range,
    gboolean *is_new, GError **error)
{
  GstMemory *root = get_root (memory);
  gsize offset = 0;
  vkgdr_export *export = find (root, &offset);
  Place *place;

  if (!export) {
    place = make_place (root, is_new, error);
    if (!place)
      return FALSE;
    set_place (root, place);
    export = find (root, &offset);
  }
  range->memory = export;
  range->offset = offset + memory->offset - root->offset;
  range->size = memory->size;
  return TRUE;
}
