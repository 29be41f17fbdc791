/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop-filter.c: tests of filters with the memory of GStreamer's own CUDA
 * elements
 *
 * The output is compared with a reference on the CPU. The tests are skipped if
 * those elements are not installed, or are older than 1.24.
 */

#include <dlfcn.h>
#include <gst/check/gstharness.h>
#include <string.h>

#include "effects-reference.h"
#include "device/cudalib.h"
#include "gate.h"
#include "nvcodec.h"
#include "slow.h"

/* --- frames -------------------------------------------------------------- */

typedef struct {
  const gchar *format;
  gint width, height;
} Format;

static const Format formats[] = {
  { "NV12", 64, 48 },
  { "NV12", 33, 17 },
  { "I420", 322, 242 },
  { "I420", 33, 17 },
  { "RGBA", 64, 48 },
  { "RGBA", 33, 17 },
  { "P010_10LE", 96, 32 },
  { "Y444", 70, 51 },
};

static void
get_info (const Format *format, GstVideoInfo *info)
{
  fail_unless (gst_video_info_set_format (info,
      gst_video_format_from_string (format->format), format->width,
      format->height));
  GST_VIDEO_INFO_FPS_N (info) = 30;
  GST_VIDEO_INFO_FPS_D (info) = 1;
}

static void
set_src_info (GstHarness *h, const GstVideoInfo *info)
{
  gst_harness_set_src_caps (h, gst_video_info_to_caps (info));
}

/* Makes a frame with pattern @seed. The bits that P010 does not use are 0. */
static GstBuffer *
make_frame (const GstVideoInfo *info, guint seed)
{
  GstBuffer *buffer =
      gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  GstMapInfo map;
  gsize i;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, seed);
  if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_P010_10LE)
    for (i = 0; i < map.size; i += 2)
      map.data[i] &= 0xc0;
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = seed * 100;
  return buffer;
}

/* Applies @effect, or nothing if it is NULL, to @frame, which it takes. */
static GstBuffer *
apply (const gchar *effect, const GstVideoInfo *info, GstBuffer *frame)
{
  GstBuffer *result;
  GstMapInfo in, out;

  if (!effect)
    return frame;
  result = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  fail_unless (gst_buffer_map (frame, &in, GST_MAP_READ));
  fail_unless (gst_buffer_map (result, &out, GST_MAP_WRITE));
  effect_reference (effect, info, in.data, out.data, NULL);
  gst_buffer_unmap (result, &out);
  gst_buffer_unmap (frame, &in);
  gst_buffer_unref (frame);
  return result;
}

/* Pushes frame number @seed, and checks the output. */
static void
check_frame (GstHarness *h, const GstVideoInfo *info, guint seed,
    const gchar *first_effect, const gchar *second_effect)
{
  g_autoptr (GstBuffer) frame = make_frame (info, seed);
  g_autoptr (GstBuffer) got =
      gst_harness_push_and_pull (h, gst_buffer_copy_deep (frame));

  fail_unless (got != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (got), seed * 100);
  frame = apply (first_effect, info, frame);
  frame = apply (second_effect, info, frame);
  test_nvcodec_assert_same_frame (frame, got, info);
}

/* --- output -------------------------------------------------------------- */

/* Some elements, and the effects that they apply together. */
typedef struct {
  const gchar *launch;
  const gchar *effects[2];
} Chain;

static const Chain chains[] = {
  { "cudaupload ! cudafilter kernel=invert ! cudadownload", { "invert" } },
  { "cudaupload ! cudafilter kernel=blur ! cudadownload", { "blur" } },
  { "cudaupload ! " CUDA " ! cudafilter kernel=invert ! " VKGDR
    " ! vkgdrdownload",
      { "invert" } },
  { "vkgdrupload ! " VKGDR " ! cudafilter kernel=invert ! " CUDA
    " ! cudadownload",
      { "invert" } },
  { "vkgdrupload ! " VKGDR " ! cudafilter kernel=blur ! " CUDA
    " ! cudadownload",
      { "blur" } },
  { "cudaupload ! cudafilter kernel=invert ! " CUDA " ! vkgdrdownload",
      { "invert" } },
  { "vkgdrupload ! " CUDA " ! cudafilter kernel=invert ! cudadownload",
      { "invert" } },
  { "cudaupload ! cudafilter kernel=invert ! cudafilter kernel=blur ! "
    "cudadownload",
      { "invert", "blur" } },
  { "cudaupload ! cudafilter kernel=blur ! " CUDA " ! cudafilter kernel=invert "
    "! " VKGDR " ! vkgdrupload ! " CUDA " ! cudadownload",
      { "blur", "invert" } },
};

