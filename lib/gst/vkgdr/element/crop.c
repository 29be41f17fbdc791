/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/crop.c: applies a GstVideoCropMeta to the layout of a frame
 *
 * Knows nothing of elements and devices.
 */

#include <string.h>

#include "element/filter-private.h"
#include "exchange/exchange-private.h"

/* Adds the distance from the upper left corner of the frame to that of the
 * picture. As in videocrop, a position between two samples of Cb or Cr is
 * rounded down. */
static gboolean
move_planes (GstVideoMeta *meta, const GstVideoCropMeta *crop, GError **error)
{
  const GstVideoFormatInfo *finfo = gst_video_format_get_info (meta->format);
  gsize moved[GST_VIDEO_MAX_PLANES] = { 0 };
  gboolean ok = (guint64) crop->x + crop->width <= meta->width
                && (guint64) crop->y + crop->height <= meta->height
                && !GST_VIDEO_FORMAT_INFO_IS_TILED (finfo)
                && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (finfo);
  guint c, p;

  for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo) && ok; c++) {
    gint size = GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, c);
    gsize x = (crop->x >> GST_VIDEO_FORMAT_INFO_W_SUB (finfo, c)) * size;
    gsize y = crop->y >> GST_VIDEO_FORMAT_INFO_H_SUB (finfo, c);

    p = GST_VIDEO_FORMAT_INFO_PLANE (finfo, c);
    x += y * meta->stride[p];
    ok = (size > 0 || crop->x == 0) && (moved[p] == 0 || moved[p] == x);
    moved[p] = x;
  }
  if (!ok) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "upstream crops frames of %s to the %ux%u pixels at (%u, %u), which "
        "is not possible on the device: put videocrop before vkgdrupload",
        GST_VIDEO_FORMAT_INFO_NAME (finfo), crop->width, crop->height, crop->x,
        crop->y);
    return FALSE;
  }
  for (p = 0; p < meta->n_planes; p++)
    meta->offset[p] += moved[p];
  meta->width = crop->width;
  meta->height = crop->height;
  return TRUE;
}

static guint
move_side (guint *position, guint size, guint start, guint end)
{
  guint first = CLAMP (*position, start, end);
  guint last = (guint) CLAMP ((guint64) *position + size, start, end);

  *position = first - start;
  return last - first;
}

static gboolean
is_dropped (GType api)
{
  return api != GST_VIDEO_META_API_TYPE
         && api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE
         && gst_meta_api_type_has_tag (
             api, g_quark_from_static_string (GST_META_TAG_VIDEO_SIZE_STR));
}

/* Moves regions of interest, and removes other metas with places. */
static gboolean
move_meta (GstBuffer *buffer, GstMeta **meta, gpointer user_data)
{
  const GstVideoCropMeta *crop = user_data;
  GType api = (*meta)->info->api;

  if (api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) {
    GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *) *meta;

    roi->w = move_side (&roi->x, roi->w, crop->x, crop->x + crop->width);
    roi->h = move_side (&roi->y, roi->h, crop->y, crop->y + crop->height);
  } else if (is_dropped (api)) {
    *meta = NULL;
  }
  return TRUE;
}

/* From GStreamer 1.28 on, other metas with places can follow the picture, such
 * as the detections of the analytics library. */
static void
copy_other_metas (GstBuffer *to, GstBuffer *from, const GstVideoCropMeta *crop)
{
#if GST_CHECK_VERSION(1, 27, 0)
  const GstVideoMeta *layout = gst_buffer_get_video_meta (from);
  const GstVideoRectangle part = { crop->x, crop->y, crop->width,
    crop->height };
  const GstVideoRectangle all = { 0, 0, crop->width, crop->height };
  GstVideoMetaTransformMatrix matrix;
  GstVideoInfo in, out;
  gpointer state = NULL;
  GstMeta *meta;

  gst_video_info_set_format (
      &in, layout->format, layout->width, layout->height);
  gst_video_info_set_format (&out, layout->format, crop->width, crop->height);
  gst_video_meta_transform_matrix_init (&matrix, &in, &part, &out, &all);
  while ((meta = gst_buffer_iterate_meta (from, &state)))
    if (meta->info->transform_func && is_dropped (meta->info->api))
      meta->info->transform_func (to, meta, from,
          gst_video_meta_transform_matrix_get_quark (), &matrix);
#endif
}

GstBuffer *
gst_vkgdr_buffer_apply_crop (GstBuffer *buffer, GError **error)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  GstVideoMeta *meta;
  GstBuffer *cropped;

  if (!crop || (crop->x == 0 && crop->y == 0)
      || !gst_buffer_get_video_meta (buffer))
    return buffer;
  cropped = gst_buffer_copy (buffer);
  meta = gst_buffer_get_video_meta (cropped);
  if (!meta || !move_planes (meta, crop, error)) {
    gst_buffer_unref (cropped);
    gst_buffer_unref (buffer);
    return NULL;
  }
  gst_buffer_foreach_meta (cropped, move_meta, (gpointer) crop);
  copy_other_metas (cropped, buffer, crop);
  /* The memory returns to its pool with the buffer. */
  gst_buffer_add_parent_buffer_meta (cropped, buffer);
  gst_buffer_unref (buffer);
  return cropped;
}
