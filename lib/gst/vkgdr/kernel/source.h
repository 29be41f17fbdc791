/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.h: makes the text that a compiler gets from a CUDA source
 *
 * Reads text only; knows no compiler and no files.
 */

#ifndef __GST_VKGDR_SOURCE_H__
#define __GST_VKGDR_SOURCE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The name with which the text includes the header of all kernels. */
#define GST_VKGDR_SOURCE_HEADER "vkgdr/kernel.h"

/* A file that a source includes, or whose existence it checks. */
typedef struct {
  gchar *name;
  gboolean is_quoted; /* "name" and not <name> */
} GstVkgdrSourceInclude;

/* The properties of a source, found outside of its comments and strings. */
typedef struct {
  GPtrArray *includes;           /* of GstVkgdrSourceInclude */
  gboolean has_computed_include; /* a macro names the file */
  gboolean has_template;
  gboolean has_extern_c;
  gboolean no_extern_c; /* #pragma vkgdr no-extern-c */
  gboolean is_in_place; /* #pragma vkgdr in-place: the kernels may write to the
                         * buffer that they read */
  gboolean runs_on_fields; /* #pragma vkgdr fields: a launch for each field */
  guint tile_x,
      tile_y;  /* #pragma vkgdr tile: pixels of a thread; default: 1 and 1 */
  gchar *text; /* the source without #pragma vkgdr */
} GstVkgdrSource;

/* The time is proportional to the length of @text, for any content. */
GstVkgdrSource *gst_vkgdr_source_scan (const gchar *text);
void gst_vkgdr_source_free (GstVkgdrSource *source);

/* Whether the source depends on other files. */
gboolean gst_vkgdr_source_has_includes (const GstVkgdrSource *source);

/* Returns the text for the compiler, which the caller frees. The compiler's
 * messages have the line numbers of the source, and the file name @name. */
gchar *gst_vkgdr_source_make_text (
    const GstVkgdrSource *source, const gchar *name);

G_END_DECLS

#endif /* __GST_VKGDR_SOURCE_H__ */
