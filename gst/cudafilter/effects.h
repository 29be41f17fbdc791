/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/effects.h: the kernels that come with cudafilter
 *
 * Knows their names and sources, but neither devices nor elements.
 */

#ifndef __GST_EFFECTS_H__
#define __GST_EFFECTS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The formats that every effect is tested with, on every device, as a list for
 * caps. All other formats of gst_vkgdr_kernel_list_formats () work, too. */
#define GST_EFFECT_FORMATS \
  "RGBA", "BGRA", "RGBx", "BGRx", "xRGB", "RGB", "GRAY8", "NV12", "I420", \
      "YUY2", "AYUV", "Y444", "GRAY16_LE", "P010_10LE", "I420_10LE"

/* The properties of the output that may differ from those of the input. */
typedef enum {
  GST_EFFECT_CONVERTS_NOTHING = 0,
  GST_EFFECT_CONVERTS_FORMAT = 1 << 0,
  GST_EFFECT_CONVERTS_SIZE = 1 << 1,
  GST_EFFECT_CONVERTS_FIELDS = 1
                               << 2 /* interlaced frames to progressive ones */
} GstEffectConverts;

/* How a picture is turned or mirrored: its columns and its rows may be in the
 * reverse order, and the columns may become rows. */
typedef struct {
  gboolean swaps_sides;
  gboolean reverses_x;
  gboolean reverses_y;
} GstEffectTurn;

/* An effect. The kernel's entry is the effect's name. */
typedef struct {
  const gchar *name;
  const gchar *description;
  /* A GstStructure as text, with fields in the order of the kernel's
   * parameters, or NULL if there are no parameters. */
  const gchar *params;
  /* Whether the kernel may run in place, if input and output have the same
   * format and size. */
  gboolean in_place;
  /* How the output's caps may differ from the input's. */
  GstEffectConverts converts;
  /* The size of the tile of pixels for which a thread is launched, the same as
   * in the source's pragma; 0 counts as 1. */
  guint tile_x, tile_y;
  /* Whether the parameter "method" is a GstVideoOrientationMethod. */
  gboolean turns;
  /* Whether the kernel is launched once for each field, the same as in the
   * source's pragma. */
  gboolean runs_on_fields;
} GstEffect;

/* All effects, sorted by name; the last entry has no name. */
const GstEffect *gst_effects_list (void);

const GstEffect *gst_effect_find (const gchar *name); /* NULL: there is none */

/* Returns how the picture is turned or mirrored, or NULL if it is not. @effect
 * and @params may be NULL; @params are complete. */
const GstEffectTurn *gst_effect_get_turn (
    const GstEffect *effect, const GstStructure *params);

/* Returns a list, such as "blur, copy, gain". The caller frees it. */
gchar *gst_effects_get_names (void);

/* Returns the CUDA source. The caller frees it. */
gchar *gst_effect_get_source (const GstEffect *effect);

/* Returns PTX, or NULL if none is in the plugin. The caller unrefs it. */
GBytes *gst_effect_get_image (const GstEffect *effect);

/* Returns all parameters of the effect, in their order and with their types:
 * those in @given (nullable), by name, or defaults. The caller frees the
 * result. Returns NULL without an error if the effect has none, and NULL with
 * @error set (GST_VKGDR_ERROR_ARGUMENT) if @given has others, or other types.
 */
GstStructure *gst_effect_complete_params (
    const GstEffect *effect, const GstStructure *given, GError **error);

G_END_DECLS

#endif /* __GST_EFFECTS_H__ */
