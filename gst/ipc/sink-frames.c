/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink-frames.c: the buffers that vkgdripcsink sends
 */

#include <gio/gio.h>

#include "ipc/frame.h"
#include "ipc/sink.h"

#define GST_CAT_DEFAULT gst_vkgdr_ipc_sink_debug

/* After this number of frames in a row that are in memory of their own, frames
 * are copied. Otherwise each frame would be exported by this process, and
 * imported by each client. A pool rarely has so many allocations. */
#define MAX_NEW 64

/* Returns the monotonic time at which the running time was 0, or -1. */
static gint64
get_base (GstVkgdrIpcSink *self)
{
  GstClock *clock = gst_element_get_clock (GST_ELEMENT (self));
  GstClockTime base = gst_element_get_base_time (GST_ELEMENT (self));
  gint64 result = -1;

  if (clock && GST_CLOCK_TIME_IS_VALID (base))
    result = gst_vkgdr_ipc_monotonic (clock, base);
  gst_clear_object (&clock);
  return result;
}

/* Some decoders push a frame that they still have mapped. */
static gboolean
publish (GstBuffer *buffer, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    if (!gst_vkgdr_memory_publish (gst_buffer_peek_memory (buffer, i), error))
      return FALSE;
  return TRUE;
}

/* Without a window there is no memory with a file descriptor. So the error also
 * tells the user how to get a window. Takes ownership of @error. */
static GError *
explain_export_error (GstVkgdrIpcSink *self, GError *error)
{
  GstStructure *context = gst_vkgdr_context_describe (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint));
  gboolean has_window = TRUE;
  GError *explained;

  gst_structure_get_boolean (context, "has-window", &has_window);
  if (has_window) {
    gst_structure_free (context);
    return error;
  }
  explained = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
      "frames can be sent to other processes only if they are in memory that "
      "the CPU can "
      "address, and the device has none: %s; %s",
      gst_structure_get_string (context, "window-reason"),
      gst_structure_get_string (context, "window-remedy"));
  gst_structure_free (context);
  g_error_free (error);
  return explained;
}

/* Called when a frame was not written, so that no client gets it. */
static void
on_output_error (gpointer user_data, const GError *error)
{
  GstVkgdrIpcSink *self = user_data;

  GST_ELEMENT_ERROR (self, RESOURCE, WRITE, ("%s", error->message),
      ("a frame could not be written to the device's memory"));
}

/* Returns the time of @buffer at which a sink shows it. A reverse segment
 * begins with the end of its last frame. */
static GstClockTime
get_running_time (const GstSegment *segment, GstBuffer *buffer)
{
  GstClockTime time = GST_BUFFER_PTS (buffer);

  if (segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (time))
    return GST_CLOCK_TIME_NONE;
  if (segment->rate < 0 && GST_BUFFER_DURATION_IS_VALID (buffer))
    time += GST_BUFFER_DURATION (buffer);
  if (segment->rate < 0 && time > segment->stop)
    time = segment->stop;
  return gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
}

/* Clients get a reverse segment as one that goes forward (send_segment ()), in
 * which a timestamp is the running time. */
static void
get_timing (GstVkgdrIpcSink *self, GstBuffer *buffer, GstVkgdrIpcTiming *timing)
{
  const GstSegment *segment = &GST_BASE_SINK (self)->segment;
  GstClockTime running_time = get_running_time (segment, buffer);
  gint64 base = get_base (self);

  timing->pts = GST_BUFFER_PTS (buffer);
  timing->dts = GST_BUFFER_DTS (buffer);
  timing->duration = GST_BUFFER_DURATION (buffer);
  timing->time = base >= 0 && GST_CLOCK_TIME_IS_VALID (running_time)
                     ? base + (gint64) running_time
                     : -1;
  if (segment->format == GST_FORMAT_TIME && segment->rate < 0) {
    timing->pts = running_time;
    timing->dts = GST_CLOCK_TIME_NONE;
    if (GST_CLOCK_TIME_IS_VALID (timing->duration))
      timing->duration /= -segment->rate;
  }
}

/* Takes ownership of @frame. @described: see gst_vkgdr_ipc_output_new () */
static GstVkgdrIpcOutput *
new_output (GstVkgdrIpcSink *self, GstBuffer *frame, GstBuffer *described,
    GError **error)
{
  GstVkgdrIpcTiming timing;
  gboolean is_video =
      GST_VIDEO_INFO_FORMAT (&self->info) != GST_VIDEO_FORMAT_UNKNOWN;

  get_timing (self, described, &timing);
  if (publish (frame, error))
    return gst_vkgdr_ipc_output_new (frame, described,
        is_video ? &self->info : NULL, &timing, on_output_error, self, error);
  gst_buffer_unref (frame);
  return NULL;
}

static GstVkgdrIpcOutput *
copy_to_output (GstVkgdrIpcSink *self, GstBuffer *buffer, GstBuffer *described,
    GError **error)
{
  GstBuffer *copy =
      gst_vkgdr_ipc_copier_copy (self->copier, buffer, described, error);

  if (!copy)
    return NULL;
  GST_OBJECT_LOCK (self);
  self->frames_copied++;
  self->bytes_copied += gst_buffer_get_size (copy);
  GST_OBJECT_UNLOCK (self);
  return new_output (self, copy, described, error);
}

