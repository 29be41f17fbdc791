/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop.c: tests of GStreamer's own CUDA elements together with the elements
 * of the plugin
 *
 * Both kinds of elements use the same device. Without a GPU, this is softcuda.
 * Frames pass from one kind to the other in one CUDA context. The tests are
 * skipped if GStreamer's CUDA elements are not installed, or are older than
 * 1.24.
 */

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "nvcodec.h"

/* --- frames -------------------------------------------------------------- */

/* Runs the source alone and through @chain. The output has to be the same. */
static void
assert_unchanged (const gchar *source, const gchar *chain)
{
  g_autoptr (GstElement) plain = test_launch ("%s ! appsink name=sink", source);
  g_autoptr (GstElement) other =
      test_launch ("%s ! %s ! appsink name=sink", source, chain);
  g_autoptr (GPtrArray) expected = NULL, got = NULL;
  GstVideoInfo info;
  g_autoptr (GstCaps) caps = NULL;
  g_autofree gchar *format = NULL;
  guint i;

  /* The format is in the caps filter of the source. */
  format = g_strdup (strstr (source, "video/x-raw"));
  caps = gst_caps_from_string (format);
  gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, 30, 1, NULL);
  fail_unless (gst_video_info_from_caps (&info, caps));
  expected = test_play_buffers (plain);
  got = test_play_buffers (other);
  fail_unless (expected->len > 0);
  fail_unless_equals_int (got->len, expected->len);
  for (i = 0; i < got->len; i++)
    test_nvcodec_assert_same_frame (
        g_ptr_array_index (expected, i), g_ptr_array_index (got, i), &info);
}

static const gchar *sources[] = {
  "videotestsrc num-buffers=8 pattern=gradient ! "
  "video/x-raw,format=I420,width=320,height=240",
  "videotestsrc num-buffers=8 ! video/x-raw,format=I420,width=322,height=242",
  "videotestsrc num-buffers=8 ! video/x-raw,format=NV12,width=640,height=48",
  "videotestsrc num-buffers=8 ! video/x-raw,format=NV12,width=34,height=18",
  "videotestsrc num-buffers=8 ! video/x-raw,format=RGBA,width=64,height=48",
  "videotestsrc num-buffers=8 ! video/x-raw,format=RGBA,width=33,height=17",
  "videotestsrc num-buffers=8 ! "
  "video/x-raw,format=P010_10LE,width=96,height=32",
  "videotestsrc num-buffers=8 ! video/x-raw,format=Y444,width=70,height=51",
};

TEST_REQUIRE (test_nvcodec_require);

/* --- GStreamer's CUDA elements alone ------------------------------------- */

TEST_LOOP (theirs_alone, G_N_ELEMENTS (sources))
{
  test_nvcodec_load ();
  assert_unchanged (sources[__i__], "cudaupload ! " CUDA " ! cudadownload");
}

/* Swaps the channels twice, with GStreamer's run-time compiler and textures. */
TEST (their_converter)
{
  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  assert_unchanged (sources[4],
      "cudaupload ! cudaconvertscale ! " CUDA ",format=BGRA ! cudaconvertscale "
      "! " CUDA ",format=RGBA ! cudadownload");
}

/* --- both kinds of elements, each in its own memory ---------------------- */

static const gchar both[] =
    "vkgdrupload ! cudafilter kernel=invert ! cudafilter kernel=invert ! "
    "vkgdrdownload ! cudaupload ! " CUDA " ! cudadownload";
static const gchar both_reversed[] =
    "cudaupload ! " CUDA " ! cudadownload ! vkgdrupload ! " VKGDR " ! "
    "vkgdrdownload";

TEST (both_in_one_process)
{
  test_nvcodec_load ();
  assert_unchanged (sources[0], both);
  assert_unchanged (sources[0], both_reversed);
}

/* The plugin loads the driver first, and GStreamer's elements find it
 * loaded. */
TEST (ours_first)
{
  assert_unchanged (sources[0], "vkgdrupload ! " VKGDR " ! vkgdrdownload");
  test_nvcodec_load ();
  assert_unchanged (sources[0], both_reversed);
}

TEST (theirs_first)
{
  test_nvcodec_load ();
  assert_unchanged (sources[0], "cudaupload ! " CUDA " ! cudadownload");
  assert_unchanged (sources[0], both);
}

