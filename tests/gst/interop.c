/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop.c: tests of GStreamer's own CUDA elements together with the elements
 * of the plugin
 *
 * Both kinds of elements use the same device. Without a GPU, this is softcuda.
 * Frames pass from one kind to the other in one CUDA context. A frame that a
 * consumer holds is not overwritten, a frame whose content is not complete is
 * not read, and no thread waits without need. The tests are skipped if
 * GStreamer's CUDA elements are not installed, or are older than 1.24.
 */

#include <string.h>
#include <unistd.h>

#include "device/cudalib.h"
#include "gate.h"
#include "nvcodec.h"
#include "table.h"

/* --- chains of elements -------------------------------------------------- */

static const struct {
  const gchar *format;
  gint width, height;
} formats[] = {
  { "RGBA", 33, 17 },
  { "NV12", 33, 17 },
  { "I420", 322, 242 },
  { "P010_10LE", 96, 32 },
  { "Y444", 70, 51 },
};

#define TO(format) "cudaconvertscale ! " CUDA ",format=" format
#define COPY "cudafilter ! "
#define INVERT "cudafilter kernel=invert ! "
#define TURN(method) \
  "cudafilter kernel=flip params=\"params,method=(int)" #method "\" ! "
#define CONVERT(format) \
  "cudafilter kernel=convert output-caps=video/x-raw,format=" format " ! "

/* Together, the elements of a chain change nothing: inversions, turns and
 * conversions come in pairs. COPY and INVERT run in place, the others do not.
 * Chains with RGBA or INVERT get only frames of RGBA: not every value of YUV
 * can be inverted twice. */
static const gchar *const chains[] = {
  /* theirs alone */
  "cudaupload ! " CUDA " ! cudadownload",
  "cudaupload ! " TO ("BGRA") " ! " TO ("RGBA") " ! cudadownload",
  /* both, each in its own memory */
  "vkgdrupload ! " TURN (2) TURN (2) "vkgdrdownload ! cudaupload ! " CUDA
                                     " ! cudadownload",
  /* from one to the other */
  "vkgdrupload ! " CUDA " ! cudadownload",
  "cudaupload ! " CUDA " ! vkgdrdownload",
  "cudaupload ! " CUDA " ! vkgdrupload ! " VKGDR " ! vkgdrdownload",
  "vkgdrupload ! " VKGDR " ! vkgdrupload ! " CUDA " ! vkgdrupload ! " VKGDR
  " ! vkgdrdownload",
  "vkgdrupload ! " COPY "vkgdrupload ! " CUDA " ! queue ! cudadownload",
  /* filters */
  "cudaupload ! " COPY TURN (2) TURN (2) "cudadownload",
  "cudaupload ! " CUDA " ! " COPY VKGDR " ! " TURN (2) CUDA
  " ! " TURN (2) "vkgdrdownload",
  "vkgdrupload ! " CUDA " ! " INVERT VKGDR " ! " INVERT CUDA " ! cudadownload",
  /* another format and another size */
  "cudaupload ! " CONVERT ("BGRA") VKGDR " ! " TURN (1) CUDA " ! " TURN (3)
      CONVERT ("RGBA") "cudadownload",
  /* Kernels of each read what kernels of the other have written. */
  "vkgdrupload ! " INVERT "vkgdrupload ! " CUDA
  " ! " TO ("BGRA") " ! vkgdrupload ! " INVERT "vkgdrupload ! " CUDA
                    " ! " TO ("RGBA") " ! vkgdrdownload",
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

/* Pushes frames of @n_formats formats through one stream, several of each, so
 * that buffers are recycled. */
static void
check_chain (const gchar *elements, guint n_formats)
{
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  GstVideoInfo info;
  guint i, n;

  for (i = 0; i < n_formats; i++) {
    get_info (&info, formats[i].format, formats[i].width, formats[i].height);
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
    for (n = 0; n < 4; n++) {
      g_autoptr (GstBuffer) frame = make_frame (&info, n);
      g_autoptr (GstBuffer) got =
          gst_harness_push_and_pull (h, gst_buffer_copy_deep (frame));

      fail_unless (got != NULL);
      fail_unless_equals_uint64 (GST_BUFFER_PTS (got), n * 100);
      test_assert_same (
          test_frame_rows (frame, &info), test_frame_rows (got, &info));
    }
  }
}

/* The plugin loads the driver first, and GStreamer's elements find it loaded.
 * In the other cases, they load it. */
static void
setup_ours_first (void)
{
  test_setup ();
  check_chain ("vkgdrupload ! vkgdrdownload", 1);
  test_nvcodec_load ();
}

static void
setup (void)
{
  test_nvcodec_load ();
  test_setup_bar ();
}

TEST_REQUIRE (test_nvcodec_require);

TEST_FIXTURE (setup_ours_first, test_teardown);

TEST (ours_first)
{
  check_chain (chains[5], G_N_ELEMENTS (formats));
}

TEST_FIXTURE (setup, test_teardown);

/* At the end, all buffers, pools and contexts are released. */
TEST_LOOP (chains, G_N_ELEMENTS (chains))
{
  const gchar *elements = chains[__i__];
  gboolean is_rgba = strstr (elements, "RGBA") || strstr (elements, "invert");

  TEST_NEEDS (
      !strstr (elements, "cudaconvertscale") || test_nvcodec_has_converter (),
      "cudaconvertscale of nvcodec");
  check_chain (elements, is_rgba ? 1 : G_N_ELEMENTS (formats));
}

/* --- no copies ----------------------------------------------------------- */

TEST_FIXTURE (test_nvcodec_load, NULL);

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
      "cudaupload name=at ! cudafilter kernel=blur ! cudadownload name=to ! "
      "fakesink",
      "src", FALSE },
  /* The kernel does not run in place on this input, because its memory has no
   * stream for which the next user would wait. */
  { "format=NV12,width=64,height=48",
      "cudaupload ! " CUDA " ! identity name=at drop-allocation=true ! "
      "cudafilter kernel=invert ! cudadownload name=to ! fakesink",
      "src", FALSE },
  /* The other branch keeps the frame as it is. */
  { "format=NV12,width=64,height=48",
      "cudaupload name=at ! tee name=t ! cudafilter kernel=invert ! "
      "cudadownload name=to ! fakesink async=false  t. ! queue ! "
      "fakesink async=false",
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
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=10 ! video/x-raw,%s ! %s",
          addresses[__i__].caps, addresses[__i__].launch);
  g_autoptr (GArray) a =
      test_note_pointers (pipeline, "at", addresses[__i__].pad);
  g_autoptr (GArray) b = test_note_pointers (pipeline, "to", "sink");
  guint i;

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

