/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src-times.c: running times of the server's pipeline in this one
 *
 * The offset of the source pad is the shift between the two.
 */

#include "ipc/src.h"

/* The maximum delay of a live frame in nanoseconds, in addition to the latency.
 * On a busy machine, both processes may have to wait for a processor. */
#define LATENESS (250 * GST_MSECOND)

/* Nanoseconds. A live frame is not due later than this. */
#define EARLINESS (GST_SECOND * 60 * 60)

/* Nanoseconds. A smaller change of the difference between the running times of
 * the pipelines is ignored, because conversions from clocks that are not
 * monotonic are not exact. */
#define MIN_CHANGE (10 * GST_MSECOND)

/* Returns the running time of @frame in the server's pipeline, or
 * GST_CLOCK_TIME_NONE. */
static GstClockTime
get_running_time (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  if (self->segment.format != GST_FORMAT_TIME)
    return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time (
      &self->segment, GST_FORMAT_TIME, frame->pts);
}

/* Returns a + b, or the nearest number: a server may send any times. */
static GstClockTimeDiff
add_times (GstClockTimeDiff a, GstClockTimeDiff b)
{
  GstClockTimeDiff sum;

  if (!__builtin_add_overflow (a, b, &sum))
    return MAX (sum, -G_MAXINT64);
  return b < 0 ? -G_MAXINT64 : G_MAXINT64;
}

/* Sets @shift to the running time of this pipeline when that of the server's
 * pipeline is 0. Returns FALSE if it is not known. */
static gboolean
get_clock_shift (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame,
    GstClockTime running_time, GstClockTimeDiff *shift)
{
  GstClock *clock = gst_element_get_clock (GST_ELEMENT (self));
  gboolean is_known =
      clock && frame->time >= 0 && GST_CLOCK_TIME_IS_VALID (running_time);

  if (is_known)
    *shift = add_times (frame->time - (GstClockTimeDiff) running_time,
        -gst_vkgdr_ipc_monotonic (
            clock, gst_element_get_base_time (GST_ELEMENT (self))));
  gst_clear_object (&clock);
  return is_known;
}

/* gst_base_src_set_format () must be called before the element starts, but the
 * format is not known then. */
static void
set_format (GstVkgdrIpcSrc *self, GstFormat format)
{
  GstBaseSrc *src = GST_BASE_SRC (self);

  GST_OBJECT_LOCK (self);
  if (src->segment.format != format)
    gst_segment_init (&src->segment, format);
  GST_OBJECT_UNLOCK (self);
}

/* Returns the shift from running times of the server's pipeline to those of
 * this pipeline. @running_time is that of @frame in the server's pipeline. A
 * live frame arrives one latency after its time. So the times of the first ones
 * may be before this pipeline's start; a sink drops them. If a time is still
 * earlier, or much later, it does not come from a clock. Then the shift makes
 * this stream begin with @frame. */
static GstClockTimeDiff
get_shift (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame,
    GstClockTime running_time)
{
  GstClockTimeDiff shift = 0, age;
  GstClockTimeDiff limit = self->latency > 0 ? self->latency + LATENESS : 0;
  GstClockTimeDiff early =
      frame->time - (GstClockTimeDiff) gst_util_get_timestamp ();

  get_clock_shift (self, frame, running_time, &shift);
  age = -add_times ((GstClockTimeDiff) running_time, shift);
  self->follows_clock =
      age <= limit
      && (frame->time >= 0 ? early <= EARLINESS : -age <= EARLINESS);
  return self->follows_clock ? shift : -(GstClockTimeDiff) running_time;
}

/* Follows a changed base time. A pipeline gets another base time when it plays
 * again after a pause, and not always a new segment. */
static void
follow_bases (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  GstPad *pad = GST_BASE_SRC_PAD (self);
  GstClockTimeDiff shift;

  if (self->follows_clock
      && get_clock_shift (self, frame, get_running_time (self, frame), &shift)
      && ABS (add_times (shift, -gst_pad_get_offset (pad))) >= MIN_CHANGE)
    gst_pad_set_offset (pad, shift);
}

static void
apply_segment (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  GstClockTime running_time = get_running_time (self, frame);

  self->follows_clock = FALSE;
  if (self->segment.format == GST_FORMAT_TIME)
    gst_pad_set_offset (GST_BASE_SRC_PAD (self),
        get_shift (self, frame,
            GST_CLOCK_TIME_IS_VALID (running_time) ? running_time : 0));
  set_format (self, self->segment.format);
  gst_base_src_new_segment (GST_BASE_SRC (self), &self->segment);
  self->needs_offset = FALSE;
}

/* Whether the frame's running time is a number that can be added to others. */
static gboolean
check_running_time (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  const GstSegment *segment = &self->segment;

  return segment->format != GST_FORMAT_TIME
         || !GST_CLOCK_TIME_IS_VALID (frame->pts)
         || (gdouble) frame->pts / segment->rate + (gdouble) segment->base
                < (gdouble) G_MAXINT64
         || gst_vkgdr_ipc_src_set_invalid (error, "a timestamp");
}

/* Whether a sink behind this element may wait for the frame: it is not due
 * years later. The times of a stream that does not follow a clock begin at 0.
 */
static gboolean
check_wait (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  GstClockTime running_time = get_running_time (self, frame);
  GstClockTimeDiff shift = gst_pad_get_offset (GST_BASE_SRC_PAD (self));

  return !GST_CLOCK_TIME_IS_VALID (running_time)
         || add_times ((GstClockTimeDiff) running_time, shift)
                < (GstClockTimeDiff) GST_VKGDR_IPC_MAX_WAIT
         || gst_vkgdr_ipc_src_set_invalid (
             error, "a timestamp that is years ahead");
}

gboolean
gst_vkgdr_ipc_src_apply_times (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  if (!check_running_time (self, frame, error))
    return FALSE;
  follow_bases (self, frame);
  if (self->needs_offset)
    apply_segment (self, frame);
  return check_wait (self, frame, error);
}
