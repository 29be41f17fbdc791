/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkeeper.h: keeps buffers until the device has read them
 *
 * A transfer is still running when the call that queued it returns. Its source
 * memory must stay mapped and unchanged until a fence is reached. A thread
 * waits for that, so that buffers return to their pool as early as possible.
 */

#ifndef __GST_VKGDR_KEEPER_H__
#define __GST_VKGDR_KEEPER_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrKeeper GstVkgdrKeeper;

GstVkgdrKeeper *gst_vkgdr_keeper_new (void);

/* Waits for the kept buffers and releases them. Buffers that wait for a kernel
 * that does not end are released later. */
void gst_vkgdr_keeper_free (GstVkgdrKeeper *keeper);

/* Keeps @buffer until @fence is reached; then unmaps @maps, one for each of its
 * memories. Adds a reference to @buffer, and takes ownership of @maps and
 * @fence. */
void gst_vkgdr_keeper_keep (GstVkgdrKeeper *keeper, GstBuffer *buffer,
    GstMapInfo *maps, GstVkgdrFence *fence);

G_END_DECLS

#endif /* __GST_VKGDR_KEEPER_H__ */
