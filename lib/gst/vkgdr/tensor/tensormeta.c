/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/tensormeta.c: the frames of a batch
 *
 * Knows nothing of how a batch is made.
 */

#include <gst/vkgdr/gstvkgdrtensormeta.h>

/**
 * SECTION:gstvkgdrtensormeta
 * @title: GstVkgdrTensorBatchMeta
 * @short_description: the frames of a batch
 *
 * This meta of a buffer of tensors has the source of each frame, its time, and
 * the position of the tensor's pixels in the frame, so that a result can be
 * drawn at the right position.
 *
 * Since: 0.2
 */

/* --- a frame ------------------------------------------------------------- */

static GstVkgdrTensorFrame *
frame_copy (const GstVkgdrTensorFrame *frame)
{
  GstVkgdrTensorFrame *copy = g_memdup2 (frame, sizeof (*frame));

  copy->pad = g_strdup (frame->pad);
  return copy;
}

static void
frame_free (GstVkgdrTensorFrame *frame)
{
  g_free (frame->pad);
  g_free (frame);
}

G_DEFINE_BOXED_TYPE (
    GstVkgdrTensorFrame, gst_vkgdr_tensor_frame, frame_copy, frame_free)

/**
 * gst_vkgdr_tensor_frame_map_point:
 * @frame: a frame
 * @x: a column of the tensor, 0 is its left edge
 * @y: a row of the tensor, 0 is its upper edge
 * @frame_x: (out): the column of the frame
 * @frame_y: (out): the row of the frame
 *
 * Converts a position in the tensor, for example the corner of a box that a
 * network has found, to the position in the frame. A point in the padding is
 * outside of the frame.
 *
 * Since: 0.2
 */
void
gst_vkgdr_tensor_frame_map_point (const GstVkgdrTensorFrame *frame, gdouble x,
    gdouble y, gdouble *frame_x, gdouble *frame_y)
{
  g_return_if_fail (frame != NULL);
  g_return_if_fail (frame_x != NULL && frame_y != NULL);

  *frame_x = x * frame->transform.scale_x + frame->transform.offset_x;
  *frame_y = y * frame->transform.scale_y + frame->transform.offset_y;
}

/* --- the meta ------------------------------------------------------------ */

GType
gst_vkgdr_tensor_batch_meta_api_get_type (void)
{
  static gsize type = 0;
  static const gchar *tags[] = { NULL };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, gst_meta_api_type_register ("GstVkgdrTensorBatchMetaAPI", tags));
  return type;
}

static void
clear_frame (gpointer data)
{
  g_free (((GstVkgdrTensorFrame *) data)->pad);
}

static gboolean
batch_meta_init (GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  GstVkgdrTensorBatchMeta *self = (GstVkgdrTensorBatchMeta *) meta;

  self->n_frames = 0;
  self->frames = g_array_new (FALSE, FALSE, sizeof (GstVkgdrTensorFrame));
  g_array_set_clear_func (self->frames, clear_frame);
  return TRUE;
}

static void
batch_meta_free (GstMeta *meta, GstBuffer *buffer)
{
  g_array_unref (((GstVkgdrTensorBatchMeta *) meta)->frames);
}

/* The meta is not copied with a part of the buffer, because a part does not
 * have the same frames. */
static gboolean
batch_meta_transform (
    GstBuffer *to, GstMeta *meta, GstBuffer *buffer, GQuark type, gpointer data)
{
  GstVkgdrTensorBatchMeta *self = (GstVkgdrTensorBatchMeta *) meta, *copy;
  const GstMetaTransformCopy *range = data;
  guint i;

  if (!GST_META_TRANSFORM_IS_COPY (type) || (range && range->region))
    return FALSE;
  copy = gst_vkgdr_buffer_add_tensor_batch_meta (to);
  for (i = 0; i < self->n_frames; i++)
    gst_vkgdr_tensor_batch_meta_append (
        copy, gst_vkgdr_tensor_batch_meta_get_frame (self, i));
  return TRUE;
}

/**
 * gst_vkgdr_tensor_batch_meta_get_info:
 *
 * Registers the meta, if that has not been done.
 *
 * Thread-safe.
 *
 * Returns: (transfer none): the implementation of #GstVkgdrTensorBatchMeta
 *
 * Since: 0.2
 */
const GstMetaInfo *
gst_vkgdr_tensor_batch_meta_get_info (void)
{
  static const GstMetaInfo *info = NULL;

  if (g_once_init_enter ((GstMetaInfo **) &info)) {
    const GstMetaInfo *registered =
        gst_meta_register (GST_VKGDR_TENSOR_BATCH_META_API_TYPE,
            "GstVkgdrTensorBatchMeta", sizeof (GstVkgdrTensorBatchMeta),
            batch_meta_init, batch_meta_free, batch_meta_transform);

    g_once_init_leave ((GstMetaInfo **) &info, (GstMetaInfo *) registered);
  }
  return info;
}

/**
 * gst_vkgdr_buffer_add_tensor_batch_meta:
 * @buffer: a writable buffer
 *
 * Adds an empty list of frames.
 *
 * Not thread-safe: the caller owns the buffer, as for all metas.
 *
 * Returns: (transfer none): the meta, which the buffer owns
 *
 * Since: 0.2
 */
GstVkgdrTensorBatchMeta *
gst_vkgdr_buffer_add_tensor_batch_meta (GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  return (GstVkgdrTensorBatchMeta *) gst_buffer_add_meta (
      buffer, gst_vkgdr_tensor_batch_meta_get_info (), NULL);
}

/**
 * gst_vkgdr_buffer_get_tensor_batch_meta:
 * @buffer: a buffer
 *
 * Not thread-safe: the caller owns the buffer, as for all metas.
 *
 * Returns: (transfer none) (nullable): the list of its frames, or %NULL if it
 *   has none
 *
 * Since: 0.2
 */
GstVkgdrTensorBatchMeta *
gst_vkgdr_buffer_get_tensor_batch_meta (GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  return (GstVkgdrTensorBatchMeta *) gst_buffer_get_meta (
      buffer, GST_VKGDR_TENSOR_BATCH_META_API_TYPE);
}

/**
 * gst_vkgdr_tensor_batch_meta_append:
 * @meta: a list of frames of a writable buffer
 * @frame: a frame, which is copied
 *
 * Appends a frame.
 *
 * Since: 0.2
 */
void
gst_vkgdr_tensor_batch_meta_append (
    GstVkgdrTensorBatchMeta *meta, const GstVkgdrTensorFrame *frame)
{
  GstVkgdrTensorFrame copy;

  g_return_if_fail (meta != NULL);
  g_return_if_fail (frame != NULL);

  copy = *frame;
  copy.pad = g_strdup (frame->pad);
  g_array_append_val (meta->frames, copy);
  meta->n_frames = meta->frames->len;
}

/**
 * gst_vkgdr_tensor_batch_meta_get_frame:
 * @meta: a list of frames
 * @index: number of a frame in the batch
 *
 * Returns: (transfer none) (nullable): the frame, which the buffer owns, or
 *   %NULL if @index is too large
 *
 * Since: 0.2
 */
const GstVkgdrTensorFrame *
gst_vkgdr_tensor_batch_meta_get_frame (
    const GstVkgdrTensorBatchMeta *meta, guint index)
{
  g_return_val_if_fail (meta != NULL, NULL);

  if (index >= meta->frames->len)
    return NULL;
  return &g_array_index (meta->frames, GstVkgdrTensorFrame, index);
}
