/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/frame.c: fills the VkgdrFrame that a kernel gets for a buffer
 *
 * Checks everything on which a kernel relies, because an access to a wrong
 * address makes the CUDA context unusable. Knows nothing of the code and the
 * launches of kernels.
 */

#include <string.h>

#include "kernel/format.h"
#include "kernel/frame.h"
#include "memory/memory-private.h"

gboolean
gst_vkgdr_frame_check_info (const GstVideoInfo *info, GError **error)
{
  VkgdrFrame frame = { 0 };

  if (!gst_vkgdr_format_describe (info->finfo, &frame)) {
    gst_vkgdr_format_set_error (info->finfo, error);
    return FALSE;
  }
  if (GST_VIDEO_INFO_MULTIVIEW_MODE (info)
      != GST_VIDEO_MULTIVIEW_MODE_SEPARATED)
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "The frames have several views in pictures of their own "
      "(multiview-mode=separated), and a kernel sees one picture: convert them "
      "to one first, with glviewconvert");
  return FALSE;
}

static void
frame_set_colorimetry (VkgdrFrame *frame, const GstVideoInfo *info)
{
  GstVideoColorMatrix matrix = info->colorimetry.matrix;
  GstVideoColorRange range = info->colorimetry.range;
  gdouble kr, kb;

  /* An unknown range is full, as in GStreamer's own converters. */
  frame->full_range = range != GST_VIDEO_COLOR_RANGE_16_235;
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

/* Sets the range of the samples of each component. In 8 bits, full range is 0
 * to 255, limited range of luma, gray, red, green and blue is 16 to 235, and
 * limited range of Cb and Cr is 224 values around 128. Alpha is always full. */
static void
frame_set_ranges (VkgdrFrame *frame)
{
  gint c;

  for (c = 0; c < frame->n_components; c++) {
    VkgdrComponent *k = &frame->component[c];
    gboolean chroma = frame->model == VKGDR_YUV && (c == 1 || c == 2);
    gint max = (1 << k->depth) - 1;
    /* Fewer than 8 bits, of red, green and blue, are expanded to 8. */
    gfloat unit = k->depth < 8 ? max / 255.0f : 1 << (k->depth - 8);

    k->origin = 0;
    k->range = max;
    if (chroma)
      k->origin = 128 * unit;
    else if (c < 3 && !frame->full_range)
      k->origin = 16 * unit;
    if (!frame->full_range && c < 3)
      k->range = (chroma ? 224 : 219) * unit;
    k->scale = 1 / k->range;
  }
}

/* Whether a pixel is four consecutive bytes that can be read at once. */
static void
frame_set_packed4 (VkgdrFrame *frame)
{
  const VkgdrPlane *plane = &frame->plane[0];

  frame->packed4 = frame->n_planes == 1 && frame->n_components == 4
                   && frame->component[0].step == 4
                   && frame->component[0].depth == 8
                   && frame->component[0].order == VKGDR_NATIVE
                   && (((guintptr) plane->data | plane->stride) & 3) == 0;
}

/* Returns the memory of @buffer that has all @size bytes at @offset. Sets @skip
 * to their offset in this memory. */
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
  if (length != 1) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d is spread over %u memories", plane, length);
    return NULL;
  }
  return memory;
}

static gboolean
frame_set_plane (VkgdrFrame *frame, gint index, gsize row,
    GstVkgdrContext *context, GstBuffer *buffer, gsize offset, gint stride,
    GError **error)
{
  VkgdrPlane *plane = &frame->plane[index];
  GstMemory *memory;
  gsize skip;

  if (row == 0)
    return TRUE;
  if ((gsize) stride < row) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Plane %d has a stride of %d bytes, but rows of %" G_GSIZE_FORMAT,
        index, stride, row);
    return FALSE;
  }
  memory = frame_find_memory (buffer, index, offset,
      (gsize) stride * (plane->height - 1) + row, &skip, error);
  if (!memory || !gst_vkgdr_memory_check (memory, context, error))
    return FALSE;

  plane->data =
      (unsigned char *) (guintptr) (gst_vkgdr_memory_get_device_pointer (memory)
                                    + skip);
  plane->stride = stride;
  return TRUE;
}

static gint
count_rows (gint lines, gint sub)
{
  return -((-lines) >> sub);
}

/* Sets the size of a plane, and returns the bytes of a row of it that a kernel
 * may access. */
static gsize
frame_measure_plane (VkgdrFrame *frame, gint plane)
{
  VkgdrPlane *p = &frame->plane[plane];
  gsize bytes = 0;
  gint c;

  for (c = 0; c < frame->n_components; c++) {
    const VkgdrComponent *k = &frame->component[c];
    gint w = -((-frame->width) >> k->w_sub);
    gint h = count_rows (frame->height, k->h_sub);

    if (k->plane != plane)
      continue;
    bytes = MAX (bytes, gst_vkgdr_format_measure_row (k, w));
    p->width = MAX (p->width, w);
    p->height = MAX (p->height, h);
  }
  return bytes;
}

