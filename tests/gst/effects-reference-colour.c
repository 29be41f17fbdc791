/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference-colour.c: references of the effects that use one pixel at a
 * time
 *
 * They follow the descriptions of the effects, and share no code with their
 * sources.
 */

#include <math.h>

#include "effects-reference.h"

#define param effect_reference_param

/* --- by samples ---------------------------------------------------------- */

typedef gint (*SampleFunc) (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params);

/* Alpha and padding are not changed. */
static void
apply_samples (const Picture *in, Picture *out, const GstStructure *params,
    SampleFunc sample)
{
  gint c, x, y;

  for (c = 0; c < MIN (out->n_channels, 3); c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] = sample (in, c, x, y, params);
  }
}

static void
apply_copy (const Picture *in, Picture *out, const GstStructure *params)
{
}

static gint
sample_invert (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  gint v = channel_at (&in->channel[c], x, y);

  if (picture_is_chroma (in, c))
    return picture_limit (in, picture_level (in, 256) - v);
  return picture_limit (in, picture_black (in) + picture_white (in) - v);
}

static void
apply_invert (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_samples (in, out, params, sample_invert);
}

static gint
sample_grayscale (
    const Picture *in, gint c, gint x, gint y, const GstStructure *params)
{
  return picture_is_chroma (in, c) ? picture_level (in, 128)
                                   : picture_luma_at (in, x, y);
}

static void
apply_grayscale (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_samples (in, out, params, sample_grayscale);
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

static void
apply_gain (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_samples (in, out, params, sample_gain);
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

static void
apply_threshold (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_samples (in, out, params, sample_threshold);
}

/* --- by colours ---------------------------------------------------------- */

typedef struct _Shading Shading;

typedef Colour (*ShadeFunc) (const Shading *s, Colour c);

struct _Shading {
  const Picture *in;
  const Picture *out;
  const GstStructure *params;
  ShadeFunc shade;
};

static Colour
paint_shaded (gint x, gint y, gpointer user_data)
{
  const Shading *s = user_data;

  return s->shade (s, picture_colour_at (s->in, x, y));
}

static void
apply_shade (const Picture *in, Picture *out, const GstStructure *params,
    ShadeFunc shade)
{
  Shading s = { in, out, params, shade };

  picture_render (out, paint_shaded, &s);
}

static gdouble
between (gdouble a, gdouble b, gdouble share)
{
  return (1 - share) * a + share * b;
}

static Colour
shade_sepia (const Shading *s, Colour c)
{
  gdouble amount = param (s->params, "amount", 1);
  gdouble r = MIN (1, 0.393 * c.r + 0.769 * c.g + 0.189 * c.b);
  gdouble g = MIN (1, 0.349 * c.r + 0.686 * c.g + 0.168 * c.b);
  gdouble b = MIN (1, 0.272 * c.r + 0.534 * c.g + 0.131 * c.b);
  Colour result = { between (c.r, r, amount), between (c.g, g, amount),
    between (c.b, b, amount), c.a };

  return result;
}

static void
apply_sepia (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_shade (in, out, params, shade_sepia);
}

static Colour
shade_balance (const Shading *s, Colour c)
{
  gdouble saturation = param (s->params, "saturation", 1);
  gdouble angle = G_PI * param (s->params, "hue", 0);
  Yuv yuv = picture_to_yuv (s->in, c), turned;
  Colour result;

  turned.y = yuv.y * param (s->params, "contrast", 1)
             + param (s->params, "brightness", 0);
  turned.u = saturation * (yuv.u * cos (angle) + yuv.v * sin (angle));
  turned.v = saturation * (yuv.v * cos (angle) - yuv.u * sin (angle));
  result = picture_from_yuv (s->in, turned);
  result.a = c.a;
  return result;
}

static void
apply_balance (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_shade (in, out, params, shade_balance);
}

static Colour
shade_gamma (const Shading *s, Colour c)
{
  gdouble power = 1 / param (s->params, "gamma", 1);

  c.r = pow (MAX (c.r, 0), power);
  c.g = pow (MAX (c.g, 0), power);
  c.b = pow (MAX (c.b, 0), power);
  return c;
}

static void
apply_gamma (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_shade (in, out, params, shade_gamma);
}

static Colour
shade_colormatrix (const Shading *s, Colour c)
{
  const GstStructure *p = s->params;
  Colour result = { param (p, "rr", 1) * c.r + param (p, "rg", 0) * c.g
                        + param (p, "rb", 0) * c.b + param (p, "r", 0),
    param (p, "gr", 0) * c.r + param (p, "gg", 1) * c.g
        + param (p, "gb", 0) * c.b + param (p, "g", 0),
    param (p, "br", 0) * c.r + param (p, "bg", 0) * c.g
        + param (p, "bb", 1) * c.b + param (p, "b", 0),
    c.a };

  return result;
}

static void
apply_colormatrix (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_shade (in, out, params, shade_colormatrix);
}

static Colour
shade_chromakey (const Shading *s, Colour c)
{
  const GstStructure *p = s->params;
  Colour key = { param (p, "red", 0), param (p, "green", 1),
    param (p, "blue", 0), 1 };
  Yuv have = picture_to_yuv (s->in, c), want = picture_to_yuv (s->in, key);
  gdouble distance = hypot (have.u - want.u, have.v - want.v);
  gdouble share =
      (distance - param (p, "tolerance", 0)) / param (p, "softness", 0.1);

  share = CLAMP (share, 0, 1);
  if (s->out->alpha) {
    c.a *= share;
    return c;
  }
  c.r = between (param (p, "background-red", 0), c.r, share);
  c.g = between (param (p, "background-green", 0), c.g, share);
  c.b = between (param (p, "background-blue", 0), c.b, share);
  return c;
}

static void
apply_chromakey (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_shade (in, out, params, shade_chromakey);
}

const EffectReference effect_references_colour[] = {
  { "balance", apply_balance, 1 },
  { "chromakey", apply_chromakey, 1 },
  { "colormatrix", apply_colormatrix, 1 },
  { "copy", apply_copy, 0 },
  { "gain", apply_gain, 0 },
  { "gamma", apply_gamma, 1 },
  { "grayscale", apply_grayscale, 0 },
  { "invert", apply_invert, 0 },
  { "sepia", apply_sepia, 1 },
  { "threshold", apply_threshold, 0 },
  { NULL },
};
