/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/includes.h: the files that a source includes, directly or indirectly
 *
 * Knows no compiler.
 */

#ifndef __GST_VKGDR_INCLUDES_H__
#define __GST_VKGDR_INCLUDES_H__

#include "kernel/source.h"

G_BEGIN_DECLS

typedef struct {
  GPtrArray *paths;    /* of gchar *, in the order in which they were found */
  GString *digest;     /* changes if the content of a file changes, or if a name
                        * refers to another file */
  gboolean is_unknown; /* a name or file is unknown without a compiler */
} GstVkgdrIncludes;

/* Finds the files by the rules of C: "name" is searched in the folder of the
 * file that includes it, which is @folder (nullable) for @source; then both
 * "name" and <name> are searched in @folders, which is NULL-terminated. If
 * several folders have such a file, all of them are found. Conditions are
 * not evaluated, so the files of all branches are found. Returns NULL with
 * @error set to GST_VKGDR_ERROR_NOT_FOUND if a name refers to something that a
 * compiler must not read, such as a FIFO. Thread-safe. */
GstVkgdrIncludes *gst_vkgdr_includes_find (const GstVkgdrSource *source,
    const gchar *folder, const gchar *const *folders, GError **error);

void gst_vkgdr_includes_free (GstVkgdrIncludes *includes);

G_END_DECLS

#endif /* __GST_VKGDR_INCLUDES_H__ */
