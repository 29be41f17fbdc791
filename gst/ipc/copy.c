/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/copy.c: see ipc/copy.h
 */

#include "ipc/copy.h"

/* The initial number of buffers of the pool. They are parts of one
 * allocation. */
#define MIN_BUFFERS 4

/* The smallest size of the pool's buffers in bytes, and their alignment. */
#define MIN_SIZE (64 * 1024)
#define SIZE_ALIGNMENT 4096

struct _GstVkgdrIpcCopier {
  GstVkgdrContext *context;
  gboolean is_for_export;
  GstVkgdrStream *stream;
  GstBufferPool *pool; /* or NULL */
  gsize size;          /* of the pool's buffers */
  GError *reason;      /* why the pool could not allocate a buffer, or NULL */
};

GstVkgdrIpcCopier *
gst_vkgdr_ipc_copier_new (
    GstVkgdrContext *context, gboolean is_for_export, GError **error)
{
  GstVkgdrStream *stream = gst_vkgdr_stream_new (context, error);
  GstVkgdrIpcCopier *self;

  if (!stream)
    return NULL;
  self = g_new0 (GstVkgdrIpcCopier, 1);
  self->context = gst_object_ref (context);
  self->is_for_export = is_for_export;
  self->stream = stream;
  return self;
}

static void
drop_pool (GstVkgdrIpcCopier *self)
{
  if (!self->pool)
    return;
  /* The pool is freed when its last buffer is freed. */
  g_signal_handlers_disconnect_by_data (self->pool, self);
  gst_buffer_pool_set_active (self->pool, FALSE);
  gst_clear_object (&self->pool);
}

void
gst_vkgdr_ipc_copier_free (GstVkgdrIpcCopier *self)
{
  drop_pool (self);
  gst_vkgdr_stream_synchronize (self->stream, NULL);
  gst_object_unref (self->stream);
  gst_object_unref (self->context);
  g_clear_error (&self->reason);
  g_free (self);
}

/* --- the pool of the copies ---------------------------------------------- */

static void
on_acquire_failed (GstBufferPool *pool, GError *error, GstVkgdrIpcCopier *self)
{
  g_clear_error (&self->reason);
  self->reason = g_error_copy (error);
}

/* The buffers of a new pool are at least 1.5 times as large as those of the
 * last pool. So even a stream with frames of all sizes needs few pools. */
static gboolean
make_pool (GstVkgdrIpcCopier *self, gsize size)
{
  GstStructure *config;

  drop_pool (self);
  size = MAX (size, MAX (self->size + self->size / 2, MIN_SIZE));
  self->size = (size + SIZE_ALIGNMENT - 1) / SIZE_ALIGNMENT * SIZE_ALIGNMENT;
  self->pool = gst_vkgdr_buffer_pool_new (self->context);
  g_signal_connect (
      self->pool, "acquire-failed", G_CALLBACK (on_acquire_failed), self);
  config = gst_buffer_pool_get_config (self->pool);
  gst_buffer_pool_config_set_params (config, NULL, self->size, MIN_BUFFERS, 0);
  return gst_buffer_pool_set_config (self->pool, config)
         && gst_buffer_pool_set_active (self->pool, TRUE);
}

/* Takes a buffer of at least @size bytes from the pool. */
static GstBuffer *
acquire (GstVkgdrIpcCopier *self, gsize size, GError **error)
{
  GstBuffer *room = NULL;

  g_clear_error (&self->reason);
  if ((!self->pool || size > self->size) && !make_pool (self, size))
    drop_pool (self);
  if (self->pool)
    gst_buffer_pool_acquire_buffer (self->pool, &room, NULL);
  if (room
      && (!self->is_for_export
          || gst_vkgdr_memory_get_host_pointer (
              gst_buffer_peek_memory (room, 0))))
    return room;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "there is no memory in the window for a copy of %" G_GSIZE_FORMAT
      " bytes, and no other memory can be given to other processes%s%s. Make "
      "the window larger (Resizable BAR), or keep fewer frames in flight",
      size, self->reason ? ": " : "",
      self->reason ? self->reason->message : "");
  gst_clear_buffer (&room);
  return NULL;
}

