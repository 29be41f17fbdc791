/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/negotiate.c: negotiates the caps of cudafilter
 *
 * The output depends on the running kernel, so caps are negotiated again when
 * the kernel changes. Answering a query has no effects. If the negotiation has
 * failed, cudafilter/explain.c reports the reason at the beginning of the
 * stream, at the caps event or at the first buffer.
 * cudafilter/caps.c knows the possible conversions.
 */

#include "cudafilter/cudafilter.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

static gpointer parent_class;

/* --- caps ---------------------------------------------------------------- */

/* Returns the part of @caps (transfer full) that @filter allows, in the order
 * of
 * @caps, which is the order of preference of a neighbour. If @caps are
 * ANY, they mean all media types in memory on the device, because caps cannot
 * describe these. In this case, returns the part of @filter that is in such
 * memory. */
static GstCaps *
apply_filter (const GstCudaRules *rules, GstCaps *caps, GstCaps *filter)
{
  GstCaps *some =
      gst_caps_is_any (caps) && !gst_caps_is_any (filter)
          ? gst_cuda_caps_keep (rules, filter)
          : gst_caps_intersect_full (caps, filter, GST_CAPS_INTERSECT_FIRST);

  gst_caps_unref (caps);
  return some;
}

static GstCaps *
gst_cuda_filter_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCudaRules rules;
  GstCaps *result;

  gst_cuda_filter_take_rules (GST_CUDA_FILTER (trans), &rules);
  result = gst_cuda_caps_transform (&rules, direction, caps);
  if (filter)
    result = apply_filter (&rules, result, filter);
  gst_clear_caps (&rules.output);
  return result;
}

static GstCaps *
gst_cuda_filter_fixate_caps (GstBaseTransform *trans, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  GstCudaRules rules;

  gst_cuda_filter_take_rules (GST_CUDA_FILTER (trans), &rules);
  others = gst_cuda_caps_fixate (&rules, direction, caps, others);
  gst_clear_caps (&rules.output);
  return others;
}

/* For the input, only what the kernel reads is checked. If no output can be
 * made of it, the caps event fails, and the error then names the reason. */
static gboolean
gst_cuda_filter_accept_caps (
    GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps)
{
  GstCudaRules rules;
  GstCaps *accepted;
  gboolean accepts;

  gst_cuda_filter_take_rules (GST_CUDA_FILTER (trans), &rules);
  accepted = gst_cuda_caps_keep (&rules, caps);
  if (direction == GST_PAD_SRC)
    gst_caps_take (
        &accepted, gst_cuda_caps_transform (&rules, direction, accepted));
  accepts = !gst_caps_is_empty (accepted);
  gst_caps_unref (accepted);
  gst_clear_caps (&rules.output);
  return accepts;
}

/* Returns the media types that upstream can send, in any memory. The output has
 * one of them, so a muxer links the right pad. If upstream knows none yet, as
 * appsrc, the answer is ANY, as that of identity. */
static GstCaps *
get_media_types (GstCudaFilter *self, const GstCudaRules *rules)
{
  GstCaps *all =
      gst_pad_peer_query_caps (GST_BASE_TRANSFORM_SINK_PAD (self), NULL);
  GstCaps *video = gst_caps_from_string ("video/x-raw(ANY)");
  guint i, n = gst_caps_is_any (all) ? 0 : gst_caps_get_size (all);
  GstCaps *types = n == 0 ? gst_caps_new_any () : gst_caps_new_empty ();

  for (i = 0; i < n; i++) {
    const gchar *name =
        gst_structure_get_name (gst_caps_get_structure (all, i));

    types = gst_caps_merge_structure_full (
        types, gst_structure_new_empty (name), gst_caps_features_new_any ());
  }
  if (n > 0 && !rules->takes_others && gst_caps_can_intersect (types, video))
    gst_caps_take (&types, g_steal_pointer (&video));
  gst_clear_caps (&video);
  gst_caps_unref (all);
  return types;
}

/* Before a pad is active or linked, the answer allows all formats and memories,
 * because the kernel and the neighbours may still change. So elements can be
 * linked even if they cannot work together. The error at the start then names
 * the missing element, which an error of the link could not do.
 *
 * In the base class's answer @all for the input, the caps of downstream come
 * first, restricted by the property output-caps. But this property must not
 * restrict the input. If it is set, the answer is made without it, also if no
 * output can be made: then the caps event fails, and the error names the
 * property before upstream gives up. */
