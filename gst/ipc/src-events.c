/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src-events.c: what the server says about its stream
 *
 * Caps, segments, tags and the latency are applied before the next frame.
 */

#include <gio/gio.h>
#include <string.h>

#include "ipc/format.h"
#include "ipc/src.h"
#include "ipc/tags.h"
#include "ipc/text.h"

/* Returns the server's caps with @feature; NULL stands for system memory. Of
 * the server's features, that of single fields stays: the others are memories,
 * or metas that may not be sent. */
static GstCaps *
caps_in_memory (const GstCaps *caps, const gchar *feature)
{
  const GstCapsFeatures *theirs = gst_caps_get_features (caps, 0);
  GstCapsFeatures *features = feature ? gst_caps_features_new (feature, NULL)
                                      : gst_caps_features_new_empty ();
  GstCaps *result = gst_caps_copy (caps);

  if (gst_caps_features_contains (theirs, GST_CAPS_FEATURE_FORMAT_INTERLACED))
    gst_caps_features_add (features, GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_set_features_simple (result, features);
  return result;
}

static gboolean
is_accepted (GstVkgdrIpcSrc *self, GstCaps *caps)
{
  GstCaps *accepted = gst_pad_peer_query_caps (GST_BASE_SRC_PAD (self), caps);
  gboolean yes = !gst_caps_is_empty (accepted);

  gst_caps_unref (accepted);
  return yes;
}

/* Downstream gets device memory if it accepts that. */
static gboolean
apply_caps (GstVkgdrIpcSrc *self, const GstCaps *caps)
{
  GstCaps *ours = caps_in_memory (caps, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  gboolean ok;

  if (!is_accepted (self, ours)) {
    gst_caps_unref (ours);
    ours = caps_in_memory (caps, NULL);
  }
  ok = gst_base_src_set_caps (GST_BASE_SRC (self), ours);
  gst_caps_unref (ours);
  return ok;
}

static gboolean
is_flushing (GstVkgdrIpcSrc *self)
{
  GstPad *pad = GST_BASE_SRC_PAD (self);
  gboolean yes;

  GST_OBJECT_LOCK (pad);
  yes = GST_PAD_IS_FLUSHING (pad);
  GST_OBJECT_UNLOCK (pad);
  return yes;
}

/* Pushes the server's caps, if they have changed, or if downstream has changed.
 * If the pad is flushing, the caps are pushed before the next frame. The server
 * does not send them again. */
static GstFlowReturn
push_caps (GstVkgdrIpcSrc *self)
{
  gboolean ok = TRUE;

  /* Another element may have been linked while this one waited for a frame. */
  if (gst_pad_check_reconfigure (GST_BASE_SRC_PAD (self)))
    self->needs_caps = TRUE;
  if (self->caps && self->needs_caps)
    ok = apply_caps (self, self->caps);
  if (!ok && is_flushing (self))
    return GST_FLOW_FLUSHING;
  self->needs_caps = FALSE;
  return ok ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED;
}

/* Returns the new value of a state of the server, or NULL if it is the one that
 * was applied. */
static const void *
get_change (GstVkgdrIpcSrc *self, vkgdr_frames_state state, size_t *size)
{
  guint64 serial;
  const void *data =
      vkgdr_frames_get_state (self->frames_in, state, size, &serial);

  if (!data || serial == self->serials[state])
    return NULL;
  self->serials[state] = serial;
  return data;
}

/* Whether numbers that elements divide by, or make memory of, are positive. */
static gboolean
has_valid_numbers (const GstStructure *structure)
{
  static const gchar *const names[] = { "width", "height", "rate", "channels" };
  gint number, denominator;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (names); i++)
    if (gst_structure_get_int (structure, names[i], &number) && number <= 0)
      return FALSE;
  if (gst_structure_get_fraction (structure, "framerate", &number, &denominator)
      && number < 0)
    return FALSE;
  return !gst_structure_get_fraction (
             structure, "pixel-aspect-ratio", &number, &denominator)
         || number > 0;
}

/* Whether the caps are of frames in this format (nullable). Raw video needs a
 * format. */
static gboolean
are_valid_caps (
    GstVkgdrIpcSrc *self, const GstCaps *caps, const vkgdr_frame_format *format)
{
  const GstStructure *structure;

  if (!caps || !gst_caps_is_fixed (caps))
    return FALSE;
  structure = gst_caps_get_structure (caps, 0);
  if (!gst_vkgdr_caps_get_video_info (caps, &self->info))
    gst_video_info_init (&self->info);
  return has_valid_numbers (structure)
         && gst_structure_has_name (structure, "video/x-raw")
                == (format != NULL)
         && gst_vkgdr_ipc_format_agrees (format, &self->info);
}

/* Takes ownership of @caps (nullable). */
static gboolean
set_caps (GstVkgdrIpcSrc *self, GstCaps *caps, const vkgdr_frame_format *format,
    GError **error)
{
  if (!are_valid_caps (self, caps, format)) {
    gst_clear_caps (&caps);
    return gst_vkgdr_ipc_src_set_invalid (error, "caps");
  }
  gst_caps_take (&self->caps, caps);
  self->needs_caps = TRUE;
  return TRUE;
}

/* A server without GStreamer sends a format, and no caps. */
static gboolean
read_caps (GstVkgdrIpcSrc *self, GError **error)
{
  size_t text_size = 0, format_size = 0;
  gboolean has_text = get_change (self, VKGDR_FRAMES_CAPS, &text_size) != NULL;
  gboolean has_format =
      get_change (self, VKGDR_FRAMES_FORMAT, &format_size) != NULL;
  const gchar *text = vkgdr_frames_get_state (
      self->frames_in, VKGDR_FRAMES_CAPS, &text_size, NULL);
  const vkgdr_frame_format *format = vkgdr_frames_get_state (
      self->frames_in, VKGDR_FRAMES_FORMAT, &format_size, NULL);
  GstCaps *caps = NULL;

  if (format_size == 0)
    format = NULL;
  if ((!has_text && !has_format) || (text_size == 0 && !format))
    return TRUE;
  if (text_size == 0)
    caps = gst_vkgdr_ipc_format_to_caps (format);
  else if (gst_vkgdr_ipc_text_is_safe (text, text_size))
    caps = gst_caps_from_string (text);
  return set_caps (self, caps, format, error);
}

static gboolean
read_latency (GstVkgdrIpcSrc *self, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self, VKGDR_FRAMES_LATENCY, &size);
  guint64 latency = 0;

  if (!data)
    return TRUE;
  if (size == sizeof (latency))
    memcpy (&latency, data, size);
  latency = GUINT64_FROM_LE (latency);
  if ((size > 0 && size != sizeof (latency))
      || latency > GST_VKGDR_IPC_MAX_WAIT)
    return gst_vkgdr_ipc_src_set_invalid (error, "a latency");
  GST_OBJECT_LOCK (self);
  self->latency = latency;
  GST_OBJECT_UNLOCK (self);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  return TRUE;
}

