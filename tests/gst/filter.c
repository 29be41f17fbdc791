/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * filter.c: tests of the buffers and caps of filters: work in place, formats
 * and sizes, audio and bytes, the shape of a launch, and elements outside of
 * the plugin
 */

#include "rig.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"
#define RGBA(more) \
  "video/x-raw" more ",format=RGBA,width=64,height=48,framerate=1/1"

/* A pipeline of frames in ordinary memory through a cudafilter. */
#define FILTER(properties) \
  "vkgdrupload ! cudafilter " properties " ! vkgdrdownload"
#define SOURCE(text) "source=\"" text "\" "

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

/* Red of every second pixel of every second row. */
#define HALF \
  "__global__ void half (VkgdrFrame in, VkgdrFrame out) { " AT \
  "if (x < out.width && y < out.height) vkgdr_put (out, 0, x, y, " \
  "vkgdr_get (in, 0, 2 * x, 2 * y)); }"

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampletint)
GST_ELEMENT_REGISTER_DECLARE (vkgdrexampleborder)

/* --- in place ------------------------------------------------------------ */

/* Makes a frame on the device with pattern @seed. */
static GstBuffer *
buffer_new (gsize size, guint seed)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (buffer, test_memory_new (test_context, size));
  test_write (gst_buffer_peek_memory (buffer, 0), seed);
  return buffer;
}

static const struct {
  const gchar *format;
  gsize size;
} formats[] = { { "RGBA", 64 * 48 * 4 }, { "NV12", 64 * 48 * 3 / 2 } };

static const struct {
  const gchar *property, *value;
  gboolean in_place;
} fillers[] = {
  { "kernel", "invert", TRUE },
  { "kernel", "blur", FALSE },
  { "kernel", "copy", TRUE },
  { "kernel", "sobel", FALSE },
  { "pixel", "rgba.r = 1.0f - rgba.r", TRUE },
  { "source", OPPOSITE, FALSE },
  { "source", "#pragma vkgdr in-place\n" OPPOSITE, TRUE },
  { "source", "/*\n#pragma vkgdr in-place\n*/\n" OPPOSITE, FALSE },
};

/* Another reference to the buffer that is pushed, to its memory or to a part of
 * it, or memory that is read-only. */
typedef enum { HAS_BUFFER, HAS_MEMORY, HAS_PART, IS_READ_ONLY, N_OTHERS } Other;

/* Pushes a buffer of which there is an @other reference, and checks this
 * reference. Returns the bytes of the output, which the caller frees. */
static guint8 *
push_shared (GstHarness *h, gsize size, Other other, gboolean in_place)
{
  GstBuffer *in = buffer_new (size, 7), *address = in;
  GstMemory *memory = gst_buffer_peek_memory (in, 0);
  g_autoptr (GstMemory) part = NULL;
  g_autoptr (GstBuffer) copy = NULL, out = NULL;

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
  fail_unless_equals_int (out == address, other == N_OTHERS && in_place);
  /* The read-only memory is already freed, so its address may be that of the
   * output. */
  if (other < IS_READ_ONLY)
    fail_unless (gst_buffer_peek_memory (out, 0) != memory);
  if (copy)
    test_assert_device (gst_buffer_peek_memory (copy, 0), 7);
  if (part) {
    g_autofree guint8 *bytes = test_device_bytes (part);

    fail_unless_equals_int (bytes[0], test_pattern (16, 7));
  }
  return test_device_bytes (gst_buffer_peek_memory (out, 0));
}

TEST_FIXTURE (test_setup, test_teardown);

/* The result is the same in place and in another buffer. A buffer is only
 * overwritten if there is no other reference to it. Kernels that work in place
 * alternate with others. */
TEST_LOOP (in_place, G_N_ELEMENTS (formats))
{
  g_autoptr (GstHarness) h = test_harness_parse ("cudafilter");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autofree gchar *caps = g_strdup_printf (
      "video/x-raw" VKGDR ",format=%s,width=64,height=48,framerate=1/1",
      formats[__i__].format);
  gsize size = formats[__i__].size;
  Other other;
  guint k;

  gst_harness_set_src_caps_str (h, caps);
  for (k = 0; k < G_N_ELEMENTS (fillers); k++) {
    g_autofree guint8 *expected = NULL;

    g_object_set (filter, "kernel", NULL, "pixel", NULL, "source", NULL,
        fillers[k].property, fillers[k].value, NULL);
    test_settle (filter);
    for (other = HAS_BUFFER; other <= N_OTHERS; other++) {
      guint8 *bytes = push_shared (h, size, other, fillers[k].in_place);

      fail_unless (!expected || memcmp (bytes, expected, size) == 0);
      g_free (expected);
      expected = bytes;
    }
  }
}

