/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrlayout.c: see gstvkgdrlayout.h
 */

#include "gstvkgdrlayout.h"

#include <string.h>

static guint
get_component (const GstVideoInfo *info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, components);
  return components[0];
}

gboolean
gst_vkgdr_layout_is_default (const GstVideoInfo *info, GstBuffer *frame)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (frame);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  guint p;

  if (crop && (crop->x > 0 || crop->y > 0))
    return FALSE;
  if (!meta)
    return TRUE;
  /* Downstream would read a larger picture, even if the rows are as long. */
  if (crop
      && (meta->width != (guint) GST_VIDEO_INFO_WIDTH (info)
          || meta->height != (guint) GST_VIDEO_INFO_HEIGHT (info)))
    return FALSE;
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    if (meta->offset[p] != GST_VIDEO_INFO_PLANE_OFFSET (info, p)
        || meta->stride[p] != GST_VIDEO_INFO_PLANE_STRIDE (info, p))
      return FALSE;
  return gst_buffer_get_size (frame) == GST_VIDEO_INFO_SIZE (info);
}

gboolean
gst_vkgdr_layout_is_upside_down (GstBuffer *frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  guint p;

  for (p = 0; meta && p < meta->n_planes; p++)
    if (meta->stride[p] < 0)
      return TRUE;
  return FALSE;
}

/* Whether a memory of this library begins at an odd address. Copies do not. */
static gboolean
has_odd_memory (GstBuffer *frame)
{
  guint i, n = gst_buffer_n_memory (frame);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (frame, i);

    if (gst_is_vkgdr_memory (memory)
        && (gst_vkgdr_memory_get_device_pointer (memory) & 1))
      return TRUE;
  }
  return FALSE;
}

gboolean
gst_vkgdr_layout_has_odd_samples (const GstVideoInfo *info, GstBuffer *frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  guint p;

  if (GST_VIDEO_INFO_COMP_DEPTH (info, 0) <= 8)
    return FALSE;
  for (p = 0; meta && p < meta->n_planes; p++)
    if ((meta->offset[p] | meta->stride[p]) & 1)
      return TRUE;
  return has_odd_memory (frame);
}

/* --- crops --------------------------------------------------------------- */

/* Tiled and palette formats do not consist of rows of samples. */
static gboolean
has_rows (const GstVideoInfo *info)
{
  return !GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo)
         && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info->finfo);
}

/* Whether a copy can begin at any row and any pixel. In some formats, such as
 * v210, pixels share bytes, so that no pixel but the first has an address. */
static gboolean
can_begin_at (const GstVideoInfo *info, guint x, guint y)
{
  if (!has_rows (info))
    return x == 0 && y == 0;
  return x == 0 || GST_VIDEO_INFO_COMP_PSTRIDE (info, 0) > 0;
}

gboolean
gst_vkgdr_layout_can_crop (const GstVideoInfo *info)
{
  return can_begin_at (info, 1, 1);
}

/* Whether the picture contains the visible part. The GstVideoCropMeta has the
 * place of that part, and the caps have its size. */
static gboolean
check_crop (const GstVideoInfo *info, GstBuffer *frame, GError **error)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (frame);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  guint visible_width = GST_VIDEO_INFO_WIDTH (info);
  guint visible_height = GST_VIDEO_INFO_HEIGHT (info);
  guint width = meta ? meta->width : visible_width;
  guint height = meta ? meta->height : visible_height;
  guint x = crop ? crop->x : 0, y = crop ? crop->y : 0;

  if (!can_begin_at (info, x, y)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "a frame of %s cannot be cropped at the left%s",
        GST_VIDEO_INFO_NAME (info), has_rows (info) ? "" : " or at the top");
    return FALSE;
  }
  if (x <= width && visible_width <= width - x && y <= height
      && visible_height <= height - y)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the visible part of a frame, %ux%u at (%u, %u), is not inside its "
      "picture of %ux%u. Upstream attached a wrong meta",
      visible_width, visible_height, x, y, width, height);
  return FALSE;
}

/* --- by the device ------------------------------------------------------- */

/* A rectangle of bytes in a frame, and its place in the output. */
typedef struct {
  GstMemory *memory;
  gsize from, from_pitch; /* in the memory */
  gsize to, to_pitch;
  gsize width, height;
} Rect;

