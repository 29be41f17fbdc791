/* SPDX-License-Identifier: LGPL-2.1-or-later */

#ifndef __GST_VKGDR_BASE_TRANSFORM_H__
#define __GST_VKGDR_BASE_TRANSFORM_H__

#include <gst/base/gstbasetransform.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_BASE_TRANSFORM (gst_vkgdr_base_transform_get_type ())

GST_VKGDR_API
G_DECLARE_DERIVABLE_TYPE (GstVkgdrBaseTransform, gst_vkgdr_base_transform, GST,
    VKGDR_BASE_TRANSFORM, GstBaseTransform)

/**
 * GstVkgdrBaseTransformClass:
 * @parent_class: the parent class
 * @open: (nullable): the element has a context and a stream. Returns %FALSE
 *   with @error set to fail the element
 * @close: (nullable): both are about to be dropped; called where @open
 *   succeeded
 *
 * Since: 0.1
 */
struct _GstVkgdrBaseTransformClass {
  GstBaseTransformClass parent_class;

  gboolean (*open) (GstVkgdrBaseTransform *transform, GError **error);
  void (*close) (GstVkgdrBaseTransform *transform);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_base_transform_get_context (
    GstVkgdrBaseTransform *transform);

GST_VKGDR_API
GstVkgdrStream *gst_vkgdr_base_transform_get_stream (
    GstVkgdrBaseTransform *transform);

GST_VKGDR_API
void gst_vkgdr_base_transform_post_error (
    GstVkgdrBaseTransform *transform, GError *error);

GST_VKGDR_API
GstBufferPool *gst_vkgdr_base_transform_new_pool (
    GstVkgdrBaseTransform *transform, GstCaps *caps, guint min_buffers);

G_END_DECLS

#endif /* __GST_VKGDR_BASE_TRANSFORM_H__ */
