/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel.h: what a GstVkgdrKernel consists of
 *
 * For kernel/kernel.c and kernel/kernelrun.c alone.
 */

#ifndef __GST_VKGDR_KERNEL_KERNEL_H__
#define __GST_VKGDR_KERNEL_KERNEL_H__

#include "kernel/shape.h"

G_BEGIN_DECLS

/* The parameters that are buffers: in and out. */
#define KERNEL_N_BUFFERS 2

struct _GstVkgdrKernel {
  GstObject parent;

  GstVkgdrFunction *function; /* NULL until a constructor has succeeded */
  GstVkgdrShape shape;        /* as set by the user, or by the source */
  gsize buffer_size;    /* of the structure that the kernel takes, VkgdrFrame or
                         * VkgdrSamples; 0 if unknown */
  gboolean takes_boxes; /* the parameter after the buffers is VkgdrBoxes */
  gboolean may_run_in_place;
  gboolean runs_on_fields;
};

/* A language binding can create an object without a constructor of
 * kernel/kernel.c. */
#define KERNEL_IS_LOADED(kernel) \
  (GST_IS_VKGDR_KERNEL (kernel) && (kernel)->function != NULL)

G_END_DECLS

#endif /* __GST_VKGDR_KERNEL_KERNEL_H__ */
