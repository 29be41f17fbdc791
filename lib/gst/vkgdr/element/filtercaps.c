/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/filtercaps.c: the memory types of a filter's input and output
 *
 * These are VkgdrMemory, and GstCudaMemory if the subclass's templates have it.
 * Knows nothing of buffers.
 */

#include "element/element-private.h"

static gpointer parent_class;

/* Whether the subclass's templates have GstCudaMemory. */
static gboolean
has_cuda_template (GstPad *pad)
{
  GstCaps *caps = gst_pad_get_pad_template_caps (pad);
  gboolean has = FALSE;
  guint i;

  for (i = 0; !has && i < gst_caps_get_size (caps); i++)
    has = gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, i));
  gst_caps_unref (caps);
  return has;
}

/* Like the base class, but offers both memory types if the subclass has both.
 */
static GstCaps *
gst_vkgdr_filter_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstPad *other = direction == GST_PAD_SINK ? trans->srcpad : trans->sinkpad;
  GstCaps *result, *some;

  if (!has_cuda_template (other))
    return GST_BASE_TRANSFORM_CLASS (parent_class)
        ->transform_caps (trans, direction, caps, filter);
  result = gst_vkgdr_caps_in_either_memory (caps);
  if (filter) {
    some = gst_caps_intersect_full (result, filter, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = some;
  }
  return result;
}

/* Upstream prefers the first structure. VkgdrMemory is moved to the front,
 * because fences order the accesses to it. This is done even if CUDA elements
 * downstream prefer GstCudaMemory. */
static void
prefer_vkgdr_memory (GstQuery *query)
{
  GstCaps *caps, *ours, *theirs;
  guint i;

  gst_query_parse_caps_result (query, &caps);
  if (gst_caps_is_any (caps))
    return;
  ours = gst_caps_new_empty ();
  theirs = gst_caps_new_empty ();
  for (i = 0; i < gst_caps_get_size (caps); i++) {
    GstCapsFeatures *features = gst_caps_get_features (caps, i);

    gst_caps_append_structure_full (
        gst_vkgdr_caps_features_are_cuda (features) ? theirs : ours,
        gst_structure_copy (gst_caps_get_structure (caps, i)),
        gst_caps_features_copy (features));
  }
  gst_caps_append (ours, theirs);
  gst_query_set_caps_result (query, ours);
  gst_caps_unref (ours);
}

static gboolean
gst_vkgdr_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  if (!GST_BASE_TRANSFORM_CLASS (parent_class)->query (trans, direction, query))
    return FALSE;
  if (direction == GST_PAD_SINK && GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    prefer_vkgdr_memory (query);
  return TRUE;
}

void
gst_vkgdr_filter_init_caps (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->transform_caps = gst_vkgdr_filter_transform_caps;
  klass->query = gst_vkgdr_filter_query;
}
