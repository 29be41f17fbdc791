/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/videolayout.c: raw video: which caps are, and whether a frame and its
 * GstVideoMeta fit the caps
 *
 * GStreamer does not check the offsets and strides of a GstVideoMeta when it
 * maps or copies a frame. Knows nothing of the kind of memory.
 */

#include "memory/memory-private.h"

/* Bytes of the second plane of a format with a palette of 256 colours. */
#define PALETTE_LENGTH 1024

static gboolean
is_palette (const GstVideoInfo *layout, guint plane)
{
  return GST_VIDEO_FORMAT_INFO_HAS_PALETTE (layout->finfo) && plane == 1;
}

/**
 * gst_vkgdr_caps_get_video_info:
 * @caps: (nullable): fixed caps of any media type
 * @info: (out caller-allocates): the format of a frame; undefined if the
 *   function returns %FALSE
 *
 * Looks at the media type first: gst_video_info_from_caps() logs an error for
 * audio and bytes, and accepts compressed video, whose buffers have no planes.
 *
 * Thread-safe.
 *
 * Returns: whether @caps are raw video with a layout that GStreamer knows
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_caps_get_video_info (const GstCaps *caps, GstVideoInfo *info)
{
  g_return_val_if_fail (info != NULL, FALSE);

  return caps && !gst_caps_is_empty (caps) && !gst_caps_is_any (caps)
         && gst_structure_has_name (
             gst_caps_get_structure (caps, 0), "video/x-raw")
         && gst_video_info_from_caps (info, caps)
         && GST_VIDEO_INFO_FORMAT (info) != GST_VIDEO_FORMAT_ENCODED;
}

/**
 * gst_vkgdr_video_info_get_row_size:
 * @info: a format
 * @plane: index of a plane
 *
 * Returns the size of a row of the plane, up to the end of its last sample. In
 * YUY2, if the number of pixels is odd, this is the last Cr, which comes after
 * the last luma sample. Thread-safe.
 *
 * Returns: the size in bytes; 0 for formats such as v210, in which pixels share
 *   bytes, so that a pixel has no size in bytes
 *
 * Since: 0.3
 */
gsize
gst_vkgdr_video_info_get_row_size (const GstVideoInfo *info, guint plane)
{
  const GstVideoFormatInfo *finfo;
  gsize size = 0;
  guint c;

  g_return_val_if_fail (info != NULL && info->finfo != NULL, 0);

  finfo = info->finfo;
  for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (finfo, c) == plane)
      size = MAX (size, (gsize) GST_VIDEO_INFO_COMP_WIDTH (info, c)
                            * GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, c));
  return size;
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

/* The memories of @buffer that have the bytes from @begin to @end; 0 if it does
 * not have them. */
static guint
count_memories (GstBuffer *buffer, gint64 begin, gint64 end)
{
  guint index, length;
  gsize skip;

  if (begin < 0 || (guint64) end > gst_buffer_get_size (buffer)
      || !gst_buffer_find_memory (
          buffer, begin, end - begin, &index, &length, &skip))
    return 0;
  return length;
}

/* The offset must be in the buffer, so that the sums do not overflow. The
 * stride is negative if the last row of the picture is the first one in memory.
 */
static guint
count_of_rows (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  gint64 stride = meta->stride[plane], n = get_n_rows (layout, plane);
  gint64 first = meta->offset[plane], last = first + (n - 1) * stride;
  gint64 row = gst_vkgdr_video_info_get_row_size (layout, plane);

  if (is_palette (layout, plane))
    row = PALETTE_LENGTH;
  else if (row == 0) /* GStreamer copies whole rows if pixels share bytes. */
    row = MAX (GST_VIDEO_INFO_PLANE_STRIDE (layout, plane), ABS (stride));
  else if (n > 1 && ABS (stride) < row)
    return 0;
  return count_memories (buffer, MIN (first, last), MAX (first, last) + row);
}

