/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * layout.c: tests of the layout of frames: elements that ask for GstVideoMeta
 * get it, and all other elements get the default layout
 */

#include "table.h"

#define N_FRAMES 3

/* --- frames -------------------------------------------------------------- */

static void
init_info (GstVideoInfo *info, GstVideoFormat format, gint width, gint height)
{
  fail_unless (gst_video_info_set_format (info, format, width, height));
  GST_VIDEO_INFO_FPS_N (info) = 30;
}

/* Some of GStreamer's functions unpack a few pixels more than there are. */
#define PIXELS_MORE 16

/* Returns the pixels of the visible part of @buffer, wherever its planes are:
 * four components for each of them, as GStreamer unpacks them. */
static GByteArray *
read_visible (const GstVideoInfo *info, GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  const GstVideoFormatInfo *finfo = info->finfo;
  gint comp[GST_VIDEO_MAX_COMPONENTS], stride[GST_VIDEO_MAX_PLANES], y;
  gpointer planes[GST_VIDEO_MAX_PLANES] = { NULL };
  guint16 row[4 * (128 + PIXELS_MORE)];
  GByteArray *pixels = g_byte_array_new ();
  GstMapInfo map;
  guint p, size;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (p = 0; p < finfo->n_planes; p++) {
    stride[p] = meta ? meta->stride[p] : info->stride[p];
    planes[p] = map.data + (meta ? meta->offset[p] : info->offset[p]);
    gst_video_format_info_component (finfo, p, comp);
    if (crop)
      planes[p] =
          (guint8 *) planes[p] + (crop->y >> finfo->h_sub[comp[0]]) * stride[p]
          + (crop->x >> finfo->w_sub[comp[0]]) * finfo->pixel_stride[comp[0]];
  }
  size = gst_video_format_get_info (finfo->unpack_format)->pixel_stride[0];
  for (y = 0; y < info->height; y++) {
    finfo->unpack_func (finfo, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE, row, planes,
        stride, 0, y, info->width);
    g_byte_array_append (pixels, (guint8 *) row, size * info->width);
  }
  gst_buffer_unmap (buffer, &map);
  return pixels;
}

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

/* Pushes @buffer, and fails unless its picture comes out in the default
 * layout. */
static void
check_packed (GstHarness *h, const GstVideoInfo *info, GstBuffer *buffer)
{
  GByteArray *wanted = read_visible (info, buffer);

  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless (buffer && is_default (info, buffer), "%s", info->finfo->name);
  test_assert_same (read_visible (info, buffer), wanted);
  gst_buffer_unref (buffer);
}

static void
fill (GstBuffer *buffer, guint seed)
{
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, seed);
  gst_buffer_unmap (buffer, &map);
}

/* A buffer whose GstVideoMeta has the layout of @layout. Its memory is on the
 * device or not, and has a pattern. */
static GstBuffer *
make_buffer (const GstVideoInfo *layout, gsize size, gboolean is_on_device)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (
      buffer, is_on_device ? test_memory_new (test_context, size)
                           : gst_allocator_alloc (NULL, size, NULL));
  fill (buffer, 7);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      layout->finfo->format, layout->width, layout->height,
      layout->finfo->n_planes, (gsize *) layout->offset,
      (gint *) layout->stride);
  return buffer;
}

static void
set_crop (GstBuffer *buffer, guint x, guint y, guint width, guint height)
{
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);

  crop->x = x;
  crop->y = y;
  crop->width = width;
  crop->height = height;
}

/* Sets the caps of the input to those of @info. */
static void
set_caps (GstHarness *h, const GstVideoInfo *info, gboolean is_on_device)
{
  GstCaps *caps = gst_video_info_to_caps (info);

  if (is_on_device)
    gst_caps_set_features_simple (caps,
        gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL));
  gst_harness_set_src_caps (h, caps);
}

/* --- padding ------------------------------------------------------------- */

typedef enum {
  PADS_WHEN_ASKED, /* in the offered pool, if it takes GstVideoAlignment */
  PADS_ALWAYS,     /* in ordinary memory, without being asked */
  PADS_IN_PIECES,  /* likewise, each plane in a memory of its own */
  PADS_ACROSS,     /* likewise, planes are spread over memories */
  PADS_ODDLY,      /* likewise, offsets and strides are odd */
  LARGER_ALWAYS,   /* likewise, and the GstVideoMeta is of the larger size */
  N_PADDERS
} Padder;

