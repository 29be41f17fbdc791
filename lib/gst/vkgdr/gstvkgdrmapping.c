/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmapping.c: a mapped memory as an object
 *
 * A GstMapInfo belongs to a block of code; an array in Python or a tensor has
 * owners, and the last of them ends the mapping. Must not know how a memory is
 * mapped, which is gstvkgdrmemory.c's affair.
 */

#include <gst/vkgdr/vkgdr.h>

struct _GstVkgdrMapping {
  gint refcount;     /* atomic */
  gint mapped;       /* atomic; FALSE once it was unmapped */
  GstBuffer *buffer; /* while it is mapped; may be NULL */
  GstMemory *memory;
  GstMapInfo info;
};

G_DEFINE_BOXED_TYPE (GstVkgdrMapping, gst_vkgdr_mapping, gst_vkgdr_mapping_ref,
    gst_vkgdr_mapping_unref)

/* gst_memory_map() has no error: asks the memory what is wrong with it. */
static void
explain (GstMemory *memory, GstMapFlags flags, GError **error)
{
  GError *reason = NULL;

  if (gst_is_vkgdr_memory (memory))
    gst_vkgdr_memory_wait_idle (memory, &reason);
  if (reason) {
    g_propagate_error (error, reason);
    return;
  }
  if (flags & GST_MAP_WRITE)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s cannot be mapped for writing: it is read-only, "
        "mapped already, or others have it too",
        memory->allocator->mem_type);
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s cannot be mapped for reading: it is mapped for "
        "writing, or not readable",
        memory->allocator->mem_type);
}

static GstVkgdrMapping *
map (GstMemory *memory, GstBuffer *buffer, GstMapFlags flags, GError **error)
{
  GstVkgdrMapping *self;

  /* Other memory may take a flag that it does not know for its own. */
  if ((flags & GST_MAP_VKGDR) && !gst_is_vkgdr_memory (memory)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s has no device pointer: put vkgdrupload before it",
        memory->allocator->mem_type);
    return NULL;
  }
  self = g_new0 (GstVkgdrMapping, 1);
  if (!gst_memory_map (memory, &self->info, flags)) {
    g_free (self);
    explain (memory, flags, error);
    return NULL;
  }
  self->refcount = 1;
  self->mapped = TRUE;
  self->memory = gst_memory_ref (memory);
  if (buffer)
    self->buffer = gst_buffer_ref (buffer);
  return self;
}

/**
 * gst_vkgdr_mapping_new:
 * @memory: a memory
 * @flags: as for gst_memory_map(), %GST_MAP_VKGDR among them for the device
 *   pointer
 * @error: return location for a #GError
 *
 * Maps a memory until the last reference to the result is dropped, or
 * gst_vkgdr_mapping_unmap() is called. A memory that a pool will recycle is
 * better mapped with gst_vkgdr_mapping_new_for_buffer(), which keeps it from
 * doing so.
 *
 * Returns: (transfer full) (nullable): the mapping, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrMapping *
gst_vkgdr_mapping_new (GstMemory *memory, GstMapFlags flags, GError **error)
{
  g_return_val_if_fail (memory, NULL);

  return map (memory, NULL, flags, error);
}

/**
 * gst_vkgdr_mapping_new_for_buffer:
 * @buffer: a buffer
 * @index: which of its memories
 * @flags: as for gst_vkgdr_mapping_new()
 * @error: return location for a #GError
 *
 * Maps one memory of a buffer, and keeps the buffer as long.
 *
 * Returns: (transfer full) (nullable): the mapping, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrMapping *
gst_vkgdr_mapping_new_for_buffer (
    GstBuffer *buffer, guint index, GstMapFlags flags, GError **error)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  if (index >= gst_buffer_n_memory (buffer)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "there is no memory %u in a buffer of %u", index,
        gst_buffer_n_memory (buffer));
    return NULL;
  }
  return map (gst_buffer_peek_memory (buffer, index), buffer, flags, error);
}

/**
 * gst_vkgdr_mapping_ref:
 * @mapping: a mapping
 *
 * Returns: (transfer full): @mapping
 *
 * Since: 0.1
 */
GstVkgdrMapping *
gst_vkgdr_mapping_ref (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, NULL);

  g_atomic_int_inc (&mapping->refcount);
  return mapping;
}

/**
 * gst_vkgdr_mapping_unref:
 * @mapping: (transfer full): a mapping
 *
 * Drops a reference; the last one unmaps the memory.
 *
 * Since: 0.1
 */
void
gst_vkgdr_mapping_unref (GstVkgdrMapping *mapping)
{
  g_return_if_fail (mapping);

  if (!g_atomic_int_dec_and_test (&mapping->refcount))
    return;
  gst_vkgdr_mapping_unmap (mapping);
  gst_memory_unref (mapping->memory);
  g_free (mapping);
}

/**
 * gst_vkgdr_mapping_unmap:
 * @mapping: a mapping
 *
 * Ends the mapping now, whoever else holds the object, and lets the buffer go.
 * The pointer is not to be used any more: as long as the object lives, there
 * are bytes where it points to, but not these. The second call does nothing.
 *
 * Since: 0.1
 */
void
gst_vkgdr_mapping_unmap (GstVkgdrMapping *mapping)
{
  g_return_if_fail (mapping);

  if (!g_atomic_int_compare_and_exchange (&mapping->mapped, TRUE, FALSE))
    return;
  gst_memory_unmap (mapping->memory, &mapping->info);
  gst_clear_buffer (&mapping->buffer);
}

/**
 * gst_vkgdr_mapping_get_pointer:
 * @mapping: a mapping
 *
 * Returns: the address that the mapping gave: of the host, or with
 *   %GST_MAP_VKGDR the `CUdeviceptr`; 0 once it was unmapped
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_mapping_get_pointer (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, 0);

  return g_atomic_int_get (&mapping->mapped) ? (guintptr) mapping->info.data
                                             : 0;
}

/**
 * gst_vkgdr_mapping_get_size:
 * @mapping: a mapping
 *
 * Returns: bytes
 *
 * Since: 0.1
 */
gsize
gst_vkgdr_mapping_get_size (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, 0);

  return mapping->info.size;
}

/**
 * gst_vkgdr_mapping_get_flags:
 * @mapping: a mapping
 *
 * Returns: what it was mapped for
 *
 * Since: 0.1
 */
GstMapFlags
gst_vkgdr_mapping_get_flags (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, 0);

  return mapping->info.flags;
}

/**
 * gst_vkgdr_mapping_get_memory:
 * @mapping: a mapping
 *
 * Returns: (transfer none): the memory
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_mapping_get_memory (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, NULL);

  return mapping->memory;
}