/* For a tiled plane, the stride field contains two numbers of tiles. */
static guint
count_of_tiles (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  guint stride = meta->stride[plane];
  guint least = GST_VIDEO_INFO_PLANE_STRIDE (layout, plane);
  gint64 begin = meta->offset[plane];
  gint64 tiles = (gint64) GST_VIDEO_TILE_X_TILES (stride)
                 * GST_VIDEO_TILE_Y_TILES (stride);

  if (GST_VIDEO_TILE_X_TILES (stride) < GST_VIDEO_TILE_X_TILES (least)
      || GST_VIDEO_TILE_Y_TILES (stride) < GST_VIDEO_TILE_Y_TILES (least))
    return 0;
  return count_memories (buffer, begin,
      begin + tiles * GST_VIDEO_FORMAT_INFO_TILE_SIZE (layout->finfo, plane));
}

/* The memories over which a plane is spread; 0 if it is not inside @buffer. */
static guint
count_of_plane (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane)
{
  if (meta->offset[plane] > gst_buffer_get_size (buffer))
    return 0;
  return GST_VIDEO_FORMAT_INFO_IS_TILED (layout->finfo)
             ? count_of_tiles (buffer, meta, layout, plane)
             : count_of_rows (buffer, meta, layout, plane);
}

static gboolean
check_plane (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *layout, guint plane, GError **error)
{
  guint n = count_of_plane (buffer, meta, layout, plane);

  if (n == 0)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the GstVideoMeta of a frame of %s describes a plane %u (offset "
        "%" G_GSIZE_FORMAT ", stride %d) that is not inside its buffer of "
        "%" G_GSIZE_FORMAT " bytes. Upstream attached a wrong meta",
        GST_VIDEO_INFO_NAME (layout), plane, meta->offset[plane],
        meta->stride[plane], gst_buffer_get_size (buffer));
  else if (n > 1)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "plane %u of a frame of %s is spread over %u memories of its buffer. "
        "It must be in one: vkgdrupload copies such frames",
        plane, GST_VIDEO_INFO_NAME (layout), n);
  return n == 1;
}

/* Whether both are formats of one plane, whose pixels differ only in the order
 * of their components. The caps have the right order: alphacolor changes it,
 * and leaves the GstVideoMeta as it was. */
static gboolean
has_same_pixels (const GstVideoFormatInfo *one, const GstVideoFormatInfo *other)
{
  guint c, n = MAX (GST_VIDEO_FORMAT_INFO_N_COMPONENTS (one),
               GST_VIDEO_FORMAT_INFO_N_COMPONENTS (other));

  for (c = 0; c < n; c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (one, c) != 0
        || GST_VIDEO_FORMAT_INFO_PLANE (other, c) != 0
        || GST_VIDEO_FORMAT_INFO_W_SUB (one, c) > 0
        || GST_VIDEO_FORMAT_INFO_W_SUB (other, c) > 0)
      return FALSE;
  return GST_VIDEO_FORMAT_INFO_N_PLANES (one) == 1
         && GST_VIDEO_FORMAT_INFO_N_PLANES (other) == 1
         && GST_VIDEO_FORMAT_INFO_PSTRIDE (one, 0) > 0
         && GST_VIDEO_FORMAT_INFO_PSTRIDE (one, 0)
                == GST_VIDEO_FORMAT_INFO_PSTRIDE (other, 0);
}

static gboolean
is_format_of (GstVideoFormat format, const GstVideoInfo *info)
{
  const GstVideoFormat *known;
  guint i, n;

  if (format == GST_VIDEO_INFO_FORMAT (info))
    return TRUE;
  known = gst_video_formats_raw (&n);
  for (i = 0; i < n; i++)
    if (known[i] == format)
      return has_same_pixels (gst_video_format_get_info (format), info->finfo);
  return FALSE;
}

/* The picture may be larger than that of the caps, because decoders keep the
 * coded size. Its upper left part is used. Views after the first one may have
 * any size. */
static gboolean
is_meta_of (
    const GstVideoMeta *meta, const GstVideoInfo *info, gboolean is_view)
{
  if (!is_format_of (meta->format, info)
      || meta->n_planes != GST_VIDEO_INFO_N_PLANES (info))
    return FALSE;
  if (is_view)
    return meta->width > 0 && meta->height > 0;
  return meta->width >= (guint) GST_VIDEO_INFO_WIDTH (info)
         && meta->height >= (guint) GST_VIDEO_INFO_HEIGHT (info);
}