/* --- frames that pass from one to the other ------------------------------ */

static const gchar *chains[] = {
  "vkgdrupload ! " CUDA " ! cudadownload",
  "cudaupload ! " CUDA " ! vkgdrdownload",
  "cudaupload ! " CUDA " ! vkgdrupload ! " VKGDR " ! vkgdrdownload",
  "vkgdrupload ! " VKGDR " ! vkgdrupload ! " CUDA " ! vkgdrupload ! " VKGDR
  " ! vkgdrdownload",
  "vkgdrupload ! " CUDA " ! vkgdrupload ! " CUDA " ! cudadownload",
  "vkgdrupload ! cudafilter kernel=copy ! vkgdrupload ! " CUDA
  " ! queue ! cudadownload",
};

TEST_LOOP (from_one_to_the_other, G_N_ELEMENTS (chains))
{
  guint i;

  test_nvcodec_load ();
  for (i = 0; i < G_N_ELEMENTS (sources); i++)
    assert_unchanged (sources[i], chains[__i__]);
}

/* Notes the address of the frame. A CUDA element must get the frame at the
 * address where upstream has written it. */
static GstPadProbeReturn
note_pointer (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstMemory *memory =
      gst_buffer_peek_memory (GST_PAD_PROBE_INFO_BUFFER (info), 0);
  GArray *pointers = user_data;
  GstMapInfo map;
  guint64 pointer;

  if (gst_is_vkgdr_memory (memory)) {
    pointer = gst_vkgdr_memory_get_device_pointer (memory);
  } else {
    fail_unless (gst_vkgdr_is_cuda_memory (memory));
    fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
    pointer = (guint64) (guintptr) map.data;
    gst_memory_unmap (memory, &map);
  }
  g_array_append_val (pointers, pointer);
  return GST_PAD_PROBE_OK;
}

static GArray *
note_pointers (GstElement *pipeline, const gchar *name, const gchar *pad_name)
{
  g_autoptr (GstElement) element =
      gst_bin_get_by_name (GST_BIN (pipeline), name);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  GArray *pointers = g_array_new (FALSE, FALSE, sizeof (guint64));

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, note_pointer, pointers, NULL);
  return pointers;
}

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

static void
add_video_meta_to_sink (GstElement *pipeline)
{
  g_autoptr (GstElement) sink =
      gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (sink, "sink");

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, ask_for_video_meta, NULL, NULL);
}

static void
assert_copies_nothing (const gchar *source, const gchar *written,
    const gchar *written_pad, const gchar *chain)
{
  g_autoptr (GstElement) pipeline = test_launch ("%s ! %s", source, chain);
  g_autoptr (GArray) a = note_pointers (pipeline, written, written_pad);
  g_autoptr (GArray) b = note_pointers (pipeline, "sink", "sink");
  guint i;

  add_video_meta_to_sink (pipeline);
  test_play (pipeline);
  fail_unless_equals_int (a->len, 8);
  fail_unless_equals_int (b->len, 8);
  for (i = 0; i < 8; i++)
    fail_unless (
        g_array_index (a, guint64, i) == g_array_index (b, guint64, i));
}

TEST (no_copies)
{
  test_nvcodec_load ();
  assert_copies_nothing (sources[0], "up", "sink",
      "vkgdrupload name=up ! " CUDA " ! fakesink name=sink");
  assert_copies_nothing (sources[4], "up", "sink",
      "vkgdrupload name=up ! " CUDA " ! fakesink name=sink");
  /* With invisible rows at its end, the third plane begins at an address that
   * is aligned. */
  assert_copies_nothing ("videotestsrc num-buffers=8 ! "
                         "video/x-raw,format=I420,width=1920,height=1080",
      "up", "sink", "vkgdrupload name=up ! " CUDA " ! fakesink name=sink");
  assert_copies_nothing (sources[4], "up", "src",
      "cudaupload name=up ! " CUDA " ! vkgdrupload ! " VKGDR
      " ! fakesink name=sink");
}

/* cudaipcsink gives frames to other processes. CUDA has no IPC handle for
 * imported memory, so the sink has to copy these frames. */