/* Returns the pool that is offered to a decoder, with padding. NULL if
 * GstVideoMeta is not asked for. */
static GstBufferPool *
offered_pool (GstHarness *h, const GstVideoInfo *info)
{
  g_autoptr (GstCaps) caps = gst_video_info_to_caps (info);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstVideoAlignment alignment;
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size, min, max;

  if (!gst_pad_peer_query (h->srcpad, query)
      || !gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL))
    return NULL;
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  fail_unless_equals_uint64 (size, info->size);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = alignment.padding_right = 16;
  alignment.padding_top = 2;
  alignment.padding_bottom = 8;
  gst_buffer_pool_config_add_option (
      config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  gst_buffer_pool_set_config (pool, config); /* FALSE if it changes the size */
  config = gst_buffer_pool_get_config (pool);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

/* Replaces the memory by pieces of @size bytes, the last of which may have
 * less. */
static void
split_memory (GstBuffer *buffer, gsize size)
{
  gsize left = gst_buffer_get_size (buffer);

  gst_buffer_remove_all_memory (buffer);
  for (; left > 0; left -= MIN (left, size))
    gst_buffer_append_memory (
        buffer, gst_allocator_alloc (NULL, MIN (left, size), NULL));
}

/* Makes room for one more byte before each plane and in each row. */
static void
make_odd (GstVideoInfo *info)
{
  gsize offset = 1;
  guint p;

  for (p = 0; p < info->finfo->n_planes; p++) {
    info->stride[p] |= 1;
    info->offset[p] = offset;
    offset += (gsize) info->stride[p] * info->height;
    offset |= 1;
  }
  info->size = offset;
}

/* Makes a frame that is padded, whose bytes are pattern @seed. */
static GstBuffer *
make_padded (
    const GstVideoInfo *info, guint seed, Padder padder, GstBufferPool *pool)
{
  gsize size[GST_VIDEO_MAX_PLANES];
  GstVideoAlignment alignment;
  GstVideoInfo larger;
  GstBuffer *buffer;
  guint p;

  if (pool) {
    fail_unless (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == 0);
  } else if (padder == PADS_WHEN_ASKED) {
    buffer = gst_buffer_new_allocate (NULL, info->size, NULL);
  } else {
    init_info (
        &larger, info->finfo->format, info->width + 32, info->height + 16);
    gst_video_alignment_reset (&alignment);
    fail_unless (gst_video_info_align_full (&larger, &alignment, size));
    if (padder != LARGER_ALWAYS) {
      larger.width = info->width;
      larger.height = info->height;
    }
    if (padder == PADS_ODDLY)
      make_odd (&larger);
    buffer = make_buffer (&larger, larger.size, FALSE);
  }
  if (padder == PADS_ACROSS)
    split_memory (buffer, larger.size / 3);
  if (padder == PADS_IN_PIECES) {
    gst_buffer_remove_all_memory (buffer);
    for (p = 0; p < info->finfo->n_planes; p++)
      gst_buffer_append_memory (
          buffer, gst_allocator_alloc (NULL, size[p], NULL));
  }
  fill (buffer, seed);
  return buffer;
}

/* In rows of an odd width, the last Cr comes after the last luma sample. In
 * UYVY it is in the same four bytes. */
static const struct {
  GstVideoFormat format;
  gint width;
} formats[] = { { GST_VIDEO_FORMAT_I420, 38 }, { GST_VIDEO_FORMAT_NV12, 37 },
  { GST_VIDEO_FORMAT_RGBA, 38 }, { GST_VIDEO_FORMAT_GRAY8, 38 },
  { GST_VIDEO_FORMAT_Y444_10LE, 38 }, { GST_VIDEO_FORMAT_P010_10LE, 38 },
  { GST_VIDEO_FORMAT_UYVY, 38 }, { GST_VIDEO_FORMAT_UYVY, 37 },
  { GST_VIDEO_FORMAT_YUY2, 37 }, { GST_VIDEO_FORMAT_Y210, 37 } };

static const gchar *const ways[] = {
  "vkgdrupload",
  "vkgdrupload ! vkgdrdownload",
  "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload",
  "vkgdrupload ! cudafilter kernel=copy",
  "vkgdrdownload",
};

/* A sink that does not ask for GstVideoMeta gets frames of the size that
 * follows from their caps. */
static void
check_padding_ends (
    Padder padder, const gchar *way, GstVideoFormat format, gint width)
{
  /* vkgdrdownload asks for GstVideoMeta only if the frames are on the device.
   */
  gboolean asks = !g_str_equal (way, "vkgdrdownload");
  g_autoptr (GstHarness) h = test_harness_parse (way);
  g_autoptr (GstBufferPool) pool = NULL;
  GstVideoInfo info;
  guint i;

  init_info (&info, format, width, 22);
  set_caps (h, &info, FALSE);
  if (padder == PADS_WHEN_ASKED)
    pool = offered_pool (h, &info);
  for (i = 0; i < N_FRAMES; i++) {
    GstBuffer *buffer = make_padded (&info, i, padder, pool);

    fail_unless_equals_int (
        is_default (&info, buffer), padder == PADS_WHEN_ASKED && !asks);
    check_packed (h, &info, buffer);
  }
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST_LOOP (padding_ends, N_PADDERS)
{
  guint w, f;

  for (w = 0; w < G_N_ELEMENTS (ways); w++)
    for (f = 0; f < G_N_ELEMENTS (formats); f++)
      if (!strstr (ways[w], "cudafilter") || f < 4)
        check_padding_ends (
            __i__, ways[w], formats[f].format, formats[f].width);
}

TEST (every_format)
{
  guint i, n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);

  fail_unless (n > 100);
  for (i = 0; i < n; i++) {
    g_autofree gchar *caps = g_strdup_printf (
        "video/x-raw,format=%s,width=70,height=22,framerate=1/1",
        gst_video_format_to_string (all[i]));

    test_check_flow (&(const TestFlow){ "vkgdrupload ! vkgdrdownload", caps });
  }
}

/* Leaves memory of @size bytes, pinned and on the device, which another owner
 * has written. */
static void
leave_bytes (gsize size)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memories[8];
  guint i;

  for (i = 0; i < G_N_ELEMENTS (memories); i++) {
    memories[i] =
        i % 2 ? gst_vkgdr_allocator_alloc (allocator, size, NULL)
              : gst_vkgdr_allocator_alloc_pinned (allocator, size, NULL);
    test_write (memories[i], i);
  }
  for (i = 0; i < G_N_ELEMENTS (memories); i++)
    gst_memory_unref (memories[i]);
}

