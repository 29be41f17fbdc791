/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/caps.c: the caps to which a kernel can convert other caps
 *
 * Knows which fields a conversion changes; fixate.c chooses one of the possible
 * caps. Knows neither elements nor kernels.
 */

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"
#include "gstvkgdrfeatures.h"

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

/* --- the required output -------------------------------------------------- */

static gboolean
names_memory (const GstCapsFeatures *features)
{
  gchar *text = gst_caps_features_to_string (features);
  gboolean is_named =
      strstr (text, "memory:") && !strstr (text, ":SystemMemory");

  g_free (text);
  return is_named;
}

/* Returns rules->output in memory on the device. If it names no memory, it is
 * returned in both types of such memory. */
static GstCaps *
get_output (const GstCudaRules *rules)
{
  GstCaps *result = gst_caps_new_empty ();
  guint i;

  for (i = 0; i < gst_caps_get_size (rules->output); i++) {
    GstCaps *one = gst_caps_copy_nth (rules->output, i);
    GstCapsFeatures *features = gst_caps_get_features (one, 0);

    if (!names_memory (features)) {
      features = gst_caps_features_is_any (features)
                     ? gst_caps_features_new_empty ()
                     : gst_caps_features_copy (features);
      gst_caps_features_remove (
          features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
      gst_caps_features_add (features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
      gst_caps_set_features (one, 0, features);
      gst_caps_take (&one, gst_vkgdr_caps_in_either_memory (one));
    }
    gst_caps_append (result, one);
  }
  return result;
}

/* --- conversions --------------------------------------------------------- */

/* Video of all formats that kernels can read and write. Those that are tested
 * with all effects come first. If a neighbour names formats, they are in its
 * order.
 */
static gpointer
make_readable (gpointer unused)
{
  static const gchar *const tested[] = { GST_EFFECT_FORMATS, NULL };
  gchar *first = g_strjoinv (",", (gchar **) tested);
  GString *text = g_string_new (NULL);
  GstStructure *readable;
  const GstVideoFormat *all;
  guint i, n;

  g_string_printf (text, "video/x-raw,format=(string){%s", first);
  all = gst_vkgdr_kernel_list_formats (&n);
  for (i = 0; i < n; i++)
    if (!g_strv_contains (tested, gst_video_format_to_string (all[i])))
      g_string_append_printf (text, ",%s", gst_video_format_to_string (all[i]));
  g_string_append_c (text, '}');
  readable = gst_structure_from_string (text->str, NULL);
  g_string_free (text, TRUE);
  g_free (first);
  return readable;
}

static const GstStructure *
get_readable (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, make_readable, NULL);
}

/* Returns the part of @structure that the kernel accepts, or NULL. */
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

/* Adds @structure (transfer full) in VkgdrMemory, with any other features. */
static GstCaps *
merge_any (GstCaps *caps, GstStructure *structure)
{
  static const gchar *const more[] = { NULL, GST_VKGDR_MORE_FEATURES };
  guint i, n = gst_structure_has_name (structure, "video/x-raw")
                   ? G_N_ELEMENTS (more)
                   : 1;

  for (i = 0; i < n; i++)
    caps = gst_caps_merge_structure_full (caps, gst_structure_copy (structure),
        gst_caps_features_new (
            GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, more[i], NULL));
  gst_structure_free (structure);
  return caps;
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

    if (!structure)
      continue;
    if (gst_caps_features_is_any (features))
      result = merge_any (result, structure);
    else
      result = gst_caps_merge_structure_full (
          result, structure, gst_caps_features_copy (features));
  }
  return result;
}

/* Allows other values for the fields that a conversion can change. */
static void
widen (GstStructure *structure, GstEffectConverts converts)
{
  if (converts & GST_EFFECT_CONVERTS_FORMAT) {
    gst_structure_remove_fields (structure, "colorimetry", "chroma-site", NULL);
    gst_structure_set_value (structure, "format",
        gst_structure_get_value (get_readable (), "format"));
  }
  if (!(converts & GST_EFFECT_CONVERTS_SIZE))
    return;
  gst_structure_set (structure, "width", GST_TYPE_INT_RANGE, 1, G_MAXINT,
      "height", GST_TYPE_INT_RANGE, 1, G_MAXINT, NULL);
  if (gst_structure_has_field (structure, "pixel-aspect-ratio"))
    gst_structure_set (structure, "pixel-aspect-ratio", GST_TYPE_FRACTION_RANGE,
        1, G_MAXINT, G_MAXINT, 1, NULL);
}

