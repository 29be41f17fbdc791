/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * picture.c: see picture.h
 */

#include <math.h>
#include <string.h>

#include "picture.h"

/* --- samples ------------------------------------------------------------- */

static void
channel_init (Channel *ch, const GstVideoInfo *info, gint c)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  /* The padding of RGBx is like alpha. */
  gboolean is_padding = c >= (gint) GST_VIDEO_INFO_N_COMPONENTS (info);
  gint like = is_padding ? 0 : c;

  gst_video_color_range_offsets (
      info->colorimetry.range, info->finfo, offset, scale);
  ch->width = GST_VIDEO_INFO_COMP_WIDTH (info, like);
  ch->height = GST_VIDEO_INFO_COMP_HEIGHT (info, like);
  ch->across = 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, like);
  ch->down = 1 << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, like);
  /* A palette is unpacked to components of 8 bits. */
  ch->depth = GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info->finfo)
                  ? 8
                  : GST_VIDEO_INFO_COMP_DEPTH (info, like);
  ch->top = (1 << ch->depth) - 1;
  ch->black = is_padding ? 0 : offset[c];
  ch->range = is_padding ? ch->top : scale[c];
  ch->is_chroma = GST_VIDEO_INFO_IS_YUV (info) && (c == 1 || c == 2);
  ch->value = g_new0 (gint, ch->width * ch->height);
}

void
picture_init (Picture *p, const GstVideoInfo *info)
{
  gint c;

  memset (p, 0, sizeof (*p));
  p->n_channels = GST_VIDEO_INFO_N_COMPONENTS (info);
  p->width = GST_VIDEO_INFO_WIDTH (info);
  p->height = GST_VIDEO_INFO_HEIGHT (info);
  p->rgb = GST_VIDEO_INFO_IS_RGB (info);
  p->yuv = GST_VIDEO_INFO_IS_YUV (info);
  p->alpha = GST_VIDEO_INFO_HAS_ALPHA (info);
  if (p->rgb && p->n_channels == 3 && GST_VIDEO_INFO_N_PLANES (info) == 1
      && GST_VIDEO_INFO_COMP_PSTRIDE (info, 0) == 4)
    p->n_channels = 4;
  if (!gst_video_color_matrix_get_Kr_Kb (
          info->colorimetry.matrix, &p->kr, &p->kb))
    gst_video_color_matrix_get_Kr_Kb (
        GST_VIDEO_COLOR_MATRIX_BT709, &p->kr, &p->kb);
  for (c = 0; c < p->n_channels; c++)
    channel_init (&p->channel[c], info, c);
}

void
picture_clear (Picture *p)
{
  gint c;

  for (c = 0; c < p->n_channels; c++)
    g_free (p->channel[c].value);
}

/* Some of GStreamer's functions unpack a few pixels more than there are. */
#define PIXELS_MORE 16

void
picture_read (Picture *p, const GstVideoInfo *info, const guint8 *data)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  const GstVideoFormatInfo *wide =
      gst_video_format_get_info (finfo->unpack_format);
  gboolean is_wide = GST_VIDEO_FORMAT_INFO_DEPTH (wide, 0) == 16;
  gpointer planes[GST_VIDEO_MAX_PLANES] = { NULL };
  g_autofree guint16 *row = NULL;
  gint c, x, y;

  picture_init (p, info);
  /* Four components for each pixel, of which the first is alpha. */
  row = g_new0 (guint16, 4 * (p->width + PIXELS_MORE));
  for (c = 0; c < (gint) GST_VIDEO_INFO_N_PLANES (info); c++)
    planes[c] = (guint8 *) data + GST_VIDEO_INFO_PLANE_OFFSET (info, c);
  for (y = 0; y < p->height; y++) {
    finfo->unpack_func (finfo, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE, row, planes,
        info->stride, 0, y, p->width);
    for (c = 0; c < p->n_channels; c++) {
      Channel *ch = &p->channel[c];
      gint *value = ch->value + y / ch->down * ch->width;

      for (x = 0; x < ch->width && y % ch->down == 0; x++) {
        gint i = 4 * x * ch->across + (c + 1) % 4;

        value[x] = is_wide ? row[i] >> (16 - ch->depth)
                           : ((guint8 *) row)[i] >> (8 - ch->depth);
      }
    }
  }
}

gint
channel_at (const Channel *ch, gint x, gint y)
{
  x = CLAMP (x, 0, ch->width - 1);
  y = CLAMP (y, 0, ch->height - 1);
  return ch->value[y * ch->width + x];
}

