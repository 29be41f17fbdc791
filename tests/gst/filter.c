/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * filter.c: tests of the buffers and caps of filters: work in place, formats
 * and sizes, audio and bytes, the shape of a launch, and elements outside of
 * the plugin
 */

#include <gst/app/gstappsrc.h>
#include <gst/check/gstharness.h>

#include "util.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

#define AT \
  "int x = blockIdx.x * blockDim.x + threadIdx.x, " \
  "y = blockIdx.y * blockDim.y + threadIdx.y; "

/* Inverts every sample. The thread that reads a sample writes it. */
#define OPPOSITE \
  "__global__ void opposite (VkgdrFrame in, VkgdrFrame out) { " AT \
  "for (int c = 0; c < out.n_components; c++) if (vkgdr_has (out, c, x, y)) " \
  "vkgdr_put (out, c, x, y, vkgdr_max (in, c) - vkgdr_get (in, c, x, y)); }"

/* Scales and converts with the nearest pixel, for any sizes and formats. */
#define NEAREST \
  "__global__ void nearest (VkgdrFrame in, VkgdrFrame out) { " AT \
  "vkgdr_render (out, x, y, [&](int px, int py) { return vkgdr_get_rgba (in, " \
  "px * in.width / out.width, py * in.height / out.height); }); }"

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampletint)
GST_ELEMENT_REGISTER_DECLARE (vkgdrexampleborder)

/* --- an element between buffers on the device ---------------------------- */

static GstHarness *
harness_new_filter (const gchar *property, const gchar *value)
{
  GstElement *filter = gst_element_factory_make ("cudafilter", NULL);

  fail_unless (filter != NULL);
  gst_util_set_object_arg (G_OBJECT (filter), property, value);
  return test_harness_new (filter);
}

/* Makes a frame on the device with pattern @seed. */
static GstBuffer *
buffer_new (gsize size, guint seed)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstMapInfo map;

  gst_buffer_append_memory (buffer, test_memory_new (test_context, size));
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, seed);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

static guint8 *
bytes_of (GstBuffer *buffer)
{
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  return test_device_bytes (gst_buffer_peek_memory (buffer, 0));
}

/* --- in place ------------------------------------------------------------ */

static const gchar *formats[] = { "RGBA", "NV12" };

static const struct {
  const gchar *property, *value;
  gboolean in_place;
} fillers[] = {
  { "kernel", "invert", TRUE },
  { "kernel", "blur", FALSE },
  { "pixel", "rgba.r = 1.0f - rgba.r", TRUE },
  { "source", OPPOSITE, FALSE },
  { "source", "#pragma vkgdr in-place\n" OPPOSITE, TRUE },
  { "source", "/*\n#pragma vkgdr in-place\n*/\n" OPPOSITE, FALSE },
};

/* Another reference to the buffer that is pushed, to its memory or to a part of
 * it, or memory that is read-only. */
typedef enum { HAS_BUFFER, HAS_MEMORY, HAS_PART, IS_READ_ONLY, N_OTHERS } Other;

static void
check_in_place (guint f, guint k)
{
  g_autofree gchar *caps = g_strdup_printf (
      "video/x-raw" VKGDR ",format=%s,width=64,height=48,framerate=1/1",
      formats[f]);
  gsize size = g_str_equal (formats[f], "RGBA") ? 64 * 48 * 4 : 64 * 48 * 3 / 2;
  g_autoptr (GstHarness) h =
      harness_new_filter (fillers[k].property, fillers[k].value);
  g_autofree guint8 *expected = NULL;
  Other other;

  gst_harness_set_src_caps_str (h, caps);
  for (other = HAS_BUFFER; other <= N_OTHERS; other++) {
    GstBuffer *in = buffer_new (size, 7), *address = in, *out;
    GstMemory *memory = gst_buffer_peek_memory (in, 0), *part = NULL;
    GstBuffer *copy = NULL;
    guint8 *bytes;

    if (other == HAS_BUFFER)
      copy = gst_buffer_ref (in);
    else if (other == HAS_MEMORY)
      copy = gst_buffer_copy (in);
    else if (other == HAS_PART)
      part = gst_memory_share (memory, 16, 16);
    else if (other == IS_READ_ONLY)
      GST_MINI_OBJECT_FLAG_SET (memory, GST_MEMORY_FLAG_READONLY);
    out = gst_harness_push_and_pull (h, in);
    fail_unless (out != NULL);
    fail_unless_equals_int (
        out == address, other == N_OTHERS && fillers[k].in_place);
    /* The read-only memory is already freed, so its address may be that of the
     * output. */
    if (other < IS_READ_ONLY)
      fail_unless (gst_buffer_peek_memory (out, 0) != memory);
    bytes = bytes_of (out);
    if (expected)
      fail_unless (memcmp (bytes, expected, size) == 0);
    else
      expected = g_memdup2 (bytes, size);
    g_free (bytes);
    if (copy) {
      bytes = bytes_of (copy);
      fail_unless (test_matches (bytes, size, 7));
      g_free (bytes);
      gst_buffer_unref (copy);
    }
    if (part) {
      bytes = test_device_bytes (part);
      fail_unless_equals_int (bytes[0], test_pattern (16, 7));
      g_free (bytes);
      gst_memory_unref (part);
    }
    gst_buffer_unref (out);
  }
}

