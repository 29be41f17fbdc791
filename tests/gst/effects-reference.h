/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.h: what the effects of cudafilter have to give, by the CPU
 *
 * Follows their descriptions, not their sources.
 */

#ifndef __EFFECTS_REFERENCE_H__
#define __EFFECTS_REFERENCE_H__

#include <gst/video/video.h>

#include "picture.h"

G_BEGIN_DECLS

/* An effect's reference. */
typedef struct {
  const gchar *name;
  /* Fills @out; where it has the format and the size of @in, it is a copy of
   * that to begin with. */
  void (*apply) (const Picture *in, Picture *out, const GstStructure *params);
  /* By how much a sample may differ: 0 for effects that compute in integers or
   * say each rounding, 1 for those that compute in float. */
  gint tolerance;
} EffectReference;

/* Those that look at a pixel, and those that look around it or elsewhere; each
 * ends with an entry whose name is NULL. */
extern const EffectReference effect_references_colour[];
extern const EffectReference effect_references_shape[];

/* The reference of that name; fails where there is none. */
const EffectReference *effect_reference_find (const gchar *name);

/* The field @name of an effect's parameters, @otherwise where @params is NULL
 * or has none. */
gdouble effect_reference_param (
    const GstStructure *params, const gchar *name, gdouble otherwise);

/* Applies the effect @name to a frame of the default layout of @in_info, and
 * puts the result into one of @out_info. Data have GST_VIDEO_INFO_SIZE bytes;
 * bytes of @out_data that belong to no sample are left as they are. @params as
 * in the effect's table, or NULL. */
void effect_reference_convert (const gchar *name, const GstVideoInfo *in_info,
    const guint8 *in_data, const GstVideoInfo *out_info, guint8 *out_data,
    const GstStructure *params);

/* The same, where @info is that of both. */
void effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params);

/* The number of samples in which two frames of the default layout differ, the
 * padding of RGBx counted, that of rows and planes not. */
guint effect_reference_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b);

G_END_DECLS

#endif /* __EFFECTS_REFERENCE_H__ */
