/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/program.h: nvcc and clang, as functions
 *
 * Knows nothing of devices, caches and kernels.
 */

#ifndef __GST_VKGDR_PROGRAM_H__
#define __GST_VKGDR_PROGRAM_H__

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum {
  GST_VKGDR_PROGRAM_NVCC,
  GST_VKGDR_PROGRAM_CLANG
} GstVkgdrProgramKind;

/* A compiler on disk; that it works is only known once it was tried. */
typedef struct {
  GstVkgdrProgramKind kind;
  gchar *path;
} GstVkgdrProgram;

/* What is to be compiled. Nothing of it is kept. */
typedef struct {
  const gchar *text;   /* includes vkgdr/kernel.h by itself */
  const gchar *name;   /* what messages call it */
  const gchar *header; /* the text of vkgdr/kernel.h */
  const gchar *folder; /* where it seeks what it includes, or NULL */
  gint capability;     /* of the device, 90 for 9.0 */
  gboolean ptx;        /* PTX text even where it can make a cubin */
} GstVkgdrProgramInput;

/* Those that are installed, the one to try first in front: all nvcc, or clang
 * of every version. Nothing is run. Elements are freed with the array. */
GPtrArray *gst_vkgdr_program_list (GstVkgdrProgramKind kind);

/* The one at @path, or of that name; NULL with @error set where it is not there
 * or its name tells neither nvcc nor clang. */
GstVkgdrProgram *gst_vkgdr_program_new (const gchar *path, GError **error);
void gst_vkgdr_program_free (GstVkgdrProgram *program);

/* What a person calls it: "nvcc 12.4 (/usr/local/cuda/bin/nvcc)". Runs it. */
gchar *gst_vkgdr_program_describe (const GstVkgdrProgram *program);

/* What distinguishes this compiler, with the options it is given, from any
 * other, for a cache's key. Does not run it. */
gchar *gst_vkgdr_program_identify (const GstVkgdrProgram *program);

/* Whether it makes anything of an empty source for a device of @capability;
 * else @error is GST_VKGDR_ERROR_NO_DRIVER and tells why not. */
gboolean gst_vkgdr_program_check (
    const GstVkgdrProgram *program, gint capability, GError **error);

/* Returns a cubin, or PTX with its terminating zero. Else NULL, with @error of
 * GST_VKGDR_ERROR_COMPILE, which holds the compiler's messages, where it is the
 * source that does not compile, and of GST_VKGDR_ERROR_NO_DRIVER where the
 * compiler makes nothing of any. @log, nullable, becomes what it said beside.
 * Thread-safe. */
GBytes *gst_vkgdr_program_compile (const GstVkgdrProgram *program,
    const GstVkgdrProgramInput *input, gchar **log, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROGRAM_H__ */
