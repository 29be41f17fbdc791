/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdraccessallocator.h: an allocator whose memories have an access mode
 *
 * vkgdrupload proposes it to upstream in addition to its pool, and instead of a
 * pool for audio and bytes. The memories belong to the allocator that it wraps.
 */

#ifndef __GST_VKGDR_ACCESS_ALLOCATOR_H__
#define __GST_VKGDR_ACCESS_ALLOCATOR_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* Wraps @allocator, which must be a GstVkgdrAllocator, so that its memories
 * have the access mode @access. GST_VKGDR_ACCESS_AUTO means direct access:
 * nothing is measured, since a memory that is not recycled is written once. The
 * caller owns the result.
 */
GstAllocator *gst_vkgdr_access_allocator_new (
    GstAllocator *allocator, GstVkgdrAccess access);

G_END_DECLS

#endif /* __GST_VKGDR_ACCESS_ALLOCATOR_H__ */
