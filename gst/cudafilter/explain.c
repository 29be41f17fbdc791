/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/explain.c: reports why the negotiation of caps fails
 *
 * GStreamer's own error is "not-negotiated". The error of this file names the
 * neighbour, its caps, and the element that is missing between the two.
 */

#include "cudafilter/cudafilter.h"

/* The largest length of caps in messages; longer ones are shortened. */
#define MAX_CAPS_TEXT 300

static gchar *
describe_caps (const GstCaps *caps)
{
  gchar *text = gst_caps_to_string (caps);

  if (g_utf8_strlen (text, -1) > MAX_CAPS_TEXT)
    strcpy (g_utf8_offset_to_pointer (text, MAX_CAPS_TEXT - 3), "...");
  return text;
}

/* The name (transfer full) of the element or bin to which @pad is linked. */
static gchar *
get_neighbour (GstPad *pad, const gchar *otherwise)
{
  GstObject *object = GST_OBJECT (gst_pad_get_peer (pad));
  gchar *name;

  while (object && !GST_IS_ELEMENT (object)) {
    GstObject *parent = gst_object_get_parent (object);

    gst_object_unref (object);
    object = parent;
  }
  name = object ? gst_object_get_name (object) : g_strdup (otherwise);
  gst_clear_object (&object);
  return name;
}

static gboolean
has_device_memory (const GstCaps *caps)
{
  guint i, n = gst_caps_is_any (caps) ? 0 : gst_caps_get_size (caps);

  for (i = 0; i < n; i++)
    if (gst_cuda_caps_is_on_device (
            gst_caps_get_structure (caps, i), gst_caps_get_features (caps, i)))
      return TRUE;
  return gst_caps_is_any (caps);
}

/* The media type, or "" if @caps do not tell. */
static const gchar *
get_media (const GstCaps *caps)
{
  if (gst_caps_is_any (caps) || gst_caps_is_empty (caps))
    return "";
  return gst_structure_get_name (gst_caps_get_structure (caps, 0));
}

static gboolean
is_video (const GstCaps *caps)
{
  return g_str_equal (get_media (caps), "video/x-raw");
}

static gboolean
is_encoded_video (const GstCaps *caps)
{
  return g_str_has_prefix (get_media (caps), "image/")
         || (g_str_has_prefix (get_media (caps), "video/") && !is_video (caps));
}

static gboolean
is_audio (const GstCaps *caps)
{
  return g_str_has_prefix (get_media (caps), "audio/");
}

/* Returns why the kernel does not accept the media type of the stream. */
static gchar *
explain_media (GstCudaFilter *self, const GstCudaRules *rules)
{
  const GstEffect *effect;
  gboolean is_pixel;

  if (!rules->takes_video)
    return g_strdup ("This kernel is for audio and bytes. A kernel for video "
                     "has VkgdrFrame as the type of its first two parameters");
  GST_OBJECT_LOCK (self);
  effect = gst_cuda_choice_get_effect (&self->requested.choice);
  is_pixel = gst_cuda_choice_is_pixel (&self->requested.choice);
  GST_OBJECT_UNLOCK (self);
  return g_strdup_printf (
      "The kernel %s works on video only. For audio and bytes, set a kernel of "
      "your own with location= or source=, whose first two parameters have the "
      "type VkgdrSamples",
      effect     ? effect->name
      : is_pixel ? "of pixel="
                 : "that is set");
}

/* Returns the reason why kernels cannot be run on the formats of @caps. */
static gchar *
explain_format (const GstCaps *caps, const gchar *given)
{
  GstVideoInfo info;
  GError *error = NULL;
  gchar *text;

  if (!gst_caps_is_fixed (caps) || !gst_video_info_from_caps (&info, caps)
      || gst_vkgdr_kernel_check_info (&info, &error))
    return g_strdup_printf (
        "Kernels cannot be run on any of the formats in %s: convert the frames "
        "first, with videoconvert",
        given);
  text = g_strdup (error->message);
  g_error_free (error);
  return text;
}

/* Returns the reason why the kernel accepts no part of @caps. */
static gchar *
explain_input (GstCudaFilter *self, const GstCudaRules *rules, GstCaps *caps)
{
  GstCudaRules all = { TRUE, TRUE };
  GstCaps *kept = gst_cuda_caps_keep (&all, caps);
  gchar *upstream =
      get_neighbour (GST_BASE_TRANSFORM_SINK_PAD (self), "upstream");
  gchar *given = describe_caps (caps), *text;

  if (is_encoded_video (caps) && !rules->takes_others)
    text = g_strdup_printf (
        "Put a decoder and vkgdrupload between %s and this element, which "
        "accepts only raw video in GPU memory: %s sends %s",
        upstream, upstream, given);
  else if (!is_video (caps) && !rules->takes_others)
    text = explain_media (self, rules);
  else if (!has_device_memory (caps))
    text = g_strdup_printf (
        "Put vkgdrupload between %s and this element, which accepts only GPU "
        "memory: %s sends %s",
        upstream, upstream, given);
  else if (!gst_caps_is_empty (kept))
    text = explain_media (self, rules);
  else
    text = explain_format (caps, given);
  gst_caps_unref (kept);
  g_free (given);
  g_free (upstream);
  return text;
}

