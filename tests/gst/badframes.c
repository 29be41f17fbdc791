/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * badframes.c: frames that do not fit their caps: one of them is dropped with a
 * warning, and the stream goes on
 */

#include "table.h"

#define WIDTH 64
#define HEIGHT 48

/* Bytes of a buffer for any of the metas below. */
#define LARGE (4 * WIDTH * HEIGHT)

static const gchar *const elements[] = {
  "identity name=at ! vkgdrupload",
  "identity name=at ! vkgdrupload ! capsfilter "
  "caps=video/x-raw(memory:VkgdrMemory) ! vkgdrdownload",
  "vkgdrupload ! identity name=at ! vkgdrdownload",
  "vkgdrupload ! identity name=at ! cudafilter kernel=invert",
  "vkgdrupload ! identity name=at ! cudafilter kernel=blur ! vkgdrdownload",
  "vkgdrupload ! identity name=at ! vkgdrtensor width=8 height=8",
};

/* A wrong frame in caps of the format @caps: @size bytes, or with a
 * GstVideoMeta of
 * @format. */
typedef struct {
  const gchar *caps;
  gssize size;
  GstVideoFormat format;
  guint width, height;
  gsize last_offset; /* of the last plane; 0: the default */
  gint stride;       /* of all planes; -1: the default */
  guint crop_x;      /* the left side of a crop to the size of the caps */
  gsize skip;        /* of new memory: the frame begins behind these bytes */
} Wrong;

static const Wrong wrong[] = {
  { "RGB", 1000 },
  { "RGB", 0 },
  { "RGB", -1, GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT, 0, -1 },
  { "RGB", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT, 0, -1 },
  { "I420", -1, GST_VIDEO_FORMAT_A420, WIDTH, HEIGHT, 0, -1 },
  { "I420", -1, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT, 0, -1 },
  { "I420", -1, GST_VIDEO_FORMAT_YV12, WIDTH, HEIGHT, 0, -1 },
  { "RGB", -1, GST_VIDEO_FORMAT_RGB, WIDTH / 2, HEIGHT, 0, -1 },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT - 2, 0, -1 },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT, LARGE - 1000, -1 },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT, G_MAXSIZE - 8, -1 },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH + 16, HEIGHT, G_MAXSIZE - 8, -1,
      16 },
  { "RGB", -1, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT, 0, -1, WIDTH },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT, 0, 0 },
  { "NV12", -1, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT, 0, G_MAXINT },
};

/* Frames that fit their caps, and that kernels cannot read. */
static const Wrong unreadable[] = {
  { "I420_10LE", -1, GST_VIDEO_FORMAT_I420_10LE, WIDTH, HEIGHT,
      2 * WIDTH *HEIGHT, 2 * WIDTH + 1 },
  { "P010_10LE", -1, GST_VIDEO_FORMAT_P010_10LE, WIDTH, HEIGHT,
      2 * WIDTH *HEIGHT - 1, -1 },
  { "RGB", -1, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT, 3 * WIDTH *(HEIGHT - 1),
      -3 * WIDTH },
  { "GRAY16_LE", -1, GST_VIDEO_FORMAT_GRAY16_LE, WIDTH, HEIGHT, 0, -1, 0, 1 },
};

/* Memory of the same kind, whose first bytes are left out. */
static void
move (GstBuffer *buffer, gsize skip)
{
  gsize size = gst_buffer_get_size (buffer);
  GstAllocator *allocator = gst_buffer_peek_memory (buffer, 0)->allocator;
  GstMemory *memory = gst_allocator_alloc (allocator, skip + size, NULL);

  gst_memory_resize (memory, skip, size);
  gst_buffer_replace_all_memory (buffer, memory);
}

static GstBuffer *
make_wrong (GstBuffer *frame, const Wrong *w)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoInfo info;
  guint i;

  gst_buffer_copy_into (buffer, frame, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  if (w->size > 0)
    gst_buffer_copy_into (buffer, frame, GST_BUFFER_COPY_MEMORY, 0, w->size);
  if (w->size >= 0)
    return buffer;
  gst_buffer_copy_into (buffer, frame, GST_BUFFER_COPY_MEMORY, 0, -1);
  if (w->skip)
    move (buffer, w->skip);
  fail_unless (
      gst_video_info_set_format (&info, w->format, w->width, w->height));
  for (i = 0; w->stride != -1 && i < info.finfo->n_planes; i++)
    info.stride[i] = w->stride;
  if (w->last_offset)
    info.offset[info.finfo->n_planes - 1] = w->last_offset;
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, w->format,
      w->width, w->height, info.finfo->n_planes, info.offset, info.stride);
  if (w->crop_x) {
    GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);

    crop->x = w->crop_x;
    crop->width = WIDTH;
    crop->height = HEIGHT;
  }
  return buffer;
}

/* Replaces the second frame. */
static GstPadProbeReturn
spoil (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *frame = GST_PAD_PROBE_INFO_BUFFER (info);

  if (GST_BUFFER_OFFSET (frame) == 1) {
    GST_PAD_PROBE_INFO_DATA (info) = make_wrong (frame, user_data);
    gst_buffer_unref (frame);
  }
  return GST_PAD_PROBE_OK;
}

TEST_FIXTURE (test_setup, test_teardown);

/* Plays three frames, of which the second is @w. Fails the test unless as many
 * are dropped with a warning that contains @parts. */
static void
play (const Wrong *w, const gchar *elements, guint dropped, const gchar *parts)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=3 ! video/x-raw,format=%s,width=64,height=48,"
      "framerate=30/1 ! %s ! fakesink name=sink",
      w->caps, elements);
  g_autoptr (GArray) passed = test_note_pointers (pipeline, "sink", "sink");

  test_set_context (pipeline, test_context);
  test_add_probe (
      pipeline, "at", "src", GST_PAD_PROBE_TYPE_BUFFER, spoil, (gpointer) w);
  test_play_count (pipeline, parts, dropped);
  fail_unless_equals_int (passed->len, 3 - dropped);
}

TEST_LOOP (dropped, G_N_ELEMENTS (elements))
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (wrong); i++)
    play (&wrong[i], elements[__i__], 1, "dropped");
}

/* alphacolor changes the order of the components in place, and leaves the
 * GstVideoMeta as it was. */
static const Wrong other_order = { "RGBA", -1, GST_VIDEO_FORMAT_ABGR, WIDTH,
  HEIGHT, 0, -1 };

TEST_LOOP (other_order, G_N_ELEMENTS (elements))
{
  play (&other_order, elements[__i__], 0, "dropped");
}

/* vkgdrupload packs what no kernel can read. Elements with kernels say so. */
TEST_LOOP (unreadable, G_N_ELEMENTS (elements))
{
  g_auto (GStrv) parts = g_strsplit (elements[__i__], "name=at", 2);
  gboolean has_kernel =
      strstr (parts[1], "kernel") || strstr (parts[1], "tensor");
  g_autofree gchar *packed =
      g_strconcat (parts[0], "name=at ! vkgdrupload", parts[1], NULL);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (unreadable); i++) {
    play (&unreadable[i], elements[__i__], has_kernel, "dropped|vkgdrupload");
    play (&unreadable[i], packed, 0, "dropped");
  }
}
