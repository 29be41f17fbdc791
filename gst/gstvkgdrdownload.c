/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrdownload.c: the element vkgdrdownload
 */

/**
 * SECTION:element-vkgdrdownload
 * @title: vkgdrdownload
 * @see_also: vkgdrupload, cudafilter
 *
 * Brings buffers back from GPU memory, by DMA into pinned memory that is
 * recycled. Buffers that already are in system memory are handed on untouched.
 * It takes the memory of GStreamer's own CUDA elements, too.
 *
 * The property `stats` has the fields `frames`, `bytes`, and of these
 * `bytes-dma` and `bytes-untouched` (uint64).
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
#include "gstvkgdrtransfer.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_download_debug);
#define GST_CAT_DEFAULT gst_vkgdr_download_debug

#define GST_TYPE_VKGDR_DOWNLOAD (gst_vkgdr_download_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrDownload, gst_vkgdr_download, GST, VKGDR_DOWNLOAD, GstVkgdrTransfer)

struct _GstVkgdrDownload {
  GstVkgdrTransfer parent;
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
gst_vkgdr_download_is_there (GstVkgdrTransfer *transfer, GstMemory *memory)
{
  return !gst_is_vkgdr_memory (memory) && !gst_vkgdr_is_cuda_memory (memory);
}

/* The CPU's copy of a memory that is no window's, in a buffer of both kinds. */
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
        "what was fetched before did not arrive");
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
      ok = gst_vkgdr_memory_fetch (memory, output, offset, stream, error);
    else
      ok = copy_memory (memory, output, offset, error);
    offset += gst_memory_get_sizes (memory, NULL, NULL);
  }
  return ok;
}

/* Does not wait for the transfer: who maps the output does, and until then the
 * device fetches one frame while upstream writes the next. */
static GstMemory *
gst_vkgdr_download_move (GstVkgdrTransfer *transfer, GstBuffer *input,
    gsize size, GstVkgdrPath *path, GError **error)
{
  GstMemory *memory = gst_vkgdr_allocator_alloc_pinned (
      gst_vkgdr_base_transform_get_allocator (
          GST_VKGDR_BASE_TRANSFORM (transfer)),
      size, error);

  *path = GST_VKGDR_PATH_DMA;
  if (memory
      && !fetch_all (GST_VKGDR_DOWNLOAD (transfer), input, memory, error))
    g_clear_pointer (&memory, gst_memory_unref);
  return memory;
}

static void
gst_vkgdr_download_class_init (GstVkgdrDownloadClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstVkgdrTransferClass *transfer_class = GST_VKGDR_TRANSFER_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "vkgdr downloader",
      "Filter/Memory", "Brings buffers back from GPU memory by DMA",
      "gst-vkgdr developers");

  transfer_class->to_device = FALSE;
  transfer_class->is_there = gst_vkgdr_download_is_there;
  transfer_class->move = gst_vkgdr_download_move;
}

static void
gst_vkgdr_download_init (GstVkgdrDownload *self)
{
}
