/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudamemory.c: frames for GStreamer's own CUDA elements
 *
 * Wraps the memory without a copy if these elements can use its layout;
 * otherwise copies it on the device. The opposite direction is in
 * exchange/cudaframe.c. Knows nothing of caps.
 */

#include "exchange/exchange-private.h"

/**
 * SECTION:gstvkgdrcuda
 * @title: GStreamer's CUDA elements
 * @short_description: memory:CUDAMemory, without a copy
 *
 * GStreamer 1.24 and later have CUDA elements with a memory type of their own,
 * GstCudaMemory. These functions wrap memory of this library as GstCudaMemory
 * and the other way round, without a copy. Both use the same CUDA context
 * (gst_vkgdr_element_ensure_context()).
 *
 * GStreamer's CUDA library is looked up in the process at run time: it is
 * loaded if the process has made one of these elements. It is not needed to
 * build this library.
 *
 * Since: 0.1
 */

/**
 * gst_vkgdr_cuda_is_available:
 *
 * Thread-safe.
 *
 * Returns: whether GStreamer's CUDA library, 1.24 or later, is loaded in the
 *   process. It is loaded once an element of the plugin nvcodec has been made
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_cuda_is_available (void)
{
  return gst_vkgdr_cuda_lib_get () != NULL;
}

/* The first letters are compared first, because most other names, such as
 * SystemMemory, begin with another letter. */
static gboolean
has_cuda_name (const GstAllocator *allocator)
{
  const gchar *name = allocator ? allocator->mem_type : NULL;

  return name && name[0] == GST_VKGDR_CUDA_MEMORY_TYPE[0]
         && g_str_equal (name, GST_VKGDR_CUDA_MEMORY_TYPE);
}

/**
 * gst_vkgdr_is_cuda_memory:
 * @memory: a memory
 *
 * Thread-safe.
 *
 * Returns: whether it is memory of GStreamer's own CUDA elements
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_is_cuda_memory (GstMemory *memory)
{
  const GstVkgdrCudaLib *lib;

  /* This runs for each buffer: compare the name first, which is cheaper than to
   * look up the library. */
  if (!memory || !has_cuda_name (memory->allocator))
    return FALSE;
  lib = gst_vkgdr_cuda_lib_get ();
  return lib && lib->is_memory (memory);
}

/* --- to GstCudaMemory ---------------------------------------------------- */

static guint
plane_component (const GstVideoInfo *info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, components);
  return components[0];
}

static gsize
plane_row (const GstVideoInfo *info, guint plane)
{
  guint component = plane_component (info, plane);

  return (gsize) GST_VIDEO_INFO_COMP_WIDTH (info, component)
         * GST_VIDEO_INFO_COMP_PSTRIDE (info, component);
}

/* Returns an alignment in bytes that the device reports, or 1 if it reports
 * none. */
static gsize
get_alignment (GstVkgdrContext *context, CUdevice_attribute attribute)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  gint value = 0;

  cuda->cuDeviceGetAttribute (
      &value, attribute, gst_vkgdr_context_get_device (context));
  return MAX (value, 1);
}

/* GStreamer's CUDA elements sample planes as textures, and some of them cannot
 * read planes in another way. So planes must have the alignment that the device
 * demands of textures. */
static gboolean
has_texture_alignment (
    GstVkgdrContext *context, CUdeviceptr frame, const GstVideoInfo *layout)
{
  gsize start = get_alignment (context, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  gsize pitch =
      get_alignment (context, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  guint i;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (layout); i++) {
    if ((frame + layout->offset[i]) % start != 0
        || layout->stride[i] % pitch != 0)
      return FALSE;
  }
  return TRUE;
}

/* GStreamer downloads a GstCudaMemory as one rectangle, whose stride is that of
 * plane 0, and whose width is a row of plane 0. If another plane has another
 * stride, the rows of plane 0 must therefore have no padding. */
static gboolean
is_rectangle (const GstVideoInfo *layout)
{
  gint pitch = layout->stride[0];
  guint i;

  if (pitch <= 0 || layout->size % pitch != 0)
    return FALSE;
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (layout); i++) {
    if (layout->stride[i] != pitch
        && plane_row (layout, 0) != (gsize) layout->stride[0])
      return FALSE;
  }
  return TRUE;
}

/* @buffer must have one memory of this library. */
static gboolean
can_be_wrapped (
    GstVkgdrContext *context, GstBuffer *buffer, const GstVideoInfo *layout)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return is_rectangle (layout)
         && has_texture_alignment (
             context, gst_vkgdr_memory_get_device_pointer (memory), layout);
}

static GstBuffer *
wrap (const GstVkgdrCudaLib *lib, GstCudaContext *cuda, GstBuffer *buffer,
    const GstVideoInfo *layout, GstCudaStream *stream, GError **error)
{
  GstMemory *memory =
      gst_vkgdr_cuda_wrap_buffer (lib, cuda, buffer, layout, stream, error);

  return memory ? gst_vkgdr_cuda_frame_new_like (buffer, memory, layout) : NULL;
}

static gboolean
copy_planes (const vkgdr_cuda *cuda, const GstVideoInfo *from,
    CUdeviceptr source, const GstVideoInfo *to, CUdeviceptr target,
    GstVkgdrStream *stream, GError **error)
{
  guint i;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (from); i++) {
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
      .srcDevice = source + from->offset[i],
      .srcPitch = from->stride[i],
      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
      .dstDevice = target + to->offset[i],
      .dstPitch = to->stride[i],
      .WidthInBytes = plane_row (from, i),
      .Height = GST_VIDEO_INFO_COMP_HEIGHT (from, plane_component (from, i)) };

    if (!gst_vkgdr_check (cuda,
            cuda->cuMemcpy2DAsync (
                &copy, (CUstream) gst_vkgdr_stream_peek_handle (stream)),
            "cuMemcpy2DAsync", error))
      return FALSE;
  }
  return TRUE;
}