/* --- copying ------------------------------------------------------------- */

static gboolean
write_by_cpu (GstMemory *from, GstMemory *to, gsize offset, GError **error)
{
  GstMapInfo map;
  gboolean ok;

  if (!gst_memory_map (from, &map, GST_MAP_READ)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s cannot be read by the CPU",
        from->allocator->mem_type);
    return FALSE;
  }
  ok = gst_vkgdr_memory_write (to, offset, map.data, map.size, error);
  gst_memory_unmap (from, &map);
  return ok;
}

static gboolean
copy_memory (GstVkgdrIpcCopier *self, GstMemory *from, GstMemory *to,
    gsize offset, GError **error)
{
  if (!gst_is_vkgdr_memory (from))
    return write_by_cpu (from, to, offset, error);
  /* The device can also copy from other contexts, and from other devices if the
   * hardware supports it. */
  return gst_vkgdr_memory_publish (from, error)
         && gst_vkgdr_memory_copy_rect (
             to, offset, 0, from, 0, 0, from->size, 1, self->stream, error);
}

static gboolean
copy_all (
    GstVkgdrIpcCopier *self, GstBuffer *from, GstMemory *to, GError **error)
{
  guint i, n = gst_buffer_n_memory (from);
  gsize offset = 0;

  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (from, i);

    if (!copy_memory (self, memory, to, offset, error))
      return FALSE;
    offset += memory->size;
  }
  return TRUE;
}

/* gst_buffer_copy_into () does not copy these metas, because they describe the
 * memory. */
static void
copy_video_metas (GstBuffer *from, GstBuffer *to)
{
  gpointer state = NULL;
  GstVideoMeta *meta, *copy;

  while ((meta = (GstVideoMeta *) gst_buffer_iterate_meta_filtered (
              from, &state, GST_VIDEO_META_API_TYPE))) {
    copy = gst_buffer_add_video_meta_full (to, meta->flags, meta->format,
        meta->width, meta->height, meta->n_planes, meta->offset, meta->stride);
    copy->id = meta->id;
    copy->alignment = meta->alignment;
  }
}

/* A copy does not need the memory of the buffer that was copied. */
static gboolean
remove_parent (GstBuffer *buffer, GstMeta **meta, gpointer user_data)
{
  if ((*meta)->info->api == GST_PARENT_BUFFER_META_API_TYPE)
    *meta = NULL;
  return TRUE;
}

GstBuffer *
gst_vkgdr_ipc_copier_wrap (
    GstVkgdrIpcCopier *self, GstBuffer *buffer, GError **error)
{
  if (gst_buffer_n_memory (buffer) > 0
      && gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (buffer, 0)))
    return gst_vkgdr_context_buffer_from_cuda (self->context, buffer, error);
  return gst_buffer_ref (buffer);
}

/* There is no memory of 0 bytes. */
static GstBuffer *
copy_empty (GstBuffer *buffer)
{
  GstBuffer *copy = gst_buffer_new ();

  gst_buffer_copy_into (copy, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  return copy;
}

GstBuffer *
gst_vkgdr_ipc_copier_copy (GstVkgdrIpcCopier *self, GstBuffer *buffer,
    GstBuffer *described, GError **error)
{
  gsize size = gst_buffer_get_size (buffer);
  GstBuffer *copy;

  if (size == 0)
    return copy_empty (described);
  copy = acquire (self, size, error);
  if (!copy
      || !copy_all (self, buffer, gst_buffer_peek_memory (copy, 0), error)) {
    gst_clear_buffer (&copy);
    return NULL;
  }
  /* The pool gives the buffer its size again. */
  gst_buffer_set_size (copy, size);
  gst_buffer_copy_into (copy, described, GST_BUFFER_COPY_METADATA, 0, -1);
  if (!gst_buffer_get_video_meta (copy))
    copy_video_metas (described, copy);
  gst_buffer_foreach_meta (copy, remove_parent, NULL);
  return copy;
}