static guint
step (void)
{
  return test_is_slow () ? 3 : 1;
}

TEST_REQUIRE (test_nvcodec_require);

/* Each case is a stream of its own with several frames, so that buffers are
 * recycled. */
TEST_LOOP (chains, G_N_ELEMENTS (chains))
{
  const Chain *chain = &chains[__i__];
  guint i, n;

  test_nvcodec_load ();
  for (i = 0; i < G_N_ELEMENTS (formats); i += step ()) {
    g_autoptr (GstHarness) h = gst_harness_new_parse (chain->launch);
    GstVideoInfo info;

    get_info (&formats[i], &info);
    set_src_info (h, &info);
    for (n = 0; n < 6; n++)
      check_frame (h, &info, n, chain->effects[0], chain->effects[1]);
  }
}

TEST_LOOP (caps_change, G_N_ELEMENTS (chains) / 3)
{
  const Chain *chain = &chains[__i__ * 3];
  g_autoptr (GstHarness) h = NULL;
  guint i, n;

  test_nvcodec_load ();
  h = gst_harness_new_parse (chain->launch);
  for (i = 0; i < G_N_ELEMENTS (formats); i += step ()) {
    GstVideoInfo info;

    get_info (&formats[i], &info);
    set_src_info (h, &info);
    for (n = 0; n < 3; n++)
      check_frame (h, &info, n, chain->effects[0], chain->effects[1]);
  }
}

/* GStreamer's converter reads on its own stream what a cudafilter has written,
 * and the other way round. */
TEST (between_their_converters)
{
  GstVideoInfo info;
  g_autoptr (GstHarness) h = NULL;
  guint n;

  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  h = gst_harness_new_parse (
      "cudaupload ! cudaconvertscale ! " CUDA ",format=BGRA ! cudafilter "
      "kernel=invert ! cudaconvertscale ! " CUDA ",format=RGBA ! cudafilter "
      "kernel=blur ! cudadownload");
  get_info (&formats[4], &info);
  set_src_info (h, &info);
  for (n = 0; n < 6; n++)
    check_frame (h, &info, n, "invert", "blur");
}

/* The output has another format and size than the input. */
TEST (conversion)
{
  static const gchar *launch[] = {
    "cudaupload ! cudafilter kernel=convert ! cudadownload",
    "cudaupload ! cudafilter kernel=convert ! vkgdrdownload",
    "vkgdrupload ! cudafilter kernel=convert ! cudadownload",
    "cudaupload ! cudafilter kernel=convert "
    "output-caps=video/x-raw,format=RGBA,width=40 ! cudadownload",
    "vkgdrupload ! cudafilter kernel=convert "
    "output-caps=video/x-raw,format=RGBA,width=40 ! vkgdrdownload",
  };
  static const gchar only_caps[] = "video/x-raw,format=RGBA,width=40,height=30";
  GstBuffer *expected = NULL;
  GstVideoInfo in, out;
  guint i;

  test_nvcodec_load ();
  get_info (&formats[0], &in);
  gst_video_info_set_format (&out, GST_VIDEO_FORMAT_RGBA, 40, 30);
  for (i = G_N_ELEMENTS (launch); i-- > 0;) {
    g_autoptr (GstHarness) h = gst_harness_new_parse (launch[i]);
    GstBuffer *got;

    gst_harness_set_sink_caps_str (h, only_caps);
    set_src_info (h, &in);
    got = gst_harness_push_and_pull (h, make_frame (&in, 7));
    fail_unless (got != NULL);
    if (expected)
      test_nvcodec_assert_same_frame (expected, got, &out);
    gst_clear_buffer (&expected);
    expected = got;
  }
  gst_buffer_unref (expected);
}

/* --- which memory -------------------------------------------------------- */

/* Which memory cudafilter negotiates if several kinds are possible. */
typedef struct {
  const gchar *launch;
  gboolean from_cuda, to_cuda;
} Choice;

