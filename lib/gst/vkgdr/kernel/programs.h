/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/programs.h: what the files of clang share
 */

#ifndef __GST_VKGDR_PROGRAM_PRIVATE_H__
#define __GST_VKGDR_PROGRAM_PRIVATE_H__

#include "kernel/program.h"

G_BEGIN_DECLS

/* Names in the folder of a compilation. */
#define GST_VKGDR_PROGRAM_SOURCE "source.cu"
#define GST_VKGDR_PROGRAM_IMAGE "image"
#define GST_VKGDR_PROGRAM_HEADERS "vkgdr"
#define GST_VKGDR_PROGRAM_OWN_HEADER "vkgdr/clang.h"
#define GST_VKGDR_PROGRAM_VECTORS_HEADER "vkgdr/cuda-vectors.h"

GstDebugCategory *gst_vkgdr_program_get_category (void);

/* What it prints when asked @question, with @more (nullable) behind it; ""
 * where it does not answer. */
gchar *gst_vkgdr_program_ask (
    const GstVkgdrProgram *program, const gchar *question, const gchar *more);

/* The text, with a zero byte behind it, of one of these headers of ours, which
 * stand in for a toolkit. */
GBytes *gst_vkgdr_program_get_header (const gchar *name, GError **error);

/* The command line that compiles what lies in @folder, with NULL at its end.
 * NULL with @error set where it has no architecture for the device. */
GPtrArray *gst_vkgdr_program_make_argv (const GstVkgdrProgram *program,
    const GstVkgdrProgramInput *input, const gchar *folder, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROGRAM_PRIVATE_H__ */
