/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/frame.c: fills the VkgdrFrame that a kernel gets for a buffer
 *
 * Everything that a kernel takes on trust is checked here, since a wrong
 * address ends a CUDA context for good. Knows nothing of kernels' code and
 * launches.
 */

#include <string.h>

#include "kernel/frame.h"
#include "memory/memory-private.h"

/* Whether samples of more than 8 bits are words in the machine's byte order:
 * formats say which one they have, except for two that always follow it. */
static gboolean
frame_is_native (const GstVideoFormatInfo *format)
{
  gboolean is_le = !!GST_VIDEO_FORMAT_INFO_IS_LE (format);

  return GST_VIDEO_FORMAT_INFO_FORMAT (format) == GST_VIDEO_FORMAT_ARGB64
         || GST_VIDEO_FORMAT_INFO_FORMAT (format) == GST_VIDEO_FORMAT_AYUV64
         || is_le == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
}

/* GStreamer's table counts samples, not bytes, for V of P010 and its like. */
static gint
frame_get_offset (const GstVideoFormatInfo *format, guint component)
{
  gint offset = GST_VIDEO_FORMAT_INFO_POFFSET (format, component);
  gboolean words = GST_VIDEO_FORMAT_INFO_DEPTH (format, component) > 8;

  return words && (offset & 1) ? 2 * offset : offset;
}

/* Whether the table has another component in the same place: in Y210, Y412 and
 * others, that is, it does not tell where they are. */
static gboolean
frame_is_ambiguous (const GstVideoFormatInfo *format, guint component)
{
  guint c;

  for (c = 0; c < component; c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (format, c)
            == GST_VIDEO_FORMAT_INFO_PLANE (format, component)
        && frame_get_offset (format, c) == frame_get_offset (format, component))
      return TRUE;
  return FALSE;
}

/* Whether a VkgdrComponent can say it: whole bytes, or words of two. */
static gboolean
frame_can_say (const GstVideoFormatInfo *format, guint component)
{
  gint depth = GST_VIDEO_FORMAT_INFO_DEPTH (format, component);
  gint shift = GST_VIDEO_FORMAT_INFO_SHIFT (format, component);

  if (frame_is_ambiguous (format, component))
    return FALSE;
  if (depth > 8)
    return depth + shift <= 16 && frame_is_native (format);
  return depth == 8 && shift == 0;
}

static gboolean
frame_check_format (const GstVideoFormatInfo *format, GError **error)
{
  gboolean ok = !GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format)
                && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE (format)
                && !GST_VIDEO_FORMAT_INFO_IS_TILED (format)
                && (GST_VIDEO_FORMAT_INFO_IS_RGB (format)
                    || GST_VIDEO_FORMAT_INFO_IS_YUV (format)
                    || GST_VIDEO_FORMAT_INFO_IS_GRAY (format));
  guint c;

  for (c = 0; ok && c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++)
    ok = frame_can_say (format, c);
  if (!ok)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Kernels cannot be run on the format %s: its samples are not whole "
        "bytes or 16-bit words in places that GStreamer tells. Convert the "
        "frames first, with videoconvert",
        GST_VIDEO_FORMAT_INFO_NAME (format));
  return ok;
}

gboolean
gst_vkgdr_frame_check_info (const GstVideoInfo *info, GError **error)
{
  return frame_check_format (info->finfo, error);
}

static void
frame_set_components (VkgdrFrame *frame, const GstVideoFormatInfo *format)
{
  gint c, missing = 0 + 1 + 2 + 3;

  frame->n_components = GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format);
  for (c = 0; c < frame->n_components; c++) {
    VkgdrComponent *k = &frame->component[c];

    k->plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
    k->offset = frame_get_offset (format, c);
    k->step = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c);
    k->w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (format, c);
    k->h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (format, c);
    k->depth = GST_VIDEO_FORMAT_INFO_DEPTH (format, c);
    k->shift = GST_VIDEO_FORMAT_INFO_SHIFT (format, c);
    missing -= k->offset;
  }
  frame->has_alpha =
      GST_VIDEO_FORMAT_INFO_HAS_ALPHA (format) && frame->n_components == 4;

  /* RGBx and its like: the padding is the byte that no component has. */
  if (frame->model == VKGDR_RGB && frame->n_components == 3
      && frame->n_planes == 1 && frame->component[0].step == 4
      && frame->component[0].depth == 8) {
    frame->component[3] = frame->component[0];
    frame->component[3].offset = missing;
    frame->n_components = 4;
  }
}