TEST_FIXTURE (test_setup, test_teardown);

/* The result is the same in place and in another buffer. A buffer is only
 * overwritten if there is no other reference to it. */
TEST_LOOP (in_place, G_N_ELEMENTS (fillers))
{
  guint f;

  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    check_in_place (f, __i__);
}

/* The frame has a layout that only GstVideoMeta describes. It is processed in
 * place only if the next element reads this meta. */
TEST (in_place_needs_the_layout)
{
  g_autoptr (GstHarness) h = harness_new_filter ("kernel", "invert");
  gsize offset[GST_VIDEO_MAX_PLANES] = { 64 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 128 };
  guint meta;

  for (meta = 0; meta < 2; meta++) {
    GstBuffer *in, *out, *address;

    if (meta)
      gst_harness_add_propose_allocation_meta (
          h, GST_VIDEO_META_API_TYPE, NULL);
    gst_harness_set_src_caps_str (
        h, meta ? "video/x-raw" VKGDR ",format=GRAY8,width=64,height=8,"
                  "framerate=2/1"
                : "video/x-raw" VKGDR ",format=GRAY8,width=64,height=8,"
                  "framerate=1/1");
    address = in = buffer_new (128 * 9, 1);
    gst_buffer_add_video_meta_full (
        in, 0, GST_VIDEO_FORMAT_GRAY8, 64, 8, 1, offset, stride);
    out = gst_harness_push_and_pull (h, in);
    fail_unless_equals_int (out == address, meta);
    gst_buffer_unref (out);
  }
}

#define CROP " ! videocrop left=6 top=4 right=10 bottom=2"

static GPtrArray *
play_cropped (const gchar *format, const gchar *before, const gchar *after)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=3 pattern=smpte ! "
      "video/x-raw,format=%s,width=64,height=48%s ! vkgdrupload%s ! cudafilter "
      "kernel=invert ! vkgdrdownload ! appsink name=sink",
      format, before, after);
  GPtrArray *buffers = test_play_buffers (pipeline);

  return buffers;
}

/* videocrop behind vkgdrupload describes the picture with a GstVideoCropMeta,
 * which the filter applies. The result is the same as with videocrop before it.
 */
TEST_LOOP (crop, 9)
{
  static const gchar *const formats[] = { "RGBA", "RGB", "GRAY8", "NV12",
    "I420", "YUY2", "AYUV", "Y444", "I420_10LE" };
  g_autoptr (GPtrArray) before = play_cropped (formats[__i__], CROP, "");
  g_autoptr (GPtrArray) after = play_cropped (formats[__i__], "", CROP);
  GstVideoCropMeta *crop;
  guint i;

  fail_unless_equals_int (after->len, before->len);
  for (i = 0; i < after->len; i++) {
    GstMapInfo one, other;

    crop = gst_buffer_get_video_crop_meta (g_ptr_array_index (after, i));
    fail_unless (crop == NULL);
    gst_buffer_map (g_ptr_array_index (before, i), &one, GST_MAP_READ);
    gst_buffer_map (g_ptr_array_index (after, i), &other, GST_MAP_READ);
    fail_unless_equals_int (other.size, one.size);
    fail_unless (memcmp (other.data, one.data, one.size) == 0);
    gst_buffer_unmap (g_ptr_array_index (after, i), &other);
    gst_buffer_unmap (g_ptr_array_index (before, i), &one);
  }
}

/* Regions of interest stay at their places in the picture. A picture that the
 * device cannot cut out is dropped with a warning that says what to do. */
TEST (crop_meta)
{
  g_autoptr (GstHarness) h = harness_new_filter ("kernel", "invert");
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 128 };
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstVideoRegionOfInterestMeta *roi;
  GstVideoCropMeta *crop;
  GstMessage *message;
  GstBuffer *buffer;
  guint i;

  gst_element_set_bus (h->element, bus);
  gst_harness_set_src_caps_str (
      h, "video/x-raw" VKGDR ",format=YUY2,width=32,height=24,framerate=1/1");
  for (i = 0; i < 2; i++) {
    buffer = buffer_new (128 * 48, 0);
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_YUY2, 64, 48, 1, offset, stride);
    crop = gst_buffer_add_video_crop_meta (buffer);
    crop->x = 8 + i;
    crop->y = 4;
    crop->width = 32;
    crop->height = 24;
    gst_buffer_add_video_region_of_interest_meta (buffer, "cat", 4, 10, 20, 8);
    gst_harness_push (h, buffer);
  }
  buffer = gst_harness_pull (h);
  roi = gst_buffer_get_video_region_of_interest_meta_id (buffer, 0);
  fail_unless (roi && roi->x == 0 && roi->y == 6 && roi->w == 16);
  fail_unless_equals_int (roi->h, 8);
  gst_buffer_unref (buffer);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  gst_message_unref (message);
  gst_element_set_bus (h->element, NULL);
}

