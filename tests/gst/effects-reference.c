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

/* Returns the field @name of an effect's parameters, or @otherwise if @params
 * is NULL or lacks the field. */
static gdouble
param (const GstStructure *params, const gchar *name, gdouble otherwise)
{
  const GValue *given = params ? gst_structure_get_value (params, name) : NULL;
  GValue value = G_VALUE_INIT;

  if (!given)
    return otherwise;
  g_value_init (&value, G_TYPE_DOUBLE);
  g_assert (g_value_transform (given, &value));
  return g_value_get_double (&value);
}

/* --- samples ------------------------------------------------------------- */

/* These functions return sample (x, y) of component @c of the output. */

static gint
sample_invert (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint v = channel_at (&in->channel[c], x, y);

  if (picture_is_chroma (in, c))
    return picture_limit (in, picture_level (in, 256) - v);
  return picture_limit (in, picture_black (in) + picture_white (in) - v);
}

static gint
sample_grayscale (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  return picture_is_chroma (in, c) ? picture_level (in, 128)
                                   : picture_luma_at (in, x, y);
}

static gint
sample_gain (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint v = channel_at (&in->channel[c], x, y);
  gfloat gain = param (params, "gain", 1), offset = param (params, "offset", 0);
  gint origin = picture_black (in);
  gfloat base;

  if (picture_is_chroma (in, c)) {
    origin = picture_level (in, 128);
    offset = 0;
  }
  base = fmaf (offset, (gfloat) (picture_white (in) - picture_black (in)),
      (gfloat) origin);
  base = fmaf ((gfloat) (v - origin), gain, base);
  return (gint) nearbyintf (CLAMP (base, 0.0f, (gfloat) picture_top (in)));
}