TEST (their_sink_for_other_processes)
{
  GstElement *pipeline;
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-XXXXXX", NULL);

  fail_unless (folder != NULL);
  test_nvcodec_load ();
  pipeline = test_launch (
      "%s ! vkgdrupload ! cudaipcsink address=%s/frames", sources[2], folder);
  test_play (pipeline);
  gst_object_unref (pipeline);
  rmdir (folder);
}

/* Checks that each plane can be a texture, from which GStreamer's converters
 * and encoders sample. */
static GstPadProbeReturn
check_textures (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  gboolean (*get_texture) (
      GstMemory * memory, guint plane, guint filter_mode, guint64 * texture);
  guint *n_frames = user_data;
  guint64 texture;
  guint i;

  *(void **) &get_texture =
      dlsym (dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD),
          "gst_cuda_memory_get_texture");
  fail_unless (get_texture != NULL);
  for (i = 0; i < gst_buffer_get_video_meta (buffer)->n_planes; i++)
    fail_unless (
        get_texture (gst_buffer_peek_memory (buffer, 0), i, 0, &texture),
        "plane %u is no texture", i);
  (*n_frames)++;
  return GST_PAD_PROBE_OK;
}

/* NVIDIA's driver makes textures only of aligned planes, and some of
 * GStreamer's elements fail otherwise. The formats have planes of all kinds,
 * and with these sizes the planes would not be aligned without padding. */
static const gchar *textured[] = {
  "format=I420,width=320,height=240",
  "format=I420,width=322,height=242",
  "format=I420,width=64,height=2",
  "format=NV12,width=352,height=242",
  "format=NV12,width=34,height=18",
  "format=P010_10LE,width=96,height=34",
  "format=Y444,width=96,height=51",
  "format=Y42B,width=64,height=5",
  "format=RGBA,width=33,height=17",
};

TEST_LOOP (planes_are_textures, G_N_ELEMENTS (textured))
{
  g_autoptr (GstElement) pipeline = NULL, element = NULL;
  guint n_frames = 0;
  g_autoptr (GstPad) pad = NULL;

  test_nvcodec_load ();
  pipeline = test_launch ("videotestsrc num-buffers=2 ! video/x-raw,%s ! "
                          "vkgdrupload name=up ! cudadownload ! fakesink",
      textured[__i__]);
  element = gst_bin_get_by_name (GST_BIN (pipeline), "up");
  pad = gst_element_get_static_pad (element, "src");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, check_textures, &n_frames, NULL);
  test_play (pipeline);
  fail_unless_equals_int (n_frames, 2);
}

/* A kernel of cudafilter reads the output of GStreamer's converter, and the
 * other way round. */
TEST (kernels_of_both)
{
  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  assert_unchanged (sources[4],
      "vkgdrupload ! cudafilter kernel=invert ! vkgdrupload ! " CUDA
      " ! cudaconvertscale ! " CUDA ",format=BGRA ! vkgdrupload ! cudafilter "
      "kernel=invert ! vkgdrupload ! " CUDA " ! cudaconvertscale ! " CUDA
      ",format=RGBA ! vkgdrdownload");
}

/* --- one context --------------------------------------------------------- */

static GstVkgdrContext *
context_of (GstElement *pipeline, const gchar *name)
{
  g_autoptr (GstElement) element =
      gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (element));

  return context;
}

/* Returns the CUDA context of a CUDA element, as its pad answers the query. */
static gpointer
cuda_handle_of (GstElement *pipeline, const gchar *name)
{
  g_autoptr (GstElement) element =
      gst_bin_get_by_name (GST_BIN (pipeline), name);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstQuery) query = gst_query_new_context ("gst.cuda.context");
  gpointer (*get_handle) (GObject * context);
  GstContext *context = NULL;
  GObject *object = NULL;
  const GValue *value;
  gpointer handle;

  *(void **) &get_handle =
      dlsym (dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD),
          "gst_cuda_context_get_handle");
  fail_unless (get_handle != NULL);
  fail_unless (gst_pad_query (pad, query));
  gst_query_parse_context (query, &context);
  fail_unless (context != NULL);
  value = gst_structure_get_value (
      gst_context_get_structure (context), "gst.cuda.context");
  fail_unless (value != NULL);
  object = g_value_get_object (value);
  handle = get_handle (object);
  return handle;
}

/* Elements are started from the sink to the source, so the context of the
 * element that is further downstream is used. */
