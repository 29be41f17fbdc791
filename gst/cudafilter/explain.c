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

/* Returns the name of the element to which @pad is linked. The caller frees it.
 */
static gchar *
get_neighbour (GstPad *pad, const gchar *otherwise)
{
  GstPad *peer = gst_pad_get_peer (pad);
  GstObject *object = GST_OBJECT (peer);
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

static gchar *
explain_memory (GstCudaFilter *self, const GstCaps *caps)
{
  gchar *upstream =
      get_neighbour (GST_BASE_TRANSFORM_SINK_PAD (self), "upstream");
  gchar *given = describe_caps (caps);
  gchar *text = g_strdup_printf (
      "Put vkgdrupload between %s and this element, which accepts only GPU "
      "memory: %s sends %s",
      upstream, upstream, given);

  g_free (given);
  g_free (upstream);
  return text;
}

/* Returns the reason why the kernel does not accept the media type of the
 * stream. */
static gchar *
explain_media (GstCudaFilter *self, const GstCudaRules *rules)
{
  const GstEffect *effect;
  gboolean is_pixel;

  GST_OBJECT_LOCK (self);
  effect = gst_cuda_choice_get_effect (&self->requested.choice);
  is_pixel = gst_cuda_choice_is_pixel (&self->requested.choice);
  GST_OBJECT_UNLOCK (self);
  if (!rules->takes_video)
    return g_strdup (
        "The kernel works on audio and bytes: one for video has VkgdrFrame as "
        "its first two parameters");
  if (effect)
    return g_strdup_printf (
        "The kernel %s works on video: give one of your own for audio and "
        "bytes, with location= or source=",
        effect->name);
  if (is_pixel)
    return g_strdup (
        "pixel= works on video: give a kernel for audio and bytes, with "
        "location= or source=");
  return g_strdup (
      "The kernel works on video: one for audio and bytes has VkgdrSamples as "
      "its first two parameters");
}

/* Returns the reason why kernels cannot be run on the format of @caps, or NULL
 * if they can, or if the format is not fixed. */
static gchar *
explain_format (const GstCaps *caps)
{
  GstVideoInfo info;
  GError *error = NULL;
  gchar *text;

  if (!gst_caps_is_fixed (caps) || !gst_video_info_from_caps (&info, caps)
      || gst_vkgdr_kernel_check_info (&info, &error))
    return NULL;
  text = g_strdup (error->message);
  g_error_free (error);
  return text;
}

static gchar *
explain_kept (GstCudaFilter *self, const GstCudaRules *rules, GstCaps *caps)
{
  GstCudaRules all = { TRUE, TRUE };
  GstCaps *kept = gst_cuda_caps_keep (&all, caps);
  gboolean is_readable = !gst_caps_is_empty (kept);
  gchar *text, *given;

  gst_caps_unref (kept);
  if (!has_device_memory (caps))
    return explain_memory (self, caps);
  if (is_readable)
    return explain_media (self, rules);
  text = explain_format (caps);
  if (text)
    return text;
  given = describe_caps (caps);
  text = g_strdup_printf (
      "Kernels cannot be run on any of the formats in %s: convert the frames "
      "first, with videoconvert",
      given);
  g_free (given);
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

/* Returns the reason why downstream, which accepts @all, accepts none of
 * @possible. The cure comes first, because caps are long. */
static gchar *
describe_refusal (GstPad *pad, const GstCaps *possible, const GstCaps *all)
{
  gchar *downstream = get_neighbour (pad, "downstream");
  gchar *given = describe_caps (possible), *accepted = describe_caps (all);
  const gchar *unknown = find_unknown_format (all);
  GString *text = g_string_new (NULL);

  if (unknown)
    g_string_printf (text, "%s is no format of GStreamer. ", unknown);
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
  return g_string_free (text, FALSE);
}

/* Returns the reason if downstream accepts none of @possible, else NULL. */
static gchar *
explain_downstream (GstCudaFilter *self, GstCaps *possible)
{
  GstPad *pad = GST_BASE_TRANSFORM_SRC_PAD (self);
  GstCaps *some, *all;
  gchar *text = NULL;

  if (!gst_pad_is_linked (pad) || gst_caps_is_any (possible))
    return NULL;
  some = gst_pad_peer_query_caps (pad, possible);
  if (gst_caps_is_empty (some)) {
    all = gst_pad_peer_query_caps (pad, NULL);
    text = describe_refusal (pad, possible, all);
    gst_caps_unref (all);
  }
  gst_caps_unref (some);
  return text;
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
    text = explain_downstream (self, possible);
  else if (gst_caps_is_empty (kept))
    text = explain_kept (self, &rules, caps);
  else if (gst_caps_is_empty (possible) && rules.output)
    text = explain_output_caps (self, &rules, caps);
  else
    text = explain_downstream (self, possible);
  gst_caps_unref (possible);
  gst_caps_unref (kept);
  gst_cuda_rules_clear (&rules);
  return text;
}

/* Whether the last error was for the same caps, which upstream may send more
 * than once. */
static gboolean
was_reported (GstCudaFilter *self, GstCaps *caps)
{
  gboolean is_same;

  GST_OBJECT_LOCK (self);
  is_same = self->refused && gst_caps_is_equal (self->refused, caps);
  gst_caps_replace (&self->refused, caps);
  GST_OBJECT_UNLOCK (self);
  return is_same;
}

gboolean
gst_cuda_filter_explain (GstCudaFilter *self, GstCaps *caps)
{
  gchar *text = find_reason (self, caps);

  if (text && !was_reported (self, caps))
    GST_ELEMENT_ERROR (
        self, STREAM, WRONG_TYPE, ("%s.", text), ("%" GST_PTR_FORMAT, caps));
  if (!text)
    return FALSE;
  g_free (text);
  return TRUE;
}
