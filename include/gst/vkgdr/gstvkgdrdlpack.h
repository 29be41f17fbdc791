/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrdlpack.h: memory to and from tensor libraries
 *
 * DLPack's structures are plain pointers here, so that users of this header do
 * not need DLPack's header. Knows nothing of formats.
 */

#ifndef __GST_VKGDR_DLPACK_H__
#define __GST_VKGDR_DLPACK_H__

#include <gst/vkgdr/gstvkgdrmapping.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

/**
 * GstVkgdrElementType:
 * @GST_VKGDR_ELEMENT_TYPE_INT: signed integers
 * @GST_VKGDR_ELEMENT_TYPE_UINT: unsigned integers
 * @GST_VKGDR_ELEMENT_TYPE_FLOAT: IEEE floating point numbers
 * @GST_VKGDR_ELEMENT_TYPE_BFLOAT: the upper half of single precision. Since:
 * 0.2
 *
 * The type of a tensor's elements, with the values of DLPack.
 *
 * Since: 0.1
 */
typedef enum {
  GST_VKGDR_ELEMENT_TYPE_INT = 0,
  GST_VKGDR_ELEMENT_TYPE_UINT = 1,
  GST_VKGDR_ELEMENT_TYPE_FLOAT = 2,
  GST_VKGDR_ELEMENT_TYPE_BFLOAT = 4
} GstVkgdrElementType;

#define GST_TYPE_VKGDR_ELEMENT_TYPE (gst_vkgdr_element_type_get_type ())

GST_VKGDR_API
GType gst_vkgdr_element_type_get_type (void);

GST_VKGDR_API
gpointer gst_vkgdr_mapping_to_dlpack (GstVkgdrMapping *mapping, gsize offset,
    const gint64 *shape, const gint64 *strides, guint n_dims,
    GstVkgdrElementType type, guint bits, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_memory_new_from_dlpack (GstVkgdrContext *context,
    gpointer tensor, GstMemoryFlags flags, GError **error);

GST_VKGDR_API
gpointer gst_vkgdr_dlpack_get_capsule_destructor (void);

G_END_DECLS

#endif /* __GST_VKGDR_DLPACK_H__ */