static const Choice choices[] = {
  { "cudaupload ! cudafilter name=f ! cudadownload ! fakesink", TRUE, TRUE },
  { "cudaupload ! cudafilter name=f ! vkgdrdownload ! fakesink", TRUE, TRUE },
  { "cudaupload ! cudafilter name=f ! fakesink", TRUE, TRUE },
  { "cudaupload ! cudafilter name=f ! vkgdrupload ! cudafilter ! "
    "cudadownload ! fakesink",
      TRUE, TRUE },
  { "cudaupload ! cudafilter name=f kernel=convert "
    "output-caps=video/x-raw,format=RGBA ! vkgdrdownload ! fakesink",
      TRUE, TRUE },
  /* GStreamer's CUDA memory does not support this format. */
  { "cudaupload ! cudafilter name=f kernel=convert "
    "output-caps=video/x-raw,format=GRAY8 ! vkgdrdownload ! fakesink",
      TRUE, FALSE },
  { "cudaupload ! cudafilter name=f kernel=convert "
    "output-caps=video/x-raw(memory:VkgdrMemory),format=RGBA ! vkgdrdownload "
    "! fakesink",
      TRUE, FALSE },
  { "cudaupload ! cudadownload ! vkgdrupload ! cudafilter name=f ! "
    "cudadownload ! fakesink",
      FALSE, TRUE },
  /* The same result as without GStreamer's CUDA elements. */
  { "vkgdrupload ! cudafilter name=f ! vkgdrdownload ! fakesink", FALSE,
      FALSE },
  { "vkgdrupload ! cudafilter name=f ! fakesink", FALSE, FALSE },
  { "cudaupload ! vkgdrupload ! cudafilter name=f ! vkgdrdownload ! fakesink",
      FALSE, FALSE },
  { "vkgdrupload ! cudafilter name=f ! vkgdrupload ! " CUDA " ! fakesink",
      FALSE, FALSE },
  { "vkgdrupload ! cudafilter name=f ! vkgdrupload ! cudadownload ! fakesink",
      FALSE, FALSE },
};

static gboolean
has_cuda_caps (GstElement *element, const gchar *pad_name)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  gboolean has;

  fail_unless (caps != NULL);
  has = gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0));
  return has;
}

TEST_LOOP (choice, G_N_ELEMENTS (choices))
{
  const Choice *choice = &choices[__i__];
  g_autoptr (GstElement) pipeline = NULL, filter = NULL;

  test_nvcodec_load ();
  pipeline = test_launch (
      "videotestsrc ! video/x-raw,format=NV12,width=64,height=48 ! %s",
      choice->launch);
  filter = gst_bin_get_by_name (GST_BIN (pipeline), "f");
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, 30 * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (has_cuda_caps (filter, "sink"), choice->from_cuda);
  fail_unless_equals_int (has_cuda_caps (filter, "src"), choice->to_cuda);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* If the kernel cannot produce output-caps, the error is the same as with
 * VkgdrMemory. */
TEST (impossible)
{
  g_autoptr (GstElement) pipeline = NULL;

  test_nvcodec_load ();
  pipeline =
      test_launch ("videotestsrc num-buffers=1 ! cudaupload ! cudafilter "
                   "kernel=copy output-caps=video/x-raw,format=GRAY8 ! "
                   "vkgdrdownload ! fakesink");
  g_error_free (test_play_error_with (pipeline, "output-caps cannot be met"));
}

/* --- in place ------------------------------------------------------------ */

static guint64
pointer_of (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  guint64 pointer;
  GstMapInfo map;

  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  fail_unless (gst_vkgdr_is_cuda_memory (memory));
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  pointer = (guint64) (guintptr) map.data;
  gst_memory_unmap (memory, &map);
  return pointer;
}

static GstPadProbeReturn
note_pointer (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  guint64 pointer = pointer_of (GST_PAD_PROBE_INFO_BUFFER (info));

  g_array_append_val ((GArray *) user_data, pointer);
  return GST_PAD_PROBE_OK;
}

static GArray *
note_pointers (GstElement *element, const gchar *pad_name)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  GArray *pointers = g_array_new (FALSE, FALSE, sizeof (guint64));

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, note_pointer, pointers, NULL);
  return pointers;
}

