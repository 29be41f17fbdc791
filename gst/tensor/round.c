/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/round.c: chooses the frames of a round and of a batch
 *
 * A round takes one frame of each pad. It begins with the earliest frame that
 * is queued on any pad. From each other pad, it takes the queued frame if that
 * begins before the earliest one ends. So the pad with the highest frame rate
 * determines the number of rounds, and no frame is dropped. A batch has one or
 * more rounds.
 */

#include <string.h>

#include "tensor/tensor.h"

/* The round that is being made. */
typedef struct {
  GstVkgdrTensor *self;
  GstClockTime start; /* running time; NONE if no frame has a time stamp */
  GstClockTime end;   /* NONE if unknown: then all frames are in time */
  gboolean timeout;   /* the deadline has passed: no pad is waited for */
  guint n_waiting;    /* pads with a queued frame */
  guint n_empty;      /* pads without a queued frame and without EOS */
  GstVkgdrTensorPad *without_caps; /* a pad with a frame, or NULL */
  GstFlowReturn flow;
  GError *error;
} Round;

static gboolean
is_gap (GstBuffer *buffer)
{
  return gst_buffer_get_size (buffer) == 0
         && GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP);
}

static GstClockTime
get_running_time (GstVkgdrTensorPad *pad, GstBuffer *buffer)
{
  GstSegment *segment = &GST_AGGREGATOR_PAD (pad)->segment;
  GstClockTime time = GST_CLOCK_TIME_NONE;

  GST_OBJECT_LOCK (pad);
  if (GST_BUFFER_PTS_IS_VALID (buffer) && segment->format == GST_FORMAT_TIME)
    time = gst_segment_to_running_time (segment, GST_FORMAT_TIME,
        MAX (GST_BUFFER_PTS (buffer), segment->start));
  GST_OBJECT_UNLOCK (pad);
  return time;
}

static GstClockTime
get_duration (GstVkgdrTensorPad *pad, GstBuffer *buffer)
{
  if (GST_BUFFER_DURATION_IS_VALID (buffer))
    return GST_BUFFER_DURATION (buffer);
  if (!pad->has_info || GST_VIDEO_INFO_FPS_N (&pad->info) <= 0)
    return GST_CLOCK_TIME_NONE;
  return gst_util_uint64_scale_int (GST_SECOND,
      GST_VIDEO_INFO_FPS_D (&pad->info), GST_VIDEO_INFO_FPS_N (&pad->info));
}

/* After a seek, some elements send frames from before the new position, which
 * the next elements have to drop. */
static GstBuffer *
gst_vkgdr_tensor_clip (
    GstAggregator *aggregator, GstAggregatorPad *base, GstBuffer *buffer)
{
  GstClockTime start = GST_BUFFER_PTS (buffer), end, duration;
  gboolean is_inside = TRUE;

  if (!GST_CLOCK_TIME_IS_VALID (start))
    return buffer;
  duration = get_duration (GST_VKGDR_TENSOR_PAD (base), buffer);
  end = GST_CLOCK_TIME_IS_VALID (duration) ? start + duration : start;
  GST_OBJECT_LOCK (base);
  if (base->segment.format == GST_FORMAT_TIME)
    is_inside = gst_segment_clip (
        &base->segment, GST_FORMAT_TIME, start, end, NULL, NULL);
  GST_OBJECT_UNLOCK (base);
  if (!is_inside)
    gst_clear_buffer (&buffer);
  return buffer;
}

/* --- regions ------------------------------------------------------------- */

static void
set_region (
    GstVkgdrTensorFrame *frame, guint64 x, guint64 y, guint64 w, guint64 h)
{
  frame->region_x = (gint) MIN (x, (guint) frame->width);
  frame->region_y = (gint) MIN (y, (guint) frame->height);
  frame->region_width = (gint) MIN (w, (guint) frame->width - frame->region_x);
  frame->region_height =
      (gint) MIN (h, (guint) frame->height - frame->region_y);
}

