/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * layout.c: tests of the layout of frames: elements that ask for GstVideoMeta
 * get it, and all other elements get the default layout
 */

#include <glib/gstdio.h>
#include <gst/base/gstpushsrc.h>
#include <gst/check/gstharness.h>

#include "util.h"

#define N_FRAMES 5

/* --- a source that pads -------------------------------------------------- */

typedef enum {
  PADS_WHEN_ASKED, /* in the offered pool, if it takes GstVideoAlignment */
  PADS_ALWAYS,     /* in ordinary memory, without being asked */
  PADS_IN_PIECES,  /* likewise, each plane in a memory of its own */
  CROPS_ALWAYS,    /* likewise, with a GstVideoCropMeta */
  N_PADDERS
} Padder;

/* The settings of the source in this file. */
static struct {
  Padder padder;
  GstVideoFormat format;
  gint width, height;
} wanted;

#define TEST_TYPE_PADDED (test_padded_get_type ())
G_DECLARE_FINAL_TYPE (TestPadded, test_padded, TEST, PADDED, GstPushSrc)

struct _TestPadded {
  GstPushSrc parent;

  GstVideoInfo info;
  guint frame;
};

G_DEFINE_TYPE (TestPadded, test_padded, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate padded_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_VIDEO_CAPS_MAKE (GST_VIDEO_FORMATS_ALL)));

/* Returns a byte of a frame, which is never 0. The padding is 0. */
static guint8
frame_byte (guint frame, guint plane, guint x, guint y)
{
  return 1 + (frame * 31 + plane * 17 + y * 7 + x) % 255;
}

static gint
component_of (const GstVideoInfo *info, guint plane)
{
  gint components[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, components);
  return components[0];
}

/* The number of bytes of a row that belong to samples. */
static guint
row_bytes (const GstVideoInfo *info, guint plane)
{
  gint bytes = 0;
  guint c;

  for (c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    if (GST_VIDEO_INFO_COMP_PLANE (info, c) == plane)
      bytes = MAX (bytes, GST_VIDEO_INFO_COMP_WIDTH (info, c)
                              * GST_VIDEO_INFO_COMP_PSTRIDE (info, c));
  return bytes > 0 ? bytes : GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
}

static guint
row_count (const GstVideoInfo *info, guint plane)
{
  return GST_VIDEO_INFO_COMP_HEIGHT (info, component_of (info, plane));
}

static gboolean
padded_set_caps (GstBaseSrc *src, GstCaps *caps)
{
  return gst_video_info_from_caps (&TEST_PADDED (src)->info, caps);
}

static GstCaps *
padded_fixate (GstBaseSrc *src, GstCaps *caps)
{
  gst_caps_unref (caps);
  caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      gst_video_format_to_string (wanted.format), "width", G_TYPE_INT,
      wanted.width, "height", G_TYPE_INT, wanted.height, "framerate",
      GST_TYPE_FRACTION, 30, 1, NULL);
  return caps;
}

/* Negotiates the allocation as a decoder does. */
static gboolean
padded_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  GstVideoAlignment alignment;
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size, min, max;

  if (wanted.padder == PADS_WHEN_ASKED
      && gst_query_get_n_allocation_pools (query) > 0
      && gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL))
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (pool
      && gst_buffer_pool_has_option (
          pool, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT)) {
    config = gst_buffer_pool_get_config (pool);
    gst_video_alignment_reset (&alignment);
    alignment.padding_left = alignment.padding_right = 16;
    alignment.padding_top = 2;
    alignment.padding_bottom = 8;
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment (config, &alignment);
    gst_buffer_pool_set_config (pool, config);
    config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_get_params (config, NULL, &size, NULL, NULL);
    gst_structure_free (config);
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  }
  gst_clear_object (&pool);
  return GST_BASE_SRC_CLASS (test_padded_parent_class)
      ->decide_allocation (src, query);
}

