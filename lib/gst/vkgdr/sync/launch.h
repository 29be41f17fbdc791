/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.h: the list of a stream, for other files of this room
 */

#ifndef __GST_VKGDR_LAUNCH_H__
#define __GST_VKGDR_LAUNCH_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* Makes a launch of @stream, and adds it to the list. Waits while the list is
 * full, if the stream has a limit. The caller owns a reference. NULL with
 * @error set if the stream has failed. @kernel must be interned. */
GstVkgdrFence *gst_vkgdr_launch_add (
    GstVkgdrStream *stream, const gchar *kernel, GError **error);

/* Adds a fence behind work that is no kernel, so that it does not count as time
 * of the next kernel. Only for streams with a limit: while a list is not empty,
 * a timer runs. */
void gst_vkgdr_launch_add_other (GstVkgdrFence *fence);

/* Gives the launches in the list that have no limit one of @limit milliseconds
 * from now on. Returns whether there is any launch. */
gboolean gst_vkgdr_launch_limit_all (GstVkgdrStream *stream, guint limit);

/* Removes @launch from the list, if it is there. */
void gst_vkgdr_launch_remove (GstVkgdrFence *launch);

G_END_DECLS

#endif /* __GST_VKGDR_LAUNCH_H__ */
