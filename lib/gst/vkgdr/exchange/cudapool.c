/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudapool.c: pools of GStreamer's own CUDA library for elements
 *
 * Selects the pool for an element's output, preferably the one of downstream,
 * so that a frame is on the stream of its reader. Makes the pool that an
 * element proposes to upstream. Finds the CUDA stream of downstream. Knows
 * nothing of the content of frames.
 */

#include "exchange/exchange-private.h"

/* A pool of another CUDA context is not usable, because its memory could not be
 * written. */
static gboolean
is_usable (
    const GstVkgdrCudaLib *lib, GstBufferPool *pool, GstVkgdrContext *context)
{
  return pool && G_TYPE_CHECK_INSTANCE_TYPE (pool, lib->buffer_pool_get_type ())
         && lib->context_get_handle (((GstVkgdrCudaPool *) pool)->context)
                == gst_vkgdr_context_get_cuda_context (context);
}

static gboolean
configure (GstBufferPool *pool, GstCaps *caps, guint size, guint min, guint max,
    GstCudaStream *stream, const GstVkgdrCudaLib *lib)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (stream)
    lib->config_set_stream (config, stream);
  return gst_buffer_pool_set_config (pool, config);
}

static GstBufferPool *
new_pool (const GstVkgdrCudaLib *lib, GstVkgdrContext *context, GstCaps *caps,
    guint size, guint min)
{
  GstCudaContext *cuda = gst_vkgdr_cuda_context_get (lib, context);
  GstCudaStream *stream;
  GstBufferPool *pool;

  if (!cuda)
    return NULL;
  pool = lib->buffer_pool_new (cuda);
  /* Without a stream, the CPU would have to wait for each frame. */
  stream = lib->stream_new (cuda);
  if (!configure (pool, caps, size, min, 0, stream, lib))
    gst_clear_object (&pool);
  if (stream)
    lib->stream_unref (stream);
  g_object_unref (cuda);
  return pool;
}

/* The size is read from the pool, because it depends on the device's pitch. */
static void
add_pool (GstQuery *query, GstBufferPool *pool)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  guint size, min, max;

  gst_buffer_pool_config_get_params (config, NULL, &size, &min, &max);
  gst_structure_free (config);
  gst_query_add_allocation_pool (query, pool, size, min, max);
}

void
gst_vkgdr_cuda_pool_propose (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstBufferPool *pool = NULL;

  if (lib)
    pool = new_pool (lib, context, caps, GST_VIDEO_INFO_SIZE (info), 0);
  if (!pool)
    return;
  add_pool (query, pool);
  gst_object_unref (pool);
}

gboolean
gst_vkgdr_cuda_pool_decide (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info, guint min_buffers, GError **error)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstBufferPool *pool = NULL;
  guint min = 0, max = 0;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, &min, &max);
  min = MAX (min, min_buffers);
  if (!lib || !is_usable (lib, pool, context)
      || !configure (pool, caps, GST_VIDEO_INFO_SIZE (info), min,
          max ? MAX (min, max) : 0, NULL, lib))
    gst_clear_object (&pool);
  if (!pool && lib)
    pool = new_pool (lib, context, caps, GST_VIDEO_INFO_SIZE (info), min);
  if (!pool) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "GStreamer's CUDA library has no memory for this element: it is not in "
        "this process, uses another driver (see VKGDR_DRIVER), or cannot "
        "allocate such a frame");
    return FALSE;
  }
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  add_pool (query, pool);
  gst_object_unref (pool);
  return TRUE;
}

/**
 * gst_vkgdr_context_get_cuda_stream:
 * @context: a context
 * @query: an allocation query that downstream has answered
 *
 * Looks for the CUDA stream of downstream. GStreamer's own CUDA elements
 * announce it in the pool that they propose.
 *
 * Returns: (transfer full) (nullable): the #GstCudaStream; %NULL if downstream
 *   announces none, or one of another CUDA context
 *
 * Since: 0.1
 */
GstMiniObject *
gst_vkgdr_context_get_cuda_stream (GstVkgdrContext *context, GstQuery *query)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstCudaStream *stream = NULL;
  GstBufferPool *pool = NULL;
  GstStructure *config;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (GST_IS_QUERY (query), NULL);

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  if (lib && is_usable (lib, pool, context)) {
    config = gst_buffer_pool_get_config (pool);
    stream = lib->config_get_stream (config);
    gst_structure_free (config);
  }
  gst_clear_object (&pool);
  return (GstMiniObject *) stream;
}