TEST_FIXTURE (NULL, NULL);

/* --- caps ---------------------------------------------------------------- */

#define RAW(fields) \
  "video/x-raw," fields ",framerate=25/1,interlace-mode=progressive"
#define CONVERT(caps) FILTER (SOURCE (NEAREST) caps)
#define ASKED(fields) CONVERT ("output-caps=video/x-raw," fields)
#define RGBA_64 RAW ("format=RGBA,width=64,height=48")
#define NV12_64 RAW ("format=NV12,width=64,height=48")
#define HD \
  RAW ("format=NV12,width=64,height=48,colorimetry=bt709,chroma-site=mpeg2")
#define PAR(n) RAW ("format=RGBA,width=64,height=48,pixel-aspect-ratio=" n)

#define TURN(method) \
  { \
    FILTER ("kernel=flip params=params,method=" method), PAR ("2/1"), \
        RAW ("width=48,height=64,pixel-aspect-ratio=1/2"), test_any_byte \
  }

static const TestFlow conversions[] = {
  /* nothing is requested */
  { CONVERT (""), RGBA_64, RGBA_64, test_any_byte },
  { CONVERT (""), HD, HD, test_any_byte },
  /* the format is requested */
  { ASKED ("format=GRAY8"), RGBA_64, RAW ("format=GRAY8,width=64,height=48"),
      test_any_byte },
  { CONVERT (""), RGBA_64, RAW ("format=ARGB,width=64,height=48"),
      test_any_byte, "video/x-raw,format={NV12,GRAY8,BGRx,ARGB}" },
  { CONVERT (""), NV12_64, RAW ("format=I420,width=64,height=48"),
      test_any_byte, "video/x-raw,format={RGBA,Y444,I420}" },
  { CONVERT (""), NV12_64, NV12_64, test_any_byte,
      "video/x-raw,format={RGBA,NV12}" },
  { CONVERT (""), RAW ("format=I420,width=64,height=48"), RAW ("format=RGBx"),
      test_any_byte, "video/x-raw,format={NV12_64Z32,RGBx}" },
  { ASKED ("format=NV12"), RGBA_64, RAW ("format=NV12"), test_any_byte,
      "video/x-raw,format={RGBA,NV12}" },
  /* colorimetry and chroma-site */
  { ASKED ("format=I420"), HD,
      RAW ("format=I420,colorimetry=bt709,chroma-site=mpeg2"), test_any_byte },
  { ASKED ("format=Y444"), HD, RAW ("format=Y444,colorimetry=bt709"),
      test_any_byte, NULL, "chroma-site" },
  { ASKED ("format=RGBA"), NV12_64, RAW ("format=RGBA"), test_any_byte, NULL,
      "colorimetry" },
  { ASKED ("width=960,height=720"), NV12_64, RAW ("colorimetry=bt601"),
      test_any_byte },
  /* the memory is named */
  { FILTER ("kernel=blur output-caps=\"video/x-raw" VKGDR "\""), RGBA_64, NULL,
      test_any_byte },
  /* the size is requested */
  { ASKED ("width=32,height=24"), RGBA_64,
      RAW ("format=RGBA,width=32,height=24"), test_any_byte, NULL,
      "pixel-aspect-ratio" },
  { ASKED ("width=32"), RGBA_64, RAW ("width=32,height=24"), test_any_byte,
      NULL, "pixel-aspect-ratio" },
  { ASKED ("height=36"), RGBA_64, RAW ("width=48,height=36"), test_any_byte },
  { CONVERT (""), RGBA_64, RAW ("width=40,height=30"), test_any_byte,
      "video/x-raw,width=[1,40],height=[1,40]" },
  { CONVERT (""), RGBA_64, RAW ("width=40,height=30"), test_any_byte,
      "video/x-raw,width=[1,40]" },
  /* pixel-aspect-ratio */
  { ASKED ("width=128,height=72"), PAR ("1/1"),
      RAW ("width=128,height=72,pixel-aspect-ratio=3/4"), test_any_byte },
  { ASKED ("width=32"), PAR ("2/1"),
      RAW ("width=32,height=24,pixel-aspect-ratio=2/1"), test_any_byte },
  { CONVERT (""), PAR ("2/1"),
      RAW ("width=128,height=48,pixel-aspect-ratio=1/1"), test_any_byte,
      "video/x-raw,pixel-aspect-ratio=1/1" },
  { ASKED ("width=128,height=72,pixel-aspect-ratio=1/1"), PAR ("1/1"),
      RAW ("width=128,height=72,pixel-aspect-ratio=1/1"), test_any_byte },
  /* A frame that is rotated by 90 degrees has the inverse ratio. */
  TURN ("1"),
  TURN ("3"),
  TURN ("6"),
  TURN ("7"),
};

