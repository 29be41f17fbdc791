/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * picture.c: the samples of a video frame, for computations on the CPU
 *
 * Follows the descriptions of the formats and of the colours in kernel.h. It
 * shares no code with the kernels that the tests compare it with.
 */

#include <math.h>
#include <string.h>

#include "picture.h"

/* --- positions of samples ------------------------------------------------ */

typedef struct {
  gsize offset;
  gint stride, step, depth, shift, width, height;
} Layout;

/* Where the samples of component @c are. The padding of RGBx is component 3. */
static Layout
layout_of (const GstVideoInfo *info, gint c)
{
  gint like = c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info) ? c : 0;
  Layout l;
  gint i;

  l.offset = GST_VIDEO_INFO_COMP_OFFSET (info, like);
  /* V of P010 and P016 follows U after one sample, which is two bytes.
   * GStreamer's table says one byte. */
  if (GST_VIDEO_INFO_COMP_DEPTH (info, like) > 8
      && GST_VIDEO_INFO_COMP_POFFSET (info, like) == 1)
    l.offset++;
  l.stride = GST_VIDEO_INFO_COMP_STRIDE (info, like);
  l.step = GST_VIDEO_INFO_COMP_PSTRIDE (info, like);
  l.depth = GST_VIDEO_INFO_COMP_DEPTH (info, like);
  l.shift = GST_VIDEO_FORMAT_INFO_SHIFT (info->finfo, like);
  l.width = GST_VIDEO_INFO_COMP_WIDTH (info, like);
  l.height = GST_VIDEO_INFO_COMP_HEIGHT (info, like);
  if (like != c) {
    gboolean used[4] = { FALSE };

    for (i = 0; i < 3; i++)
      used[GST_VIDEO_INFO_COMP_POFFSET (info, i)] = TRUE;
    for (i = 0; used[i]; i++)
      ;
    l.offset = GST_VIDEO_INFO_PLANE_OFFSET (info, 0) + i;
  }
  return l;
}

static gsize
layout_at (const Layout *l, gint x, gint y)
{
  return l->offset + (gsize) y * l->stride + (gsize) x * l->step;
}

static gint
count_channels (const GstVideoInfo *info)
{
  gint n = GST_VIDEO_INFO_N_COMPONENTS (info);

  if (n == 3 && GST_VIDEO_INFO_IS_RGB (info)
      && GST_VIDEO_INFO_N_PLANES (info) == 1
      && GST_VIDEO_INFO_COMP_PSTRIDE (info, 0) == 4)
    return 4;
  return n;
}

static gint
read_sample (const Layout *l, const guint8 *data, gint x, gint y)
{
  const guint8 *s = data + layout_at (l, x, y);
  guint v = l->depth > 8 ? (guint) (s[0] + 256 * s[1]) >> l->shift : s[0];

  return v % (1u << l->depth);
}

/* --- pictures ------------------------------------------------------------ */

static void
picture_describe (Picture *p, const GstVideoInfo *info)
{
  GstVideoColorRange range = info->colorimetry.range;

  memset (p, 0, sizeof (*p));
  p->n_channels = count_channels (info);
  p->width = GST_VIDEO_INFO_WIDTH (info);
  p->height = GST_VIDEO_INFO_HEIGHT (info);
  p->depth = GST_VIDEO_INFO_COMP_DEPTH (info, 0);
  p->rgb = GST_VIDEO_INFO_IS_RGB (info);
  p->yuv = GST_VIDEO_INFO_IS_YUV (info);
  p->alpha = GST_VIDEO_INFO_HAS_ALPHA (info);
  p->full = range != GST_VIDEO_COLOR_RANGE_16_235;
  switch (info->colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT601:
    p->kr = 0.2990;
    p->kb = 0.1140;
    break;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    p->kr = 0.2627;
    p->kb = 0.0593;
    break;
  default:
    p->kr = 0.2126;
    p->kb = 0.0722;
    break;
  }
}

void
picture_init (Picture *p, const GstVideoInfo *info)
{
  gint c;

  picture_describe (p, info);
  for (c = 0; c < p->n_channels; c++) {
    Layout l = layout_of (info, c);
    Channel *ch = &p->channel[c];
    gint like = c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info) ? c : 0;

    ch->width = l.width;
    ch->height = l.height;
    ch->across = 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, like);
    ch->down = 1 << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, like);
    ch->value = g_new0 (gint, l.width * l.height);
  }
}

void
picture_read (Picture *p, const GstVideoInfo *info, const guint8 *data)
{
  gint c, x, y;

  picture_init (p, info);
  for (c = 0; c < p->n_channels; c++) {
    Layout l = layout_of (info, c);

    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++)
        p->channel[c].value[y * l.width + x] = read_sample (&l, data, x, y);
  }
}

void
picture_write (const Picture *p, const GstVideoInfo *info, guint8 *data)
{
  gint c, x, y;

  for (c = 0; c < p->n_channels; c++) {
    Layout l = layout_of (info, c);

    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++) {
        guint8 *s = data + layout_at (&l, x, y);
        guint v = p->channel[c].value[y * l.width + x];

        if (l.depth > 8) {
          v <<= l.shift;
          s[0] = v % 256;
          s[1] = v / 256;
        } else {
          s[0] = v;
        }
      }
  }
}

void
picture_clear (Picture *p)
{
  gint c;

  for (c = 0; c < p->n_channels; c++)
    g_free (p->channel[c].value);
}