/* Kernels that work in place alternate with others. */
TEST (in_place_changes)
{
  g_autoptr (GstHarness) h = harness_new_filter ("kernel", "invert");
  const gchar *names[] = { "invert", "blur", "copy", "sobel" };
  guint i;

  gst_harness_set_src_caps_str (
      h, "video/x-raw" VKGDR ",format=RGBA,width=64,height=48,framerate=1/1");
  for (i = 0; i < 8; i++) {
    const gchar *name = names[i % 4];
    GstBuffer *in = buffer_new (64 * 48 * 4, i), *address = in, *out;

    g_object_set (h->element, "kernel", name, NULL);
    test_settle (h->element);
    out = gst_harness_push_and_pull (h, in);
    fail_unless_equals_int (out == address, i % 2 == 0);
    gst_buffer_unref (out);
  }
}

TEST_FIXTURE (NULL, NULL);

/* A tee sends the same buffer to two branches. The filter in one branch does
 * not change the frames of the other branch. */
TEST (tee)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc name=src format=time caps=video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=1/1 ! vkgdrupload ! tee name=t  t. ! queue ! "
      "cudafilter kernel=invert ! vkgdrdownload ! fakesink  t. ! queue ! "
      "vkgdrdownload ! appsink name=sink");
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  g_autoptr (GPtrArray) buffers = NULL;
  guint8 data[64 * 48];
  guint i;

  for (i = 0; i < 20; i++) {
    test_fill (data, sizeof (data), i);
    gst_app_src_push_buffer (
        GST_APP_SRC (src), gst_buffer_new_memdup (data, sizeof (data)));
  }
  gst_app_src_end_of_stream (GST_APP_SRC (src));
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 20);
  for (i = 0; i < 20; i++) {
    gst_buffer_extract (g_ptr_array_index (buffers, i), 0, data, sizeof (data));
    fail_unless (test_matches (data, sizeof (data), i));
  }
}

/* --- caps ---------------------------------------------------------------- */

static const struct {
  const gchar *input;      /* video/x-raw, without a frame rate */
  const gchar *asked;      /* output-caps, or NULL */
  const gchar *downstream; /* or NULL for any caps */
  const gchar *expected;   /* the output's caps must be a subset of these */
  const gchar *missing;    /* field that the output must not have, or NULL */
} conversions[] = {
  /* nothing is requested */
  { "format=RGBA,width=64,height=48", NULL, NULL,
      "format=RGBA,width=64,height=48", NULL },
  { "format=NV12,width=64,height=48,colorimetry=bt709,chroma-site=mpeg2", NULL,
      NULL, "format=NV12,colorimetry=bt709,chroma-site=mpeg2", NULL },
  /* the format is requested */
  { "format=RGBA,width=64,height=48", "format=GRAY8", NULL,
      "format=GRAY8,width=64,height=48", NULL },
  { "format=RGBA,width=64,height=48", NULL, "format={NV12,GRAY8,BGRx,ARGB}",
      "format=ARGB,width=64,height=48", NULL },
  { "format=NV12,width=64,height=48", NULL, "format={RGBA,Y444,I420}",
      "format=I420,width=64,height=48", NULL },
  { "format=NV12,width=64,height=48", NULL, "format={RGBA,NV12}",
      "format=NV12,width=64,height=48", NULL },
  { "format=I420,width=64,height=48", NULL, "format={NV12_64Z32,RGBx}",
      "format=RGBx", NULL },
  { "format=RGBA,width=64,height=48", "format=NV12", "format={RGBA,NV12}",
      "format=NV12", NULL },
  /* colorimetry and chroma-site */
  { "format=NV12,width=64,height=48,colorimetry=bt709,chroma-site=mpeg2",
      "format=I420", NULL, "colorimetry=bt709,chroma-site=mpeg2", NULL },
  { "format=NV12,width=64,height=48,colorimetry=bt709,chroma-site=mpeg2",
      "format=Y444", NULL, "colorimetry=bt709", "chroma-site" },
  { "format=NV12,width=64,height=48,colorimetry=bt709,chroma-site=mpeg2",
      "format=RGBA", NULL, "format=RGBA,colorimetry=1:1:5:1", NULL },
  { "format=NV12,width=64,height=48", "format=RGBA", NULL, "format=RGBA",
      "colorimetry" },
  { "format=NV12,width=64,height=48", "width=960,height=720", NULL,
      "colorimetry=bt601", NULL },
  /* the size is requested */
  { "format=RGBA,width=64,height=48", "width=32,height=24", NULL,
      "format=RGBA,width=32,height=24", "pixel-aspect-ratio" },
  { "format=RGBA,width=64,height=48", "width=32", NULL, "width=32,height=24",
      "pixel-aspect-ratio" },
  { "format=RGBA,width=64,height=48", "height=36", NULL, "width=48,height=36",
      NULL },
  { "format=RGBA,width=64,height=48", NULL, "width=[1,40],height=[1,40]",
      "width=40,height=30", NULL },
  { "format=RGBA,width=64,height=48", NULL, "width=[1,40]",
      "width=40,height=30", NULL },
  /* pixel-aspect-ratio */
  { "format=RGBA,width=64,height=48,pixel-aspect-ratio=1/1",
      "width=128,height=72", NULL, "width=128,height=72,pixel-aspect-ratio=3/4",
      NULL },
  { "format=RGBA,width=64,height=48,pixel-aspect-ratio=2/1", "width=32", NULL,
      "width=32,height=24,pixel-aspect-ratio=2/1", NULL },
  { "format=RGBA,width=64,height=48,pixel-aspect-ratio=2/1", NULL,
      "pixel-aspect-ratio=1/1", "width=128,height=48,pixel-aspect-ratio=1/1",
      NULL },
  { "format=RGBA,width=64,height=48,pixel-aspect-ratio=1/1",
      "width=128,height=72,pixel-aspect-ratio=1/1", NULL,
      "width=128,height=72,pixel-aspect-ratio=1/1", NULL },
};

