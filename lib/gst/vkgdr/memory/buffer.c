/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/buffer.c: all memories of a buffer at once
 */

#include "memory/memory-private.h"

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

gboolean
gst_vkgdr_buffer_follow_uploads (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_vkgdr_memory_get_write_times (memory, NULL, NULL)
            == GST_VKGDR_ACCESS_STAGED
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
