/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/caps.c: the caps to which a kernel can convert other caps
 *
 * Knows which fields a conversion changes; fixate.c chooses one of the possible
 * caps. Knows neither elements nor kernels.
 */

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"

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

/* --- requirements of the output ------------------------------------------- */

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

/* Allows other values for the fields that a conversion can change. */
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

/* Returns @features with this library's memory instead of GstCudaMemory, which
 * does not support all formats. */
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

static void
append_format (GValue *formats, const gchar *name)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  g_value_set_string (&value, name);
  gst_value_list_append_and_take_value (formats, &value);
}

/* Video of all formats that kernels can read and write. Those that are tested
 * with all effects come first. If a neighbour names formats, its order counts.
 */
static gpointer
make_readable (gpointer unused)
{
  static const gchar *const tested[] = { GST_EFFECT_FORMATS, NULL };
  GstStructure *readable = gst_structure_new_empty ("video/x-raw");
  GValue formats = G_VALUE_INIT;
  const GstVideoFormat *all;
  guint i, n;

  g_value_init (&formats, GST_TYPE_LIST);
  for (i = 0; tested[i]; i++)
    append_format (&formats, tested[i]);
  all = gst_vkgdr_kernel_list_formats (&n);
  for (i = 0; i < n; i++)
    if (!g_strv_contains (tested, gst_video_format_to_string (all[i])))
      append_format (&formats, gst_video_format_to_string (all[i]));
  gst_structure_take_value (readable, "format", &formats);
  return readable;
}

static const GstStructure *
get_readable (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, make_readable, NULL);
}

/* Replaces features ANY by those of this library's memory. */
static GstCapsFeatures *
name_features (const GstCapsFeatures *features)
{
  if (gst_caps_features_is_any (features))
    return gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL);
  return gst_caps_features_copy (features);
}

/* Returns the part of @structure that the kernel accepts, or NULL if there is
 * none. */
static GstStructure *
keep_structure (const GstCudaRules *rules, const GstStructure *structure,
    const GstCapsFeatures *features)
{
  if (!gst_cuda_caps_is_on_device (structure, features))
    return NULL;
  if (gst_structure_has_name (structure, "video/x-raw"))
    return rules->takes_video
               ? gst_structure_intersect (structure, get_readable ())
               : NULL;
  return rules->takes_others ? gst_structure_copy (structure) : NULL;
}

GstCaps *
gst_cuda_caps_keep (const GstCudaRules *rules, const GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();
  guint i, n = gst_caps_is_any (caps) ? 0 : gst_caps_get_size (caps);

  for (i = 0; i < n; i++) {
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);
    GstStructure *structure =
        keep_structure (rules, gst_caps_get_structure (caps, i), features);

    if (structure)
      append (result, structure, name_features (features));
  }
  return result;
}

/* Returns the caps to which the video in @kept can be converted. */
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
    if (converts & GST_EFFECT_CONVERTS_FORMAT)
      gst_structure_set_value (structure, "format",
          gst_structure_get_value (get_readable (), "format"));
    append (result, structure, in_our_memory (gst_caps_get_features (kept, i)));
  }
  either = gst_vkgdr_caps_in_either_memory (result);
  gst_caps_unref (result);
  return either;
}

/* Returns all caps that the kernel accepts or produces. */
static GstCaps *
make_anything (const GstCudaRules *rules)
{
  GstCaps *ours, *either;

  if (rules->takes_others)
    return gst_caps_new_any ();
  ours = gst_caps_new_empty ();
  if (rules->takes_video)
    append (ours, gst_structure_copy (get_readable ()),
        gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL));
  either = gst_vkgdr_caps_in_either_memory (ours);
  gst_caps_unref (ours);
  return either;
}

/* Caps without a conversion come first. */
static GstCaps *
convert (const GstCudaRules *rules, const GstCaps *caps)
{
  GstCaps *kept, *result;

  if (gst_caps_is_any (caps))
    return make_anything (rules);
  kept = gst_cuda_caps_keep (rules, caps);
  result = gst_caps_merge (gst_vkgdr_caps_in_either_memory (kept),
      widen_all (kept, rules->converts));
  gst_caps_unref (kept);
  return result;
}

/* Returns rules->output, in both types of memory if it named none. */
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
  GstCaps *all = convert (rules, caps), *output, *some;

  if (!rules->output)
    return all;
  output = get_output (rules);
  some = gst_caps_intersect_full (output, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (output);
  gst_caps_unref (all);
  return some;
}

/* If downstream accepts rules->output, every input that the kernel accepts is
 * possible. Whether it can be converted to this output is checked when its caps
 * arrive. If rules->output restricted the input, the source would choose a
 * format that is only meant for the output. */
static GstCaps *
transform_to_input (const GstCudaRules *rules, GstCaps *caps)
{
  GstCaps *output, *result;
  gboolean is_possible;

  if (!rules->output)
    return convert (rules, caps);
  output = get_output (rules);
  is_possible = gst_caps_can_intersect (caps, output);
  gst_caps_unref (output);
  if (!is_possible)
    return gst_caps_new_empty ();
  result = gst_caps_new_any ();
  gst_caps_take (&result, convert (rules, result));
  return result;
}

GstCaps *
gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps)
{
  return direction == GST_PAD_SINK ? transform_to_output (rules, caps)
                                   : transform_to_input (rules, caps);
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

void
gst_cuda_rules_clear (GstCudaRules *rules)
{
  g_clear_pointer (&rules->params, gst_structure_free);
  gst_clear_caps (&rules->output);
}
