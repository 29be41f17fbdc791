/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransfer.c: base class of vkgdrupload and vkgdrdownload
 *
 * The input and output caps of these elements differ only by a caps feature,
 * for video and for any other media type. An output buffer differs from its
 * input only by its memory. The subclass copies the bytes.
 */

#include "gstvkgdrlayout.h"
#include "gstvkgdrtransfer.h"
#include "gstvkgdrtransfercaps.h"
#include "tensor/batch.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_transfer_debug);
#define GST_CAT_DEFAULT gst_vkgdr_transfer_debug

typedef struct {
  gboolean is_video;
  gboolean to_cuda;           /* the output needs GstCudaMemory */
  GstMiniObject *cuda_stream; /* downstream's GstCudaStream, or NULL */
  GstVideoInfo info;
  gboolean reads_video_meta; /* downstream supports GstVideoMeta */
  gboolean reads_crop_meta;  /* downstream supports GstVideoCropMeta */

  GstVkgdrTransferStats stats;
  gboolean warned_staged; /* warned once; only used in the streaming thread */
} GstVkgdrTransferPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrTransfer, gst_vkgdr_transfer,
    GST_TYPE_VKGDR_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstVkgdrTransfer) GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_transfer_debug, "vkgdrtransfer", 0, "vkgdr transfers"))

#define parent_class gst_vkgdr_transfer_parent_class

/* --- caps ---------------------------------------------------------------- */

static GstCaps *
gst_vkgdr_transfer_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *all, *result;

  if (gst_caps_is_any (caps))
    return filter ? gst_caps_ref (filter) : gst_caps_new_any ();
  all = gst_vkgdr_transfer_caps_get_others (
      caps, direction, GST_VKGDR_TRANSFER_GET_CLASS (trans)->to_device);
  if (!filter)
    return all;
  /* The order of preference is that of the neighbour, whose caps these are. The
   * base class puts it first itself if the memory stays the same. */
  result = gst_caps_intersect_full (all, filter, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (all);
  return result;
}

static gboolean
gst_vkgdr_transfer_set_caps (
    GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (trans));

  if (!gst_vkgdr_transfer_caps_is_known (gst_caps_get_features (in_caps, 0))) {
    GST_ELEMENT_ERROR (trans, STREAM, WRONG_TYPE,
        ("Only system memory and " GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
         " are accepted, and " GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA
         " if GStreamer's CUDA elements are available: put an element that "
         "copies the frames to system memory before this one."),
        ("%" GST_PTR_FORMAT, in_caps));
    return FALSE;
  }
  priv->to_cuda =
      gst_vkgdr_transfer_caps_is_cuda (gst_caps_get_features (out_caps, 0));
  priv->is_video = gst_vkgdr_caps_get_video_info (in_caps, &priv->info);
  return TRUE;
}

/* Whether downstream accepts the output @refused in another memory. */
static gboolean
accepts_other_memory (GstBaseTransform *trans, GstCaps *refused)
{
  GstCaps *inputs =
      gst_vkgdr_transfer_transform_caps (trans, GST_PAD_SRC, refused, NULL);
  GstCaps *accepted = gst_pad_peer_query_caps (trans->srcpad, inputs);
  gboolean accepts = !gst_caps_is_empty (accepted);

  gst_caps_unref (accepted);
  gst_caps_unref (inputs);
  return accepts;
}

/* Returns what the user can do if downstream refuses the output @refused. */
static const gchar *
get_remedy (GstBaseTransform *trans, GstCaps *refused)
{
  const GstStructure *structure = gst_caps_get_structure (refused, 0);

  if (accepts_other_memory (trans, refused))
    return GST_VKGDR_TRANSFER_GET_CLASS (trans)->to_device
               ? "does not accept GPU memory: put vkgdrdownload before it"
               : "accepts GPU memory only: remove this element, or put "
                 "vkgdrupload behind it";
  if (gst_structure_has_name (structure, "video/x-raw"))
    return "does not accept these frames: convert them before this element, "
           "for example with videoconvert";
  if (gst_structure_has_name (structure, "audio/x-raw"))
    return "does not accept this audio: convert it before this element, for "
           "example with audioconvert";
  return "does not accept this stream";
}