static GstHarness *
harness_new_between (
    const gchar *source, const gchar *output_caps, const gchar *downstream)
{
  GstHarness *h =
      gst_harness_new_parse ("vkgdrupload ! cudafilter ! vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");

  /* A harness has already started the filter, so these properties are checked
   * with the first frame. */
  g_object_set (filter, "source", source, NULL);
  if (output_caps)
    gst_util_set_object_arg (G_OBJECT (filter), "output-caps", output_caps);
  if (downstream)
    gst_harness_set_sink_caps_str (h, downstream);
  return h;
}

static gchar *
raw (const gchar *fields)
{
  return fields ? g_strconcat ("video/x-raw,", fields, NULL) : NULL;
}

static GstBuffer *
black_frame_new (gsize size)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);

  gst_buffer_memset (buffer, 0, 0, size);
  return buffer;
}

static void
push_frame (GstHarness *h, const gchar *caps_text)
{
  GstCaps *caps = gst_caps_from_string (caps_text);
  GstVideoInfo info;

  fail_unless (gst_video_info_from_caps (&info, caps), "%s", caps_text);
  gst_caps_unref (caps);
  gst_harness_set_src_caps_str (h, caps_text);
  gst_buffer_unref (gst_harness_push_and_pull (
      h, black_frame_new (GST_VIDEO_INFO_SIZE (&info))));
}

TEST_LOOP (conversions, G_N_ELEMENTS (conversions))
{
  g_autofree gchar *input =
      g_strconcat ("video/x-raw,framerate=25/1,interlace-mode="
                   "progressive,",
          conversions[__i__].input, NULL);
  g_autofree gchar *asked = raw (conversions[__i__].asked);
  g_autofree gchar *downstream = raw (conversions[__i__].downstream);
  g_autofree gchar *expected = raw (conversions[__i__].expected);
  g_autoptr (GstHarness) h = harness_new_between (NEAREST, asked, downstream);
  g_autoptr (GstCaps) part = gst_caps_from_string (expected), caps = NULL;

  push_frame (h, input);
  caps = gst_pad_get_current_caps (h->sinkpad);
  GST_INFO ("%" GST_PTR_FORMAT, caps);
  fail_unless (gst_caps_is_subset (caps, part), "%s is no %s",
      gst_caps_to_string (caps), expected);
  gst_caps_set_simple (part, "framerate", GST_TYPE_FRACTION, 25, 1,
      "interlace-mode", G_TYPE_STRING, "progressive", NULL);
  fail_unless (gst_caps_is_subset (caps, part));
  if (conversions[__i__].missing)
    fail_unless (!gst_structure_has_field (
        gst_caps_get_structure (caps, 0), conversions[__i__].missing));
}

/* The output has another format and half the size. */
TEST (converted_bytes)
{
  g_autoptr (GstHarness) h = harness_new_between (
      "__global__ void red (VkgdrFrame in, VkgdrFrame out) { " AT
      "if (x < out.width && y < out.height) vkgdr_put (out, 0, x, y, "
      "vkgdr_get (in, 0, 2 * x, 2 * y)); }",
      "video/x-raw,format=GRAY8,width=16,height=12", NULL);
  g_autoptr (GstBuffer) buffer = NULL;
  guint8 *data = g_malloc (32 * 24 * 4), half[16 * 12];
  guint x, y;

  test_fill (data, 32 * 24 * 4, 3);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=32,height=24,framerate=1/1");
  buffer =
      gst_harness_push_and_pull (h, gst_buffer_new_memdup (data, 32 * 24 * 4));
  fail_unless_equals_int (gst_buffer_get_size (buffer), sizeof (half));
  gst_buffer_extract (buffer, 0, half, sizeof (half));
  for (y = 0; y < 12; y++)
    for (x = 0; x < 16; x++)
      fail_unless_equals_int (half[16 * y + x], data[4 * (32 * 2 * y + 2 * x)]);
  g_free (data);
}

#define COPY "__global__ void copy (VkgdrSamples in, VkgdrSamples out) { }"

static const struct {
  const gchar *before, *properties, *word;
} impossible[] = {
  { "videotestsrc ! video/x-raw,format=RGBA ! vkgdrupload",
      "kernel=blur output-caps=video/x-raw,format=NV12", "NV12" },
  { "videotestsrc ! video/x-raw,width=64,height=48 ! vkgdrupload",
      "kernel=blur output-caps=video/x-raw,width=32", "width" },
  { "videotestsrc ! video/x-raw,framerate=10/1 ! vkgdrupload",
      "pixel=\"rgba.r = 0\" output-caps=video/x-raw,framerate=20/1",
      "framerate" },
  { "audiotestsrc ! audio/x-raw,format=S16LE ! vkgdrupload",
      "source=\"" COPY "\" output-caps=audio/x-raw,format=F32LE", "F32LE" },
  { "videotestsrc ! vkgdrupload",
      "kernel=copy output-caps=\"video/x-raw(memory:NVMM)\"", "NVMM" },
  { "videotestsrc", "kernel=copy", "vkgdrupload" },
  { "audiotestsrc", "kernel=copy", "vkgdrupload" },
};

