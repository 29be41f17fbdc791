/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/here.c: gives a stream a buffer in memory that the stream can use
 *
 * Knows nothing of layouts: all bytes are copied.
 */

#include "exchange/exchange-private.h"

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

static GstBuffer *
copy_buffer_here (GstBuffer *buffer, GstVkgdrStream *stream, GError **error)
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

static gboolean
check_memories (GstBuffer *buffer, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_is_vkgdr_memory (memory))
      continue;
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "a buffer has memory of type %s, not " GST_VKGDR_MEMORY_NAME
        ": put vkgdrupload before this element",
        memory->allocator && memory->allocator->mem_type
            ? memory->allocator->mem_type
            : "(none)");
    return FALSE;
  }
  return TRUE;
}

GstBuffer *
gst_vkgdr_buffer_ref_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);

  if (gst_is_vkgdr_buffer_of (buffer, context))
    return gst_buffer_ref (buffer);
  if (gst_buffer_n_memory (buffer) == 1
      && gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (buffer, 0)))
    return gst_vkgdr_context_buffer_from_cuda (context, buffer, error);
  return check_memories (buffer, error)
             ? copy_buffer_here (buffer, stream, error)
             : NULL;
}
