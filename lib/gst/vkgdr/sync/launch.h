/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.h: launches of kernels, and their time limits
 *
 * A launch is watched until its kernel has ended, so that an error of the
 * device names the kernel, and is posted by its element. If its stream has a
 * time limit, the time of the kernel begins when the fence in front of it is
 * reached, and ends with the fence behind it. A kernel that exceeds its limit
 * makes its own stream fail. Other streams, allocations and frees go on.
 *
 * There is one list of all launches. The reclaim threads check it from time to
 * time. Thread-safe.
 */

#ifndef __GST_VKGDR_LAUNCH_H__
#define __GST_VKGDR_LAUNCH_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "sync/stream.h"

G_BEGIN_DECLS

/* This function and gst_vkgdr_launch_end () must be called around a call that
 * queues a kernel, without a lock.
 *
 * Waits while many kernels of the stream are in flight, because the driver
 * would block for ever behind one that does not end. FALSE with @error set if
 * the stream has failed, or if no thread can be created to watch the kernel.
 * Without a limit, it does not wait, and does not need a thread. @kernel must
 * be interned. @launch is for gst_vkgdr_launch_end (), and may be NULL. */
gboolean gst_vkgdr_launch_begin (GstVkgdrStream *stream, const gchar *kernel,
    GstVkgdrLaunch **launch, GError **error);

/* @ok: whether the kernel was queued. If so, its time ends with the next fence
 * that is recorded on the stream. */
void gst_vkgdr_launch_end (GstVkgdrLaunch *launch, gboolean ok);

/* Checks all launches now: forgets those that have ended, and makes streams
 * fail, that of the first launch first. When it returns, the elements of these
 * streams have posted their errors, even if other threads check, too. Must be
 * called without a lock. */
void gst_vkgdr_launch_check_all (void);

G_END_DECLS

#endif /* __GST_VKGDR_LAUNCH_H__ */