/* --- fields -------------------------------------------------------------- */

static gboolean
has_flag (GstBuffer *buffer, GstVideoBufferFlags flag)
{
  return (GST_BUFFER_FLAGS (buffer) & (guint) flag) == (guint) flag;
}

/* The same decisions as those of gst_video_frame_map(). */
gint
gst_vkgdr_frame_get_fields (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gboolean top_first = has_flag (buffer, GST_VIDEO_BUFFER_FLAG_TFF)
                       || GST_VIDEO_INFO_FIELD_ORDER (info)
                              == GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;

  switch (GST_VIDEO_INFO_INTERLACE_MODE (info)) {
  case GST_VIDEO_INTERLACE_MODE_PROGRESSIVE:
    return VKGDR_PROGRESSIVE;
  case GST_VIDEO_INTERLACE_MODE_ALTERNATE:
    if (has_flag (buffer, GST_VIDEO_BUFFER_FLAG_TOP_FIELD))
      return VKGDR_TOP;
    return has_flag (buffer, GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD)
               ? VKGDR_BOTTOM
               : VKGDR_PROGRESSIVE;
  case GST_VIDEO_INTERLACE_MODE_MIXED:
    if (!has_flag (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED)
        && !(meta && (meta->flags & GST_VIDEO_FRAME_FLAG_INTERLACED)))
      return VKGDR_PROGRESSIVE;
    break;
  default:
    break;
  }
  return VKGDR_BOTH | (top_first ? VKGDR_TOP_FIRST : 0);
}

/* In a frame of two fields, each field has rows of its own: the last row of
 * the bottom field may be behind that of the top field. */
static gint
count_rows_of_both (gint lines, gint sub)
{
  gint top = count_rows ((lines + 1) / 2, sub);
  gint bottom = count_rows (lines / 2, sub);

  return sub == 0 ? lines : MAX (2 * top - 1, 2 * bottom);
}

/* Sets the fields in the picture, and the number of rows of its planes. */
static void
frame_set_fields (VkgdrFrame *frame, gint fields)
{
  gboolean both = (fields & VKGDR_BOTH) == VKGDR_BOTH;
  gint c;

  frame->fields = fields;
  for (c = 0; c < frame->n_components && both; c++) {
    VkgdrPlane *plane = &frame->plane[frame->component[c].plane];

    plane->height = MAX (plane->height,
        count_rows_of_both (frame->height, frame->component[c].h_sub));
  }
}

VkgdrFrame
gst_vkgdr_frame_get_field (const VkgdrFrame *frame, gint field)
{
  VkgdrFrame result = *frame;
  gint bottom = field == VKGDR_BOTTOM && frame->height > 1, i;

  result.fields = field;
  result.height = (frame->height + 1 - bottom) / 2;
  for (i = 0; i < frame->n_planes; i++) {
    VkgdrPlane *plane = &result.plane[i];

    plane->data += bottom * plane->stride;
    plane->height = (plane->height + 1 - bottom) / 2;
    plane->stride *= 2;
  }
  return result;
}

/* --- layouts ------------------------------------------------------------- */

/* The part of a frame's description that depends on the format of the caps
 * alone. */
typedef struct {
  GstVideoInfo info;            /* `finfo` is NULL at first */
  VkgdrFrame frame;             /* without the positions of the planes */
  gsize rows[VKGDR_MAX_PLANES]; /* bytes of a row; 0 if a plane is not used */
} Layout;

static gboolean
layout_compute (Layout *layout, const GstVideoInfo *info, GError **error)
{
  VkgdrFrame *frame = &layout->frame;
  gint i;

  memset (layout, 0, sizeof (*layout));
  if (!gst_vkgdr_format_describe (info->finfo, frame)) {
    gst_vkgdr_format_set_error (info->finfo, error);
    return FALSE;
  }
  frame->width = GST_VIDEO_INFO_WIDTH (info);
  frame->height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
  frame->format = GST_VIDEO_INFO_FORMAT (info);
  frame_set_colorimetry (frame, info);
  frame_set_ranges (frame);
  for (i = 0; i < frame->n_planes; i++)
    layout->rows[i] = frame_measure_plane (frame, i);
  layout->info = *info;
  return TRUE;
}

/* Keeps the last layout of each thread, because a thread mostly needs the same
 * again. Returns NULL with @error set if kernels cannot be run on the format.
 */
