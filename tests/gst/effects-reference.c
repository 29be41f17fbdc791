/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.c: computes on the CPU the results that the effects of
 * cudafilter must have
 *
 * The references follow the descriptions of the effects, and share no code with
 * their sources.
 */

#include <math.h>

#include "effects-reference.h"

static gdouble
param (const GstStructure *params, const gchar *name)
{
  const GValue *given = gst_structure_get_value (params, name);
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_DOUBLE);
  g_assert (given && g_value_transform (given, &value));
  return g_value_get_double (&value);
}

/* --- samples ------------------------------------------------------------- */

/* These functions return sample (x, y) of component @c of @out. */
#define SAMPLE(name) \
  static gint sample_##name (const Picture *in, const Picture *out, gint c, \
      gint x, gint y, const GstStructure *params)

SAMPLE (copy)
{
  return channel_at (&in->channel[c], x, y);
}

SAMPLE (invert)
{
  const Channel *ch = &in->channel[c];
  gint v = 2 * ch->black + (ch->is_chroma ? 0 : ch->range);

  return CLAMP (v - channel_at (ch, x, y), 0, ch->top);
}

SAMPLE (grayscale)
{
  const Channel *ch = &in->channel[c];

  return ch->is_chroma ? ch->black : picture_luma_at (in, x, y);
}

SAMPLE (gain)
{
  const Channel *ch = &in->channel[c];
  gfloat offset = ch->is_chroma ? 0 : param (params, "offset");
  gfloat base = fmaf (offset, ch->range, ch->black);
  gfloat v =
      fmaf (channel_at (ch, x, y) - ch->black, param (params, "gain"), base);

  return (gint) nearbyintf (CLAMP (v, 0.0f, (gfloat) ch->top));
}

SAMPLE (threshold)
{
  const Channel *ch = &in->channel[c];
  gdouble level = nearbyint (ch->black + param (params, "level") * ch->range);

  if (ch->is_chroma)
    return ch->black;
  return ch->black + (picture_luma_at (in, x, y) >= level ? ch->range : 0);
}

/* The weighted mean of the samples around (x, y). The same weights, for
 * distances of -@radius to @radius, apply horizontally and vertically. */
static gdouble
window_mean (
    const Channel *ch, gint x, gint y, const gdouble *weight, gint radius)
{
  gdouble sum = 0, total = 0;
  gint i, j;

  for (j = -radius; j <= radius; j++)
    for (i = -radius; i <= radius; i++) {
      gdouble w = weight[i + radius] * weight[j + radius];

      sum += w * channel_at (ch, x + i, y + j);
      total += w;
    }
  return sum / total;
}

static const gdouble binomial[] = { 1, 4, 6, 4, 1 };

SAMPLE (blur)
{
  return (gint) floor (window_mean (&in->channel[c], x, y, binomial, 2) + 0.5);
}

/* With @sigma = 0, all weights are the same. */
static gint
sample_bell (const Channel *ch, gint x, gint y, gint radius, gdouble sigma)
{
  gdouble weight[49];
  gint i;

  for (i = -radius; i <= radius; i++)
    weight[i + radius] = sigma > 0 ? exp (-0.5 * (i / sigma) * (i / sigma)) : 1;
  return (gint) floor (window_mean (ch, x, y, weight, radius) + 0.5);
}

SAMPLE (boxblur)
{
  return sample_bell (
      &in->channel[c], x, y, (gint) param (params, "radius"), 0);
}

SAMPLE (gaussian)
{
  gdouble sigma = param (params, "sigma");

  return sample_bell (&in->channel[c], x, y, (gint) ceil (3 * sigma), sigma);
}

SAMPLE (sharpen)
{
  const Channel *ch = &in->channel[c];
  gfloat amount = param (params, "amount");
  gint v = channel_at (ch, x, y);
  gdouble mean = window_mean (ch, x, y, binomial, 2);
  gfloat sharp =
      fmaf ((gfloat) (256 * (v - mean)), amount / 256.0f, (gfloat) v);

  if (ch->is_chroma)
    return v;
  return (gint) nearbyintf (CLAMP (sharp, 0.0f, (gfloat) ch->top));
}

