/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: frames in GPU memory with any layout, and kernels that run on them
 *
 * Does not depend on elements or pipelines.
 */

#include "frames.h"
#include "util.h"

GstVkgdrContext *frame_context;
GstVkgdrStream *frame_stream;

void
frame_setup (void)
{
  frame_context = test_context_new ();
  frame_stream = test_stream_new (frame_context);
}

void
frame_teardown (void)
{
  gst_clear_object (&frame_stream);
  gst_clear_object (&frame_context);
}

/* The value of bytes around the samples, which must not change. */
#define GUARD 0xee
/* The number of bytes in front of a padded frame, and behind each of its
 * rows. */
#define PAD_FRONT 20
#define PAD_ROW 6

static gint
plane_rows (const GstVideoInfo *info, gint plane)
{
  gint comp[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, comp);
  return GST_VIDEO_INFO_COMP_HEIGHT (info, comp[0]);
}

/* Returns @info, or the same with additional padding. */
static GstVideoInfo
layout_of (const GstVideoInfo *info, gboolean padded)
{
  GstVideoInfo l = *info;
  guint i;

  if (!padded)
    return l;
  l.size = PAD_FRONT;
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    l.stride[i] += PAD_ROW;
    l.offset[i] = l.size;
    l.size += (gsize) l.stride[i] * plane_rows (info, i);
  }
  return l;
}

/* GStreamer's functions read a few bytes behind the end of some small frames.
 */
#define READ_BEHIND 8

static guint8 *
frame_alloc (const GstVideoInfo *info)
{
  return g_malloc0 (GST_VIDEO_INFO_SIZE (info) + READ_BEHIND);
}

guint8 *
frame_noise (const GstVideoInfo *info)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (GST_VIDEO_INFO_WIDTH (info));
  guint8 *data = frame_alloc (info);
  gsize i;

  for (i = 0; i < GST_VIDEO_INFO_SIZE (info); i++)
    data[i] = g_rand_int (rand) >> 24;
  return data;
}

/* Copies the samples from a frame of the default layout to one of @l, or
 * back. */
static void
copy_frame (const GstVideoInfo *info, const GstVideoInfo *l, guint8 *plain,
    guint8 *laid_out, gboolean to_plain)
{
  guint i;
  gint y;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    for (y = 0; y < plane_rows (info, i); y++) {
      gsize row = GST_VIDEO_INFO_PLANE_STRIDE (info, i);
      guint8 *p = plain + GST_VIDEO_INFO_PLANE_OFFSET (info, i) + y * row;
      guint8 *q = laid_out + l->offset[i] + (gsize) y * l->stride[i];

      memcpy (to_plain ? p : q, to_plain ? q : p, row);
    }
}

GstMemory *
frame_memory_new (GstVkgdrContext *context, const guint8 *data, gsize size)
{
  gsize whole = GST_ROUND_UP_4 (size);
  GstMemory *memory = test_memory_new (context, whole);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memcpy (map.data, data, size);
  /* A kernel reads the whole word of which it writes a part. */
  memset (map.data + size, GUARD, whole - size);
  gst_memory_unmap (memory, &map);
  gst_memory_resize (memory, 0, size);
  return memory;
}

/* Returns a buffer with the samples of @plain (nullable), a frame of the
 * default layout. The buffer has this layout, or additional padding. */
static GstBuffer *
frame_new (const GstVideoInfo *info, gboolean padded, guint8 *plain)
{
  GstVideoInfo l = layout_of (info, padded);
  GstBuffer *buffer = gst_buffer_new ();
  g_autofree guint8 *data = g_malloc (l.size);

  memset (data, GUARD, l.size);
  if (plain)
    copy_frame (info, &l, plain, data, FALSE);
  gst_buffer_append_memory (
      buffer, frame_memory_new (frame_context, data, l.size));
  if (padded)
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (info), l.width, l.height,
        GST_VIDEO_INFO_N_PLANES (info), l.offset, l.stride);
  return buffer;
}

/* Returns the samples in the default layout. The caller frees them. Fails the
 * test if a byte of the additional padding has changed. */
static guint8 *
frame_read (const GstVideoInfo *info, gboolean padded, GstBuffer *buffer)
{
  GstVideoInfo l = layout_of (info, padded);
  guint8 *plain = frame_alloc (info);
  g_autofree guint8 *expected = g_malloc (l.size);
  GstMapInfo map;
  gsize i;

  memset (expected, GUARD, l.size);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless_equals_int (map.size, l.size);
  copy_frame (info, &l, plain, map.data, TRUE);
  copy_frame (info, &l, plain, expected, FALSE);
  for (i = 0; i < l.size; i++)
    test_check_byte (i, map.data[i], expected[i]);
  gst_buffer_unmap (buffer, &map);
  return plain;
}

/* Begins or ends access to every memory of a buffer, as an element does around
 * a launch. */
static void
for_memories (GstBuffer *buffer, GstVkgdrStream *stream, GstMapFlags flags,
    gboolean (*access) (GstMemory *, GstVkgdrStream *, GstMapFlags, GError **))
{
  GError *error = NULL;
  guint i;

  for (i = 0; i < gst_buffer_n_memory (buffer); i++) {
    access (gst_buffer_peek_memory (buffer, i), stream, flags, &error);
    g_assert_no_error (error);
  }
}

gboolean
frame_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream, GstBuffer *in,
    const GstVideoInfo *in_info, GstBuffer *out, const GstVideoInfo *out_info,
    const GstStructure *params, GError **error)
{
  GstMapFlags out_flags = in == out ? GST_MAP_READWRITE : GST_MAP_WRITE;
  gboolean ok;

  if (in != out)
    for_memories (in, stream, GST_MAP_READ, gst_vkgdr_memory_begin_access);
  for_memories (out, stream, out_flags, gst_vkgdr_memory_begin_access);
  ok = gst_vkgdr_kernel_run (
      kernel, stream, in, in_info, out, out_info, 0, params, error);
  for_memories (out, stream, out_flags, gst_vkgdr_memory_end_access);
  if (in != out)
    for_memories (in, stream, GST_MAP_READ, gst_vkgdr_memory_end_access);
  return ok;
}

guint8 *
frame_through (GstVkgdrKernel *kernel, const GstVideoInfo *in_info,
    guint8 *plain, gboolean in_padded, const GstVideoInfo *out_info,
    gboolean out_padded, gboolean in_place, const GstStructure *params)
{
  g_autoptr (GstBuffer) in = frame_new (in_info, in_padded, plain);
  g_autoptr (GstBuffer) out =
      in_place ? gst_buffer_ref (in) : frame_new (out_info, out_padded, NULL);
  GError *error = NULL;

  GST_BUFFER_PTS (in) = FRAME_TIME;
  frame_run (kernel, frame_stream, in, in_info, out, out_info, params, &error);
  g_assert_no_error (error);
  return frame_read (out_info, out_padded, out);
}

GstVkgdrKernel *
frame_effect (GstVkgdrContext *context, const GstEffect *effect)
{
  g_autofree gchar *source = gst_effect_get_source (effect);
  GError *error = NULL;
  GstVkgdrKernel *kernel = gst_vkgdr_kernel_new_from_source (
      context, source, effect->name, effect->name, NULL, &error);

  g_assert_no_error (error);
  return kernel;
}