/* Returns the number of pixels between the first visible pixel and the first
 * pixel that shares its samples of Cb and Cr. It is 0 unless pixels of a plane
 * share these samples, as in YUY2. */
static guint
get_luma_shift (
    const GstVideoInfo *info, guint plane, const GstVideoCropMeta *crop)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  guint c, w_sub = 0;

  if (!crop)
    return 0;
  for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (finfo, c) == plane)
      w_sub = MAX (w_sub, GST_VIDEO_FORMAT_INFO_W_SUB (finfo, c));
  w_sub -= GST_VIDEO_FORMAT_INFO_W_SUB (finfo, get_component (info, plane));
  return crop->x & ((1 << w_sub) - 1);
}

/* The distance from the beginning of a plane to the first visible pixel, or to
 * the first one that shares samples with it. */
static gsize
cropped_bytes (const GstVideoInfo *info, guint plane, gint stride,
    const GstVideoCropMeta *crop)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  guint component = get_component (info, plane);
  guint x;

  if (!crop)
    return 0;
  x = crop->x - get_luma_shift (info, plane, crop);
  return (gsize) (crop->y >> GST_VIDEO_FORMAT_INFO_H_SUB (finfo, component))
             * stride
         + (gsize) (x >> GST_VIDEO_FORMAT_INFO_W_SUB (finfo, component))
               * GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, component);
}

/* The bytes of a row that are copied: the whole row if pixels share bytes. */
static gsize
row_size (const GstVideoInfo *info, guint plane, gsize pitch)
{
  gsize width = gst_vkgdr_video_info_get_row_size (info, plane);

  if (width == 0)
    width = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  return MIN (width, pitch);
}

/* Finds the memory that contains all bytes of a rectangle, and replaces the
 * rectangle's offset in the buffer by the one in that memory. */
static gboolean
find_memory (GstBuffer *frame, Rect *rect)
{
  gsize size = rect->from_pitch * (rect->height - 1) + rect->width, skip = 0;
  guint index = 0, n = 0;

  if (!gst_buffer_find_memory (frame, rect->from, size, &index, &n, &skip)
      || n != 1)
    return FALSE;
  rect->memory = gst_buffer_peek_memory (frame, index);
  rect->from = skip;
  return TRUE;
}

static gboolean
get_rect (const GstVideoInfo *info, GstBuffer *frame, guint plane, Rect *rect)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (frame);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  gint stride =
      meta ? meta->stride[plane] : GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  gsize offset =
      meta ? meta->offset[plane] : GST_VIDEO_INFO_PLANE_OFFSET (info, plane);

  if (stride <= 0 || get_luma_shift (info, plane, crop) > 0)
    return FALSE;
  rect->from = offset + cropped_bytes (info, plane, stride, crop);
  rect->from_pitch = stride;
  rect->to = GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
  rect->to_pitch = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  rect->width = row_size (info, plane, stride);
  rect->height = GST_VIDEO_INFO_COMP_HEIGHT (info, get_component (info, plane));
  return rect->height > 0 && find_memory (frame, rect);
}

/* Sets @rects and returns TRUE if the device can copy every plane. */
static gboolean
get_rects (const GstVideoInfo *info, GstBuffer *frame, GstVkgdrContext *context,
    Rect *rects)
{
  guint p;

  if (!has_rows (info))
    return FALSE;
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    if (!get_rect (info, frame, p, &rects[p])
        || !gst_is_vkgdr_memory (rects[p].memory)
        || gst_vkgdr_memory_get_context (rects[p].memory) != context)
      return FALSE;
  return TRUE;
}

static gboolean
copy_rect (
    const Rect *rect, GstMemory *output, GstVkgdrStream *stream, GError **error)
{
  if (gst_is_vkgdr_memory (output))
    return gst_vkgdr_memory_copy_rect (output, rect->to, rect->to_pitch,
        rect->memory, rect->from, rect->from_pitch, rect->width, rect->height,
        stream, error);
  return gst_vkgdr_memory_fetch_rect (rect->memory, rect->from,
      rect->from_pitch, output, rect->to, rect->to_pitch, rect->width,
      rect->height, stream, error);
}

/* --- by the CPU ---------------------------------------------------------- */

/* Copies luma once more, from @shift pixels further to the right. Cb and Cr
 * stay as they were copied: with the first pixel that shares them, because
 * otherwise Cb and Cr would be exchanged. */
