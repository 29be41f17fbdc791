/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/coordinates.h: moves boxes from a network's picture to the frame's
 * pixels
 *
 * Knows nothing of ONNX Runtime.
 */

#ifndef __GST_INFER_COORDINATES_H__
#define __GST_INFER_COORDINATES_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* The layouts of boxes that are known. */
typedef enum {
  GST_INFER_BOXES_NONE,
  GST_INFER_BOXES_YOLO, /* rows of x, y of the centre, width, height; pixels */
  GST_INFER_BOXES_XYXY, /* corners, 0 to 1 */
  GST_INFER_BOXES_YXYX  /* the same with x and y swapped */
} GstInferBoxes;

/* Returns the layout of the tensor @id of the group @group. Face detectors and
 * SSD have the same id for different layouts. */
GstInferBoxes gst_infer_boxes_find (const gchar *group, const gchar *id);

/* Returns the kernel, or NULL with @error set. */
GstVkgdrFunction *gst_infer_boxes_load (
    GstVkgdrContext *context, GError **error);

/* Queues the work on @boxes, float32 of @dims, on @stream. @transform is that
 * of the network's picture @config in the frame @frame. Returns FALSE with
 * @error set. */
gboolean gst_infer_boxes_map (GstVkgdrFunction *function, GstInferBoxes layout,
    GstVkgdrStream *stream, GstMemory *boxes, const gsize *dims, guint n_dims,
    const GstVkgdrTensorConfig *config, const GstVideoInfo *frame,
    const GstVkgdrTensorTransform *transform, GError **error);

G_END_DECLS

#endif /* __GST_INFER_COORDINATES_H__ */
