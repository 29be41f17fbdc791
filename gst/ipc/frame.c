/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.c: see ipc/frame.h
 */

#include "ipc/frame.h"

#include "frame-wire.h"
#include "ipc/meta.h"

/* The flags of a buffer that are sent. The flags of its memory and of its
 * object are not. */
#define BUFFER_FLAGS \
  (~(guint32) (GST_BUFFER_FLAG_TAG_MEMORY | (GST_MINI_OBJECT_FLAG_LAST - 1)))

struct _GstVkgdrIpcOutput {
  GstBuffer *buffer;
  GstBuffer *room; /* the buffer of a pool whose memory @buffer uses, or NULL */
  GByteArray *metas;
  vkgdr_server_frame frame;
  GstVkgdrIpcErrorFunc on_error;
  gpointer user_data;
};

/* The exports are unreferenced first. If a memory of the buffer is the last one
 * of its allocation, its export ends before the allocation does. */
static void
clear_exports (GstVkgdrIpcOutput *self)
{
  guint i;

  for (i = 0; i < self->frame.n_ranges; i++)
    vkgdr_export_unref (self->frame.ranges[i].memory);
  self->frame.n_ranges = 0;
}

void
gst_vkgdr_ipc_output_free (GstVkgdrIpcOutput *self)
{
  clear_exports (self);
  gst_buffer_unref (self->buffer);
  gst_clear_buffer (&self->room);
  g_clear_pointer (&self->metas, g_byte_array_unref);
  g_free (self);
}

/* --- for the server ------------------------------------------------------ */

static void
release (void *user_data)
{
  gst_vkgdr_ipc_output_free (user_data);
}

static int
check_written (void *user_data, bool wait)
{
  GstVkgdrIpcOutput *self = user_data;
  guint i, n = gst_buffer_n_memory (self->buffer);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (self->buffer, i);
    GError *error = NULL;

    if (!wait && !gst_vkgdr_memory_is_written (memory))
      return 0;
    if (wait && !gst_vkgdr_memory_wait_written (memory, &error)) {
      self->on_error (self->user_data, error);
      g_clear_error (&error);
      return -1;
    }
  }
  return 1;
}

/* --- the description ----------------------------------------------------- */

/* Exports all memories that are not empty. */
static gboolean
export_memories (GstVkgdrIpcOutput *self, GError **error)
{
  guint i, n = gst_buffer_n_memory (self->buffer);

  g_return_val_if_fail (n <= VKGDR_FRAME_MAX_MEMORIES, FALSE);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (self->buffer, i);

    if (memory->size == 0)
      continue;
    if (!gst_vkgdr_ipc_export (
            memory, &self->frame.ranges[self->frame.n_ranges], error))
      return FALSE;
    self->frame.n_ranges++;
  }
  return TRUE;
}

/* Finds the range that contains the byte at @offset of the buffer. */
static gboolean
find_range (
    const vkgdr_server_frame *frame, gsize offset, vkgdr_server_plane *plane)
{
  guint i;

  for (i = 0; i < frame->n_ranges; i++) {
    if (offset < frame->ranges[i].size) {
      plane->offset = offset;
      plane->range = i;
      return TRUE;
    }
    offset -= frame->ranges[i].size;
  }
  return FALSE;
}

/* @info was compared with the buffer. An empty buffer has no planes. */
static void
describe_planes (GstVkgdrIpcOutput *self, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (self->buffer);
  vkgdr_server_frame *frame = &self->frame;
  vkgdr_frame_format format;
  guint i;

  gst_vkgdr_ipc_format_init (&format, info);
  for (i = 0; i < format.n_planes; i++) {
    gsize offset =
        meta ? meta->offset[i] : GST_VIDEO_INFO_PLANE_OFFSET (info, i);

    frame->planes[i].stride =
        meta ? meta->stride[i] : GST_VIDEO_INFO_PLANE_STRIDE (info, i);
    if (!find_range (frame, offset, &frame->planes[i])
        || !vkgdr_frame_plane_fits (&format.planes[i], frame->planes[i].offset,
            frame->planes[i].stride,
            frame->ranges[frame->planes[i].range].size))
      return;
  }
  frame->n_planes = format.n_planes;
}

static void
describe (GstVkgdrIpcOutput *self, const GstVkgdrIpcTiming *timing)
{
  vkgdr_server_frame *frame = &self->frame;
  GstBuffer *buffer = self->buffer;

  frame->pts = GST_BUFFER_PTS (buffer);
  frame->dts = GST_BUFFER_DTS (buffer);
  frame->duration = GST_BUFFER_DURATION (buffer);
  frame->offset = GST_BUFFER_OFFSET (buffer);
  frame->offset_end = GST_BUFFER_OFFSET_END (buffer);
  frame->flags = GST_BUFFER_FLAGS (buffer) & BUFFER_FLAGS;
  frame->base = timing->base;
  frame->time = timing->time;
  frame->latency = timing->latency;
  self->metas = gst_vkgdr_ipc_metas_write (buffer, VKGDR_WIRE_MAX_METAS);
  frame->metas = self->metas->data;
  frame->metas_size = self->metas->len;
  frame->check_written = check_written;
  frame->release = release;
  frame->user_data = self;
}

GstVkgdrIpcOutput *
gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *room,
    const GstVideoInfo *info, const GstVkgdrIpcTiming *timing,
    GstVkgdrIpcErrorFunc on_error, gpointer user_data, GError **error)
{
  GstVkgdrIpcOutput *self = g_new0 (GstVkgdrIpcOutput, 1);

  self->buffer = buffer;
  self->room = room;
  self->on_error = on_error;
  self->user_data = user_data;
  if (!export_memories (self, error)) {
    gst_vkgdr_ipc_output_free (self);
    return NULL;
  }
  describe (self, timing);
  if (info)
    describe_planes (self, info);
  return self;
}

vkgdr_server_result
gst_vkgdr_ipc_output_send (GstVkgdrIpcOutput *self, vkgdr_server *server)
{
  return vkgdr_server_send (server, &self->frame);
}
