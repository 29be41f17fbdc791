/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/includes.h: the files that a source includes, directly or not
 *
 * Knows no compiler.
 */

#ifndef __GST_VKGDR_INCLUDES_H__
#define __GST_VKGDR_INCLUDES_H__

#include "kernel/source.h"

G_BEGIN_DECLS

typedef struct {
  GPtrArray *paths;    /* of gchar *, in the order in which they were found */
  GString *digest;     /* changes whenever the content of a file does, and
                        * whenever a name leads to another file */
  gboolean is_missing; /* some name leads to no file */
  gboolean
      is_unknown; /* some name or file cannot be known without a compiler */
} GstVkgdrIncludes;

/* Finds the files by the rules of C: "name" beside the file that includes it,
 * which for @source is @folder (nullable), and both "name" and <name> in
 * @folders, which ends with NULL. Where several folders have the name, all of
 * these files count. Conditions are not evaluated: what any branch includes,
 * counts. Returns NULL with @error set to GST_VKGDR_ERROR_NOT_FOUND where a
 * name leads to what a compiler must not read, such as a FIFO. Thread-safe. */
GstVkgdrIncludes *gst_vkgdr_includes_find (const GstVkgdrSource *source,
    const gchar *folder, const gchar *const *folders, GError **error);

void gst_vkgdr_includes_free (GstVkgdrIncludes *includes);

G_END_DECLS

#endif /* __GST_VKGDR_INCLUDES_H__ */