/* Makes a frame of ordinary memory that is larger than the caps say. */
static GstBuffer *
padded_new (const GstVideoInfo *info)
{
  GstVideoInfo larger;
  gsize size[GST_VIDEO_MAX_PLANES];
  GstBuffer *buffer;
  guint p, n = GST_VIDEO_INFO_N_PLANES (info);
  GstVideoAlignment alignment;

  gst_video_info_set_format (&larger, GST_VIDEO_INFO_FORMAT (info),
      GST_VIDEO_INFO_WIDTH (info) + 32, GST_VIDEO_INFO_HEIGHT (info) + 16);
  gst_video_alignment_reset (&alignment);
  fail_unless (gst_video_info_align_full (&larger, &alignment, size));
  buffer = gst_buffer_new ();
  for (p = 0; p < (wanted.padder == PADS_IN_PIECES ? n : 1); p++)
    gst_buffer_append_memory (buffer,
        gst_allocator_alloc (NULL,
            wanted.padder == PADS_IN_PIECES ? size[p] : larger.size, NULL));
  gst_buffer_memset (buffer, 0, 0, -1);
  if (wanted.padder == CROPS_ALWAYS) {
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);

    crop->x = 6;
    crop->y = 4;
    crop->width = GST_VIDEO_INFO_WIDTH (info);
    crop->height = GST_VIDEO_INFO_HEIGHT (info);
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_WIDTH (&larger),
        GST_VIDEO_INFO_HEIGHT (&larger), n, larger.offset, larger.stride);
  } else {
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_WIDTH (info),
        GST_VIDEO_INFO_HEIGHT (info), n, larger.offset, larger.stride);
  }
  return buffer;
}

static void
padded_write (TestPadded *self, GstBuffer *buffer)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  GstVideoFrame frame;
  guint p, x, y;

  fail_unless (gst_video_frame_map (&frame, &self->info, buffer,
      GST_MAP_READWRITE | GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (&self->info); p++) {
    gint c = component_of (&self->info, p);
    guint8 *data = GST_VIDEO_FRAME_PLANE_DATA (&frame, p);
    gint stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);

    if (crop)
      data += stride
                  * GST_VIDEO_SUB_SCALE (
                      GST_VIDEO_FORMAT_INFO_H_SUB (self->info.finfo, c),
                      (gint) crop->y)
              + GST_VIDEO_FORMAT_INFO_PSTRIDE (self->info.finfo, c)
                    * GST_VIDEO_SUB_SCALE (
                        GST_VIDEO_FORMAT_INFO_W_SUB (self->info.finfo, c),
                        (gint) crop->x);
    for (y = 0; y < row_count (&self->info, p); y++)
      for (x = 0; x < row_bytes (&self->info, p); x++)
        data[y * stride + x] = frame_byte (self->frame, p, x, y);
  }
  gst_video_frame_unmap (&frame);
}

static GstFlowReturn
padded_create (GstPushSrc *src, GstBuffer **buffer)
{
  TestPadded *self = TEST_PADDED (src);
  GstFlowReturn result = GST_FLOW_OK;

  if (self->frame == N_FRAMES)
    return GST_FLOW_EOS;
  if (wanted.padder == PADS_WHEN_ASKED) {
    result = GST_BASE_SRC_GET_CLASS (src)->alloc (
        GST_BASE_SRC (src), 0, self->info.size, buffer);
  } else {
    *buffer = padded_new (&self->info);
  }
  if (result != GST_FLOW_OK)
    return result;
  padded_write (self, *buffer);
  GST_BUFFER_PTS (*buffer) = self->frame++ * GST_MSECOND;
  return GST_FLOW_OK;
}

static void
test_padded_class_init (TestPaddedClass *klass)
{
  GstBaseSrcClass *src_class = GST_BASE_SRC_CLASS (klass);

  gst_element_class_add_static_pad_template (
      GST_ELEMENT_CLASS (klass), &padded_template);
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass),
      "Padded frames", "Source/Video", "Makes frames with padding",
      "gst-vkgdr developers");
  src_class->set_caps = padded_set_caps;
  src_class->fixate = padded_fixate;
  src_class->decide_allocation = padded_decide_allocation;
  GST_PUSH_SRC_CLASS (klass)->create = padded_create;
}

static void
test_padded_init (TestPadded *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

/* --- the output ---------------------------------------------------------- */

static gboolean
is_default (const GstVideoInfo *info, GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  guint p;

  if (gst_buffer_get_video_crop_meta (buffer))
    return FALSE;
  for (p = 0; meta && p < meta->n_planes; p++)
    if (meta->offset[p] != info->offset[p]
        || meta->stride[p] != info->stride[p])
      return FALSE;
  return gst_buffer_get_size (buffer) == info->size;
}

/* Checks the content of @frame in the default layout, without GstVideoMeta. */
static void
assert_content (const GstVideoInfo *info, GstBuffer *buffer, guint frame)
{
  guint p, x, y;
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, info->size);
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    for (y = 0; y < row_count (info, p); y++) {
      const guint8 *row = map.data + info->offset[p] + y * info->stride[p];

      for (x = 0; x < row_bytes (info, p); x++)
        fail_unless (row[x] == frame_byte (frame, p, x, y),
            "frame %u, plane %u, byte %u of row %u is %u instead of %u", frame,
            p, x, y, row[x], frame_byte (frame, p, x, y));
    }
  gst_buffer_unmap (buffer, &map);
}