static void
answer_caps (GstCudaFilter *self, GstPad *pad, GstQuery *query)
{
  GstCaps *filter, *all, *answer;
  GstCudaRules rules;

  gst_query_parse_caps (query, &filter);
  gst_query_parse_caps_result (query, &all);
  gst_cuda_filter_take_rules (self, &rules);
  if (!GST_PAD_IS_ACTIVE (pad) || (!filter && !gst_pad_is_linked (pad))) {
    answer = GST_PAD_IS_SRC (pad) ? get_media_types (self, &rules)
                                  : gst_caps_new_any ();
    if (filter)
      gst_caps_take (&answer,
          gst_caps_intersect_full (filter, answer, GST_CAPS_INTERSECT_FIRST));
  } else if (rules.output && filter && GST_PAD_IS_SINK (pad)
             && !gst_caps_is_any (all)) {
    gst_clear_caps (&rules.output);
    answer = gst_caps_new_any ();
    gst_caps_take (
        &answer, gst_cuda_caps_transform (&rules, GST_PAD_SRC, answer));
    answer = apply_filter (&rules, answer, filter);
  } else {
    answer = gst_caps_ref (all);
  }
  gst_clear_caps (&rules.output);
  gst_query_set_caps_result (query, answer);
  gst_caps_unref (answer);
}

/* Returns what upstream can send, of @filter if that is not NULL. A bin is not
 * asked, but the element inside: aspectratiocrop leaves the memory out of its
 * answer. */
static GstCaps *
query_upstream (GstCudaFilter *self, GstCaps *filter)
{
  GstPad *pad = gst_pad_get_peer (GST_BASE_TRANSFORM_SINK_PAD (self));
  GstCaps *caps;

  while (pad && GST_IS_GHOST_PAD (pad)) {
    GstPad *target = gst_ghost_pad_get_target (GST_GHOST_PAD (pad));

    gst_object_unref (pad);
    pad = target;
  }
  if (!pad)
    return filter ? gst_caps_ref (filter) : gst_caps_new_any ();
  caps = gst_pad_query_caps (pad, filter);
  gst_object_unref (pad);
  return caps;
}

/* Whether the next element accepts no caps. It or an element behind it is the
 * cause. */
static gboolean
is_downstream_blocked (GstCudaFilter *self)
{
  GstCaps *accepted =
      gst_pad_peer_query_caps (GST_BASE_TRANSFORM_SRC_PAD (self), NULL);
  gboolean is_blocked = gst_caps_is_empty (accepted);

  gst_caps_unref (accepted);
  return is_blocked;
}

/* Called at the beginning and at the end of a stream without caps. If upstream
 * and this element have no caps in common, this element says why: at the
 * beginning, before the source ends the stream with GStreamer's own error. An
 * appsrc knows its caps only later. At the beginning, an element behind this
 * one may still say why it accepts nothing. Upstream is asked twice, because
 * only an answer to a query with a filter is exact: without one, many elements
 * offer any memory. */
static void
explain_missing_caps (GstCudaFilter *self, gboolean is_end)
{
  GstCaps *all = query_upstream (self, NULL);
  GstCaps *ours = gst_pad_query_caps (GST_BASE_TRANSFORM_SINK_PAD (self), all);
  GstCaps *common = query_upstream (self, ours);

  if (gst_caps_is_empty (common) && !is_end && is_downstream_blocked (self))
    gst_cuda_filter_check_upstream (self);
  else if (gst_caps_is_empty (common))
    gst_cuda_filter_explain (
        self, gst_caps_is_empty (all) ? GST_CAPS_ANY : all);
  gst_caps_unref (common);
  gst_caps_unref (ours);
  gst_caps_unref (all);
}

/* An encoder queries caps before it forwards the start of the stream, and then
 * the source ends the stream. */
void
gst_cuda_filter_check_upstream (GstCudaFilter *self)
{
  GstCaps *all = query_upstream (self, NULL);
  GstCudaRules rules;
  GstCaps *kept;

  gst_cuda_filter_take_rules (self, &rules);
  kept = gst_cuda_caps_keep (&rules, all);
  if (!gst_caps_is_any (all) && !gst_caps_is_empty (all)
      && gst_caps_is_empty (kept))
    gst_cuda_filter_explain (self, all);
  gst_caps_unref (kept);
  gst_caps_unref (all);
  gst_clear_caps (&rules.output);
}

static gboolean
gst_cuda_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  if (!GST_BASE_TRANSFORM_CLASS (parent_class)->query (trans, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    answer_caps (GST_CUDA_FILTER (trans),
        direction == GST_PAD_SINK ? trans->sinkpad : trans->srcpad, query);
  return TRUE;
}

/* --- changes of the kernel ------------------------------------------------ */

static gboolean
have_same_caps (const GstCudaPair *one, const GstCudaPair *other)
{
  GstCudaRules rules = gst_cuda_pair_get_rules (one);
  GstCudaRules others = gst_cuda_pair_get_rules (other);

  return gst_cuda_rules_is_equal (&rules, &others);
}

/* Uses the newest pair that is ready. */
static gboolean
update (GstCudaFilter *self)
{
  GstCudaPair *old = self->running ? gst_cuda_pair_ref (self->running) : NULL;
  GError *error = NULL;
  gboolean ok = gst_cuda_filter_swap (self, &error);

  if (!ok) {
    gst_vkgdr_base_transform_post_error (
        GST_VKGDR_BASE_TRANSFORM (self), error);
  } else if (self->running != old) {
    gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (self),
        gst_cuda_loaded_may_run_in_place (self->running->loaded));
    if (self->frame == 0 || !have_same_caps (old, self->running))
      gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  }
  g_clear_pointer (&old, gst_cuda_pair_unref);
  return ok;
}

