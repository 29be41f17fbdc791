/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/variant.h: the variants of the tensor kernel
 *
 * Loads and launches variants. Does not decide when.
 */

#ifndef __GST_VKGDR_TENSOR_VARIANT_H__
#define __GST_VKGDR_TENSOR_VARIANT_H__

#include "tensor/plan.h"

G_BEGIN_DECLS

/* The number of a variant, which is never 0. */
typedef guint GstVkgdrTensorVariant;

/* Returns the variant for @frame, @job and the tensor that @config describes.
 * Also sets the fields of @job that depend on the variant. */
GstVkgdrTensorVariant gst_vkgdr_tensor_variant_choose (
    const GstVkgdrTensorConfig *config, const VkgdrFrame *frame,
    VkgdrTensorJob *job);

/* Returns @variant as PTX, or NULL if it was not compiled with the library. The
 * caller unrefs it. */
GBytes *gst_vkgdr_tensor_variant_get_image (GstVkgdrTensorVariant variant);

/* Loads @variant, or compiles it. Returns NULL with @error set if it was not
 * compiled with the library and there is no compiler. */
GstVkgdrFunction *gst_vkgdr_tensor_variant_load (
    GstVkgdrTensorVariant variant, GstVkgdrContext *context, GError **error);

/* Queues the work of @job on @stream. @function must be that of its variant. */
gboolean gst_vkgdr_tensor_variant_launch (GstVkgdrFunction *function,
    GstVkgdrStream *stream, VkgdrFrame *frame, VkgdrTensorJob *job,
    GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_VARIANT_H__ */