static gint
sample_threshold (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint black = picture_black (in), white = picture_white (in);
  gdouble level =
      nearbyint (black + param (params, "level", 0.5) * (white - black));

  if (picture_is_chroma (in, c))
    return picture_level (in, 128);
  return picture_luma_at (in, x, y) >= level ? white : black;
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

static gint
sample_blur (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  return (gint) floor (window_mean (&in->channel[c], x, y, binomial, 2) + 0.5);
}

static gint
sample_boxblur (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint radius = (gint) param (params, "radius", 2), i;
  gdouble weight[33];

  for (i = 0; i < 33; i++)
    weight[i] = 1;
  return (gint) floor (
      window_mean (&in->channel[c], x, y, weight, radius) + 0.5);
}

static gint
sample_gaussian (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gdouble sigma = param (params, "sigma", 1);
  gint radius = (gint) ceil (3 * sigma), i;
  gdouble weight[49];

  for (i = -radius; i <= radius; i++)
    weight[i + radius] = sigma > 0 ? exp (-0.5 * (i / sigma) * (i / sigma)) : 1;
  return (gint) floor (
      window_mean (&in->channel[c], x, y, weight, radius) + 0.5);
}

static gint
sample_sharpen (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gfloat amount = param (params, "amount", 1);
  gint v = channel_at (&in->channel[c], x, y);
  gdouble mean = window_mean (&in->channel[c], x, y, binomial, 2);
  gfloat sharp =
      fmaf ((gfloat) (256 * (v - mean)), amount / 256.0f, (gfloat) v);

  if (picture_is_chroma (in, c))
    return v;
  return (gint) nearbyintf (CLAMP (sharp, 0.0f, (gfloat) picture_top (in)));
}

static gint
sample_sobel (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  static const gint filter[3][3] = { { -1, 0, 1 }, { -2, 0, 2 }, { -1, 0, 1 } };
  gint top = picture_top (in), range = picture_white (in) - picture_black (in);
  gdouble gx = 0, gy = 0, m;
  gint i, j;

  if (picture_is_chroma (in, c))
    return picture_level (in, 128);
  for (j = 0; j < 3; j++)
    for (i = 0; i < 3; i++) {
      gint v = picture_luma_at (in, x + i - 1, y + j - 1);

      gx += filter[j][i] * v;
      gy += filter[i][j] * v;
    }
  m = MIN (floor (sqrt (gx * gx + gy * gy) + 0.5), top);
  return picture_black (in) + (gint) floor (m * range / top + 0.5);
}

/* --- colours ------------------------------------------------------------- */

/* These functions return the colour of a pixel of @out for @c, the colour of
 * that pixel of @in. */

static gdouble
between (gdouble a, gdouble b, gdouble share)
{
  return (1 - share) * a + share * b;
}

static Colour
shade_sepia (
    const Picture *in, const Picture *out, Colour c, const GstStructure *p)
{
  gdouble amount = param (p, "amount", 1);
  gdouble r = MIN (1, 0.393 * c.r + 0.769 * c.g + 0.189 * c.b);
  gdouble g = MIN (1, 0.349 * c.r + 0.686 * c.g + 0.168 * c.b);
  gdouble b = MIN (1, 0.272 * c.r + 0.534 * c.g + 0.131 * c.b);

  return (Colour){ between (c.r, r, amount), between (c.g, g, amount),
    between (c.b, b, amount), c.a };
}

static Colour
shade_balance (
    const Picture *in, const Picture *out, Colour c, const GstStructure *p)
{
  gdouble saturation = param (p, "saturation", 1);
  gdouble angle = G_PI * param (p, "hue", 0);
  Yuv yuv = picture_to_yuv (in, c), turned;
  Colour result;

  turned.y = yuv.y * param (p, "contrast", 1) + param (p, "brightness", 0);
  turned.u = saturation * (yuv.u * cos (angle) + yuv.v * sin (angle));
  turned.v = saturation * (yuv.v * cos (angle) - yuv.u * sin (angle));
  result = picture_from_yuv (in, turned);
  result.a = c.a;
  return result;
}

static Colour
shade_gamma (
    const Picture *in, const Picture *out, Colour c, const GstStructure *p)
{
  gdouble power = 1 / param (p, "gamma", 1);

  return (Colour){ pow (MAX (c.r, 0), power), pow (MAX (c.g, 0), power),
    pow (MAX (c.b, 0), power), c.a };
}

static Colour
shade_colormatrix (
    const Picture *in, const Picture *out, Colour c, const GstStructure *p)
{
  return (Colour){ param (p, "rr", 1) * c.r + param (p, "rg", 0) * c.g
                       + param (p, "rb", 0) * c.b + param (p, "r", 0),
    param (p, "gr", 0) * c.r + param (p, "gg", 1) * c.g
        + param (p, "gb", 0) * c.b + param (p, "g", 0),
    param (p, "br", 0) * c.r + param (p, "bg", 0) * c.g
        + param (p, "bb", 1) * c.b + param (p, "b", 0),
    c.a };
}

static Colour
shade_chromakey (
    const Picture *in, const Picture *out, Colour c, const GstStructure *p)
{
  Colour key = { param (p, "red", 0), param (p, "green", 1),
    param (p, "blue", 0), 1 };
  Yuv have = picture_to_yuv (in, c), want = picture_to_yuv (in, key);
  gdouble distance = hypot (have.u - want.u, have.v - want.v);
  gdouble share =
      (distance - param (p, "tolerance", 0)) / param (p, "softness", 0.1);

  share = CLAMP (share, 0, 1);
  if (out->alpha)
    return (Colour){ c.r, c.g, c.b, c.a * share };
  return (Colour){ between (param (p, "background-red", 0), c.r, share),
    between (param (p, "background-green", 0), c.g, share),
    between (param (p, "background-blue", 0), c.b, share), c.a };
}

/* --- lines --------------------------------------------------------------- */

static void
apply_bob (const Picture *in, Picture *out, const GstStructure *params)
{
  gint field = (gint) param (params, "field", 0);
  gint c, x, y;

  for (c = 0; c < out->n_channels; c++) {
    const Channel *from = &in->channel[c];
    Channel *to = &out->channel[c];

    for (y = 1 - field; y < to->height && to->height > 1; y += 2)
      for (x = 0; x < to->width; x++) {
        gint a = channel_at (from, x, y == 0 ? 1 : y - 1);
        gint b = channel_at (from, x, y == to->height - 1 ? y - 1 : y + 1);

        to->value[y * to->width + x] = (gint) floor ((a + b) / 2.0 + 0.5);
      }
  }
}

/* --- flip ---------------------------------------------------------------- */

static gboolean
is_quarter_turn (gint method)
{
  return method == 1 || method == 3 || method >= 6;
}

/* Changes the position (x, y) of a sample in a component of @width x @height to
 * its position in the flipped component. */
static void
flip_place (gint method, gint width, gint height, gint *x, gint *y)
{
  gint left = *x, above = *y;
  gint right = width - 1 - left, below = height - 1 - above;
  const gint where[8][2] = {
    { left, above },  /* none */
    { below, left },  /* clockwise */
    { right, below }, /* rotate-180 */
    { above, right }, /* counterclockwise */
    { right, above }, /* horizontal-flip */
    { left, below },  /* vertical-flip */
    { above, left },  /* upper-left-diagonal */
    { below, right }, /* upper-right-diagonal */
  };

  *x = where[method][0];
  *y = where[method][1];
}

/* Applies @method to a component of @width x @height, and scales the result to
 * @out_width x @out_height with the nearest samples. The caller frees it. */
static gint *
flip_grid (const gint *from, gint width, gint height, gint method,
    gint out_width, gint out_height)
{
  gboolean turns = is_quarter_turn (method);
  gint turned_width = turns ? height : width;
  gint turned_height = turns ? width : height;
  g_autofree gint *turned = g_new (gint, width * height);
  gint *to = g_new (gint, out_width * out_height);
  gint x, y;

  for (y = 0; y < height; y++)
    for (x = 0; x < width; x++) {
      gint u = x, v = y;

      flip_place (method, width, height, &u, &v);
      turned[v * turned_width + u] = from[y * width + x];
    }
  for (y = 0; y < out_height; y++)
    for (x = 0; x < out_width; x++) {
      gint u = (gint) floor ((x + 0.5) * turned_width / out_width);
      gint v = (gint) floor ((y + 0.5) * turned_height / out_height);

      to[y * out_width + x] = turned[v * turned_width + u];
    }
  return to;
}

/* Flips all pixels. Each pixel has the sample that it shares with other pixels.
 * A sample of the output is the mean of its pixels. */
static void
flip_pixels (const Picture *in, const Channel *from, const Picture *out,
    Channel *to, gint method)
{
  g_autofree gint *spread = g_new (gint, in->width * in->height),
                  *flipped = NULL;
  g_autofree gdouble *sum = g_new0 (gdouble, to->width * to->height);
  g_autofree gint *count = g_new0 (gint, to->width * to->height);
  gint x, y, i;

  for (y = 0; y < in->height; y++)
    for (x = 0; x < in->width; x++)
      spread[y * in->width + x] =
          channel_at (from, x / from->across, y / from->down);
  flipped = flip_grid (
      spread, in->width, in->height, method, out->width, out->height);
  for (y = 0; y < out->height; y++)
    for (x = 0; x < out->width; x++) {
      i = y / to->down * to->width + x / to->across;
      sum[i] += flipped[y * out->width + x];
      count[i]++;
    }
  for (i = 0; i < to->width * to->height; i++)
    to->value[i] = (gint) floor (sum[i] / count[i] + 0.5);
}

static void
apply_flip (const Picture *in, Picture *out, const GstStructure *params)
{
  gint method = (gint) param (params, "method", 0), c;
  gboolean turns = is_quarter_turn (method);

  for (c = 0; c < out->n_channels; c++) {
    const Channel *from = &in->channel[c];
    Channel *to = &out->channel[c];

    if (turns && from->across != from->down) {
      flip_pixels (in, from, out, to, method);
      continue;
    }
    g_free (to->value);
    to->value = flip_grid (
        from->value, from->width, from->height, method, to->width, to->height);
  }
}

/* --- convert ------------------------------------------------------------- */

typedef struct {
  const Picture *in, *out;
  gint method;
} Conversion;

static Colour
mix (Colour a, Colour b, gdouble share)
{
  Colour c = { a.r + share * (b.r - a.r), a.g + share * (b.g - a.g),
    a.b + share * (b.b - a.b), a.a + share * (b.a - a.a) };

  return c;
}

static Colour
paint_converted (gint x, gint y, gpointer user_data)
{
  const Conversion *conversion = user_data;
  const Picture *in = conversion->in, *out = conversion->out;
  gdouble u = (x + 0.5) * in->width / out->width;
  gdouble v = (y + 0.5) * in->height / out->height;
  gint left, above;

  if (conversion->method == 0)
    return picture_colour_at (in, (gint) floor (u), (gint) floor (v));
  left = (gint) floor (u - 0.5);
  above = (gint) floor (v - 0.5);
  return mix (mix (picture_colour_at (in, left, above),
                  picture_colour_at (in, left + 1, above), u - 0.5 - left),
      mix (picture_colour_at (in, left, above + 1),
          picture_colour_at (in, left + 1, above + 1), u - 0.5 - left),
      v - 0.5 - above);
}

static void
apply_convert (const Picture *in, Picture *out, const GstStructure *params)
{
  Conversion conversion = { in, out, (gint) param (params, "method", 1) };

  picture_render (out, paint_converted, &conversion);
}

/* --- table --------------------------------------------------------------- */

/* An effect is described by one of the functions, or copies. */
typedef struct {
  EffectReference reference;
  gint (*sample) (
      const Picture *in, gint c, gint x, gint y, const GstStructure *params);
  Colour (*shade) (const Picture *in, const Picture *out, Colour c,
      const GstStructure *params);
  void (*apply) (const Picture *in, Picture *out, const GstStructure *params);
} Effect;

static const Effect effects[] = {
  { { "balance", 1 }, .shade = shade_balance },
  { { "blur", 0 }, .sample = sample_blur },
  { { "bob", 0 }, .apply = apply_bob },
  { { "boxblur", 0 }, .sample = sample_boxblur },
  { { "chromakey", 1 }, .shade = shade_chromakey },
  { { "colormatrix", 1 }, .shade = shade_colormatrix },
  { { "convert", 1 }, .apply = apply_convert },
  { { "copy", 0 } },
  { { "flip", 0 }, .apply = apply_flip },
  { { "gain", 0 }, .sample = sample_gain },
  { { "gamma", 1 }, .shade = shade_gamma },
  { { "gaussian", 1 }, .sample = sample_gaussian },
  { { "grayscale", 0 }, .sample = sample_grayscale },
  { { "invert", 0 }, .sample = sample_invert },
  { { "sepia", 1 }, .shade = shade_sepia },
  { { "sharpen", 0 }, .sample = sample_sharpen },
  { { "sobel", 0 }, .sample = sample_sobel },
  { { "threshold", 0 }, .sample = sample_threshold },
};

const EffectReference *
effect_reference_find (const gchar *name)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (effects); i++)
    if (g_str_equal (effects[i].reference.name, name))
      return &effects[i].reference;
  g_error ("no reference for the effect %s", name);
}