/* Counts the frames with padding that pass a pad. */
static GstPadProbeReturn
count_padded (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  GstVideoInfo video;

  fail_unless (gst_video_info_from_caps (&video, caps));
  if (!is_default (&video, GST_PAD_PROBE_INFO_BUFFER (info)))
    g_atomic_int_inc ((gint *) user_data);
  return GST_PAD_PROBE_OK;
}

/* Answers the allocation query as a sink that asks for GstVideoMeta. */
static GstPadProbeReturn
ask_for_meta (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

static void
add_probe (GstElement *pipeline, const gchar *name, GstPadProbeType type,
    GstPadProbeCallback callback, gpointer user_data)
{
  g_autoptr (GstElement) e = gst_bin_get_by_name (GST_BIN (pipeline), name);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (e, "sink");

  gst_pad_add_probe (pad, type, callback, user_data, NULL);
}

static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_I420,
  GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_GRAY8,
  GST_VIDEO_FORMAT_Y444_10LE, GST_VIDEO_FORMAT_P010_10LE,
  GST_VIDEO_FORMAT_UYVY };

static const gchar *ways[] = {
  "vkgdrupload",
  "vkgdrupload ! vkgdrdownload",
  "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload",
  "vkgdrupload ! cudafilter kernel=copy",
  "vkgdrdownload",
};

static GPtrArray *
play_padded (const gchar *way, gint *padded)
{
  GstElement *pipeline = test_launch (
      "testpadded ! identity name=before ! %s ! appsink name=sink", way);
  GPtrArray *buffers;

  test_set_context (pipeline, test_context);
  *padded = 0;
  add_probe (
      pipeline, "before", GST_PAD_PROBE_TYPE_BUFFER, count_padded, padded);
  buffers = test_play_buffers (pipeline);
  gst_object_unref (pipeline);
  fail_unless_equals_int (buffers->len, N_FRAMES);
  return buffers;
}

/* An appsink does not ask for the meta, so each frame has the size that follows
 * from its caps. */
static void
check_padding_ends (
    Padder padder, const gchar *way, GstVideoFormat format, gint width)
{
  g_autoptr (GPtrArray) buffers = NULL;
  GstVideoInfo info;
  gint padded;
  guint i;

  wanted.padder = padder;
  wanted.format = format;
  wanted.width = width;
  wanted.height = 22;
  gst_video_info_set_format (&info, format, wanted.width, wanted.height);
  buffers = play_padded (way, &padded);
  /* vkgdrdownload asks for GstVideoMeta only if the frames are on the device.
   * So PADS_WHEN_ASKED does not pad if vkgdrdownload is the only element. */
  if (padder != PADS_WHEN_ASKED || !g_str_equal (way, "vkgdrdownload"))
    fail_unless_equals_int (padded, N_FRAMES);
  for (i = 0; i < buffers->len; i++) {
    GstBuffer *buffer = g_ptr_array_index (buffers, i);

    fail_unless (is_default (&info, buffer));
    assert_content (&info, buffer, i);
  }
}

static void
setup (void)
{
  test_setup_bar ();
  fail_unless (gst_element_register (
      NULL, "testpadded", GST_RANK_NONE, TEST_TYPE_PADDED));
}

TEST_FIXTURE (setup, test_teardown);

TEST_LOOP (padding_ends, G_N_ELEMENTS (ways) * N_PADDERS)
{
  Padder padder = __i__ / G_N_ELEMENTS (ways);
  const gchar *way = ways[__i__ % G_N_ELEMENTS (ways)];
  guint f;

  for (f = 0; f < G_N_ELEMENTS (formats); f++)
    if (!strstr (way, "cudafilter") || f < 4)
      check_padding_ends (padder, way, formats[f], 38);
}

/* The last Cr of a row is copied, too. It comes after the last luma sample, and
 * in UYVY in the same four bytes. */
