/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/effects.h: the kernels that come with cudafilter
 *
 * Knows their names and sources; neither devices nor elements.
 */

#ifndef __GST_EFFECTS_H__
#define __GST_EFFECTS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The formats that every effect is tested with, on every device, as a list for
 * caps. All others of gst_vkgdr_kernel_list_formats() work as well. */
#define GST_EFFECT_FORMATS \
  "{ RGBA, BGRA, RGBx, BGRx, xRGB, RGB, GRAY8, NV12, I420, YUY2, AYUV, Y444, " \
  "GRAY16_LE, P010_10LE, I420_10LE }"

/* What an effect's output may have that its input has not. */
typedef enum {
  GST_EFFECT_CONVERTS_NOTHING = 0,
  GST_EFFECT_CONVERTS_FORMAT = 1 << 0,
  GST_EFFECT_CONVERTS_SIZE = 1 << 1
} GstEffectConverts;

/* An effect. The kernel's entry is the effect's name. */
typedef struct {
  const gchar *name;
  const gchar *description;
  /* A GstStructure in text, its fields in the order of the kernel's parameters,
   * or NULL where it has none. */
  const gchar *params;
  /* Whether the output may be the input, where both are of the same format and
   * size. */
  gboolean in_place;
  /* What else than the input's the output's caps may be. */
  GstEffectConverts converts;
  /* Changes the size of an input, in pixels, to the size that the output has
   * where nobody asks for another. @params are complete. NULL where it is the
   * input's. */
  void (*get_size) (const GstStructure *params, gint *width, gint *height);
  /* Pixels that a thread sees to, as the source's pragma says; 0 for 1. */
  guint tile_x, tile_y;
} GstEffect;

/* All of them, by name; ends with an entry whose name is NULL. */
const GstEffect *gst_effects_list (void);

/* NULL where there is none of that name. */
const GstEffect *gst_effect_find (const gchar *name);

/* "blur, copy, gain", for messages; the caller frees it. */
gchar *gst_effects_get_names (void);

/* The CUDA source; the caller frees it. */
gchar *gst_effect_get_source (const GstEffect *effect);

/* The effect as PTX, or NULL where it was not compiled with the plugin. The
 * caller unrefs it. */
GBytes *gst_effect_get_image (const GstEffect *effect);

/* The effect's parameters in their order and of their types: those of @given
 * (nullable), found by name, and the defaults of what it leaves out. The caller
 * frees it. NULL without an error where the effect has no parameters; NULL with
 * @error (GST_VKGDR_ERROR_ARGUMENT) where @given has one that the effect does
 * not, or of a type that cannot be converted. */
GstStructure *gst_effect_complete_params (
    const GstEffect *effect, const GstStructure *given, GError **error);

G_END_DECLS

#endif /* __GST_EFFECTS_H__ */
