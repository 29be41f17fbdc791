/* SPDX-License-Identifier: LGPL-2.1-or-later */

#ifndef __GST_VKGDR_TRANSFER_H__
#define __GST_VKGDR_TRANSFER_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_TRANSFER (gst_vkgdr_transfer_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstVkgdrTransfer, gst_vkgdr_transfer, GST,
    VKGDR_TRANSFER, GstVkgdrBaseTransform)

/*
 * @to_device: whether the output has the caps feature, or the input
 * @is_there: whether a memory already is where it is wanted
 * @move: a memory of @size bytes with the content of all of @input's, in place;
 *   NULL with @error set on failure
 */
struct _GstVkgdrTransferClass {
  GstVkgdrBaseTransformClass parent_class;

  gboolean to_device;
  gboolean (*is_there) (GstVkgdrTransfer *transfer, GstMemory *memory);
  GstMemory *(*move) (
      GstVkgdrTransfer *transfer, GstBuffer *input, gsize size, GError **error);
};

G_END_DECLS

#endif /* __GST_VKGDR_TRANSFER_H__ */
