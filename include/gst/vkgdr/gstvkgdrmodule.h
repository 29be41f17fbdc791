/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmodule.h: CUDA code of any kind, and its functions
 *
 * For kernels with any parameters. Kernels that work on frames are a
 * GstVkgdrKernel. Knows nothing of frames, nor of the order of work.
 */

#ifndef __GST_VKGDR_MODULE_H__
#define __GST_VKGDR_MODULE_H__

#include <gst/vkgdr/gstvkgdrcompileoptions.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_MODULE (gst_vkgdr_module_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrModule, gst_vkgdr_module, GST, VKGDR_MODULE, GstObject)

#define GST_TYPE_VKGDR_FUNCTION (gst_vkgdr_function_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrFunction, gst_vkgdr_function, GST, VKGDR_FUNCTION, GstObject)

GST_VKGDR_API
GstVkgdrModule *gst_vkgdr_module_new_from_source (GstVkgdrContext *context,
    const gchar *source, const gchar *label, GError **error);

GST_VKGDR_API
GstVkgdrModule *gst_vkgdr_module_new_from_image (GstVkgdrContext *context,
    GBytes *image, const gchar *label, GError **error);

GST_VKGDR_API
GstVkgdrFunction *gst_vkgdr_module_get_function (
    GstVkgdrModule *module, const gchar *entry, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_function_launch (GstVkgdrFunction *function,
    GstVkgdrStream *stream, guint grid_x, guint grid_y, guint grid_z,
    guint block_x, guint block_y, guint block_z, guint shared,
    const guint8 *arguments, gsize size, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_MODULE_H__ */
