/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.c: see ipc/export.h
 */

#include "ipc/export.h"

#include <string.h>
#include <unistd.h>

/* An exported allocation, while a memory of it exists. */
typedef struct {
  guint refcount; /* under the lock: one of each memory */
  guint64 start;  /* device pointer */
  vkgdr_export *export;
} Allocation;

/* Attached to a memory. */
typedef struct {
  Allocation *allocation;
  gsize offset; /* of the memory in the allocation */
} Place;

static GMutex lock; /* The driver must not be called with this lock held. */
static GHashTable *by_start; /* device pointer -> Allocation */

static GQuark
place_quark_locked (void)
{
  static GQuark quark;

  if (!quark)
    quark = g_quark_from_static_string ("gst-vkgdr-ipc-export");
  return quark;
}

/* Called before the memory is freed. So a new allocation at the same address is
 * not mistaken for this one. */
static void
free_place (gpointer data)
{
  Place *place = data;
  Allocation *allocation = place->allocation;
  gboolean is_last;

  g_mutex_lock (&lock);
  is_last = --allocation->refcount == 0;
  if (is_last)
    g_hash_table_remove (by_start, &allocation->start);
  g_mutex_unlock (&lock);
  if (is_last) {
    vkgdr_export_unref (allocation->export);
    g_free (allocation);
  }
  g_free (place);
}

/* Returns the registered export of the allocation, or registers a new one.
 * Takes ownership of @fd. */
static Allocation *
ref_or_register (guint64 start, gint fd, const vkgdr_fd_info *info)
{
  Allocation *self;

  g_mutex_lock (&lock);
  if (!by_start)
    by_start = g_hash_table_new (g_int64_hash, g_int64_equal);
  self = g_hash_table_lookup (by_start, &start);
  if (!self) {
    self = g_new0 (Allocation, 1);
    self->start = start;
    self->export = vkgdr_export_new (fd, info);
    g_hash_table_insert (by_start, &self->start, self);
    fd = -1;
  }
  self->refcount++;
  g_mutex_unlock (&lock);
  if (fd >= 0)
    close (fd);
  return self;
}

static Place *
make_place (GstMemory *root, GError **error)
{
  GBytes *description = NULL;
  gsize offset = 0;
  gint fd = gst_vkgdr_memory_export_fd (root, &description, &offset, error);
  Place *place;

  if (fd < 0)
    return NULL;
  place = g_new0 (Place, 1);
  place->offset = offset;
  place->allocation =
      ref_or_register (gst_vkgdr_memory_get_device_pointer (root) - offset, fd,
          g_bytes_get_data (description, NULL));
  g_bytes_unref (description);
  return place;
}

/* If another sink has set the place in the meantime, the first one is kept. */
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
    export = vkgdr_export_ref (place->allocation->export);
    *offset = place->offset;
  }
  g_mutex_unlock (&lock);
  return export;
}

gboolean
gst_vkgdr_ipc_export (
    GstMemory *memory, vkgdr_server_range *range, GError **error)
{
  GstMemory *root = memory->parent ? memory->parent : memory;
  gsize offset = 0;
  vkgdr_export *export = find (root, &offset);
  Place *place;

  if (!export) {
    place = make_place (root, error);
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