TEST (padding_ends_at_odd_widths)
{
  static const GstVideoFormat packed[] = { GST_VIDEO_FORMAT_YUY2,
    GST_VIDEO_FORMAT_UYVY, GST_VIDEO_FORMAT_Y210, GST_VIDEO_FORMAT_NV12 };
  guint f;

  for (f = 0; f < G_N_ELEMENTS (packed); f++) {
    check_padding_ends (PADS_ALWAYS, "vkgdrupload", packed[f], 37);
    check_padding_ends (CROPS_ALWAYS, "vkgdrupload", packed[f], 37);
    check_padding_ends (
        PADS_WHEN_ASKED, "vkgdrupload ! vkgdrdownload", packed[f], 37);
  }
}

/* The frames in a file have 960 bytes each, not 1024. */
TEST (padding_reaches_no_file)
{
  g_autofree gchar *path =
      g_build_filename (g_get_tmp_dir (), "vkgdr-XXXXXX", NULL);
  gint fd = g_mkstemp (path);
  GstElement *pipeline = test_launch (
      "testpadded ! vkgdrupload ! vkgdrdownload ! filesink location=%s", path);
  gsize size;
  gchar *data;

  wanted.padder = PADS_WHEN_ASKED;
  wanted.format = GST_VIDEO_FORMAT_NV12;
  wanted.width = 32;
  wanted.height = 20;
  test_play (pipeline);
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  fail_unless_equals_uint64 (size, N_FRAMES * 960);
  g_free (data);
  gst_object_unref (pipeline);
  close (fd);
  g_unlink (path);
}

/* Leaves pinned memory of @size bytes, which another owner has written. */
static void
leave_bytes (GstVkgdrAllocator *allocator, gsize size)
{
  GstMemory *memories[8];
  GstMapInfo map;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (memories); i++) {
    memories[i] = gst_vkgdr_allocator_alloc_pinned (allocator, size, NULL);
    fail_unless (gst_memory_map (memories[i], &map, GST_MAP_WRITE));
    memset (map.data, 0xee, map.size);
    gst_memory_unmap (memories[i], &map);
  }
  for (i = 0; i < G_N_ELEMENTS (memories); i++)
    gst_memory_unref (memories[i]);
}

/* Luma rows of 63 pixels end with a byte that is no part of the picture. */
static void
assert_padding_is_clear (const GstVideoInfo *info, GstBuffer *buffer)
{
  GstMapInfo map;
  gint y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (y = 0; y < GST_VIDEO_INFO_HEIGHT (info); y++)
    fail_unless_equals_int (
        map.data[(y + 1) * GST_VIDEO_INFO_PLANE_STRIDE (info, 0) - 1], 0);
  gst_buffer_unmap (buffer, &map);
}

/* The padding of the output contains nothing of other owners, though no frame
 * writes it. */
TEST (padding_has_no_bytes_of_others)
{
  GstVkgdrContext *context = test_context_new ();
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstContext *gst_context = gst_vkgdr_context_to_gst_context (context);
  GstElement *pipeline = test_launch (
      "testpadded ! vkgdrupload ! vkgdrdownload ! appsink name=sink");
  GPtrArray *buffers;
  GstVideoInfo info;
  guint i;

  wanted.padder = PADS_WHEN_ASKED;
  wanted.format = GST_VIDEO_FORMAT_NV12;
  wanted.width = 63;
  wanted.height = 22;
  gst_video_info_set_format (&info, wanted.format, wanted.width, wanted.height);
  leave_bytes (allocator, GST_VIDEO_INFO_SIZE (&info));
  gst_element_set_context (pipeline, gst_context);
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, N_FRAMES);
  for (i = 0; i < buffers->len; i++)
    assert_padding_is_clear (&info, g_ptr_array_index (buffers, i));
  g_ptr_array_unref (buffers);
  gst_object_unref (pipeline);
  gst_context_unref (gst_context);
  gst_object_unref (allocator);
  gst_object_unref (context);
}

/* If an element asks for GstVideoMeta, it gets the same buffers with their
 * padding. */
