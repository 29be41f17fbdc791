/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.h: a CUDA source, and the text that a compiler is given for it
 *
 * Looks at text alone; knows no compiler.
 */

#ifndef __GST_VKGDR_SOURCE_H__
#define __GST_VKGDR_SOURCE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The name by which the text includes the header of all kernels. */
#define GST_VKGDR_SOURCE_HEADER "vkgdr/kernel.h"

/* Whether @source includes anything itself. */
gboolean gst_vkgdr_source_has_includes (const gchar *source);

/* Whether it says that its kernels may write to the buffer they read: #pragma
 * vkgdr in-place. */
gboolean gst_vkgdr_source_says_in_place (const gchar *source);

/* Pixels that a thread sees to, as #pragma vkgdr tile has it; 1 and 1 without.
 */
void gst_vkgdr_source_get_tile (const gchar *source, guint *x, guint *y);

/* What a compiler reads. Line numbers in its messages are those of @source,
 * which it calls @name. */
gchar *gst_vkgdr_source_make_text (const gchar *source, const gchar *name);

G_END_DECLS

#endif /* __GST_VKGDR_SOURCE_H__ */
