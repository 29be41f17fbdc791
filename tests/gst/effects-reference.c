/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.c: what the effects of cudafilter have to give, by the CPU
 *
 * A frame is taken apart into one array of integers a component, the effect is
 * applied to these, and they are put back. Follows the effects' descriptions,
 * not their sources: nothing is shared with them.
 */

#include <math.h>
#include <string.h>

#include "effects-reference.h"

#define MAX_CHANNELS 4

/* One component, at its own resolution. */
typedef struct {
  gint width, height;
  gint *value;
} Channel;

typedef struct {
  Channel channel[MAX_CHANNELS];
  gint n_channels;
  gint depth;
  gboolean rgb, yuv;
  gboolean full;
  gdouble kr, kb;
} Picture;

typedef struct {
  gsize offset;
  gint stride, step, depth, shift, width, height;
} Layout;

/* Where component @c lies; the padding of RGBx is component 3. */
static Layout
layout_of (const GstVideoInfo *info, gint c)
{
  gint like = c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info) ? c : 0;
  Layout l;
  gint i;

  l.offset = GST_VIDEO_INFO_COMP_OFFSET (info, like);
  /* V of P010 and P016 is one sample behind U: in GStreamer's table one byte.
   */
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

static void
picture_describe (Picture *p, const GstVideoInfo *info)
{
  GstVideoColorRange range = info->colorimetry.range;

  memset (p, 0, sizeof (*p));
  p->n_channels = count_channels (info);
  p->depth = GST_VIDEO_INFO_COMP_DEPTH (info, 0);
  p->rgb = GST_VIDEO_INFO_IS_RGB (info);
  p->yuv = GST_VIDEO_INFO_IS_YUV (info);
  p->full = p->rgb || range == GST_VIDEO_COLOR_RANGE_0_255
            || (!p->yuv && range != GST_VIDEO_COLOR_RANGE_16_235);
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

static void
picture_read (Picture *p, const GstVideoInfo *info, const guint8 *data)
{
  gint c, x, y;

  picture_describe (p, info);
  for (c = 0; c < p->n_channels; c++) {
    Layout l = layout_of (info, c);
    Channel *ch = &p->channel[c];

    ch->width = l.width;
    ch->height = l.height;
    ch->value = g_new (gint, l.width * l.height);
    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++) {
        const guint8 *s =
            data + l.offset + (gsize) y * l.stride + (gsize) x * l.step;
        guint v = l.depth > 8 ? (guint) (s[0] + 256 * s[1]) >> l.shift : s[0];

        ch->value[y * l.width + x] = v % (1u << l.depth);
      }
  }
}