TEST_ROWS (conversions, test_check_flow)

#define COPY "__global__ void copy (VkgdrSamples in, VkgdrSamples out) { }"
#define DEVICE(fields) \
  "appsrc caps=\"video/x-raw" VKGDR "," fields ",framerate=1/1\" " \
  "num-buffers=1 ! cudafilter ! fakesink"

/* If caps cannot be made, the element that cannot make them posts the error. */
#define IMPOSSIBLE(source, properties, parts) \
  { \
    source " ! cudafilter " properties " ! fakesink", parts, \
        gst_stream_error_quark, GST_STREAM_ERROR_WRONG_TYPE \
  }

static const TestError impossible_caps[] = {
  IMPOSSIBLE ("videotestsrc ! video/x-raw,format=RGBA ! vkgdrupload",
      "kernel=blur output-caps=video/x-raw,format=NV12", "NV12"),
  IMPOSSIBLE ("videotestsrc ! video/x-raw,width=64,height=48 ! vkgdrupload",
      "kernel=blur output-caps=video/x-raw,width=32", "width"),
  IMPOSSIBLE ("videotestsrc ! video/x-raw,framerate=10/1 ! vkgdrupload",
      "pixel=\"rgba.r = 0\" output-caps=video/x-raw,framerate=20/1",
      "framerate"),
  IMPOSSIBLE ("audiotestsrc ! audio/x-raw,format=S16LE ! vkgdrupload",
      SOURCE (COPY) "output-caps=audio/x-raw,format=F32LE", "F32LE"),
  IMPOSSIBLE ("videotestsrc ! vkgdrupload",
      "kernel=copy output-caps=\"video/x-raw(memory:NVMM)\"", "NVMM"),
  { DEVICE ("format=RGBA,width=32768,height=32768"), "2 GiB" },
  { DEVICE ("format=RGBA,width=64,height=48,multiview-mode=separated,views=2"),
      "glviewconvert" },
};

TEST_ROWS (impossible_caps, test_check_error)

/* output-caps and the kernel change while frames pass. The last change is to
 * impossible caps, which is an error. Red is the first byte of a frame. */
TEST (negotiated_again)
{
  RIG_PLAY ({ SET ("source", NEAREST), .red = 100, .caps = "width=2,height=1" },
      { SET ("output-caps", "video/x-raw,width=8"), .red = 100,
          .caps = "width=8,height=4" },
      { SET ("output-caps", "video/x-raw,width=4,format=BGRA"), .red = 20,
          .caps = "width=4,height=2,format=BGRA" },
      { SET ("output-caps", NULL), .red = 100,
          .caps = "width=2,height=1,format=RGBA" },
      /* The size of an effect's output depends on a parameter. */
      { SET ("source", NULL, "kernel", "flip", "params", "params,method=0"),
          .red = 100, .caps = "width=2,height=1" },
      { SET ("params", "params,method=1"), .red = 100,
          .caps = "width=1,height=2" },
      { SET ("kernel", "copy", "params", NULL), .red = 100,
          .caps = "width=2,height=1" },
      { SET ("output-caps", "video/x-raw,framerate=2/1"),
          .fails = "framerate" });
}

/* --- audio and bytes ----------------------------------------------------- */

#define I "long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x; "

