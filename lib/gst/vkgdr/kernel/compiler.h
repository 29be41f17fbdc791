/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/compiler.h: CUDA C in, an image for the device out
 *
 * Knows nothing of modules, entries and parameters.
 */

#ifndef __GST_VKGDR_COMPILER_H__
#define __GST_VKGDR_COMPILER_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>
#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

/* Bytes of a source; a longer one is refused. */
#define GST_VKGDR_COMPILER_MAX_SOURCE (8 * 1024 * 1024)

/* What is to be compiled. Nothing of it is kept. */
typedef struct {
  const gchar *text;
  const gchar *name;   /* what messages call it */
  const gchar *folder; /* where the headers lie that it includes, or NULL */
  const GstVkgdrCompileOptions *options; /* the user's, or NULL */
  gboolean ptx; /* PTX text even where the compiler could make a cubin */
} GstVkgdrCompilerInput;

/* Compiles @input for the device of @context, or takes what an earlier run made
 * of it. Returns NULL with @error set. */
GBytes *gst_vkgdr_compile (GstVkgdrContext *context,
    const GstVkgdrCompilerInput *input, GError **error);

/* What is compiled for. */
typedef struct {
  gboolean software;
  gint driver_version; /* cuDriverGetVersion()'s */
  gint capability;     /* the device's compute capability, 90 for 9.0 */
} GstVkgdrCompilerTarget;

/* As gst_vkgdr_compile(), for a device that need not be there. */
GBytes *gst_vkgdr_compiler_run (const GstVkgdrCompilerTarget *target,
    const GstVkgdrCompilerInput *input, GError **error);

/* The files that @input includes, directly or not, but for those of a CUDA
 * toolkit: paths, with NULL at their end, which the caller frees with
 * g_strfreev(). Returns NULL with @error set where one must not be read. */
gchar **gst_vkgdr_compiler_list_includes (
    const GstVkgdrCompilerInput *input, GError **error);

/* As gst_vkgdr_kernel_describe_compiler(). */
gchar *gst_vkgdr_compiler_describe (
    const GstVkgdrCompilerTarget *target, GError **error);

/* The device's compute capability, 90 for 9.0; needs @context to be pushed. */
gint gst_vkgdr_compiler_get_capability (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_COMPILER_H__ */
