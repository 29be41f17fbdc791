/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop.c: tests of GStreamer's own CUDA elements together with the elements
 * of the plugin
 *
 * Both kinds of elements use the same device. Without a GPU, this is softcuda.
 * Frames pass from one kind to the other in one CUDA context. The tests are
 * skipped if GStreamer's CUDA elements are not installed, or are older than
 * 1.24. interop-order.c tests the order of the work.
 */

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "effects-reference.h"
#include "device/cudalib.h"
#include "nvcodec.h"
#include "slow.h"

/* --- chains of elements -------------------------------------------------- */

static const struct {
  const gchar *format;
  gint width, height;
} formats[] = {
  { "NV12", 64, 48 },
  { "NV12", 33, 17 },
  { "I420", 322, 242 },
  { "I420", 33, 17 },
  { "RGBA", 64, 48 },
  { "RGBA", 33, 17 },
  { "P010_10LE", 96, 32 },
  { "Y444", 70, 51 },
};

/* Some elements, the effects that they apply together, and whether they need
 * cudaconvertscale, which then changes only the order of channels of RGBA. */
typedef struct {
  const gchar *launch;
  const gchar *effects[2];
  gboolean converts;
} Chain;

#define TO(format) "cudaconvertscale ! " CUDA ",format=" format

static const Chain chains[] = {
  /* theirs alone */
  { "cudaupload ! " CUDA " ! cudadownload", { NULL } },
  { "cudaupload ! " TO ("BGRA") " ! " TO ("RGBA") " ! cudadownload", { NULL },
      TRUE },
  /* both, each in its own memory */
  { "vkgdrupload ! cudafilter kernel=invert ! cudafilter kernel=invert ! "
    "vkgdrdownload ! cudaupload ! " CUDA " ! cudadownload",
      { "invert", "invert" } },
  { "cudaupload ! " CUDA " ! cudadownload ! vkgdrupload ! " VKGDR
    " ! vkgdrdownload",
      { NULL } },
  /* from one to the other */
  { "vkgdrupload ! " CUDA " ! cudadownload", { NULL } },
  { "cudaupload ! " CUDA " ! vkgdrdownload", { NULL } },
  { "cudaupload ! " CUDA " ! vkgdrupload ! " VKGDR " ! vkgdrdownload",
      { NULL } },
  { "vkgdrupload ! " VKGDR " ! vkgdrupload ! " CUDA " ! vkgdrupload ! " VKGDR
    " ! vkgdrdownload",
      { NULL } },
  { "vkgdrupload ! " CUDA " ! vkgdrupload ! " CUDA " ! cudadownload",
      { NULL } },
  { "vkgdrupload ! cudafilter kernel=copy ! vkgdrupload ! " CUDA
    " ! queue ! cudadownload",
      { NULL } },
  /* filters */
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
  /* Kernels of each read what kernels of the other have written. */
  { "vkgdrupload ! cudafilter kernel=invert ! vkgdrupload ! " CUDA " ! " TO (
        "BGRA") " ! vkgdrupload ! cudafilter kernel=invert ! "
                "vkgdrupload ! " CUDA " ! " TO ("RGBA") " ! vkgdrdownload",
      { NULL }, TRUE },
  { "cudaupload ! " TO ("BGRA") " ! cudafilter kernel=invert ! " TO (
        "RGBA") " ! cudafilter kernel=blur ! cudadownload",
      { "invert", "blur" }, TRUE },
};

static void
get_info (GstVideoInfo *info, const gchar *format, gint width, gint height)
{
  fail_unless (gst_video_info_set_format (
      info, gst_video_format_from_string (format), width, height));
  GST_VIDEO_INFO_FPS_N (info) = 30;
  GST_VIDEO_INFO_FPS_D (info) = 1;
}