TEST_LOOP (padding_is_kept_on_request, 2)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "testpadded ! identity name=before ! vkgdrupload name=up ! "
      "identity name=mid ! vkgdrdownload name=down ! fakesink name=sink");
  gint before = 0, mid = 0, after = 0;
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);

  wanted.padder = PADS_WHEN_ASKED;
  wanted.format = GST_VIDEO_FORMAT_NV12;
  wanted.width = wanted.height = 64;
  add_probe (
      pipeline, "before", GST_PAD_PROBE_TYPE_BUFFER, count_padded, &before);
  add_probe (pipeline, "mid", GST_PAD_PROBE_TYPE_BUFFER, count_padded, &mid);
  add_probe (pipeline, "sink", GST_PAD_PROBE_TYPE_BUFFER, count_padded, &after);
  if (__i__)
    add_probe (pipeline, "sink", GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        ask_for_meta, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (gst_bus_timed_pop_filtered (
      bus, 50 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless_equals_int (before, N_FRAMES);
  fail_unless_equals_int (mid, N_FRAMES);
  fail_unless_equals_int (after, __i__ ? N_FRAMES : 0);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "up", "frames-packed"), 0);
  fail_unless_equals_uint64 (
      test_stat_of (pipeline, "down", "frames-packed"), __i__ ? 0 : N_FRAMES);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- tiles --------------------------------------------------------------- */

/* Bytes in front of the first plane. */
#define SHIFT 4096

/* A frame with bytes in front of its first plane. */
static GstBuffer *
make_shifted_tiles (GstVideoInfo *info, gboolean is_on_device)
{
  gsize size, offsets[GST_VIDEO_MAX_PLANES];
  GstBuffer *buffer = gst_buffer_new ();
  guint p;

  fail_unless (
      gst_video_info_set_format (info, GST_VIDEO_FORMAT_NV12_4L4, 64, 48));
  size = GST_VIDEO_INFO_SIZE (info) + SHIFT;
  gst_buffer_append_memory (
      buffer, is_on_device ? test_memory_new (test_context, size)
                           : gst_allocator_alloc (NULL, size, NULL));
  for (p = 0; p < GST_VIDEO_MAX_PLANES; p++)
    offsets[p] = info->offset[p] + SHIFT;
  gst_buffer_memset (buffer, 0, 0, SHIFT);
  gst_buffer_memset (buffer, SHIFT, 7, size - SHIFT);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (info), 64, 48, GST_VIDEO_INFO_N_PLANES (info),
      offsets, info->stride);
  return buffer;
}

/* The CPU packs tiles, and the statistics say so, wherever the frame was. */
TEST_LOOP (packed_tiles_are_copied, 2)
{
  const gchar *caps =
      __i__ ? "video/x-raw(memory:VkgdrMemory),format=NV12_4L4,width=64,"
              "height=48,framerate=30/1"
            : "video/x-raw,format=NV12_4L4,width=64,height=48,framerate=30/1";
  g_autoptr (GstElement) upload =
      gst_element_factory_make ("vkgdrupload", NULL);
  g_autoptr (GstStructure) stats = NULL;
  guint64 copied, packed;
  GstVideoInfo info;
  g_autoptr (GstBuffer) buffer = NULL;
  g_autoptr (GstHarness) h = NULL;

  h = test_harness_new (gst_object_ref (upload));
  gst_harness_set_src_caps_str (h, caps);
  buffer = gst_harness_push_and_pull (h, make_shifted_tiles (&info, __i__));
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), info.size);
  fail_unless_equals_int (gst_buffer_memcmp (buffer, 0, "\7\7\7\7", 4), 0);
  g_object_get (upload, "stats", &stats, NULL);
  gst_structure_get (stats, "bytes-copied", G_TYPE_UINT64, &copied,
      "frames-packed", G_TYPE_UINT64, &packed, NULL);
  fail_unless_equals_uint64 (packed, 1);
  fail_unless_equals_uint64 (copied, info.size + SHIFT);
}

/* --- wrong metas --------------------------------------------------------- */

/* A picture in a GstVideoMeta, and the place of the visible part in it, whose
 * size is 64x48. */
static const struct {
  GstVideoFormat format;
  guint width, height; /* 0: there is no GstVideoMeta */
  guint x, y;
  gboolean is_inside;
} visible[] = {
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 32, TRUE },
  { GST_VIDEO_FORMAT_NV12, 97, 81, 33, 33, TRUE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 33, 32, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 33, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, G_MAXUINT - 31, 32, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 1 << 30, FALSE },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 1, 0, FALSE },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 0, 1, FALSE },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 0, 1 << 30, FALSE },
  { GST_VIDEO_FORMAT_NV12_4L4, 96, 80, 4, 4, FALSE }, /* tiles */
  { GST_VIDEO_FORMAT_RGB8P, 96, 80, 4, 4, FALSE },    /* a palette */
  { GST_VIDEO_FORMAT_v210, 96, 80, 0, 4, TRUE },
  { GST_VIDEO_FORMAT_v210, 96, 80, 6, 4, FALSE }, /* pixels share bytes */
};

