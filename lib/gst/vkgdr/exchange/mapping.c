/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/mapping.c: a mapped memory as an object
 *
 * A GstMapInfo has a single owner. An array in Python or a tensor may have
 * several owners, and the last one ends the mapping. Must not know how a memory
 * is mapped (memory/map.c).
 */

#include <gst/vkgdr/gstvkgdrmapping.h>

#include "memory/memory-private.h"

struct _GstVkgdrMapping {
  gint refcount;     /* atomic */
  gint mapped;       /* atomic; FALSE after the unmap */
  GstBuffer *buffer; /* kept while mapped; may be NULL */
  GstMemory *memory;
  GstMapInfo info;
  GstVkgdrStream *stream; /* orders the accesses; NULL: the mapping was not made
                             on a stream */
  GMutex lock;
  GPtrArray
      *users; /* of GstVkgdrStream; other streams that use it; under the lock */
  gboolean used_on_unknown_streams; /* see gst_vkgdr_mapping_lend (); under the
                                     * lock */
};

G_DEFINE_BOXED_TYPE (GstVkgdrMapping, gst_vkgdr_mapping, gst_vkgdr_mapping_ref,
    gst_vkgdr_mapping_unref)

/* gst_memory_map () returns no reason, so this function finds out why the
 * mapping failed. */
static void
set_map_error (GstMemory *memory, GstMapFlags flags, GError **error)
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
        "mapped already, or has other users",
        memory->allocator->mem_type);
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s cannot be mapped for reading: it is mapped for "
        "writing, or not readable",
        memory->allocator->mem_type);
}

/* Returns the flags of the lock that gst_memory_map () takes. */
static GstLockFlags
lock_flags (GstMapFlags flags)
{
  return (GstLockFlags) (flags & (GST_MAP_READ | GST_MAP_WRITE));
}

static gboolean
map (GstMemory *memory, GstMapInfo *info, GstMapFlags flags, GError **error)
{
  /* Other memory types may use the same flag for another purpose. */
  if ((flags & GST_MAP_VKGDR) && !gst_is_vkgdr_memory (memory))
    return gst_vkgdr_memory_check (memory, NULL, error);
  if (gst_memory_map (memory, info, flags))
    return TRUE;
  set_map_error (memory, flags, error);
  return FALSE;
}

static gboolean
map_on_stream (GstMemory *memory, GstMapInfo *info, GstMapFlags flags,
    GstVkgdrStream *stream, GError **error)
{
  flags &= GST_MAP_READ | GST_MAP_WRITE;
  if (!gst_vkgdr_memory_check (
          memory, gst_vkgdr_stream_get_context (stream), error))
    return FALSE;
  if (!gst_mini_object_lock (
          GST_MINI_OBJECT_CAST (memory), lock_flags (flags))) {
    set_map_error (memory, flags, error);
    return FALSE;
  }
  if (!gst_vkgdr_memory_begin_access (memory, stream, flags, error)) {
    gst_mini_object_unlock (GST_MINI_OBJECT_CAST (memory), lock_flags (flags));
    return FALSE;
  }
  info->data =
      (gpointer) (guintptr) gst_vkgdr_memory_get_device_pointer (memory);
  info->size = memory->size;
  info->flags = flags | GST_MAP_VKGDR;
  return TRUE;
}

/**
 * gst_vkgdr_mapping_new:
 * @memory: a memory
 * @flags: flags of gst_memory_map(); with %GST_MAP_VKGDR, the device pointer is
 *   mapped
 * @buffer: (nullable): the buffer of the memory, which is kept while the memory
 *   is mapped, so that its pool does not recycle it
 * @stream: (nullable): a stream of the memory's context, which orders the use
 *   of the device pointer
 * @error: return location for a #GError
 *
 * Maps a memory until the last reference to the mapping is dropped, or
 * gst_vkgdr_mapping_unmap() is called.
 *
 * With @stream, the device pointer is mapped, and the CPU does not wait. Work
 * that is queued on @stream from now on waits for the content. The next user of
 * the memory waits for the work that @stream, and the streams of
 * gst_vkgdr_mapping_add_stream(), have queued when the mapping ends, and for
 * nothing else.
 *
 * Returns: (transfer full) (nullable): the mapping, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrMapping *
gst_vkgdr_mapping_new (GstMemory *memory, GstMapFlags flags, GstBuffer *buffer,
    GstVkgdrStream *stream, GError **error)
{
  GstVkgdrMapping *self;
  GstMapInfo info = GST_MAP_INFO_INIT;

  g_return_val_if_fail (memory, NULL);
  g_return_val_if_fail (!stream || GST_IS_VKGDR_STREAM (stream), NULL);

  if (!(stream ? map_on_stream (memory, &info, flags, stream, error)
               : map (memory, &info, flags, error)))
    return NULL;
  self = g_new0 (GstVkgdrMapping, 1);
  self->refcount = 1;
  self->mapped = TRUE;
  self->memory = gst_memory_ref (memory);
  self->info = info;
  if (buffer)
    self->buffer = gst_buffer_ref (buffer);
  if (stream)
    self->stream = gst_object_ref (stream);
  g_mutex_init (&self->lock);
  self->users = g_ptr_array_new_with_free_func (gst_object_unref);
  return self;
}

/* Makes work that is queued on @stream from now on wait for the work that
 * @other has queued. */
