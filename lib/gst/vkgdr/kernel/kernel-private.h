/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel-private.h: what the room kernel offers to the other rooms
 *
 * A buffer as a kernel sees it, and launches of functions.
 */

#ifndef __GST_VKGDR_KERNEL_PRIVATE_H__
#define __GST_VKGDR_KERNEL_PRIVATE_H__

#include "kernel/frame.h"
#include "kernel/module.h"

#endif /* __GST_VKGDR_KERNEL_PRIVATE_H__ */