static GstBuffer *
make_visible (guint i, GstVkgdrContext *context)
{
  GstVideoFormat format = visible[i].format;
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);
  GstVideoInfo info;

  fail_unless (gst_video_info_set_format (&info, format,
      visible[i].width ? visible[i].width : 64,
      visible[i].height ? visible[i].height : 48));
  gst_buffer_append_memory (
      buffer, context ? test_memory_new (context, info.size)
                      : gst_allocator_alloc (NULL, info.size, NULL));
  gst_buffer_memset (buffer, 0, 7, info.size);
  if (visible[i].width > 0)
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, format,
        info.width, info.height, info.finfo->n_planes, info.offset,
        info.stride);
  crop->x = visible[i].x;
  crop->y = visible[i].y;
  crop->width = 64;
  crop->height = 48;
  return buffer;
}

/* Packing refuses a frame whose visible part is not in its picture, instead of
 * reading other memory. */
static void
check_visible (guint i, const gchar *element, gboolean is_on_device)
{
  g_autofree gchar *caps = g_strdup_printf (
      "video/x-raw%s,format=%s,width=64,height=48,framerate=30/1",
      is_on_device ? "(memory:VkgdrMemory)" : "",
      gst_video_format_to_string (visible[i].format));
  g_autoptr (GstHarness) h =
      test_harness_new (gst_element_factory_make (element, NULL));
  GstBuffer *buffer = make_visible (i, is_on_device ? test_context : NULL);

  gst_harness_set_src_caps_str (h, caps);
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  buffer = gst_harness_try_pull (h);
  fail_unless ((buffer != NULL) == visible[i].is_inside);
  gst_clear_buffer (&buffer);
}

TEST_LOOP (crop_outside, G_N_ELEMENTS (visible))
{
  check_visible (__i__, "vkgdrupload", FALSE);
  check_visible (__i__, "vkgdrupload", TRUE);
  check_visible (__i__, "vkgdrdownload", TRUE);
}

/* In UYVY, two pixels share Cb and Cr. If a crop begins with the second of two
 * such pixels, only luma moves by one pixel, so that Cb and Cr do not change
 * places. */
TEST (crop_keeps_the_order_of_cb_and_cr)
{
  g_autoptr (GstHarness) h = NULL;
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoInfo info;
  guint8 row[128];
  guint i;

  h = test_harness_new (gst_element_factory_make ("vkgdrupload", NULL));
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=UYVY,width=64,height=48,framerate=30/1");
  fail_unless (
      gst_video_info_set_format (&info, GST_VIDEO_FORMAT_UYVY, 96, 80));
  buffer = gst_buffer_new_allocate (NULL, info.size, NULL);
  for (i = 0; i < info.size; i++)
    gst_buffer_memset (buffer, i, i % info.stride[0], 1);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      info.finfo->format, 96, 80, 1, info.offset, info.stride);
  gst_buffer_add_video_crop_meta (buffer)->x = 5;
  buffer = gst_harness_push_and_pull (h, buffer);
  gst_buffer_extract (buffer, 0, row, sizeof (row));
  for (i = 0; i < sizeof (row); i++)
    fail_unless_equals_int (row[i], 8 + i + (i % 2 ? 2 : 0));
}

/* An odd number of pixels at the left, and one after which the rows are as long
 * as before. */
static const gchar *crops[] = { "left=6 top=4 right=2 bottom=2",
  "left=5 top=3 right=8", "right=2", "left=0" };

/* Returns the last frame. Sets @info to its caps. */
static GstBuffer *
play_cropped (const gchar *format, const gchar *elements, GstVideoInfo *info)
{
  GstElement *pipeline = test_launch (
      "videotestsrc num-buffers=3 pattern=smpte75 ! "
      "video/x-raw,format=%s,width=64,height=48 ! %s ! vkgdrdownload ! "
      "appsink name=sink",
      format, elements);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstBuffer *last = NULL;
  GstSample *sample;

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    gst_buffer_replace (&last, gst_sample_get_buffer (sample));
    fail_unless (gst_video_info_from_caps (info, gst_sample_get_caps (sample)));
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  fail_unless (last != NULL, "no frame of %s", elements);
  return last;
}