/* Alpha and padding are not changed. */
static void
apply_samples (const Effect *effect, const Picture *in, Picture *out,
    const GstStructure *params)
{
  gint c, x, y;

  for (c = 0; c < MIN (out->n_channels, 3); c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] = effect->sample (in, c, x, y, params);
  }
}

typedef struct {
  const Effect *effect;
  const Picture *in, *out;
  const GstStructure *params;
} Shading;

static Colour
paint_shaded (gint x, gint y, gpointer user_data)
{
  const Shading *s = user_data;

  return s->effect->shade (
      s->in, s->out, picture_colour_at (s->in, x, y), s->params);
}

void
effect_reference_convert (const gchar *name, const GstVideoInfo *in_info,
    const guint8 *in_data, const GstVideoInfo *out_info, guint8 *out_data,
    const GstStructure *params)
{
  const Effect *effect = (const Effect *) effect_reference_find (name);
  gboolean alike =
      GST_VIDEO_INFO_FORMAT (in_info) == GST_VIDEO_INFO_FORMAT (out_info)
      && GST_VIDEO_INFO_WIDTH (in_info) == GST_VIDEO_INFO_WIDTH (out_info)
      && GST_VIDEO_INFO_HEIGHT (in_info) == GST_VIDEO_INFO_HEIGHT (out_info);
  Picture in, out;

  picture_read (&in, in_info, in_data);
  if (alike)
    picture_read (&out, out_info, in_data);
  else
    picture_init (&out, out_info);
  if (effect->sample)
    apply_samples (effect, &in, &out, params);
  else if (effect->shade)
    picture_render (
        &out, paint_shaded, &(Shading){ effect, &in, &out, params });
  else if (effect->apply)
    effect->apply (&in, &out, params);
  picture_write (&out, out_info, out_data);
  picture_clear (&out);
  picture_clear (&in);
}

void
effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params)
{
  effect_reference_convert (name, info, in_data, info, out_data, params);
}