/* The next element may know why it refuses @caps, and post it when they arrive.
 */
static void
send_refused_caps (GstBaseTransform *trans, GstCaps *caps)
{
  GstPad *peer = gst_pad_get_peer (trans->srcpad);

  if (peer && !gst_pad_query_accept_caps (peer, caps))
    gst_pad_send_event (peer, gst_event_new_caps (caps));
  gst_clear_object (&peer);
}

/* Returns the output for @caps if downstream accepts none, otherwise NULL. */
static GstCaps *
get_refused (GstBaseTransform *trans, GstCaps *caps)
{
  GstCaps *possible =
      gst_vkgdr_transfer_transform_caps (trans, GST_PAD_SINK, caps, NULL);
  GstCaps *accepted = gst_pad_peer_query_caps (trans->srcpad, possible);

  if (gst_caps_is_empty (possible) || !gst_caps_is_empty (accepted))
    gst_clear_caps (&possible);
  gst_caps_unref (accepted);
  return possible ? gst_caps_truncate (possible) : NULL;
}

/* If downstream refuses the caps, the base class does not send them. The
 * source's own error is only "not-negotiated". */
static void
explain_refused_caps (GstBaseTransform *trans, GstCaps *caps)
{
  GstCaps *refused = get_refused (trans, caps);
  gchar *text;

  if (!refused)
    return;
  send_refused_caps (trans, refused);
  text = gst_caps_to_string (caps);
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (trans),
      g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE,
          "The next element %s. The caps are %s.", get_remedy (trans, refused),
          text));
  g_free (text);
  gst_caps_unref (refused);
}

/* A stream without caps, such as filesrc's, consists of bytes. It gets caps
 * that say so, because the memory type is a feature of the caps. If downstream
 * refuses them, this is an error only when bytes come: some elements send their
 * caps after the segment, and some streams end without a buffer. */
static GstCaps *
new_caps_of_bytes (void)
{
  return gst_caps_new_empty_simple ("application/octet-stream");
}

static void
set_caps_of_bytes (GstBaseTransform *trans)
{
  GstCaps *bytes = new_caps_of_bytes ();
  GstCaps *refused = get_refused (trans, bytes);

  if (!refused
      && !gst_pad_send_event (trans->sinkpad, gst_event_new_caps (bytes)))
    GST_WARNING_OBJECT (trans, "failed to set caps on a stream without caps");
  gst_clear_caps (&refused);
  gst_caps_unref (bytes);
}

static gboolean
gst_vkgdr_transfer_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCaps *caps = NULL;
  gboolean ok;

  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT
      && !gst_pad_has_current_caps (trans->sinkpad))
    set_caps_of_bytes (trans);
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    gst_event_parse_caps (event, &caps);
    gst_caps_ref (caps);
  }
  ok = GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
  if (caps && !ok)
    explain_refused_caps (trans, caps);
  gst_clear_caps (&caps);
  return ok;
}

static GstFlowReturn
gst_vkgdr_transfer_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstCaps *bytes;

  if (gst_pad_has_current_caps (trans->sinkpad))
    return GST_BASE_TRANSFORM_CLASS (parent_class)
        ->submit_input_buffer (trans, is_discont, input);
  bytes = new_caps_of_bytes ();
  explain_refused_caps (trans, bytes);
  gst_caps_unref (bytes);
  gst_buffer_unref (input);
  return GST_FLOW_NOT_NEGOTIATED;
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

/* Whether downstream would misread the frame, because it does not support the
 * meta that describes the layout. */
