/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransfer.c: base class of vkgdrupload and vkgdrdownload
 *
 * Both elements have input and output caps that differ only by a caps feature,
 * for video or any other media type, and output buffers that differ only by
 * their memory. The subclass copies the bytes.
 */

#include "gstvkgdrlayout.h"
#include "gstvkgdrtransfer.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_transfer_debug);
#define GST_CAT_DEFAULT gst_vkgdr_transfer_debug

typedef struct {
  gboolean is_video;
  gboolean to_cuda;           /* the output needs GstCudaMemory */
  GstMiniObject *cuda_stream; /* downstream's GstCudaStream, or NULL */
  GstVideoInfo info;
  gboolean reads_video_meta; /* downstream supports GstVideoMeta */
  gboolean reads_crop_meta;  /* downstream supports GstVideoCropMeta */

  /* Statistics, under the object lock. */
  guint64 frames;
  guint64 frames_packed;
  guint64 bytes[GST_VKGDR_N_PATHS];
  GstClockTime map_time;
  GstClockTime wait_time;
  GstVkgdrAccess written; /* how upstream wrote the last buffer, or AUTO */

  gboolean warned_staged; /* warned once; only used in the streaming thread */
} GstVkgdrTransferPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrTransfer, gst_vkgdr_transfer,
    GST_TYPE_VKGDR_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstVkgdrTransfer) GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_transfer_debug, "vkgdrtransfer", 0, "vkgdr transfers"))

#define parent_class gst_vkgdr_transfer_parent_class

/* --- caps ---------------------------------------------------------------- */

