/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcopypool.c: see gstvkgdrcopypool.h
 */

#include "gstvkgdrcopypool.h"

/* The initial number of buffers. While the device works on some of them, the
 * next one can be filled: with fewer, the streaming thread would wait for the
 * device at each frame. */
#define MIN_BUFFERS 4

static void
keep_reason (GstBufferPool *pool, GError *error, GstVkgdrCopyPool *self)
{
  g_clear_error (&self->reason);
  self->reason = g_error_copy (error);
}

void
gst_vkgdr_copy_pool_clear (GstVkgdrCopyPool *self)
{
  g_clear_error (&self->reason);
  if (!self->pool)
    return;
  g_signal_handlers_disconnect_by_data (self->pool, self);
  gst_buffer_pool_set_active (self->pool, FALSE);
  gst_clear_object (&self->pool);
}

static gboolean
make_pool (GstVkgdrCopyPool *self, GstVkgdrContext *context, gsize size)
{
  GstStructure *config;

  self->size = size;
  self->pool = gst_vkgdr_buffer_pool_new (context);
  g_signal_connect (
      self->pool, "acquire-failed", G_CALLBACK (keep_reason), self);
  config = gst_buffer_pool_get_config (self->pool);
  gst_buffer_pool_config_set_params (config, NULL, size, MIN_BUFFERS, 0);
  return gst_buffer_pool_set_config (self->pool, config)
         && gst_buffer_pool_set_active (self->pool, TRUE);
}

GstBuffer *
gst_vkgdr_copy_pool_acquire (GstVkgdrCopyPool *self, GstVkgdrContext *context,
    gsize size, GError **error)
{
  GstBuffer *buffer = NULL;
  gboolean ok = TRUE;

  if (self->pool && self->size != size)
    gst_vkgdr_copy_pool_clear (self);
  if (!self->pool)
    ok = make_pool (self, context, size);
  if (ok)
    gst_buffer_pool_acquire_buffer (self->pool, &buffer, NULL);
  if (buffer)
    return buffer;
  if (self->reason)
    g_propagate_error (error, g_steal_pointer (&self->reason));
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
        "a pool of buffers of %" G_GSIZE_FORMAT " bytes cannot be used", size);
  gst_vkgdr_copy_pool_clear (self);
  return NULL;
}