static const gchar *shared[] = {
  "vkgdrupload name=ours ! cudadownload name=theirs ! fakesink",
  "cudaupload name=theirs ! vkgdrdownload name=ours ! fakesink",
  "cudaupload name=theirs ! " CUDA " ! identity ! vkgdrupload name=ours ! "
  "fakesink",
  "vkgdrupload name=ours ! vkgdrdownload ! queue ! cudaupload name=theirs "
  "! " CUDA " ! fakesink",
};

TEST_LOOP (one_context, G_N_ELEMENTS (shared))
{
  g_autoptr (GstElement) pipeline = NULL;

  test_nvcodec_load ();
  pipeline = test_launch ("%s ! %s", sources[0], shared[__i__]);
  fail_unless (gst_element_set_state (pipeline, GST_STATE_PAUSED)
               != GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, 20 * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless (
      gst_vkgdr_context_get_cuda_context (context_of (pipeline, "ours"))
      == cuda_handle_of (pipeline, "theirs"));
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* The context is released when both elements are gone. */
TEST_LOOP (nothing_stays, G_N_ELEMENTS (shared))
{
  GstElement *pipeline;
  GstVkgdrContext *context;
  gpointer weak;

  test_nvcodec_load ();
  pipeline = test_launch ("%s ! %s", sources[0], shared[__i__]);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, 20 * GST_SECOND);
  context = context_of (pipeline, "ours");
  weak = context;
  g_object_add_weak_pointer (G_OBJECT (context), &weak);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  test_nvcodec_assert_gone (&weak);
}

/* --- another context ----------------------------------------------------- */

static void *
their_function (const gchar *name)
{
  void *library = dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
  void *function;

  fail_unless (library != NULL, "%s", dlerror ());
  function = dlsym (library, name);
  fail_unless (function != NULL, "%s", dlerror ());
  dlclose (library);
  return function;
}

/* Makes a frame in GStreamer's CUDA memory, in a CUDA context of its own on the
 * last device. The CPU fills it. */
static GstBuffer *
frame_of_another_context (const GstVideoInfo *info, guint seed)
{
  GObject *(*context_new) (guint device) =
      their_function ("gst_cuda_context_new");
  GstMemory *(*alloc) (gpointer allocator, GObject * context, gpointer stream,
      const GstVideoInfo *info) = their_function ("gst_cuda_allocator_alloc");
  GObject *context = context_new (gst_vkgdr_device_count (NULL) - 1);
  GstBuffer *buffer = gst_buffer_new ();
  GstMemory *memory;

  fail_unless (context != NULL);
  memory = alloc (NULL, context, NULL, info);
  fail_unless (memory != NULL);
  test_write (memory, seed);
  gst_buffer_append_memory (buffer, memory);
  g_object_unref (context);
  return buffer;
}

/* The frame is copied into the pipeline's context, from device to device if
 * there are two. */
TEST (frame_of_another_context)
{
  g_autoptr (GstVkgdrContext) context = NULL;
  GstVideoInfo info;
  guint i;

  test_nvcodec_load ();
  context = test_context_new ();
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 256, 48);
  for (i = 0; i < 10; i++) {
    GstBuffer *theirs = frame_of_another_context (&info, i), *ours;
    GError *error = NULL;
    GstMemory *memory;
    g_autofree guint8 *data = NULL;

    ours = gst_vkgdr_context_buffer_from_cuda (context, theirs, &error);
    fail_unless (ours != NULL, "%s", error ? error->message : "");
    gst_buffer_unref (theirs);
    memory = gst_buffer_peek_memory (ours, 0);
    fail_unless (gst_vkgdr_memory_get_context (memory) == context);
    data = test_device_bytes (memory);
    fail_unless (test_matches (data, memory->size, i));
    gst_buffer_unref (ours);
  }
}

TEST (refusals)
{
  g_autoptr (GstVkgdrContext) context = NULL;
  GError *error = NULL;
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstVideoInfo info;

  test_nvcodec_load ();
  context = test_context_new ();
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  fail_unless (
      gst_vkgdr_context_buffer_to_cuda (context, buffer, &info, NULL, &error)
      == NULL);
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (
      gst_vkgdr_context_buffer_from_cuda (context, buffer, &error) == NULL);
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
}