/* Multiplies sample i of channel c by c + 2. */
#define GAIN \
  "#pragma vkgdr in-place\n" \
  "__global__ void gain (VkgdrSamples in, VkgdrSamples out) { " I \
  "if (i < out.n) ((short *) out.data)[i] = " \
  "((short *) in.data)[i] * (i % in.channels + 2); }"

/* Each thread processes one byte, or several. */
#define XOR \
  SOURCE ( \
      "__global__ void mask (VkgdrSamples in, VkgdrSamples out, int mask) " \
      "{ " I "if (i < out.n && out.size == 1) " \
      "out.data[i] = in.data[i] ^ mask; }") \
  "params=\"params,mask=(int)85\" "
#define XOR_STRIDE \
  SOURCE ( \
      "__global__ void mask (VkgdrSamples in, VkgdrSamples out, int mask) " \
      "{ " I "for (; i < out.n; i += (long long) gridDim.x * blockDim.x) " \
      "out.data[i] = in.data[i] ^ mask; }") \
  "params=\"params,mask=(int)85\" "

#define AUDIO(format, channels) \
  "audio/x-raw,format=" format ",layout=interleaved,rate=48000," channels
#define ANYTHING "application/x-anything,of=mine"
#define GRAY "video/x-raw,format=GRAY8,width=100,height=37,framerate=1/1"
#define SMALL "video/x-raw,format=RGBA,width=32,height=24,framerate=1/1"

static guint8
masked (const guint8 *in, gsize i)
{
  return in[i] ^ 0x55;
}

/* Gray has black at 16 and white at 235. */
static guint8
inverted (const guint8 *in, gsize i)
{
  return 255 - in[i];
}

static guint8
red_of_half (const guint8 *in, gsize i)
{
  return in[4 * (32 * 2 * (i / 16) + 2 * (i % 16))];
}

static guint8
gain_of_shorts (const guint8 *in, gsize i)
{
  gint16 v = (gint16) (((const gint16 *) in)[i / 2] * (gint) (i / 2 % 3 + 2));

  return ((guint8 *) &v)[i % 2];
}

/* Pixels of 3x2, in the frame that has this pattern. */
static guint8
scope (const guint8 *in, gsize i)
{
  guint8 value[4] = { 30 + i / 4 % 3, 20 + i / 12, 0, 255 };

  for (; in[0] != test_pattern (0, value[2] / 101); value[2] += 101)
    ;
  return value[i % 4];
}

static const TestFlow samples[] = {
  { FILTER (SOURCE (GAIN)),
      AUDIO ("S16LE", "channels=3,channel-mask=(bitmask)0x7"), NULL,
      gain_of_shorts, .size = 1200 },
  { FILTER (XOR), ANYTHING, NULL, masked, .size = 65537 },
  /* any shape of the launch */
  { FILTER (XOR "block=32"), ANYTHING, NULL, masked, .size = 65537 },
  { FILTER (XOR "block=1x1"), ANYTHING, NULL, masked, .size = 65537 },
  { FILTER (XOR_STRIDE "grid=3"), ANYTHING, NULL, masked, .size = 65537 },
  { FILTER (XOR_STRIDE "block=64 grid=1"), ANYTHING, NULL, masked,
      .size = 65537 },
  { FILTER ("kernel=invert"), GRAY ",colorimetry=1:1:5:1", NULL, inverted },
  { FILTER ("kernel=invert block=1x256"), GRAY ",colorimetry=1:1:5:1", NULL,
      inverted },
  { FILTER ("kernel=flip params=p,method=4 ! cudafilter kernel=flip "
            "params=p,method=4"),
      SMALL },
  /* A tee sends the same buffer to two branches. The filter in one branch does
   * not change the frames of the other branch. */
  { "vkgdrupload ! tee name=t  t. ! queue ! cudafilter kernel=invert ! "
    "vkgdrdownload ! fakesink async=false  t. ! queue ! vkgdrdownload",
      RGBA ("") },
  /* each name in the scope of an expression */
  { FILTER ("pixel=\"rgba.r = (x + 10 * width) / 255.0f;\n"
            "rgba.g = (y + 10 * height) / 255.0f;\n"
            "rgba.b = (frame + 100.0f * time) / 255.0f;\n"
            "rgba.a = 1.0f\""),
      "video/x-raw,format=RGBA,width=3,height=2,framerate=1/1", NULL, scope },
  /* another format and half the size */
  { FILTER (SOURCE (HALF) "output-caps=video/x-raw,format=GRAY8,width=16"),
      SMALL, "video/x-raw,format=GRAY8,width=16,height=12", red_of_half },
};

