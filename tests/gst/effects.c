/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects.c: tests that the results of every effect of cudafilter are as its
 * description says
 *
 * Each effect is compared with a reference on the CPU, in every format of
 * GST_EFFECT_FORMATS, for frames of even and odd sizes, with and without
 * padding between the rows, and in place if the effect supports it. An effect
 * that computes in integers or specifies each rounding has to match exactly,
 * one that computes in float may differ by one. The tests apply to an NVIDIA
 * GPU and to the software device.
 */

#include <gst/check/gstcheck.h>

#include "case.h"
#include "effects-reference.h"
#include "frames.h"
#include "slow.h"

/* Effects with values of parameters that change the result. */
static const struct {
  const gchar *effect;
  const gchar *params;
} cases[] = {
  { "balance", "p,brightness=0.1,contrast=0.8,saturation=1.4,hue=0.3" },
  { "balance", "p,brightness=-0.2,contrast=1.3,saturation=0.7,hue=-0.9" },
  { "balance", NULL },
  { "blur", NULL },
  { "bob", "p,field=0" },
  { "bob", "p,field=1" },
  { "boxblur", "p,radius=0" },
  { "boxblur", "p,radius=3" },
  { "boxblur", "p,radius=16" },
  { "chromakey",
      "p,red=0.1,green=0.9,blue=0.2,tolerance=0.3,softness=0.2,"
      "background-red=0.8,background-green=0.5,background-blue=0.1" },
  { "chromakey", NULL },
  { "colormatrix", "p,rr=0.9,rg=-0.1,rb=0.2,gr=0.3,gg=0.6,gb=0.15,br=-0.2,"
                   "bg=0.35,bb=0.7,r=0.05,g=-0.04,b=0.1" },
  { "colormatrix", NULL },
  { "convert", "p,method=0" },
  { "convert", "p,method=1" },
  { "copy", NULL },
  { "flip", "p,method=0" },
  { "flip", "p,method=1" },
  { "flip", "p,method=2" },
  { "flip", "p,method=3" },
  { "flip", "p,method=4" },
  { "flip", "p,method=5" },
  { "flip", "p,method=6" },
  { "flip", "p,method=7" },
  { "gain", "p,gain=1.37,offset=-0.07" },
  { "gamma", "p,gamma=1.8" },
  { "gamma", "p,gamma=0.6" },
  { "gaussian", "p,sigma=1.3" },
  { "gaussian", "p,sigma=4.0" },
  { "gaussian", "p,sigma=0.0" },
  { "grayscale", NULL },
  { "invert", NULL },
  { "sepia", "p,amount=0.7" },
  { "sharpen", "p,amount=0.8" },
  { "sharpen", "p,amount=-0.5" },
  { "sobel", NULL },
  { "threshold", "p,level=0.4" },
};

static const struct {
  GstVideoFormat format;
  const gchar *colorimetry;
} formats[] = {
  { GST_VIDEO_FORMAT_RGBA, NULL },
  { GST_VIDEO_FORMAT_RGBA, "2:1:5:1" },
  { GST_VIDEO_FORMAT_BGRA, "sRGB" },
  { GST_VIDEO_FORMAT_RGBx, NULL },
  { GST_VIDEO_FORMAT_BGRx, NULL },
  { GST_VIDEO_FORMAT_xRGB, NULL },
  { GST_VIDEO_FORMAT_RGB, NULL },
  { GST_VIDEO_FORMAT_GRAY8, NULL },
  { GST_VIDEO_FORMAT_GRAY8, "2:4:5:1" },
  { GST_VIDEO_FORMAT_NV12, NULL },
  { GST_VIDEO_FORMAT_NV12, "bt709" },
  { GST_VIDEO_FORMAT_I420, NULL },
  { GST_VIDEO_FORMAT_I420, "1:4:0:0" },
  { GST_VIDEO_FORMAT_YUY2, NULL },
  { GST_VIDEO_FORMAT_AYUV, NULL },
  { GST_VIDEO_FORMAT_Y444, NULL },
  { GST_VIDEO_FORMAT_GRAY16_LE, NULL },
  { GST_VIDEO_FORMAT_P010_10LE, NULL },
  { GST_VIDEO_FORMAT_I420_10LE, NULL },
};

/* The third size is larger than one block of threads, horizontally and
 * vertically. */
static const struct {
  gint width, height;
} sizes[] = { { 1, 1 }, { 7, 5 }, { 40, 26 } };

/* Whether to leave out case number @n because all cases would take too long.
 * Then one case in @of is run. */
static gboolean
is_left_out (guint n, guint of)
{
  return test_is_slow () && n % of != 0;
}

