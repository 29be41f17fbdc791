/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudanegotiate.c: cudafilter agrees on caps, and tells why it cannot
 *
 * What comes out follows what runs, and a stream is negotiated again when that
 * changes. Which caps can be made of which is gstcudacaps.c's affair.
 */

#include "gstcudacaps.h"
#include "gstcudafilter.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* Formats that are told to who looks for one: those that are known to work. */
#define PREFERRED_CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES ( \
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, GST_EFFECT_FORMATS)

static gpointer parent_class;

/* --- rules --------------------------------------------------------------- */

/* Of what runs, or before that, of what was asked for. Any thread: neighbours
 * ask for caps while the element works, and while it stops. */
static void
rules_take (GstCudaRules *rules, GstCudaFilter *self)
{
  gboolean is_loaded, is_pixel;
  const GstEffect *effect;

  GST_OBJECT_LOCK (self);
  is_loaded = self->running.kernel != NULL;
  effect = is_loaded ? self->running.effect
                     : gst_cuda_choice_get_effect (&self->choice);
  is_pixel = is_loaded ? self->running.is_pixel
                       : gst_cuda_choice_is_pixel (&self->choice);
  if (effect)
    rules->converts = effect->converts;
  else if (is_pixel)
    rules->converts = GST_EFFECT_CONVERTS_FORMAT;
  else
    rules->converts = GST_EFFECT_CONVERTS_FORMAT | GST_EFFECT_CONVERTS_SIZE;
  rules->get_size = effect && is_loaded ? effect->get_size : NULL;
  rules->params = rules->get_size && self->arguments
                      ? gst_structure_copy (self->arguments)
                      : NULL;
  rules->output = self->output ? gst_caps_ref (self->output) : NULL;
  rules->is_in_any_memory = self->output_is_in_any_memory;
  GST_OBJECT_UNLOCK (self);
}

static void
rules_clear (GstCudaRules *rules)
{
  g_clear_pointer (&rules->params, gst_structure_free);
  gst_clear_caps (&rules->output);
}

static gchar *
describe_conversions (GstCudaFilter *self, const GstCudaRules *rules)
{
  const gchar *what[] = { "changes neither format nor size of a video",
    "changes the format of a video alone", "changes the size of a video alone",
    "changes format and size of a video alone" };
  guint i =
      rules->converts & (GST_EFFECT_CONVERTS_FORMAT | GST_EFFECT_CONVERTS_SIZE);
  gchar *text;

  GST_OBJECT_LOCK (self);
  text = self->running.effect ? g_strdup_printf (
             "the kernel %s %s", self->running.effect->name, what[i])
                              : g_strdup_printf ("a kernel %s", what[i]);
  GST_OBJECT_UNLOCK (self);
  return text;
}

static void
post_cannot_meet (GstCudaFilter *self, const GstCudaRules *rules, GstCaps *caps)
{
  gchar *wanted = gst_caps_to_string (rules->output);
  gchar *given = gst_caps_to_string (caps);
  gchar *reason = describe_conversions (self, rules);

  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("output-caps cannot be met: %s is asked for, the input is %s, and %s",
          wanted, given, reason),
      (NULL));
  g_free (reason);
  g_free (given);
  g_free (wanted);
}

/* Says, where nothing can be made of @caps, why. */
static gboolean
judge_input (GstCudaFilter *self, GstCaps *caps, gboolean is_told)
{
  GstCudaRules rules;
  gboolean ok;

  if (gst_caps_get_size (caps) == 0
      || !gst_cuda_caps_is_on_device (
          gst_caps_get_structure (caps, 0), gst_caps_get_features (caps, 0))) {
    if (!is_told)
      GST_ELEMENT_ERROR (self, STREAM, WRONG_TYPE,
          ("This element takes memory of the device alone: put vkgdrupload "
           "before it."),
          ("%" GST_PTR_FORMAT, caps));
    return FALSE;
  }
  rules_take (&rules, self);
  ok = gst_cuda_caps_can_meet (&rules, caps);
  if (!ok && !is_told)
    post_cannot_meet (self, &rules, caps);
  rules_clear (&rules);
  return ok;
}

/* FALSE, and the reason is posted, where nothing can be made of @caps. Upstream
 * comes with the same ones more than once: it is told once. */
static gboolean
check_input (GstCudaFilter *self, GstCaps *caps)
{
  gboolean is_told = self->refused && gst_caps_is_equal (self->refused, caps);
  gboolean ok = judge_input (self, caps, is_told);

  if (ok)
    gst_clear_caps (&self->refused);
  else
    gst_caps_replace (&self->refused, caps);
  return ok;
}

/* --- caps ---------------------------------------------------------------- */

static GstCaps *
gst_cuda_filter_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *result, *some;
  GstCudaRules rules;

  rules_take (&rules, GST_CUDA_FILTER (trans));
  result = gst_cuda_caps_transform (&rules, direction, caps);
  rules_clear (&rules);
  if (filter) {
    some = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = some;
  }
  return result;
}

