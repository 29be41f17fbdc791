/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/mapping.c: a mapped memory as an object
 *
 * A GstMapInfo belongs to a block of code; an array in Python or a tensor has
 * owners, and the last of them ends the mapping. Must not know how a memory is
 * mapped, which is memory/memory.c's affair.
 */

#include "memory/memory-private.h"

struct _GstVkgdrMapping {
  gint refcount;     /* atomic */
  gint mapped;       /* atomic; FALSE once it was unmapped */
  GstBuffer *buffer; /* while it is mapped; may be NULL */
  GstMemory *memory;
  GstMapInfo info;
  GstVkgdrStream *stream; /* that the use is ordered by, or NULL: the CPU */
  GMutex lock;
  GPtrArray *users; /* of GstVkgdrStream: who else uses it; under the lock */
  gboolean lent;    /* and so does one that may be gone; under the lock */
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
complete (GstVkgdrMapping *self, GstMemory *memory, GstBuffer *buffer)
{
  self->refcount = 1;
  self->mapped = TRUE;
  self->memory = gst_memory_ref (memory);
  if (buffer)
    self->buffer = gst_buffer_ref (buffer);
  g_mutex_init (&self->lock);
  self->users = g_ptr_array_new_with_free_func (gst_object_unref);
  return self;
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
  return complete (self, memory, buffer);
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

/* The lock that gst_memory_map () takes. */
static GstLockFlags
lock_flags (GstMapFlags flags)
{
  return (GstLockFlags) (flags & (GST_MAP_READ | GST_MAP_WRITE));
}

static gboolean
check_stream (GstMemory *memory, GstVkgdrStream *stream, GError **error)
{
  if (!gst_is_vkgdr_memory (memory)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s has no device pointer: put vkgdrupload before it",
        memory->allocator->mem_type);
    return FALSE;
  }
  if (gst_vkgdr_context_shares (gst_vkgdr_memory_get_context (memory),
          gst_vkgdr_stream_get_context (stream)))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the stream is of another CUDA context than the memory");
  return FALSE;
}

/**
 * gst_vkgdr_mapping_new_on_stream:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME
 * @buffer: (nullable): the buffer that it is of, which is kept as long
 * @flags: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Maps a memory for the device, as with %GST_MAP_VKGDR, but the CPU waits for
 * nothing: what is queued on @stream from now on begins when the content is
 * there, and who uses the memory after the mapping waits for what @stream, and
 * the streams of gst_vkgdr_mapping_add_stream(), have queued by the time that
 * it ends, and for nothing else.
 *
 * Returns: (transfer full) (nullable): the mapping, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrMapping *
gst_vkgdr_mapping_new_on_stream (GstMemory *memory, GstBuffer *buffer,
    GstMapFlags flags, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrMapping *self;

  g_return_val_if_fail (memory, NULL);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  if (!check_stream (memory, stream, error))
    return NULL;
  if (!gst_mini_object_lock (
          GST_MINI_OBJECT_CAST (memory), lock_flags (flags))) {
    explain (memory, flags, error);
    return NULL;
  }
  if (!gst_vkgdr_memory_begin_access (memory, stream, flags, error)) {
    gst_mini_object_unlock (GST_MINI_OBJECT_CAST (memory), lock_flags (flags));
    return NULL;
  }
  self = g_new0 (GstVkgdrMapping, 1);
  self->info.data =
      (gpointer) (guintptr) gst_vkgdr_memory_get_device_pointer (memory);
  self->info.size = memory->size;
  self->info.flags = flags | GST_MAP_VKGDR;
  self->stream = gst_object_ref (stream);
  return complete (self, memory, buffer);
}

/* What is queued on @stream from now on waits for what @other has queued. */
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

/**
 * gst_vkgdr_mapping_add_stream:
 * @mapping: a mapping with %GST_MAP_VKGDR
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Lets another stream use the memory: what is queued on it from now on begins
 * when the content is there, and the mapping's end counts what it has queued by
 * then. No CPU waits. A mapping that is not on a stream has nothing to wait
 * for, nor to count: at its end the whole CUDA context counts in any case.
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

  if (!check_stream (mapping->memory, stream, error))
    return FALSE;
  if (!mapping->stream)
    return TRUE;
  if (!wait_for_stream (stream, mapping->stream, error))
    return FALSE;
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
 * As gst_vkgdr_mapping_add_stream(), for a stream that may be destroyed before
 * the mapping ends, as may one of which only the handle is known: it is not
 * touched after this call, and the memory's next user waits for all that the
 * CUDA context has queued when the mapping ends instead.
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

  if (!check_stream (mapping->memory, stream, error))
    return FALSE;
  if (mapping->stream && !wait_for_stream (stream, mapping->stream, error))
    return FALSE;
  g_mutex_lock (&mapping->lock);
  mapping->lent = TRUE;
  g_mutex_unlock (&mapping->lock);
  return TRUE;
}

/* Whose work cannot be marked is waited for by the CPU. */
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
  if (self->lent)
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

/**
 * gst_vkgdr_mapping_get_stream:
 * @mapping: a mapping
 *
 * Returns: (transfer none) (nullable): the stream that its use is ordered by,
 *   or %NULL: the content was there when it was made
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_mapping_get_stream (GstVkgdrMapping *mapping)
{
  g_return_val_if_fail (mapping, NULL);

  return mapping->stream;
}
