/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/program.h: clang, as a function
 *
 * Knows nothing of devices, caches and kernels.
 */

#ifndef __GST_VKGDR_PROGRAM_H__
#define __GST_VKGDR_PROGRAM_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>

G_BEGIN_DECLS

/* A compiler on disk; that it works is only known once it was tried. */
typedef struct {
  gchar *path;
} GstVkgdrProgram;

/* What is to be compiled. Nothing of it is kept. */
typedef struct {
  const gchar *text;           /* includes vkgdr/kernel.h by itself */
  const gchar *name;           /* what messages call it */
  const gchar *header;         /* the text of vkgdr/kernel.h */
  const gchar *const *folders; /* where headers are searched; ends with NULL */
  const GstVkgdrCompileOptions *options; /* the user's, or NULL */
  gint capability;                       /* of the device, 90 for 9.0 */
} GstVkgdrProgramInput;

/* Those that are installed, of every version; the one to try first is the
 * first. Nothing is run. Elements are freed with the array. */
GPtrArray *gst_vkgdr_program_list (void);

/* The one at @path, or of that name; NULL with @error set where it is not there
 * or is not clang by its name. */
GstVkgdrProgram *gst_vkgdr_program_new (const gchar *path, GError **error);
void gst_vkgdr_program_free (GstVkgdrProgram *program);

/* What a person calls it: "clang 19.1 (/usr/bin/clang-19)". Runs it. */
gchar *gst_vkgdr_program_describe (const GstVkgdrProgram *program);

/* What distinguishes this compiler, with the options it is given, from any
 * other, for a cache's key. Does not run it. */
gchar *gst_vkgdr_program_identify (const GstVkgdrProgram *program);

/* Whether it makes anything of an empty source for a device of @capability;
 * else @error is GST_VKGDR_ERROR_NO_DRIVER and tells why not. */
gboolean gst_vkgdr_program_check (
    const GstVkgdrProgram *program, gint capability, GError **error);

/* Returns PTX with its terminating zero. Else NULL, with @error of
 * GST_VKGDR_ERROR_COMPILE, which holds the compiler's messages, where it is the
 * source that does not compile, and of GST_VKGDR_ERROR_NO_DRIVER where the
 * compiler makes nothing of any. @log, nullable, becomes what it said beside.
 * Thread-safe. */
GBytes *gst_vkgdr_program_compile (const GstVkgdrProgram *program,
    const GstVkgdrProgramInput *input, gchar **log, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROGRAM_H__ */
