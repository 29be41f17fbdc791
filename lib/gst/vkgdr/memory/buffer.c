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
gst_vkgdr_task_use_buffer (
    GstVkgdrTask *task, GstBuffer *buffer, GstMapFlags flags, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    if (!gst_vkgdr_task_use_memory (
            task, gst_buffer_peek_memory (buffer, i), flags, error))
      return FALSE;
  return TRUE;
}

void
gst_vkgdr_buffer_set_on_device (GstBuffer *buffer)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    gst_vkgdr_memory_set_on_device (gst_buffer_peek_memory (buffer, i));
}
