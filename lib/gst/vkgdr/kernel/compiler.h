/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/compiler.h: compiles CUDA C to an image for the device
 *
 * Knows nothing of modules, entries and parameters.
 */

#ifndef __GST_VKGDR_COMPILER_H__
#define __GST_VKGDR_COMPILER_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>
#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

/* The largest size of a source in bytes. */
#define GST_VKGDR_COMPILER_MAX_SOURCE (8 * 1024 * 1024)

/* A source to compile. Must be valid during the call only. */
typedef struct {
  const gchar *text;
  const gchar *name;                     /* its name in messages */
  const gchar *folder;                   /* the folder of the source, or NULL */
  const GstVkgdrCompileOptions *options; /* the user's, or NULL */
  gboolean ptx; /* make PTX text even if the compiler can make a cubin */
} GstVkgdrCompilerInput;

/* Compiles @input for the device of @context, or gets the image from the cache.
 * Returns NULL with @error set. */
GBytes *gst_vkgdr_compile (GstVkgdrContext *context,
    const GstVkgdrCompilerInput *input, GError **error);

/* The device for which a source is compiled. */
typedef struct {
  gboolean software;
  gint driver_version; /* the result of cuDriverGetVersion () */
  gint capability;     /* the device's compute capability, 90 for 9.0 */
} GstVkgdrCompilerTarget;

/* The same as gst_vkgdr_compile (), for a device that is described by @target
 * and does not have to exist. */
GBytes *gst_vkgdr_compiler_run (const GstVkgdrCompilerTarget *target,
    const GstVkgdrCompilerInput *input, GError **error);

/* Returns the paths of the files that @input includes, directly or indirectly,
 * except those of a CUDA toolkit. The caller frees them with g_strfreev ().
 * Returns NULL with @error set if a file must not be read. */
gchar **gst_vkgdr_compiler_list_includes (
    const GstVkgdrCompilerInput *input, GError **error);

/* As gst_vkgdr_kernel_describe_compiler(). */
gchar *gst_vkgdr_compiler_describe (
    const GstVkgdrCompilerTarget *target, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_COMPILER_H__ */
