/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/options.h: a user's options for the compilation of a source
 *
 * Knows no sources, and runs no compiler.
 */

#ifndef __GST_VKGDR_OPTIONS_H__
#define __GST_VKGDR_OPTIONS_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>

G_BEGIN_DECLS

/* Adds the options for NVRTC, but not the folders, to @words. Options that
 * NVRTC does not need are left out. @self may be NULL, also for the next
 * functions. */
void gst_vkgdr_options_append (
    const GstVkgdrCompileOptions *self, GPtrArray *words);

/* Adds the folders to @folders. */
void gst_vkgdr_options_append_folders (
    const GstVkgdrCompileOptions *self, GPtrArray *folders);

/* The lines of #include that have to be in front of a source. */
const gchar *gst_vkgdr_options_get_includes (
    const GstVkgdrCompileOptions *self);

/* Whether an option sets the version of C++. */
gboolean gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self);

G_END_DECLS

#endif /* __GST_VKGDR_OPTIONS_H__ */