static const Layout *
get_layout (const GstVideoInfo *info, GError **error)
{
  static _Thread_local Layout last;
  Layout *layout = &last; /* looked up once, because that takes a call */

  if ((layout->info.finfo && gst_video_info_is_equal (info, &layout->info))
      || layout_compute (layout, info, error))
    return layout;
  return NULL;
}

gboolean
gst_vkgdr_frame_describe (
    VkgdrFrame *frame, const GstVideoInfo *info, GError **error)
{
  const Layout *layout = get_layout (info, error);
  gint i;

  if (!layout)
    return FALSE;
  *frame = layout->frame;
  for (i = 0; i < frame->n_planes; i++) {
    VkgdrPlane *plane = &frame->plane[i];

    plane->data =
        (unsigned char *) (guintptr) GST_VIDEO_INFO_PLANE_OFFSET (info, i);
    plane->stride = GST_VIDEO_INFO_PLANE_STRIDE (info, i);
  }
  frame_set_packed4 (frame);
  return TRUE;
}

/* Whether the rows of plane @index are in @buffer, and reach into no other
 * plane. GStreamer's default layout of some formats has no row for the last
 * lines of the bottom field. */
static gboolean
has_rows (GstBuffer *buffer, const gsize *offsets, const gint *strides,
    guint n_planes, guint index, gint rows)
{
  gsize end = offsets[index] + (gsize) rows * strides[index];
  guint i;

  for (i = 0; i < n_planes; i++)
    if (offsets[i] > offsets[index] && offsets[i] < end)
      return FALSE;
  return end <= gst_buffer_get_size (buffer);
}

static void
frame_try_fields (VkgdrFrame *frame, gint fields, GstBuffer *buffer,
    const gsize *offsets, const gint *strides)
{
  const VkgdrFrame progressive = *frame;
  gint i;

  frame_set_fields (frame, fields);
  for (i = 0; i < frame->n_planes; i++)
    if (frame->plane[i].height > progressive.plane[i].height
        && !has_rows (buffer, offsets, strides, frame->n_planes, i,
            frame->plane[i].height)) {
      *frame = progressive;
      return;
    }
}

/* The address of the byte at @offset of @buffer. Memory of another kind, which
 * is aligned, counts from 0. */
static guint64
get_address (GstBuffer *buffer, gsize offset)
{
  guint index, length;
  GstMemory *memory;
  gsize skip;

  if (!gst_buffer_find_memory (buffer, offset, 1, &index, &length, &skip))
    return offset;
  memory = gst_buffer_peek_memory (buffer, index);
  return gst_is_vkgdr_memory (memory)
             ? gst_vkgdr_memory_get_device_pointer (memory) + skip
             : skip;
}

gboolean
gst_vkgdr_frame_check_rows (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const gsize *offsets = meta ? meta->offset : info->offset;
  const gint *strides = meta ? meta->stride : info->stride;
  const Layout *layout = get_layout (info, error);
  const gchar *reason = NULL;
  gboolean words;
  gint i;

  if (!layout)
    return FALSE;
  words = layout->frame.component[0].depth > 8
          && layout->frame.component[0].order < VKGDR_BITS_LE;
  for (i = 0; i < layout->frame.n_planes && !reason; i++) {
    if (strides[i] < 0)
      reason = "is upside down";
    else if (words && ((get_address (buffer, offsets[i]) | strides[i]) & 1))
      reason = "has samples of 16 bits at odd addresses";
  }
  if (!reason)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "plane %d %s, where kernels cannot read it: vkgdrupload packs such "
      "frames",
      i - 1, reason);
  return FALSE;
}

gboolean
gst_vkgdr_frame_check (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error)
{
  return get_layout (info, error)
         && gst_vkgdr_buffer_check_video (buffer, info, error)
         && gst_vkgdr_frame_check_rows (buffer, info, error);
}

gboolean
gst_vkgdr_frame_fill (VkgdrFrame *frame, GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, gint fields, guint64 number,
    GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const gsize *offsets = meta ? meta->offset : info->offset;
  const gint *strides = meta ? meta->stride : info->stride;
  const Layout *layout = get_layout (info, error);
  gint i;

  if (!layout || !gst_vkgdr_frame_check (buffer, info, error))
    return FALSE;
  *frame = layout->frame;
  if (fields)
    frame_try_fields (frame, fields, buffer, offsets, strides);
  frame->frame = number;
  frame->time = GST_BUFFER_PTS_IS_VALID (buffer)
                    ? (long long) GST_BUFFER_PTS (buffer)
                    : -1;
  for (i = 0; i < frame->n_planes; i++)
    if (!frame_set_plane (frame, i, layout->rows[i], context, buffer,
            offsets[i], strides[i], error))
      return FALSE;
  frame_set_packed4 (frame);
  return TRUE;
}