/* Compares the samples, but not the bytes between the rows. */
static void
assert_same_samples (GstVideoInfo *info, GstBuffer *a, GstBuffer *b)
{
  GstMapInfo one, other;
  guint p, y;

  fail_unless (gst_buffer_map (a, &one, GST_MAP_READ));
  fail_unless (gst_buffer_map (b, &other, GST_MAP_READ));
  fail_unless_equals_uint64 (one.size, info->size);
  fail_unless_equals_uint64 (other.size, info->size);
  for (p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    for (y = 0; y < row_count (info, p); y++) {
      gsize at = info->offset[p] + y * info->stride[p];

      fail_unless (
          memcmp (one.data + at, other.data + at, row_bytes (info, p)) == 0,
          "row %u of plane %u differs", y, p);
    }
  gst_buffer_unmap (b, &other);
  gst_buffer_unmap (a, &one);
}

static void
check_videocrop (const gchar *format, const gchar *crop)
{
  g_autofree gchar *cpu = g_strdup_printf ("videocrop %s ! vkgdrupload", crop);
  g_autofree gchar *device =
      g_strdup_printf ("vkgdrupload ! videocrop %s", crop);
  GstVideoInfo info;
  g_autoptr (GstBuffer) expected = play_cropped (format, cpu, &info);
  g_autoptr (GstBuffer) cropped = play_cropped (format, device, &info);

  fail_unless (is_default (&info, cropped), "%s, %s", format, crop);
  assert_same_samples (&info, expected, cropped);
}

/* videocrop only attaches a GstVideoCropMeta to frames on the device, if
 * downstream supports it. */
TEST (videocrop)
{
  static const gchar *whole[] = { "I420", "NV12", "RGBA", "GRAY8" };
  static const gchar *shared[] = { "YUY2", "UYVY", "YVYU" };
  guint f, c;

  if (!gst_registry_check_feature_version (
          gst_registry_get (), "videocrop", 1, 0, 0))
    return;
  for (f = 0; f < G_N_ELEMENTS (whole); f++)
    for (c = 0; c < G_N_ELEMENTS (crops); c++)
      check_videocrop (whole[f], crops[c]);
  for (f = 0; f < G_N_ELEMENTS (shared); f++) {
    check_videocrop (shared[f], crops[0]);
    check_videocrop (shared[f], "left=5 top=3 right=7");
  }
}

/* A region of interest would be at the wrong place in a picture that was
 * cropped at the left or at the top. Another crop may leave it outside. */
TEST (crop_drops_regions)
{
  g_autoptr (GstCaps) reference =
      gst_caps_new_empty_simple ("timestamp/x-test");
  guint i;

  for (i = 0; i < 2; i++) {
    g_autoptr (GstHarness) h =
        test_harness_new (gst_element_factory_make ("vkgdrdownload", NULL));
    g_autoptr (GstBuffer) buffer = make_visible (0, test_context);

    if (i)
      gst_buffer_get_video_crop_meta (buffer)->x =
          gst_buffer_get_video_crop_meta (buffer)->y = 0;
    gst_buffer_add_reference_timestamp_meta (buffer, reference, 42, 43);
    gst_buffer_add_video_region_of_interest_meta (buffer, "out", 64, 40, 4, 4);
    gst_buffer_add_video_region_of_interest_meta (buffer, "face", 60, 40, 8, 4);
    gst_harness_set_src_caps_str (h,
        "video/x-raw(memory:VkgdrMemory),"
        "format=NV12,width=64,height=48,framerate=30/1");
    buffer = gst_harness_push_and_pull (h, buffer);
    fail_unless_equals_uint64 (gst_buffer_get_size (buffer), 64 * 48 * 3 / 2);
    fail_unless_equals_int (gst_buffer_get_n_meta (buffer,
                                GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE),
        i);
    if (i) {
      const GstVideoRegionOfInterestMeta *region =
          (GstVideoRegionOfInterestMeta *) gst_buffer_get_meta (
              buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);

      fail_unless (region->x == 60 && region->y == 40);
      fail_unless (region->w == 4 && region->h == 4);
    }
    fail_unless_equals_int (
        gst_buffer_get_n_meta (buffer, GST_VIDEO_CROP_META_API_TYPE), 0);
    fail_unless (gst_buffer_get_reference_timestamp_meta (buffer, reference));
  }
}

/* A GstVideoMeta with too few rows of tiles, and one with a plane in front of
 * the buffer: the stride is negative, but the offset is that of the first row
 * in memory. */
TEST_LOOP (planes_outside, 2)
{
  const gchar *format = __i__ ? "GRAY8" : "NV12_4L4";
  g_autofree gchar *caps = g_strdup_printf (
      "video/x-raw,format=%s,width=64,height=48,framerate=30/1", format);
  GstVideoInfo info;
  GstBuffer *buffer;
  g_autoptr (GstHarness) h = NULL;

  h = test_harness_new (gst_element_factory_make ("vkgdrupload", NULL));
  gst_harness_set_src_caps_str (h, caps);
  fail_unless (gst_video_info_set_format (
      &info, gst_video_format_from_string (format), 64, 48));
  buffer = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (buffer, 0, 7, info.size);
  info.stride[0] = __i__ ? -64 : GST_VIDEO_TILE_MAKE_STRIDE (16, 1);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      info.finfo->format, 64, 48, info.finfo->n_planes, info.offset,
      info.stride);
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  fail_unless (gst_harness_try_pull (h) == NULL);
}

