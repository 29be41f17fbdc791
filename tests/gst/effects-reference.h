/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * effects-reference.h: computes on the CPU the results that the effects of
 * cudafilter must have
 */

#ifndef __EFFECTS_REFERENCE_H__
#define __EFFECTS_REFERENCE_H__

#include "picture.h"

G_BEGIN_DECLS

/* Applies the effect @name to @in, and writes the result to @out, which is
 * initialised. @params has the fields of the effect's table. Returns by how
 * much a sample may differ from the reference. */
gint effect_reference (const gchar *name, const Picture *in, Picture *out,
    const GstStructure *params);

G_END_DECLS

#endif /* __EFFECTS_REFERENCE_H__ */
