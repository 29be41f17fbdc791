/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/plan.h: maps the elements of a tensor to the samples of a frame
 *
 * Only computes: knows neither devices nor kernels.
 */

#ifndef __GST_VKGDR_TENSOR_PLAN_H__
#define __GST_VKGDR_TENSOR_PLAN_H__

#include <gst/vkgdr/gstvkgdrtensor.h>

#include "kernel/kernel-private.h"
#include "tensor/job.h"

G_BEGIN_DECLS

/* Fills @job, except for the address of the tensor. The @region of @frame, or
 * all of it if @region is NULL, becomes a tensor as described by @config. @site
 * is the position of the samples of Cb and Cr. @transform may be NULL. Returns
 * FALSE with @error set if @region is not inside @frame. */
gboolean gst_vkgdr_tensor_plan (const GstVkgdrTensorConfig *config,
    const VkgdrFrame *frame, GstVideoChromaSite site,
    const GstVideoRectangle *region, VkgdrTensorJob *job,
    GstVkgdrTensorTransform *transform, GError **error);

/* Returns the index of the component's grid in VkgdrTensorJob.grid. */
guint gst_vkgdr_tensor_plan_get_grid (const VkgdrFrame *frame, guint component);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_PLAN_H__ */