TEST_LOOP (in_place, 5)
{
  static const struct {
    const gchar *launch;
    const gchar *effect;
    gboolean in_place;
  } cases[] = {
    { "cudaupload ! cudafilter name=f kernel=invert ! cudadownload", "invert",
        TRUE },
    { "cudaupload ! cudafilter ! cudafilter name=f kernel=invert ! "
      "cudadownload",
        "invert", TRUE },
    { "cudaupload ! cudafilter name=f kernel=blur ! cudadownload", "blur",
        FALSE },
    /* The kernel does not run in place on this input, because its memory has no
     * stream for which the next user would wait. */
    { "cudaupload ! " CUDA " ! identity drop-allocation=true ! cudafilter "
      "name=f kernel=invert ! cudadownload",
        "invert", FALSE },
    /* The wrapper of VkgdrMemory is read-only, because other elements may share
     * the buffer. */
    { "vkgdrupload ! " CUDA " ! cudafilter name=f kernel=invert ! cudadownload",
        "invert", FALSE },
  };
  g_autoptr (GstElement) filter = NULL;
  GstVideoInfo info;
  g_autoptr (GArray) in = NULL, out = NULL;
  g_autoptr (GstHarness) h = NULL;
  guint i;

  test_nvcodec_load ();
  h = gst_harness_new_parse (cases[__i__].launch);
  filter = gst_bin_get_by_name (GST_BIN (h->element), "f");
  in = note_pointers (filter, "sink");
  out = note_pointers (filter, "src");
  get_info (&formats[0], &info);
  set_src_info (h, &info);
  for (i = 0; i < 10; i++)
    check_frame (h, &info, i, cases[__i__].effect, NULL);
  fail_unless_equals_int (in->len, 10);
  fail_unless_equals_int (out->len, 10);
  for (i = 0; i < 10; i++)
    fail_unless_equals_int (
        g_array_index (in, guint64, i) == g_array_index (out, guint64, i),
        cases[__i__].in_place);
}

static void
check_black (
    GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer user_data)
{
  guint8 pixel[4];

  gst_buffer_extract (buffer, 0, pixel, sizeof (pixel));
  fail_unless_equals_int (pixel[0], 0);
  ++*(guint *) user_data;
}

/* The other branch of the tee gets the unchanged frame. */
TEST (tee)
{
  g_autoptr (GstElement) pipeline = NULL, other = NULL;
  guint i, n_black = 0;
  g_autoptr (GPtrArray) changed = NULL;

  test_nvcodec_load ();
  pipeline = test_launch (
      "videotestsrc num-buffers=10 pattern=black ! "
      "video/x-raw,format=RGBA,width=33,height=17 ! cudaupload ! cudafilter "
      "kernel=copy ! tee name=t ! queue ! cudafilter kernel=invert ! "
      "cudadownload ! appsink name=sink sync=false  t. ! queue ! cudadownload "
      "! fakesink name=other signal-handoffs=true async=false");
  other = gst_bin_get_by_name (GST_BIN (pipeline), "other");
  g_signal_connect (other, "handoff", G_CALLBACK (check_black), &n_black);
  changed = test_play_buffers (pipeline);
  fail_unless_equals_int (changed->len, 10);
  for (i = 0; i < 10; i++) {
    guint8 pixel[4];

    gst_buffer_extract (g_ptr_array_index (changed, i), 0, pixel, 4);
    fail_unless_equals_int (pixel[0], 255);
    fail_unless_equals_int (pixel[3], 255);
  }
  fail_unless (n_black > 0);
}

/* --- order --------------------------------------------------------------- */

static void *
their_function (const gchar *name)
{
  void *function =
      dlsym (dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD), name);

  fail_unless (function != NULL, "%s", name);
  return function;
}

/* Returns the stream of a frame of GStreamer's CUDA elements, in @context. If
 * the frame has no stream, this is the default stream. */
static GstVkgdrStream *
stream_of (GstVkgdrContext *context, GstBuffer *buffer)
{
  gpointer (*get_stream) (GstMemory * memory);
  gpointer (*get_handle) (gpointer stream);
  GstVkgdrStream *result;
  gpointer stream;

  *(void **) &get_stream = their_function ("gst_cuda_memory_get_stream");
  *(void **) &get_handle = their_function ("gst_cuda_stream_get_handle");
  stream = get_stream (gst_buffer_peek_memory (buffer, 0));
  result = gst_vkgdr_stream_new_wrapped (
      context, stream ? get_handle (stream) : NULL, NULL);
  fail_unless (result != NULL);
  return result;
}