/* cudaipcsink gives frames to other processes. CUDA has no IPC handle for
 * imported memory, so the sink has to copy these frames. */
TEST (their_sink_for_other_processes)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-XXXXXX", NULL);
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=8 ! "
                   "video/x-raw,format=NV12,width=640,height=48 ! "
                   "vkgdrupload ! cudaipcsink address=\"%s/frames\"",
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
static const gchar *const textured[] = { "I420,width=322,height=242",
  "NV12,width=34,height=18", "P010_10LE,width=96,height=34",
  "Y42B,width=64,height=5", "RGBA,width=33,height=17" };

TEST_LOOP (planes_are_textures, G_N_ELEMENTS (textured))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=2 ! video/x-raw,format=%s ! "
                   "vkgdrupload name=up ! cudadownload ! fakesink",
          textured[__i__]);
  guint n_frames = 0;

  test_add_probe (pipeline, "up", "src", GST_PAD_PROBE_TYPE_BUFFER,
      check_textures, &n_frames);
  test_play (pipeline);
  fail_unless_equals_int (n_frames, 2);
}

/* --- which memory -------------------------------------------------------- */

/* Which memory the filter "f" negotiates if several kinds are possible: "C" for
 * GStreamer's CUDA memory, "V" for VkgdrMemory, of its input and its output. */
static const gchar *const choices[][2] = {
  { "CC", "cudaupload ! cudafilter name=f ! cudadownload" },
  { "CC", "cudaupload ! cudafilter name=f ! vkgdrdownload" },
  { "CC",
      "cudaupload ! cudafilter name=f ! vkgdrupload ! " COPY "cudadownload" },
  /* GStreamer's CUDA memory does not support this format. */
  { "CV", "cudaupload ! cudafilter name=f kernel=convert "
          "output-caps=video/x-raw,format=GRAY8 ! vkgdrdownload" },
  { "CV", "cudaupload ! cudafilter name=f kernel=convert "
          "output-caps=video/x-raw(memory:VkgdrMemory),format=RGBA ! "
          "vkgdrdownload" },
  { "VC", "cudaupload ! cudadownload ! vkgdrupload ! cudafilter name=f ! "
          "cudadownload" },
  /* The same result as without GStreamer's CUDA elements. */
  { "VV", "vkgdrupload ! cudafilter name=f" },
  { "VV", "vkgdrupload ! cudafilter name=f ! vkgdrupload ! " CUDA },
};