static gchar *
explain_output_caps (
    GstCudaFilter *self, const GstCudaRules *rules, const GstCaps *caps)
{
  const gchar *what[] = { "changes neither format nor size of video",
    "changes only the format of video", "changes only the size of video",
    "changes only format and size of video" };
  guint i =
      rules->converts & (GST_EFFECT_CONVERTS_FORMAT | GST_EFFECT_CONVERTS_SIZE);
  gchar *wanted = describe_caps (rules->output), *given = describe_caps (caps);
  gchar *text = g_strdup_printf (
      "output-caps cannot be met: %s is asked for, the input is %s, and the "
      "kernel %s",
      wanted, given, what[i]);

  g_free (given);
  g_free (wanted);
  return text;
}

/* Returns the name of a format in @caps that GStreamer does not know, or NULL.
 */
static const gchar *
find_unknown_format (const GstCaps *caps)
{
  guint i, n = gst_caps_is_any (caps) ? 0 : gst_caps_get_size (caps);

  for (i = 0; i < n; i++) {
    const GstStructure *s = gst_caps_get_structure (caps, i);
    const gchar *format = gst_structure_get_string (s, "format");

    if (format && gst_structure_has_name (s, "video/x-raw")
        && gst_video_format_from_string (format) == GST_VIDEO_FORMAT_UNKNOWN)
      return format;
  }
  return NULL;
}

/* Returns the reason if downstream accepts none of @possible, else NULL. The
 * remedy comes first, because caps are long. */
static gchar *
explain_downstream (
    GstCudaFilter *self, const GstCudaRules *rules, GstCaps *possible)
{
  GstPad *pad = GST_BASE_TRANSFORM_SRC_PAD (self);
  gchar *downstream, *given, *accepted;
  GstCaps *all;
  GString *text;

  all = gst_pad_peer_query_caps (pad, possible);
  if (!gst_pad_is_linked (pad) || gst_caps_is_any (possible)
      || !gst_caps_is_empty (all)) {
    gst_caps_unref (all);
    return NULL;
  }
  gst_caps_take (&all, gst_pad_peer_query_caps (pad, NULL));
  if (is_audio (all) && !rules->takes_others) {
    gst_caps_unref (all);
    return explain_media (self, rules);
  }
  text = g_string_new (NULL);
  downstream = get_neighbour (pad, "downstream");
  if (gst_caps_is_empty (all)) {
    g_string_printf (text,
        "%s accepts nothing, because it can give the elements behind it "
        "nothing that they accept",
        downstream);
    g_free (downstream);
    gst_caps_unref (all);
    return g_string_free (text, FALSE);
  }
  given = describe_caps (possible);
  accepted = describe_caps (all);
  if (find_unknown_format (all))
    g_string_printf (
        text, "%s is no format of GStreamer. ", find_unknown_format (all));
  if (!has_device_memory (all))
    g_string_append_printf (text,
        "Put vkgdrdownload between this element and %s, or write "
        "(memory:VkgdrMemory) in the caps if it is a caps filter. ",
        downstream);
  g_string_append_printf (text,
      "%s accepts %s, but none of %s, which this element can output",
      downstream, accepted, given);
  g_free (accepted);
  g_free (given);
  g_free (downstream);
  gst_caps_unref (all);
  return g_string_free (text, FALSE);
}

/* Returns the reason why the negotiation fails, or NULL if none is found. */
static gchar *
find_reason (GstCudaFilter *self, GstCaps *caps)
{
  GstCudaRules rules;
  GstCaps *kept, *possible;
  gchar *text = NULL;

  gst_cuda_filter_take_rules (self, &rules);
  kept = gst_cuda_caps_keep (&rules, caps);
  possible = gst_cuda_caps_transform (&rules, GST_PAD_SINK, caps);
  if (gst_caps_is_any (caps))
    text = explain_downstream (self, &rules, possible);
  else if (gst_caps_is_empty (kept))
    text = explain_input (self, &rules, caps);
  else if (gst_caps_is_empty (possible) && rules.output)
    text = explain_output_caps (self, &rules, caps);
  else
    text = explain_downstream (self, &rules, possible);
  gst_caps_unref (possible);
  gst_caps_unref (kept);
  gst_clear_caps (&rules.output);
  return text;
}

gboolean
gst_cuda_filter_explain (GstCudaFilter *self, GstCaps *caps)
{
  gchar *text = find_reason (self, caps);

  if (!text)
    return FALSE;
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self),
      g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE, "%s.", text));
  g_free (text);
  return TRUE;
}
