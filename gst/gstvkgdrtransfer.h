/* SPDX-License-Identifier: LGPL-2.1-or-later */

#ifndef __GST_VKGDR_TRANSFER_H__
#define __GST_VKGDR_TRANSFER_H__

#include "gstvkgdrtransferstats.h"

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_TRANSFER (gst_vkgdr_transfer_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstVkgdrTransfer, gst_vkgdr_transfer, GST,
    VKGDR_TRANSFER, GstVkgdrBaseTransform)

/*
 * @to_device: TRUE if the output is on the device, in VkgdrMemory or in
 *   GstCudaMemory; FALSE for system memory. The input may be in any memory
 * @is_suitable: returns whether a memory already is a suitable output
 * @move: returns a new buffer with the content of @input, which has @size
 * bytes, in one suitable memory, and sets the path; NULL with @error set on
 * failure. The base class adds all other data of @input
 * @pack: the same for a frame of raw video, in the default layout of @info. If
 *   the input's memory already is a suitable output, the path stays
 *   GST_VKGDR_PATH_NONE, unless the CPU copies
 */
struct _GstVkgdrTransferClass {
  GstVkgdrBaseTransformClass parent_class;

  gboolean to_device;
  gboolean (*is_suitable) (GstVkgdrTransfer *transfer, GstMemory *memory);
  GstBuffer *(*move) (GstVkgdrTransfer *transfer, GstBuffer *input, gsize size,
      GstVkgdrPath *path, GError **error);
  GstBuffer *(*pack) (GstVkgdrTransfer *transfer, GstBuffer *input,
      const GstVideoInfo *info, GstVkgdrPath *path, GError **error);
};

/* Adds to @output everything of @input but its memory, including the layout of
 * the planes. */
void gst_vkgdr_transfer_copy_data (GstBuffer *output, GstBuffer *input);

/* The access mode with which upstream wrote the last buffer that was already in
 * place; GST_VKGDR_ACCESS_AUTO if there was none. May be called from any
 * thread. */
GstVkgdrAccess gst_vkgdr_transfer_get_written_access (
    GstVkgdrTransfer *transfer);

G_END_DECLS

#endif /* __GST_VKGDR_TRANSFER_H__ */