/* Copies all of @source to @target, and waits, because a GstCudaMemory has no
 * fence. */
static gboolean
copy_frame (GstVkgdrContext *context, GstMemory *source,
    const GstVideoInfo *layout, GstMemory *target, GError **error)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstVkgdrStream *stream =
      gst_vkgdr_allocator_get_copy_stream (allocator, GST_VKGDR_UPLOAD, error);
  GstVkgdrTask task;
  GstMapInfo map;
  gboolean ok;

  if (!stream
      || !gst_memory_map (target, &map, GST_MAP_WRITE | GST_MAP_VKGDR)) {
    if (stream)
      g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
          "memory of GStreamer's CUDA library cannot be mapped");
    gst_object_unref (allocator);
    return FALSE;
  }
  ok = gst_vkgdr_task_begin (&task, stream, error);
  if (ok) {
    ok = gst_vkgdr_task_use_memory (&task, source, GST_MAP_READ, error)
         && copy_planes (gst_vkgdr_context_get_driver (context), layout,
             gst_vkgdr_memory_get_device_pointer (source),
             &((GstVkgdrCudaMemory *) target)->info,
             (CUdeviceptr) (guintptr) map.data, stream, error);
    ok = gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
    ok = gst_vkgdr_stream_synchronize (stream, ok ? error : NULL) && ok;
  }
  gst_memory_unmap (target, &map);
  gst_object_unref (allocator);
  return ok;
}

static GstBuffer *
copy (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstCudaContext *cuda, GstBuffer *buffer, const GstVideoInfo *info,
    const GstVideoInfo *layout, GError **error)
{
  GstMemory *memory = lib->allocator_alloc (NULL, cuda, NULL, info);

  if (!memory) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
        "GStreamer's CUDA library has no memory for a frame of %" G_GSIZE_FORMAT
        " bytes",
        GST_VIDEO_INFO_SIZE (info));
    return NULL;
  }
  if (!copy_frame (
          context, gst_buffer_peek_memory (buffer, 0), layout, memory, error)) {
    gst_memory_unref (memory);
    return NULL;
  }
  return gst_vkgdr_cuda_frame_new_like (
      buffer, memory, &((GstVkgdrCudaMemory *) memory)->info);
}

static gboolean
check_is_vkgdr_memory (
    GstVkgdrContext *context, GstBuffer *buffer, GError **error)
{
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1
                          ? gst_buffer_peek_memory (buffer, 0)
                          : NULL;

  if (gst_is_vkgdr_memory_of (memory, context))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the frame is not one " GST_VKGDR_MEMORY_NAME " of this context");
  return FALSE;
}

/**
 * gst_vkgdr_context_buffer_to_cuda:
 * @context: a context
 * @buffer: a frame in one memory of @context
 * @info: the video format of @buffer
 * @stream: (nullable): a #GstCudaStream of the same CUDA context, for example
 *   from gst_vkgdr_context_get_cuda_stream()
 * @error: return location for a #GError
 *
 * Makes a buffer for GStreamer's own CUDA elements. The new memory wraps the
 * memory of @buffer without a copy, is read-only, and keeps a reference to
 * @buffer until the new memory is freed. If these elements cannot use the
 * layout of @buffer, the new buffer has a copy that is made on the device. A
 * memory can be wrapped only if the offsets and strides of the planes have the
 * alignment that the device demands of textures. Pools with
 * #GstVkgdrBufferPool:textures set allocate such buffers.
 *
 * Without @stream, the content is on the device when the function returns. With
 * @stream, the function does not wait: the memory belongs to that stream, and
 * work that is queued on that stream from now on begins when the content is on
 * the device. If the content is not on the device yet, the flag
 * `GST_CUDA_MEMORY_TRANSFER_NEED_SYNC` is set for users of other streams.
 *
 * After the returned buffer was freed, the next user of @buffer's memory waits
 * for all work that the CUDA context had queued by then, because GStreamer's
 * CUDA elements set no fences.
 *
 * Returns: (transfer full) (nullable): the buffer, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if @buffer has another type of memory,
 *   %GST_VKGDR_ERROR_NO_DRIVER if GStreamer's CUDA library is not in the
 *   process or uses another driver, or an error of the driver
 *
 * Since: 0.1
 */
GstBuffer *
gst_vkgdr_context_buffer_to_cuda (GstVkgdrContext *context, GstBuffer *buffer,
    const GstVideoInfo *info, GstMiniObject *stream, GError **error)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstCudaContext *cuda;
  GstVideoInfo layout;
  GstBuffer *result;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);
  g_return_val_if_fail (info != NULL, NULL);

  if (!gst_vkgdr_buffer_check_video (buffer, info, error)
      || !check_is_vkgdr_memory (context, buffer, error))
    return NULL;
  cuda = lib ? gst_vkgdr_cuda_context_get (lib, context) : NULL;
  if (!cuda) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "GStreamer's CUDA library is not in this process, or uses another "
        "driver than this element: see VKGDR_DRIVER");
    return NULL;
  }
  layout = gst_vkgdr_cuda_frame_layout (buffer, info);
  result =
      can_be_wrapped (context, buffer, &layout)
          ? wrap (lib, cuda, buffer, &layout, (GstCudaStream *) stream, error)
          : copy (lib, context, cuda, buffer, info, &layout, error);
  g_object_unref (cuda);
  return result;
}