static void
frame_set_colorimetry (VkgdrFrame *frame, const GstVideoInfo *info)
{
  GstVideoColorMatrix matrix = info->colorimetry.matrix;
  GstVideoColorRange range = info->colorimetry.range;
  gdouble kr, kb;

  if (frame->model == VKGDR_RGB)
    frame->full_range = 1;
  else if (frame->model == VKGDR_GRAY)
    frame->full_range = range != GST_VIDEO_COLOR_RANGE_16_235;
  else
    frame->full_range = range == GST_VIDEO_COLOR_RANGE_0_255;

  if (!gst_video_color_matrix_get_Kr_Kb (matrix, &kr, &kb)) {
    matrix = frame->model != VKGDR_RGB && info->height < 720
                 ? GST_VIDEO_COLOR_MATRIX_BT601
                 : GST_VIDEO_COLOR_MATRIX_BT709;
    gst_video_color_matrix_get_Kr_Kb (matrix, &kr, &kb);
  }
  frame->kr = (gfloat) kr;
  frame->kb = (gfloat) kb;
  frame->v_to_r = (gfloat) (2 - 2 * kr);
  frame->u_to_b = (gfloat) (2 - 2 * kb);
  frame->u_to_g = (gfloat) (-kb * (2 - 2 * kb) / (1 - kr - kb));
  frame->v_to_g = (gfloat) (-kr * (2 - 2 * kr) / (1 - kr - kb));
  frame->r_to_v = (gfloat) (1 / (2 - 2 * kr));
  frame->b_to_u = (gfloat) (1 / (2 - 2 * kb));
}

/* What the samples of each component mean, in 8 bits: 0 to 255, luma of limited
 * range 16 to 235, and Cb and Cr of limited range 224 values about 128. */
static void
frame_set_ranges (VkgdrFrame *frame)
{
  gint c;

  for (c = 0; c < frame->n_components; c++) {
    VkgdrComponent *k = &frame->component[c];
    gboolean chroma = frame->model == VKGDR_YUV && (c == 1 || c == 2);
    gint unit = 1 << (k->depth - 8);

    k->origin = 0;
    k->range = (1 << k->depth) - 1;
    if (chroma)
      k->origin = 128 * unit;
    else if (c == 0 && !frame->full_range)
      k->origin = 16 * unit;
    if (!frame->full_range && (chroma || c == 0))
      k->range = (chroma ? 224 : 219) * unit;
    k->scale = 1 / k->range;
  }
}

/* Four bytes side by side, at an address that they can be read from at once. */
static void
frame_set_packed4 (VkgdrFrame *frame)
{
  const VkgdrPlane *plane = &frame->plane[0];

  frame->packed4 = frame->n_planes == 1 && frame->n_components == 4
                   && frame->component[0].step == 4
                   && frame->component[0].depth == 8
                   && (((guintptr) plane->data | plane->stride) & 3) == 0;
}

/* Bytes of a row of @plane that a kernel may touch; sets @columns and @rows. */
static gsize
frame_measure_plane (
    const VkgdrFrame *frame, gint plane, gint *columns, gint *rows)
{
  gsize bytes = 0;
  gint c;

  *columns = *rows = 0;
  for (c = 0; c < frame->n_components; c++) {
    const VkgdrComponent *k = &frame->component[c];
    gint w = -((-frame->width) >> k->w_sub),
         h = -((-frame->height) >> k->h_sub);

    if (k->plane != plane)
      continue;
    bytes = MAX (
        bytes, k->offset + (gsize) (w - 1) * k->step + (k->depth > 8 ? 2 : 1));
    *columns = MAX (*columns, w);
    *rows = MAX (*rows, h);
  }
  return bytes;
}

/* The memory of @buffer in which the @size bytes at @offset lie, all of them;
 * @skip is where they begin in it. */