static gboolean
read_segment (GstVkgdrIpcSrc *self, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self, VKGDR_FRAMES_SEGMENT, &size);

  if (!data || size == 0)
    return TRUE;
  self->needs_offset = TRUE;
  return gst_vkgdr_ipc_segment_read (data, size, &self->segment)
         || gst_vkgdr_ipc_src_set_invalid (error, "a segment");
}

/* Calls the function of the base class, which pushes the tags after the
 * segment: gst_element_send_event () also takes the element's state lock, but a
 * state change holds this lock while it may wait for the calling thread. */
static gboolean
read_tags (GstVkgdrIpcSrc *self, GstTagScope scope, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self,
      scope == GST_TAG_SCOPE_GLOBAL ? VKGDR_FRAMES_GLOBAL_TAGS
                                    : VKGDR_FRAMES_STREAM_TAGS,
      &size);
  GstTagList *tags;

  if (!data)
    return TRUE;
  tags = gst_vkgdr_ipc_tags_read (data, size, scope);
  if (!tags)
    return gst_vkgdr_ipc_src_set_invalid (error, "tags");
  GST_ELEMENT_GET_CLASS (self)->send_event (
      GST_ELEMENT (self), gst_event_new_tag (tags));
  return TRUE;
}

GstFlowReturn
gst_vkgdr_ipc_src_apply_changes (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  GstFlowReturn flow;

  if (!read_caps (self, error) || !read_segment (self, error)
      || !read_latency (self, error))
    return GST_FLOW_ERROR;
  flow = push_caps (self);
  if (frame && !gst_vkgdr_ipc_src_apply_times (self, frame, error))
    return GST_FLOW_ERROR;
  if (!read_tags (self, GST_TAG_SCOPE_STREAM, error)
      || !read_tags (self, GST_TAG_SCOPE_GLOBAL, error))
    return GST_FLOW_ERROR;
  return flow;
}
