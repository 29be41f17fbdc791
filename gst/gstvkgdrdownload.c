/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrdownload.c: the element vkgdrdownload
 */

/**
 * SECTION:element-vkgdrdownload
 * @title: vkgdrdownload
 * @see_also: vkgdrupload, cudafilter
 *
 * Copies buffers from GPU memory to system memory, by DMA into pinned memory
 * that is recycled. Buffers that are in system memory are passed through. The
 * memory of GStreamer's own CUDA elements is accepted, too.
 *
 * Frames may have any layout on the device. If downstream supports
 * #GstVideoMeta, frames keep their layout. Otherwise they get the default
 * layout of the caps: the transfer leaves the padding out. It also leaves out
 * what a #GstVideoCropMeta cuts off, so `videocrop` can be put before this
 * element: it then attaches this meta instead of copying.
 *
 * The property `stats` has the fields `frames`, `frames-packed` (frames whose
 * layout was changed), `bytes`, and of these `bytes-dma`, `bytes-copied` and
 * `bytes-untouched` (all uint64).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter kernel=sobel !
 * vkgdrdownload ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "gstvkgdrelements.h"
#include "gstvkgdrlayout.h"
#include "gstvkgdrtransfer.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_download_debug);
#define GST_CAT_DEFAULT gst_vkgdr_download_debug

#define GST_TYPE_VKGDR_DOWNLOAD (gst_vkgdr_download_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrDownload, gst_vkgdr_download, GST, VKGDR_DOWNLOAD, GstVkgdrTransfer)

struct _GstVkgdrDownload {
  GstVkgdrTransfer parent;

  /* Allocates the output; NULL unless the element is open. It belongs to this
   * element alone: a transfer does not write the padding, which must not
   * contain bytes of other elements. */
  GstVkgdrAllocator *allocator;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstVkgdrDownload, gst_vkgdr_download,
    GST_TYPE_VKGDR_TRANSFER,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_download_debug, "vkgdrdownload", 0, "vkgdrdownload"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrdownload, "vkgdrdownload", GST_RANK_NONE, GST_TYPE_VKGDR_DOWNLOAD)

static gboolean
gst_vkgdr_download_is_suitable (GstVkgdrTransfer *transfer, GstMemory *memory)
{
  return !gst_is_vkgdr_memory (memory) && !gst_vkgdr_is_cuda_memory (memory);
}

/* Copies a memory that is not VkgdrMemory with the CPU. A buffer can contain
 * such a memory in addition to VkgdrMemory. */
static gboolean
copy_memory (GstMemory *memory, GstMemory *output, gsize offset, GError **error)
{
  GstMapInfo from, to;

  if (!gst_memory_map (memory, &from, GST_MAP_READ)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s cannot be read by the CPU",
        memory->allocator->mem_type);
    return FALSE;
  }
  if (!gst_memory_map (output, &to, GST_MAP_WRITE)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "a previous transfer failed");
    gst_memory_unmap (memory, &from);
    return FALSE;
  }
  memcpy (to.data + offset, from.data, from.size);
  gst_memory_unmap (output, &to);
  gst_memory_unmap (memory, &from);
  return TRUE;
}

static gboolean
fetch_all (
    GstVkgdrDownload *self, GstBuffer *input, GstMemory *output, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (self));
  gboolean ok = TRUE;
  gsize offset = 0;
  guint i;

  for (i = 0; ok && i < gst_buffer_n_memory (input); i++) {
    GstMemory *memory = gst_buffer_peek_memory (input, i);

    if (gst_is_vkgdr_memory (memory))
      ok = gst_vkgdr_memory_fetch_rect (
          memory, 0, 0, output, offset, 0, memory->size, 1, stream, error);
    else
      ok = copy_memory (memory, output, offset, error);
    offset += gst_memory_get_sizes (memory, NULL, NULL);
  }
  return ok;
}

