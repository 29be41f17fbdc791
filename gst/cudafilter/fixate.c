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

/* Whether @s allows the values of @wanted (transfer full). */
static gboolean
allows (const GstStructure *s, GstStructure *wanted)
{
  gboolean ok = gst_structure_can_intersect (s, wanted);

  gst_structure_free (wanted);
  return ok;
}

static gboolean
allows_size (const GstStructure *s, gint width, gint height)
{
  return allows (s, gst_structure_new ("video/x-raw", "width", G_TYPE_INT,
                        width, "height", G_TYPE_INT, height, NULL));
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

    score = allows (s, gst_structure_new ("video/x-raw", "format",
                           G_TYPE_STRING, GST_VIDEO_INFO_NAME (info), NULL))
                ? 4
                : 0;
    if (allows_size (s, size->width, size->height))
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
  const GstVideoFormatInfo *best = formats ? NULL : in;
  guint i;

  if (formats && !GST_VALUE_HOLDS_LIST (formats))
    return format_of (formats);
  for (i = 0; formats && i < gst_value_list_get_size (formats); i++) {
    const GstVideoFormatInfo *format =
        format_of (gst_value_list_get_value (formats, i));

    if (format && (!best || rate_format (in, format) > rate_format (in, best)))
      best = format;
  }
  if (best)
    gst_structure_set (
        s, "format", G_TYPE_STRING, GST_VIDEO_FORMAT_INFO_NAME (best), NULL);
  return best;
}

/* --- colours ------------------------------------------------------------- */

/* Sets a field that is not fixed in @s to @string, if that is allowed. */
static void
prefer_string (GstStructure *s, const gchar *name, const gchar *string)
{
  if (!string)
    return;
  if (!gst_structure_has_field (s, name))
    gst_structure_set (s, name, G_TYPE_STRING, string, NULL);
  else if (!gst_structure_get_string (s, name))
    gst_structure_fixate_field_string (s, name, string);
}

/* Keeps the colours of @in, whose caps are @given. If both formats have the
 * same kind of samples, the whole colorimetry is kept. Otherwise, primaries and
 * transfer function are kept if the caps of the input have them, because no
 * kernel converts these. Matrix and range then are the default for the format
 * and size of @caps.
 */