static gboolean
must_be_packed (GstVkgdrTransfer *self, GstBuffer *frame)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  if (!priv->is_video)
    return FALSE;
  if (GST_VKGDR_TRANSFER_GET_CLASS (self)->to_device
      && (gst_vkgdr_layout_is_upside_down (frame)
          || gst_vkgdr_layout_has_odd_samples (&priv->info, frame)))
    return TRUE;
  if (gst_vkgdr_layout_is_default (&priv->info, frame))
    return FALSE;
  if (gst_buffer_get_video_crop_meta (frame) && !priv->reads_crop_meta)
    return TRUE;
  return !priv->reads_video_meta;
}

/* The layout is the same, so the GstVideoMeta stays valid. */
void
gst_vkgdr_transfer_copy_data (GstBuffer *output, GstBuffer *input)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (input);

  gst_buffer_copy_into (output, input, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_TAG_MEMORY);
  if (meta)
    gst_buffer_add_video_meta_full (output, meta->flags, meta->format,
        meta->width, meta->height, meta->n_planes, meta->offset, meta->stride);
}

/* Returns @moved (transfer full) with all other data of @input. If @input has
 * no other owner, it gets the memory instead, and is returned. The memory of a
 * buffer of a pool stays in that buffer, because the pool would free the buffer
 * otherwise instead of recycling it. */
static GstBuffer *
complete (GstBuffer *input, GstBuffer *moved)
{
  if (moved->pool || input->pool || gst_buffer_n_memory (moved) == 0
      || !gst_buffer_is_writable (input)) {
    gst_vkgdr_transfer_copy_data (moved, input);
    return moved;
  }
  gst_buffer_replace_all_memory (input, gst_buffer_get_memory (moved, 0));
  GST_BUFFER_FLAG_UNSET (input, GST_BUFFER_FLAG_TAG_MEMORY);
  gst_buffer_unref (moved);
  return input;
}

static void
count (GstVkgdrTransfer *self, gsize size, GstVkgdrPath path)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  gst_vkgdr_transfer_stats_count (&priv->stats, size, path);
}

GstVkgdrAccess
gst_vkgdr_transfer_get_written_access (GstVkgdrTransfer *self)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  return gst_vkgdr_transfer_stats_get_written (&priv->stats);
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
         "the firmware, if they are off."),
        ("the window has %" G_GUINT64_FORMAT " bytes", size));
  else
    GST_ELEMENT_INFO (self, RESOURCE, NOT_FOUND,
        ("The CPU cannot write to this device's memory in place. Buffers are "
         "staged, which costs a transfer. Remedy: %s.",
            remedy ? remedy : ""),
        ("%s", reason ? reason : ""));
  gst_structure_free (device);
}

/* Whether the CPU cannot write to @memory, which is VkgdrMemory, directly. */
static gboolean
is_outside_window (GstMemory *memory)
{
  return !gst_vkgdr_memory_get_host_pointer (memory);
}

/* Adds the access mode and the times of upstream's writes to the statistics.
 * Returns the path of the bytes. */
static GstVkgdrPath
count_write (GstVkgdrTransfer *self, GstMemory *memory)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstClockTime map_time, wait_time;
  GstVkgdrAccess access =
      gst_vkgdr_memory_get_write_times (memory, &map_time, &wait_time);

  if (access == GST_VKGDR_ACCESS_AUTO)
    return GST_VKGDR_PATH_NONE;
  gst_vkgdr_transfer_stats_add_write (
      &priv->stats, access, map_time, wait_time);
  if (access == GST_VKGDR_ACCESS_DIRECT)
    return GST_VKGDR_PATH_DIRECT;
  if (is_outside_window (memory))
    warn_staged (self);
  return GST_VKGDR_PATH_STAGED;
}

/* Counts a buffer whose bytes are already in suitable memory. */
static void
count_untouched (GstVkgdrTransfer *self, GstBuffer *buffer, gsize size)
{
  GstMemory *memory = size > 0 ? gst_buffer_peek_memory (buffer, 0) : NULL;
  GstVkgdrPath path = GST_VKGDR_PATH_NONE;

  if (memory && gst_is_vkgdr_memory (memory))
    path = count_write (self, memory);
  count (self, size, path);
}

