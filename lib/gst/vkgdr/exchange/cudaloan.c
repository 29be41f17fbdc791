/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudaloan.c: wraps memory of this library as GstCudaMemory, without a
 * copy
 *
 * While the GstCudaMemory is in use, it holds a reference to the wrapped
 * buffer. Does not know which layouts GStreamer's CUDA elements can use.
 */

#include "exchange/exchange-private.h"

/* The data of a GstCudaMemory that wraps a memory of this library. */
typedef struct {
  GstCudaContext *context; /* of the wrapper */
  GstVideoInfo layout;
  CUdeviceptr pointer;
  GstCudaStream *stream; /* owned by the wrapper; or NULL */

  /* Set while the wrapper is in use. */
  GstMemory *memory;
  GstBuffer *buffer;
} WrapperData;

static GQuark
wrapper_quark (void)
{
  return g_quark_from_static_string ("gst-vkgdr-loan");
}

static WrapperData *
get_wrapper_data (GstMemory *wrapper)
{
  return gst_mini_object_get_qdata (
      GST_MINI_OBJECT_CAST (wrapper), wrapper_quark ());
}

/* The wrapper's dispose function. Instead of being freed, the wrapper is kept
 * for the next frame in the same memory, together with its textures: a kernel
 * that samples a texture may still be queued. */
static gboolean
detach_buffer (GstMiniObject *wrapper)
{
  WrapperData *data = get_wrapper_data (GST_MEMORY_CAST (wrapper));
  GstMemory *memory = g_steal_pointer (&data->memory);
  GstBuffer *buffer = g_steal_pointer (&data->buffer);

  /* With this flag, GStreamer's CUDA library waits when it frees the wrapper.
   * That is not necessary, because the next user of the memory waits. */
  GST_MINI_OBJECT_FLAG_UNSET (wrapper, GST_VKGDR_CUDA_MEMORY_NEED_SYNC);
  gst_vkgdr_memory_mark_unknown_stream (memory, GST_MAP_READ);
  gst_mini_object_unlock (GST_MINI_OBJECT_CAST (memory), GST_LOCK_FLAG_READ);
  wrapper->dispose = NULL;
  gst_mini_object_ref (wrapper);
  gst_vkgdr_memory_give_cuda_wrapper (memory, GST_MEMORY_CAST (wrapper));
  gst_memory_unref (memory);
  gst_buffer_unref (buffer);
  return FALSE;
}

/* A GCompareFunc: 0 if @wrapper has the data @wanted. */
static gint
compare_wrapper (gconstpointer wrapper, gconstpointer wanted)
{
  const WrapperData *data = get_wrapper_data ((GstMemory *) wrapper);
  const WrapperData *other = wanted;

  return !(data->context == other->context && data->pointer == other->pointer
           && data->stream == other->stream
           && gst_video_info_is_equal (&data->layout, &other->layout));
}

static GstMemory *
new_wrapper (const GstVkgdrCudaLib *lib, const WrapperData *wanted)
{
  WrapperData *data = g_memdup2 (wanted, sizeof (*wanted));
  /* Without a notify function, GStreamer's CUDA library would free the bytes on
   * the device. */
  GstMemory *wrapper = lib->allocator_alloc_wrapped (NULL, data->context,
      data->stream, &data->layout, data->pointer, data, g_free);

  if (!wrapper) {
    g_free (data);
    return NULL;
  }
  /* Other elements may share the buffer, so writers must get a copy. */
  GST_MINI_OBJECT_FLAG_SET (wrapper, GST_MEMORY_FLAG_READONLY);
  /* CUDA has no IPC handle for imported memory. Elements that share memory with
   * other processes copy a memory that is marked as memory of a pool. */
  if (lib->memory_set_pooled)
    lib->memory_set_pooled (wrapper);
  gst_mini_object_set_qdata (
      GST_MINI_OBJECT_CAST (wrapper), wrapper_quark (), data, NULL);
  return wrapper;
}

/* A GstCudaMemory with the bytes of @memory: an earlier wrapper if one is like
 * @wanted, otherwise a new one. */
static GstMemory *
make_wrapper (const GstVkgdrCudaLib *lib, GstMemory *memory,
    const WrapperData *wanted, GError **error)
{
  GstMemory *wrapper =
      gst_vkgdr_memory_take_cuda_wrapper (memory, compare_wrapper, wanted);

  if (!wrapper)
    wrapper = new_wrapper (lib, wanted);
  if (!wrapper)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "GStreamer's CUDA library failed to wrap a memory");
  return wrapper;
}

/* Locks the memory like gst_memory_map (), for reading on undeclared streams.
 * Makes work that is queued on @stream from now on wait until the content is on
 * the device. Without @stream, the CPU waits. @is_on_device is set if the
 * content is on the device already, so that other streams do not have to wait
 * for @stream. */
static gboolean
begin_read (
    GstMemory *memory, CUstream stream, gboolean *is_on_device, GError **error)
{
  if (!gst_mini_object_lock (
          GST_MINI_OBJECT_CAST (memory), GST_LOCK_FLAG_READ)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory is mapped for writing");
    return FALSE;
  }
  *is_on_device = gst_vkgdr_memory_is_written (memory);
  if (*is_on_device
      || (stream
          && gst_vkgdr_memory_make_wait (memory, stream, GST_MAP_READ, error)))
    return TRUE;
  *is_on_device = !stream && gst_vkgdr_memory_wait_written (memory, error);
  if (!*is_on_device)
    gst_mini_object_unlock (GST_MINI_OBJECT_CAST (memory), GST_LOCK_FLAG_READ);
  return *is_on_device;
}

/* Takes ownership of @wrapper if the function fails. */
static gboolean
attach_buffer (const GstVkgdrCudaLib *lib, GstMemory *wrapper,
    GstBuffer *buffer, GError **error)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  WrapperData *data = get_wrapper_data (wrapper);
  CUstream stream = data->stream ? lib->stream_get_handle (data->stream) : NULL;
  gboolean is_on_device;

  if (!begin_read (memory, stream, &is_on_device, error)) {
    gst_vkgdr_memory_give_cuda_wrapper (memory, wrapper);
    return FALSE;
  }
  data->memory = gst_memory_ref (memory);
  data->buffer = gst_buffer_ref (buffer);
  GST_MINI_OBJECT_CAST (wrapper)->dispose = detach_buffer;
  /* If the last user fetched a copy for the CPU, that copy is of an older
   * frame. */
  GST_MINI_OBJECT_FLAG_SET (
      wrapper, GST_VKGDR_CUDA_MEMORY_NEED_DOWNLOAD
                   | (is_on_device ? 0 : GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  return TRUE;
}

GstMemory *
gst_vkgdr_cuda_wrap_buffer (const GstVkgdrCudaLib *lib, GstCudaContext *cuda,
    GstBuffer *buffer, const GstVideoInfo *layout, GstCudaStream *stream,
    GError **error)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0), *wrapper;
  WrapperData wanted = { .context = cuda,
    .layout = *layout,
    .pointer = gst_vkgdr_memory_get_device_pointer (memory),
    .stream = stream };

  wrapper = make_wrapper (lib, memory, &wanted, error);
  return wrapper && attach_buffer (lib, wrapper, buffer, error) ? wrapper
                                                                : NULL;
}