static GstMemory *
frame_find_memory (GstBuffer *buffer, gint plane, gsize offset, gsize size,
    gsize *skip, GError **error)
{
  guint index, length;
  GstMemory *memory;

  if (offset + size < offset
      || !gst_buffer_find_memory (
          buffer, offset, size, &index, &length, skip)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d takes bytes %" G_GSIZE_FORMAT " to %" G_GSIZE_FORMAT
        ", but the buffer has %" G_GSIZE_FORMAT,
        plane, offset, offset + size, gst_buffer_get_size (buffer));
    return NULL;
  }
  memory = gst_buffer_peek_memory (buffer, index);
  if (!gst_is_vkgdr_memory (memory)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d lies in memory of the type %s, not in " GST_VKGDR_MEMORY_NAME,
        plane, memory->allocator ? memory->allocator->mem_type : "(none)");
    return NULL;
  }
  if (length != 1) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d is spread over %u memories", plane, length);
    return NULL;
  }
  return memory;
}

static gboolean
frame_check_context (
    GstMemory *memory, GstVkgdrContext *context, gint plane, GError **error)
{
  GstVkgdrContext *other = gst_vkgdr_memory_get_context (memory);

  if (gst_vkgdr_context_shares (other, context))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Plane %d lies on device %d, but the kernel runs on device %d", plane,
      gst_vkgdr_context_get_device (other),
      gst_vkgdr_context_get_device (context));
  return FALSE;
}

static gboolean
frame_set_plane (VkgdrFrame *frame, gint index, GstVkgdrContext *context,
    GstBuffer *buffer, gsize offset, gint stride, GError **error)
{
  VkgdrPlane *plane = &frame->plane[index];
  gsize row = frame_measure_plane (frame, index, &plane->width, &plane->height);
  gboolean words = frame->component[0].depth > 8;
  GstMemory *memory;
  guint64 address;
  gsize skip;

  if (row == 0)
    return TRUE;
  if (stride < 0 || (gsize) stride < row) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d has a stride of %d bytes, but rows of %" G_GSIZE_FORMAT,
        index, stride, row);
    return FALSE;
  }
  memory = frame_find_memory (buffer, index, offset,
      (gsize) stride * (plane->height - 1) + row, &skip, error);
  if (!memory || !frame_check_context (memory, context, index, error))
    return FALSE;

  address = gst_vkgdr_memory_get_device_pointer (memory) + skip;
  if (words && ((address | stride) & 1)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d has samples of 16 bits at odd addresses", index);
    return FALSE;
  }
  plane->data = (unsigned char *) (guintptr) address;
  plane->stride = stride;
  return TRUE;
}

static gboolean
frame_check_meta (
    const GstVideoMeta *meta, const GstVideoInfo *info, GError **error)
{
  if (meta->format == GST_VIDEO_INFO_FORMAT (info)
      && meta->width == (guint) GST_VIDEO_INFO_WIDTH (info)
      && meta->height == (guint) GST_VIDEO_INFO_HEIGHT (info)
      && meta->n_planes == GST_VIDEO_INFO_N_PLANES (info))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "The buffer holds %s of %ux%u, but the caps say %s of %dx%d",
      gst_video_format_to_string (meta->format), meta->width, meta->height,
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info));
  return FALSE;
}

gboolean
gst_vkgdr_frame_fill (VkgdrFrame *frame, GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, guint64 number, GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const GstVideoFormatInfo *format = info->finfo;
  gint i;

  if (!frame_check_format (format, error))
    return FALSE;
  if (meta && !frame_check_meta (meta, info, error))
    return FALSE;

  memset (frame, 0, sizeof (*frame));
  frame->width = GST_VIDEO_INFO_WIDTH (info);
  frame->height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
  frame->format = GST_VIDEO_INFO_FORMAT (info);
  frame->model = GST_VIDEO_FORMAT_INFO_IS_RGB (format)   ? VKGDR_RGB
                 : GST_VIDEO_FORMAT_INFO_IS_YUV (format) ? VKGDR_YUV
                                                         : VKGDR_GRAY;
  frame->n_planes = GST_VIDEO_INFO_N_PLANES (info);
  frame->frame = number;
  frame->time = GST_BUFFER_PTS_IS_VALID (buffer)
                    ? (long long) GST_BUFFER_PTS (buffer)
                    : -1;
  frame_set_components (frame, format);
  frame_set_colorimetry (frame, info);
  frame_set_ranges (frame);

  for (i = 0; i < frame->n_planes; i++)
    if (!frame_set_plane (frame, i, context, buffer,
            meta ? meta->offset[i] : GST_VIDEO_INFO_PLANE_OFFSET (info, i),
            meta ? meta->stride[i] : GST_VIDEO_INFO_PLANE_STRIDE (info, i),
            error))
      return FALSE;
  frame_set_packed4 (frame);
  return TRUE;
}