/* If caps cannot be made, the element that cannot make them posts the error. */
TEST_LOOP (impossible_caps, G_N_ELEMENTS (impossible))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("%s ! cudafilter %s ! fakesink", impossible[__i__].before,
          impossible[__i__].properties);
  g_autoptr (GError) error =
      test_play_error_with (pipeline, impossible[__i__].word);

  fail_unless (error->domain == GST_STREAM_ERROR, "%s", error->message);
}

static void
check_size (GstHarness *h, gint width, gint height)
{
  GstElement *filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoInfo info;
  g_autoptr (GstCaps) caps = NULL;

  test_settle (filter);
  gst_object_unref (filter);
  buffer = gst_harness_push_and_pull (h, black_frame_new (64 * 48 * 4));
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (buffer != NULL);
  fail_unless (gst_video_info_from_caps (&info, caps));
  fail_unless_equals_int (GST_VIDEO_INFO_WIDTH (&info), width);
  fail_unless_equals_int (GST_VIDEO_INFO_HEIGHT (&info), height);
  fail_unless_equals_int (
      gst_buffer_get_size (buffer), GST_VIDEO_INFO_SIZE (&info));
}

/* output-caps and the kernel change while frames pass. */
TEST (negotiated_again)
{
  g_autoptr (GstHarness) h = harness_new_between (NEAREST, NULL, NULL);
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  check_size (h, 64, 48);
  gst_util_set_object_arg (
      G_OBJECT (filter), "output-caps", "video/x-raw,width=32");
  check_size (h, 32, 24);
  check_size (h, 32, 24);
  gst_util_set_object_arg (
      G_OBJECT (filter), "output-caps", "video/x-raw,width=16,format=GRAY8");
  check_size (h, 16, 12);
  g_object_set (filter, "output-caps", NULL, NULL);
  check_size (h, 64, 48);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=GRAY8,width=128,height=96,framerate=1/1");
  check_size (h, 128, 96);
}

/* The effect computes its output's size, which depends on a parameter. A frame
 * that is rotated by 90 degrees has the inverse pixel-aspect-ratio. */
TEST (effect_with_a_size)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=flip params=params,method=0 ! "
      "vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstStructure) params = gst_structure_new (
      "params", "method", G_TYPE_INT, GST_VIDEO_ORIENTATION_90R, NULL);
  GstCaps *caps;
  gint n = 0, d = 0;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1,"
      "pixel-aspect-ratio=2/1");
  check_size (h, 64, 48);
  g_object_set (filter, "params", params, NULL);
  check_size (h, 48, 64);
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (gst_structure_get_fraction (
      gst_caps_get_structure (caps, 0), "pixel-aspect-ratio", &n, &d));
  fail_unless_equals_int (n, 1);
  fail_unless_equals_int (d, 2);
  gst_caps_unref (caps);
  g_object_set (filter, "kernel", "invert", "params", NULL, NULL);
  check_size (h, 64, 48);
}

TEST (impossible_while_playing)
{
  g_autoptr (GstHarness) h = harness_new_between (NEAREST, NULL, NULL);
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_bus (h->element, bus);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  check_size (h, 64, 48);
  gst_util_set_object_arg (
      G_OBJECT (filter), "output-caps", "video/x-raw,framerate=2/1");
  test_settle (filter);
  fail_unless_equals_int (
      gst_harness_push (h, black_frame_new (64 * 48 * 4)), GST_FLOW_ERROR);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  test_assert_contains (error->message, "framerate");
  g_error_free (error);
  gst_message_unref (message);
  gst_element_set_bus (h->element, NULL);
}

/* --- audio and bytes ----------------------------------------------------- */

#define I "long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x; "

/* Multiplies sample i of channel c by c + 2. */
#define GAIN(type) \
  "#pragma vkgdr in-place\n" \
  "__global__ void gain (VkgdrSamples in, VkgdrSamples out) { " I \
  "if (i < out.n) ((" type " *) out.data)[i] = (" type ") (((" type \
  " *) in.data)[i] * (" type ") (i % in.channels + 2)); }"

#define XOR \
  "__global__ void mask (VkgdrSamples in, VkgdrSamples out, int mask) { " I \
  "if (i < out.n && out.size == 1) out.data[i] = in.data[i] ^ mask; }"

/* The same, but each thread processes several samples. */
#define XOR_STRIDE \
  "__global__ void mask (VkgdrSamples in, VkgdrSamples out, int mask) { " I \
  "for (; i < out.n; i += (long long) gridDim.x * blockDim.x) out.data[i] = " \
  "in.data[i] ^ mask; }"

