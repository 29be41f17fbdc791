/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/format.c: see ipc/format.h
 */

#include "ipc/format.h"

#include <string.h>

/* The number of colours of a palette. */
#define PALETTE_SIZE 256

/* The bytes of a number of @depth bits. */
static guint
number_size (guint depth)
{
  return depth <= 8 ? 1 : depth <= 16 ? 2 : 4;
}

/* A field has half of the rows. */
static gint
count_rows (const GstVideoInfo *info, gint component)
{
  return GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT (
      info->finfo, component, GST_VIDEO_INFO_FIELD_HEIGHT (info));
}

/* Pixels of these formats share bytes. The plane then has rows of bytes. */
static void
describe_bytes (
    vkgdr_frame_plane_format *plane, const GstVideoInfo *info, guint index)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, index, components);
  plane->width = ABS (GST_VIDEO_INFO_PLANE_STRIDE (info, index));
  plane->height = count_rows (info, components[0]);
  plane->channels = 1;
  plane->bits = 8;
}

/* The elements of a row. In formats such as YUY2, two pixels share samples, and
 * a row has whole pairs. */
static guint
count_columns (const GstVideoInfo *info, const gint *components)
{
  const GstVideoFormatInfo *format = info->finfo;
  guint i, sub, first = GST_VIDEO_FORMAT_INFO_W_SUB (format, components[0]);
  guint most = first;

  for (i = 0; i < GST_VIDEO_MAX_COMPONENTS && components[i] >= 0; i++) {
    sub = GST_VIDEO_FORMAT_INFO_W_SUB (format, components[i]);
    most = MAX (most, sub);
  }
  return GST_ROUND_UP_N (
      (guint) GST_VIDEO_INFO_COMP_WIDTH (info, components[0]),
      1u << (most - first));
}

static void
describe_plane (
    vkgdr_frame_plane_format *plane, const GstVideoInfo *info, guint index)
{
  const GstVideoFormatInfo *format = info->finfo;
  gint components[GST_VIDEO_MAX_COMPONENTS], first;
  guint size, stride;

  if (GST_VIDEO_FORMAT_INFO_HAS_PALETTE (format) && index == 1) {
    *plane = (vkgdr_frame_plane_format){ PALETTE_SIZE, 1, 4, 8 };
    return;
  }
  gst_video_format_info_component (format, index, components);
  first = components[0];
  size = number_size (GST_VIDEO_FORMAT_INFO_DEPTH (format, first));
  stride = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, first);
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format) || stride % size != 0
      || stride == 0) {
    describe_bytes (plane, info, index);
    return;
  }
  plane->width = count_columns (info, components);
  plane->height = count_rows (info, first);
  plane->channels = stride / size;
  plane->bits = size * 8;
}

/* Planes of tiles are not described, because they have no rows. */
static guint
count_planes (const GstVideoInfo *info)
{
  return GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo)
             ? 0
             : GST_VIDEO_INFO_N_PLANES (info);
}

void
gst_vkgdr_ipc_format_init (vkgdr_frame_format *format, const GstVideoInfo *info)
{
  const GstVideoColorimetry *colours = &info->colorimetry;
  guint i;

  *format = (vkgdr_frame_format){ .width = GST_VIDEO_INFO_WIDTH (info),
    .height = GST_VIDEO_INFO_HEIGHT (info),
    .fps_n = GST_VIDEO_INFO_FPS_N (info),
    .fps_d = GST_VIDEO_INFO_FPS_D (info),
    .par_n = GST_VIDEO_INFO_PAR_N (info),
    .par_d = GST_VIDEO_INFO_PAR_D (info),
    .interlace_mode = GST_VIDEO_INFO_INTERLACE_MODE (info),
    .range = colours->range,
    .matrix = gst_video_color_matrix_to_iso (colours->matrix),
    .transfer = gst_video_transfer_function_to_iso (colours->transfer),
    .primaries = gst_video_color_primaries_to_iso (colours->primaries),
    .n_planes = count_planes (info) };
  /* A rate that is not known. */
  if (format->fps_n <= 0 || format->fps_d <= 0)
    format->fps_n = 0, format->fps_d = 1;
  if (format->par_n <= 0 || format->par_d <= 0)
    format->par_n = format->par_d = 1;
  g_strlcpy (format->name, GST_VIDEO_INFO_NAME (info), sizeof (format->name));
  for (i = 0; i < format->n_planes; i++)
    describe_plane (&format->planes[i], info, i);
}

/* Whether all planes are those of @info. */
static gboolean
has_planes_of (const vkgdr_frame_format *format, const GstVideoInfo *info)
{
  vkgdr_frame_format expected;

  gst_vkgdr_ipc_format_init (&expected, info);
  return format->n_planes == expected.n_planes
         && memcmp (format->planes, expected.planes, sizeof (format->planes))
                == 0;
}

gboolean
gst_vkgdr_ipc_format_agrees (
    const vkgdr_frame_format *format, const GstVideoInfo *info)
{
  if (!format)
    return GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_UNKNOWN;
  return GST_VIDEO_INFO_FORMAT (info) != GST_VIDEO_FORMAT_UNKNOWN
         && strcmp (format->name, GST_VIDEO_INFO_NAME (info)) == 0
         && format->width == (guint) GST_VIDEO_INFO_WIDTH (info)
         && format->height == (guint) GST_VIDEO_INFO_HEIGHT (info)
         && format->interlace_mode
                == (guint) GST_VIDEO_INFO_INTERLACE_MODE (info)
         && has_planes_of (format, info);
}

GstCaps *
gst_vkgdr_ipc_format_to_caps (const vkgdr_frame_format *format)
{
  GstVideoFormat name = gst_video_format_from_string (format->name);
  GstVideoInfo info;

  if (name == GST_VIDEO_FORMAT_UNKNOWN || name == GST_VIDEO_FORMAT_ENCODED
      || !gst_video_info_set_interlaced_format (
          &info, name, format->interlace_mode, format->width, format->height))
    return NULL;
  info.fps_n = format->fps_n;
  info.fps_d = format->fps_d;
  info.par_n = format->par_n;
  info.par_d = format->par_d;
  if (format->range != GST_VIDEO_COLOR_RANGE_UNKNOWN
      && format->range <= GST_VIDEO_COLOR_RANGE_16_235) {
    info.colorimetry.range = format->range;
    info.colorimetry.matrix = gst_video_color_matrix_from_iso (format->matrix);
    info.colorimetry.transfer =
        gst_video_transfer_function_from_iso (format->transfer);
    info.colorimetry.primaries =
        gst_video_color_primaries_from_iso (format->primaries);
  }
  return gst_video_info_to_caps (&info);
}