static void
describe_picture (GstVkgdrTensorPad *pad, const GstVkgdrTensorPicture *picture,
    gboolean is_repeated, GstVkgdrTensorFrame *frame)
{
  GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (picture->buffer);

  memset (frame, 0, sizeof (*frame));
  frame->pad = GST_PAD_NAME (pad);
  frame->pts = GST_BUFFER_PTS (picture->buffer);
  frame->duration = GST_BUFFER_DURATION (picture->buffer);
  frame->running_time = picture->running_time;
  frame->width = GST_VIDEO_INFO_WIDTH (&picture->info);
  frame->height = GST_VIDEO_INFO_FIELD_HEIGHT (&picture->info);
  frame->roi_id = -1;
  frame->is_repeated = is_repeated;
  if (crop)
    set_region (frame, crop->x, crop->y, crop->width, crop->height);
  else
    set_region (frame, 0, 0, frame->width, frame->height);
}

/* Sets the region of a meta for a batch. Returns FALSE if it is not of @type,
 * which may be 0, or if none of it is in the frame. */
static gboolean
set_roi (GQuark type, const GstTensorRegion *roi, GstVkgdrTensorFrame *frame)
{
  if (type && roi->type != type)
    return FALSE;
  set_region (frame, roi->x, roi->y, roi->width, roi->height);
  frame->roi_type = roi->type;
  frame->roi_id = roi->id;
  return frame->region_width > 0 && frame->region_height > 0;
}

/* Appends the GstVideoRegionOfInterestMetas of @buffer to @regions. */
static void
append_regions (GstBuffer *buffer, GArray *regions)
{
  gpointer state = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *) meta;
    GstTensorRegion region = { roi->roi_type, roi->id, roi->x, roi->y, roi->w,
      roi->h };

    g_array_append_val (regions, region);
  }
}

/* --- batches ------------------------------------------------------------- */

/* Converts a running time to a time stamp of the source pad. After a seek, its
 * segment does not begin at 0. */
static GstClockTime
get_output_time (GstVkgdrTensor *self, GstClockTime running_time)
{
  GstAggregatorPad *src =
      GST_AGGREGATOR_PAD (GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (self)));
  GstClockTime time = GST_CLOCK_TIME_NONE;

  GST_OBJECT_LOCK (src);
  if (GST_CLOCK_TIME_IS_VALID (running_time))
    time = gst_segment_position_from_running_time (
        &src->segment, GST_FORMAT_TIME, running_time);
  GST_OBJECT_UNLOCK (src);
  return time;
}

/* Sets the time of a batch: from its first frame to the end of its last round.
 */
static void
set_times (const Round *round, GstBuffer *buffer)
{
  GstVkgdrTensorBatchMeta *meta =
      gst_vkgdr_buffer_get_tensor_batch_meta (buffer);
  GstClockTime first = GST_CLOCK_TIME_NONE, end = round->end;
  guint i;

  for (i = 0; i < meta->n_frames; i++) {
    const GstVkgdrTensorFrame *frame =
        gst_vkgdr_tensor_batch_meta_get_frame (meta, i);
    GstClockTime time = frame->running_time;

    if (GST_CLOCK_TIME_IS_VALID (time) && !frame->is_repeated)
      first = MIN (first, time); /* NONE is the largest number */
  }
  if (!GST_CLOCK_TIME_IS_VALID (end))
    end = round->self->end;
  GST_BUFFER_PTS (buffer) = get_output_time (round->self, first);
  if (GST_CLOCK_TIME_IS_VALID (first) && GST_CLOCK_TIME_IS_VALID (end)
      && end > first)
    GST_BUFFER_DURATION (buffer) = end - first;
}

/* Called when there is no batch any more. If new caps could not be negotiated
 * while the batch was being made, they are negotiated for the next batch. */
static void
renegotiate_if_outdated (GstVkgdrTensor *self)
{
  if (self->is_outdated)
    gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (self)));
  self->is_outdated = FALSE;
}

