/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/crop.c: applies a GstVideoCropMeta to a frame
 *
 * Knows nothing of elements and devices.
 */

#include "kernel/kernel-private.h"

/* Adds the position of the crop to the offset of each plane. As in videocrop, a
 * position between two samples of Cb or Cr is rounded down. */
static gboolean
move_planes (GstVideoMeta *meta, const GstVideoCropMeta *crop, GError **error)
{
  const GstVideoFormatInfo *finfo = gst_video_format_get_info (meta->format);
  gsize moved[GST_VIDEO_MAX_PLANES] = { 0 };
  gboolean has_rows = !GST_VIDEO_FORMAT_INFO_IS_TILED (finfo)
                      && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (finfo);
  gboolean ok = (guint64) crop->x + crop->width <= meta->width
                && (guint64) crop->y + crop->height <= meta->height
                && (has_rows || (crop->x == 0 && crop->y == 0));
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

static gboolean
has_tag (GType api, const gchar *tag)
{
  return gst_meta_api_type_has_tag (api, g_quark_from_static_string (tag));
}

/* Whether the meta describes positions in the picture, which a crop moves. */
static gboolean
has_places (GType api)
{
  return api != GST_VIDEO_META_API_TYPE && api != GST_VIDEO_CROP_META_API_TYPE
         && api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE
         && has_tag (api, GST_META_TAG_VIDEO_SIZE_STR);
}

/* Clips the range of @size pixels from *@position on to the range from @start
 * to
 * @end. Returns the remaining size, and makes *@position relative to @start. */
static guint
move_side (guint *position, guint size, guint start, guint end)
{
  guint first = CLAMP (*position, start, end);
  guint last = (guint) CLAMP ((guint64) *position + size, start, end);

  *position = first - start;
  return last - first;
}

static gboolean
move_meta (GstBuffer *buffer, GstMeta **meta, gpointer user_data)
{
  const GstVideoRectangle *part = user_data;
  GstVideoRegionOfInterestMeta *region;

  if ((*meta)->info->api == GST_VIDEO_CROP_META_API_TYPE
      || (has_places ((*meta)->info->api) && (part->x > 0 || part->y > 0)))
    *meta = NULL;
  if (!*meta
      || (*meta)->info->api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
    return TRUE;
  region = (GstVideoRegionOfInterestMeta *) *meta;
  region->w = move_side (&region->x, region->w, part->x, part->x + part->w);
  region->h = move_side (&region->y, region->h, part->y, part->y + part->h);
  if (region->w == 0 || region->h == 0)
    *meta = NULL;
  return TRUE;
}

/* From GStreamer 1.28 on, other metas with places can follow the picture, such
 * as the detections of the analytics library. */
static void
copy_other_metas (GstBuffer *to, GstBuffer *from, const GstVideoRectangle *part)
{
#if GST_CHECK_VERSION(1, 27, 0)
  const GstVideoMeta *layout = gst_buffer_get_video_meta (from);
  const GstVideoRectangle all = { 0, 0, part->w, part->h };
  GstVideoMetaTransformMatrix matrix;
  GstVideoInfo in, out;
  gpointer state = NULL;
  GstMeta *meta;

  if (!layout)
    return;
  gst_video_info_set_format (
      &in, layout->format, layout->width, layout->height);
  gst_video_info_set_format (&out, layout->format, part->w, part->h);
  gst_video_meta_transform_matrix_init (&matrix, &in, part, &out, &all);
  while ((meta = gst_buffer_iterate_meta (from, &state)))
    if (meta->info->transform_func && has_places (meta->info->api))
      meta->info->transform_func (to, meta, from,
          gst_video_meta_transform_matrix_get_quark (), &matrix);
#endif
}

/**
 * gst_vkgdr_buffer_crop_metas:
 * @cropped: a writable buffer with the metas of @frame
 * @frame: a frame
 * @width: the width of the part of @frame that is visible, in pixels
 * @height: its height
 *
 * Adapts the metas of @cropped, which has only the visible part of @frame. This
 * part begins where the #GstVideoCropMeta of @frame says, or else in the upper
 * left corner. That meta is removed. Regions of interest are moved and clipped;
 * one of which nothing is visible is removed. If the corner moved, other metas
 * that describe places are removed, or follow the picture if they can, which
 * needs GStreamer 1.28. Thread-safe.
 *
 * Since: 0.3
 */
void
gst_vkgdr_buffer_crop_metas (
    GstBuffer *cropped, GstBuffer *frame, guint width, guint height)
{
  const GstVideoCropMeta *crop;
  GstVideoRectangle part = { 0, 0, width, height };

  g_return_if_fail (GST_IS_BUFFER (cropped));
  g_return_if_fail (GST_IS_BUFFER (frame));

  crop = gst_buffer_get_video_crop_meta (frame);
  if (crop) {
    part.x = crop->x;
    part.y = crop->y;
  }
  gst_buffer_foreach_meta (cropped, move_meta, &part);
  if (part.x > 0 || part.y > 0)
    copy_other_metas (cropped, frame, &part);
}

/**
 * gst_vkgdr_buffer_apply_crop:
 * @buffer: (transfer full): a frame
 * @error: return location for a #GError
 *
 * Applies the #GstVideoCropMeta of a frame that gst_vkgdr_buffer_check_video()
 * has accepted. Its metas are adapted as by gst_vkgdr_buffer_crop_metas().
 * Copies no memory. Thread-safe.
 *
 * Returns: (transfer full) (nullable): a buffer with the same memory, whose
 *   #GstVideoMeta describes the visible part only; @buffer itself if it has no
 *   crop; or %NULL with @error set (%GST_VKGDR_ERROR_ARGUMENT) if the format
 *   does not allow this
 *
 * Since: 0.3
 */
GstBuffer *
gst_vkgdr_buffer_apply_crop (GstBuffer *buffer, GError **error)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  GstVideoMeta *meta;
  GstBuffer *cropped;

  if (!crop || !gst_buffer_get_video_meta (buffer))
    return buffer;
  cropped = gst_buffer_copy (buffer);
  meta = gst_buffer_get_video_meta (cropped);
  if (!meta || !move_planes (meta, crop, error)) {
    gst_buffer_unref (cropped);
    gst_buffer_unref (buffer);
    return NULL;
  }
  gst_vkgdr_buffer_crop_metas (cropped, buffer, crop->width, crop->height);
  /* The memory returns to its pool with the buffer. */
  gst_buffer_add_parent_buffer_meta (cropped, buffer);
  gst_buffer_unref (buffer);
  return cropped;
}