static void
shift_luma (const GstVideoInfo *info, guint shift, guint8 *to, guint8 *from)
{
  guint step = GST_VIDEO_INFO_COMP_PSTRIDE (info, 0);
  guint first = GST_VIDEO_INFO_COMP_POFFSET (info, 0);
  guint size = (GST_VIDEO_INFO_COMP_DEPTH (info, 0) + 7) / 8, i;

  if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_VYUY)
    first = 1; /* some versions of GStreamer have a wrong number */
  for (i = 0; i < (guint) GST_VIDEO_INFO_WIDTH (info); i++)
    memcpy (to + first + i * step, from + first + (i + shift) * step, size);
}

/* gst_video_frame_copy () would leave out the last Cr of an odd number of
 * pixels in YUY2. */
static void
copy_plane (GstVideoFrame *to, GstVideoFrame *from, guint plane)
{
  const GstVideoInfo *info = &to->info;
  guint shift = get_luma_shift (
      info, plane, gst_buffer_get_video_crop_meta (from->buffer));
  gint to_pitch = GST_VIDEO_FRAME_PLANE_STRIDE (to, plane);
  gint from_pitch = GST_VIDEO_FRAME_PLANE_STRIDE (from, plane);
  gsize size = row_size (info, plane, MIN (to_pitch, ABS (from_pitch)));
  guint8 *target = to->data[plane], *source = from->data[plane];
  gint y, n = GST_VIDEO_INFO_COMP_HEIGHT (info, get_component (info, plane));

  for (y = 0; y < n; y++, target += to_pitch, source += from_pitch) {
    memcpy (target, source, size);
    if (shift > 0)
      shift_luma (info, shift, target, source);
  }
}

static gboolean
copy_all (GstVideoFrame *to, GstVideoFrame *from)
{
  guint p;

  if (!has_rows (&to->info))
    return gst_video_frame_copy (to, from);
  for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (to); p++)
    copy_plane (to, from, p);
  return TRUE;
}

/* Moves the plane pointers to the first visible pixel. */
static void
crop_frame (GstVideoFrame *frame, const GstVideoInfo *info)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (frame->buffer);
  guint p;

  for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (frame); p++)
    frame->data[p] = (guint8 *) frame->data[p]
                     + cropped_bytes (info, p,
                         GST_VIDEO_FRAME_PLANE_STRIDE (frame, p), crop);
  frame->info.width = GST_VIDEO_INFO_WIDTH (info);
  frame->info.height = GST_VIDEO_INFO_HEIGHT (info);
}

static gboolean
copy_planes (const GstVideoInfo *info, GstBuffer *frame, GstBuffer *output,
    GError **error)
{
  GstVideoFrame from, to;
  gboolean ok;

  if (!gst_video_frame_map (&from, info, frame, GST_MAP_READ)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "the CPU cannot read a frame");
    return FALSE;
  }
  if (!gst_video_frame_map (&to, info, output, GST_MAP_WRITE)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "the CPU cannot write a frame");
    gst_video_frame_unmap (&from);
    return FALSE;
  }
  crop_frame (&from, info);
  ok = copy_all (&to, &from);
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
  if (!ok)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "a frame of %s with this layout cannot be packed",
        GST_VIDEO_INFO_NAME (info));
  return ok;
}

gboolean
gst_vkgdr_layout_pack (const GstVideoInfo *info, GstBuffer *frame,
    GstBuffer *output, GstVkgdrStream *stream, gboolean *by_cpu, GError **error)
{
  GstMemory *memory = gst_buffer_peek_memory (output, 0);
  Rect rects[GST_VIDEO_MAX_PLANES];
  guint p;

  if (!check_crop (info, frame, error))
    return FALSE;
  *by_cpu =
      !get_rects (info, frame, gst_vkgdr_stream_get_context (stream), rects);
  if (*by_cpu)
    return copy_planes (info, frame, output, error);
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    if (!copy_rect (&rects[p], memory, stream, error))
      return FALSE;
  return TRUE;
}

void
gst_vkgdr_layout_copy_data (
    const GstVideoInfo *info, GstBuffer *frame, GstBuffer *packed)
{
  gst_buffer_copy_into (packed, frame, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_BUFFER_FLAG_UNSET (packed, GST_BUFFER_FLAG_TAG_MEMORY);
  gst_vkgdr_buffer_crop_metas (
      packed, frame, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
}
