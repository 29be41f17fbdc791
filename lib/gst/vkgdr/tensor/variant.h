/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/variant.h: the variants that the tensor kernel is compiled in
 *
 * Knows how a job is computed, and nothing of when.
 */

#ifndef __GST_VKGDR_TENSOR_VARIANT_H__
#define __GST_VKGDR_TENSOR_VARIANT_H__

#include "tensor/plan.h"

G_BEGIN_DECLS

/* A number for each variant, which is never 0. */
typedef guint GstVkgdrTensorVariant;

/* The variant that makes a tensor as @config says of @frame by @job. */
GstVkgdrTensorVariant gst_vkgdr_tensor_variant_choose (
    const GstVkgdrTensorConfig *config, const VkgdrFrame *frame,
    VkgdrTensorJob *job);

/* Compiles @variant, or takes what an earlier run compiled. NULL with @error
 * set where there is no compiler. */
GstVkgdrFunction *gst_vkgdr_tensor_variant_load (
    GstVkgdrTensorVariant variant, GstVkgdrContext *context, GError **error);

/* Queues the work of @job on @stream, by a function that was loaded for its
 * variant. */
gboolean gst_vkgdr_tensor_variant_launch (GstVkgdrFunction *function,
    GstVkgdrStream *stream, VkgdrFrame *frame, VkgdrTensorJob *job,
    GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_VARIANT_H__ */
