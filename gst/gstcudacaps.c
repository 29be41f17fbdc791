/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudacaps.c: what caps a kernel can make of others
 *
 * Knows which fields a conversion changes; gstcudafixate.c chooses among what
 * is left. Knows neither elements nor kernels.
 */

#include <gst/vkgdr/vkgdr.h>

#include "gstcudacaps.h"

gboolean
gst_cuda_caps_is_on_device (
    const GstStructure *structure, const GstCapsFeatures *features)
{
  if (gst_caps_features_contains (
          features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY))
    return TRUE;
  return gst_vkgdr_caps_features_are_cuda (features)
         && gst_structure_has_name (structure, "video/x-raw")
         && gst_vkgdr_cuda_is_available ();
}

/* --- what the output has to be ------------------------------------------- */

static gboolean
names_memory (const GstCapsFeatures *features)
{
  guint i, n = gst_caps_features_get_size (features);

  for (i = 0; i < n; i++) {
    const gchar *name = gst_caps_features_get_nth (features, i);

    if (g_str_has_prefix (name, "memory:")
        && g_strcmp0 (name, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) != 0)
      return TRUE;
  }
  return FALSE;
}

GstCaps *
gst_cuda_caps_complete (const GstCaps *output, gboolean *is_in_any_memory)
{
  GstCaps *caps;
  guint i;

  *is_in_any_memory = TRUE;
  if (!output || gst_caps_is_any (output))
    return NULL;
  caps = gst_caps_copy (output);
  for (i = 0; i < gst_caps_get_size (caps); i++) {
    GstCapsFeatures *features =
        gst_caps_features_copy (gst_caps_get_features (caps, i));

    if (gst_caps_features_is_any (features)) {
      gst_caps_features_free (features);
      features = gst_caps_features_new_empty ();
    }
    if (names_memory (features)) {
      *is_in_any_memory = FALSE;
    } else {
      gst_caps_features_remove (
          features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
      gst_caps_features_add (features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
    }
    gst_caps_set_features (caps, i, features);
  }
  return caps;
}

/* --- conversions --------------------------------------------------------- */

static void
append (GstCaps *result, GstStructure *structure, GstCapsFeatures *features)
{
  if (gst_caps_is_subset_structure_full (result, structure, features)) {
    gst_structure_free (structure);
    gst_caps_features_free (features);
    return;
  }
  gst_caps_append_structure_full (result, structure, features);
}

/* What another format, or size, does not leave as it was. */
static void
widen (GstStructure *structure, GstEffectConverts converts)
{
  if (converts & GST_EFFECT_CONVERTS_FORMAT)
    gst_structure_remove_fields (
        structure, "format", "colorimetry", "chroma-site", NULL);
  if (!(converts & GST_EFFECT_CONVERTS_SIZE))
    return;
  gst_structure_set (structure, "width", GST_TYPE_INT_RANGE, 1, G_MAXINT,
      "height", GST_TYPE_INT_RANGE, 1, G_MAXINT, NULL);
  if (gst_structure_has_field (structure, "pixel-aspect-ratio"))
    gst_structure_set (structure, "pixel-aspect-ratio", GST_TYPE_FRACTION_RANGE,
        1, G_MAXINT, G_MAXINT, 1, NULL);
}

/* @features with our memory in the place of theirs, which has not all formats.
 */
static GstCapsFeatures *
in_our_memory (const GstCapsFeatures *features)
{
  GstCapsFeatures *ours = gst_caps_features_copy (features);

  if (gst_vkgdr_caps_features_are_cuda (ours)) {
    gst_caps_features_remove (ours, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
    gst_caps_features_add (ours, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  }
  return ours;
}

GstCaps *
gst_cuda_caps_keep (const GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();
  guint i;

  for (i = 0; i < gst_caps_get_size (caps); i++) {
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);
    const GstStructure *structure = gst_caps_get_structure (caps, i);

    if (gst_cuda_caps_is_on_device (structure, features))
      append (result, gst_structure_copy (structure),
          gst_caps_features_copy (features));
  }
  return result;
}

/* All of @kept that is video, converted. */
static GstCaps *
widen_all (const GstCaps *kept, GstEffectConverts converts)
{
  GstCaps *result = gst_caps_new_empty (), *either;
  guint i;

  for (i = 0; i < gst_caps_get_size (kept); i++) {
    GstStructure *structure = gst_caps_get_structure (kept, i);

    if (!gst_structure_has_name (structure, "video/x-raw"))
      continue;
    structure = gst_structure_copy (structure);
    widen (structure, converts);
    append (result, structure, in_our_memory (gst_caps_get_features (kept, i)));
  }
  either = gst_vkgdr_caps_in_either_memory (result);
  gst_caps_unref (result);
  return either;
}

/* First what is as it was, then what is converted. */
static GstCaps *
convert (const GstCaps *caps, GstEffectConverts converts)
{
  GstCaps *kept, *result;

  if (gst_caps_is_any (caps))
    return gst_caps_new_any ();
  kept = gst_cuda_caps_keep (caps);
  result = gst_caps_merge (
      gst_vkgdr_caps_in_either_memory (kept), widen_all (kept, converts));
  gst_caps_unref (kept);
  return result;
}

/* What the output has to be. */
static GstCaps *
get_output (const GstCudaRules *rules)
{
  return rules->is_in_any_memory
             ? gst_vkgdr_caps_in_either_memory (rules->output)
             : gst_caps_ref (rules->output);
}

static GstCaps *
transform_to_output (const GstCudaRules *rules, GstCaps *caps)
{
  GstCaps *all = convert (caps, rules->converts), *output, *some;

  if (!rules->output)
    return all;
  output = get_output (rules);
  some = gst_caps_intersect_full (output, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (output);
  gst_caps_unref (all);
  return some;
}

static GstCaps *
transform_to_input (const GstCudaRules *rules, GstCaps *caps)
{
  GstCaps *output, *wanted, *good;

  if (!rules->output)
    return convert (caps, rules->converts);
  output = get_output (rules);
  wanted = gst_caps_intersect_full (caps, output, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (output);
  good = convert (wanted, rules->converts);
  gst_caps_unref (wanted);
  return gst_caps_merge (good, convert (caps, rules->converts));
}

GstCaps *
gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps)
{
  return direction == GST_PAD_SINK ? transform_to_output (rules, caps)
                                   : transform_to_input (rules, caps);
}

gboolean
gst_cuda_caps_can_meet (const GstCudaRules *rules, GstCaps *caps)
{
  GstCaps *output = transform_to_output (rules, caps);
  gboolean can = !gst_caps_is_empty (output);

  gst_caps_unref (output);
  return can;
}

void
gst_cuda_caps_get_size (const GstCudaRules *rules, gint *width, gint *height)
{
  if (!rules->get_size)
    return;
  rules->get_size (rules->params, width, height);
  *width = MAX (*width, 1);
  *height = MAX (*height, 1);
}
