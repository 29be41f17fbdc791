/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/watch.h: a thread that waits for fences, for those who cannot
 *
 * Knows nothing of what is done when they are reached.
 */

#ifndef __GST_VKGDR_WATCH_H__
#define __GST_VKGDR_WATCH_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* Calls @reached with @object, which it keeps until then, in a thread of the
 * process when @fences, of GstVkgdrFence, are reached; not at all where the
 * process ends. */
void gst_vkgdr_watch_fences (
    GPtrArray *fences, GObject *object, void (*reached) (GObject *object));

G_END_DECLS

#endif /* __GST_VKGDR_WATCH_H__ */
