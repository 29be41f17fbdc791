/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/buffer.c: see memory/buffer.h
 */

#include "memory/memory-private.h"
#include "memory/memory.h"

/**
 * gst_is_vkgdr_buffer_of:
 * @buffer: a buffer
 * @context: a context
 *
 * Thread-safe.
 *
 * Returns: whether gst_is_vkgdr_memory_of() is true for all its memories
 *
 * Since: 0.3
 */
gboolean
gst_is_vkgdr_buffer_of (GstBuffer *buffer, GstVkgdrContext *context)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    if (!gst_is_vkgdr_memory_of (gst_buffer_peek_memory (buffer, i), context))
      return FALSE;
  return TRUE;
}

/* --- access -------------------------------------------------------------- */

gboolean
gst_vkgdr_buffer_begin_access (GstBuffer *buffer, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (!gst_vkgdr_memory_begin_access (memory, stream, flags, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
was_staged (GstVkgdrMemory *self)
{
  gboolean was_staged;

  g_mutex_lock (&self->lock);
  was_staged = self->written == GST_VKGDR_ACCESS_STAGED;
  g_mutex_unlock (&self->lock);
  return was_staged;
}

gboolean
gst_vkgdr_buffer_follow_uploads (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (was_staged (gst_vkgdr_memory_root (memory))
        && !gst_vkgdr_memory_begin_access (
            memory, stream, GST_MAP_WRITE, error))
      return FALSE;
  }
  return TRUE;
}

void
gst_vkgdr_buffer_mark (
    GstBuffer *buffer, GstVkgdrFence *fence, GstMapFlags flags)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    gst_vkgdr_memory_mark (gst_buffer_peek_memory (buffer, i), fence, flags);
}

/* --- copies from another context or device ------------------------------- */

static GstMemory *
copy_here (GstMemory *source, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrAllocator *allocator =
      gst_vkgdr_context_get_allocator (gst_vkgdr_stream_get_context (stream));
  GstMemory *copy = gst_vkgdr_allocator_alloc (allocator, source->size, error);

  gst_object_unref (allocator);
  if (copy
      && !gst_vkgdr_memory_copy_rect (
          copy, 0, 0, source, 0, 0, source->size, 1, stream, error))
    g_clear_pointer (&copy, gst_memory_unref);
  return copy;
}

GstBuffer *
gst_vkgdr_buffer_copy_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstBuffer *copy = gst_buffer_new ();
  guint i, n = gst_buffer_n_memory (buffer);

  gst_buffer_copy_into (copy, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_BUFFER_FLAG_UNSET (copy, GST_BUFFER_FLAG_TAG_MEMORY);
  for (i = 0; i < n; i++) {
    GstMemory *memory =
        copy_here (gst_buffer_peek_memory (buffer, i), stream, error);

    if (!memory) {
      gst_buffer_unref (copy);
      return NULL;
    }
    gst_buffer_append_memory (copy, memory);
  }
  if (meta)
    gst_buffer_add_video_meta_full (copy, meta->flags, meta->format,
        meta->width, meta->height, meta->n_planes, (gsize *) meta->offset,
        (gint *) meta->stride);
  return copy;
}
