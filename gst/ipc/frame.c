/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.c: see ipc/frame.h
 */

#include "ipc/frame.h"

#include "ipc/meta.h"

/* The maximum size in bytes of the metas in a message. The remaining bytes are
 * for the frame. */
#define MAX_METAS (GST_VKGDR_IPC_MAX_MESSAGE - 4096)

/* --- what comes before frames -------------------------------------------- */

GstVkgdrIpcState *
gst_vkgdr_ipc_state_new (void)
{
  GstVkgdrIpcState *self = g_new0 (GstVkgdrIpcState, 1);

  self->refcount = 1;
  return self;
}

GstVkgdrIpcState *
gst_vkgdr_ipc_state_ref (GstVkgdrIpcState *self)
{
  g_atomic_int_inc (&self->refcount);
  return self;
}

void
gst_vkgdr_ipc_state_unref (GstVkgdrIpcState *self)
{
  guint i;

  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  g_clear_pointer (&self->caps, g_bytes_unref);
  g_clear_pointer (&self->segment, g_bytes_unref);
  for (i = 0; i < GST_VKGDR_IPC_N_SCOPES; i++)
    g_clear_pointer (&self->tags[i], g_bytes_unref);
  g_free (self);
}

static GBytes **
field (GstVkgdrIpcState *self, GstVkgdrIpcType type)
{
  switch (type) {
  case GST_VKGDR_IPC_CAPS:
    return &self->caps;
  case GST_VKGDR_IPC_SEGMENT:
    return &self->segment;
  case GST_VKGDR_IPC_GLOBAL_TAGS:
    return &self->tags[GST_TAG_SCOPE_GLOBAL];
  default:
    return &self->tags[GST_TAG_SCOPE_STREAM];
  }
}

GstVkgdrIpcState *
gst_vkgdr_ipc_state_change (
    GstVkgdrIpcState *self, GstVkgdrIpcType type, GBytes *message)
{
  GstVkgdrIpcState *changed = gst_vkgdr_ipc_state_new ();
  guint i;

  changed->caps = self->caps ? g_bytes_ref (self->caps) : NULL;
  changed->segment = self->segment ? g_bytes_ref (self->segment) : NULL;
  for (i = 0; i < GST_VKGDR_IPC_N_SCOPES; i++)
    changed->tags[i] = self->tags[i] ? g_bytes_ref (self->tags[i]) : NULL;
  gst_vkgdr_ipc_state_unref (self);
  g_clear_pointer (field (changed, type), g_bytes_unref);
  *field (changed, type) = message;
  return changed;
}

/* --- frames -------------------------------------------------------------- */

static void
describe (const GstBuffer *buffer, const GstVkgdrIpcTiming *timing,
    GstVkgdrIpcFrame *frame)
{
  frame->pts = GST_BUFFER_PTS (buffer);
  frame->dts = GST_BUFFER_DTS (buffer);
  frame->duration = GST_BUFFER_DURATION (buffer);
  frame->offset = GST_BUFFER_OFFSET (buffer);
  frame->offset_end = GST_BUFFER_OFFSET_END (buffer);
  frame->flags = GST_BUFFER_FLAGS (buffer) & GST_VKGDR_IPC_BUFFER_FLAGS;
  frame->base = timing->base;
  frame->latency = timing->latency;
}

/* Exports all memories that are not empty. */
static gboolean
export_memories (
    GstVkgdrIpcOutput *self, GstVkgdrIpcFrame *frame, GError **error)
{
  guint i, n = gst_buffer_n_memory (self->buffer);

  g_return_val_if_fail (n <= GST_VKGDR_IPC_MAX_MEMORIES, FALSE);

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (self->buffer, i);
    GstVkgdrIpcExport *export;

    if (memory->size == 0)
      continue;
    export = gst_vkgdr_ipc_export_get (
        memory, &frame->ranges[frame->n_ranges], error);
    if (!export)
      return FALSE;
    g_ptr_array_add (self->exports, export);
    frame->n_ranges++;
  }
  return TRUE;
}

GstVkgdrIpcOutput *
gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *room, guint64 id,
    const GstVkgdrIpcTiming *timing, GError **error)
{
  GstVkgdrIpcOutput *self = g_new0 (GstVkgdrIpcOutput, 1);
  GstVkgdrIpcFrame frame = { .id = id };
  GByteArray *metas;

  self->refcount = 1;
  self->id = id;
  self->buffer = buffer;
  self->room = room;
  self->exports = g_ptr_array_new_with_free_func (
      (GDestroyNotify) gst_vkgdr_ipc_export_unref);
  describe (buffer, timing, &frame);
  if (!export_memories (self, &frame, error)) {
    gst_vkgdr_ipc_output_unref (self);
    return NULL;
  }
  metas = gst_vkgdr_ipc_metas_write (buffer, MAX_METAS);
  self->message = gst_vkgdr_ipc_write_frame (&frame, metas);
  g_byte_array_unref (metas);
  return self;
}

GstVkgdrIpcOutput *
gst_vkgdr_ipc_output_ref (GstVkgdrIpcOutput *self)
{
  g_atomic_int_inc (&self->refcount);
  return self;
}

void
gst_vkgdr_ipc_output_unref (GstVkgdrIpcOutput *self)
{
  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  /* The exports are unreferenced first. So if a memory of the
   * buffer is the last one of its allocation, this memory has the last
   * reference to the export, and drops it before the allocation is freed.
   * Otherwise the export could still be registered for a device address that
   * another allocation has in the meantime. */
  g_ptr_array_unref (self->exports);
  gst_buffer_unref (self->buffer);
  gst_clear_buffer (&self->room);
  g_clear_pointer (&self->message, g_bytes_unref);
  g_clear_pointer (&self->state, gst_vkgdr_ipc_state_unref);
  g_free (self);
}

gboolean
gst_vkgdr_ipc_output_is_written (GstVkgdrIpcOutput *self)
{
  guint i, n = gst_buffer_n_memory (self->buffer);

  for (i = 0; i < n; i++)
    if (!gst_vkgdr_memory_is_written (gst_buffer_peek_memory (self->buffer, i)))
      return FALSE;
  return TRUE;
}

gboolean
gst_vkgdr_ipc_output_wait_written (GstVkgdrIpcOutput *self, GError **error)
{
  guint i, n = gst_buffer_n_memory (self->buffer);

  for (i = 0; i < n; i++)
    if (!gst_vkgdr_memory_wait_written (
            gst_buffer_peek_memory (self->buffer, i), error))
      return FALSE;
  return TRUE;
}