/* Makes a frame with pattern @seed. The bits that P010 does not use are 0. */
static GstBuffer *
make_frame (const GstVideoInfo *info, guint seed)
{
  guint8 *data = g_malloc (info->size);
  GstBuffer *buffer;
  gsize i;

  test_fill (data, info->size, seed);
  if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_P010_10LE)
    for (i = 0; i < info->size; i += 2)
      data[i] &= 0xc0;
  buffer = gst_buffer_new_wrapped (data, info->size);
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
    const gchar *const *effects)
{
  g_autoptr (GstBuffer) frame = make_frame (info, seed);
  g_autoptr (GstBuffer) got =
      gst_harness_push_and_pull (h, gst_buffer_copy_deep (frame));

  fail_unless (got != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (got), seed * 100);
  frame = apply (effects[0], info, frame);
  frame = apply (effects[1], info, frame);
  test_nvcodec_assert_same_frame (frame, got, info);
}

/* Pushes frames of all formats through one stream, several of each, so that
 * buffers are recycled. Returns the context of our elements, or NULL. */
static GstVkgdrContext *
check_chain (GstHarness *h, const Chain *chain)
{
  static const gchar *const ours[] = { "cudafilter", "vkgdrupload",
    "vkgdrdownload" };
  GstVkgdrContext *context = NULL;
  GstVideoInfo info;
  guint i, n;

  for (i = 0; i < G_N_ELEMENTS (formats); i += test_is_slow () ? 3 : 1) {
    if (chain->converts && !g_str_equal (formats[i].format, "RGBA"))
      continue;
    get_info (&info, formats[i].format, formats[i].width, formats[i].height);
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
    for (n = 0; n < 4; n++)
      check_frame (h, &info, n, chain->effects);
  }
  for (i = 0; !context && i < G_N_ELEMENTS (ours); i++) {
    g_autoptr (GstElement) element = gst_harness_find_element (h, ours[i]);

    if (element)
      context = gst_vkgdr_base_transform_get_context (
          GST_VKGDR_BASE_TRANSFORM (element));
  }
  return context;
}

TEST_REQUIRE (test_nvcodec_require);

/* At the end, all buffers, pools and contexts are released. */
TEST_LOOP (chains, G_N_ELEMENTS (chains))
{
  GstHarness *h;
  gpointer weak;

  test_nvcodec_load ();
  if (chains[__i__].converts && !test_nvcodec_has_converter ())
    return;
  h = gst_harness_new_parse (chains[__i__].launch);
  weak = check_chain (h, &chains[__i__]);
  if (weak)
    g_object_add_weak_pointer (weak, &weak);
  gst_harness_teardown (h);
  /* A thread that frees memory may hold the last reference. */
  test_wait_for (g_atomic_pointer_get (&weak) == NULL);
}

/* The plugin loads the driver first, and GStreamer's elements find it loaded.
 * In the other cases, they load it. */
TEST (ours_first)
{
  static const Chain first = { "vkgdrupload ! " VKGDR " ! vkgdrdownload",
    { NULL } };
  GstHarness *h = gst_harness_new_parse (first.launch);

  check_chain (h, &first);
  gst_harness_teardown (h);
  test_nvcodec_load ();
  h = gst_harness_new_parse (chains[3].launch);
  check_chain (h, &chains[3]);
  gst_harness_teardown (h);
}

/* Chains that change format and size, and all give the same. */
static const gchar *const conversions[] = {
  "vkgdrupload ! cudafilter kernel=convert "
  "output-caps=video/x-raw,format=RGBA,width=40 ! vkgdrdownload",
  "cudaupload ! cudafilter kernel=convert "
  "output-caps=video/x-raw,format=RGBA,width=40 ! cudadownload",
  "cudaupload ! cudafilter kernel=convert ! cudadownload",
  "cudaupload ! cudafilter kernel=convert ! vkgdrdownload",
  "vkgdrupload ! cudafilter kernel=convert ! cudadownload",
};

