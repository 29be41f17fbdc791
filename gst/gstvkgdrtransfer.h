/* SPDX-License-Identifier: LGPL-2.1-or-later */

#ifndef __GST_VKGDR_TRANSFER_H__
#define __GST_VKGDR_TRANSFER_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_TRANSFER (gst_vkgdr_transfer_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstVkgdrTransfer, gst_vkgdr_transfer, GST,
    VKGDR_TRANSFER, GstVkgdrBaseTransform)

/* How the bytes of a buffer came to where they are wanted. */
typedef enum {
  GST_VKGDR_PATH_NONE,   /* they were there, and no CPU wrote them */
  GST_VKGDR_PATH_DIRECT, /* they were there, written through the window */
  GST_VKGDR_PATH_STAGED, /* they were there, sent when they were unmapped */
  GST_VKGDR_PATH_DMA,    /* sent by DMA from, or to, where they were */
  GST_VKGDR_PATH_PEER,   /* copied on the device, or from one to another */
  GST_VKGDR_PATH_COPIED, /* copied by the CPU */
  GST_VKGDR_N_PATHS
} GstVkgdrPath;

/*
 * @to_device: whether the output is on the device, in VkgdrMemory or in that of
 *   GStreamer's own CUDA elements, or in system memory; the input may be any
 * @is_there: whether a memory already is where it is wanted
 * @move: a memory of @size bytes with the content of all of @input's, in place,
 *   and the way it came there; NULL with @error set on failure
 * @pack: the same for a frame of raw video, in the default layout of @info. The
 *   input's memory may already be where it is wanted: the path is then left as
 *   it is, GST_VKGDR_PATH_NONE, unless the CPU copies
 */
struct _GstVkgdrTransferClass {
  GstVkgdrBaseTransformClass parent_class;

  gboolean to_device;
  gboolean (*is_there) (GstVkgdrTransfer *transfer, GstMemory *memory);
  GstMemory *(*move) (GstVkgdrTransfer *transfer, GstBuffer *input, gsize size,
      GstVkgdrPath *path, GError **error);
  GstMemory *(*pack) (GstVkgdrTransfer *transfer, GstBuffer *input,
      const GstVideoInfo *info, GstVkgdrPath *path, GError **error);
};

/* A buffer with @memory (nullable), which it takes over, that is like @input in
 * all else, where the planes lie included. */
GstBuffer *gst_vkgdr_transfer_new_like (GstBuffer *input, GstMemory *memory);

/* How upstream wrote the last buffer that was where it is wanted;
 * GST_VKGDR_ACCESS_AUTO if there was none. May be called from any thread. */
GstVkgdrAccess gst_vkgdr_transfer_get_written_access (
    GstVkgdrTransfer *transfer);

G_END_DECLS

#endif /* __GST_VKGDR_TRANSFER_H__ */
