/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel-private.h: the interface of the room (folder) kernel for the
 * other rooms
 *
 * Descriptions of buffers for kernels, and launches of functions.
 */

#ifndef __GST_VKGDR_KERNEL_PRIVATE_H__
#define __GST_VKGDR_KERNEL_PRIVATE_H__

#include "kernel/frame.h"
#include "kernel/module.h"
#include "kernel/timer.h"

#endif /* __GST_VKGDR_KERNEL_PRIVATE_H__ */