guint
picture_count_differences (const Picture *a, const Picture *b, gint tolerance)
{
  guint n = 0;
  gint c, i;

  for (c = 0; c < a->n_channels; c++)
    for (i = 0; i < a->channel[c].width * a->channel[c].height; i++)
      n += ABS (a->channel[c].value[i] - b->channel[c].value[i]) > tolerance;
  return n;
}

/* --- colours ------------------------------------------------------------- */

gint
picture_luma_at (const Picture *p, gint x, gint y)
{
  gint64 r, b, g;

  if (!p->rgb)
    return channel_at (&p->channel[0], x, y);
  r = (gint64) floor (p->kr * 65536 + 0.5);
  b = (gint64) floor (p->kb * 65536 + 0.5);
  g = 65536 - r - b;
  return (gint) ((r * channel_at (&p->channel[0], x, y)
                     + g * channel_at (&p->channel[1], x, y)
                     + b * channel_at (&p->channel[2], x, y) + 32768)
                 / 65536);
}

Yuv
picture_to_yuv (const Picture *p, Colour c)
{
  gdouble y = p->kr * c.r + (1 - p->kr - p->kb) * c.g + p->kb * c.b;

  return (Yuv){ y, (c.b - y) / 2 / (1 - p->kb), (c.r - y) / 2 / (1 - p->kr) };
}

Colour
picture_from_yuv (const Picture *p, Yuv c)
{
  gdouble kg = 1 - p->kr - p->kb;
  gdouble r = c.y + 2 * (1 - p->kr) * c.v;
  gdouble b = c.y + 2 * (1 - p->kb) * c.u;

  return (Colour){ r, (c.y - p->kr * r - p->kb * b) / kg, b, 1 };
}

static gdouble
get_fraction (const Picture *p, gint c, gint x, gint y)
{
  const Channel *ch = &p->channel[c];

  return (gdouble) (channel_at (ch, x / ch->across, y / ch->down) - ch->black)
         / ch->range;
}

static void
put_fraction (Picture *p, gint c, gint x, gint y, gdouble v)
{
  Channel *ch = &p->channel[c];

  ch->value[y / ch->down * ch->width + x / ch->across] =
      (gint) nearbyint (CLAMP (ch->black + v * ch->range, 0, ch->top));
}

Colour
picture_colour_at (const Picture *p, gint x, gint y)
{
  gdouble first;
  Colour c;

  x = CLAMP (x, 0, p->width - 1);
  y = CLAMP (y, 0, p->height - 1);
  first = get_fraction (p, 0, x, y);
  if (p->yuv)
    c = picture_from_yuv (p,
        (Yuv){ first, get_fraction (p, 1, x, y), get_fraction (p, 2, x, y) });
  else if (p->rgb)
    c = (Colour){ first, get_fraction (p, 1, x, y), get_fraction (p, 2, x, y) };
  else
    c = (Colour){ first, first, first };
  c.a = p->alpha ? get_fraction (p, 3, x, y) : 1;
  return c;
}

/* Computes the samples of Cb and Cr from the colours of the pixels. */
static void
render_chroma (Picture *p, const Colour *colours)
{
  const Channel *ch = &p->channel[1];
  gint x, y, i, j;

  for (y = 0; y < ch->height; y++)
    for (x = 0; x < ch->width; x++) {
      gint left = x * ch->across, above = y * ch->down, n = 0;
      gdouble u = 0, v = 0;

      for (j = above; j < MIN (above + ch->down, p->height); j++)
        for (i = left; i < MIN (left + ch->across, p->width); i++, n++) {
          Yuv yuv = picture_to_yuv (p, colours[j * p->width + i]);

          u += yuv.u;
          v += yuv.v;
        }
      put_fraction (p, 1, left, above, u / n);
      put_fraction (p, 2, left, above, v / n);
    }
}

void
picture_render (Picture *out, PicturePaint paint, const Picture *in,
    const GstStructure *params)
{
  g_autofree Colour *colours = g_new (Colour, out->width * out->height);
  gint x, y;

  for (y = 0; y < out->height; y++)
    for (x = 0; x < out->width; x++) {
      Colour c = colours[y * out->width + x] = paint (in, out, x, y, params);

      put_fraction (out, 0, x, y, out->rgb ? c.r : picture_to_yuv (out, c).y);
      if (out->rgb) {
        put_fraction (out, 1, x, y, c.g);
        put_fraction (out, 2, x, y, c.b);
      }
      if (out->n_channels == 4)
        put_fraction (out, 3, x, y, out->alpha ? c.a : 1);
    }
  if (out->yuv)
    render_chroma (out, colours);
}
