/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/coordinates.c: moves boxes from a network's picture to the frame's
 * pixels
 *
 * GStreamer's decoders of tensors take the numbers of a network for pixels of
 * the frame, or for parts of its size. They would be right only if the network
 * saw the whole frame in its own size, or stretched.
 */

#include "infer/coordinates.h"

#include <gio/gio.h>

#define PREFIX "/org/gst-vkgdr/infer/coordinates"
#define ENTRY "coordinates"
#define BLOCK 256

/* The parameter of the kernel. */
typedef struct {
  guint64 data;
  gint64 n;
  gint64 row;
  gint64 step;
  gfloat scale[4];
  gfloat offset[4];
} Coordinates;

static const struct {
  const gchar *group;
  const gchar *id;
  GstInferBoxes layout;
} known[] = {
  { "yolo-v8-out", "yolo-v8-out", GST_INFER_BOXES_YOLO },
  { "yolo-v8-segmentation-out", "yolo-v8-segmentation-out-detections",
      GST_INFER_BOXES_YOLO },
  { "ultra-lightweight-face-detection-rfb-320-v1-variant-1-out",
      "ssd-mobilenet-v1-variant-1-out-boxes", GST_INFER_BOXES_XYXY },
  { "ssd-mobilenet-v1-variant-1-out", "ssd-mobilenet-v1-variant-1-out-boxes",
      GST_INFER_BOXES_YXYX },
};

GstInferBoxes
gst_infer_boxes_find (const gchar *group, const gchar *id)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (known); i++)
    if (g_strcmp0 (group, known[i].group) == 0
        && g_strcmp0 (id, known[i].id) == 0)
      return known[i].layout;
  return GST_INFER_BOXES_NONE;
}

/* Returns the function, as PTX that was compiled with the project, if the
 * device can run it. */
GstVkgdrFunction *
gst_infer_boxes_load (GstVkgdrContext *context, GError **error)
{
  GstVkgdrFunction *function = NULL;
  GstVkgdrModule *module;
  GBytes *bytes = NULL;

  if (!gst_vkgdr_context_is_software (context))
    bytes = g_resources_lookup_data (
        PREFIX ".ptx", G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  if (bytes) {
    module =
        gst_vkgdr_module_new_from_image (context, bytes, ENTRY ".cu", error);
  } else {
    bytes = g_resources_lookup_data (
        PREFIX ".cu", G_RESOURCE_LOOKUP_FLAGS_NONE, error);
    if (!bytes)
      return NULL;
    /* A resource ends with a zero byte that is not counted. */
    module = gst_vkgdr_module_new_from_source (
        context, g_bytes_get_data (bytes, NULL), ENTRY ".cu", error);
  }
  g_bytes_unref (bytes);
  if (module)
    function = gst_vkgdr_module_get_function (module, ENTRY, error);
  gst_clear_object (&module);
  return function;
}

/* Sets the map of each number of a box. Those of YOLO are pixels of the
 * network's picture, and become pixels of the frame. The others are parts of
 * its size, and become parts of the frame's size. */
static void
set_map (Coordinates *self, GstInferBoxes layout,
    const GstVkgdrTensorConfig *config, const GstVideoInfo *frame,
    const GstVkgdrTensorTransform *transform)
{
  gdouble width = GST_VIDEO_INFO_WIDTH (frame);
  gdouble height = GST_VIDEO_INFO_FIELD_HEIGHT (frame);
  gdouble scale[2] = { transform->scale_x, transform->scale_y };
  gdouble offset[2] = { transform->offset_x, transform->offset_y };
  guint c;

  if (layout != GST_INFER_BOXES_YOLO) {
    scale[0] *= config->width / width;
    scale[1] *= config->height / height;
    offset[0] /= width;
    offset[1] /= height;
  }
  for (c = 0; c < 4; c++) {
    guint axis = layout == GST_INFER_BOXES_YXYX ? (c + 1) % 2 : c % 2;

    self->scale[c] = (gfloat) scale[axis];
    self->offset[c] = (gfloat) offset[axis];
    if (layout == GST_INFER_BOXES_YOLO && c >= 2)
      self->offset[c] = 0; /* a width or height */
  }
}

gboolean
gst_infer_boxes_map (GstVkgdrFunction *function, GstInferBoxes layout,
    GstVkgdrStream *stream, GstMemory *boxes, const gsize *dims, guint n_dims,
    const GstVkgdrTensorConfig *config, const GstVideoInfo *frame,
    const GstVkgdrTensorTransform *transform, GError **error)
{
  gboolean is_yolo = layout == GST_INFER_BOXES_YOLO;
  Coordinates self = { gst_vkgdr_memory_get_device_pointer (boxes) };
  gboolean ok;

  /* The first dim is the batch. */
  if (n_dims != 3 || (is_yolo ? dims[1] < 4 : dims[2] != 4))
    return TRUE;
  self.n = is_yolo ? dims[2] : dims[1];
  self.row = is_yolo ? dims[2] : 1;
  self.step = is_yolo ? 1 : 4;
  set_map (&self, layout, config, frame, transform);
  if (!gst_vkgdr_memory_begin_access (boxes, stream, GST_MAP_READWRITE, error))
    return FALSE;
  ok = gst_vkgdr_function_launch (function, stream,
      (guint) ((self.n + BLOCK - 1) / BLOCK), 1, 1, BLOCK, 1, 1, 0,
      (const guint8 *) &self, sizeof (self), error);
  return gst_vkgdr_memory_end_access (
             boxes, stream, GST_MAP_READWRITE, ok ? error : NULL)
         && ok;
}