static void
make_info (GstVideoInfo *info, guint format, gint width, gint height)
{
  gst_video_info_set_format (info, formats[format].format, width, height);
  if (formats[format].colorimetry)
    fail_unless (gst_video_colorimetry_from_string (
        &info->colorimetry, formats[format].colorimetry));
}

static GstStructure *
make_params (const GstEffect *effect, const gchar *text)
{
  GstStructure *given = text ? gst_structure_from_string (text, NULL) : NULL;
  GError *error = NULL;
  GstStructure *params = gst_effect_complete_params (effect, given, &error);

  fail_unless (!text == !given);
  g_assert_no_error (error);
  g_clear_pointer (&given, gst_structure_free);
  return params;
}

/* Runs @kernel on noise, and compares the result with the reference. */
static void
check_frame (const GstEffect *effect, GstVkgdrKernel *kernel,
    const GstStructure *params, const GstVideoInfo *in_info,
    const GstVideoInfo *out_info, gboolean padded, gboolean in_place)
{
  g_autofree guint8 *noise = frame_noise (in_info);
  g_autofree guint8 *wanted = g_malloc0 (GST_VIDEO_INFO_SIZE (out_info));
  g_autofree guint8 *got = frame_through (
      kernel, in_info, noise, padded, out_info, padded, in_place, params);
  gint tolerance = effect_reference_find (effect->name)->tolerance;
  guint differences;

  effect_reference_convert (
      effect->name, in_info, noise, out_info, wanted, params);
  differences = picture_count_differences (out_info, wanted, got, tolerance);
  fail_unless (differences == 0,
      "%s of %s %dx%d to %s %dx%d%s%s: %u samples differ by more than %d",
      effect->name, GST_VIDEO_INFO_NAME (in_info),
      GST_VIDEO_INFO_WIDTH (in_info), GST_VIDEO_INFO_HEIGHT (in_info),
      GST_VIDEO_INFO_NAME (out_info), GST_VIDEO_INFO_WIDTH (out_info),
      GST_VIDEO_INFO_HEIGHT (out_info), padded ? " padded" : "",
      in_place ? " in place" : "", differences, tolerance);
}

/* Checks the effect with an output of the input's format, and of the size that
 * the effect asks for. */
static void
check_like (const GstEffect *effect, GstVkgdrKernel *kernel,
    const GstStructure *params, guint format, guint size)
{
  const GstEffectTurn *turn = gst_effect_get_turn (effect, params);
  gint width = sizes[size].width, height = sizes[size].height;
  GstVideoInfo in_info, out_info;
  gint padded;

  make_info (&in_info, format, width, height);
  if (turn && turn->swaps_sides)
    make_info (&out_info, format, height, width);
  else
    make_info (&out_info, format, width, height);
  for (padded = 0; padded < 2; padded++) {
    check_frame (effect, kernel, params, &in_info, &out_info, padded, FALSE);
    if (effect->in_place)
      check_frame (effect, kernel, params, &in_info, &out_info, padded, TRUE);
  }
}

static gint
count_effects (void)
{
  const GstEffect *effect = gst_effects_list ();
  gint n = 0;

  while (effect[n].name)
    n++;
  return n;
}

TEST_FIXTURE (frame_setup, frame_teardown);

TEST_LOOP (effect_is_as_described, G_N_ELEMENTS (cases))
{
  const GstEffect *effect = gst_effect_find (cases[__i__].effect);
  g_autoptr (GstVkgdrKernel) kernel = frame_effect (frame_context, effect);
  GstStructure *params = make_params (effect, cases[__i__].params);
  guint f, s;

  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    for (s = 0; s < G_N_ELEMENTS (sizes); s++)
      if (!is_left_out (f + s + __i__, G_N_ELEMENTS (sizes)))
        check_like (effect, kernel, params, f, s);
  g_clear_pointer (&params, gst_structure_free);
}

/* Checks the effects that convert formats, from each format to each format. */
TEST_LOOP (effect_converts_format, count_effects ())
{
  const GstEffect *effect = &gst_effects_list ()[__i__];
  GstStructure *params;
  g_autoptr (GstVkgdrKernel) kernel = NULL;
  GstVideoInfo in_info, out_info;
  guint from, to, width;

  if (!(effect->converts & GST_EFFECT_CONVERTS_FORMAT))
    return;
  params = make_params (effect, NULL);
  kernel = frame_effect (frame_context, effect);
  /* In rows of 8 pixels, a kernel can write four pixels in one access. In rows
   * of 7 pixels, it cannot. */
  for (width = 7; width < 9; width++)
    for (from = 0; from < G_N_ELEMENTS (formats); from++)
      for (to = 0; to < G_N_ELEMENTS (formats); to++) {
        if (is_left_out (from + to, 5))
          continue;
        make_info (&in_info, from, width, 5);
        make_info (&out_info, to, width, 5);
        check_frame (effect, kernel, params, &in_info, &out_info, FALSE, FALSE);
      }
  g_clear_pointer (&params, gst_structure_free);
}

