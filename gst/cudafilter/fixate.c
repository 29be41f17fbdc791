/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/fixate.c: chooses one of the caps to which a kernel can convert
 * other caps
 *
 * Prefers the closest format, the default size, and the same display aspect
 * ratio. Knows neither elements nor kernels.
 */

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"

/* A size in pixels, and the pixel aspect ratio. */
typedef struct {
  gint width, height;
  gint par_n, par_d;
} Size;

typedef enum { RGB, YUV, GRAY } Kind;

static Kind
kind_of (const GstVideoFormatInfo *format)
{
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (format))
    return RGB;
  return GST_VIDEO_FORMAT_INFO_IS_GRAY (format) ? GRAY : YUV;
}

/* --- which structure ----------------------------------------------------- */

static gboolean
allows_string (
    const GstStructure *structure, const gchar *field, const gchar *string)
{
  const GValue *allowed = gst_structure_get_value (structure, field);
  GValue value = G_VALUE_INIT;
  gboolean ok;

  if (!allowed)
    return TRUE;
  g_value_init (&value, G_TYPE_STRING);
  g_value_set_string (&value, string);
  ok = gst_value_intersect (NULL, allowed, &value);
  g_value_unset (&value);
  return ok;
}

static gboolean
allows_int (const GstStructure *structure, const gchar *field, gint number)
{
  const GValue *allowed = gst_structure_get_value (structure, field);
  GValue value = G_VALUE_INIT;
  gboolean ok;

  if (!allowed)
    return TRUE;
  g_value_init (&value, G_TYPE_INT);
  g_value_set_int (&value, number);
  ok = gst_value_intersect (NULL, allowed, &value);
  g_value_unset (&value);
  return ok;
}

/* Returns the structure of @others (transfer full) that needs the least
 * conversion. Among equal ones, one with the memory of @caps is preferred, and
 * then the first one. */
static GstCaps *
pick (GstCaps *others, const GstCaps *caps, const GstVideoInfo *info,
    const Size *size)
{
  gboolean is_cuda =
      gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0));
  guint i, best = 0;
  gint score, best_score = -1;
  GstCaps *picked;

  for (i = 0; i < gst_caps_get_size (others); i++) {
    const GstStructure *s = gst_caps_get_structure (others, i);

    score = allows_string (s, "format", GST_VIDEO_INFO_NAME (info)) ? 4 : 0;
    if (allows_int (s, "width", size->width)
        && allows_int (s, "height", size->height))
      score += 2;
    if (gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (others, i))
        == is_cuda)
      score += 1;
    if (score > best_score) {
      best_score = score;
      best = i;
    }
  }
  picked = gst_caps_copy_nth (others, best);
  gst_caps_unref (others);
  return picked;
}

/* --- format -------------------------------------------------------------- */

/* Rates how much of @in stays the same in @out. A higher value is better. */
static gint
rate_format (const GstVideoFormatInfo *in, const GstVideoFormatInfo *out)
{
  gint depth_in = GST_VIDEO_FORMAT_INFO_DEPTH (in, 0);
  gint depth_out = GST_VIDEO_FORMAT_INFO_DEPTH (out, 0);
  GstVideoInfo info;
  gint rate = 0;

  gst_video_info_init (&info);
  info.finfo = out;
  if (!gst_vkgdr_kernel_check_info (&info, NULL))
    return -10000;
  if (in == out)
    return 10000;
  if (kind_of (in) == kind_of (out))
    rate += 100;
  else if (kind_of (out) == GRAY)
    rate -= 200; /* no colours */
  if (GST_VIDEO_FORMAT_INFO_HAS_ALPHA (in)
      != GST_VIDEO_FORMAT_INFO_HAS_ALPHA (out))
    rate -= GST_VIDEO_FORMAT_INFO_HAS_ALPHA (in) ? 150 : 5;
  rate -=
      depth_out < depth_in ? 10 * (depth_in - depth_out) : depth_out - depth_in;
  if (kind_of (out) == YUV) {
    gint w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (out, 1);
    gint h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (out, 1);

    if (kind_of (in) == YUV) {
      w_sub -= GST_VIDEO_FORMAT_INFO_W_SUB (in, 1);
      h_sub -= GST_VIDEO_FORMAT_INFO_H_SUB (in, 1);
    }
    rate -= 12 * (ABS (w_sub) + ABS (h_sub));
  }
  return rate;
}

static const GstVideoFormatInfo *
format_of (const GValue *name)
{
  if (!G_VALUE_HOLDS_STRING (name))
    return NULL;
  return gst_video_format_get_info (
      gst_video_format_from_string (g_value_get_string (name)));
}