TEST (conversion)
{
  g_autoptr (GstBuffer) expected = NULL;
  GstVideoInfo in, out;
  guint i;

  test_nvcodec_load ();
  get_info (&in, "NV12", 64, 48);
  get_info (&out, "RGBA", 40, 30);
  for (i = 0; i < G_N_ELEMENTS (conversions); i++) {
    g_autoptr (GstHarness) h = gst_harness_new_parse (conversions[i]);
    g_autoptr (GstBuffer) got = NULL;

    gst_harness_set_sink_caps_str (
        h, "video/x-raw,format=RGBA,width=40,height=30");
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&in));
    got = gst_harness_push_and_pull (h, make_frame (&in, 7));
    fail_unless (got != NULL);
    if (expected)
      test_nvcodec_assert_same_frame (expected, got, &out);
    else
      expected = g_steal_pointer (&got);
  }
}

/* --- no copies ----------------------------------------------------------- */

/* Answers the allocation query as a sink that reads GstVideoMeta. For other
 * sinks, a frame with padding is packed, which is a copy. */
static GstPadProbeReturn
ask_for_video_meta (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_OK;
}

/* In these pipelines, the pad of the element "at" and the sink pad of the
 * element "to" have frames at the same addresses, or at different ones. */
static const struct {
  const gchar *caps;
  const gchar *launch;
  const gchar *pad;
  gboolean is_same;
} addresses[] = {
  { "format=I420,width=320,height=240",
      "vkgdrupload name=at ! " CUDA " ! fakesink name=to", "sink", TRUE },
  { "format=RGBA,width=64,height=48",
      "vkgdrupload name=at ! " CUDA " ! fakesink name=to", "sink", TRUE },
  /* With invisible rows at its end, the third plane begins at an address that
   * is aligned. */
  { "format=I420,width=1920,height=1080",
      "vkgdrupload name=at ! " CUDA " ! fakesink name=to", "sink", TRUE },
  { "format=RGBA,width=64,height=48",
      "cudaupload name=at ! " CUDA " ! vkgdrupload ! " VKGDR
      " ! fakesink name=to",
      "src", TRUE },
  /* kernels that run in place, or not */
  { "format=NV12,width=64,height=48",
      "cudaupload name=at ! cudafilter kernel=invert ! cudadownload name=to ! "
      "fakesink",
      "src", TRUE },
  { "format=NV12,width=64,height=48",
      "cudaupload ! cudafilter name=at ! cudafilter kernel=invert ! "
      "cudadownload name=to ! fakesink",
      "src", TRUE },
  { "format=NV12,width=64,height=48",
      "cudaupload name=at ! cudafilter kernel=blur ! cudadownload name=to ! "
      "fakesink",
      "src", FALSE },
  /* The kernel does not run in place on this input, because its memory has no
   * stream for which the next user would wait. */
  { "format=NV12,width=64,height=48",
      "cudaupload ! " CUDA " ! identity name=at drop-allocation=true ! "
      "cudafilter kernel=invert ! cudadownload name=to ! fakesink",
      "src", FALSE },
  /* The wrapper of VkgdrMemory is read-only, because other elements may share
   * the buffer. */
  { "format=NV12,width=64,height=48",
      "vkgdrupload name=at ! " CUDA " ! cudafilter kernel=invert ! "
      "cudadownload name=to ! fakesink",
      "src", FALSE },
};

TEST_LOOP (no_copies, G_N_ELEMENTS (addresses))
{
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GArray) a = NULL, b = NULL;
  guint i;

  test_nvcodec_load ();
  pipeline = test_launch ("videotestsrc num-buffers=10 ! video/x-raw,%s ! %s",
      addresses[__i__].caps, addresses[__i__].launch);
  a = test_note_pointers (pipeline, "at", addresses[__i__].pad);
  b = test_note_pointers (pipeline, "to", "sink");
  test_add_probe (pipeline, "to", "sink", GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      ask_for_video_meta, NULL);
  test_play (pipeline);
  fail_unless_equals_int (a->len, 10);
  fail_unless_equals_int (b->len, 10);
  for (i = 0; i < 10; i++)
    fail_unless_equals_int (
        g_array_index (a, guint64, i) == g_array_index (b, guint64, i),
        addresses[__i__].is_same);
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
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GPtrArray) changed = NULL;
  guint i, n_black = 0;

  test_nvcodec_load ();
  pipeline = test_launch (
      "videotestsrc num-buffers=10 pattern=black ! "
      "video/x-raw,format=RGBA,width=33,height=17 ! cudaupload ! cudafilter "
      "kernel=copy ! tee name=t ! queue ! cudafilter kernel=invert ! "
      "cudadownload ! appsink name=sink sync=false  t. ! queue ! cudadownload "
      "! fakesink name=other signal-handoffs=true async=false");
  g_signal_connect (test_find (pipeline, "other"), "handoff",
      G_CALLBACK (check_black), &n_black);
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