/* Sizes for the effects that scale: smaller, larger, one pixel, and larger in
 * one direction only. */
static const struct {
  gint in_width, in_height, out_width, out_height;
} scalings[] = { { 38, 26, 17, 9 }, { 7, 5, 38, 26 }, { 9, 30, 40, 11 },
  { 7, 5, 1, 1 }, { 1, 1, 7, 5 } };

static const struct {
  const gchar *effect;
  const gchar *params;
} scalers[] = {
  { "convert", "p,method=0" },
  { "convert", "p,method=1" },
  { "flip", "p,method=0" },
  { "flip", "p,method=1" },
  { "flip", "p,method=2" },
  { "flip", "p,method=7" },
};

static void
check_scalings (const GstEffect *effect, GstVkgdrKernel *kernel,
    const GstStructure *params, guint from, guint to)
{
  GstVideoInfo in_info, out_info;
  guint s;

  for (s = 0; s < G_N_ELEMENTS (scalings); s++) {
    if (is_left_out (from + to + s, G_N_ELEMENTS (scalings)))
      continue;
    make_info (&in_info, from, scalings[s].in_width, scalings[s].in_height);
    make_info (&out_info, to, scalings[s].out_width, scalings[s].out_height);
    check_frame (effect, kernel, params, &in_info, &out_info, TRUE, FALSE);
  }
}

TEST_LOOP (effect_scales, G_N_ELEMENTS (scalers))
{
  static const guint others[] = { 0, 5, 9, 16 };
  const GstEffect *effect = gst_effect_find (scalers[__i__].effect);
  g_autoptr (GstVkgdrKernel) kernel = frame_effect (frame_context, effect);
  g_autoptr (GstStructure) params = make_params (effect, scalers[__i__].params);
  guint f, o;

  fail_unless (effect->converts & GST_EFFECT_CONVERTS_SIZE);
  for (f = 0; f < G_N_ELEMENTS (formats); f++) {
    check_scalings (effect, kernel, params, f, f);
    if (!(effect->converts & GST_EFFECT_CONVERTS_FORMAT))
      continue;
    for (o = 0; o < G_N_ELEMENTS (others); o++) {
      check_scalings (effect, kernel, params, f, others[o]);
      check_scalings (effect, kernel, params, others[o], f);
    }
  }
}

/* The result does not depend on the blocks of a launch: some have odd sizes,
 * and one is a single row. */
TEST_LOOP (effect_in_any_block, count_effects ())
{
  static const guint blocks[][2] = { { 64, 4 }, { 16, 16 }, { 5, 3 }, { 1, 1 },
    { 256, 1 } };
  static const guint some_formats[] = { 0, 8, 12 };
  const GstEffect *effect = &gst_effects_list ()[__i__];
  g_autoptr (GstVkgdrKernel) kernel = frame_effect (frame_context, effect);
  GstStructure *params = make_params (effect, NULL);
  GError *error = NULL;
  GstVideoInfo info;
  guint b, f;

  for (f = 0; f < G_N_ELEMENTS (some_formats); f++) {
    for (b = 0; b < G_N_ELEMENTS (blocks); b++) {
      if (is_left_out (b + f + __i__, G_N_ELEMENTS (blocks)))
        continue;
      gst_vkgdr_kernel_set_block_size (
          kernel, blocks[b][0], blocks[b][1], &error);
      g_assert_no_error (error);
      make_info (&info, some_formats[f], 38, 26);
      check_frame (effect, kernel, params, &info, &info, FALSE, FALSE);
    }
    gst_vkgdr_kernel_set_block_size (kernel, 0, 0, &error);
    g_assert_no_error (error);
    make_info (&info, some_formats[f], 300, 1);
    check_frame (effect, kernel, params, &info, &info, FALSE, FALSE);
  }
  g_clear_pointer (&params, gst_structure_free);
}

TEST (every_effect_has_a_case)
{
  const GstEffect *effect;
  guint i;

  for (effect = gst_effects_list (); effect->name; effect++) {
    for (i = 0; i < G_N_ELEMENTS (cases); i++)
      if (g_str_equal (cases[i].effect, effect->name))
        break;
    fail_unless (i < G_N_ELEMENTS (cases), "%s is not tested", effect->name);
    fail_unless_equals_string (
        effect_reference_find (effect->name)->name, effect->name);
  }
}
