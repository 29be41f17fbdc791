/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.h: launches of kernels with a time limit
 *
 * Both functions must be called around a call that queues a kernel, without a
 * lock. Thread-safe.
 */

#ifndef __GST_VKGDR_LAUNCH_H__
#define __GST_VKGDR_LAUNCH_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "sync/stream.h"

G_BEGIN_DECLS

/* Waits while many kernels of the stream are in flight, because the driver
 * would block for ever behind one that does not end. FALSE with @error set if
 * the stream has failed, or if no thread can be created to watch the kernel.
 * @kernel must be interned. @launch is for gst_vkgdr_launch_end (); NULL if the
 * stream has no limit. */
gboolean gst_vkgdr_launch_begin (GstVkgdrStream *stream, const gchar *kernel,
    GstVkgdrLaunch **launch, GError **error);

/* @ok: whether the kernel was queued. If so, its time ends with the next fence
 * that is recorded on the stream. */
void gst_vkgdr_launch_end (GstVkgdrLaunch *launch, gboolean ok);

G_END_DECLS

#endif /* __GST_VKGDR_LAUNCH_H__ */