/* Pushes the batch that is being made. */
static gboolean
finish_batch (Round *round)
{
  GstVkgdrTensor *self = round->self;
  GstTensorBatch *batch = g_steal_pointer (&self->batch);
  GstVkgdrTensorConfig *config;
  guint capacity = batch->capacity;
  GstBuffer *buffer;

  self->rounds = 0;
  renegotiate_if_outdated (self);
  config = gst_vkgdr_tensor_converter_get_config (batch->converter);
  buffer = gst_tensor_batch_finish (batch, &round->error);
  if (buffer) {
    set_times (round, buffer);
    GST_OBJECT_LOCK (self);
    self->batches++;
    GST_OBJECT_UNLOCK (self);
    gst_tensor_batch_add_analytics (buffer, config, capacity, self->id);
    round->flow = gst_aggregator_finish_buffer (GST_AGGREGATOR (self), buffer);
  }
  gst_vkgdr_tensor_config_free (config);
  return !round->error && round->flow == GST_FLOW_OK;
}

static gboolean
add_region (Round *round, GstVkgdrTensorPad *pad,
    const GstVkgdrTensorPicture *picture, GstVkgdrTensorFrame *frame)
{
  GstVkgdrTensor *self = round->self;

  if (!self->batch)
    self->batch = gst_tensor_batch_new (
        self->converter, self->stream, self->capacity, &round->error);
  if (!self->batch
      || !gst_tensor_batch_add (
          self->batch, picture->buffer, &picture->info, frame, &round->error))
    return FALSE;
  GST_OBJECT_LOCK (pad);
  pad->place = frame->transform;
  GST_OBJECT_UNLOCK (pad);
  return !gst_tensor_batch_is_full (self->batch) || finish_batch (round);
}

static gboolean
add_picture (Round *round, GstVkgdrTensorPad *pad,
    const GstVkgdrTensorPicture *picture, gboolean is_repeated)
{
  GstVkgdrTensor *self = round->self;
  GstVkgdrTensorFrame frame;
  GstVkgdrTensorRegion region;
  gboolean ok = TRUE;
  GArray *regions;
  GQuark type;
  guint i;

  GST_OBJECT_LOCK (self);
  self->frames += !is_repeated;
  self->repeated += is_repeated;
  region = self->region;
  type = g_quark_from_string (self->roi_type);
  GST_OBJECT_UNLOCK (self);
  describe_picture (pad, picture, is_repeated, &frame);
  if (region == GST_VKGDR_TENSOR_REGION_FRAME)
    return add_region (round, pad, picture, &frame);
  regions = g_array_new (FALSE, FALSE, sizeof (GstTensorRegion));
  append_regions (picture->buffer, regions);
  gst_tensor_append_objects (picture->buffer, regions);
  for (i = 0; ok && i < regions->len; i++)
    if (set_roi (type, &g_array_index (regions, GstTensorRegion, i), &frame))
      ok = add_region (round, pad, picture, &frame);
  g_array_unref (regions);
  return ok;
}

/* --- rounds -------------------------------------------------------------- */

/* Counts the pads with and without a queued frame, and finds the earliest
 * frame. */
static gboolean
count_pad (GstElement *element, GstPad *sink, gpointer data)
{
  GstVkgdrTensorPad *pad = GST_VKGDR_TENSOR_PAD (sink);
  GstAggregatorPad *base = GST_AGGREGATOR_PAD (sink);
  GstBuffer *buffer = gst_aggregator_pad_peek_buffer (base);
  Round *round = data;
  GstClockTime time, duration;

  if (!buffer) {
    round->n_empty += !gst_aggregator_pad_is_eos (base);
    return TRUE;
  }
  if (!pad->has_info && !is_gap (buffer))
    round->without_caps = pad;
  round->n_waiting++;
  time = get_running_time (pad, buffer);
  duration = get_duration (pad, buffer);
  if (GST_CLOCK_TIME_IS_VALID (time)
      && (!GST_CLOCK_TIME_IS_VALID (round->start) || time < round->start)) {
    round->start = time;
    round->end = GST_CLOCK_TIME_IS_VALID (duration) ? time + duration
                                                    : GST_CLOCK_TIME_NONE;
  }
  gst_buffer_unref (buffer);
  return TRUE;
}

/* Takes the pad's frame if it is in time. Returns NULL if it is not, or if it
 * is a gap. */
