/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/programs.h: shared by the files that use clang
 */

#ifndef __GST_VKGDR_PROGRAM_PRIVATE_H__
#define __GST_VKGDR_PROGRAM_PRIVATE_H__

#include "kernel/program.h"

G_BEGIN_DECLS

/* Names of files in the folder of a compilation. */
#define GST_VKGDR_PROGRAM_SOURCE "source.cu"
#define GST_VKGDR_PROGRAM_IMAGE "image"
#define GST_VKGDR_PROGRAM_HEADERS "vkgdr"
#define GST_VKGDR_PROGRAM_OWN_HEADER "vkgdr/clang.h"
#define GST_VKGDR_PROGRAM_VECTORS_HEADER "vkgdr/cuda-vectors.h"

GstDebugCategory *gst_vkgdr_program_get_category (void);

/* The environment variables that clang does not get, NULL-terminated: folders
 * in which it would search headers. The search for included files does not know
 * them, so a change of such a header would not be noticed. */
extern const gchar *const gst_vkgdr_program_removed_variables[];

/* Returns the output of the compiler for the option @question and @more
 * (nullable), or "" if it fails. */
gchar *gst_vkgdr_program_get_output (
    const GstVkgdrProgram *program, const gchar *question, const gchar *more);

/* Returns the text, with a terminating zero, of one of the headers that replace
 * a toolkit. */
GBytes *gst_vkgdr_program_get_header (const gchar *name, GError **error);

/* Returns the command line that compiles the source in @folder,
 * NULL-terminated, or NULL with @error set if clang has no architecture for the
 * device. */
GPtrArray *gst_vkgdr_program_make_argv (const GstVkgdrProgram *program,
    const GstVkgdrProgramInput *input, const gchar *folder, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROGRAM_PRIVATE_H__ */
