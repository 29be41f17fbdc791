/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gsteffects.c: the kernels that come with cudafilter
 *
 * A new one is a line of the table here, one of effects.gresource.xml, its .cu
 * beside that, and its reference in the tests.
 */

#include <gio/gio.h>
#include <gst/vkgdr/vkgdr.h>

#include "gsteffects.h"

#define EFFECTS_PREFIX "/org/gst-vkgdr/effects/"

static const GstEffect effects[] = {
  { "blur", "Binomial filter of 5x5 samples", NULL, FALSE },
  { "copy", "Every sample as it is", NULL, TRUE },
  { "gain", "Contrast (gain, a factor) and brightness (offset, from -1 to 1)",
      "params,gain=(float)1.0,offset=(float)0.0", TRUE },
  { "grayscale", "Luma without colour", NULL, TRUE },
  { "invert", "Photographic negative", NULL, TRUE },
  { "sobel", "Edges: the length of the luma's gradient", NULL, FALSE }, { NULL }
};

const GstEffect *
gst_effects_list (void)
{
  return effects;
}

const GstEffect *
gst_effect_find (const gchar *name)
{
  const GstEffect *effect;

  for (effect = effects; effect->name; effect++)
    if (g_strcmp0 (effect->name, name) == 0)
      return effect;
  return NULL;
}

gchar *
gst_effects_get_names (void)
{
  GString *names = g_string_new (NULL);
  const GstEffect *effect;

  for (effect = effects; effect->name; effect++)
    g_string_append_printf (
        names, "%s%s", names->len ? ", " : "", effect->name);
  return g_string_free (names, FALSE);
}

gchar *
gst_effect_get_source (const GstEffect *effect)
{
  gchar *path = g_strconcat (EFFECTS_PREFIX, effect->name, ".cu", NULL);
  GBytes *bytes =
      g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  gchar *source;

  /* It is linked in. */
  g_assert (bytes != NULL);
  source = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_bytes_unref (bytes);
  g_free (path);
  return source;
}

static gboolean
effect_set_param (const GstEffect *effect, GstStructure *params,
    const gchar *field, const GValue *given, GError **error)
{
  GValue value = G_VALUE_INIT;
  GType type;

  if (!gst_structure_has_field (params, field)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The effect %s has no parameter \"%s\"; it has: %s", effect->name,
        field, effect->params ? effect->params : "none");
    return FALSE;
  }
  type = gst_structure_get_field_type (params, field);
  g_value_init (&value, type);
  /* Strings are transformed to numbers by GStreamer, to 0 whatever they say. */
  if (G_VALUE_HOLDS_STRING (given) || !g_value_transform (given, &value)) {
    g_value_unset (&value);
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The parameter \"%s\" of the effect %s has to be a %s, not a %s", field,
        effect->name, g_type_name (type), G_VALUE_TYPE_NAME (given));
    return FALSE;
  }
  gst_structure_take_value (params, field, &value);
  return TRUE;
}

GstStructure *
gst_effect_complete_params (
    const GstEffect *effect, const GstStructure *given, GError **error)
{
  GstStructure *params = effect->params
                             ? gst_structure_from_string (effect->params, NULL)
                             : gst_structure_new_empty ("params");
  gint i, n = given ? gst_structure_n_fields (given) : 0;

  for (i = 0; i < n; i++) {
    const gchar *field = gst_structure_nth_field_name (given, i);

    if (!effect_set_param (effect, params, field,
            gst_structure_get_value (given, field), error)) {
      gst_structure_free (params);
      return NULL;
    }
  }
  if (!effect->params)
    g_clear_pointer (&params, gst_structure_free);
  return params;
}