static gboolean
wait_for_stream (GstVkgdrStream *stream, GstVkgdrStream *other, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_stream_record (other, error);
  gboolean ok;

  if (!fence)
    return FALSE;
  ok = gst_vkgdr_stream_wait (stream, fence, error);
  gst_vkgdr_fence_unref (fence);
  return ok;
}

/* Makes @stream wait for the content. If the mapping was not made on a stream,
 * the mapping has waited for it. */
static gboolean
join_stream (GstVkgdrMapping *self, GstVkgdrStream *stream, GError **error)
{
  return gst_vkgdr_memory_check (
             self->memory, gst_vkgdr_stream_get_context (stream), error)
         && (!self->stream || wait_for_stream (stream, self->stream, error));
}

/**
 * gst_vkgdr_mapping_add_stream:
 * @mapping: a mapping with %GST_MAP_VKGDR
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Allows another stream to use the memory. Work that is queued on @stream from
 * now on waits for the content, and the next user of the memory waits for the
 * work that @stream has queued when the mapping ends. The CPU does not wait. If
 * the mapping was not made on a stream, this function has no effect: the next
 * user of the memory waits for the whole CUDA context in any case.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_mapping_add_stream (
    GstVkgdrMapping *mapping, GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (mapping, FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!join_stream (mapping, stream, error))
    return FALSE;
  if (!mapping->stream)
    return TRUE;
  g_mutex_lock (&mapping->lock);
  g_ptr_array_add (mapping->users, gst_object_ref (stream));
  g_mutex_unlock (&mapping->lock);
  return TRUE;
}

/**
 * gst_vkgdr_mapping_lend:
 * @mapping: a mapping with %GST_MAP_VKGDR
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Like gst_vkgdr_mapping_add_stream(), for a stream that may be destroyed
 * before the mapping ends, for example because only its handle is known. The
 * stream is not used after this call. Instead, the next user of the memory
 * waits for all work that the CUDA context has queued when the mapping ends.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_mapping_lend (
    GstVkgdrMapping *mapping, GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (mapping, FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!join_stream (mapping, stream, error))
    return FALSE;
  g_mutex_lock (&mapping->lock);
  mapping->used_on_unknown_streams = TRUE;
  g_mutex_unlock (&mapping->lock);
  return TRUE;
}

/* If the mapping's stream cannot wait for another stream that used the memory,
 * the CPU waits for all work of the CUDA context. */
static void
end_on_stream (GstVkgdrMapping *self)
{
  GstMapFlags flags = self->info.flags & (GST_MAP_READ | GST_MAP_WRITE);
  gboolean ok = TRUE;
  guint i;

  g_mutex_lock (&self->lock);
  for (i = 0; i < self->users->len; i++)
    ok =
        wait_for_stream (self->stream, g_ptr_array_index (self->users, i), NULL)
        && ok;
  g_ptr_array_set_size (self->users, 0);
  g_mutex_unlock (&self->lock);
  if (!ok)
    gst_vkgdr_context_synchronize (
        gst_vkgdr_stream_get_context (self->stream), NULL);
  gst_vkgdr_memory_end_access (self->memory, self->stream, flags, NULL);
  if (self->used_on_unknown_streams)
    gst_vkgdr_memory_mark_unknown_stream (self->memory, flags);
  gst_mini_object_unlock (
      GST_MINI_OBJECT_CAST (self->memory), lock_flags (flags));
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
  gst_clear_object (&mapping->stream);
  g_ptr_array_unref (mapping->users);
  g_mutex_clear (&mapping->lock);
  g_free (mapping);
}

/**
 * gst_vkgdr_mapping_unmap:
 * @mapping: a mapping
 *
 * Unmaps the memory now, even if the object has other references, and releases
 * the buffer. The pointer must not be used any more: it may stay a valid
 * address as long as the object lives, but the content is undefined. A second
 * call does nothing.
 *
 * Since: 0.1
 */
void
gst_vkgdr_mapping_unmap (GstVkgdrMapping *mapping)
{
  g_return_if_fail (mapping);

  if (!g_atomic_int_compare_and_exchange (&mapping->mapped, TRUE, FALSE))
    return;
  if (mapping->stream)
    end_on_stream (mapping);
  else
    gst_memory_unmap (mapping->memory, &mapping->info);
  gst_clear_buffer (&mapping->buffer);
}

/**
 * gst_vkgdr_mapping_get_pointer:
 * @mapping: a mapping
 *
 * Returns: the mapped address: a host address, or with %GST_MAP_VKGDR the
 *   `CUdeviceptr`; 0 after the unmap
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
 * Returns: the size in bytes
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
 * Returns: the flags of the mapping
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

/**
 * gst_vkgdr_mapping_get_stream:
 * @mapping: a mapping
 *
 * Returns: (transfer none) (nullable): the stream that orders the use, or %NULL
 *   if the mapping was not made on a stream
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_mapping_get_stream (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, NULL);

  return mapping->stream;
}
