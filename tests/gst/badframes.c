/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames that do not fit their caps: one of them is dropped with a warning, and
 * the stream goes on. A picture that is larger than that of the caps is used
 * from its upper left corner.
 */

#include <gst/app/app.h>

#include "table.h"

#define WIDTH 64
#define HEIGHT 48
#define CAPS "format=%s,width=64,height=48,framerate=30/1"

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

/* A wrong frame in caps of @caps: @size bytes, or with a GstVideoMeta of
 * @format. */
typedef struct {
  const gchar *caps;
  gssize size;
  GstVideoFormat format;
  guint width, height;
  gsize last_offset; /* of the last plane; 0: the default */
  gint stride;       /* of all planes; -1: the default */
  guint crop_x;      /* the left side of a crop to the size of the caps */
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
  fail_unless (
      gst_video_info_set_format (&info, w->format, w->width, w->height));
  for (i = 0; w->stride >= 0 && i < info.finfo->n_planes; i++)
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

/* Plays three frames, of which the second is wrong. */
static void
check_dropped (const gchar *element, const Wrong *w)
{
  g_autofree gchar *caps = g_strdup_printf (CAPS, w->caps);
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=3 ! video/x-raw,%s ! %s ! fakesink name=sink",
      caps, element);
  g_autoptr (GArray) passed = test_note_pointers (pipeline, "sink", "sink");

  test_set_context (pipeline, test_context);
  test_add_probe (
      pipeline, "at", "src", GST_PAD_PROBE_TYPE_BUFFER, spoil, (gpointer) w);
  fail_unless_equals_int (test_play_count (pipeline, "dropped"), 1);
  fail_unless_equals_int (passed->len, 2);
}

TEST_FIXTURE (test_setup, test_teardown);

TEST_LOOP (dropped, G_N_ELEMENTS (elements))
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (wrong); i++)
    check_dropped (elements[__i__], &wrong[i]);
}

/* --- larger pictures ----------------------------------------------------- */

/* A decoder keeps the size that was coded, and does not crop. */
static GstBuffer *
new_coded (GstVideoFormat format)
{
  GstVideoInfo info;
  GstBuffer *buffer;
  guint8 *data;

  gst_video_info_set_format (&info, format, WIDTH, HEIGHT);
  data = g_malloc (info.size);
  test_fill (data, info.size, 3);
  buffer = gst_buffer_new_wrapped (data, info.size);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, format,
      WIDTH, HEIGHT, info.finfo->n_planes, info.offset, info.stride);
  return buffer;
}

/* Returns the content of the only output for a frame that is larger than its
 * caps: a tensor, or the rows of all planes, without padding. */
static GByteArray *
play_coded (GstVideoFormat format, const gchar *elements)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc name=src format=time caps=video/x-raw,format=%s,width=58,"
      "height=42,framerate=1/1 ! %s ! appsink name=sink sync=false",
      gst_video_format_to_string (format), elements);
  GstAppSrc *src = GST_APP_SRC (test_find (pipeline, "src"));
  g_autoptr (GPtrArray) buffers = NULL;
  GstVideoInfo info;
  guint8 *data;
  gsize size;

  test_set_context (pipeline, test_context);
  gst_app_src_push_buffer (src, new_coded (format));
  gst_app_src_end_of_stream (src);
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 1);
  gst_video_info_set_format (&info, format, 58, 42);
  if (!strstr (elements, "vkgdrtensor"))
    return test_frame_rows (g_ptr_array_index (buffers, 0), &info);
  data = test_buffer_bytes (g_ptr_array_index (buffers, 0), &size);
  return g_byte_array_new_take (data, size);
}

static const GstVideoFormat coded[] = { GST_VIDEO_FORMAT_NV12,
  GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_RGB };

#define COPY "vkgdrupload ! cudafilter kernel=copy ! "
#define TENSOR "vkgdrtensor width=16 height=16"

/* Elements, and others that give the same. */
static const gchar *const same[][2] = {
  { "vkgdrupload ! vkgdrdownload", "identity" },
  { COPY "vkgdrdownload", "identity" },
  { "vkgdrupload ! " TENSOR, COPY TENSOR },
};

TEST_LOOP (larger_picture, G_N_ELEMENTS (coded) * G_N_ELEMENTS (same))
{
  GstVideoFormat format = coded[__i__ % G_N_ELEMENTS (coded)];
  const gchar *const *elements = same[__i__ / G_N_ELEMENTS (coded)];

  test_assert_same (
      play_coded (format, elements[0]), play_coded (format, elements[1]));
}
