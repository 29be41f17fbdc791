/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcompileoptions.h: macros, folders of headers and options for a source
 *
 * Knows nothing of modules and kernels.
 */

#ifndef __GST_VKGDR_COMPILE_OPTIONS_H__
#define __GST_VKGDR_COMPILE_OPTIONS_H__

#include <gst/vkgdr/vkgdr-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_COMPILE_OPTIONS (gst_vkgdr_compile_options_get_type ())

/**
 * GstVkgdrCompileOptions:
 *
 * Options for compiling a source. Immutable.
 *
 * Since: 0.2
 */
typedef struct _GstVkgdrCompileOptions GstVkgdrCompileOptions;

GST_VKGDR_API
GType gst_vkgdr_compile_options_get_type (void);

GST_VKGDR_API
GstVkgdrCompileOptions *gst_vkgdr_compile_options_new (
    const gchar *const *options, const gchar *const *include_dirs,
    GError **error);

GST_VKGDR_API
GstVkgdrCompileOptions *gst_vkgdr_compile_options_new_from_string (
    const gchar *text, GError **error);

GST_VKGDR_API
void gst_vkgdr_compile_options_unref (GstVkgdrCompileOptions *options);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (
    GstVkgdrCompileOptions, gst_vkgdr_compile_options_unref)

G_END_DECLS

#endif /* __GST_VKGDR_COMPILE_OPTIONS_H__ */
