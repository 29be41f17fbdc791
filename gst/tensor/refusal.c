/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/refusal.c: see tensor/refusal.h
 */

#include "tensor/refusal.h"

static GError *
make_error (const GstCaps *caps)
{
  gchar *text = gst_caps_to_string (caps);
  GError *error = NULL, *result;
  const gchar *reason;
  GstVideoInfo info;

  if (!gst_vkgdr_caps_get_video_info (caps, &info))
    reason = "This element accepts only raw video. Put a decoder and "
             "vkgdrupload before it";
  else if (!gst_caps_features_contains (gst_caps_get_features (caps, 0),
               GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY))
    reason = "Put vkgdrupload before this element, which accepts only GPU "
             "memory";
  else if (!gst_vkgdr_kernel_check_info (&info, &error))
    reason = error->message;
  else
    reason = "This element, or one behind it, does not accept these frames";
  result = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE,
      "%s. The caps are %s.", reason, text);
  g_clear_error (&error);
  g_free (text);
  return result;
}

/* GStreamer drops caps that a pad does not accept, after this probe. */
static GstPadProbeReturn
check_event (GstPad *pad, GstPadProbeInfo *info, gpointer element)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GError *error;
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  if (gst_pad_query_accept_caps (pad, caps))
    return GST_PAD_PROBE_OK;
  error = make_error (caps);
  gst_vkgdr_element_post_error (element, error);
  g_error_free (error);
  return GST_PAD_PROBE_OK;
}

void
gst_tensor_report_refused_caps (GstElement *element, GstPad *pad)
{
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, check_event, element, NULL);
}