SAMPLE (sobel)
{
  static const gint filter[3][3] = { { -1, 0, 1 }, { -2, 0, 2 }, { -1, 0, 1 } };
  const Channel *ch = &in->channel[c];
  gdouble gx = 0, gy = 0, m;
  gint i, j;

  if (ch->is_chroma)
    return ch->black;
  for (j = 0; j < 3; j++)
    for (i = 0; i < 3; i++) {
      gint v = picture_luma_at (in, x + i - 1, y + j - 1);

      gx += filter[j][i] * v;
      gy += filter[i][j] * v;
    }
  m = MIN (floor (sqrt (gx * gx + gy * gy) + 0.5), ch->top);
  return ch->black + (gint) floor (m * ch->range / ch->top + 0.5);
}

SAMPLE (bob)
{
  const Channel *ch = &in->channel[c];
  gint a = channel_at (ch, x, y == 0 ? 1 : y - 1);
  gint b = channel_at (ch, x, y == ch->height - 1 ? y - 1 : y + 1);

  if (y % 2 == (gint) param (params, "field") || ch->height == 1)
    return channel_at (ch, x, y);
  return (a + b + 1) / 2;
}

static gboolean
is_quarter_turn (gint method)
{
  return method == 1 || method == 3 || method >= 6;
}

/* A grid of @from is flipped, and resized to @to with the nearest places.
 * Changes a place (x, y) of the result to the place where it was. */
static void
flip_back (gint method, const gint from[2], const gint to[2], gint *x, gint *y)
{
  gboolean turns = is_quarter_turn (method);
  gint width = from[turns], height = from[!turns];
  gint left = (gint) floor ((*x + 0.5) * width / to[0]);
  gint above = (gint) floor ((*y + 0.5) * height / to[1]);
  gint right = width - 1 - left, below = height - 1 - above;
  const gint where[8][2] = {
    { left, above },  /* none */
    { above, right }, /* clockwise */
    { right, below }, /* rotate-180 */
    { below, left },  /* counterclockwise */
    { right, above }, /* horizontal-flip */
    { left, below },  /* vertical-flip */
    { above, left },  /* upper-left-diagonal */
    { below, right }, /* upper-right-diagonal */
  };

  *x = where[method][0];
  *y = where[method][1];
}

/* If a turn makes samples that are shared by pixels of a row shared by pixels
 * of a column, each pixel keeps its sample, and a sample of the output is the
 * mean of its pixels. */
SAMPLE (flip)
{
  gint method = (gint) param (params, "method"), n = 0, i, j;
  const Channel *from = &in->channel[c], *to = &out->channel[c];
  gdouble sum = 0;

  if (!is_quarter_turn (method) || from->across == from->down) {
    flip_back (method, (gint[]){ from->width, from->height },
        (gint[]){ to->width, to->height }, &x, &y);
    return channel_at (from, x, y);
  }
  for (j = y * to->down; j < MIN ((y + 1) * to->down, out->height); j++)
    for (i = x * to->across; i < MIN ((x + 1) * to->across, out->width); i++) {
      gint u = i, v = j;

      flip_back (method, (gint[]){ in->width, in->height },
          (gint[]){ out->width, out->height }, &u, &v);
      sum += channel_at (from, u / from->across, v / from->down);
      n++;
    }
  return (gint) floor (sum / n + 0.5);
}

/* --- colours ------------------------------------------------------------- */

/* These functions return the colour of pixel (x, y) of @out. */
#define SHADE(name) \
  static Colour shade_##name (const Picture *in, const Picture *out, gint x, \
      gint y, const GstStructure *p)

static gdouble
between (gdouble a, gdouble b, gdouble share)
{
  return (1 - share) * a + share * b;
}

static Colour
mix (Colour a, Colour b, gdouble share)
{
  return (Colour){ between (a.r, b.r, share), between (a.g, b.g, share),
    between (a.b, b.b, share), between (a.a, b.a, share) };
}

SHADE (sepia)
{
  Colour c = picture_colour_at (in, x, y);
  Colour sepia = { MIN (1, 0.393 * c.r + 0.769 * c.g + 0.189 * c.b),
    MIN (1, 0.349 * c.r + 0.686 * c.g + 0.168 * c.b),
    MIN (1, 0.272 * c.r + 0.534 * c.g + 0.131 * c.b), c.a };

  return mix (c, sepia, param (p, "amount"));
}

SHADE (balance)
{
  Colour c = picture_colour_at (in, x, y), result;
  gdouble saturation = param (p, "saturation");
  gdouble angle = G_PI * param (p, "hue");
  Yuv yuv = picture_to_yuv (in, c), turned;

  turned.y = yuv.y * param (p, "contrast") + param (p, "brightness");
  turned.u = saturation * (yuv.u * cos (angle) + yuv.v * sin (angle));
  turned.v = saturation * (yuv.v * cos (angle) - yuv.u * sin (angle));
  result = picture_from_yuv (in, turned);
  result.a = c.a;
  return result;
}