static GstBuffer *
filter_once (
    const gchar *properties, const gchar *caps, gconstpointer data, gsize size)
{
  g_autofree gchar *text = g_strdup_printf (
      "vkgdrupload ! cudafilter name=f %s ! vkgdrdownload", properties);
  g_autoptr (GstHarness) h = gst_harness_new_parse (text);
  GstBuffer *buffer;

  gst_harness_set_src_caps_str (h, caps);
  buffer = gst_buffer_new_memdup (data, size);
  GST_BUFFER_PTS (buffer) = 77;
  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless (buffer != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 77);
  fail_unless_equals_int (gst_buffer_get_size (buffer), size);
  return buffer;
}

TEST (audio_int)
{
  gint16 in[600], out[600];
  g_autoptr (GstBuffer) buffer = NULL;
  guint i;

  for (i = 0; i < 600; i++)
    in[i] = (gint16) (i * 7 - 2000);
  buffer = filter_once ("source=\"" GAIN ("short") "\"",
      "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=3,"
      "channel-mask=(bitmask)0x7",
      in, sizeof (in));
  gst_buffer_extract (buffer, 0, out, sizeof (out));
  for (i = 0; i < 600; i++)
    fail_unless_equals_int (out[i], in[i] * (gint) (i % 3 + 2));
}

TEST (audio_float)
{
  gfloat in[1024], out[1024];
  g_autoptr (GstBuffer) buffer = NULL;
  guint i;

  for (i = 0; i < 1024; i++)
    in[i] = i / 1024.0f;
  buffer = filter_once ("source=\"" GAIN ("float") "\"",
      "audio/x-raw,format=F32LE,layout=interleaved,rate=48000,channels=1", in,
      sizeof (in));
  gst_buffer_extract (buffer, 0, out, sizeof (out));
  for (i = 0; i < 1024; i++)
    fail_unless (out[i] == 2 * in[i]);
}

static const gchar *shapes[] = {
  "source=\"" XOR "\"",
  "source=\"" XOR "\" block=32",
  "source=\"" XOR "\" block=1x1",
  "source=\"" XOR_STRIDE "\" grid=3",
  "source=\"" XOR_STRIDE "\" block=64 grid=1",
};

TEST_LOOP (bytes, G_N_ELEMENTS (shapes))
{
  gsize size = 65537, i;
  g_autofree gchar *properties =
      g_strconcat (shapes[__i__], " params=\"params,mask=(int)90\"", NULL);
  g_autofree guint8 *data = g_malloc (size), *out = g_malloc (size);
  g_autoptr (GstBuffer) buffer = NULL;

  test_fill (data, size, 1);
  buffer =
      filter_once (properties, "application/x-anything,of=mine", data, size);
  gst_buffer_extract (buffer, 0, out, size);
  for (i = 0; i < size; i++)
    test_check_byte (i, out[i], data[i] ^ 90);
}

/* The first blocks of a file. */
TEST (file)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "filesrc location=/proc/self/exe blocksize=4096 num-buffers=5 ! "
      "vkgdrupload ! cudafilter source=\"" XOR
      "\" params=\"params,mask=(int)255\" ! vkgdrdownload ! appsink name=sink");
  g_autoptr (GPtrArray) buffers = test_play_buffers (pipeline);
  guint8 head[4];

  fail_unless_equals_int (buffers->len, 5);
  gst_buffer_extract (g_ptr_array_index (buffers, 0), 0, head, 4);
  fail_unless_equals_int (head[0], 0x7f ^ 255);
  fail_unless_equals_int (head[1], 'E' ^ 255);
}

static const struct {
  const gchar *before, *properties, *word;
} mismatches[] = {
  { "audiotestsrc", "kernel=blur", "blur works on video" },
  { "audiotestsrc", "pixel=\"rgba.r = 0\"", "pixel" },
  { "audiotestsrc", "source=\"" OPPOSITE "\"", "VkgdrSamples" },
  { "videotestsrc ! video/x-raw",
      "source=\"" XOR "\" params=\"params,mask=(int)1\"", "VkgdrFrame" },
  { "audiotestsrc ! audio/x-raw,layout=non-interleaved,channels=2",
      "source=\"" GAIN ("short") "\"", "interleaved" },
  { "videotestsrc", "kernel=copy block=33x32", "1056" },
  { "videotestsrc", "kernel=copy block=8,8", "8,8" },
  { "videotestsrc", "kernel=copy block=0", "\"0\"" },
  { "videotestsrc", "kernel=copy block=32x", "32x" },
  { "videotestsrc", "kernel=copy grid=1x70000", "70000" },
  { "videotestsrc", "kernel=copy grid=x1", "x1" },
  { "videotestsrc", "source=\"__global__ void f (int a, int b) { }\"",
      "VkgdrFrame" },
};

TEST_LOOP (mismatches, G_N_ELEMENTS (mismatches))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("%s ! vkgdrupload ! cudafilter %s ! "
                   "fakesink",
          mismatches[__i__].before, mismatches[__i__].properties);

  g_error_free (test_play_error_with (pipeline, mismatches[__i__].word));
}

