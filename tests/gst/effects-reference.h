/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.h: computes on the CPU the results that the effects of
 * cudafilter must have
 */

#ifndef __EFFECTS_REFERENCE_H__
#define __EFFECTS_REFERENCE_H__

#include "picture.h"

G_BEGIN_DECLS

typedef struct {
  const gchar *name;
  /* By how much a sample may differ: 0 for effects that compute in integers or
   * specify each rounding, 1 for effects that compute in float. */
  gint tolerance;
} EffectReference;

/* Returns the reference of the effect @name. Aborts if there is none. */
const EffectReference *effect_reference_find (const gchar *name);

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

G_END_DECLS

#endif /* __EFFECTS_REFERENCE_H__ */
