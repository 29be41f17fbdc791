/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/program.h: compiles with clang
 *
 * Knows nothing of devices, caches and kernels.
 */

#ifndef __GST_VKGDR_PROGRAM_H__
#define __GST_VKGDR_PROGRAM_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>

G_BEGIN_DECLS

/* A compiler on disk. It may turn out not to work. */
typedef struct {
  gchar *path;
} GstVkgdrProgram;

/* A source to compile. Must be valid during the call only. */
typedef struct {
  const gchar *text;           /* includes vkgdr/kernel.h by itself */
  const gchar *name;           /* its name in messages */
  const gchar *header;         /* the text of vkgdr/kernel.h */
  const gchar *const *folders; /* folders of headers, NULL-terminated */
  const GstVkgdrCompileOptions *options; /* the user's, or NULL */
  gint capability;                       /* of the device, 90 for 9.0 */
} GstVkgdrProgramInput;

/* Returns the installed compilers of all versions, in the order in which they
 * should be tried. Runs nothing. The array frees its elements. */
GPtrArray *gst_vkgdr_program_list (void);

/* Returns the compiler with this path or name, or NULL with @error set if it
 * does not exist, or its name is not that of clang. */
GstVkgdrProgram *gst_vkgdr_program_new (const gchar *path, GError **error);
void gst_vkgdr_program_free (GstVkgdrProgram *program);

/* Returns a description for users, such as "clang 19.1 (/usr/bin/clang-19)".
 * Runs the compiler. */
gchar *gst_vkgdr_program_describe (const GstVkgdrProgram *program);

/* Returns a string for the key of the cache. It differs for each compiler, and
 * changes with the options that the compiler always gets. Does not run the
 * compiler. */
gchar *gst_vkgdr_program_identify (const GstVkgdrProgram *program);

/* Returns whether it can compile an empty source for a device of @capability.
 * If not, sets @error to GST_VKGDR_ERROR_NO_DRIVER with the reason. */
gboolean gst_vkgdr_program_check (
    const GstVkgdrProgram *program, gint capability, GError **error);

/* Returns PTX with its terminating zero, or NULL with @error set: to
 * GST_VKGDR_ERROR_COMPILE with the compiler's messages if the source has
 * errors, or to GST_VKGDR_ERROR_NO_DRIVER if the compiler does not work at all.
 * Sets @log (nullable) to the compiler's messages. Thread-safe. */
GBytes *gst_vkgdr_program_compile (const GstVkgdrProgram *program,
    const GstVkgdrProgramInput *input, gchar **log, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROGRAM_H__ */