static GstBuffer *
new_pinned (GstVkgdrTransfer *transfer, gsize size, GError **error)
{
  GstMemory *memory = gst_vkgdr_allocator_alloc_pinned (
      GST_VKGDR_DOWNLOAD (transfer)->allocator, size, error);
  GstBuffer *buffer;

  if (!memory)
    return NULL;
  buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

/* Does not wait for the transfer: mapping the output waits for it. So the
 * device can transfer one frame while upstream writes the next one. */
static GstBuffer *
gst_vkgdr_download_move (GstVkgdrTransfer *transfer, GstBuffer *input,
    gsize size, GstVkgdrPath *path, GError **error)
{
  GstBuffer *output = new_pinned (transfer, size, error);

  *path = GST_VKGDR_PATH_DMA;
  if (output
      && !fetch_all (GST_VKGDR_DOWNLOAD (transfer), input,
          gst_buffer_peek_memory (output, 0), error))
    gst_clear_buffer (&output);
  return output;
}

/* The transfer leaves out the padding. This function does not wait for it,
 * either. */
static GstBuffer *
gst_vkgdr_download_pack (GstVkgdrTransfer *transfer, GstBuffer *input,
    const GstVideoInfo *info, GstVkgdrPath *path, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (transfer));
  GstBuffer *output = new_pinned (transfer, GST_VIDEO_INFO_SIZE (info), error);
  gboolean by_cpu = FALSE;

  if (output
      && !gst_vkgdr_layout_pack (info, input, output, stream, &by_cpu, error))
    gst_clear_buffer (&output);
  *path = by_cpu ? GST_VKGDR_PATH_COPIED : GST_VKGDR_PATH_DMA;
  return output;
}

static gboolean
is_on_device (GstCaps *caps)
{
  const GstCapsFeatures *features = gst_caps_get_features (caps, 0);

  return gst_caps_features_contains (
             features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY)
         || gst_caps_features_contains (
             features, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
}

static void
add_meta (GstQuery *query, GType api)
{
  if (!gst_query_find_allocation_meta (query, api, NULL))
    gst_query_add_allocation_meta (query, api, NULL);
}

/* The base class proposes the metas that downstream supports. For frames on the
 * device, this function adds GstVideoMeta: these frames may have any layout,
 * because the transfer can pack them. It crops them, too, so that videocrop
 * works on the device. Frames in system memory are passed through. */
static gboolean
gst_vkgdr_download_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstVideoInfo info;
  GstCaps *caps;

  if (!GST_BASE_TRANSFORM_CLASS (gst_vkgdr_download_parent_class)
           ->propose_allocation (trans, decide_query, query))
    return FALSE;
  gst_query_parse_allocation (query, &caps, NULL);
  if (!gst_vkgdr_caps_get_video_info (caps, &info) || !is_on_device (caps))
    return TRUE;
  add_meta (query, GST_VIDEO_META_API_TYPE);
  if (gst_vkgdr_layout_can_crop (&info))
    add_meta (query, GST_VIDEO_CROP_META_API_TYPE);
  return TRUE;
}

static gboolean
gst_vkgdr_download_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GST_VKGDR_DOWNLOAD (transform)->allocator = gst_vkgdr_allocator_new (
      gst_vkgdr_base_transform_get_context (transform));
  return TRUE;
}

static void
gst_vkgdr_download_close (GstVkgdrBaseTransform *transform)
{
  gst_clear_object (&GST_VKGDR_DOWNLOAD (transform)->allocator);
}

static void
gst_vkgdr_download_class_init (GstVkgdrDownloadClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstVkgdrTransferClass *transfer_class = GST_VKGDR_TRANSFER_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "vkgdr downloader",
      "Filter/Video/Downloader",
      "Copies buffers from GPU memory to system memory by DMA",
      "gst-vkgdr developers");

  GST_BASE_TRANSFORM_CLASS (klass)->propose_allocation =
      gst_vkgdr_download_propose_allocation;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->open = gst_vkgdr_download_open;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->close = gst_vkgdr_download_close;
  transfer_class->to_device = FALSE;
  transfer_class->is_suitable = gst_vkgdr_download_is_suitable;
  transfer_class->move = gst_vkgdr_download_move;
  transfer_class->pack = gst_vkgdr_download_pack;
}

static void
gst_vkgdr_download_init (GstVkgdrDownload *self)
{
}