static gchar
memory_of (GstElement *element, const gchar *pad_name)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);

  fail_unless (caps != NULL);
  return gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0))
             ? 'C'
             : 'V';
}

TEST_LOOP (choice, G_N_ELEMENTS (choices))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc ! video/x-raw,format=NV12,width=64,height=48 "
                   "! %s ! fakesink",
          choices[__i__][1]);
  GstElement *filter = test_find (pipeline, "f");
  gchar chosen[3] = { 0 };

  test_preroll (pipeline);
  chosen[0] = memory_of (filter, "sink");
  chosen[1] = memory_of (filter, "src");
  fail_unless_equals_string (chosen, choices[__i__][0]);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (refusals)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GError *error = NULL;
  GstVideoInfo info;

  get_info (&info, "RGBA", 64, 48);
  fail_if (
      gst_vkgdr_context_buffer_to_cuda (context, buffer, &info, NULL, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_if (gst_vkgdr_context_buffer_from_cuda (context, buffer, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
}

/* --- another context ----------------------------------------------------- */

/* Frames in GStreamer's CUDA memory, in a CUDA context of their own on the last
 * device, are copied into our context, from device to device if there are
 * two. */
static const gchar *const takers[] = { INVERT INVERT, TURN (2) TURN (2),
  "vkgdrupload ! " INVERT INVERT };

TEST_FIXTURE (setup, test_teardown);

TEST_LOOP (frames_of_another_context, G_N_ELEMENTS (takers))
{
  GObject *(*context_new) (guint device) =
      test_nvcodec_function ("gst_cuda_context_new");
  GstMemory *(*alloc) (gpointer allocator, GObject * context, gpointer stream,
      const GstVideoInfo *info) =
      test_nvcodec_function ("gst_cuda_allocator_alloc");
  g_autofree gchar *elements =
      g_strconcat (takers[__i__], "vkgdrdownload", NULL);
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  GstVideoInfo info;
  guint i;

  get_info (&info, "RGBA", 256, 48);
  gst_harness_set_src_caps_str (
      h, CUDA ",format=RGBA,width=256,height=48,framerate=30/1");
  for (i = 0; i < 10; i++) {
    g_autoptr (GObject) other = context_new (gst_vkgdr_device_count (NULL) - 1);
    g_autoptr (GstBuffer) frame = make_frame (&info, i), got = NULL;
    GstBuffer *theirs = gst_buffer_new ();

    gst_buffer_append_memory (theirs, alloc (NULL, other, NULL, &info));
    test_write (gst_buffer_peek_memory (theirs, 0), i);
    got = gst_harness_push_and_pull (h, theirs);
    fail_unless (got != NULL);
    test_assert_same (
        test_frame_rows (frame, &info), test_frame_rows (got, &info));
  }
}

/* --- order --------------------------------------------------------------- */

/* The size of a frame of 64x48 pixels. */
#define SIZE (64 * 48 * 4)

/* The number of buffers that the test takes from the offered pool. */
#define N_BUFFERS 3

static GstHarness *
harness_new (const gchar *launch)
{
  GstHarness *h = test_harness_parse (launch);

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1");
  return h;
}

/* All bytes of a frame have this value, so that the order of the channels makes
 * no difference. */
static guint8
value_of (guint frame)
{
  return 30 * frame + 1;
}

static GstBuffer *
fill_frame (GstBuffer *buffer, guint frame)
{
  gst_buffer_memset (buffer, 0, value_of (frame), -1);
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND / 30;
  return buffer;
}

/* Fails unless @buffer, which it frees, is frame number @frame. */
static void
assert_frame (GstBuffer *buffer, guint frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gsize stride = meta ? (gsize) meta->stride[0] : SIZE / 48;
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (y = 0; y < 48; y++)
    for (x = 0; x < SIZE / 48; x++)
      test_check_byte (x, map.data[y * stride + x], value_of (frame));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

/* How frames that a consumer holds get into GStreamer's CUDA memory. */
static const gchar *const keepers[] = {
  "vkgdrupload name=f ! capsfilter caps=" CUDA,
  "cudaupload ! cudafilter name=f kernel=blur",
};

/* Each frame still has its content when the consumer looks at it. A frame that
 * a kernel reads is kept until the kernel has read it. */
TEST_LOOP (frames_stay, G_N_ELEMENTS (keepers))
{
  GstBuffer *frames[8];
  g_autoptr (GstHarness) h = harness_new (keepers[__i__]);
  GstElement *element = test_find (h->element, "f");
  guint i;

  for (i = 0; i < G_N_ELEMENTS (frames); i++) {
    if (i > 0)
      test_stream_delay (gst_vkgdr_base_transform_get_stream (
                             GST_VKGDR_BASE_TRANSFORM (element)),
          30, NULL);
    frames[i] = gst_harness_push_and_pull (
        h, fill_frame (gst_harness_create_buffer (h, SIZE), i));
  }
  for (i = 0; i < G_N_ELEMENTS (frames); i++)
    assert_frame (frames[i], i);
}

/* Returns the stream of a frame of GStreamer's CUDA elements, in @context. If
 * the frame has no stream, this is the default stream. */
static GstVkgdrStream *
stream_of (GstVkgdrContext *context, GstBuffer *buffer)
{
  gpointer (*get_stream) (GstMemory * memory) =
      test_nvcodec_function ("gst_cuda_memory_get_stream");
  gpointer (*get_handle) (gpointer stream) =
      test_nvcodec_function ("gst_cuda_stream_get_handle");
  gpointer stream = get_stream (gst_buffer_peek_memory (buffer, 0));

  return gst_vkgdr_stream_new_wrapped (
      context, stream ? get_handle (stream) : NULL, NULL);
}

/* Writes to the frame late, on its stream, as GStreamer's CUDA elements may
 * do. Then sets *@done. */
static GstPadProbeReturn
write_late (GstPad *pad, GstPadProbeInfo *info, gpointer done)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  g_autoptr (GstVkgdrStream) stream = stream_of (test_context, buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_MAP_VKGDR));
  test_gate_delay (stream, 100, done);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuMemsetD8Async (
          (CUdeviceptr) (guintptr) map.data + meta->offset[0], 0x30,
          (gsize) meta->stride[0] * meta->height,
          gst_vkgdr_stream_get_handle (stream)),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (test_context);
  gst_memory_unmap (memory, &map);
  return GST_PAD_PROBE_OK;
}

static const struct {
  const gchar *launch;
  gboolean to_cuda;
} orders[] = {
  { "cudaupload ! cudafilter name=f kernel=invert", TRUE },
  { "cudaupload ! cudafilter name=f kernel=invert ! " VKGDR " ! identity",
      FALSE },
  /* Memory without a stream belongs to CUDA's default stream. */
  { "cudaupload ! " CUDA " ! identity drop-allocation=true ! cudafilter "
    "name=f kernel=invert",
      TRUE },
};

/* The kernel waits for the work that the producer has queued, and the consumer
 * waits for the kernel. The CPU waits for neither. */
TEST_LOOP (order, G_N_ELEMENTS (orders))
{
  g_autoptr (GstHarness) h = harness_new (orders[__i__].launch);
  g_autoptr (GstBuffer) out = NULL;
  guint8 bytes[64];
  gint done = FALSE;

  /* After the first frame, no work is left that is only done once. */
  gst_buffer_unref (gst_harness_push_and_pull (
      h, fill_frame (gst_buffer_new_allocate (NULL, SIZE, NULL), 0)));
  test_add_probe (
      h->element, "f", "sink", GST_PAD_PROBE_TYPE_BUFFER, write_late, &done);
  out = gst_harness_push_and_pull (
      h, fill_frame (gst_buffer_new_allocate (NULL, SIZE, NULL), 1));
  fail_unless (out != NULL);
  fail_if (g_atomic_int_get (&done), "the CPU has waited");
  test_gate_set (TRUE);
  if (orders[__i__].to_cuda)
    fail_unless (GST_MEMORY_FLAG_IS_SET (
        gst_buffer_peek_memory (out, 0), GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  gst_buffer_extract (out, 0, bytes, sizeof (bytes));
  fail_unless (g_atomic_int_get (&done));
  fail_unless_equals_int (bytes[0], 0xcf);
  fail_unless_equals_int (bytes[61], 0xcf);
}

static gint opened; /* atomic */

static gpointer
open_later (gpointer unused)
{
  g_usleep (200 * 1000);
  g_atomic_int_set (&opened, TRUE);
  test_gate_set (TRUE);
  return NULL;
}

#define TO_BGRA "cudaconvertscale ! capsfilter caps=" CUDA ",format=BGRA"

/* What is held at the gate while frames are pushed: the transfers to the
 * device, or other work on a stream of its own. GStreamer's converter declares
 * its stream. For a consumer that does not, the streaming thread waits until a
 * frame is on the device. */
static const struct {
  const gchar *launch;
  gboolean is_foreign; /* the memory of the frames */
  gboolean holds_transfers;
  gboolean waits;
} pushes[] = {
  { "vkgdrupload access=staged ! " TO_BGRA, FALSE, TRUE, FALSE },
  { "vkgdrupload access=staged ! capsfilter caps=" CUDA, FALSE, TRUE, TRUE },
  { "vkgdrupload access=direct ! " TO_BGRA, FALSE, FALSE, FALSE },
  { "vkgdrupload access=direct ! " TO_BGRA, TRUE, FALSE, FALSE },
};

/* Pushes frames that are all in use at the same time. */
static void
push_frames (GstHarness *h, gboolean is_foreign, guint number)
{
  GstBuffer *buffers[N_BUFFERS];
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = is_foreign ? gst_buffer_new_allocate (NULL, SIZE, NULL)
                            : gst_harness_create_buffer (h, SIZE);
  for (i = 0; i < N_BUFFERS; i++)
    fail_unless_equals_int (
        gst_harness_push (h, fill_frame (buffers[i], number + i)), GST_FLOW_OK);
}

static void
pull_frames (GstHarness *h, guint first)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    assert_frame (gst_harness_pull (h), first + i);
}

/* When the converter has released a frame, too, the library does not wait for
 * the whole device. */
TEST_LOOP (streams_wait_instead_of_threads, G_N_ELEMENTS (pushes))
{
  gboolean is_foreign = pushes[__i__].is_foreign;
  GThread *opener = NULL;
  g_autoptr (GstVkgdrStream) busy = test_stream_new (test_context);
  g_autoptr (GstHarness) h = NULL;

  TEST_NEEDS (test_nvcodec_has_converter (), "cudaconvertscale of nvcodec");
  h = harness_new (pushes[__i__].launch);
  /* After these, no work is left that is only done once. */
  push_frames (h, is_foreign, 0);
  pull_frames (h, 0);
  if (pushes[__i__].holds_transfers)
    test_gate_transfers ();
  else
    test_gate_delay (busy, 0, NULL);
  if (pushes[__i__].waits)
    opener = g_thread_new ("opener", open_later, NULL);
  push_frames (h, is_foreign, N_BUFFERS);
  fail_unless_equals_int (g_atomic_int_get (&opened), pushes[__i__].waits);
  if (pushes[__i__].holds_transfers)
    test_gate_set (TRUE);
  pull_frames (h, N_BUFFERS);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  if (opener)
    g_thread_join (opener);
}

/* A consumer may work as GStreamer's own CUDA elements do: it maps the frame,
 * launches a kernel on a stream that the library does not know, unmaps the
 * frame and frees it at once. The frame is kept until the kernel has ended. */
TEST_LOOP (readers_on_unknown_streams_keep_the_frame, 2)
{
  g_autofree gchar *launch =
      g_strdup_printf ("vkgdrupload access=%s ! capsfilter caps=" CUDA,
          __i__ ? "staged" : "direct");
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstHarness) h = harness_new (launch);
  GstBuffer *buffer = gst_harness_create_buffer (h, SIZE);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0); /* the pool's */
  gint done = FALSE;
  GstMapInfo map;

  buffer = gst_harness_push_and_pull (h, fill_frame (buffer, 0));
  fail_unless (gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (buffer, 0)));
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ | GST_MAP_VKGDR));
  test_gate_delay (stream, 0, &done);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  fail_if (gst_vkgdr_memory_is_idle (memory));
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_wait_for (gst_vkgdr_memory_is_idle (memory));
  fail_unless (g_atomic_int_get (&done));
}
