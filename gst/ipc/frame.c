/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.c: see ipc/frame.h
 */

#include "ipc/frame.h"

#include <gio/gio.h>
#include <string.h>

#include "frame-wire.h"
#include "ipc/meta.h"

/* The flags of a buffer that are sent. The flags of its memory and of its
 * object are not. */
#define BUFFER_FLAGS \
  (~(guint32) (GST_BUFFER_FLAG_TAG_MEMORY | (GST_MINI_OBJECT_FLAG_LAST - 1)))

struct _GstVkgdrIpcOutput {
  GstBuffer *buffer;
  GByteArray *metas;
  gboolean is_new;
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
    if (!gst_vkgdr_ipc_export (memory,
            &self->frame.ranges[self->frame.n_ranges], &self->is_new, error))
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

static gboolean
has_default_layout (const GstVideoMeta *meta, const GstVideoInfo *info)
{
  return memcmp (meta->offset, info->offset, sizeof (info->offset)) == 0
         && memcmp (meta->stride, info->stride, sizeof (info->stride)) == 0;
}

/* @described was compared with @info. An empty buffer has no planes. */
static gboolean
describe_planes (GstVkgdrIpcOutput *self, GstBuffer *described,
    const GstVideoInfo *info, GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (described);
  vkgdr_server_frame *frame = &self->frame;
  vkgdr_frame_format format;
  gboolean ok;
  guint i;

  if (frame->n_ranges == 0)
    return TRUE;
  gst_vkgdr_ipc_format_init (&format, info);
  ok = format.n_planes > 0 || !meta || has_default_layout (meta, info);
  for (i = 0; ok && i < format.n_planes; i++) {
    vkgdr_server_plane *plane = &frame->planes[i];

    plane->stride =
        meta ? meta->stride[i] : GST_VIDEO_INFO_PLANE_STRIDE (info, i);
    ok = find_range (frame,
             meta ? meta->offset[i] : GST_VIDEO_INFO_PLANE_OFFSET (info, i),
             plane)
         && vkgdr_frame_plane_fits (&format.planes[i], plane->offset,
             plane->stride, frame->ranges[plane->range].size);
  }
  frame->n_planes = format.n_planes;
  if (!ok)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
        "the layout of a frame of %s cannot be described to other processes: "
        "a plane must consist of rows that do not overlap, in one memory",
        GST_VIDEO_INFO_NAME (info));
  return ok;
}

static void
describe (GstVkgdrIpcOutput *self, GstBuffer *described,
    const GstVkgdrIpcTiming *timing)
{
  vkgdr_server_frame *frame = &self->frame;

  frame->pts = timing->pts;
  frame->dts = timing->dts;
  frame->duration = timing->duration;
  frame->time = timing->time;
  frame->flags = GST_BUFFER_FLAGS (described) & BUFFER_FLAGS;
  self->metas = gst_vkgdr_ipc_metas_write (described, VKGDR_WIRE_MAX_METAS);
  frame->metas = self->metas->data;
  frame->metas_size = self->metas->len;
  frame->check_written = check_written;
  frame->release = release;
  frame->user_data = self;
}

GstVkgdrIpcOutput *
gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *described,
    const GstVideoInfo *info, const GstVkgdrIpcTiming *timing,
    GstVkgdrIpcErrorFunc on_error, gpointer user_data, GError **error)
{
  GstVkgdrIpcOutput *self = g_new0 (GstVkgdrIpcOutput, 1);

  self->buffer = buffer;
  self->on_error = on_error;
  self->user_data = user_data;
  describe (self, described, timing);
  if (export_memories (self, error)
      && (!info || describe_planes (self, described, info, error)))
    return self;
  gst_vkgdr_ipc_output_free (self);
  return NULL;
}

gboolean
gst_vkgdr_ipc_output_is_new (GstVkgdrIpcOutput *self)
{
  return self->is_new;
}

vkgdr_server_result
gst_vkgdr_ipc_output_send (GstVkgdrIpcOutput *self, vkgdr_server *server)
{
  return vkgdr_server_send (server, &self->frame);
}