static GstCaps *
gst_cuda_filter_fixate_caps (GstBaseTransform *trans, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  GstCudaRules rules;

  rules_take (&rules, GST_CUDA_FILTER (trans));
  others = gst_cuda_caps_fixate (&rules, direction, caps, others);
  rules_clear (&rules);
  return others;
}

/* Whether there are any among @caps that check_input() would let pass. */
static gboolean
is_acceptable (GstCudaFilter *self, GstCaps *caps)
{
  GstCudaRules rules;
  gboolean ok;

  rules_take (&rules, self);
  ok = gst_cuda_caps_can_meet (&rules, caps);
  rules_clear (&rules);
  return ok;
}

/* Of video the formats that are known to work, if there are any among them, and
 * all else. */
static GstCaps *
narrow (const GstCaps *all)
{
  static GstStaticCaps preferred = GST_STATIC_CAPS (PREFERRED_CAPS);
  GstCaps *ours = gst_static_caps_get (&preferred);
  GstCaps *caps = gst_vkgdr_caps_in_either_memory (ours);
  GstCaps *video = gst_caps_new_empty (), *others = gst_caps_new_empty ();
  GstCaps *known;
  guint i;

  for (i = 0; i < gst_caps_get_size (all); i++) {
    const GstStructure *s = gst_caps_get_structure (all, i);

    gst_caps_append_structure_full (
        gst_structure_has_name (s, "video/x-raw") ? video : others,
        gst_structure_copy (s),
        gst_caps_features_copy (gst_caps_get_features (all, i)));
  }
  known = gst_caps_intersect_full (video, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (caps);
  gst_caps_unref (ours);
  if (gst_caps_is_empty (known)) {
    gst_caps_unref (known);
    known = video;
  } else {
    gst_caps_unref (video);
  }
  gst_caps_append (known, others);
  return known;
}

/* What comes out where nothing can be made of what upstream has. It is told why
 * when it comes; who only wants to link need not know. */
static GstCaps *
imagine_output (GstCudaFilter *self)
{
  GstCudaRules rules;
  GstCaps *caps;

  rules_take (&rules, self);
  caps = rules.output ? gst_caps_ref (rules.output) : gst_caps_new_any ();
  rules_clear (&rules);
  return caps;
}

/* All that upstream has, where that cannot be taken: what is on the device, if
 * there is any, and it is told what is wrong with that. */
static GstCaps *
imagine_input (GstCaps *filter)
{
  GstCaps *kept = gst_cuda_caps_keep (filter);

  if (!gst_caps_is_empty (kept))
    return kept;
  gst_caps_unref (kept);
  return gst_caps_ref (filter);
}

/* Caps that check_input() has a word on are accepted until it has said it. */
static void
answer_accept_caps (GstCudaFilter *self, GstQuery *query)
{
  gboolean accepted;
  GstCaps *caps;

  gst_query_parse_accept_caps (query, &caps);
  gst_query_parse_accept_caps_result (query, &accepted);
  if (!accepted && !is_acceptable (self, caps))
    gst_query_set_accept_caps_result (query, TRUE);
}

/* Who looks for a format, and says which ones he has, is told those that are
 * known to work; who has no other, or only wants to link, is told all. So is
 * who has nothing that can be taken: he is told why when he comes. */
static void
answer_caps (GstCudaFilter *self, GstPadDirection direction, GstQuery *query)
{
  GstCaps *filter, *all, *answer;

  gst_query_parse_caps (query, &filter);
  gst_query_parse_caps_result (query, &all);
  if (!filter && direction == GST_PAD_SRC && gst_caps_is_empty (all))
    answer = imagine_output (self);
  else if (!filter || gst_caps_is_any (all))
    return;
  else if (direction == GST_PAD_SINK && gst_caps_is_empty (all)
           && !is_acceptable (self, filter))
    answer = imagine_input (filter);
  else
    answer = narrow (all);
  gst_query_set_caps_result (query, answer);
  gst_caps_unref (answer);
}

static gboolean
gst_cuda_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  if (!GST_BASE_TRANSFORM_CLASS (parent_class)->query (trans, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    answer_caps (GST_CUDA_FILTER (trans), direction, query);
  else if (GST_QUERY_TYPE (query) == GST_QUERY_ACCEPT_CAPS
           && direction == GST_PAD_SINK)
    answer_accept_caps (GST_CUDA_FILTER (trans), query);
  return TRUE;
}

/* --- what runs changes --------------------------------------------------- */

static gboolean
may_run_in_place (GstCudaFilter *self)
{
  if (self->running.effect)
    return self->running.effect->in_place;
  return self->running.is_pixel
         || gst_vkgdr_kernel_may_run_in_place (self->running.kernel);
}

/* Notes what the caps depend on, but for properties; TRUE where that is
 * another than before. */
static gboolean
note_rules (GstCudaFilter *self)
{
  GstCudaAgreed now = { 0 };
  GstCudaRules rules;
  gboolean is_new;

  rules_take (&rules, self);
  now.converts = rules.converts;
  if (self->is_video && rules.get_size) {
    const GstVideoInfo *info =
        gst_vkgdr_video_filter_get_input_info (GST_VKGDR_VIDEO_FILTER (self));

    now.width = GST_VIDEO_INFO_WIDTH (info);
    now.height = GST_VIDEO_INFO_HEIGHT (info);
    gst_cuda_caps_get_size (&rules, &now.width, &now.height);
  }
  rules_clear (&rules);
  is_new = now.converts != self->agreed.converts
           || now.width != self->agreed.width
           || now.height != self->agreed.height;
  self->agreed = now;
  return is_new;
}

/* What is to run is there before the output's caps and buffer are decided
 * on. */
static gboolean
load (GstCudaFilter *self, GstClockTime time)
{
  GError *error = NULL;

  if (!gst_cuda_filter_update (self, time, &error)) {
    gst_vkgdr_base_transform_post_error (
        GST_VKGDR_BASE_TRANSFORM (self), error);
    return FALSE;
  }
  gst_vkgdr_filter_set_in_place (
      GST_VKGDR_FILTER (self), may_run_in_place (self));
  return TRUE;
}

static gboolean
prepare (GstCudaFilter *self, GstBuffer *input)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  gboolean ok = TRUE;
  GstCaps *caps;

  /* A stream of bytes has no time. */
  if (trans->segment.format == GST_FORMAT_TIME)
    time = gst_segment_to_stream_time (
        &trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (input));
  if (!load (self, time))
    return FALSE;
  if (note_rules (self))
    gst_base_transform_reconfigure_src (trans);
  if (GST_PAD_NEEDS_RECONFIGURE (trans->srcpad)) {
    caps = gst_pad_get_current_caps (trans->sinkpad);
    ok = !caps || check_input (self, caps);
    gst_clear_caps (&caps);
  }
  return ok;
}

static GstFlowReturn
gst_cuda_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  if (!prepare (GST_CUDA_FILTER (trans), input)) {
    gst_buffer_unref (input);
    return GST_FLOW_ERROR;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)
      ->submit_input_buffer (trans, is_discont, input);
}

