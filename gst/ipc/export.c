/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.c: see ipc/export.h
 */

#include "ipc/export.h"

#include <unistd.h>

/* Attached to a memory: its export. */
typedef struct {
  GstVkgdrIpcExport *export;
  gsize offset; /* offset of the memory in the allocation */
} Place;

static GMutex lock; /* The driver must not be called with this lock held. */
static GHashTable *by_start; /* device pointer -> export, not a reference */
static GHashTable *by_id;    /* the same exports, by number */
static guint64 last_id;
static gint generation; /* atomic */

/* Must be called with the lock held. */
static GQuark
place_quark (void)
{
  static GQuark quark;

  if (!quark)
    quark = g_quark_from_static_string ("gst-vkgdr-ipc-export");
  return quark;
}

void
gst_vkgdr_ipc_export_unref (GstVkgdrIpcExport *self)
{
  gboolean is_last;

  g_mutex_lock (&lock);
  is_last = --self->refcount == 0;
  if (is_last) {
    g_hash_table_remove (by_start, &self->start);
    g_hash_table_remove (by_id, &self->id);
  }
  g_mutex_unlock (&lock);
  if (!is_last)
    return;
  g_atomic_int_inc (&generation);
  close (self->fd);
  g_bytes_unref (self->message);
  g_free (self);
}

static void
free_place (gpointer data)
{
  Place *place = data;

  gst_vkgdr_ipc_export_unref (place->export);
  g_free (place);
}

/* Returns the registered export of the allocation, or registers a new one.
 * Takes ownership of @fd and @description. */
static GstVkgdrIpcExport *
ref_or_register (guint64 start, gint fd, GBytes *description)
{
  GstVkgdrIpcExport *self;

  g_mutex_lock (&lock);
  if (!by_start) {
    by_start = g_hash_table_new (g_int64_hash, g_int64_equal);
    by_id = g_hash_table_new (g_int64_hash, g_int64_equal);
  }
  self = g_hash_table_lookup (by_start, &start);
  if (self) {
    self->refcount++;
  } else {
    self = g_new0 (GstVkgdrIpcExport, 1);
    self->refcount = 1;
    self->id = ++last_id;
    self->start = start;
    self->fd = fd;
    self->message = gst_vkgdr_ipc_write_memory (self->id, description);
    g_hash_table_insert (by_start, &self->start, self);
    g_hash_table_insert (by_id, &self->id, self);
    fd = -1;
  }
  g_mutex_unlock (&lock);
  if (fd >= 0)
    close (fd);
  g_bytes_unref (description);
  return self;
}

static Place *
make_place (GstMemory *root, GError **error)
{
  GBytes *description = NULL;
  gsize offset = 0;
  gint fd = gst_vkgdr_memory_export (root, &description, &offset, error);
  Place *place;

  if (fd < 0)
    return NULL;
  place = g_new0 (Place, 1);
  place->offset = offset;
  place->export = ref_or_register (
      gst_vkgdr_memory_get_device_pointer (root) - offset, fd, description);
  return place;
}

/* If another sink has set the place in the meantime, the first one is kept. */
static void
set_place (GstMemory *root, Place *place)
{
  GstMiniObject *object = GST_MINI_OBJECT_CAST (root);
  gboolean is_first;

  g_mutex_lock (&lock);
  is_first = !gst_mini_object_get_qdata (object, place_quark ());
  if (is_first)
    gst_mini_object_set_qdata (object, place_quark (), place, free_place);
  g_mutex_unlock (&lock);
  if (!is_first)
    free_place (place);
}

/* Returns a reference to the export of @root, or NULL if there is none. */
static GstVkgdrIpcExport *
find (GstMemory *root, gsize *offset)
{
  GstVkgdrIpcExport *self = NULL;
  Place *place;

  g_mutex_lock (&lock);
  place =
      gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (root), place_quark ());
  if (place) {
    self = place->export;
    self->refcount++;
    *offset = place->offset;
  }
  g_mutex_unlock (&lock);
  return self;
}

GstVkgdrIpcExport *
gst_vkgdr_ipc_export_get (
    GstMemory *memory, GstVkgdrIpcRange *range, GError **error)
{
  GstMemory *root = memory->parent ? memory->parent : memory;
  gsize offset = 0;
  GstVkgdrIpcExport *self = find (root, &offset);
  Place *place;

  if (!self) {
    place = make_place (root, error);
    if (!place)
      return NULL;
    set_place (root, place);
    self = find (root, &offset);
  }
  range->id = self->id;
  range->offset = offset + memory->offset - root->offset;
  range->size = memory->size;
  return self;
}

gint
gst_vkgdr_ipc_export_generation (void)
{
  return g_atomic_int_get (&generation);
}

gboolean
gst_vkgdr_ipc_export_lives (guint64 id)
{
  gboolean lives;

  g_mutex_lock (&lock);
  lives = by_id && g_hash_table_contains (by_id, &id);
  g_mutex_unlock (&lock);
  return lives;
}