/* Sets @layout to the default layout of a picture of the size of @meta. */
static gboolean
get_layout (
    const GstVideoMeta *meta, const GstVideoInfo *info, GstVideoInfo *layout)
{
  if (meta->width == (guint) GST_VIDEO_INFO_WIDTH (info)
      && meta->height == (guint) GST_VIDEO_INFO_HEIGHT (info)) {
    *layout = *info;
    return TRUE;
  }
  return gst_video_info_set_interlaced_format (layout,
      GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_INTERLACE_MODE (info),
      meta->width, meta->height);
}

static inline gboolean
has_default_planes (
    GstBuffer *buffer, const GstVideoMeta *meta, const GstVideoInfo *info)
{
  guint i;

  if (gst_buffer_n_memory (buffer) != 1
      || gst_buffer_get_size (buffer) < GST_VIDEO_INFO_SIZE (info)
      || meta->width != (guint) GST_VIDEO_INFO_WIDTH (info)
      || meta->height != (guint) GST_VIDEO_INFO_HEIGHT (info))
    return FALSE;
  for (i = 0; i < meta->n_planes; i++)
    if (meta->offset[i] != GST_VIDEO_INFO_PLANE_OFFSET (info, i)
        || meta->stride[i] != GST_VIDEO_INFO_PLANE_STRIDE (info, i))
      return FALSE;
  return TRUE;
}

gboolean
gst_vkgdr_buffer_has_default_layout (
    GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  return !meta || has_default_planes (buffer, meta, info);
}

static gboolean
check_meta (GstBuffer *buffer, const GstVideoMeta *meta,
    const GstVideoInfo *info, gboolean is_view, GError **error)
{
  GstVideoInfo layout;
  guint i;

  if (!is_meta_of (meta, info, is_view) || !get_layout (meta, info, &layout)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the GstVideoMeta of a frame does not describe %s of %dx%d, as its "
        "caps do, but format %d of %ux%u with %u planes. Upstream attached a "
        "wrong meta",
        GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
        GST_VIDEO_INFO_HEIGHT (info), meta->format, meta->width, meta->height,
        meta->n_planes);
    return FALSE;
  }
  if (has_default_planes (buffer, meta, info))
    return TRUE;
  for (i = 0; i < meta->n_planes; i++)
    if (!check_plane (buffer, meta, &layout, i, error))
      return FALSE;
  return TRUE;
}

static gboolean
check_size (GstBuffer *buffer, const GstVideoInfo *info, GError **error)
{
  if (gst_buffer_get_size (buffer) >= GST_VIDEO_INFO_SIZE (info))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "a buffer of %" G_GSIZE_FORMAT " bytes is smaller than its caps say: %s "
      "of %dx%d takes %" G_GSIZE_FORMAT
      " bytes. Check the caps filters before this element",
      gst_buffer_get_size (buffer), GST_VIDEO_INFO_NAME (info),
      GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info),
      GST_VIDEO_INFO_SIZE (info));
  return FALSE;
}

/**
 * gst_vkgdr_buffer_check_video:
 * @buffer: a frame
 * @info: the format of its caps, see gst_vkgdr_caps_get_video_info()
 * @error: return location for a #GError
 *
 * Compares a frame with its caps, before its #GstVideoMeta is used for
 * anything. Every #GstVideoMeta of @buffer must have the format and the number
 * of planes of @info; only the order of the components in a pixel may differ,
 * and that of @info counts. The picture of the first view must not be smaller
 * than that of @info. All bytes of a plane that elements read must be in one
 * memory of @buffer, and the rows of a plane must not overlap. Strides may be
 * negative. Without a #GstVideoMeta, @buffer must have the size of @info. If
 * the picture is larger than that of the caps, its upper left part is to be
 * used, as gst_video_frame_map() does.
 *
 * Does not look at a #GstVideoCropMeta. Thread-safe.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if the frame
 *   cannot be used
 *
 * Since: 0.3
 */
gboolean
gst_vkgdr_buffer_check_video (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error)
{
  const GstVideoMeta *first;
  gpointer state = NULL;
  GstMeta *meta;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), FALSE);
  g_return_val_if_fail (info != NULL && info->finfo != NULL, FALSE);

  first = gst_buffer_get_video_meta (buffer);
  while ((meta = gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_VIDEO_META_API_TYPE)))
    if (!check_meta (buffer, (GstVideoMeta *) meta, info,
            (GstVideoMeta *) meta != first, error))
      return FALSE;
  return first || check_size (buffer, info, error);
}
