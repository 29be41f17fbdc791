/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/options.h: a user's options, in the words of each compiler
 *
 * Knows no sources and runs nothing.
 */

#ifndef __GST_VKGDR_OPTIONS_H__
#define __GST_VKGDR_OPTIONS_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>

G_BEGIN_DECLS

/* Whose words are wanted; the software device's compiler has NVRTC's. */
typedef enum {
  GST_VKGDR_OPTIONS_NVRTC,
  GST_VKGDR_OPTIONS_CLANG
} GstVkgdrOptionsDialect;

/* Adds the options, but not the folders, to @words. Those that mean nothing to
 * a compiler are left out. @self may be NULL, here and below. */
void gst_vkgdr_options_append (const GstVkgdrCompileOptions *self,
    GstVkgdrOptionsDialect dialect, GPtrArray *words);

/* Adds the folders to @folders. */
void gst_vkgdr_options_append_folders (
    const GstVkgdrCompileOptions *self, GPtrArray *folders);

/* Whether an option chooses the version of C++. */
gboolean gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self);

G_END_DECLS

#endif /* __GST_VKGDR_OPTIONS_H__ */