TEST_ROWS (samples, test_check_flow)

#define MISMATCH(before, properties, parts) \
  { \
    before " ! vkgdrupload ! cudafilter " properties " ! fakesink", parts \
  }

static const TestError mismatches[] = {
  MISMATCH ("audiotestsrc", "kernel=blur", "blur works on video"),
  MISMATCH ("audiotestsrc", "pixel=\"rgba.r = 0\"", "pixel"),
  MISMATCH ("audiotestsrc", SOURCE (OPPOSITE), "VkgdrSamples"),
  MISMATCH ("videotestsrc ! video/x-raw", XOR, "VkgdrFrame"),
  MISMATCH ("audiotestsrc ! audio/x-raw,layout=non-interleaved,channels=2",
      SOURCE (GAIN), "interleaved"),
  MISMATCH ("videotestsrc", "kernel=copy block=33x32", "1056"),
  MISMATCH ("videotestsrc", "kernel=copy block=8,8", "8,8"),
  MISMATCH ("videotestsrc", "kernel=copy block=0", "\"0\""),
  MISMATCH ("videotestsrc", "kernel=copy block=32x", "32x"),
  MISMATCH ("videotestsrc", "kernel=copy grid=1x70000", "70000"),
  MISMATCH ("videotestsrc", "kernel=copy grid=x1", "x1"),
  MISMATCH ("videotestsrc", SOURCE ("__global__ void f (int a, int b) { }"),
      "VkgdrFrame"),
  /* GStreamer's CUDA elements are not in the process. */
  { "fakesrc num-buffers=1 ! capsfilter "
    "caps=\"video/x-raw(memory:CUDAMemory),format=RGBA,width=64,height=48,"
    "framerate=1/1\" ! cudafilter ! fakesink",
      "accepts only GPU memory" },
};

TEST_ROWS (mismatches, test_check_error)

/* --- elements outside of the plugin -------------------------------------- */

/* The border that vkgdrexampleborder draws on frames of 64x48. */
static guint8
with_border (const guint8 *in, gsize i)
{
  gsize x = i / 3 % 64, y = i / 3 / 64;

  return x < 8 || x >= 56 || y < 8 || y >= 40 ? 255 : in[i];
}

/* The example colours with all of red. */
static guint8
tinted (const guint8 *in, gsize i)
{
  return i % 4 == 3 ? in[i] : i % 4 ? 0 : 255;
}

/* An element between two kernels: the kernel after it reads what it has
 * written, and it reads what the kernel before it has written. The kernels
 * invert colours twice, and do not change alpha. */
#define BETWEEN(element) \
  "vkgdrupload ! cudafilter kernel=invert ! " element \
  " ! cudafilter kernel=invert ! vkgdrdownload"
#define RGB "video/x-raw,format=RGB,width=64,height=48,framerate=1/1"

static const TestFlow strangers[] = {
  { BETWEEN ("vkgdrexampleborder"), RGB, NULL, with_border },
  /* The other branch keeps the frame, so the element cannot draw on it. */
  { BETWEEN ("tee name=t  t. ! fakesink sync=false async=false  t. ! "
             "vkgdrexampleborder"),
      RGB, NULL, with_border },
  { "vkgdrupload ! vkgdrexampletint color=0xff0000 amount=1 ! vkgdrdownload",
      RGBA (""), NULL, tinted },
  { "vkgdrupload ! vkgdrexampletint amount=0 ! vkgdrdownload", RGBA ("") },
};

static void
check_stranger (const TestFlow *row)
{
  /* The window is not cached. */
  test_set_debug ("bar");
  GST_ELEMENT_REGISTER (vkgdrexampleborder, NULL);
  GST_ELEMENT_REGISTER (vkgdrexampletint, NULL);
  test_check_flow (row);
}

/* The examples in C. The border maps frames for the CPU. */
TEST_ROWS (strangers, check_stranger)