static gboolean
gst_cuda_filter_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCudaFilter *self = GST_CUDA_FILTER (trans);
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    gst_event_parse_caps (event, &caps);
    if (!load (self, GST_CLOCK_TIME_NONE) || !check_input (self, caps)) {
      gst_event_unref (event);
      return FALSE;
    }
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

/* --- what the stream is -------------------------------------------------- */

/* Built-in kernels and expressions know pixels. */
static gboolean
check_kernel_of_samples (GstCudaFilter *self, GError **error)
{
  if (self->running.effect)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the kernel %s works on video: give one of your own for audio and "
        "bytes, with location= or source=",
        self->running.effect->name);
  else if (self->running.is_pixel)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "pixel= works on video: give a kernel for audio and bytes, with "
        "location= or source=");
  else
    return TRUE;
  return FALSE;
}

static gboolean
gst_cuda_filter_negotiated (
    GstVkgdrFilter *filter, GstCaps *in_caps, GstCaps *out_caps, GError **error)
{
  const GstStructure *s = gst_caps_get_structure (in_caps, 0);
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  self->is_video = gst_structure_has_name (s, "video/x-raw");
  if (self->is_video) {
    if (!GST_VKGDR_FILTER_CLASS (parent_class)
             ->negotiated (filter, in_caps, out_caps, error))
      return FALSE;
    note_rules (self);
    return TRUE;
  }
  self->is_audio = gst_structure_has_name (s, "audio/x-raw");
  if (self->is_audio
      && !gst_audio_info_from_caps (&self->audio_info, in_caps)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "These caps are no audio that a kernel can work on");
    return FALSE;
  }
  return check_kernel_of_samples (self, error);
}

static gboolean
gst_cuda_filter_set_info (GstVkgdrVideoFilter *filter,
    const GstVideoInfo *input_info, const GstVideoInfo *output_info,
    GError **error)
{
  return gst_vkgdr_kernel_check_info (input_info, error)
         && gst_vkgdr_kernel_check_info (output_info, error);
}

void
gst_cuda_filter_init_negotiation (GstCudaFilterClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  parent_class = g_type_class_peek_parent (klass);
  trans_class->transform_caps = gst_cuda_filter_transform_caps;
  trans_class->fixate_caps = gst_cuda_filter_fixate_caps;
  trans_class->query = gst_cuda_filter_query;
  trans_class->sink_event = gst_cuda_filter_sink_event;
  trans_class->submit_input_buffer = gst_cuda_filter_submit_input_buffer;
  GST_VKGDR_FILTER_CLASS (klass)->negotiated = gst_cuda_filter_negotiated;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->set_info = gst_cuda_filter_set_info;
}
