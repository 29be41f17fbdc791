/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/compiler.h: CUDA C in, an image for the device out
 *
 * Knows nothing of modules, entries and parameters.
 */

#ifndef __GST_VKGDR_COMPILER_H__
#define __GST_VKGDR_COMPILER_H__

#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

/* Compiles @source, called @name in messages, for the device of @context, or
 * takes what an earlier run made of it. Headers that it includes are sought in
 * @folder (nullable). With @ptx, the image is PTX text even where the compiler
 * could make a cubin. Returns NULL with @error set. */
GBytes *gst_vkgdr_compile (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *folder, gboolean ptx, GError **error);

/* What is compiled for. */
typedef struct {
  gboolean software;
  gint driver_version; /* cuDriverGetVersion()'s */
  gint capability;     /* the device's compute capability, 90 for 9.0 */
} GstVkgdrCompilerTarget;

/* As gst_vkgdr_compile(), for a device that need not be there. */
GBytes *gst_vkgdr_compiler_run (const GstVkgdrCompilerTarget *target,
    const gchar *source, const gchar *name, const gchar *folder, gboolean ptx,
    GError **error);

/* As gst_vkgdr_kernel_describe_compiler(). */
gchar *gst_vkgdr_compiler_describe (
    const GstVkgdrCompilerTarget *target, GError **error);

/* The device's compute capability, 90 for 9.0; needs @context to be pushed. */
gint gst_vkgdr_compiler_get_capability (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_COMPILER_H__ */