static gboolean
is_ours (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (
      features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
}

static gboolean
is_cuda (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (
             features, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA)
         && gst_vkgdr_cuda_is_available ();
}

/* Whether the memory is system memory with any other features, VkgdrMemory, or
 * GstCudaMemory. */
static gboolean
is_known (const GstCapsFeatures *features)
{
  return is_ours (features) || is_cuda (features)
         || gst_caps_features_contains (
             features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
}

/* Appends the structure with the feature of another memory; NULL is system
 * memory. Other features, such as `meta:…`, stay. Only raw video can be in CUDA
 * memory. */
static void
append_with_memory (GstCaps *caps, const GstStructure *structure,
    const GstCapsFeatures *features, const gchar *memory)
{
  GstCapsFeatures *copy;

  if (g_strcmp0 (memory, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA) == 0
      && (!gst_structure_has_name (structure, "video/x-raw")
          || !gst_vkgdr_cuda_is_available ()))
    return;
  copy = gst_caps_features_copy (features);
  gst_caps_features_remove (copy, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  gst_caps_features_remove (copy, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  gst_caps_features_remove (copy, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
  if (memory)
    gst_caps_features_add (copy, memory);
  else if (gst_caps_features_get_size (copy) > 0)
    gst_caps_features_add (copy, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  gst_caps_append_structure_full (caps, gst_structure_copy (structure), copy);
}

/* Appends all outputs of an input, or all inputs of an output, in the order of
 * preference. */
static void
append_others (GstCaps *caps, const GstStructure *structure,
    const GstCapsFeatures *features, GstPadDirection direction,
    gboolean to_device)
{
  static const gchar *ours = GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY;
  static const gchar *cuda = GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA;

  if (direction == GST_PAD_SRC) {
    append_with_memory (caps, structure, features, to_device ? NULL : ours);
    append_with_memory (caps, structure, features, to_device ? ours : NULL);
    append_with_memory (caps, structure, features, cuda);
  } else if (to_device) {
    append_with_memory (caps, structure, features, ours);
    append_with_memory (caps, structure, features, cuda);
  } else {
    append_with_memory (caps, structure, features, NULL);
  }
}

static GstCaps *
gst_vkgdr_transfer_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  gboolean to_device = GST_VKGDR_TRANSFER_GET_CLASS (trans)->to_device;
  GstCaps *result, *tmp;
  guint i;

  if (gst_caps_is_any (caps))
    return filter ? gst_caps_ref (filter) : gst_caps_new_any ();

  result = gst_caps_new_empty ();
  for (i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);

    if (gst_caps_features_is_any (features)) {
      append_with_memory (result, structure,
          GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY,
          (direction == GST_PAD_SINK) == to_device
              ? GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
              : NULL);
      continue;
    }
    if (!is_known (features))
      continue;
    if (direction == GST_PAD_SRC
        && (is_ours (features) || is_cuda (features)) != to_device)
      continue; /* not a possible output */
    append_others (result, structure, features, direction, to_device);
  }
  result = gst_caps_simplify (result);
  if (filter) {
    tmp = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = tmp;
  }
  return result;
}

static gboolean
gst_vkgdr_transfer_set_caps (
    GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (trans));

  if (!is_known (gst_caps_get_features (in_caps, 0))) {
    GST_ELEMENT_ERROR (trans, STREAM, WRONG_TYPE,
        ("Only system memory and " GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
         " are accepted, and " GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA
         " if GStreamer's CUDA elements are available: put an element that "
         "copies the frames to system memory before this one."),
        ("%" GST_PTR_FORMAT, in_caps));
    return FALSE;
  }
  priv->to_cuda = is_cuda (gst_caps_get_features (out_caps, 0));
  priv->is_video = gst_vkgdr_caps_get_video_info (in_caps, &priv->info);
  return TRUE;
}

/* A stream without caps, such as filesrc's, consists of bytes. It gets caps
 * that say so, because the memory type is a feature of the caps. */
static gboolean
gst_vkgdr_transfer_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT
      && !gst_pad_has_current_caps (trans->sinkpad)) {
    GstCaps *caps = gst_caps_new_empty_simple ("application/octet-stream");
    GstEvent *caps_event = gst_event_new_caps (caps);

    gst_caps_unref (caps);
    if (!gst_pad_send_event (trans->sinkpad, caps_event))
      GST_WARNING_OBJECT (trans, "failed to set caps on a stream without caps");
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

static gboolean
gst_vkgdr_transfer_transform_size (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, gsize size, GstCaps *othercaps,
    gsize *othersize)
{
  *othersize = size;
  return TRUE;
}

static void
set_cuda_stream (GstVkgdrTransfer *self, GstMiniObject *stream)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  if (priv->cuda_stream)
    gst_mini_object_unref (priv->cuda_stream);
  priv->cuda_stream = stream;
}

static gboolean
has_meta (GstQuery *query, GType api)
{
  return gst_query_find_allocation_meta (query, api, NULL);
}

/* No pool is needed, because each output is made from its input. This only
 * checks which metas downstream supports. */
static gboolean
gst_vkgdr_transfer_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (trans));
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (trans));

  /* All frames of GStreamer's own CUDA elements have a GstVideoMeta. */
  priv->reads_video_meta =
      priv->to_cuda || has_meta (query, GST_VIDEO_META_API_TYPE);
  priv->reads_crop_meta = has_meta (query, GST_VIDEO_CROP_META_API_TYPE);
  set_cuda_stream (GST_VKGDR_TRANSFER (trans),
      context ? gst_vkgdr_context_get_cuda_stream (context, query) : NULL);
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  return TRUE;
}

/* --- buffers ------------------------------------------------------------- */

/* Whether a frame is as large as its GstVideoMeta, or its caps, require. */
static gboolean
check_frame (
    GstVkgdrTransfer *self, GstBuffer *buffer, gsize size, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  gsize needed;

  if (!priv->is_video)
    return TRUE;
  needed = gst_vkgdr_layout_get_size (&priv->info, buffer);
  if (size >= needed)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "a buffer of %" G_GSIZE_FORMAT " bytes is smaller than its caps say: %s "
      "of %dx%d takes %" G_GSIZE_FORMAT
      " bytes. Upstream and its caps filter disagree",
      size, GST_VIDEO_INFO_NAME (&priv->info),
      GST_VIDEO_INFO_WIDTH (&priv->info), GST_VIDEO_INFO_HEIGHT (&priv->info),
      needed);
  return FALSE;
}

/* Whether downstream would misread the frame, because it does not support the
 * meta that describes the layout. */
static gboolean
must_be_packed (GstVkgdrTransfer *self, GstBuffer *frame)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  if (!priv->is_video || gst_vkgdr_layout_is_default (&priv->info, frame))
    return FALSE;
  if (gst_buffer_get_video_crop_meta (frame) && !priv->reads_crop_meta)
    return TRUE;
  return !priv->reads_video_meta;
}

