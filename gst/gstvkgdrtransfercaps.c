/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransfercaps.c: the caps between which a transfer mediates
 */

#include "gstvkgdrtransfercaps.h"

#include "gstvkgdrfeatures.h"

static gboolean
is_ours (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (
      features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
}

gboolean
gst_vkgdr_transfer_caps_is_cuda (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (
             features, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA)
         && gst_vkgdr_cuda_is_available ();
}

/* Features that name no memory, such as `format:Interlaced` alone, mean system
 * memory, too. */
static gboolean
is_system (const GstCapsFeatures *features)
{
  guint i;

  for (i = 0; i < gst_caps_features_get_size (features); i++) {
    const gchar *name = gst_caps_features_get_nth (features, i);

    if (g_str_has_prefix (name, "memory:")
        && g_strcmp0 (name, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) != 0)
      return FALSE;
  }
  return TRUE;
}

static gboolean
is_on_device (const GstCapsFeatures *features)
{
  return is_ours (features) || gst_vkgdr_transfer_caps_is_cuda (features);
}

gboolean
gst_vkgdr_transfer_caps_is_known (const GstCapsFeatures *features)
{
  return is_on_device (features) || is_system (features);
}

/* Appends the structure in system memory with @features (transfer full), which
 * name no memory. Elements name system memory in addition to `meta:…`, but not
 * in addition to `format:Interlaced`. For GStreamer, caps with and without
 * `memory:SystemMemory` then differ, so both are appended. */
static void
append_with_system_memory (
    GstCaps *caps, const GstStructure *structure, GstCapsFeatures *features)
{
  GstCapsFeatures *named = NULL;
  gboolean is_interlaced =
      gst_caps_features_contains (features, GST_CAPS_FEATURE_FORMAT_INTERLACED);

  if (gst_caps_features_get_size (features) > 0) {
    named = gst_caps_features_copy (features);
    gst_caps_features_add (named, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  }
  if (named && !is_interlaced)
    gst_caps_append_structure_full (
        caps, gst_structure_copy (structure), g_steal_pointer (&named));
  gst_caps_append_structure_full (
      caps, gst_structure_copy (structure), features);
  if (named)
    gst_caps_append_structure_full (
        caps, gst_structure_copy (structure), named);
}

/* Appends the structure with the feature of another memory; NULL is system
 * memory. Other features, such as `meta:…`, stay. Only raw video can be in CUDA
 * memory. */
static void
append_with_memory (GstCaps *caps, const GstStructure *structure,
    const GstCapsFeatures *features, const gchar *memory)
{
  GstCapsFeatures *copy;

  if (g_strcmp0 (memory, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA) == 0
      && (!gst_structure_has_name (structure, "video/x-raw")
          || !gst_vkgdr_cuda_is_available ()))
    return;
  copy = gst_caps_features_copy (features);
  gst_caps_features_remove (copy, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  gst_caps_features_remove (copy, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  gst_caps_features_remove (copy, GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA);
  if (!memory) {
    append_with_system_memory (caps, structure, copy);
    return;
  }
  gst_caps_features_add (copy, memory);
  gst_caps_append_structure_full (caps, gst_structure_copy (structure), copy);
}

/* Appends all outputs of an input, or all inputs of an output, in the order of
 * preference. */
static void
append_others (GstCaps *caps, const GstStructure *structure,
    const GstCapsFeatures *features, GstPadDirection direction,
    gboolean to_device)
{
  static const gchar *ours = GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY;
  static const gchar *cuda = GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA;

  if (direction == GST_PAD_SRC) {
    append_with_memory (caps, structure, features, to_device ? NULL : ours);
    append_with_memory (caps, structure, features, to_device ? ours : NULL);
    append_with_memory (caps, structure, features, cuda);
  } else if (to_device) {
    append_with_memory (caps, structure, features, ours);
    append_with_memory (caps, structure, features, cuda);
  } else {
    append_with_memory (caps, structure, features, NULL);
  }
}

/* The same for a structure in any memory and with any other features. */
static void
append_others_of_any (GstCaps *caps, const GstStructure *structure,
    GstPadDirection direction, gboolean to_device)
{
  static const gchar *const more[] = { GST_VKGDR_MORE_FEATURES };
  guint i;

  append_others (caps, structure, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY,
      direction, to_device);
  if (!gst_structure_has_name (structure, "video/x-raw"))
    return;
  for (i = 0; i < G_N_ELEMENTS (more); i++) {
    GstCapsFeatures *features = gst_caps_features_new (more[i], NULL);

    append_others (caps, structure, features, direction, to_device);
    gst_caps_features_free (features);
  }
}

GstCaps *
gst_vkgdr_transfer_caps_get_others (
    const GstCaps *caps, GstPadDirection direction, gboolean to_device)
{
  GstCaps *result = gst_caps_new_empty ();
  guint i;

  for (i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);

    if (gst_caps_features_is_any (features))
      append_others_of_any (result, structure, direction, to_device);
    else if (!gst_vkgdr_transfer_caps_is_known (features)
             || (direction == GST_PAD_SRC
                 && is_on_device (features) != to_device))
      continue; /* not a possible input or output */
    else
      append_others (result, structure, features, direction, to_device);
  }
  /* gst_caps_simplify () would make lists of a value and a range, which
   * GStreamer does not recognise as subsets of that range. */
  return gst_caps_merge (gst_caps_new_empty (), result);
}
