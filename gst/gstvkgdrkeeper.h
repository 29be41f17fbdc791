/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkeeper.h: keeps buffers until the device has read them
 *
 * A transfer goes on after the call that queued it. Whose memory it reads must
 * stay, mapped and unchanged, until a fence is reached; a thread of the keeper
 * waits for that, so that no buffer is kept from its pool for longer.
 */

#ifndef __GST_VKGDR_KEEPER_H__
#define __GST_VKGDR_KEEPER_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrKeeper GstVkgdrKeeper;

GstVkgdrKeeper *gst_vkgdr_keeper_new (void);

/* Lets go of everything whose fence is reached, and waits for what is about to
 * be. What stays behind a kernel that does not end is let go later. */
void gst_vkgdr_keeper_free (GstVkgdrKeeper *keeper);

/* Keeps @buffer until @fence is reached; then unmaps @maps, one for each of its
 * memories. Takes a reference to @buffer, and takes @maps and @fence. */
void gst_vkgdr_keeper_keep (GstVkgdrKeeper *keeper, GstBuffer *buffer,
    GstMapInfo *maps, GstVkgdrFence *fence);

G_END_DECLS

#endif /* __GST_VKGDR_KEEPER_H__ */