typedef struct {
  GstVkgdrContext *context;
  gint done;
} Producer;

/* Writes to the frame late, on its stream, as GStreamer's CUDA elements may
 * do. */
static GstPadProbeReturn
write_late (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  Producer *self = user_data;
  g_autoptr (GstVkgdrStream) stream = stream_of (self->context, buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_MAP_VKGDR));
  test_gate_delay (stream, 100, &self->done);
  fail_unless (gst_vkgdr_context_push (self->context, NULL));
  fail_unless_equals_int (
      cuda->cuMemsetD8Async (
          (CUdeviceptr) (guintptr) map.data + meta->offset[0], 0x30,
          (gsize) meta->stride[0] * meta->height,
          gst_vkgdr_stream_get_handle (stream)),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (self->context);
  gst_memory_unmap (memory, &map);
  return GST_PAD_PROBE_OK;
}

/* The kernel waits for the work that the producer has queued, and the consumer
 * waits for the kernel. The CPU waits for neither. */
TEST_LOOP (order, 4)
{
  static const struct {
    const gchar *launch;
    gboolean to_cuda;
  } cases[] = {
    { "cudaupload ! cudafilter name=f kernel=invert", TRUE },
    { "cudaupload ! cudafilter name=f kernel=blur", TRUE },
    { "cudaupload ! cudafilter name=f kernel=invert ! " VKGDR " ! identity",
        FALSE },
    /* Memory without a stream belongs to CUDA's default stream. */
    { "cudaupload ! " CUDA " ! identity drop-allocation=true ! cudafilter "
      "name=f kernel=invert",
        TRUE },
  };
  guint8 expected = __i__ == 1 ? 0x30 : 0xcf;
  Producer producer = { NULL, FALSE };
  g_autoptr (GstElement) filter = NULL;
  GstVideoInfo info;
  g_autoptr (GstBuffer) out = NULL;
  g_autoptr (GstHarness) h = NULL;
  GstMapInfo map;
  g_autoptr (GstPad) pad = NULL;

  test_nvcodec_load ();
  h = gst_harness_new_parse (cases[__i__].launch);
  get_info (&formats[4], &info);
  set_src_info (h, &info);
  /* After the first frame, no work is left that is only done once. */
  gst_buffer_unref (gst_harness_push_and_pull (h, make_frame (&info, 0)));
  filter = gst_bin_get_by_name (GST_BIN (h->element), "f");
  producer.context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (filter));
  pad = gst_element_get_static_pad (filter, "sink");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, write_late, &producer, NULL);
  out = gst_harness_push_and_pull (h, make_frame (&info, 1));
  fail_unless (out != NULL);
  fail_if (g_atomic_int_get (&producer.done), "the CPU has waited");
  test_gate_set (TRUE);
  if (cases[__i__].to_cuda)
    fail_unless (GST_MEMORY_FLAG_IS_SET (
        gst_buffer_peek_memory (out, 0), GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  fail_unless (gst_buffer_map (out, &map, GST_MAP_READ));
  fail_unless (g_atomic_int_get (&producer.done));
  fail_unless_equals_int (map.data[0], expected);
  fail_unless_equals_int (map.data[61], expected);
  gst_buffer_unmap (out, &map);
}

/* A frame is kept until the kernel has read it, so that no later frame
 * overwrites it. */
TEST (frames_stay)
{
  g_autoptr (GstHarness) h = NULL;
  GstVideoInfo info;
  GstBuffer *got[8];
  guint i;

  test_nvcodec_load ();
  h = gst_harness_new_parse ("cudaupload ! cudafilter kernel=blur");
  get_info (&formats[5], &info);
  set_src_info (h, &info);
  gst_buffer_unref (gst_harness_push_and_pull (h, make_frame (&info, 0)));
  for (i = 0; i < G_N_ELEMENTS (got); i++) {
    GstElement *filter = gst_harness_find_element (h, "cudafilter");

    test_stream_delay (
        gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (filter)),
        30, NULL);
    gst_object_unref (filter);
    got[i] = gst_harness_push_and_pull (h, make_frame (&info, i));
  }
  for (i = 0; i < G_N_ELEMENTS (got); i++) {
    GstBuffer *frame = apply ("blur", &info, make_frame (&info, i));

    test_nvcodec_assert_same_frame (frame, got[i], &info);
    gst_buffer_unref (frame);
    gst_buffer_unref (got[i]);
  }
}