/* Frames are processed with blocks that the user has chosen. */
TEST (shapes_of_frames)
{
  const gchar *shape[] = { "", "block=8x4", "block=64", "block=1x256" };
  guint8 data[100 * 37], out[100 * 37];
  guint i, k;

  test_fill (data, sizeof (data), 9);
  for (k = 0; k < G_N_ELEMENTS (shape); k++) {
    g_autofree gchar *properties =
        g_strconcat ("kernel=invert ", shape[k], NULL);
    g_autoptr (GstBuffer) buffer = filter_once (properties,
        "video/x-raw,format=GRAY8,width=100,height=37,framerate=1/1,"
        "colorimetry=1:1:5:1",
        data, sizeof (data));

    gst_buffer_extract (buffer, 0, out, sizeof (out));
    for (i = 0; i < sizeof (data); i++)
      test_check_byte (i, out[i], 255 - data[i]);
  }
}

/* --- elements outside of the plugin -------------------------------------- */

static const gchar *rgbx =
    "video/x-raw,format=RGBx,width=64,height=48,framerate=1/1";

/* Whether pixel @i of a frame of 64x48 is on the border that vkgdrexampleborder
 * draws. */
static gboolean
is_border (guint i)
{
  guint x = i % 64, y = i / 64;

  return x < 8 || x >= 56 || y < 8 || y >= 40;
}

/* Checks a pipeline in which the CPU draws a border on frames between two
 * kernels. */
static void
check_border (const gchar *description)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (description);
  guint8 data[64 * 48 * 4], out[64 * 48 * 4];
  guint i, n;

  gst_harness_set_src_caps_str (h, rgbx);
  for (n = 0; n < 12; n++) {
    GstBuffer *buffer;

    test_fill (data, sizeof (data), n);
    buffer = gst_harness_push_and_pull (
        h, gst_buffer_new_memdup (data, sizeof (data)));
    fail_unless (buffer != NULL);
    gst_buffer_extract (buffer, 0, out, sizeof (out));
    gst_buffer_unref (buffer);
    for (i = 0; i < sizeof (data); i++)
      if (i % 4 < 3)
        test_check_byte (i, out[i], is_border (i / 4) ? 255 : data[i]);
  }
}

TEST_LOOP (cpu_example, 2)
{
  if (__i__)
    test_set_debug ("bar");
  GST_ELEMENT_REGISTER (vkgdrexampleborder, NULL);
  check_border ("vkgdrupload ! cudafilter kernel=invert ! vkgdrexampleborder ! "
                "cudafilter kernel=invert ! vkgdrdownload");
  /* The other branch keeps the frame, so the element cannot draw on it. */
  check_border ("vkgdrupload ! cudafilter kernel=invert ! tee name=t "
                "t. ! fakesink sync=false async=false "
                "t. ! vkgdrexampleborder ! "
                "cudafilter kernel=invert ! vkgdrdownload");
}

TEST (gpu_example)
{
  guint8 data[4] = { 100, 0, 200, 9 }, out[4];
  g_autoptr (GstElement) tint = NULL;
  GstBuffer *buffer;
  g_autoptr (GstHarness) h = NULL;

  GST_ELEMENT_REGISTER (vkgdrexampletint, NULL);
  h = gst_harness_new_parse (
      "vkgdrupload ! vkgdrexampletint color=0xff0000 amount=1 ! vkgdrdownload");
  tint = gst_harness_find_element (h, "vkgdrexampletint");
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=1,height=1,framerate=1/1");
  buffer = gst_harness_push_and_pull (h, gst_buffer_new_memdup (data, 4));
  gst_buffer_extract (buffer, 0, out, 4);
  gst_buffer_unref (buffer);
  fail_unless_equals_int (out[0], 255);
  fail_unless_equals_int (out[1], 0);
  fail_unless_equals_int (out[2], 0);
  fail_unless_equals_int (out[3], 9);
  g_object_set (tint, "amount", 0.0, NULL);
  buffer = gst_harness_push_and_pull (h, gst_buffer_new_memdup (data, 4));
  gst_buffer_extract (buffer, 0, out, 4);
  gst_buffer_unref (buffer);
  fail_unless (memcmp (data, out, 4) == 0);
}

/* An element that maps frames for the CPU instead of queueing work, and does
 * not use fences. */

#define TYPE_MAPPER (mapper_get_type ())
G_DECLARE_FINAL_TYPE (Mapper, mapper, TEST, MAPPER, GstVkgdrFilter)

struct _Mapper {
  GstVkgdrFilter parent;
};

G_DEFINE_TYPE (Mapper, mapper, GST_TYPE_VKGDR_FILTER)

static void
mapper_work (GstBuffer *input, GstBuffer *output)
{
  GstMapInfo in, out;
  gsize i;

  if (input == output) {
    fail_unless (gst_buffer_map (output, &out, GST_MAP_READWRITE));
    for (i = 0; i < out.size; i++)
      out.data[i] ^= 0x55;
    gst_buffer_unmap (output, &out);
    return;
  }
  fail_unless (gst_buffer_map (input, &in, GST_MAP_READ));
  fail_unless (gst_buffer_map (output, &out, GST_MAP_WRITE));
  fail_unless_equals_int (in.size, out.size);
  for (i = 0; i < out.size; i++)
    out.data[i] = in.data[i] ^ 0x55;
  gst_buffer_unmap (output, &out);
  gst_buffer_unmap (input, &in);
}

static gboolean
mapper_filter (GstVkgdrFilter *filter, GstBuffer *input, GstBuffer *output,
    GstVkgdrStream *stream, GError **error)
{
  mapper_work (input, output);
  return TRUE;
}