static gboolean
is_suitable (GstVkgdrTransfer *self, GstBuffer *buffer)
{
  GstVkgdrTransferClass *klass = GST_VKGDR_TRANSFER_GET_CLASS (self);
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  guint i;

  /* In GStreamer's own CUDA elements, a frame always has one memory. */
  if (priv->to_cuda && gst_buffer_n_memory (buffer) != 1)
    return FALSE;
  for (i = 0; i < gst_buffer_n_memory (buffer); i++)
    if (!klass->is_suitable (self, gst_buffer_peek_memory (buffer, i)))
      return FALSE;
  return TRUE;
}

/* A buffer with @memory and all other data of @input. The layout is the same,
 * so the GstVideoMeta stays valid. */
GstBuffer *
gst_vkgdr_transfer_new_like (GstBuffer *input, GstMemory *memory)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (input);
  GstBuffer *output = gst_buffer_new ();

  gst_buffer_copy_into (output, input, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_TAG_MEMORY);
  if (memory)
    gst_buffer_append_memory (output, memory);
  if (meta)
    gst_buffer_add_video_meta_full (output, meta->flags, meta->format,
        meta->width, meta->height, meta->n_planes, meta->offset, meta->stride);
  return output;
}

/* The same as gst_vkgdr_transfer_new_like (), but returns @input, with @memory,
 * if it has no other owner. A buffer of a pool keeps its memory, because the
 * pool would free a buffer with another memory. */
static GstBuffer *
replace_memory (GstBuffer *input, GstMemory *memory)
{
  if (!memory || input->pool || !gst_buffer_is_writable (input))
    return gst_vkgdr_transfer_new_like (input, memory);
  gst_buffer_replace_all_memory (input, memory);
  GST_BUFFER_FLAG_UNSET (input, GST_BUFFER_FLAG_TAG_MEMORY);
  return input;
}

static void
count (GstVkgdrTransfer *self, gsize size, GstVkgdrPath path,
    GstClockTime map_time, GstClockTime wait_time)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  GST_OBJECT_LOCK (self);
  priv->frames++;
  priv->bytes[path] += size;
  priv->map_time += map_time;
  priv->wait_time += wait_time;
  GST_OBJECT_UNLOCK (self);
}

static void
remember_access (GstVkgdrTransfer *self, GstVkgdrAccess access)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  GST_OBJECT_LOCK (self);
  priv->written = access;
  GST_OBJECT_UNLOCK (self);
}

GstVkgdrAccess
gst_vkgdr_transfer_get_written_access (GstVkgdrTransfer *self)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstVkgdrAccess access;

  GST_OBJECT_LOCK (self);
  access = priv->written;
  GST_OBJECT_UNLOCK (self);
  return access;
}

/* Warns once that the CPU could not write to a memory directly. */
static void
warn_staged (GstVkgdrTransfer *self)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstStructure *device;
  const gchar *reason, *remedy;
  gboolean has_window = FALSE;
  guint64 size = 0;

  if (priv->warned_staged)
    return;
  priv->warned_staged = TRUE;
  device = gst_vkgdr_context_describe (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)));
  gst_structure_get (device, "has-window", G_TYPE_BOOLEAN, &has_window,
      "window-size", G_TYPE_UINT64, &size, NULL);
  reason = gst_structure_get_string (device, "window-reason");
  remedy = gst_structure_get_string (device, "window-remedy");
  if (has_window)
    GST_ELEMENT_WARNING (self, RESOURCE, NO_SPACE_LEFT,
        ("The window, the part of GPU memory that the CPU can write to, is "
         "full. Further buffers are staged, which costs a transfer. Use fewer "
         "or smaller buffers, or enable Resizable BAR and Above 4G decoding in "
         "the firmware."),
        ("the window has %" G_GUINT64_FORMAT " bytes", size));
  else
    GST_ELEMENT_INFO (self, RESOURCE, NOT_FOUND,
        ("The CPU cannot write to this device's memory in place. Buffers are "
         "staged, which costs a transfer. Remedy: %s.",
            remedy ? remedy : ""),
        ("%s", reason ? reason : ""));
  gst_structure_free (device);
}

/* Whether the CPU cannot write to the memory directly. */
static gboolean
is_outside_window (GstMemory *memory)
{
  return gst_is_vkgdr_memory (memory)
         && !gst_vkgdr_memory_get_host_pointer (memory);
}