static void
gst_vkgdr_transfer_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (transform));

  gst_vkgdr_transfer_stats_fill (&priv->stats, stats);
}

static gboolean
gst_vkgdr_transfer_start (GstBaseTransform *trans)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (GST_VKGDR_TRANSFER (trans));

  gst_vkgdr_transfer_stats_reset (&priv->stats);
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
  GstBuffer *packed = GST_VKGDR_TRANSFER_GET_CLASS (self)->pack (
      self, input, &priv->info, &path, error);

  if (!packed)
    return NULL;
  if (path == GST_VKGDR_PATH_NONE)
    count_untouched (self, input, size);
  else
    count (self, size, path);
  gst_vkgdr_transfer_stats_count_packed (&priv->stats);
  gst_vkgdr_layout_copy_data (&priv->info, input, packed);
  return packed;
}

/* Makes the bytes that the CPU wrote available to the device. Unmapping does
 * this, too, but upstream may still have the buffer mapped for writing. Sets
 * @is_suitable if all memories are suitable for downstream. */
static gboolean
publish_all (GstVkgdrTransfer *self, GstBuffer *buffer, gboolean *is_suitable,
    GError **error)
{
  GstVkgdrTransferClass *klass = GST_VKGDR_TRANSFER_GET_CLASS (self);
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  guint n = gst_buffer_n_memory (buffer), i;

  /* In GStreamer's own CUDA elements, a frame always has one memory. */
  *is_suitable = !priv->to_cuda || n == 1;
  for (i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_is_vkgdr_memory (memory)
        && !gst_vkgdr_memory_publish (memory, error))
      return FALSE;
    *is_suitable = *is_suitable && klass->is_suitable (self, memory);
  }
  return TRUE;
}

/* Returns @input, of @size bytes, or a buffer with the same content in the
 * right memory and in a layout that downstream supports. The caller owns a
 * buffer that is not @input. */
static GstBuffer *
move_or_pack (
    GstVkgdrTransfer *self, GstBuffer *input, gsize size, GError **error)
{
  GstVkgdrTransferClass *klass = GST_VKGDR_TRANSFER_GET_CLASS (self);
  GstVkgdrPath path = GST_VKGDR_PATH_NONE;
  gboolean is_suitable;
  GstBuffer *moved;

  if (!publish_all (self, input, &is_suitable, error))
    return NULL;
  if (must_be_packed (self, input))
    return pack (self, input, size, error);
  if (is_suitable) {
    count_untouched (self, input, size);
    return input;
  }
  if (size == 0)
    return complete (input, gst_buffer_new ());
  moved = klass->move (self, input, size, &path, error);
  if (!moved)
    return NULL;
  if (path == GST_VKGDR_PATH_COPIED && klass->to_device
      && is_outside_window (gst_buffer_peek_memory (moved, 0)))
    warn_staged (self);
  count (self, size, path);
  return complete (input, moved);
}

static gboolean
is_in_cuda_memory (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) > 0
         && gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (buffer, 0));
}

/* Returns a buffer of VkgdrMemory, which the caller owns, for a frame that is
 * in GstCudaMemory. In the CUDA context of this element, nothing is copied.
 * Returns NULL if the CPU has to copy the frame. */
static GstBuffer *
wrap_cuda_input (GstVkgdrTransfer *self, GstBuffer *input)
{
  GstBuffer *result;
  GError *error = NULL;

  result = gst_vkgdr_context_buffer_from_cuda (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)),
      input, &error);
  if (!result)
    GST_DEBUG_OBJECT (self, "copying with the CPU: %s", error->message);
  g_clear_error (&error);
  return result;
}

/* Wraps @buffer as GstCudaMemory. Takes ownership of @buffer, unless it is
 * @input. */
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

/* Whether a frame in GstCudaMemory is passed through, because downstream
 * accepts it. */
static gboolean
is_cuda_passthrough (GstVkgdrTransfer *self, GstBuffer *input)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);

  return priv->to_cuda && gst_buffer_n_memory (input) == 1
         && !must_be_packed (self, input);
}