/* The padding of the output contains nothing of other owners, though no frame
 * writes it: luma rows of 63 pixels end with a byte that is 0. The element that
 * packs is vkgdrdownload in the first round, and vkgdrupload in the second. */
TEST_LOOP (padding_has_no_bytes_of_others, 2)
{
  g_autoptr (GstHarness) h = test_harness_parse (
      __i__ ? "vkgdrupload" : "vkgdrupload ! vkgdrdownload");
  g_autoptr (GstBufferPool) pool = NULL;
  GstVideoInfo info;
  GstMapInfo map;
  guint i, y;

  init_info (&info, GST_VIDEO_FORMAT_NV12, 63, 22);
  leave_bytes (info.size);
  set_caps (h, &info, FALSE);
  pool = offered_pool (h, &info);
  for (i = 0; i < N_FRAMES; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (
        h, make_padded (&info, 7, PADS_WHEN_ASKED, pool));

    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    for (y = 0; y < 22; y++)
      fail_unless_equals_int (map.data[(y + 1) * info.stride[0] - 1], 0);
    gst_buffer_unmap (buffer, &map);
  }
}

/* If an element asks for GstVideoMeta, it gets the same buffers with their
 * padding, and nothing is packed. */
TEST_LOOP (padding_is_kept_on_request, 2)
{
  g_autoptr (GstHarness) h =
      test_harness_parse ("vkgdrupload name=up ! vkgdrdownload name=down");
  g_autoptr (GstBufferPool) pool = NULL;
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoInfo info;

  init_info (&info, GST_VIDEO_FORMAT_NV12, 64, 64);
  if (__i__)
    gst_harness_add_propose_allocation_meta (h, GST_VIDEO_META_API_TYPE, NULL);
  set_caps (h, &info, FALSE);
  pool = offered_pool (h, &info);
  buffer = gst_harness_push_and_pull (
      h, make_padded (&info, 0, PADS_WHEN_ASKED, pool));
  fail_unless_equals_int (is_default (&info, buffer), !__i__);
  fail_unless_equals_uint64 (
      test_stat_of (h->element, "up", "frames-packed"), 0);
  fail_unless_equals_uint64 (
      test_stat_of (h->element, "down", "frames-packed"), !__i__);
}