static GstFlowReturn
gst_cuda_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstCudaFilter *self = GST_CUDA_FILTER (trans);
  GstFlowReturn result;
  GstCaps *caps;

  if (!update (self)) {
    gst_buffer_unref (input);
    return GST_FLOW_ERROR;
  }
  result = GST_BASE_TRANSFORM_CLASS (parent_class)
               ->submit_input_buffer (trans, is_discont, input);
  if (result != GST_FLOW_NOT_NEGOTIATED)
    return result;
  caps = gst_pad_get_current_caps (trans->sinkpad);
  if (!caps) /* as vkgdrupload names a stream without caps */
    caps = gst_caps_new_empty_simple ("application/octet-stream");
  if (gst_cuda_filter_explain (self, caps))
    result = GST_FLOW_ERROR; /* means that this element has posted an error */
  gst_caps_unref (caps);
  return result;
}

static gboolean
gst_cuda_filter_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCudaFilter *self = GST_CUDA_FILTER (trans);
  GstCaps *caps = NULL;
  gboolean ok;

  if ((GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START
          || GST_EVENT_TYPE (event) == GST_EVENT_EOS)
      && !gst_pad_has_current_caps (trans->sinkpad))
    explain_missing_caps (self, GST_EVENT_TYPE (event) == GST_EVENT_EOS);
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    gst_event_parse_caps (event, &caps);
    gst_caps_ref (caps);
  }
  ok = GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
  if (caps && !ok)
    gst_cuda_filter_explain (self, caps);
  gst_clear_caps (&caps);
  return ok;
}

/* GStreamer drops caps that the pad does not accept. This probe is called
 * before it checks them, because the kernel that determines the accepted caps
 * must be loaded first. */
static GstPadProbeReturn
on_event (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GstCudaFilter *self = user_data;
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  if (!update (self))
    return GST_PAD_PROBE_DROP;
  gst_event_parse_caps (event, &caps);
  if (!gst_pad_query_accept_caps (pad, caps))
    gst_cuda_filter_explain (self, caps);
  return GST_PAD_PROBE_OK;
}

/* --- the kind of the stream ----------------------------------------------- */

static gboolean
gst_cuda_filter_negotiated (
    GstVkgdrFilter *filter, GstCaps *in_caps, GstCaps *out_caps, GError **error)
{
  const GstStructure *s = gst_caps_get_structure (in_caps, 0);
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  self->is_video = gst_structure_has_name (s, "video/x-raw");
  if (self->is_video)
    return GST_VKGDR_FILTER_CLASS (parent_class)
        ->negotiated (filter, in_caps, out_caps, error);
  self->is_audio = gst_structure_has_name (s, "audio/x-raw");
  if (self->is_audio
      && !gst_audio_info_from_caps (&self->audio_info, in_caps)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "These caps are not raw audio that a kernel can process");
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_cuda_filter_set_info (GstVkgdrVideoFilter *filter,
    const GstVideoInfo *input_info, const GstVideoInfo *output_info,
    GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  self->in_info = input_info;
  self->out_info = output_info;
  return gst_vkgdr_kernel_check_info (input_info, error)
         && gst_vkgdr_kernel_check_info (output_info, error);
}

void
gst_cuda_filter_init_pads (GstCudaFilter *self)
{
  gst_pad_add_probe (GST_BASE_TRANSFORM_SINK_PAD (self),
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, self, NULL);
}

void
gst_cuda_filter_init_negotiation (GstCudaFilterClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  parent_class = g_type_class_peek_parent (klass);
  trans_class->transform_caps = gst_cuda_filter_transform_caps;
  trans_class->fixate_caps = gst_cuda_filter_fixate_caps;
  trans_class->accept_caps = gst_cuda_filter_accept_caps;
  trans_class->query = gst_cuda_filter_query;
  trans_class->sink_event = gst_cuda_filter_sink_event;
  trans_class->submit_input_buffer = gst_cuda_filter_submit_input_buffer;
  GST_VKGDR_FILTER_CLASS (klass)->negotiated = gst_cuda_filter_negotiated;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->set_info = gst_cuda_filter_set_info;
}
