/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * colours.c: tests that colours mean the same as in GStreamer's own converters,
 * for RGB, YUV and gray of full and limited range
 *
 * The reference is GstVideoConverter, which shares nothing with this project.
 */

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include "util.h"

#define WIDTH 16
#define HEIGHT 8

/* By how much samples of 8 bits may differ: GstVideoConverter multiplies by
 * weights of 8 bits, in each of two steps. */
#define TOLERANCE 3

/* The numbers are range (1: full, 2: limited), matrix, transfer function and
 * primaries. Transfer function and primaries are the same in all of them,
 * because no converter is asked to convert these. */
static const struct {
  const gchar *format, *colorimetry;
} kinds[] = {
  { "RGBA", "1:1:5:1" },
  { "RGBA", "2:1:5:1" },
  { "RGB", "2:1:5:1" },
  { "ARGB64", "1:1:5:1" },
  { "ARGB64", "2:1:5:1" },
  { "AYUV", "2:3:5:1" },
  { "AYUV", "1:3:5:1" },
  { "v308", "2:4:5:1" },
  { "Y444_10LE", "2:6:5:1" },
  { "Y444_10LE", "1:6:5:1" },
  { "GRAY8", "1:3:5:1" },
  { "GRAY8", "2:3:5:1" },
  { "GRAY16_LE", "2:3:5:1" },
};

#define N_KINDS ((gint) G_N_ELEMENTS (kinds))

static gchar *
make_caps (const gchar *format, const gchar *colorimetry)
{
  return g_strdup_printf (
      "video/x-raw,format=%s,colorimetry=%s,width=%d,height=%d,framerate=1/1",
      format, colorimetry, WIDTH, HEIGHT);
}

static void
read_caps (GstVideoInfo *info, const gchar *format, const gchar *colorimetry)
{
  g_autofree gchar *text = make_caps (format, colorimetry);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);

  fail_unless (gst_video_info_from_caps (info, caps));
}

static GstBuffer *
convert_by_reference (
    const GstVideoInfo *in, const GstVideoInfo *out, GstBuffer *buffer)
{
  GstStructure *config =
      gst_structure_new ("config", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE, NULL);
  GstVideoConverter *converter = gst_video_converter_new (
      (GstVideoInfo *) in, (GstVideoInfo *) out, config);
  GstBuffer *result = gst_buffer_new_allocate (NULL, out->size, NULL);
  GstVideoFrame from, to;

  fail_unless (converter != NULL);
  fail_unless (
      gst_video_frame_map (&from, (GstVideoInfo *) in, buffer, GST_MAP_READ));
  fail_unless (
      gst_video_frame_map (&to, (GstVideoInfo *) out, result, GST_MAP_WRITE));
  gst_video_converter_frame (converter, &from, &to);
  gst_video_frame_unmap (&to);
  gst_video_frame_unmap (&from);
  gst_video_converter_free (converter);
  return result;
}

/* Converts in two steps, because GstVideoConverter converts the range only if
 * the matrix changes, too. In between, the frame is YUV of 16 bits with a
 * matrix that no kind has. */
static GstBuffer *
make_expected (
    const GstVideoInfo *in, const GstVideoInfo *out, GstBuffer *frame)
{
  GstVideoInfo between;
  GstBuffer *yuv, *result;

  read_caps (&between, "AYUV64", "1:5:5:1");
  yuv = convert_by_reference (in, &between, frame);
  result = convert_by_reference (&between, out, yuv);
  gst_buffer_unref (yuv);
  return result;
}

/* Returns a frame of @info. Its colours are those of RGB, which YUV exceeds,
 * because converters clamp the others at different steps. */