/* --- tiles --------------------------------------------------------------- */

/* Bytes in front of the first plane. */
#define SHIFT 4096

/* The CPU packs tiles, and the statistics say so, wherever the frame was. */
TEST_LOOP (packed_tiles_are_copied, 2)
{
  g_autoptr (GstHarness) h = test_harness_parse ("vkgdrupload name=up");
  GstVideoInfo info, shifted;
  guint p;

  init_info (&info, GST_VIDEO_FORMAT_NV12_4L4, 64, 48);
  shifted = info;
  for (p = 0; p < GST_VIDEO_MAX_PLANES; p++)
    shifted.offset[p] += SHIFT;
  set_caps (h, &info, __i__);
  check_packed (h, &info, make_buffer (&shifted, info.size + SHIFT, __i__));
  fail_unless_equals_uint64 (
      test_stat_of (h->element, "up", "frames-packed"), 1);
  fail_unless_equals_uint64 (
      test_stat_of (h->element, "up", "bytes-copied"), info.size + SHIFT);
}

/* --- wrong metas --------------------------------------------------------- */

/* A picture in a GstVideoMeta, and the place of the visible part in it, whose
 * size is 64x48, or less in some rows. */
static const struct {
  GstVideoFormat format;
  guint width, height; /* 0: there is no GstVideoMeta */
  guint x, y;
  gboolean is_inside;
  enum { BY_ALL, BY_PACKERS, BY_FILTERS } by; /* the elements */
  gint stride; /* of the first plane, unless it is the default one */
  gsize offset;
  guint less; /* columns that the visible part has less than 64 */
} visible[] = {
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 32, TRUE },
  { GST_VIDEO_FORMAT_NV12, 97, 81, 33, 33, TRUE },
  { GST_VIDEO_FORMAT_I420, 96, 80, 6, 4, TRUE },
  { GST_VIDEO_FORMAT_I420_10LE, 96, 80, 5, 3, TRUE },
  { GST_VIDEO_FORMAT_RGB, 96, 80, 5, 3, TRUE },
  { GST_VIDEO_FORMAT_AYUV, 96, 80, 5, 3, TRUE },
  /* The rows of the crop are as long as those of the picture. */
  { GST_VIDEO_FORMAT_NV12, 64, 48, 0, 0, TRUE, .less = 2 },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 33, 32, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 33, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, G_MAXUINT - 31, 32, FALSE },
  { GST_VIDEO_FORMAT_NV12, 96, 80, 32, 1 << 30, FALSE },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 1, 0, FALSE, BY_PACKERS },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 0, 1, FALSE, BY_PACKERS },
  { GST_VIDEO_FORMAT_NV12, 0, 0, 0, 1 << 30, FALSE, BY_PACKERS },
  /* tiles, a palette */
  { GST_VIDEO_FORMAT_NV12_4L4, 96, 80, 4, 4, FALSE, BY_PACKERS },
  { GST_VIDEO_FORMAT_RGB8P, 96, 80, 4, 4, FALSE, BY_PACKERS },
  /* Pixels share bytes. */
  { GST_VIDEO_FORMAT_v210, 96, 80, 0, 4, TRUE },
  { GST_VIDEO_FORMAT_v210, 96, 80, 6, 4, FALSE },
  { GST_VIDEO_FORMAT_YUY2, 96, 80, 8, 4, TRUE },
  { GST_VIDEO_FORMAT_YUY2, 96, 80, 9, 4, FALSE, BY_FILTERS },
  /* too few rows of tiles */
  { GST_VIDEO_FORMAT_NV12_4L4, 64, 48, 0, 0, FALSE, BY_PACKERS,
      GST_VIDEO_TILE_MAKE_STRIDE (16, 1) },
  /* A picture that is upside down begins with the last row in memory. In the
   * second row, the plane begins in front of the buffer. */
  { GST_VIDEO_FORMAT_YUY2, 64, 48, 0, 0, TRUE, BY_PACKERS, -128, 47 * 128 },
  { GST_VIDEO_FORMAT_GRAY8, 64, 48, 0, 0, FALSE, BY_PACKERS, -64 },
};