/* cudaipcsink gives frames to other processes. CUDA has no IPC handle for
 * imported memory, so the sink has to copy these frames. */
TEST (their_sink_for_other_processes)
{
  g_autoptr (GstElement) pipeline = NULL;
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-XXXXXX", NULL);

  fail_unless (folder != NULL);
  test_nvcodec_load ();
  pipeline = test_launch ("videotestsrc num-buffers=8 ! "
                          "video/x-raw,format=NV12,width=640,height=48 ! "
                          "vkgdrupload ! cudaipcsink address=%s/frames",
      folder);
  test_play (pipeline);
  rmdir (folder);
}

/* Checks that each plane can be a texture, from which GStreamer's converters
 * and encoders sample. */
static GstPadProbeReturn
check_textures (GstPad *pad, GstPadProbeInfo *info, gpointer n_frames)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  gboolean (*get_texture) (
      GstMemory * memory, guint plane, guint filter_mode, guint64 * texture) =
      test_nvcodec_function ("gst_cuda_memory_get_texture");
  guint64 texture;
  guint i;

  for (i = 0; i < gst_buffer_get_video_meta (buffer)->n_planes; i++)
    fail_unless (
        get_texture (gst_buffer_peek_memory (buffer, 0), i, 0, &texture),
        "plane %u is no texture", i);
  ++*(guint *) n_frames;
  return GST_PAD_PROBE_OK;
}

/* NVIDIA's driver makes textures only of aligned planes, and some of
 * GStreamer's elements fail otherwise. The formats have planes of all kinds,
 * and with these sizes the planes would not be aligned without padding. */
static const gchar *const textured[] = { "I420,width=320,height=240",
  "I420,width=322,height=242", "I420,width=64,height=2",
  "NV12,width=352,height=242", "NV12,width=34,height=18",
  "P010_10LE,width=96,height=34", "Y444,width=96,height=51",
  "Y42B,width=64,height=5", "RGBA,width=33,height=17" };

TEST_LOOP (planes_are_textures, G_N_ELEMENTS (textured))
{
  g_autoptr (GstElement) pipeline = NULL;
  guint n_frames = 0;

  test_nvcodec_load ();
  pipeline =
      test_launch ("videotestsrc num-buffers=2 ! video/x-raw,format=%s ! "
                   "vkgdrupload name=up ! cudadownload ! fakesink",
          textured[__i__]);
  test_add_probe (pipeline, "up", "src", GST_PAD_PROBE_TYPE_BUFFER,
      check_textures, &n_frames);
  test_play (pipeline);
  fail_unless_equals_int (n_frames, 2);
}

/* --- which memory -------------------------------------------------------- */

/* Which memory cudafilter negotiates if several kinds are possible. */
static const struct {
  const gchar *launch;
  gboolean from_cuda, to_cuda;
} choices[] = {
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

  fail_unless (caps != NULL);
  return gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0));
}