/* --- the meaning of levels ----------------------------------------------- */

gint
picture_top (const Picture *p)
{
  return (1 << p->depth) - 1;
}

gint
picture_level (const Picture *p, gint eighth)
{
  return eighth << (p->depth - 8);
}

gint
picture_black (const Picture *p)
{
  return p->full ? 0 : picture_level (p, 16);
}

gint
picture_white (const Picture *p)
{
  return p->full ? picture_top (p) : picture_level (p, 235);
}

gboolean
picture_is_chroma (const Picture *p, gint c)
{
  return p->yuv && (c == 1 || c == 2);
}

gint
picture_limit (const Picture *p, gint v)
{
  return CLAMP (v, 0, picture_top (p));
}

gint
channel_at (const Channel *ch, gint x, gint y)
{
  x = CLAMP (x, 0, ch->width - 1);
  y = CLAMP (y, 0, ch->height - 1);
  return ch->value[y * ch->width + x];
}

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

/* --- colours ------------------------------------------------------------- */

Yuv
picture_to_yuv (const Picture *p, Colour c)
{
  gdouble y = p->kr * c.r + (1 - p->kr - p->kb) * c.g + p->kb * c.b;
  Yuv yuv = { y, (c.b - y) / 2 / (1 - p->kb), (c.r - y) / 2 / (1 - p->kr) };

  return yuv;
}

Colour
picture_from_yuv (const Picture *p, Yuv c)
{
  gdouble kg = 1 - p->kr - p->kb;
  gdouble r = c.y + 2 * (1 - p->kr) * c.v;
  gdouble b = c.y + 2 * (1 - p->kb) * c.u;
  Colour colour = { r, (c.y - p->kr * r - p->kb * b) / kg, b, 1 };

  return colour;
}

/* The level that means 0 or black in a channel, and its distance to the level
 * that means 1. */
static void
get_scale (const Picture *p, gint c, gdouble *origin, gdouble *range)
{
  if (picture_is_chroma (p, c)) {
    *origin = picture_level (p, 128);
    *range = p->full ? picture_top (p) : picture_level (p, 224);
  } else if (c < 3) {
    *origin = picture_black (p);
    *range = picture_white (p) - picture_black (p);
  } else {
    *origin = 0;
    *range = picture_top (p);
  }
}

static gdouble
get_fraction (const Picture *p, gint c, gint x, gint y)
{
  const Channel *ch = &p->channel[c];
  gdouble origin, range;

  get_scale (p, c, &origin, &range);
  return (channel_at (ch, x / ch->across, y / ch->down) - origin) / range;
}

static void
put_fraction (Picture *p, gint c, gint x, gint y, gdouble v)
{
  Channel *ch = &p->channel[c];
  gdouble origin, range;

  get_scale (p, c, &origin, &range);
  v = CLAMP (origin + v * range, 0, picture_top (p));
  ch->value[y / ch->down * ch->width + x / ch->across] = (gint) nearbyint (v);
}

Colour
picture_colour_at (const Picture *p, gint x, gint y)
{
  Colour c = { 0, 0, 0, 1 };

  x = CLAMP (x, 0, p->width - 1);
  y = CLAMP (y, 0, p->height - 1);
  if (p->yuv) {
    Yuv yuv = { get_fraction (p, 0, x, y), get_fraction (p, 1, x, y),
      get_fraction (p, 2, x, y) };

    c = picture_from_yuv (p, yuv);
  } else {
    c.r = get_fraction (p, 0, x, y);
    c.g = p->rgb ? get_fraction (p, 1, x, y) : c.r;
    c.b = p->rgb ? get_fraction (p, 2, x, y) : c.r;
  }
  if (p->alpha)
    c.a = get_fraction (p, 3, x, y);
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
picture_render (Picture *p, PicturePaint paint, gpointer user_data)
{
  g_autofree Colour *colours = g_new (Colour, p->width * p->height);
  gint x, y;

  for (y = 0; y < p->height; y++)
    for (x = 0; x < p->width; x++) {
      Colour c = colours[y * p->width + x] = paint (x, y, user_data);

      put_fraction (p, 0, x, y, p->rgb ? c.r : picture_to_yuv (p, c).y);
      if (p->rgb) {
        put_fraction (p, 1, x, y, c.g);
        put_fraction (p, 2, x, y, c.b);
      }
      if (p->n_channels == 4)
        put_fraction (p, 3, x, y, p->alpha ? c.a : 1);
    }
  if (p->yuv)
    render_chroma (p, colours);
}

/* --- comparing ----------------------------------------------------------- */

static gboolean
sample_differs (const Layout *l, const guint8 *a, const guint8 *b, gint x,
    gint y, gint tolerance)
{
  if (tolerance > 0)
    return ABS (read_sample (l, a, x, y) - read_sample (l, b, x, y))
           > tolerance;
  return memcmp (a + layout_at (l, x, y), b + layout_at (l, x, y),
             l->depth > 8 ? 2 : 1)
         != 0;
}

guint
picture_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b, gint tolerance)
{
  gint c, x, y, n = count_channels (info);
  guint differences = 0;

  for (c = 0; c < n; c++) {
    Layout l = layout_of (info, c);

    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++)
        differences += sample_differs (&l, a, b, x, y, tolerance);
  }
  return differences;
}
