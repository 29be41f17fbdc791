/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/options.h: a user's options, translated for each compiler
 *
 * Knows no sources, and runs no compiler.
 */

#ifndef __GST_VKGDR_OPTIONS_H__
#define __GST_VKGDR_OPTIONS_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>

G_BEGIN_DECLS

/* The compiler that gets the options. The compiler of the software device has
 * the options of NVRTC. */
typedef enum {
  GST_VKGDR_OPTIONS_NVRTC,
  GST_VKGDR_OPTIONS_CLANG
} GstVkgdrOptionsDialect;

/* Adds the options, but not the folders, to @words. Options that the compiler
 * does not support are left out. @self may be NULL, also for the next
 * functions. */
void gst_vkgdr_options_append (const GstVkgdrCompileOptions *self,
    GstVkgdrOptionsDialect dialect, GPtrArray *words);

/* Adds the folders to @folders. */
void gst_vkgdr_options_append_folders (
    const GstVkgdrCompileOptions *self, GPtrArray *folders);

/* Whether an option sets the version of C++. */
gboolean gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self);

G_END_DECLS

#endif /* __GST_VKGDR_OPTIONS_H__ */
