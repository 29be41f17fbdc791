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
  { "balance", NULL },
  { "blur", NULL },
  { "bob", "p,field=0" },
  { "bob", "p,field=1" },
  { "boxblur", "p,radius=0" },
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

/* Sizes of the input, and of the output of effects that scale: smaller, larger,
 * one pixel, and larger in one direction only. The third one is larger than one
 * block of threads, horizontally and vertically. In rows of 8 pixels, a kernel
 * can write four pixels in one access, in rows of 7 pixels it cannot. */
static const struct {
  gint width, height, out_width, out_height;
} sizes[] = { { 1, 1 }, { 7, 5 }, { 40, 26 }, { 8, 5 }, { 38, 26, 17, 9 },
  { 7, 5, 38, 26 }, { 9, 30, 40, 11 }, { 7, 5, 1, 1 }, { 1, 1, 7, 5 } };

#define N_SIZES_OF_ALL 3
#define N_SIZES(effect) \
  ((effect)->converts & GST_EFFECT_CONVERTS_SIZE ? G_N_ELEMENTS (sizes) \
                                                 : N_SIZES_OF_ALL)

static void
make_info (GstVideoInfo *info, guint format, gint width, gint height)
{
  gst_video_info_set_format (info, formats[format].format, width, height);
  if (formats[format].colorimetry)
    fail_unless (gst_video_colorimetry_from_string (
        &info->colorimetry, formats[format].colorimetry));
}

/* The effect under test. */
static const GstEffect *effect;
static GstVkgdrKernel *kernel;
static GstStructure *params;

/* Runs the kernel on noise, and compares the result with the reference. */
static void
check_frame (const GstVideoInfo *in_info, const GstVideoInfo *out_info,
    gboolean padded, gboolean in_place)
{
  static guint n;
  g_autofree guint8 *noise = NULL, *result = NULL;
  g_auto (Picture) in = { 0 }, wanted = { 0 }, got = { 0 };
  gint tolerance;
  guint differences;

  if (test_is_slow () && n++ % 5 != 0)
    return;
  noise = frame_noise (in_info);
  result = frame_through (
      kernel, in_info, noise, padded, out_info, padded, in_place, params);
  picture_read (&in, in_info, noise);
  picture_read (&got, out_info, result);
  picture_init (&wanted, out_info);
  tolerance = effect_reference (effect->name, &in, &wanted, params);
  differences = picture_count_differences (&wanted, &got, tolerance);
  if (differences)
    fail ("%s of %s %dx%d to %s %dx%d%s%s: %u samples differ by more than %d",
        effect->name, GST_VIDEO_INFO_NAME (in_info), in.width, in.height,
        GST_VIDEO_INFO_NAME (out_info), wanted.width, wanted.height,
        padded ? " padded" : "", in_place ? " in place" : "", differences,
        tolerance);
}

/* Checks a size with an output of format @to. A frame of the same format is
 * also padded, and processed in place. */
static void
check_size (guint from, guint to, guint s)
{
  const GstEffectTurn *turn = gst_effect_get_turn (effect, params);
  gint width = sizes[s].width, height = sizes[s].height;
  gboolean scales = sizes[s].out_width > 0;
  GstVideoInfo in_info, out_info;

  make_info (&in_info, from, width, height);
  if (scales)
    make_info (&out_info, to, sizes[s].out_width, sizes[s].out_height);
  else if (turn && turn->swaps_sides)
    make_info (&out_info, to, height, width);
  else
    make_info (&out_info, to, width, height);
  check_frame (&in_info, &out_info, scales, FALSE);
  if (from == to && !scales)
    check_frame (&in_info, &out_info, TRUE, FALSE);
  if (from == to && effect->in_place && !scales)
    check_frame (&in_info, &out_info, s % 2, TRUE);
}

/* The result does not depend on the blocks of a launch: some have odd sizes,
 * and one is a single row. */
static void
check_blocks (guint format)
{
  static const guint blocks[][2] = { { 64, 4 }, { 16, 16 }, { 5, 3 }, { 1, 1 },
    { 256, 1 }, { 0, 0 } };
  GError *error = NULL;
  GstVideoInfo info;
  guint b;

  for (b = 0; b < G_N_ELEMENTS (blocks); b++) {
    gst_vkgdr_kernel_set_block_size (
        kernel, blocks[b][0], blocks[b][1], &error);
    g_assert_no_error (error);
    make_info (&info, format, 38, 26);
    check_frame (&info, &info, FALSE, FALSE);
  }
  make_info (&info, format, 300, 1);
  check_frame (&info, &info, FALSE, FALSE);
}

/* Starts with row @i of the table. */
static void
begin_effect (guint i)
{
  GstStructure *given = cases[i].params
                            ? gst_structure_from_string (cases[i].params, NULL)
                            : NULL;
  GError *error = NULL;

  frame_setup ();
  effect = gst_effect_find (cases[i].effect);
  kernel = frame_effect (frame_context, effect);
  params = gst_effect_complete_params (effect, given, &error);
  g_assert_no_error (error);
  g_clear_pointer (&given, gst_structure_free);
}

static void
end_effect (void)
{
  g_clear_pointer (&params, gst_structure_free);
  gst_object_unref (kernel);
  frame_teardown ();
}

/* Whether this is the first row of its effect. What does not depend on the
 * parameters is tested with the first row. */
static gboolean
is_first (guint i)
{
  return i == 0 || !g_str_equal (cases[i].effect, cases[i - 1].effect);
}

TEST_PARALLEL (2);

TEST_LOOP (effect_is_as_described, G_N_ELEMENTS (cases))
{
  guint f, s;

  begin_effect (__i__);
  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    for (s = 0; s < N_SIZES (effect); s++)
      check_size (f, f, s);
  for (f = __i__ % 6; f < G_N_ELEMENTS (formats) && is_first (__i__); f += 6)
    check_blocks (f);
  end_effect ();
}

/* Converting from each format to each format is tested with the effect that
 * does nothing else. Others that can do it read and write frames in the same
 * way. */
TEST_LOOP (effect_converts_format, G_N_ELEMENTS (cases))
{
  static const guint some_sizes[] = { 1, 3, 4 };
  gboolean is_convert = g_str_equal (cases[__i__].effect, "convert");
  guint step = is_convert ? 1 : 5, from, to, s;

  if (!(gst_effect_find (cases[__i__].effect)->converts
          & GST_EFFECT_CONVERTS_FORMAT)
      || (!is_convert && !is_first (__i__)))
    return;
  begin_effect (__i__);
  for (from = 0; from < G_N_ELEMENTS (formats); from++)
    for (to = (from + __i__) % step; to < G_N_ELEMENTS (formats); to += step)
      for (s = 0; s < (N_SIZES (effect) > 4 ? 3 : 2); s++)
        check_size (from, to, some_sizes[s]);
  end_effect ();
}

TEST (every_effect_has_a_case)
{
  const GstEffect *all;
  guint i;

  for (all = gst_effects_list (); all->name; all++) {
    for (i = 0; i < G_N_ELEMENTS (cases); i++)
      if (g_str_equal (cases[i].effect, all->name))
        break;
    fail_unless (i < G_N_ELEMENTS (cases), "%s is not tested", all->name);
  }
}
