/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * colours.c: tests that colours mean the same as in GStreamer's own converters,
 * for RGB, YUV and gray of full and limited range
 *
 * The reference is videoconvert, which shares nothing with this project.
 */

#include "util.h"

/* By how much samples of 8 bits may differ: videoconvert multiplies by weights
 * of 8 bits, in each of two steps. */
#define TOLERANCE 3

/* Caps, from a format and a colorimetry: range (1: full, 2: limited), matrix,
 * transfer function and primaries. */
#define CAPS(format, colorimetry) \
  "video/x-raw,format=" format ",colorimetry=" colorimetry \
  ",width=16,height=8,framerate=1/1"

/* videoconvert converts the range only if the matrix changes, too. So in
 * between, the frame is YUV of 16 bits with a matrix that no kind has. */
#define REFERENCE \
  "videoconvert dither=none ! " CAPS ( \
      "AYUV64", "1:5:5:1") " ! videoconvert dither=none"
#define CONVERT "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload"
#define TENSOR \
  "vkgdrupload ! vkgdrtensor channels=rgb type=uint8 layout=nhwc width=16 " \
  "height=8 ! vkgdrdownload"

/* Transfer function and primaries are the same in all of them, because no
 * converter is asked to convert these. */
static const gchar *const kinds[] = {
  CAPS ("RGBA", "1:1:5:1"),
  CAPS ("RGBA", "2:1:5:1"),
  CAPS ("RGB", "2:1:5:1"),
  CAPS ("ARGB64", "1:1:5:1"),
  CAPS ("ARGB64", "2:1:5:1"),
  CAPS ("AYUV", "2:3:5:1"),
  CAPS ("AYUV", "1:3:5:1"),
  CAPS ("v308", "2:4:5:1"),
  CAPS ("Y444_10LE", "2:6:5:1"),
  CAPS ("Y444_10LE", "1:6:5:1"),
  CAPS ("GRAY8", "1:3:5:1"),
  CAPS ("GRAY8", "2:3:5:1"),
  CAPS ("GRAY16_LE", "2:3:5:1"),
};

/* Returns what @elements make of @frame. If @out is NULL, they decide which
 * caps the output has. */
static GstBuffer *
convert (
    const gchar *elements, const gchar *in, const gchar *out, GstBuffer *frame)
{
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  GstBuffer *result;

  if (out)
    gst_harness_set_sink_caps_str (h, out);
  gst_harness_set_src_caps_str (h, in);
  result = gst_harness_push_and_pull (h, gst_buffer_ref (frame));
  fail_unless (result != NULL, "%s from %s to %s", elements, in, out);
  return result;
}

/* Returns a frame of @kind. Its colours are those of RGB, which YUV exceeds,
 * because converters clamp the others at different steps. */
static GstBuffer *
make_frame (const gchar *kind)
{
  /* black, white and red, each with alpha in front */
  static const guint16 pixels[12] = { 65535, 0, 0, 0, 65535, 65535, 65535,
    65535, 65535, 65535, 0, 0 };
  g_autoptr (GstBuffer) rgb =
      gst_buffer_new_allocate (NULL, 16 * 8 * 4 * sizeof (guint16), NULL);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  GstMapInfo map;
  guint i;

  fail_unless (gst_buffer_map (rgb, &map, GST_MAP_WRITE));
  for (i = 0; i < map.size; i++)
    map.data[i] = i % 8 < 2 ? 255 : g_rand_int_range (random, 0, 256);
  memcpy (map.data, pixels, sizeof (pixels));
  gst_buffer_unmap (rgb, &map);
  GST_BUFFER_PTS (rgb) = 0;
  return convert (REFERENCE, CAPS ("ARGB64", "1:1:5:1"), kind, rgb);
}