/* Returns the caps to which the video in @kept can be converted. GstCudaMemory
 * does not support all formats, so it is replaced first. */
static GstCaps *
widen_all (const GstCaps *kept, GstEffectConverts converts)
{
  GstCaps *result = gst_caps_new_empty ();
  guint i;

  for (i = 0; i < gst_caps_get_size (kept); i++) {
    const GstCapsFeatures *features = gst_caps_get_features (kept, i);
    GstStructure *structure = gst_caps_get_structure (kept, i);

    if (!gst_structure_has_name (structure, "video/x-raw"))
      continue;
    structure = gst_structure_copy (structure);
    widen (structure, converts);
    result = gst_caps_merge_structure_full (result, structure,
        gst_vkgdr_caps_features_are_cuda (features)
            ? gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL)
            : gst_caps_features_copy (features));
  }
  gst_caps_take (&result, gst_vkgdr_caps_in_either_memory (result));
  return result;
}

/* Returns all caps that the kernel accepts or produces. */
static GstCaps *
make_anything (const GstCudaRules *rules)
{
  GstCaps *caps;

  if (rules->takes_others)
    return gst_caps_new_any ();
  caps = gst_caps_new_empty ();
  if (rules->takes_video)
    caps = merge_any (caps, gst_structure_copy (get_readable ()));
  gst_caps_take (&caps, gst_vkgdr_caps_in_either_memory (caps));
  return caps;
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

static gboolean
allows_progressive (const GstStructure *structure)
{
  GstStructure *wanted = gst_structure_new (gst_structure_get_name (structure),
      "interlace-mode", G_TYPE_STRING, "progressive", NULL);
  gboolean allows = gst_structure_can_intersect (structure, wanted);

  gst_structure_free (wanted);
  return allows;
}

static gboolean
convert_fields (
    GstCapsFeatures *features, GstStructure *structure, gpointer direction)
{
  GstStructure *modes;

  /* A buffer of "alternate" has one field, which is a picture already. */
  if (!gst_structure_has_field (structure, "interlace-mode")
      || gst_caps_features_contains (
          features, GST_CAPS_FEATURE_FORMAT_INTERLACED))
    return TRUE;
  gst_structure_remove_field (structure, "field-order");
  if (GPOINTER_TO_INT (direction) == GST_PAD_SINK) {
    gst_structure_set (
        structure, "interlace-mode", G_TYPE_STRING, "progressive", NULL);
    return TRUE;
  }
  if (!allows_progressive (structure))
    return FALSE;
  modes = gst_structure_from_string (
      "m,interlace-mode=(string){progressive,interleaved,mixed}", NULL);
  gst_structure_set_value (structure, "interlace-mode",
      gst_structure_get_value (modes, "interlace-mode"));
  gst_structure_free (modes);
  return TRUE;
}

/* If downstream accepts rules->output, every input that the kernel accepts is
 * possible. Whether it can be converted to this output is checked when its caps
 * arrive. If rules->output restricted the input, the source would choose a
 * format that is only meant for the output. */
GstCaps *
gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps)
{
  GstCaps *all, *output;

  if (!rules->output) {
    all = convert (rules, caps);
    if ((rules->converts & GST_EFFECT_CONVERTS_FIELDS)
        && !gst_caps_is_any (all)) {
      all = gst_caps_make_writable (all);
      gst_caps_filter_and_map_in_place (
          all, convert_fields, GINT_TO_POINTER (direction));
    }
    return all;
  }
  output = get_output (rules);
  if (direction == GST_PAD_SINK) {
    all = convert (rules, caps);
    gst_caps_take (
        &all, gst_caps_intersect_full (output, all, GST_CAPS_INTERSECT_FIRST));
  } else if (gst_caps_can_intersect (caps, output)) {
    all = make_anything (rules);
  } else {
    all = gst_caps_new_empty ();
  }
  gst_caps_unref (output);
  return all;
}

gboolean
gst_cuda_rules_is_equal (const GstCudaRules *one, const GstCudaRules *other)
{
  if (!one->output != !other->output
      || (one->output && !gst_caps_is_equal (one->output, other->output)))
    return FALSE;
  return one->takes_video == other->takes_video
         && one->takes_others == other->takes_others
         && one->converts == other->converts
         && one->swaps_sides == other->swaps_sides;
}