/* The same as move_or_pack () for a frame in GstCudaMemory. */
static GstBuffer *
move_from_cuda (
    GstVkgdrTransfer *self, GstBuffer *input, gsize size, GError **error)
{
  GstBuffer *source = wrap_cuda_input (self, input);
  GstBuffer *result;

  if (!source)
    return move_or_pack (self, input, size, error);
  result = move_or_pack (self, source, gst_buffer_get_size (source), error);
  if (result != source)
    gst_buffer_unref (source);
  return result;
}

/* Returns @input, of @size bytes, or a new buffer for downstream, which the
 * caller owns. */
static GstBuffer *
make_output (
    GstVkgdrTransfer *self, GstBuffer *input, gsize size, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  GstBuffer *result;

  if (!is_in_cuda_memory (input)) {
    result = move_or_pack (self, input, size, error);
  } else if (is_cuda_passthrough (self, input)) {
    count (self, size, GST_VKGDR_PATH_NONE);
    return input;
  } else {
    result = move_from_cuda (self, input, size, error);
  }
  if (result && priv->to_cuda)
    result = wrap_cuda_output (self, input, result, error);
  return result;
}

/* Returns @input (transfer full), or if a plane is spread over its memories, a
 * buffer with the same bytes in one memory. Returns NULL with @error set if the
 * frame does not fit its caps. */
static GstBuffer *
check_frame (GstVkgdrTransfer *self, GstBuffer *input, GError **error)
{
  GstVkgdrTransferPrivate *priv =
      gst_vkgdr_transfer_get_instance_private (self);
  gboolean may_be_split = gst_buffer_n_memory (input) > 1;
  GstBuffer *merged;

  if (!priv->is_video
      || gst_vkgdr_buffer_check_video (
          input, &priv->info, may_be_split ? NULL : error))
    return input;
  if (!may_be_split) {
    gst_buffer_unref (input);
    return NULL;
  }
  merged = gst_buffer_copy (input);
  gst_buffer_replace_all_memory (merged, gst_buffer_get_all_memory (input));
  gst_buffer_unref (input);
  if (!gst_vkgdr_buffer_check_video (merged, &priv->info, error))
    gst_clear_buffer (&merged);
  return merged;
}

static GstFlowReturn
gst_vkgdr_transfer_generate_output (GstBaseTransform *trans, GstBuffer **output)
{
  GstVkgdrTransfer *self = GST_VKGDR_TRANSFER (trans);
  GstBuffer *input = g_steal_pointer (&trans->queued_buf);
  GstMemory *before = NULL; /* it may have been freed: only compared */
  GError *error = NULL;

  *output = NULL;
  if (!input)
    return GST_FLOW_OK;
  if (gst_buffer_n_memory (input) == 1)
    before = gst_buffer_peek_memory (input, 0);
  input = check_frame (self, input, &error);
  if (input)
    *output = make_output (self, input, gst_buffer_get_size (input), &error);
  if (input && *output != input)
    gst_buffer_unref (input);
  if (*output) {
    gst_tensor_batch_move_analytics (*output, before);
    return GST_FLOW_OK;
  }
  /* The frame is invalid; the device works. */
  if (g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT)) {
    gst_vkgdr_element_post_dropped (GST_ELEMENT (self), error);
    g_error_free (error);
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self), error);
  return GST_FLOW_ERROR;
}

/* Never called: generate_output () makes the output. But without a transform
 * function, the base class would pass the input through. */
static GstFlowReturn
gst_vkgdr_transfer_transform (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  return GST_FLOW_NOT_SUPPORTED;
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
  trans_class->submit_input_buffer = gst_vkgdr_transfer_submit_input_buffer;
  trans_class->generate_output = gst_vkgdr_transfer_generate_output;
  trans_class->transform = gst_vkgdr_transfer_transform;

  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TRANSFER, 0);
}

static void
gst_vkgdr_transfer_init (GstVkgdrTransfer *self)
{
}
