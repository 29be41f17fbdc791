/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrplanes.c: see gstvkgdrplanes.h
 */

#include "gstvkgdrplanes.h"

/* The size in bytes of the second plane of a format with a palette: 256
 * colours. */
#define PALETTE_SIZE 1024

static gboolean
is_palette (const GstVideoInfo *layout, guint plane)
{
  return GST_VIDEO_FORMAT_INFO_HAS_PALETTE (layout->finfo) && plane == 1;
}

gint64
gst_vkgdr_planes_get_row_size (const GstVideoInfo *info, guint plane)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  gint64 size = 0;
  guint c;

  for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (finfo, c) == plane)
      size = MAX (size, (gint64) GST_VIDEO_INFO_COMP_WIDTH (info, c)
                            * GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, c));
  return size;
}

/* Returns the number of bytes of a row that elements read. @layout is the
 * default layout, and @stride the actual stride. */
static gint64
get_row_size (const GstVideoInfo *layout, guint plane, gint64 stride)
{
  gint64 size = gst_vkgdr_planes_get_row_size (layout, plane);

  if (is_palette (layout, plane))
    return PALETTE_SIZE;
  /* If pixels share bytes, GStreamer copies whole rows. */
  return size > 0
             ? size
             : MAX (GST_VIDEO_INFO_PLANE_STRIDE (layout, plane), ABS (stride));
}

/* Returns the number of rows that elements read. */
static gint64
get_n_rows (const GstVideoInfo *layout, guint plane)
{
  const GstVideoFormatInfo *finfo = layout->finfo;
  gint64 rows = 1;
  guint c;

  if (is_palette (layout, plane))
    return 1;
  for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (finfo, c) == plane) {
      gint64 n = GST_VIDEO_INFO_COMP_HEIGHT (layout, c);

      /* Rows of two fields alternate, and both fields have the same number of
       * chroma rows. */
      if (GST_VIDEO_INFO_IS_INTERLACED (layout)
          && GST_VIDEO_INFO_INTERLACE_MODE (layout)
                 != GST_VIDEO_INTERLACE_MODE_ALTERNATE
          && GST_VIDEO_FORMAT_INFO_H_SUB (finfo, c) > 0)
        n = GST_ROUND_UP_2 (n);
      rows = MAX (rows, n);
    }
  return rows;
}

/* Whether @buffer has the bytes from @begin to @end, in one memory. */
static gboolean
has_range (GstBuffer *buffer, gint64 begin, gint64 end)
{
  guint index, length;
  gsize skip;

  return begin >= 0 && (guint64) end <= gst_buffer_get_size (buffer)
         && gst_buffer_find_memory (
             buffer, begin, end - begin, &index, &length, &skip)
         && length == 1;
}

/* The offset must be in the buffer, so that the sums do not overflow. */
static gboolean
are_rows_inside (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  gint64 first = meta->offset[plane];
  gint64 last = first + (get_n_rows (layout, plane) - 1) * meta->stride[plane];

  /* The stride is negative if the last row of the picture is the first one in
   * memory. */
  return has_range (buffer, MIN (first, last),
      MAX (first, last) + get_row_size (layout, plane, meta->stride[plane]));
}

/* For a tiled plane, the stride field contains two numbers of tiles. */
static gboolean
are_tiles_inside (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  guint stride = meta->stride[plane];
  guint least = GST_VIDEO_INFO_PLANE_STRIDE (layout, plane);
  gint64 begin = meta->offset[plane];
  gint64 tiles = (gint64) GST_VIDEO_TILE_X_TILES (stride)
                 * GST_VIDEO_TILE_Y_TILES (stride);

  return GST_VIDEO_TILE_X_TILES (stride) >= GST_VIDEO_TILE_X_TILES (least)
         && GST_VIDEO_TILE_Y_TILES (stride) >= GST_VIDEO_TILE_Y_TILES (least)
         && has_range (buffer, begin,
             begin
                 + tiles
                       * GST_VIDEO_FORMAT_INFO_TILE_SIZE (
                           layout->finfo, plane));
}

static gboolean
is_plane_inside (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  return GST_VIDEO_FORMAT_INFO_IS_TILED (layout->finfo)
             ? are_tiles_inside (buffer, meta, layout, plane)
             : are_rows_inside (buffer, meta, layout, plane);
}

/* Returns NULL if there is no such format: the number comes from another
 * process. */
static const GstVideoFormatInfo *
find_format (GstVideoFormat format)
{
  GEnumClass *formats = g_type_class_ref (GST_TYPE_VIDEO_FORMAT);
  gboolean exists = g_enum_get_value (formats, format) != NULL;

  g_type_class_unref (formats);
  return exists ? gst_video_format_get_info (format) : NULL;
}

/* Formats such as ENCODED have no planes that elements read as pixels. */
static gboolean
are_offsets_inside (GstBuffer *buffer, const GstVideoMeta *meta)
{
  guint i;

  for (i = 0; i < meta->n_planes; i++)
    if (meta->offset[i] > gst_buffer_get_size (buffer))
      return FALSE;
  return TRUE;
}

gboolean
gst_vkgdr_planes_are_inside (
    GstBuffer *buffer, const GstVideoMeta *meta, GstVideoInterlaceMode mode)
{
  const GstVideoFormatInfo *format = find_format (meta->format);
  GstVideoInfo layout;
  guint i;

  if (!format || meta->n_planes > GST_VIDEO_MAX_PLANES)
    return FALSE;
  /* A buffer without memory cannot be mapped. */
  if (gst_buffer_get_size (buffer) == 0)
    return TRUE;
  if (!are_offsets_inside (buffer, meta))
    return FALSE;
  if (format->n_planes == 0)
    return TRUE;
  if (meta->n_planes != format->n_planes || meta->width == 0
      || meta->height == 0
      || !gst_video_info_set_interlaced_format (
          &layout, meta->format, mode, meta->width, meta->height))
    return FALSE;
  for (i = 0; i < meta->n_planes; i++)
    if (!is_plane_inside (buffer, meta, &layout, i))
      return FALSE;
  return TRUE;
}
