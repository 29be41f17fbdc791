/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdraccessallocator.h: an allocator whose memories have an access mode
 *
 * What vkgdrupload offers upstream beside its pool, and instead of one for
 * audio and bytes. The memories are of the allocator that it was made of.
 */

#ifndef __GST_VKGDR_ACCESS_ALLOCATOR_H__
#define __GST_VKGDR_ACCESS_ALLOCATOR_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* Memories of @allocator, which must be a GstVkgdrAllocator, whose writers get
 * what @access says. GST_VKGDR_ACCESS_AUTO is direct access: nothing is
 * measured, since a memory that is not recycled is written once. The caller's.
 */
GstAllocator *gst_vkgdr_access_allocator_new (
    GstAllocator *allocator, GstVkgdrAccess access);

G_END_DECLS

#endif /* __GST_VKGDR_ACCESS_ALLOCATOR_H__ */