/* Fixes the format. Returns the format, or NULL if it is unknown. */
static const GstVideoFormatInfo *
fix_format (GstStructure *s, const GstVideoFormatInfo *in)
{
  const GValue *formats = gst_structure_get_value (s, "format");
  const GstVideoFormatInfo *best = NULL;
  gint best_rate = G_MININT;
  guint i;

  if (!formats) {
    gst_structure_set (
        s, "format", G_TYPE_STRING, GST_VIDEO_FORMAT_INFO_NAME (in), NULL);
    return in;
  }
  if (!GST_VALUE_HOLDS_LIST (formats))
    return format_of (formats);
  for (i = 0; i < gst_value_list_get_size (formats); i++) {
    const GstVideoFormatInfo *format =
        format_of (gst_value_list_get_value (formats, i));
    gint rate = format ? rate_format (in, format) : G_MININT;

    if (rate > best_rate) {
      best_rate = rate;
      best = format;
    }
  }
  if (best)
    gst_structure_set (
        s, "format", G_TYPE_STRING, GST_VIDEO_FORMAT_INFO_NAME (best), NULL);
  return best;
}

/* --- colours ------------------------------------------------------------- */

/* If @name is not fixed in @s, sets it to the value in @in. */
static void
keep_string (GstStructure *s, const gchar *name, const GstStructure *in)
{
  const gchar *string = gst_structure_get_string (in, name);

  if (!string)
    return;
  if (!gst_structure_has_field (s, name))
    gst_structure_set (s, name, G_TYPE_STRING, string, NULL);
  else if (!gst_structure_get_string (s, name))
    gst_structure_fixate_field_string (s, name, string);
}

/* Keeps the colorimetry if the samples are of the same kind. */
static void
keep_given_colours (GstStructure *s, const GstStructure *in,
    const GstVideoFormatInfo *in_format, const GstVideoFormatInfo *format)
{
  if (kind_of (in_format) != kind_of (format))
    return;
  keep_string (s, "colorimetry", in);
  if (kind_of (format) == YUV
      && GST_VIDEO_FORMAT_INFO_W_SUB (format, 1)
             == GST_VIDEO_FORMAT_INFO_W_SUB (in_format, 1)
      && GST_VIDEO_FORMAT_INFO_H_SUB (format, 1)
             == GST_VIDEO_FORMAT_INFO_H_SUB (in_format, 1))
    keep_string (s, "chroma-site", in);
}

/* Without a colorimetry in the caps, it is a default that depends on the format
 * and the size. If this would change the colorimetry of the input, the latter
 * is set: all of it for samples of the same kind. For another kind, primaries
 * and transfer function, which no kernel converts, are those of the input if
 * its caps (@s) have them, and matrix and range are the default. */