/* Kernels do not support negative strides. In YUY2, the last Cr of an odd
 * number of pixels comes after the luma samples. */
TEST (upside_down)
{
  g_autoptr (GstHarness) h = NULL;
  GstVideoInfo info;
  g_autoptr (GstBuffer) buffer = NULL;
  guint8 data[16], packed[16];
  gsize offset[GST_VIDEO_MAX_PLANES] = { 8 };
  gint stride[GST_VIDEO_MAX_PLANES] = { -8 };
  guint i;

  h = test_harness_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=YUY2,width=3,height=2,framerate=30/1");
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_YUY2, 3, 2);
  for (i = 0; i < sizeof (data); i++)
    data[i] = i;
  buffer = gst_buffer_new_memdup (data, sizeof (data));
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      info.finfo->format, 3, 2, 1, offset, stride);
  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless_equals_int (gst_buffer_extract (buffer, 0, packed, 16), 16);
  for (i = 0; i < 8; i++)
    if (i != 6) /* the luma of a fourth pixel */
      fail_unless (packed[i] == 8 + i && packed[8 + i] == i);
}

/* --- all formats --------------------------------------------------------- */

/* A frame of the offered pool comes back with the default layout. */
static void
check_format (GstVideoFormat format)
{
  GstVideoInfo info;
  g_autoptr (GstBufferPool) pool = NULL;
  guint size = 0, min, max;
  GstStructure *config;
  GstBuffer *buffer;
  g_autoptr (GstHarness) h = NULL;
  g_autoptr (GstQuery) query = NULL;
  g_autoptr (GstCaps) caps = NULL;
  GstMapInfo map;
  g_autofree gchar *text = NULL;

  fail_unless (gst_video_info_set_format (&info, format, 70, 38));
  text = g_strdup_printf (
      "video/x-raw,format=%s,width=70,height=38,framerate=30/1",
      gst_video_format_to_string (format));
  /* A GPU takes up to a second to open, so it is not opened for each format. */
  h = test_harness_parse ("vkgdrupload ! vkgdrdownload");
  caps = gst_caps_from_string (text);
  query = gst_query_new_allocation (caps, TRUE);
  gst_harness_set_src_caps (h, gst_caps_ref (caps));
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  fail_unless_equals_int (size, info.size);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), info.size);
  fail_unless (gst_buffer_get_video_meta (buffer) != NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, 1);
  gst_buffer_unmap (buffer, &map);
  fail_unless (gst_harness_push (h, buffer) == GST_FLOW_OK, "%s", text);
  buffer = gst_harness_pull (h);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, info.size);
  fail_unless (test_matches (map.data, map.size, 1));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  gst_buffer_pool_set_active (pool, FALSE);
}

TEST (every_format)
{
  g_autoptr (GstCaps) all =
      gst_caps_from_string (GST_VIDEO_CAPS_MAKE (GST_VIDEO_FORMATS_ALL));
  const GValue *list =
      gst_structure_get_value (gst_caps_get_structure (all, 0), "format");
  guint i;

  fail_unless (gst_value_list_get_size (list) > 100);
  for (i = 0; i < gst_value_list_get_size (list); i++)
    check_format (gst_video_format_from_string (
        g_value_get_string (gst_value_list_get_value (list, i))));
}