static void
picture_write (const Picture *p, const GstVideoInfo *info, guint8 *data)
{
  gint c, x, y;

  for (c = 0; c < p->n_channels; c++) {
    Layout l = layout_of (info, c);

    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++) {
        guint8 *s = data + l.offset + (gsize) y * l.stride + (gsize) x * l.step;
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

static void
picture_clear (Picture *p)
{
  gint c;

  for (c = 0; c < p->n_channels; c++)
    g_free (p->channel[c].value);
}

/* --- what levels mean ---------------------------------------------------- */

static gint
top (const Picture *p)
{
  return (1 << p->depth) - 1;
}

/* @eighth is a level of 8 bits. */
static gint
level (const Picture *p, gint eighth)
{
  return eighth << (p->depth - 8);
}

static gint
black (const Picture *p)
{
  return p->full ? 0 : level (p, 16);
}

static gint
white (const Picture *p)
{
  return p->full ? top (p) : level (p, 235);
}

static gboolean
is_chroma (const Picture *p, gint c)
{
  return p->yuv && (c == 1 || c == 2);
}

static gint
limit (const Picture *p, gint v)
{
  return CLAMP (v, 0, top (p));
}

static gint
at_edge (const Channel *ch, gint x, gint y)
{
  x = CLAMP (x, 0, ch->width - 1);
  y = CLAMP (y, 0, ch->height - 1);
  return ch->value[y * ch->width + x];
}

/* Weights of 1/65536, nearest; halves of the sum up. */
static gint
luma_at (const Picture *p, gint x, gint y)
{
  gint64 r, b, g;

  if (!p->rgb)
    return at_edge (&p->channel[0], x, y);
  r = (gint64) floor (p->kr * 65536 + 0.5);
  b = (gint64) floor (p->kb * 65536 + 0.5);
  g = 65536 - r - b;
  return (gint) ((r * at_edge (&p->channel[0], x, y)
                     + g * at_edge (&p->channel[1], x, y)
                     + b * at_edge (&p->channel[2], x, y) + 32768)
                 / 65536);
}

/* --- the effects --------------------------------------------------------- */

typedef gint (*SampleFunc) (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params);

static gint
sample_copy (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  return at_edge (&in->channel[c], x, y);
}

static gint
sample_invert (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint v = at_edge (&in->channel[c], x, y);

  if (is_chroma (in, c))
    return limit (in, level (in, 256) - v);
  return limit (in, black (in) + white (in) - v);
}

static gint
sample_grayscale (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  return is_chroma (in, c) ? level (in, 128) : luma_at (in, x, y);
}

static gint
sample_gain (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint v = at_edge (&in->channel[c], x, y);
  gfloat gain = 1, offset = 0, base;
  gint origin = is_chroma (in, c) ? level (in, 128) : black (in);

  if (params)
    gst_structure_get (params, "gain", G_TYPE_FLOAT, &gain, "offset",
        G_TYPE_FLOAT, &offset, NULL);
  if (is_chroma (in, c))
    offset = 0;
  base = fmaf (offset, (gfloat) (white (in) - black (in)), (gfloat) origin);
  base = fmaf ((gfloat) (v - origin), gain, base);
  return (gint) nearbyintf (CLAMP (base, 0.0f, (gfloat) top (in)));
}

static gint
sample_blur (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  static const gint weights[] = { 1, 4, 6, 4, 1 };
  gdouble sum = 0;
  gint i, j;

  for (j = 0; j < 5; j++)
    for (i = 0; i < 5; i++)
      sum += weights[i] * weights[j]
             * (gdouble) at_edge (&in->channel[c], x + i - 2, y + j - 2);
  return (gint) floor (sum / 256 + 0.5);
}

static gint
sample_sobel (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  static const gint filter[3][3] = { { -1, 0, 1 }, { -2, 0, 2 }, { -1, 0, 1 } };
  gdouble gx = 0, gy = 0, m;
  gint i, j;

  if (is_chroma (in, c))
    return level (in, 128);
  for (j = 0; j < 3; j++)
    for (i = 0; i < 3; i++) {
      gint v = luma_at (in, x + i - 1, y + j - 1);

      gx += filter[j][i] * v;
      gy += filter[i][j] * v;
    }
  m = MIN (floor (sqrt (gx * gx + gy * gy) + 0.5), top (in));
  return black (in)
         + (gint) floor (m * (white (in) - black (in)) / top (in) + 0.5);
}

static const struct {
  const gchar *name;
  SampleFunc sample;
} functions[] = {
  { "blur", sample_blur },
  { "copy", sample_copy },
  { "gain", sample_gain },
  { "grayscale", sample_grayscale },
  { "invert", sample_invert },
  { "sobel", sample_sobel },
};

static SampleFunc
find_function (const gchar *name)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (functions); i++)
    if (g_str_equal (functions[i].name, name))
      return functions[i].sample;
  g_error ("no reference for the effect %s", name);
  return NULL;
}

void
effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params)
{
  SampleFunc sample = find_function (name);
  Picture in, out;
  gint c, x, y;

  picture_read (&in, info, in_data);
  picture_read (&out, info, in_data);
  for (c = 0; c < out.n_channels; c++) {
    Channel *ch = &out.channel[c];

    /* Alpha and padding stay. */
    for (y = 0; c < 3 && y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] = sample (&in, c, x, y, params);
  }
  picture_write (&out, info, out_data);
  picture_clear (&out);
  picture_clear (&in);
}

guint
effect_reference_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b)
{
  gint c, x, y, i, n = count_channels (info);
  guint differences = 0;

  for (c = 0; c < n; c++) {
    Layout l = layout_of (info, c);

    for (y = 0; y < l.height; y++)
      for (x = 0; x < l.width; x++) {
        gsize at = l.offset + (gsize) y * l.stride + (gsize) x * l.step;

        for (i = 0; i < (l.depth > 8 ? 2 : 1); i++)
          differences += a[at + i] != b[at + i];
      }
  }
  return differences;
}
