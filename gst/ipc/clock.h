/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/clock.h: times of a pipeline's clock that other processes understand
 */

#ifndef __GST_VKGDR_IPC_CLOCK_H__
#define __GST_VKGDR_IPC_CLOCK_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Whether the times of @clock (nullable) are those of the machine's monotonic
 * clock. */
gboolean gst_vkgdr_ipc_clock_is_monotonic (GstClock *clock);

/* Converts @time of @clock to nanoseconds of the machine's monotonic clock. */
gint64 gst_vkgdr_ipc_monotonic (GstClock *clock, GstClockTime time);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_CLOCK_H__ */