/* Whether @buffer can be sent without a copy, as far as that can be said before
 * it is exported. */
static gboolean
can_be_sent (GstVkgdrIpcSink *self, GstBuffer *buffer)
{
  guint i, n = gst_buffer_n_memory (buffer);

  if (!gst_is_vkgdr_buffer_of (
          buffer, gst_vkgdr_ipc_endpoint_get_context (&self->endpoint)))
    return FALSE;
  for (i = 0; self->n_new >= MAX_NEW && i < n; i++)
    if (!gst_vkgdr_ipc_is_exported (gst_buffer_peek_memory (buffer, i)))
      return FALSE;
  return TRUE;
}

/* Copies @buffer if its memory cannot be exported. */
static GstVkgdrIpcOutput *
make_output (GstVkgdrIpcSink *self, GstBuffer *buffer, GstBuffer *described,
    GError **error)
{
  GstVkgdrIpcOutput *output = NULL;
  GError *own = NULL;

  if (can_be_sent (self, buffer))
    output = new_output (self, gst_buffer_ref (buffer), described, &own);
  if (g_error_matches (own, G_IO_ERROR, G_IO_ERROR_INVALID_DATA)) {
    g_propagate_error (error, own);
    return NULL;
  }
  g_clear_error (&own);
  if (output && !gst_vkgdr_ipc_output_is_new (output))
    self->n_new = 0;
  else if (output)
    self->n_new++;
  return output ? output : copy_to_output (self, buffer, described, error);
}

/* Takes ownership of @output. */
static GstFlowReturn
send_output (GstVkgdrIpcSink *self, GstVkgdrIpcOutput *output)
{
  vkgdr_server *server = gst_vkgdr_ipc_sink_ref_server (self);
  GstFlowReturn flow = server ? GST_FLOW_OK : GST_FLOW_FLUSHING;
  vkgdr_server_result result = VKGDR_SERVER_UNLOCKED;

  while (flow == GST_FLOW_OK) {
    result = gst_vkgdr_ipc_output_send (output, server);
    if (result != VKGDR_SERVER_UNLOCKED)
      break;
    flow = gst_base_sink_wait_preroll (GST_BASE_SINK (self));
  }
  if (result != VKGDR_SERVER_SENT)
    gst_vkgdr_ipc_output_free (output);
  if (result == VKGDR_SERVER_FAILED) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, NO_SPACE_LEFT, ("No memory is left."), (NULL));
    flow = GST_FLOW_ERROR;
  }
  g_clear_pointer (&server, vkgdr_server_unref);
  return flow;
}

/* Returns a buffer with the memory of @buffer, and with the metadata of what is
 * visible of it, or NULL with @error set if it cannot be used. A buffer without
 * memory has no picture, and is sent as it is. */
static GstBuffer *
describe (GstVkgdrIpcSink *self, GstBuffer *buffer, GError **error)
{
  if (GST_VIDEO_INFO_FORMAT (&self->info) == GST_VIDEO_FORMAT_UNKNOWN
      || gst_buffer_get_size (buffer) == 0)
    return gst_buffer_ref (buffer);
  if (!gst_vkgdr_buffer_check_video (buffer, &self->info, error))
    return NULL;
  return gst_vkgdr_buffer_apply_crop (gst_buffer_ref (buffer), error);
}

/* A frame that cannot be described is dropped. Takes ownership of @error. */
static GstFlowReturn
handle_error (GstVkgdrIpcSink *self, gboolean is_described, GError *error)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (!is_described
      || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA)) {
    gst_vkgdr_element_post_dropped (GST_ELEMENT (self), error);
  } else {
    error = explain_export_error (self, error);
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE, ("%s", error->message),
        ("the frame cannot be given to other processes"));
    flow = GST_FLOW_ERROR;
  }
  g_error_free (error);
  return flow;
}

/* An overlay is drawn by the last element, from a meta that cannot be
 * serialised.
 */
static void
warn_of_overlay (GstVkgdrIpcSink *self, GstBuffer *buffer)
{
  if (self->has_warned
      || !gst_buffer_get_video_overlay_composition_meta (buffer))
    return;
  self->has_warned = TRUE;
  GST_ELEMENT_WARNING (self, STREAM, FORMAT,
      ("Overlays, such as a text over the picture, are not sent to other "
       "processes: put the element that draws them before vkgdrupload."),
      (NULL));
}

GstFlowReturn
gst_vkgdr_ipc_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);
  GError *error = NULL;
  GstBuffer *ours = gst_vkgdr_ipc_copier_wrap (self->copier, buffer, &error);
  GstBuffer *described = ours ? describe (self, ours, &error) : NULL;
  GstVkgdrIpcOutput *output =
      described ? make_output (self, ours, described, &error) : NULL;
  gboolean is_described = described || !ours;

  gst_clear_buffer (&described);
  gst_clear_buffer (&ours);
  if (!output)
    return handle_error (self, is_described, error);
  GST_OBJECT_LOCK (self);
  self->frames++;
  GST_OBJECT_UNLOCK (self);
  warn_of_overlay (self, buffer);
  gst_vkgdr_ipc_sink_send_latency (self);
  return send_output (self, output);
}
