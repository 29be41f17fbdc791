/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcontext.h: a device: CUDA context and window
 *
 * Has no CUDA or Vulkan types: their handles are plain pointers. Knows nothing
 * of elements.
 */

#ifndef __GST_VKGDR_CONTEXT_H__
#define __GST_VKGDR_CONTEXT_H__

#include <gst/vkgdr/vkgdr-prelude.h>

G_BEGIN_DECLS

/**
 * GST_VKGDR_CONTEXT_TYPE:
 *
 * The type of the #GstContext through which elements share a #GstVkgdrContext.
 * Its structure has one field, `context`.
 *
 * Since: 0.1
 */
#define GST_VKGDR_CONTEXT_TYPE "gst.vkgdr.context"

#define GST_TYPE_VKGDR_CONTEXT (gst_vkgdr_context_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrContext, gst_vkgdr_context, GST, VKGDR_CONTEXT, GstObject)

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_context_new (gint device, GError **error);

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_context_new_from_current (GError **error);

GST_VKGDR_API
gint gst_vkgdr_context_get_device (GstVkgdrContext *context);

GST_VKGDR_API
gboolean gst_vkgdr_context_is_software (GstVkgdrContext *context);

GST_VKGDR_API
gpointer gst_vkgdr_context_get_cuda_context (GstVkgdrContext *context);

GST_VKGDR_API
GstStructure *gst_vkgdr_context_describe (GstVkgdrContext *context);

GST_VKGDR_API
gboolean gst_vkgdr_context_push (GstVkgdrContext *context, GError **error);

GST_VKGDR_API
void gst_vkgdr_context_pop (GstVkgdrContext *context);

GST_VKGDR_API
gboolean gst_vkgdr_context_synchronize (
    GstVkgdrContext *context, GError **error);

GST_VKGDR_API
GstVkgdrAllocator *gst_vkgdr_context_get_allocator (GstVkgdrContext *context);

GST_VKGDR_API
gpointer gst_vkgdr_context_get_pinned_data (
    GstVkgdrContext *context, GstMemory *memory);

GST_VKGDR_API
GstContext *gst_vkgdr_context_to_gst_context (GstVkgdrContext *context);

G_END_DECLS

#endif /* __GST_VKGDR_CONTEXT_H__ */