static GstBuffer *
make_visible (guint i, gboolean is_on_device)
{
  GstVideoInfo layout;
  GstBuffer *buffer;

  init_info (&layout, visible[i].format,
      visible[i].width ? visible[i].width : 64,
      visible[i].height ? visible[i].height : 48);
  if (visible[i].stride)
    layout.stride[0] = visible[i].stride;
  layout.offset[0] = visible[i].offset;
  buffer = make_buffer (&layout, layout.size, is_on_device);
  if (visible[i].width == 0)
    gst_buffer_remove_meta (
        buffer, (GstMeta *) gst_buffer_get_video_meta (buffer));
  set_crop (buffer, visible[i].x, visible[i].y, 64 - visible[i].less, 48);
  return buffer;
}

/* An element uses the visible part of a frame. If that is not in its picture,
 * or cannot be used, the element drops the frame instead of reading other
 * memory. */
static void
check_visible (guint i, const gchar *element, gboolean is_on_device)
{
  g_autoptr (GstHarness) h = test_harness_parse (element);
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoInfo info;

  init_info (&info, visible[i].format, 64 - visible[i].less, 48);
  set_caps (h, &info, is_on_device);
  if (visible[i].is_inside) {
    check_packed (h, &info, make_visible (i, is_on_device));
    return;
  }
  fail_unless_equals_int (
      gst_harness_push (h, make_visible (i, is_on_device)), GST_FLOW_OK);
  buffer = gst_harness_try_pull (h);
  fail_unless (buffer == NULL, "%s, row %u", element, i);
}

TEST (visible)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (visible); i++) {
    if (visible[i].by != BY_FILTERS) {
      check_visible (i, "vkgdrupload", FALSE);
      check_visible (i, "vkgdrupload", TRUE);
      check_visible (i, "vkgdrdownload", TRUE);
    }
    if (visible[i].by != BY_PACKERS)
      check_visible (i, "cudafilter kernel=copy", TRUE);
    /* Kernels do not support negative strides. */
    if (visible[i].is_inside)
      check_visible (i, "vkgdrupload ! cudafilter kernel=copy", FALSE);
  }
}

/* An element that asks for GstVideoMeta, but not for crops, would show all of
 * the picture. */
TEST (crop_for_an_element_that_reads_no_crops)
{
  g_autoptr (GstHarness) h = test_harness_parse ("vkgdrupload");
  GstVideoInfo info;

  gst_harness_add_propose_allocation_meta (h, GST_VIDEO_META_API_TYPE, NULL);
  init_info (&info, visible[0].format, 64, 48);
  set_caps (h, &info, FALSE);
  check_packed (h, &info, make_visible (0, FALSE));
}

/* In UYVY, two pixels share Cb and Cr. If a crop begins with the second of two
 * such pixels, only luma moves by one pixel, so that Cb and Cr do not change
 * places. */
TEST (crop_keeps_the_order_of_cb_and_cr)
{
  g_autoptr (GstHarness) h = test_harness_parse ("vkgdrupload");
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoInfo info, larger;
  guint8 row[128];
  guint i;

  init_info (&info, GST_VIDEO_FORMAT_UYVY, 64, 48);
  init_info (&larger, GST_VIDEO_FORMAT_UYVY, 96, 80);
  set_caps (h, &info, FALSE);
  buffer = make_buffer (&larger, larger.size, FALSE);
  for (i = 0; i < larger.size; i++)
    gst_buffer_memset (buffer, i, i % larger.stride[0], 1);
  set_crop (buffer, 5, 0, 64, 48);
  buffer = gst_harness_push_and_pull (h, g_steal_pointer (&buffer));
  gst_buffer_extract (buffer, 0, row, sizeof (row));
  for (i = 0; i < sizeof (row); i++)
    test_check_byte (i, row[i], 8 + i + (i % 2 ? 2 : 0));
}
