/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.h: what the effects of cudafilter have to give, by the CPU
 *
 * Follows their descriptions, not their sources.
 */

#ifndef __EFFECTS_REFERENCE_H__
#define __EFFECTS_REFERENCE_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Applies the effect @name to a frame of the default layout of @info. Both data
 * have GST_VIDEO_INFO_SIZE bytes; bytes of @out_data that belong to no sample
 * are left as they are. @params as in the effect's table, or NULL. */
void effect_reference (const gchar *name, const GstVideoInfo *info,
    const guint8 *in_data, guint8 *out_data, const GstStructure *params);

/* The number of bytes of samples in which two frames of the default layout
 * differ, the padding of RGBx counted, that of rows and planes not. */
guint effect_reference_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b);

G_END_DECLS

#endif /* __EFFECTS_REFERENCE_H__ */
