/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/plan.h: which samples of a frame make which element of a tensor
 *
 * Arithmetic alone: knows neither devices nor kernels.
 */

#ifndef __GST_VKGDR_TENSOR_PLAN_H__
#define __GST_VKGDR_TENSOR_PLAN_H__

#include <gst/vkgdr/gstvkgdrtensor.h>

#include "kernel/kernel-private.h"
#include "tensor/job.h"

G_BEGIN_DECLS

/* Fills @job but for where the tensor lies: the @region of @frame, or all of it
 * where that is NULL, becomes a tensor as @config says. @site is where the
 * samples of Cb and Cr lie. @transform may be NULL. FALSE with @error set where
 * @region does not lie in @frame. */
gboolean gst_vkgdr_tensor_plan (const GstVkgdrTensorConfig *config,
    const VkgdrFrame *frame, GstVideoChromaSite site,
    const GstVideoRectangle *region, VkgdrTensorJob *job,
    GstVkgdrTensorTransform *transform, GError **error);

/* The component's index of VkgdrTensorJob.grid. */
guint gst_vkgdr_tensor_plan_get_grid (const VkgdrFrame *frame, guint component);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_PLAN_H__ */