/* Counts a buffer whose memory upstream already wrote in the right place. */
static void
count_untouched (GstVkgdrTransfer *self, GstBuffer *buffer, gsize size)
{
  GstMemory *memory = size > 0 ? gst_buffer_peek_memory (buffer, 0) : NULL;
  GstVkgdrPath path = GST_VKGDR_PATH_NONE;
  GstClockTime map_time = 0, wait_time = 0;

  if (memory && gst_is_vkgdr_memory (memory)) {
    GstVkgdrAccess access =
        gst_vkgdr_memory_get_write_times (memory, &map_time, &wait_time);

    if (access == GST_VKGDR_ACCESS_DIRECT)
      path = GST_VKGDR_PATH_DIRECT;
    else if (access == GST_VKGDR_ACCESS_STAGED)
      path = GST_VKGDR_PATH_STAGED;
    if (path == GST_VKGDR_PATH_STAGED && is_outside_window (memory))
      warn_staged (self);
    if (path != GST_VKGDR_PATH_NONE)
      remember_access (self, access);
  }
  count (self, size, path, map_time, wait_time);
}

static void
gst_vkgdr_transfer_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  static const gchar *names[GST_VKGDR_N_PATHS] = { "bytes-untouched",
    "bytes-direct", "bytes-staged", "bytes-dma", "bytes-peer", "bytes-copied" };
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (transform));
  guint64 bytes = 0;
  guint i;

  GST_OBJECT_LOCK (transform);
  for (i = 0; i < GST_VKGDR_N_PATHS; i++) {
    bytes += priv->bytes[i];
    gst_structure_set (stats, names[i], G_TYPE_UINT64, priv->bytes[i], NULL);
  }
  gst_structure_set (stats, "frames", G_TYPE_UINT64, priv->frames,
      "frames-packed", G_TYPE_UINT64, priv->frames_packed, "bytes",
      G_TYPE_UINT64, bytes, "map-time", G_TYPE_UINT64, priv->map_time,
      "wait-time", G_TYPE_UINT64, priv->wait_time, NULL);
  GST_OBJECT_UNLOCK (transform);
}

static gboolean
gst_vkgdr_transfer_start (GstBaseTransform *trans)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (trans));

  GST_OBJECT_LOCK (trans);
  priv->frames = priv->frames_packed = 0;
  priv->map_time = priv->wait_time = 0;
  memset (priv->bytes, 0, sizeof (priv->bytes));
  priv->written = GST_VKGDR_ACCESS_AUTO;
  GST_OBJECT_UNLOCK (trans);
  priv->warned_staged = FALSE;
  return GST_BASE_TRANSFORM_CLASS (parent_class)->start (trans);
}

static gboolean
gst_vkgdr_transfer_stop (GstBaseTransform *trans)
{
  set_cuda_stream (GST_VKGDR_TRANSFER (trans), NULL);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->stop (trans);
}

/* Copies @input to the default layout, into memory of the subclass. */
static GstBuffer *
pack (GstVkgdrTransfer *self, GstBuffer *input, gsize size, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstVkgdrPath path = GST_VKGDR_PATH_NONE;
  GstMemory *memory = GST_VKGDR_TRANSFER_GET_CLASS (self)->pack (
      self, input, &priv->info, &path, error);

  if (!memory)
    return NULL;
  if (path == GST_VKGDR_PATH_NONE)
    count_untouched (self, input, size);
  else
    count (self, size, path, 0, 0);
  GST_OBJECT_LOCK (self);
  priv->frames_packed++;
  GST_OBJECT_UNLOCK (self);
  return gst_vkgdr_layout_new_packed (input, memory);
}

/* Upstream may still have the buffer mapped for writing. */
static gboolean
publish_all (GstBuffer *buffer, GError **error)
{
  guint i;

  for (i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_is_vkgdr_memory (memory)
        && !gst_vkgdr_memory_publish (memory, error))
      return FALSE;
  }
  return TRUE;
}

/* Returns @input, or a buffer with the same content in the right memory and in
 * a layout that downstream supports. The caller owns a buffer that is not
 * @input. */
