/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.h: computes on the CPU the results that the effects of
 * cudafilter must have
 *
 * The references follow the descriptions of the effects, not their sources.
 */

#ifndef __EFFECTS_REFERENCE_H__
#define __EFFECTS_REFERENCE_H__

#include <gst/video/video.h>

#include "picture.h"

G_BEGIN_DECLS

/* The reference of an effect. */
typedef struct {
  const gchar *name;
  /* Fills @out. If @out has the format and the size of @in, it is a copy of @in
   * at first. */
  void (*apply) (const Picture *in, Picture *out, const GstStructure *params);
  /* By how much a sample may differ: 0 for effects that compute in integers or
   * specify each rounding, 1 for effects that compute in float. */
  gint tolerance;
} EffectReference;

/* The references of the effects that use one pixel at a time, and those of the
 * other effects. Each table ends with an entry whose name is NULL. */
extern const EffectReference effect_references_colour[];
extern const EffectReference effect_references_shape[];

/* Returns the reference of the effect @name. Fails the test if there is
 * none. */
const EffectReference *effect_reference_find (const gchar *name);

/* Returns the field @name of an effect's parameters, or @otherwise if @params
 * is NULL or lacks the field. */
gdouble effect_reference_param (
    const GstStructure *params, const gchar *name, gdouble otherwise);

/* Applies the effect @name to a frame of the default layout of @in_info, and
 * writes the result to a frame of @out_info. Both have GST_VIDEO_INFO_SIZE
 * bytes. Bytes of @out_data that belong to no sample are not changed. @params
 * has the fields of the effect's table, or is NULL. */
void effect_reference_convert (const gchar *name, const GstVideoInfo *in_info,
    const guint8 *in_data, const GstVideoInfo *out_info, guint8 *out_data,
    const GstStructure *params);

/* Likewise, with the same @info for the input and the output. */
void effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params);

/* Returns the number of samples in which two frames of the default layout
 * differ. The padding sample of RGBx is compared, padding of rows and planes is
 * not. */
guint effect_reference_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b);

G_END_DECLS

#endif /* __EFFECTS_REFERENCE_H__ */