static GstBuffer *
take_buffer (const Round *round, GstVkgdrTensorPad *pad)
{
  GstAggregatorPad *base = GST_AGGREGATOR_PAD (pad);
  GstBuffer *buffer = gst_aggregator_pad_peek_buffer (base);
  GstClockTime time;
  gboolean gap;

  if (!buffer)
    return NULL;
  time = get_running_time (pad, buffer);
  gap = is_gap (buffer);
  gst_buffer_unref (buffer);
  if (GST_CLOCK_TIME_IS_VALID (time) && GST_CLOCK_TIME_IS_VALID (round->end)
      && time >= round->end && time > round->start)
    return NULL;
  /* NULL if the application has released the pad meanwhile. */
  buffer = gst_aggregator_pad_pop_buffer (base);
  if (!buffer)
    return NULL;
  if (gap)
    gst_clear_buffer (&buffer);
  return buffer;
}

/* If upstream crops with a GstVideoCropMeta, as videocrop does, the caps have
 * the size of the cropped picture, and the GstVideoMeta that of the picture in
 * memory. The crop is a region of the picture in memory. */
static void
set_picture_size (GstVkgdrTensorPicture *picture)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (picture->buffer);

  if (!meta || !gst_buffer_get_video_crop_meta (picture->buffer))
    return;
  GST_VIDEO_INFO_WIDTH (&picture->info) = meta->width;
  GST_VIDEO_INFO_HEIGHT (&picture->info) = meta->height;
}

/* Sets @picture to the pad's frame, with a reference. Returns FALSE if there is
 * no frame in time, or after a warning if the frame cannot be used. */
static gboolean
take_picture (
    const Round *round, GstVkgdrTensorPad *pad, GstVkgdrTensorPicture *picture)
{
  GstVkgdrTensorFrame frame;
  GError *error = NULL;

  picture->buffer = take_buffer (round, pad);
  if (!picture->buffer)
    return FALSE;
  picture->info = pad->info;
  picture->running_time = get_running_time (pad, picture->buffer);
  if (!pad->has_info
      || gst_vkgdr_kernel_check_frame (picture->buffer, &pad->info, &error)) {
    set_picture_size (picture);
    describe_picture (pad, picture, FALSE, &frame);
    if (frame.region_width > 0 && frame.region_height > 0)
      return TRUE;
    g_set_error_literal (&error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "its GstVideoCropMeta is outside of the picture");
  }
  gst_vkgdr_element_post_dropped (GST_ELEMENT (round->self), error);
  g_error_free (error);
  gst_clear_buffer (&picture->buffer);
  return FALSE;
}

/* Whether the last frames of the pads may be needed again. If not, they return
 * to their pools. */
static gboolean
keeps_frames (GstVkgdrTensor *self)
{
  gboolean repeats;

  GST_OBJECT_LOCK (self);
  repeats = self->missing == GST_VKGDR_TENSOR_MISSING_REPEAT
            && GST_ELEMENT (self)->numsinkpads > 1;
  GST_OBJECT_UNLOCK (self);
  return repeats;
}

static gboolean
add_pad (GstElement *element, GstPad *sink, gpointer data)
{
  GstVkgdrTensorPad *pad = GST_VKGDR_TENSOR_PAD (sink);
  Round *round = data;
  GstVkgdrTensor *self = round->self;
  GstVkgdrTensorPicture picture;
  gboolean keeps = keeps_frames (self), is_repeated, ok;

  if (!keeps)
    gst_vkgdr_tensor_pad_set_last (pad, NULL);
  is_repeated = !take_picture (round, pad, &picture);
  if (is_repeated && !gst_vkgdr_tensor_pad_get_last (pad, &picture)) {
    GST_OBJECT_LOCK (self);
    self->left_out++;
    GST_OBJECT_UNLOCK (self);
    return TRUE;
  }
  if (keeps && !is_repeated)
    gst_vkgdr_tensor_pad_set_last (pad, &picture);
  ok = add_picture (round, pad, &picture, is_repeated);
  gst_buffer_unref (picture.buffer);
  return ok;
}

static void
advance (Round *round)
{
  GstAggregatorPad *src = GST_AGGREGATOR_PAD (
      GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (round->self)));
  GstClockTime position = get_output_time (round->self,
      GST_CLOCK_TIME_IS_VALID (round->end) ? round->end : round->start);

  round->self->end = round->end;
  GST_OBJECT_LOCK (src);
  if (GST_CLOCK_TIME_IS_VALID (position))
    src->segment.position = position;
  GST_OBJECT_UNLOCK (src);
}