TEST_LOOP (choice, G_N_ELEMENTS (choices))
{
  g_autoptr (GstElement) pipeline = NULL;
  GstElement *filter;

  test_nvcodec_load ();
  pipeline = test_launch (
      "videotestsrc ! video/x-raw,format=NV12,width=64,height=48 ! %s",
      choices[__i__].launch);
  filter = test_find (pipeline, "f");
  test_preroll (pipeline);
  fail_unless_equals_int (
      has_cuda_caps (filter, "sink"), choices[__i__].from_cuda);
  fail_unless_equals_int (
      has_cuda_caps (filter, "src"), choices[__i__].to_cuda);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* The errors are the same as with VkgdrMemory. */
TEST (refusals)
{
  g_autoptr (GstVkgdrContext) context = NULL;
  g_autoptr (GstElement) pipeline = NULL;
  GError *error = NULL;
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstVideoInfo info;

  test_nvcodec_load ();
  pipeline =
      test_launch ("videotestsrc num-buffers=1 ! cudaupload ! cudafilter "
                   "kernel=copy output-caps=video/x-raw,format=GRAY8 ! "
                   "vkgdrdownload ! fakesink");
  g_error_free (test_play_error_with (pipeline, "output-caps cannot be met"));
  context = test_context_new ();
  get_info (&info, "RGBA", 64, 48);
  fail_if (
      gst_vkgdr_context_buffer_to_cuda (context, buffer, &info, NULL, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_if (gst_vkgdr_context_buffer_from_cuda (context, buffer, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
}

/* --- one context --------------------------------------------------------- */

/* Returns the CUDA context of a CUDA element, as its pad answers the query. */
static gpointer
cuda_handle_of (GstElement *element)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstQuery) query = gst_query_new_context ("gst.cuda.context");
  gpointer (*get_handle) (GObject * context) =
      test_nvcodec_function ("gst_cuda_context_get_handle");
  GstContext *context = NULL;
  const GValue *value;

  fail_unless (gst_pad_query (pad, query));
  gst_query_parse_context (query, &context);
  fail_unless (context != NULL);
  value = gst_structure_get_value (
      gst_context_get_structure (context), "gst.cuda.context");
  fail_unless (value != NULL);
  return get_handle (g_value_get_object (value));
}

/* Elements are started from the sink to the source, so the context of the
 * element that is further downstream is used. */
static const gchar *const shared[] = {
  "vkgdrupload name=ours ! cudadownload name=theirs ! fakesink",
  "cudaupload name=theirs ! vkgdrdownload name=ours ! fakesink",
  "cudaupload name=theirs ! " CUDA " ! identity ! vkgdrupload name=ours ! "
  "fakesink",
  "vkgdrupload name=ours ! vkgdrdownload ! queue ! cudaupload name=theirs "
  "! " CUDA " ! fakesink",
};

/* The context is released when both elements are gone. */
TEST_LOOP (one_context, G_N_ELEMENTS (shared))
{
  GstVkgdrContext *context;
  GstElement *pipeline;
  gpointer weak;

  test_nvcodec_load ();
  pipeline = test_launch ("videotestsrc num-buffers=8 ! "
                          "video/x-raw,format=I420,width=320,height=240 ! %s",
      shared[__i__]);
  test_preroll (pipeline);
  weak = context = test_context_of (pipeline, "ours");
  g_object_add_weak_pointer (G_OBJECT (context), &weak);
  fail_unless (gst_vkgdr_context_get_cuda_context (context)
               == cuda_handle_of (test_find (pipeline, "theirs")));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  /* A thread that frees memory may hold the last reference. */
  test_wait_for (g_atomic_pointer_get (&weak) == NULL);
}

/* A frame in GStreamer's CUDA memory, in a CUDA context of its own on the last
 * device, is copied into our context, from device to device if there are
 * two. */
TEST (frame_of_another_context)
{
  GObject *(*context_new) (guint device);
  GstMemory *(*alloc) (gpointer allocator, GObject * context, gpointer stream,
      const GstVideoInfo *info);
  g_autoptr (GstVkgdrContext) context = NULL;
  GstVideoInfo info;
  guint i;

  test_nvcodec_load ();
  context_new = test_nvcodec_function ("gst_cuda_context_new");
  alloc = test_nvcodec_function ("gst_cuda_allocator_alloc");
  context = test_context_new ();
  get_info (&info, "RGBA", 256, 48);
  for (i = 0; i < 10; i++) {
    g_autoptr (GObject) other = context_new (gst_vkgdr_device_count (NULL) - 1);
    g_autoptr (GstBuffer) theirs = gst_buffer_new (), ours = NULL;
    GError *error = NULL;

    gst_buffer_append_memory (theirs, alloc (NULL, other, NULL, &info));
    test_write (gst_buffer_peek_memory (theirs, 0), i);
    ours = gst_vkgdr_context_buffer_from_cuda (context, theirs, &error);
    g_assert_no_error (error);
    fail_unless (gst_vkgdr_memory_get_context (gst_buffer_peek_memory (ours, 0))
                 == context);
    test_assert_device (gst_buffer_peek_memory (ours, 0), i);
  }
}

static const gchar *const elsewhere[] = { "cudafilter kernel=invert",
  "cudafilter kernel=blur", "vkgdrupload ! cudafilter kernel=invert" };

/* A frame of one pipeline is pushed into another one, which works in another
 * CUDA context. */
TEST_LOOP (another_context, G_N_ELEMENTS (elsewhere))
{
  g_autoptr (GstElement) first = NULL, second = NULL;
  g_autoptr (GstVkgdrContext) context = NULL;
  g_autoptr (GstSample) sample = NULL;
  GstFlowReturn flow;
  CUcontext handle;

  test_nvcodec_load ();
  context = test_other_context_new (&handle);
  first = test_launch ("videotestsrc num-buffers=1 ! "
                       "video/x-raw,format=RGBA,width=64,height=48 ! "
                       "cudaupload ! " CUDA " ! appsink name=sink");
  gst_element_set_state (first, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (test_find (first, "sink")));
  fail_unless (sample != NULL);
  second = test_launch (
      "appsrc name=src format=time ! %s ! fakesink", elsewhere[__i__]);
  test_set_context (second, context);
  gst_element_set_state (second, GST_STATE_PAUSED);
  g_signal_emit_by_name (
      test_find (second, "src"), "push-sample", sample, &flow);
  g_signal_emit_by_name (test_find (second, "src"), "end-of-stream", &flow);
  test_play (second);
  gst_element_set_state (first, GST_STATE_NULL);
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
  g_autoptr (GstCaps) caps =
      gst_caps_from_string (VKGDR ",format=RGBA;" CUDA ",format=RGBA");

  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_element_class_set_static_metadata (
      element_class, "Either", "Filter", "For tests", "nobody");
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->open = either_open;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->close = either_close;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame = either_filter_frame;
}

static void
either_init (Either *self)
{
}

/* The same on the CPU. */
typedef Either EitherCpu;
typedef EitherClass EitherCpuClass;
GType either_cpu_get_type (void);

G_DEFINE_TYPE (EitherCpu, either_cpu, TYPE_EITHER)

static void
either_cpu_class_init (EitherCpuClass *klass)
{
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame = NULL;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame_cpu =
      either_filter_frame_cpu;
}

static void
either_cpu_init (EitherCpu *self)
{
}

/* Bit 0 of __i__: on the CPU; bit 1: in place. */
TEST_LOOP (subclass, 4)
{
  static const gchar *const launch[] = {
    "cudaupload ! testeither ! cudadownload",
    "cudaupload ! " CUDA " ! testeither ! " VKGDR " ! vkgdrdownload",
    "vkgdrupload ! " VKGDR " ! testeither ! cudadownload",
    "vkgdrupload ! testeither ! vkgdrdownload",
  };
  GstVideoInfo info;
  guint i, n, k;

  test_nvcodec_load ();
  gst_element_register (NULL, "testeither", GST_RANK_NONE,
      __i__ & 1 ? either_cpu_get_type () : TYPE_EITHER);
  get_info (&info, "RGBA", 33, 17);
  for (k = 0; k < G_N_ELEMENTS (launch); k++) {
    g_autoptr (GstHarness) h = gst_harness_new_parse (launch[k]);
    g_autoptr (GstElement) either = gst_harness_find_element (h, "testeither");

    gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (either), (__i__ & 2) != 0);
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
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
  }
}