static GstCaps *
keep_implied_colours (
    GstCaps *caps, const GstVideoInfo *in, const GstStructure *s)
{
  GstVideoColorimetry kept = in->colorimetry;
  GstVideoInfo out;
  gchar *colorimetry;

  if (!gst_video_info_from_caps (&out, caps)
      || gst_structure_has_field (
          gst_caps_get_structure (caps, 0), "colorimetry"))
    return caps;
  if (kind_of (in->finfo) != kind_of (out.finfo)) {
    if (!gst_structure_has_field (s, "colorimetry"))
      return caps;
    kept.matrix = out.colorimetry.matrix;
    kept.range = out.colorimetry.range;
  }
  if (gst_video_colorimetry_is_equal (&kept, &out.colorimetry))
    return caps;
  colorimetry = gst_video_colorimetry_to_string (&kept);
  if (colorimetry)
    gst_caps_set_simple (caps, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
  g_free (colorimetry);
  return caps;
}

/* --- size ---------------------------------------------------------------- */

static gboolean
get_fixed (const GstStructure *s, const gchar *field, gint *number)
{
  return gst_structure_get_int (s, field, number);
}

/* Sets @field to the allowed number that is nearest to @wanted. Returns TRUE if
 * this is @wanted itself. */
static gboolean
fix_int (GstStructure *s, const gchar *field, gint wanted)
{
  gint number = 0;

  if (!gst_structure_has_field (s, field))
    gst_structure_set (s, field, G_TYPE_INT, wanted, NULL);
  else
    gst_structure_fixate_field_nearest_int (s, field, wanted);
  return gst_structure_get_int (s, field, &number) && number == wanted;
}

/* Returns @number * @n / @d, rounded, but at least 1. */
static gint
scale (gint number, gint64 n, gint64 d)
{
  guint64 scaled = gst_util_uint64_scale_round (number, n, d);

  return (gint) CLAMP (scaled, 1, G_MAXINT);
}

/* This function and the next one return the missing side with which the picture
 * of @size keeps its display aspect ratio, if the pixels keep theirs. */
static gint
height_for (const Size *size, gint width)
{
  return scale (size->height, width, size->width);
}

static gint
width_for (const Size *size, gint height)
{
  return scale (size->width, height, size->height);
}

/* Sets both sides: to the same size if possible, else to one with the same
 * aspect ratio, else to the nearest width and height. */
static void
fix_both (GstStructure *s, const Size *size)
{
  GstStructure *attempt;
  gint width, height;

  if (allows_int (s, "width", size->width)
      && allows_int (s, "height", size->height)) {
    fix_int (s, "width", size->width);
    fix_int (s, "height", size->height);
    return;
  }
  attempt = gst_structure_copy (s);
  fix_int (attempt, "width", size->width);
  fix_int (attempt, "height", size->height);
  get_fixed (attempt, "width", &width);
  get_fixed (attempt, "height", &height);
  gst_structure_free (attempt);

  if (allows_int (s, "height", height_for (size, width)))
    height = height_for (size, width);
  else if (allows_int (s, "width", width_for (size, height)))
    width = width_for (size, height);
  fix_int (s, "width", width);
  fix_int (s, "height", height);
}

/* Returns @size, or if the pixel aspect ratio is fixed in @s, the size of the
 * same picture with such pixels: only the width changes. */
static Size
with_given_pixels (const GstStructure *s, const Size *size)
{
  Size given = *size;
  gint n, d;

  if (!gst_structure_get_fraction (s, "pixel-aspect-ratio", &n, &d) || n <= 0
      || d <= 0 || (n == size->par_n && d == size->par_d))
    return given;
  given.width =
      scale (size->width, (gint64) size->par_n * d, (gint64) size->par_d * n);
  given.par_n = n;
  given.par_d = d;
  return given;
}

/* Sets the pixel aspect ratio that keeps the display aspect ratio, if allowed.
 */
static void
fix_pixels (GstStructure *s, const Size *size)
{
  gint width, height, n, d;

  if (!get_fixed (s, "width", &width) || !get_fixed (s, "height", &height))
    return;
  if (!gst_util_fraction_multiply (
          size->width, size->height, height, width, &n, &d)
      || !gst_util_fraction_multiply (n, d, size->par_n, size->par_d, &n, &d))
    return;
  if (gst_structure_has_field (s, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction (s, "pixel-aspect-ratio", n, d);
  else if (n != d)
    gst_structure_set (s, "pixel-aspect-ratio", GST_TYPE_FRACTION, n, d, NULL);
}

/* A side that was computed from the other one is wrong by at most half a pixel.
 * The pixel aspect ratio is not changed to correct this. */
static void
fix_size (GstStructure *s, const Size *natural)
{
  Size size = with_given_pixels (s, natural);
  gint width, height;
  gboolean is_exact = FALSE;

  if (get_fixed (s, "width", &width)) {
    if (!get_fixed (s, "height", &height))
      is_exact = fix_int (s, "height", height_for (&size, width));
  } else if (get_fixed (s, "height", &height)) {
    is_exact = fix_int (s, "width", width_for (&size, height));
  } else {
    fix_both (s, &size);
    get_fixed (s, "width", &width);
    get_fixed (s, "height", &height);
    is_exact = height == height_for (&size, width)
               || width == width_for (&size, height);
  }
  if (!is_exact) {
    fix_pixels (s, natural);
    return;
  }
  if (gst_structure_has_field (s, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction (
        s, "pixel-aspect-ratio", size.par_n, size.par_d);
  else if (size.par_n != size.par_d)
    gst_structure_set (s, "pixel-aspect-ratio", GST_TYPE_FRACTION, size.par_n,
        size.par_d, NULL);
}

/* Computes the default size of the output. An effect that rotates the picture
 * by 90 degrees rotates its pixels, too. */
static Size
get_natural_size (const GstCudaRules *rules, GstPadDirection direction,
    const GstVideoInfo *info)
{
  Size size = { GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info),
    MAX (GST_VIDEO_INFO_PAR_N (info), 1),
    MAX (GST_VIDEO_INFO_PAR_D (info), 1) };
  gint width = 1000, height = 2000;

  if (direction != GST_PAD_SINK)
    return size;
  gst_cuda_caps_get_size (rules, &size.width, &size.height);
  gst_cuda_caps_get_size (rules, &width, &height);
  if (width == 2000 && height == 1000) {
    gint n = size.par_n;

    size.par_n = size.par_d;
    size.par_d = n;
  }
  return size;
}

GstCaps *
gst_cuda_caps_fixate (const GstCudaRules *rules, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  const GstVideoFormatInfo *format;
  const GstStructure *in;
  GstVideoInfo info;
  GstStructure *s;
  Size size;

  in = gst_caps_get_structure (caps, 0);
  if (gst_caps_is_empty (others) || gst_caps_is_any (others)
      || !gst_structure_has_name (in, "video/x-raw")
      || !gst_video_info_from_caps (&info, caps))
    return gst_caps_fixate (others);

  size = get_natural_size (rules, direction, &info);
  others = pick (others, caps, &info, &size);
  s = gst_caps_get_structure (others, 0);
  format = fix_format (s, info.finfo);
  if (format)
    keep_given_colours (s, in, info.finfo, format);
  fix_size (s, &size);
  return keep_implied_colours (gst_caps_fixate (others), &info, in);
}