static gboolean
mapper_filter_cpu (
    GstVkgdrFilter *filter, GstBuffer *input, GstBuffer *output, GError **error)
{
  mapper_work (input, output);
  return TRUE;
}

static void
add_pad_templates (GstElementClass *element_class)
{
  gst_element_class_add_pad_template (
      element_class, gst_pad_template_new (
                         "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_CAPS_ANY));
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_CAPS_ANY));
  gst_element_class_set_static_metadata (
      element_class, "Mapper", "Filter", "For tests", "nobody");
}

static void
mapper_class_init (MapperClass *klass)
{
  add_pad_templates (GST_ELEMENT_CLASS (klass));
  GST_VKGDR_FILTER_CLASS (klass)->filter = mapper_filter;
  GST_VKGDR_FILTER_CLASS (klass)->filter_cpu = mapper_filter_cpu;
}

static void
mapper_init (Mapper *self)
{
}

/* Runs the element @name between two kernels: the kernel after it reads what
 * the CPU has written, and the CPU reads what the kernel before it has written.
 */
static void
check_mapper (const gchar *name, gboolean use_cpu, gboolean in_place)
{
  g_autofree gchar *elements =
      g_strdup_printf ("vkgdrupload ! cudafilter kernel=invert ! %s ! "
                       "cudafilter kernel=invert ! vkgdrdownload",
          name);
  g_autoptr (GstElement) mapper = NULL;
  g_autoptr (GstHarness) h = NULL;
  guint8 data[64 * 48 * 4], out[64 * 48 * 4];
  guint i, n;

  test_set_debug ("bar");
  h = gst_harness_new_parse (elements);
  mapper = gst_harness_find_element (h, name);
  gst_vkgdr_filter_set_use_cpu (GST_VKGDR_FILTER (mapper), use_cpu);
  gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (mapper), in_place);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  for (n = 0; n < 20; n++) {
    GstBuffer *buffer;

    test_fill (data, sizeof (data), n);
    buffer = gst_harness_push_and_pull (
        h, gst_buffer_new_memdup (data, sizeof (data)));
    fail_unless (buffer != NULL);
    gst_buffer_extract (buffer, 0, out, sizeof (out));
    gst_buffer_unref (buffer);
    /* The two kernels invert colours twice and do not change alpha. */
    for (i = 0; i < sizeof (data); i++)
      test_check_byte (i, out[i], data[i] ^ 0x55);
  }
}

TEST_LOOP (mapping_filter, 4)
{
  gboolean use_cpu = __i__ & 1, in_place = (__i__ & 2) != 0;

  gst_element_register (NULL, "testmapper", GST_RANK_NONE, TYPE_MAPPER);
  check_mapper ("testmapper", use_cpu, in_place);
}

/* An element for frames that has only a function for the CPU. */

#define TYPE_FRAME_MAPPER (frame_mapper_get_type ())
G_DECLARE_FINAL_TYPE (
    FrameMapper, frame_mapper, TEST, FRAME_MAPPER, GstVkgdrVideoFilter)

struct _FrameMapper {
  GstVkgdrVideoFilter parent;
};

G_DEFINE_TYPE (FrameMapper, frame_mapper, GST_TYPE_VKGDR_VIDEO_FILTER)

static gboolean
frame_mapper_filter (GstVkgdrVideoFilter *filter, GstVideoFrame *input,
    GstVideoFrame *output, GError **error)
{
  const guint8 *in = GST_VIDEO_FRAME_PLANE_DATA (input, 0);
  guint8 *out = GST_VIDEO_FRAME_PLANE_DATA (output, 0);
  gsize i;

  for (i = 0; i < GST_VIDEO_FRAME_SIZE (output); i++)
    out[i] = in[i] ^ 0x55;
  return TRUE;
}

static void
frame_mapper_class_init (FrameMapperClass *klass)
{
  add_pad_templates (GST_ELEMENT_CLASS (klass));
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame_cpu = frame_mapper_filter;
}

static void
frame_mapper_init (FrameMapper *self)
{
}

/* Such an element uses the CPU, whatever it was set to. */
TEST_LOOP (filter_with_the_cpu_only, 4)
{
  gboolean use_cpu = __i__ & 1, in_place = (__i__ & 2) != 0;

  gst_element_register (
      NULL, "testframemapper", GST_RANK_NONE, TYPE_FRAME_MAPPER);
  check_mapper ("testframemapper", use_cpu, in_place);
}

/* Without GStreamer's CUDA elements in the process, their memory cannot be
 * used. */
TEST (cuda_memory_without_its_elements)
{
  GstBuffer *buffer = black_frame_new (64 * 48 * 4);
  g_autoptr (GstElement) pipeline = NULL, src = NULL;
  g_autoptr (GError) error = NULL;

  fail_if (gst_vkgdr_cuda_is_available ());
  pipeline = test_launch (
      "appsrc name=src format=time caps=\"video/x-raw(memory:CUDAMemory),"
      "format=RGBA,width=64,height=48,framerate=1/1\" ! cudafilter ! fakesink");
  src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_app_src_push_buffer (GST_APP_SRC (src), buffer), GST_FLOW_OK);
  error = test_play_error (pipeline);
  test_assert_contains (error->message, "accepts only GPU memory");
}