/* EOS comes after the work. */
static GstFlowReturn
end_stream (Round *round)
{
  GstVkgdrTensor *self = round->self;

  if (self->batch && !finish_batch (round))
    return round->flow;
  return gst_vkgdr_element_finish_work (GST_ELEMENT (self), self->stream)
             ? GST_FLOW_EOS
             : GST_FLOW_ERROR;
}

static GstFlowReturn
refuse_frame (Round *round)
{
  GST_ELEMENT_ERROR (round->self, CORE, NEGOTIATION,
      ("The pad %s got a frame, but no caps that describe frames.",
          GST_PAD_NAME (round->without_caps)),
      ("Upstream has to send caps before its first frame."));
  return GST_FLOW_NOT_NEGOTIATED;
}

static GstFlowReturn
run_round (Round *round)
{
  GstVkgdrTensor *self = round->self;
  GstElement *element = GST_ELEMENT (self);

  gst_element_foreach_sink_pad (element, count_pad, round);
  if (round->without_caps)
    return refuse_frame (round);
  if (round->n_waiting == 0 && round->n_empty == 0)
    return end_stream (round);
  /* A queued frame may have been clipped, so all pads may be empty here. */
  if (round->n_waiting == 0 || (round->n_empty > 0 && !round->timeout))
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  if (!gst_element_foreach_sink_pad (element, add_pad, round))
    return round->flow;
  advance (round);
  if (self->batch && ++self->rounds >= self->rounds_per_batch)
    finish_batch (round);
  return round->flow;
}

static GstFlowReturn
gst_vkgdr_tensor_aggregate (GstAggregator *aggregator, gboolean timeout)
{
  Round round = { GST_VKGDR_TENSOR (aggregator), GST_CLOCK_TIME_NONE,
    GST_CLOCK_TIME_NONE, timeout, 0, 0, NULL, GST_FLOW_OK, NULL };
  GstFlowReturn flow = run_round (&round);

  if (!round.error)
    return flow;
  gst_vkgdr_element_post_error (GST_ELEMENT (aggregator), round.error);
  g_clear_error (&round.error);
  return GST_FLOW_ERROR;
}

/* Returns the time at which the earliest queued frame is due. From then on, the
 * element does not wait for live sources that have no frame. If no frame is
 * queued, there is no such time. */
static GstClockTime
gst_vkgdr_tensor_get_next_time (GstAggregator *aggregator)
{
  Round round = { GST_VKGDR_TENSOR (aggregator), GST_CLOCK_TIME_NONE,
    GST_CLOCK_TIME_NONE, FALSE, 0, 0, NULL, GST_FLOW_OK, NULL };

  gst_element_foreach_sink_pad (GST_ELEMENT (aggregator), count_pad, &round);
  return round.start;
}

static gboolean
reset_pad (GstElement *element, GstPad *sink, gpointer data)
{
  gst_vkgdr_tensor_pad_set_last (GST_VKGDR_TENSOR_PAD (sink), NULL);
  return TRUE;
}

void
gst_vkgdr_tensor_reset (GstVkgdrTensor *self)
{
  g_clear_pointer (&self->batch, gst_tensor_batch_free);
  renegotiate_if_outdated (self);
  self->rounds = 0;
  self->end = GST_CLOCK_TIME_NONE;
  gst_element_foreach_sink_pad (GST_ELEMENT (self), reset_pad, NULL);
}

static GstFlowReturn
gst_vkgdr_tensor_flush (GstAggregator *aggregator)
{
  gst_vkgdr_tensor_reset (GST_VKGDR_TENSOR (aggregator));
  gst_vkgdr_element_forget_error (GST_ELEMENT (aggregator));
  return GST_FLOW_OK;
}

void
gst_vkgdr_tensor_init_rounds (GstAggregatorClass *klass)
{
  klass->aggregate = gst_vkgdr_tensor_aggregate;
  klass->clip = gst_vkgdr_tensor_clip;
  klass->get_next_time = gst_vkgdr_tensor_get_next_time;
  klass->flush = gst_vkgdr_tensor_flush;
}