/* All buffers, pools and contexts are released. */
TEST_LOOP (nothing_stays, G_N_ELEMENTS (chains) / 3)
{
  const Chain *chain = &chains[__i__ * 3];
  GstVkgdrContext *context;
  GstElement *filter;
  GstVideoInfo info;
  GstHarness *h;
  gpointer weak;
  guint n;

  test_nvcodec_load ();
  h = gst_harness_new_parse (chain->launch);
  get_info (&formats[0], &info);
  set_src_info (h, &info);
  for (n = 0; n < 3; n++)
    check_frame (h, &info, n, chain->effects[0], chain->effects[1]);
  filter = gst_harness_find_element (h, "cudafilter");
  weak = context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (filter));
  g_object_add_weak_pointer (G_OBJECT (context), &weak);
  gst_object_unref (filter);
  gst_harness_teardown (h);
  test_nvcodec_assert_gone (&weak);
}

/* --- another context ----------------------------------------------------- */

static GstVkgdrContext *
make_context (void)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  GstVkgdrContext *result;
  GError *error = NULL;
  CUcontext handle, popped;

  fail_unless (cuda != NULL);
  fail_unless_equals_int (cuda->cuCtxCreate (&handle, 0, 0), CUDA_SUCCESS);
  result = gst_vkgdr_context_new_from_current (&error);
  fail_unless (result != NULL, "%s", error ? error->message : "");
  cuda->cuCtxPopCurrent (&popped);
  return result;
}

/* Pushes a frame of one pipeline into another one, which works in another CUDA
 * context. */
static GError *
play_elsewhere (const gchar *chain)
{
  g_autoptr (GstElement) first = NULL, second = NULL, sink = NULL, src = NULL;
  g_autoptr (GstVkgdrContext) context = make_context ();
  g_autoptr (GstSample) sample = NULL;
  GError *error;

  first = test_launch ("videotestsrc num-buffers=1 ! "
                       "video/x-raw,format=RGBA,width=64,height=48 ! "
                       "cudaupload ! " CUDA " ! appsink name=sink");
  sink = gst_bin_get_by_name (GST_BIN (first), "sink");
  gst_element_set_state (first, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
  fail_unless (sample != NULL);

  second = test_launch ("appsrc name=src format=time ! %s ! fakesink", chain);
  test_set_context (second, context);
  src = gst_bin_get_by_name (GST_BIN (second), "src");
  gst_element_set_state (second, GST_STATE_PAUSED);
  g_signal_emit_by_name (src, "push-sample", sample, &(GstFlowReturn){ 0 });
  g_signal_emit_by_name (src, "end-of-stream", &(GstFlowReturn){ 0 });
  error = test_play_result (second);

  gst_element_set_state (first, GST_STATE_NULL);
  return error;
}

TEST_LOOP (another_context, 3)
{
  const gchar *chains[] = { "cudafilter kernel=invert",
    "cudafilter kernel=blur", "vkgdrupload ! cudafilter kernel=invert" };
  GError *error;

  test_nvcodec_load ();
  error = play_elsewhere (chains[__i__]);
  fail_unless (error == NULL, "%s", error ? error->message : "");
}

/* --- elements outside of the plugin -------------------------------------- */

/* An element that inverts all bytes of RGBA frames, on the CPU or with a
 * kernel. */
#define TYPE_EITHER (either_get_type ())
G_DECLARE_FINAL_TYPE (Either, either, TEST, EITHER, GstVkgdrVideoFilter)

struct _Either {
  GstVkgdrVideoFilter parent;
  GstVkgdrKernel *kernel;
};

G_DEFINE_TYPE (Either, either, GST_TYPE_VKGDR_VIDEO_FILTER)

#define EITHER_CAPS VKGDR ",format=RGBA;" CUDA ",format=RGBA"

static GstStaticPadTemplate either_sink = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (EITHER_CAPS));
static GstStaticPadTemplate either_src = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (EITHER_CAPS));

