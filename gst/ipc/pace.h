/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/pace.h: when the next frame is expected, and how long to sleep before it
 *
 * Not thread-safe.
 */

#ifndef __GST_VKGDR_IPC_PACE_H__
#define __GST_VKGDR_IPC_PACE_H__

#include <glib.h>

G_BEGIN_DECLS

/* The number of intervals that are stored. The shortest one is used, so that a
 * lost or late frame does not delay the next wake-up. */
#define GST_VKGDR_IPC_PACE_INTERVALS 4

/* Times are in microseconds. Must be zero-initialised. */
typedef struct {
  gint64 last; /* time of the last frame; 0: none yet */
  gint64 intervals[GST_VKGDR_IPC_PACE_INTERVALS]; /* between frames */
  guint n_intervals; /* number of all measured intervals */
} GstVkgdrIpcPace;

/* Must be called when a frame arrives. @now: g_get_monotonic_time (). */
void gst_vkgdr_ipc_pace_add (GstVkgdrIpcPace *self, gint64 now);

/* Returns how many microseconds a thread may sleep at @now, if it must be awake
 * from @margin before the expected frame until @margin after it. 0: it must not
 * sleep; -1: it may sleep until the frame arrives. */
gint64 gst_vkgdr_ipc_pace_get_sleep (
    const GstVkgdrIpcPace *self, gint64 now, guint margin);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_PACE_H__ */