SHADE (gamma)
{
  Colour c = picture_colour_at (in, x, y);
  gdouble power = 1 / param (p, "gamma");

  return (Colour){ pow (MAX (c.r, 0), power), pow (MAX (c.g, 0), power),
    pow (MAX (c.b, 0), power), c.a };
}

SHADE (colormatrix)
{
  static const gchar *const names[3][4] = { { "rr", "rg", "rb", "r" },
    { "gr", "gg", "gb", "g" }, { "br", "bg", "bb", "b" } };
  Colour c = picture_colour_at (in, x, y);
  gdouble v[3];
  guint i;

  for (i = 0; i < 3; i++)
    v[i] = param (p, names[i][0]) * c.r + param (p, names[i][1]) * c.g
           + param (p, names[i][2]) * c.b + param (p, names[i][3]);
  return (Colour){ v[0], v[1], v[2], c.a };
}

SHADE (chromakey)
{
  Colour c = picture_colour_at (in, x, y);
  Colour key = { param (p, "red"), param (p, "green"), param (p, "blue") };
  Colour background = { param (p, "background-red"),
    param (p, "background-green"), param (p, "background-blue"), c.a };
  Yuv have = picture_to_yuv (in, c), want = picture_to_yuv (in, key);
  gdouble distance = hypot (have.u - want.u, have.v - want.v);
  gdouble share = (distance - param (p, "tolerance")) / param (p, "softness");

  share = CLAMP (share, 0, 1);
  if (out->alpha)
    return (Colour){ c.r, c.g, c.b, c.a * share };
  return mix (background, c, share);
}

SHADE (convert)
{
  gdouble u = (x + 0.5) * in->width / out->width;
  gdouble v = (y + 0.5) * in->height / out->height;
  gint left, above;

  if (param (p, "method") == 0)
    return picture_colour_at (in, (gint) floor (u), (gint) floor (v));
  left = (gint) floor (u - 0.5);
  above = (gint) floor (v - 0.5);
  return mix (mix (picture_colour_at (in, left, above),
                  picture_colour_at (in, left + 1, above), u - 0.5 - left),
      mix (picture_colour_at (in, left, above + 1),
          picture_colour_at (in, left + 1, above + 1), u - 0.5 - left),
      v - 0.5 - above);
}

/* --- table --------------------------------------------------------------- */

/* An effect is described by one of the functions. By @tolerance a sample may
 * differ: 0 for effects that compute in integers or specify each rounding, 1
 * for effects that compute in float. */
static const struct {
  const gchar *name;
  gint tolerance;
  gint (*sample) (const Picture *in, const Picture *out, gint c, gint x, gint y,
      const GstStructure *params);
  PicturePaint shade;
  gboolean moves; /* alpha and padding change with the other samples */
} effects[] = {
  { "balance", 1, NULL, shade_balance },
  { "blur", 0, sample_blur },
  { "bob", 0, sample_bob, NULL, TRUE },
  { "boxblur", 0, sample_boxblur },
  { "chromakey", 1, NULL, shade_chromakey },
  { "colormatrix", 1, NULL, shade_colormatrix },
  { "convert", 1, NULL, shade_convert },
  { "copy", 0, sample_copy },
  { "flip", 0, sample_flip, NULL, TRUE },
  { "gain", 0, sample_gain },
  { "gamma", 1, NULL, shade_gamma },
  { "gaussian", 1, sample_gaussian },
  { "grayscale", 0, sample_grayscale },
  { "invert", 0, sample_invert },
  { "sepia", 1, NULL, shade_sepia },
  { "sharpen", 0, sample_sharpen },
  { "sobel", 0, sample_sobel },
  { "threshold", 0, sample_threshold },
};

gint
effect_reference (const gchar *name, const Picture *in, Picture *out,
    const GstStructure *params)
{
  guint e;
  gint c, x, y;

  for (e = 0; !g_str_equal (effects[e].name, name); e++)
    if (e + 1 == G_N_ELEMENTS (effects))
      g_error ("no reference for the effect %s", name);
  if (effects[e].shade)
    picture_render (out, effects[e].shade, in, params);
  for (c = 0; effects[e].sample && c < out->n_channels; c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] =
            c < 3 || effects[e].moves
                ? effects[e].sample (in, out, c, x, y, params)
                : channel_at (&in->channel[c], x, y);
  }
  return effects[e].tolerance;
}
