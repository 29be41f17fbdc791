/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudacaps.c: caps with the memory of GStreamer's own CUDA elements
 *
 * Knows which caps features can replace each other. Knows nothing of memory.
 */

#include <gst/vkgdr/gstvkgdrcuda.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

/**
 * gst_vkgdr_caps_features_are_cuda:
 * @features: features of caps
 *
 * Thread-safe.
 *
 * Returns: whether they name the memory of GStreamer's own CUDA elements
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_caps_features_are_cuda (const GstCapsFeatures *features)
{
  g_return_val_if_fail (features != NULL, FALSE);

  return !gst_caps_features_is_any (features)
         && gst_caps_features_contains (
             features, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
}

/* Returns the feature of the memory of this library or of GStreamer's CUDA
 * elements, or NULL if the caps have neither or are not raw video. */
static const gchar *
get_memory_feature (
    const GstStructure *structure, const GstCapsFeatures *features)
{
  if (gst_caps_features_is_any (features)
      || !gst_structure_has_name (structure, "video/x-raw"))
    return NULL;
  if (gst_caps_features_contains (
          features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY))
    return GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY;
  return gst_vkgdr_caps_features_are_cuda (features)
             ? GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA
             : NULL;
}

/* Restricts @structure to the formats of GStreamer's CUDA library; NULL if
 * nothing is left. The caller frees it. */
static GstStructure *
restrict_to_cuda_formats (const GstStructure *structure)
{
  static GstStaticCaps possible =
      GST_STATIC_CAPS (GST_VIDEO_CAPS_MAKE (GST_VKGDR_CUDA_FORMATS));
  GstCaps *caps = gst_static_caps_get (&possible);
  GstStructure *result =
      gst_structure_intersect (structure, gst_caps_get_structure (caps, 0));

  gst_caps_unref (caps);
  return result;
}

static void
append_in_other_memory (GstCaps *result, const GstStructure *structure,
    const GstCapsFeatures *features, const gchar *memory)
{
  gboolean is_cuda = gst_vkgdr_caps_features_are_cuda (features);
  GstCapsFeatures *others;
  GstStructure *copy;

  copy = is_cuda ? gst_structure_copy (structure)
                 : restrict_to_cuda_formats (structure);
  if (!copy)
    return;
  others = gst_caps_features_copy (features);
  gst_caps_features_remove (others, memory);
  gst_caps_features_add (others, is_cuda ? GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
                                         : GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
  if (gst_caps_is_subset_structure_full (result, copy, others)) {
    gst_structure_free (copy);
    gst_caps_features_free (others);
    return;
  }
  gst_caps_append_structure_full (result, copy, others);
}

/**
 * gst_vkgdr_caps_in_either_memory:
 * @caps: caps
 *
 * Adds the caps that an element with both memories can produce from @caps
 * without a copy. All raw video in %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY or
 * %GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA is appended once more with the other of
 * these features. %GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA is only added for the
 * formats in %GST_VKGDR_CUDA_FORMATS. If gst_vkgdr_cuda_is_available() is
 * %FALSE, nothing is added.
 *
 * Thread-safe.
 *
 * Returns: (transfer full): the caps
 *
 * Since: 0.1
 */
GstCaps *
gst_vkgdr_caps_in_either_memory (GstCaps *caps)
{
  GstCaps *result = NULL;
  guint i, n;

  g_return_val_if_fail (GST_IS_CAPS (caps), NULL);

  n = gst_caps_is_any (caps) ? 0 : gst_caps_get_size (caps);
  for (i = 0; i < n; i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);
    const gchar *memory = get_memory_feature (structure, features);

    if (!memory)
      continue;
    if (!result && !gst_vkgdr_cuda_is_available ())
      break;
    if (!result)
      result = gst_caps_copy (caps);
    append_in_other_memory (result, structure, features, memory);
  }
  return result ? result : gst_caps_ref (caps);
}
