/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink-events.c: what vkgdripcsink says about its stream
 *
 * Caps, segments, tags and the latency become states of the server, which all
 * clients get before the next frame.
 */

#include <string.h>

#include "frame-wire.h"
#include "ipc/format.h"
#include "ipc/sink.h"
#include "ipc/tags.h"
#include "ipc/text.h"

#define GST_CAT_DEFAULT gst_vkgdr_ipc_sink_debug

/* Returns FALSE if there is no server, or if the bytes are too many. */
static gboolean
set_state (GstVkgdrIpcSink *self, vkgdr_frames_state state, gconstpointer data,
    gsize size)
{
  vkgdr_server *server = gst_vkgdr_ipc_sink_ref_server (self);
  gboolean ok = server && vkgdr_server_set_state (server, state, data, size);

  g_clear_pointer (&server, vkgdr_server_unref);
  return ok;
}

/* --- tags, segments and the latency -------------------------------------- */

/* Replaces all tags of the scope of @tags (transfer full). Returns whether all
 * are sent. */
static gboolean
set_tags (GstVkgdrIpcSink *self, GstTagList *tags)
{
  GstTagScope scope = gst_tag_list_get_scope (tags);
  gboolean are_complete;
  GByteArray *bytes =
      gst_vkgdr_ipc_tags_write (tags, VKGDR_WIRE_MAX_CONTENT, &are_complete);

  set_state (self,
      scope == GST_TAG_SCOPE_GLOBAL ? VKGDR_FRAMES_GLOBAL_TAGS
                                    : VKGDR_FRAMES_STREAM_TAGS,
      bytes->data, bytes->len);
  g_byte_array_unref (bytes);
  gst_tag_list_take (&self->tags[scope], tags);
  return are_complete;
}

/* An event may have only some of the tags. A client that connects later needs
 * those of earlier events, too. */
static void
send_tags (GstVkgdrIpcSink *self, GstEvent *event)
{
  GstTagList *tags, *all;
  GstTagScope scope;

  gst_event_parse_tag (event, &tags);
  scope = gst_tag_list_get_scope (tags);
  all = gst_tag_list_merge (self->tags[scope], tags, GST_TAG_MERGE_REPLACE);
  gst_tag_list_set_scope (all, scope);
  if (!set_tags (self, all))
    GST_ELEMENT_WARNING (self, STREAM, ENCODE,
        ("Some tags are not sent to other processes: all tags of a scope may "
         "have %u KiB, and pictures are left out first.",
            VKGDR_WIRE_MAX_CONTENT >> 10),
        (NULL));
}

/* A new stream does not have the tags of the last one. Clients that got those
 * are sent empty lists. */
static void
drop_tags (GstVkgdrIpcSink *self)
{
  guint scope;

  for (scope = 0; scope < GST_VKGDR_IPC_N_SCOPES; scope++) {
    GstTagList *none;

    if (!self->tags[scope] || gst_tag_list_is_empty (self->tags[scope]))
      continue;
    none = gst_tag_list_new_empty ();
    gst_tag_list_set_scope (none, scope);
    set_tags (self, none);
  }
}

/* Clients get a live stream. Flags such as that of a segment seek are for this
 * pipeline alone, and a reverse segment becomes one that goes forward. */
static void
send_segment (GstVkgdrIpcSink *self, GstEvent *event)
{
  const GstSegment *theirs;
  GstSegment segment;
  GByteArray *bytes;

  gst_event_parse_segment (event, &theirs);
  segment = *theirs;
  if (segment.rate < 0)
    gst_segment_init (&segment, segment.format);
  bytes = gst_vkgdr_ipc_segment_write (&segment);
  set_state (self, VKGDR_FRAMES_SEGMENT, bytes->data, bytes->len);
  g_byte_array_unref (bytes);
}

void
gst_vkgdr_ipc_sink_send_latency (GstVkgdrIpcSink *self)
{
  GstClockTime latency = gst_base_sink_get_latency (GST_BASE_SINK (self));
  guint64 bytes = GUINT64_TO_LE (latency);

  if (latency != self->latency)
    set_state (self, VKGDR_FRAMES_LATENCY, &bytes, sizeof (bytes));
  self->latency = latency;
}

/* --- caps ---------------------------------------------------------------- */

static gboolean
set_format (GstVkgdrIpcSink *self)
{
  vkgdr_frame_format format;

  if (GST_VIDEO_INFO_FORMAT (&self->info) == GST_VIDEO_FORMAT_UNKNOWN)
    return set_state (self, VKGDR_FRAMES_FORMAT, NULL, 0);
  gst_vkgdr_ipc_format_init (&format, &self->info);
  return vkgdr_frame_format_is_valid (&format)
         && set_state (self, VKGDR_FRAMES_FORMAT, &format, sizeof (format));
}

/* Returns the caps as text, which the caller frees. The field `tensors`
 * promises a GstTensorMeta, which is not sent. */
static gchar *
make_caps_text (GstCaps *caps)
{
  GstCaps *sent = gst_caps_copy (caps);
  gchar *text;

  gst_structure_remove_field (gst_caps_get_structure (sent, 0), "tensors");
  text = gst_caps_to_string (sent);
  gst_caps_unref (sent);
  return text;
}

gboolean
gst_vkgdr_ipc_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);
  gchar *text = make_caps_text (caps);
  gboolean ok = gst_vkgdr_ipc_text_is_safe (text, strlen (text))
                && set_state (self, VKGDR_FRAMES_CAPS, text, strlen (text));

  g_free (text);
  if (!gst_vkgdr_caps_get_video_info (caps, &self->info))
    gst_video_info_init (&self->info);
  if (ok && set_format (self))
    return TRUE;
  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("The caps cannot be sent to other processes: they have more than %u "
       "KiB, too many names or brackets, or pictures of more than %u pixels in "
       "a direction.",
          VKGDR_WIRE_MAX_CONTENT >> 10, VKGDR_FRAME_MAX_SIZE),
      (NULL));
  return FALSE;
}

/* --- events -------------------------------------------------------------- */

static void
call_server (GstVkgdrIpcSink *self, void (*function) (vkgdr_server *))
{
  vkgdr_server *server = gst_vkgdr_ipc_sink_ref_server (self);

  if (!server)
    return;
  function (server);
  vkgdr_server_unref (server);
}

void
gst_vkgdr_ipc_sink_forward_event (GstVkgdrIpcSink *self, GstEvent *event)
{
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
    drop_tags (self);
    break;
  case GST_EVENT_SEGMENT:
    send_segment (self, event);
    break;
  case GST_EVENT_TAG:
    send_tags (self, event);
    break;
  case GST_EVENT_EOS:
    call_server (self, vkgdr_server_end);
    break;
  case GST_EVENT_FLUSH_START:
  case GST_EVENT_FLUSH_STOP:
    call_server (self, vkgdr_server_flush);
    break;
  default:
    break;
  }
}
