/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/buffer.c: see ipc/buffer.h
 */

#include "ipc/buffer.h"

#include <string.h>

#include "ipc/meta.h"

/* --- memories ------------------------------------------------------------ */

static void *
import (void *user_data, int fd, const vkgdr_fd_info *info, char *message,
    size_t message_size)
{
  GBytes *description = g_bytes_new (info, sizeof (*info));
  GError *error = NULL;
  GstMemory *memory =
      gst_vkgdr_allocator_import_fd (user_data, fd, description, &error);

  g_bytes_unref (description);
  if (!memory) {
    g_strlcpy (message, error->message, message_size);
    g_error_free (error);
  }
  return memory;
}

static void
forget (void *user_data, void *object)
{
  gst_memory_unref (object);
}

void
gst_vkgdr_ipc_set_import (
    vkgdr_frames_params *params, GstVkgdrAllocator *allocator)
{
  params->import = import;
  params->forget = forget;
  params->user_data = allocator;
}

/* A frame in use. */
typedef struct {
  gint refcount; /* atomic: one of each memory */
  vkgdr_frame_t frame;
} Use;

/* Called in any thread when the device has finished with a memory. */
static void
use_unref (gpointer data)
{
  Use *use = data;

  if (!g_atomic_int_dec_and_test (&use->refcount))
    return;
  vkgdr_frame_release (use->frame);
  g_free (use);
}

static gboolean
add_memories (GstBuffer *buffer, Use *use)
{
  const vkgdr_frame_info *info = vkgdr_frame_get_info (use->frame);
  guint i;

  for (i = 0; i < info->n_memories; i++) {
    const vkgdr_frame_memory *memory = &info->memories[i];
    GstMemory *part;

    g_atomic_int_inc (&use->refcount);
    part = gst_vkgdr_memory_new_part (memory->object, memory->offset,
        memory->size, GST_MEMORY_FLAG_READONLY, use_unref, use);
    if (!part) {
      use_unref (use);
      return FALSE;
    }
    gst_buffer_append_memory (buffer, part);
  }
  return TRUE;
}

/* --- metas --------------------------------------------------------------- */

/* The offset of a plane in the buffer. */
static gsize
get_offset (const vkgdr_frame_info *frame, guint index)
{
  const vkgdr_frame_plane *plane = &frame->planes[index];
  gsize offset = plane->offset;
  guint i;

  for (i = 0; i < plane->memory; i++)
    offset += frame->memories[i].size;
  return offset;
}

/* Returns FALSE if a frame of the caps is not inside the planes. */
static gboolean
add_video_meta (
    GstBuffer *buffer, const vkgdr_frame_info *frame, const GstVideoInfo *info)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  guint i;

  if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_UNKNOWN
      || frame->n_memories == 0)
    return TRUE;
  for (i = 0; i < frame->n_planes; i++) {
    offset[i] = get_offset (frame, i);
    stride[i] = frame->planes[i].stride;
  }
  if (frame->n_planes > 0)
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_WIDTH (info),
        GST_VIDEO_INFO_HEIGHT (info), frame->n_planes, offset, stride);
  return gst_vkgdr_buffer_check_video (buffer, info, NULL);
}

static gboolean
add_metas (GstBuffer *buffer, const vkgdr_frame_info *frame)
{
  GstByteReader reader;

  gst_byte_reader_init (&reader, frame->metas, frame->metas_size);
  return gst_vkgdr_ipc_metas_read (buffer, &reader);
}

static void
describe (GstBuffer *buffer, const vkgdr_frame_info *frame)
{
  const guint32 ours =
      GST_BUFFER_FLAG_TAG_MEMORY | (GST_MINI_OBJECT_FLAG_LAST - 1);

  GST_BUFFER_PTS (buffer) = frame->pts;
  GST_BUFFER_DTS (buffer) = frame->dts;
  GST_BUFFER_DURATION (buffer) = frame->duration;
  GST_BUFFER_FLAG_SET (buffer, frame->flags & ~ours);
}

GstBuffer *
gst_vkgdr_ipc_buffer_new (
    vkgdr_frame_t frame, const GstVideoInfo *info, GError **error)
{
  const vkgdr_frame_info *frame_info = vkgdr_frame_get_info (frame);
  GstBuffer *buffer = gst_buffer_new ();
  Use *use = g_new0 (Use, 1);
  gboolean ok;

  use->refcount = 1;
  use->frame = frame;
  describe (buffer, frame_info);
  ok = add_memories (buffer, use) && add_metas (buffer, frame_info)
       && add_video_meta (buffer, frame_info, info);
  use_unref (use);
  GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (ok)
    return buffer;
  gst_buffer_unref (buffer);
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
      "the server has sent a frame that is not valid");
  return NULL;
}