static GstBuffer *
move_or_pack (GstVkgdrTransfer *self, GstBuffer *input, GError **error)
{
  gsize size = gst_buffer_get_size (input);
  GstVkgdrPath path = GST_VKGDR_PATH_NONE;
  GstMemory *memory = NULL;

  if (!publish_all (input, error))
    return NULL;
  if (must_be_packed (self, input))
    return pack (self, input, size, error);
  if (is_suitable (self, input)) {
    count_untouched (self, input, size);
    return input;
  }
  if (size > 0) {
    memory = GST_VKGDR_TRANSFER_GET_CLASS (self)->move (
        self, input, size, &path, error);
    if (!memory)
      return NULL;
    if (path == GST_VKGDR_PATH_COPIED && is_outside_window (memory))
      warn_staged (self);
    count (self, size, path, 0, 0);
  }
  return replace_memory (input, memory);
}

/* Wraps a GstCudaMemory frame without a copy if it is in the same CUDA context.
 * The caller owns the result. NULL for all other buffers. */
static GstBuffer *
wrap_cuda_input (GstVkgdrTransfer *self, GstBuffer *input)
{
  GstBuffer *result;
  GError *error = NULL;

  if (gst_buffer_n_memory (input) == 0
      || !gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (input, 0)))
    return NULL;
  result = gst_vkgdr_context_buffer_from_cuda (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)),
      input, &error);
  if (!result)
    GST_DEBUG_OBJECT (self, "copying with the CPU: %s", error->message);
  g_clear_error (&error);
  return result;
}

/* Wraps @buffer (taken, unless it is @input) as GstCudaMemory. */
static GstBuffer *
wrap_cuda_output (
    GstVkgdrTransfer *self, GstBuffer *input, GstBuffer *buffer, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  GstBuffer *result;

  result = gst_vkgdr_context_buffer_to_cuda (
      context, buffer, &priv->info, priv->cuda_stream, error);
  if (buffer != input)
    gst_buffer_unref (buffer);
  return result;
}

/* GstCudaMemory of upstream is passed through if downstream uses it. */
static gboolean
is_cuda_passthrough (GstVkgdrTransfer *self, GstBuffer *input)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  return priv->to_cuda && gst_buffer_n_memory (input) == 1
         && gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (input, 0));
}

/* Returns @input, or a new buffer for downstream, which the caller owns. */
static GstBuffer *
make_output (GstVkgdrTransfer *self, GstBuffer *input, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstBuffer *source = wrap_cuda_input (self, input);
  GstBuffer *from = source ? source : input;
  GstBuffer *result = move_or_pack (self, from, error);

  if (source && result != source)
    gst_buffer_unref (source);
  if (result && priv->to_cuda)
    result = wrap_cuda_output (self, input, result, error);
  return result;
}

static GstFlowReturn
gst_vkgdr_transfer_prepare_output_buffer (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  GstVkgdrTransfer *self = GST_VKGDR_TRANSFER (trans);
  gsize size = gst_buffer_get_size (input);
  GError *error = NULL;

  *output = NULL;
  if (check_frame (self, input, size, &error)) {
    if (is_cuda_passthrough (self, input) && !must_be_packed (self, input)) {
      count (self, size, GST_VKGDR_PATH_NONE, 0, 0);
      *output = input;
    } else {
      *output = make_output (self, input, &error);
    }
  }
  if (*output)
    return GST_FLOW_OK;
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self), error);
  return GST_FLOW_ERROR;
}

/* Nothing to do: prepare_output_buffer () has made the output. */
static GstFlowReturn
gst_vkgdr_transfer_transform (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  return GST_FLOW_OK;
}

static void
gst_vkgdr_transfer_class_init (GstVkgdrTransferClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->fill_stats =
      gst_vkgdr_transfer_fill_stats;
  trans_class->start = gst_vkgdr_transfer_start;
  trans_class->stop = gst_vkgdr_transfer_stop;
  trans_class->passthrough_on_same_caps = FALSE;
  trans_class->transform_caps = gst_vkgdr_transfer_transform_caps;
  trans_class->set_caps = gst_vkgdr_transfer_set_caps;
  trans_class->sink_event = gst_vkgdr_transfer_sink_event;
  trans_class->transform_size = gst_vkgdr_transfer_transform_size;
  trans_class->decide_allocation = gst_vkgdr_transfer_decide_allocation;
  trans_class->prepare_output_buffer = gst_vkgdr_transfer_prepare_output_buffer;
  trans_class->transform = gst_vkgdr_transfer_transform;

  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TRANSFER, 0);
}

static void
gst_vkgdr_transfer_init (GstVkgdrTransfer *self)
{
}