static GstBuffer *
make_frame (const GstVideoInfo *info)
{
  GRand *random = g_rand_new_with_seed (1);
  GstVideoInfo rgb;
  GstBuffer *buffer, *result;
  GstMapInfo map;
  guint i;

  read_caps (&rgb, "ARGB64", "1:1:5:1");
  buffer = gst_buffer_new_allocate (NULL, rgb.size, NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (i = 0; i < map.size; i++)
    map.data[i] = i % 8 < 2 ? 255 : g_rand_int_range (random, 0, 256);
  /* Black, white and red. */
  memset (map.data + 2, 0, 6);
  memset (map.data + 10, 255, 6);
  memset (map.data + 18, 255, 2);
  memset (map.data + 20, 0, 4);
  gst_buffer_unmap (buffer, &map);
  result = make_expected (&rgb, info, buffer);
  gst_buffer_unref (buffer);
  g_rand_free (random);
  GST_BUFFER_PTS (result) = 0;
  return result;
}

static guint
sample_at (const guint8 *data, gsize i, gboolean is_wide)
{
  return is_wide ? GST_READ_UINT16_LE (data + 2 * i) : data[i];
}

static void
compare (const GstVideoInfo *info, GstBuffer *result, GstBuffer *expected,
    const gchar *what)
{
  gint depth = GST_VIDEO_INFO_COMP_DEPTH (info, 0);
  guint n = info->size / (depth > 8 ? 2 : 1), i;
  GstMapInfo a, b;

  fail_unless (gst_buffer_map (result, &a, GST_MAP_READ));
  fail_unless (gst_buffer_map (expected, &b, GST_MAP_READ));
  fail_unless (a.size >= info->size && b.size >= info->size);
  for (i = 0; i < n; i++) {
    gint have = sample_at (a.data, i, depth > 8);
    gint want = sample_at (b.data, i, depth > 8);

    fail_unless (ABS (have - want) <= TOLERANCE << (depth - 8),
        "%s: sample %u is %d, not %d", what, i, have, want);
  }
  gst_buffer_unmap (expected, &b);
  gst_buffer_unmap (result, &a);
}

/* Pushes a frame of @from through @elements, with caps of @format and
 * @colorimetry at the end, or with caps of a tensor if @is_tensor is TRUE. */
static void
check_elements (const gchar *elements, gint from, const gchar *format,
    const gchar *colorimetry, gboolean is_tensor)
{
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  g_autoptr (GstBuffer) frame = NULL, result = NULL, expected = NULL;
  GstVideoInfo in, out;
  g_autofree gchar *what = g_strdup_printf ("%s %s to %s %s",
      kinds[from].format, kinds[from].colorimetry, format, colorimetry);

  read_caps (&in, kinds[from].format, kinds[from].colorimetry);
  read_caps (&out, format, colorimetry);
  if (!is_tensor)
    gst_harness_set_sink_caps (h, gst_video_info_to_caps (&out));
  gst_harness_set_src_caps (h, gst_video_info_to_caps (&in));
  frame = make_frame (&in);
  fail_unless_equals_int (
      gst_harness_push (h, gst_buffer_ref (frame)), GST_FLOW_OK);
  result = gst_harness_pull (h);
  fail_unless (result != NULL);
  expected = make_expected (&in, &out, frame);
  compare (&out, result, expected, what);
}

TEST_FIXTURE (test_setup, test_teardown);

/* Each kind becomes each other kind. */
TEST_LOOP (convert, N_KINDS)
{
  gint to;

  for (to = 0; to < N_KINDS; to++)
    check_elements ("vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload",
        __i__, kinds[to].format, kinds[to].colorimetry, FALSE);
}

/* A tensor of bytes has the colours of RGB of full range. */
TEST_LOOP (tensor, N_KINDS)
{
  check_elements ("vkgdrupload ! vkgdrtensor channels=rgb type=uint8 "
                  "layout=nhwc width=16 height=8 ! vkgdrdownload",
      __i__, "RGB", "1:1:5:1", TRUE);
}

/* --- what the caps of the output say ------------------------------------- */

#define DISPLAY \
  "mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:" \
  "16450:10000000:50,content-light-level=(string)1000:50"

/* BT.709 in standard definition, full range, HDR, and RGB of limited range. */
static const struct {
  const gchar *format, *colorimetry;
} inputs[] = {
  { "NV12", "bt709" },
  { "I420", "1:4:16:4" },
  { "P010_10LE", "bt2100-pq," DISPLAY },
  { "P010_10LE", "bt2100-hlg" },
  { "RGBA", "2:1:5:1" },
  { "RGBA", "sRGB" },
  { "ARGB64", "1:1:14:7" },
  { "GRAY8", "2:3:5:1" },
};

static const gchar *const outputs[] = { "RGBA", "ARGB64", "NV12", "P010_10LE",
  "AYUV", "GRAY8" };

/* Returns the colorimetry of the output of @element. The caller frees
 * *@display, the caps' description of the display. */
static GstVideoColorimetry
get_output_colours (
    const gchar *element, const gchar *in, const gchar *format, gchar **display)
{
  static const gchar *const fields[] = { "mastering-display-info",
    "content-light-level" };
  g_autoptr (GstHarness) h = test_harness_parse (element);
  GstVideoInfo info;
  g_autoptr (GstCaps) caps = gst_caps_from_string (in);
  GstStructure *s;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_harness_set_sink_caps (h, gst_caps_new_simple ("video/x-raw", "format",
                                    G_TYPE_STRING, format, NULL));
  gst_harness_set_src_caps (h, caps);
  gst_harness_push (h, gst_buffer_new_allocate (NULL, info.size, NULL));
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (caps != NULL, "%s %s %s", element, in, format);
  fail_unless (gst_video_info_from_caps (&info, caps));
  s = gst_caps_get_structure (caps, 0);
  *display = g_strdup_printf ("%s %s", gst_structure_get_string (s, fields[0]),
      gst_structure_get_string (s, fields[1]));
  return info.colorimetry;
}

static void
check_caps (guint i, const gchar *format)
{
  g_autofree gchar *in = make_caps (inputs[i].format, inputs[i].colorimetry);
  g_autofree gchar *display = NULL, *wanted = NULL;
  GstVideoColorimetry have = get_output_colours (
      "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload", in, format,
      &display);
  GstVideoColorimetry want =
      get_output_colours ("videoconvert", in, format, &wanted);

  fail_unless (gst_video_colorimetry_is_equal (&have, &want),
      "%s to %s: %d:%d:%d:%d, not %d:%d:%d:%d", in, format, have.range,
      have.matrix, have.transfer, have.primaries, want.range, want.matrix,
      want.transfer, want.primaries);
  fail_unless_equals_string (display, wanted);
}

TEST_LOOP (caps, G_N_ELEMENTS (inputs))
{
  guint o;

  for (o = 0; o < G_N_ELEMENTS (outputs); o++)
    check_caps (__i__, outputs[o]);
}