/* Fails unless @elements convert a frame as the reference does. */
static void
check_elements (const gchar *elements, const gchar *in, const gchar *out)
{
  g_autoptr (GstBuffer) frame = make_frame (in);
  g_autoptr (GstBuffer) expected = convert (REFERENCE, in, out, frame);
  g_autoptr (GstBuffer) result = convert (
      elements, in, g_str_equal (elements, TENSOR) ? NULL : out, frame);
  g_autoptr (GstCaps) caps = gst_caps_from_string (out);
  gint tolerance = TOLERANCE, have, want;
  GstVideoInfo info;
  GstMapInfo a, b;
  guint i, step;

  fail_unless (gst_video_info_from_caps (&info, caps));
  step = GST_VIDEO_INFO_COMP_DEPTH (&info, 0) > 8 ? 2 : 1;
  tolerance <<= GST_VIDEO_INFO_COMP_DEPTH (&info, 0) - 8;
  fail_unless (gst_buffer_map (result, &a, GST_MAP_READ));
  fail_unless (gst_buffer_map (expected, &b, GST_MAP_READ));
  fail_unless (a.size >= info.size && b.size >= info.size);
  for (i = 0; i < info.size; i += step) {
    have = step > 1 ? GST_READ_UINT16_LE (a.data + i) : a.data[i];
    want = step > 1 ? GST_READ_UINT16_LE (b.data + i) : b.data[i];
    fail_unless (ABS (have - want) <= tolerance,
        "%s to %s: byte %u is %d, not %d", in, out, i, have, want);
  }
  gst_buffer_unmap (expected, &b);
  gst_buffer_unmap (result, &a);
}

TEST_PARALLEL (2);
TEST_FIXTURE (test_setup, test_teardown);

/* Each kind becomes each other kind, and a tensor of bytes, which has the
 * colours of RGB of full range. */
TEST_LOOP (convert, G_N_ELEMENTS (kinds))
{
  guint to;

  for (to = 0; to < G_N_ELEMENTS (kinds); to++)
    check_elements (CONVERT, kinds[__i__], kinds[to]);
  check_elements (TENSOR, kinds[__i__], CAPS ("RGB", "1:1:5:1"));
}

/* --- what the caps of the output say ------------------------------------- */

#define DISPLAY \
  "bt2100-pq,mastering-display-info=(string)35400:14600:8500:39850:6550:" \
  "2300:15635:16450:10000000:50,content-light-level=(string)1000:50"

/* BT.709 in standard definition, full range, HDR, and RGB of limited range. */
static const gchar *const inputs[] = { CAPS ("NV12", "bt709"),
  CAPS ("I420", "1:4:16:4"), CAPS ("P010_10LE", DISPLAY),
  CAPS ("P010_10LE", "bt2100-hlg"), CAPS ("RGBA", "2:1:5:1"),
  CAPS ("RGBA", "sRGB"), CAPS ("ARGB64", "1:1:14:7"),
  CAPS ("GRAY8", "2:3:5:1") };

static const gchar *const outputs[] = { "video/x-raw,format=RGBA",
  "video/x-raw,format=ARGB64", "video/x-raw,format=NV12",
  "video/x-raw,format=P010_10LE", "video/x-raw,format=AYUV",
  "video/x-raw,format=GRAY8" };

/* Returns what the caps of the output say about colours and the display. */
static gchar *
get_output_colours (const gchar *elements, const gchar *in, const gchar *out)
{
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  g_autoptr (GstCaps) caps = gst_caps_from_string (in);
  GstVideoInfo info;
  GstStructure *s;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_harness_set_sink_caps_str (h, out);
  gst_harness_set_src_caps_str (h, in);
  gst_harness_push (h, gst_buffer_new_allocate (NULL, info.size, NULL));
  gst_caps_replace (&caps, NULL);
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (
      caps && gst_video_info_from_caps (&info, caps), "%s to %s", in, out);
  s = gst_caps_get_structure (caps, 0);
  return g_strdup_printf ("%s to %s: %d:%d:%d:%d %s %s", in, out,
      info.colorimetry.range, info.colorimetry.matrix,
      info.colorimetry.transfer, info.colorimetry.primaries,
      gst_structure_get_string (s, "mastering-display-info"),
      gst_structure_get_string (s, "content-light-level"));
}

TEST_LOOP (caps, G_N_ELEMENTS (inputs))
{
  guint o;

  for (o = 0; o < G_N_ELEMENTS (outputs); o++) {
    g_autofree gchar *have =
        get_output_colours (CONVERT, inputs[__i__], outputs[o]);
    g_autofree gchar *want =
        get_output_colours ("videoconvert", inputs[__i__], outputs[o]);

    fail_unless_equals_string (have, want);
  }
}
