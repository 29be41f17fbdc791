/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.h: a CUDA source, and the text that a compiler is given for it
 *
 * Looks at text alone; knows no compiler and no files.
 */

#ifndef __GST_VKGDR_SOURCE_H__
#define __GST_VKGDR_SOURCE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The name by which the text includes the header of all kernels. */
#define GST_VKGDR_SOURCE_HEADER "vkgdr/kernel.h"

/* A file that a source includes, or whose existence it asks for. */
typedef struct {
  gchar *name;
  gboolean is_quoted; /* "name" and not <name> */
} GstVkgdrSourceInclude;

/* What a source says of itself, outside of its comments and strings. */
typedef struct {
  GPtrArray *includes;           /* of GstVkgdrSourceInclude */
  gboolean has_computed_include; /* a macro names the file */
  gboolean has_template;
  gboolean has_extern_c;
  gboolean no_extern_c; /* #pragma vkgdr no-extern-c */
  gboolean is_in_place; /* #pragma vkgdr in-place: the kernels may write to the
                         * buffer that they read */
  guint tile_x, tile_y; /* #pragma vkgdr tile: pixels of a thread, 1 and 1
                         * without */
} GstVkgdrSource;

/* Takes time in proportion to the length of @text, whatever is in it. */
GstVkgdrSource *gst_vkgdr_source_scan (const gchar *text);
void gst_vkgdr_source_free (GstVkgdrSource *source);

/* Whether the source depends on other files than itself. */
gboolean gst_vkgdr_source_has_includes (const GstVkgdrSource *source);

/* What a compiler reads; the caller frees it. Line numbers in its messages are
 * those of @text, which it calls @name. @source is what was scanned of @text.
 */
gchar *gst_vkgdr_source_make_text (
    const GstVkgdrSource *source, const gchar *text, const gchar *name);

G_END_DECLS

#endif /* __GST_VKGDR_SOURCE_H__ */
