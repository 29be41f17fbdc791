/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudacaps.c: caps of GStreamer's own CUDA elements beside ours
 *
 * Knows which memory caps can name in the place of another; nothing of memory
 * itself.
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

/* The memory in whose place the other can be; NULL where there is none. */
static const gchar *
memory_of (const GstStructure *structure, const GstCapsFeatures *features)
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

/* What of @structure there is in the memory of their library; NULL for nothing.
 * The caller frees it. */
static GstStructure *
in_their_formats (const GstStructure *structure)
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
append_twin (GstCaps *result, const GstStructure *structure,
    const GstCapsFeatures *features, const gchar *memory)
{
  gboolean is_cuda = gst_vkgdr_caps_features_are_cuda (features);
  GstCapsFeatures *others;
  GstStructure *copy;

  copy =
      is_cuda ? gst_structure_copy (structure) : in_their_formats (structure);
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
 * What an element that takes and gives both memories can make of @caps without
 * a copy: @caps, and behind them all raw video in
 * %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY and in
 * %GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA once more, in the other one. Where
 * gst_vkgdr_cuda_is_available() is %FALSE there is no other one, and nothing is
 * in the latter that is not of %GST_VKGDR_CUDA_FORMATS.
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
    const gchar *memory = memory_of (structure, features);

    if (!memory)
      continue;
    if (!result && !gst_vkgdr_cuda_is_available ())
      break;
    if (!result)
      result = gst_caps_copy (caps);
    append_twin (result, structure, features, memory);
  }
  return result ? result : gst_caps_ref (caps);
}
