/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference-shape.c: references of the effects that use several pixels
 * for one, or that move pixels
 *
 * They follow the descriptions of the effects, and share no code with their
 * sources.
 */

#include <math.h>

#include "effects-reference.h"

#define param effect_reference_param

/* --- windows ------------------------------------------------------------- */

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

/* Applies the window to all components except alpha and padding, which are not
 * changed. */
static void
apply_window (
    const Picture *in, Picture *out, const gdouble *weight, gint radius)
{
  gint c, x, y;

  for (c = 0; c < MIN (out->n_channels, 3); c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] = (gint) floor (
            window_mean (&in->channel[c], x, y, weight, radius) + 0.5);
  }
}

static const gdouble binomial[] = { 1, 4, 6, 4, 1 };

static void
apply_blur (const Picture *in, Picture *out, const GstStructure *params)
{
  apply_window (in, out, binomial, 2);
}

static void
apply_boxblur (const Picture *in, Picture *out, const GstStructure *params)
{
  gint radius = (gint) param (params, "radius", 2), i;
  gdouble weight[33];

  for (i = 0; i < 33; i++)
    weight[i] = 1;
  apply_window (in, out, weight, radius);
}

static void
apply_gaussian (const Picture *in, Picture *out, const GstStructure *params)
{
  gdouble sigma = param (params, "sigma", 1);
  gint radius = (gint) ceil (3 * sigma), i;
  gdouble weight[49];

  for (i = -radius; i <= radius; i++)
    weight[i + radius] = sigma > 0 ? exp (-0.5 * (i / sigma) * (i / sigma)) : 1;
  apply_window (in, out, weight, radius);
}

static void
apply_sharpen (const Picture *in, Picture *out, const GstStructure *params)
{
  gfloat amount = param (params, "amount", 1);
  gint c, x, y;

  for (c = 0; c < MIN (out->n_channels, 3); c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; !picture_is_chroma (in, c) && y < ch->height; y++)
      for (x = 0; x < ch->width; x++) {
        gint v = channel_at (&in->channel[c], x, y);
        gdouble mean = window_mean (&in->channel[c], x, y, binomial, 2);
        gfloat sharp =
            fmaf ((gfloat) (256 * (v - mean)), amount / 256.0f, (gfloat) v);

        sharp = CLAMP (sharp, 0.0f, (gfloat) picture_top (in));
        ch->value[y * ch->width + x] = (gint) nearbyintf (sharp);
      }
  }
}

static gint
sample_sobel (const Picture *in, gint x, gint y)
{
  static const gint filter[3][3] = { { -1, 0, 1 }, { -2, 0, 2 }, { -1, 0, 1 } };
  gint top = picture_top (in), range = picture_white (in) - picture_black (in);
  gdouble gx = 0, gy = 0, m;
  gint i, j;

  for (j = 0; j < 3; j++)
    for (i = 0; i < 3; i++) {
      gint v = picture_luma_at (in, x + i - 1, y + j - 1);

      gx += filter[j][i] * v;
      gy += filter[i][j] * v;
    }
  m = MIN (floor (sqrt (gx * gx + gy * gy) + 0.5), top);
  return picture_black (in) + (gint) floor (m * range / top + 0.5);
}

static void
apply_sobel (const Picture *in, Picture *out, const GstStructure *params)
{
  gint c, x, y;

  for (c = 0; c < MIN (out->n_channels, 3); c++) {
    Channel *ch = &out->channel[c];

    for (y = 0; y < ch->height; y++)
      for (x = 0; x < ch->width; x++)
        ch->value[y * ch->width + x] = picture_is_chroma (in, c)
                                           ? picture_level (in, 128)
                                           : sample_sobel (in, x, y);
  }
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
  gboolean turns = method == 1 || method == 3 || method >= 6;
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
  gboolean turns = method == 1 || method == 3 || method >= 6;

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

const EffectReference effect_references_shape[] = {
  { "blur", apply_blur, 0 },
  { "bob", apply_bob, 0 },
  { "boxblur", apply_boxblur, 0 },
  { "convert", apply_convert, 1 },
  { "flip", apply_flip, 0 },
  { "gaussian", apply_gaussian, 1 },
  { "sharpen", apply_sharpen, 0 },
  { "sobel", apply_sobel, 0 },
  { NULL },
};