static GstCaps *
keep_colours (GstCaps *caps, const GstVideoInfo *in, const GstStructure *given,
    const GstVideoFormatInfo *format)
{
  GstStructure *s = gst_caps_get_structure (caps, 0);
  gboolean is_given = gst_structure_has_field (given, "colorimetry");
  gboolean is_same = kind_of (in->finfo) == kind_of (format);
  GstVideoColorimetry kept = in->colorimetry;
  gchar *colorimetry = gst_video_colorimetry_to_string (&kept);
  GstVideoInfo out;

  if (is_same && kind_of (format) == YUV
      && GST_VIDEO_FORMAT_INFO_W_SUB (format, 1)
             == GST_VIDEO_FORMAT_INFO_W_SUB (in->finfo, 1)
      && GST_VIDEO_FORMAT_INFO_H_SUB (format, 1)
             == GST_VIDEO_FORMAT_INFO_H_SUB (in->finfo, 1))
    prefer_string (
        s, "chroma-site", gst_structure_get_string (given, "chroma-site"));
  if (is_same && (is_given || gst_structure_has_field (s, "colorimetry")))
    prefer_string (s, "colorimetry", colorimetry);
  g_free (colorimetry);
  caps = gst_caps_fixate (caps);
  if ((!is_same && !is_given) || !gst_video_info_from_caps (&out, caps)
      || gst_structure_has_field (
          gst_caps_get_structure (caps, 0), "colorimetry"))
    return caps;
  if (!is_same) {
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

/* Sets @field to the allowed number that is nearest to *@number, and *@number
 * to the result. */
static void
fix_int (GstStructure *s, const gchar *field, gint *number)
{
  if (!gst_structure_has_field (s, field))
    gst_structure_set (s, field, G_TYPE_INT, *number, NULL);
  else
    gst_structure_fixate_field_nearest_int (s, field, *number);
  gst_structure_get_int (s, field, number);
}

/* Returns @number * @n / @d, rounded, but at least 1. */
static gint
scale (gint number, gint64 n, gint64 d)
{
  guint64 scaled = gst_util_uint64_scale_round (number, n, d);

  return (gint) CLAMP (scaled, 1, G_MAXINT);
}

/* Returns the height for @width with which the picture of @size keeps its
 * display aspect ratio, if the pixel aspect ratio stays the same. */
static gint
height_for (const Size *size, gint width)
{
  return scale (size->height, width, size->width);
}

/* The same as height_for (), for the width. */
static gint
width_for (const Size *size, gint height)
{
  return scale (size->width, height, size->height);
}

/* Sets both sides: to the same size if possible, else to one with the same
 * aspect ratio, else to the nearest width and height. */
static void
fix_sides (GstStructure *s, const Size *size, gint *width, gint *height)
{
  *width = size->width;
  *height = size->height;
  if (gst_structure_get_int (s, "width", width)) {
    *height = height_for (size, *width);
  } else if (gst_structure_get_int (s, "height", height)) {
    *width = width_for (size, *height);
  } else if (!allows_size (s, *width, *height)) {
    GstStructure *attempt = gst_structure_copy (s);

    fix_int (attempt, "width", width);
    fix_int (attempt, "height", height);
    gst_structure_free (attempt);
    if (allows_size (s, *width, height_for (size, *width)))
      *height = height_for (size, *width);
    else if (allows_size (s, width_for (size, *height), *height))
      *width = width_for (size, *height);
  }
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

/* Sets width, height and the pixel aspect ratio, so that the picture keeps its
 * display aspect ratio. A side that was computed from the other one is wrong by
 * at most half a pixel. The pixel aspect ratio is not changed to correct this.
 */
static void
fix_size (GstStructure *s, const Size *natural)
{
  Size size = with_given_pixels (s, natural);
  gint width, height, n, d;

  fix_sides (s, &size, &width, &height);
  if (height != height_for (&size, width) && width != width_for (&size, height)
      && (!gst_util_fraction_multiply (
              natural->width, natural->height, height, width, &n, &d)
          || !gst_util_fraction_multiply (
              n, d, natural->par_n, natural->par_d, &size.par_n, &size.par_d)))
    return;
  if (gst_structure_has_field (s, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction (
        s, "pixel-aspect-ratio", size.par_n, size.par_d);
  else if (size.par_n != size.par_d)
    gst_structure_set (s, "pixel-aspect-ratio", GST_TYPE_FRACTION, size.par_n,
        size.par_d, NULL);
}

/* Computes the default size of the output. If the picture is rotated by 90
 * degrees, so are its pixels. */
static Size
get_natural_size (const GstCudaRules *rules, GstPadDirection direction,
    const GstVideoInfo *info)
{
  Size size = { GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info),
    MAX (GST_VIDEO_INFO_PAR_N (info), 1),
    MAX (GST_VIDEO_INFO_PAR_D (info), 1) };
  Size swapped = { size.height, size.width, size.par_d, size.par_n };

  return direction == GST_PAD_SINK && rules->swaps_sides ? swapped : size;
}

GstCaps *
gst_cuda_caps_fixate (const GstCudaRules *rules, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  const GstStructure *in = gst_caps_get_structure (caps, 0);
  const GstVideoFormatInfo *format;
  GstVideoInfo info;
  GstStructure *s;
  Size size;

  if (gst_caps_is_empty (others) || gst_caps_is_any (others)
      || !gst_structure_has_name (in, "video/x-raw")
      || !gst_video_info_from_caps (&info, caps))
    return gst_caps_fixate (others);

  size = get_natural_size (rules, direction, &info);
  others = pick (others, caps, &info, &size);
  s = gst_caps_get_structure (others, 0);
  format = fix_format (s, info.finfo);
  fix_size (s, &size);
  return format ? keep_colours (others, &info, in, format)
                : gst_caps_fixate (others);
}