static gboolean
either_open (GstVkgdrBaseTransform *transform, GError **error)
{
  TEST_EITHER (transform)->kernel = gst_vkgdr_kernel_new_from_source (
      gst_vkgdr_base_transform_get_context (transform),
      "__global__ void flip_bits (VkgdrFrame in, VkgdrFrame out) {"
      " int x = blockIdx.x * blockDim.x + threadIdx.x,"
      " y = blockIdx.y * blockDim.y + threadIdx.y;"
      " if (x >= out.width || y >= out.height) return;"
      " for (int c = 0; c < 4; c++)"
      "  vkgdr_put (out, c, x, y, 255 - vkgdr_get (in, c, x, y)); }",
      "flip_bits", NULL, NULL, error);
  return TEST_EITHER (transform)->kernel != NULL;
}

static void
either_close (GstVkgdrBaseTransform *transform)
{
  gst_clear_object (&TEST_EITHER (transform)->kernel);
}

static gboolean
either_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  guint i;

  for (i = 0; i < gst_buffer_n_memory (output); i++)
    fail_unless (gst_is_vkgdr_memory (gst_buffer_peek_memory (output, i)));
  return gst_vkgdr_kernel_run (TEST_EITHER (filter)->kernel, stream, input,
      gst_vkgdr_video_filter_get_input_info (filter), output,
      gst_vkgdr_video_filter_get_output_info (filter), 0, NULL, error);
}

static gboolean
either_filter_frame_cpu (GstVkgdrVideoFilter *filter, GstVideoFrame *input,
    GstVideoFrame *output, GError **error)
{
  gint x, y;

  for (y = 0; y < GST_VIDEO_FRAME_HEIGHT (input); y++)
    for (x = 0; x < GST_VIDEO_FRAME_WIDTH (input) * 4; x++) {
      guint8 *in = GST_VIDEO_FRAME_PLANE_DATA (input, 0);
      guint8 *out = GST_VIDEO_FRAME_PLANE_DATA (output, 0);

      out[y * GST_VIDEO_FRAME_PLANE_STRIDE (output, 0) + x] =
          ~in[y * GST_VIDEO_FRAME_PLANE_STRIDE (input, 0) + x];
    }
  return TRUE;
}

static void
either_class_init (EitherClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &either_sink);
  gst_element_class_add_static_pad_template (element_class, &either_src);
  gst_element_class_set_static_metadata (
      element_class, "Either", "Filter", "For tests", "nobody");
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->open = either_open;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->close = either_close;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame = either_filter_frame;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame_cpu =
      either_filter_frame_cpu;
}

static void
either_init (Either *self)
{
}

TEST_LOOP (subclass, 4)
{
  static const gchar *launch[] = {
    "cudaupload ! testeither ! cudadownload",
    "cudaupload ! " CUDA " ! testeither ! " VKGDR " ! vkgdrdownload",
    "vkgdrupload ! " VKGDR " ! testeither ! cudadownload",
    "vkgdrupload ! testeither ! vkgdrdownload",
  };
  gboolean use_cpu = __i__ & 1, in_place = (__i__ & 2) != 0;
  GstElement *either;
  GstVideoInfo info;
  GstHarness *h;
  guint i, n, k;

  test_nvcodec_load ();
  gst_element_register (NULL, "testeither", GST_RANK_NONE, TYPE_EITHER);
  get_info (&formats[5], &info);
  for (k = 0; k < G_N_ELEMENTS (launch); k++) {
    h = gst_harness_new_parse (launch[k]);
    either = gst_harness_find_element (h, "testeither");
    gst_vkgdr_filter_set_use_cpu (GST_VKGDR_FILTER (either), use_cpu);
    gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (either), in_place);
    set_src_info (h, &info);
    for (n = 0; n < 6; n++) {
      g_autoptr (GstBuffer) frame = make_frame (&info, n), got = NULL;
      GstMapInfo map;

      got = gst_harness_push_and_pull (h, gst_buffer_copy_deep (frame));
      fail_unless (got != NULL);
      fail_unless (gst_buffer_map (frame, &map, GST_MAP_READWRITE));
      for (i = 0; i < map.size; i++)
        map.data[i] = ~map.data[i];
      gst_buffer_unmap (frame, &map);
      test_nvcodec_assert_same_frame (frame, got, &info);
    }
    gst_object_unref (either);
    gst_harness_teardown (h);
  }
}
