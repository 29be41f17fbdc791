/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/effects.c: the kernels that come with cudafilter
 *
 * A new kernel needs a line in the table here, a name in meson.build, a .cu
 * file in effects/, and a reference in the tests.
 */

#include <gio/gio.h>
#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/effects.h"

#define EFFECTS_PREFIX "/org/gst-vkgdr/effects/"

static const GstEffect effects[] = {
  { "balance",
      "Brightness (-1 to 1), contrast, saturation (factors) and hue (-1 to 1 "
      "half turns)",
      "params,brightness=(float)0.0,contrast=(float)1.0,"
      "saturation=(float)1.0,hue=(float)0.0",
      TRUE, GST_EFFECT_CONVERTS_FORMAT },
  { "blur", "Binomial filter of 5x5 samples", NULL, FALSE,
      GST_EFFECT_CONVERTS_NOTHING, .runs_on_fields = TRUE },
  { "bob", "Deinterlaces: a picture of one field (0 top, 1 bottom)",
      "params,field=(int)0", TRUE, GST_EFFECT_CONVERTS_FIELDS },
  { "boxblur", "Mean of a square of samples (radius, 0 to 16)",
      "params,radius=(int)2", FALSE, GST_EFFECT_CONVERTS_NOTHING,
      .runs_on_fields = TRUE },
  { "boxes",
      "Draws the boxes of detected objects (border in pixels, fill 0 to 1)",
      "params,border=(int)2,fill=(float)0.0", TRUE,
      GST_EFFECT_CONVERTS_FORMAT },
  { "chromakey",
      "Makes pixels of a colour (red, green, blue) transparent, or replaces "
      "them with a background",
      "params,red=(float)0.0,green=(float)1.0,blue=(float)0.0,"
      "tolerance=(float)0.25,softness=(float)0.1,"
      "background-red=(float)0.0,background-green=(float)0.0,"
      "background-blue=(float)0.0",
      TRUE, GST_EFFECT_CONVERTS_FORMAT },
  { "colormatrix",
      "Red, green and blue, each a weighted sum (rr, rg, rb...) and an offset "
      "(r, g, b)",
      "params,rr=(float)1.0,rg=(float)0.0,rb=(float)0.0,"
      "gr=(float)0.0,gg=(float)1.0,gb=(float)0.0,"
      "br=(float)0.0,bg=(float)0.0,bb=(float)1.0,"
      "r=(float)0.0,g=(float)0.0,b=(float)0.0",
      TRUE, GST_EFFECT_CONVERTS_FORMAT },
  { "convert",
      "Another format, another size (method: 0 nearest pixel, 1 bilinear)",
      "params,method=(int)1", TRUE,
      GST_EFFECT_CONVERTS_FORMAT | GST_EFFECT_CONVERTS_SIZE, 4, 2,
      .runs_on_fields = TRUE },
  { "copy", "Copies every sample", NULL, TRUE, GST_EFFECT_CONVERTS_NOTHING, 4,
      1 },
  { "flip", "Rotates and mirrors (method, 0 to 7, as videoflip's)",
      "params,method=(int)0", FALSE, GST_EFFECT_CONVERTS_SIZE, .turns = TRUE,
      .runs_on_fields = TRUE },
  { "gain", "Contrast (gain, a factor) and brightness (offset, from -1 to 1)",
      "params,gain=(float)1.0,offset=(float)0.0", TRUE,
      GST_EFFECT_CONVERTS_NOTHING },
  { "gamma", "A power of red, green and blue (gamma, above 1 lighter)",
      "params,gamma=(float)1.0", TRUE, GST_EFFECT_CONVERTS_FORMAT },
  { "gaussian", "Gaussian filter (sigma, 0 to 8 samples)",
      "params,sigma=(float)1.5", FALSE, GST_EFFECT_CONVERTS_NOTHING,
      .runs_on_fields = TRUE },
  { "grayscale", "Luma without colour", NULL, TRUE,
      GST_EFFECT_CONVERTS_NOTHING },
  { "invert", "Photographic negative", NULL, TRUE, GST_EFFECT_CONVERTS_NOTHING,
      4, 1 },
  { "sepia", "The brown of old photographs (amount, 0 to 1)",
      "params,amount=(float)1.0", TRUE, GST_EFFECT_CONVERTS_FORMAT },
  { "sharpen", "Unsharp mask (amount, 0: no change)",
      "params,amount=(float)1.0", FALSE, GST_EFFECT_CONVERTS_NOTHING,
      .runs_on_fields = TRUE },
  { "sobel", "Edges: the length of the luma's gradient", NULL, FALSE,
      GST_EFFECT_CONVERTS_NOTHING, .runs_on_fields = TRUE },
  { "threshold", "White where luma reaches a level (0 to 1), else black",
      "params,level=(float)0.5", TRUE, GST_EFFECT_CONVERTS_NOTHING },
  { NULL }
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

const GstEffectTurn *
gst_effect_get_turn (const GstEffect *effect, const GstStructure *params)
{
  /* In the order of GstVideoOrientationMethod. */
  static const GstEffectTurn turns[] = { { FALSE, FALSE, FALSE },
    { TRUE, FALSE, TRUE }, { FALSE, TRUE, TRUE }, { TRUE, TRUE, FALSE },
    { FALSE, TRUE, FALSE }, { FALSE, FALSE, TRUE }, { TRUE, FALSE, FALSE },
    { TRUE, TRUE, TRUE } };
  gint method = 0;

  if (effect && effect->turns && params)
    gst_structure_get_int (params, "method", &method);
  return method > 0 && method < (gint) G_N_ELEMENTS (turns) ? &turns[method]
                                                            : NULL;
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

static GBytes *
look_up (const GstEffect *effect, const gchar *suffix)
{
  gchar *path = g_strconcat (EFFECTS_PREFIX, effect->name, suffix, NULL);
  GBytes *bytes =
      g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  g_free (path);
  return bytes;
}

gchar *
gst_effect_get_source (const GstEffect *effect)
{
  GBytes *bytes = look_up (effect, ".cu");
  gchar *source =
      g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));

  g_bytes_unref (bytes);
  return source;
}

GBytes *
gst_effect_get_image (const GstEffect *effect)
{
  return look_up (effect, ".ptx");
}

static gboolean
effect_set_param (const GstEffect *effect, GstStructure *params,
    const gchar *field, const GValue *given, GError **error)
{
  GValue value = G_VALUE_INIT;
  GType type;

  if (!gst_structure_has_field (params, field)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The effect %s has no parameter \"%s\"; its parameters: %s",
        effect->name, field, effect->params ? effect->params : "none");
    return FALSE;
  }
  type = gst_structure_get_field_type (params, field);
  g_value_init (&value, type);
  /* Strings are rejected, because GStreamer converts any text that is not a
   * number to 0. */
  if (G_VALUE_HOLDS_STRING (given) || !g_value_transform (given, &value)) {
    g_value_unset (&value);
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The parameter \"%s\" of the effect %s has to be a number: write "
        "%s=(%s)1, for example",
        field, effect->name, field, type == G_TYPE_INT ? "int" : "float");
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
