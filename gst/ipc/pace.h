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

/* Intervals that are remembered. The shortest counts, so that a frame that was
 * lost or late does not delay the next wake-up. */
#define GST_VKGDR_IPC_PACE_INTERVALS 4

/* Times in microseconds. Begins with zeros. */
typedef struct {
  gint64 last; /* when the last frame came; 0: there was none */
  gint64 intervals[GST_VKGDR_IPC_PACE_INTERVALS]; /* between frames */
  guint n_intervals; /* that were seen; the last ones are remembered */
} GstVkgdrIpcPace;

/* A frame has come at @now, a time of g_get_monotonic_time (). */
void gst_vkgdr_ipc_pace_add (GstVkgdrIpcPace *self, gint64 now);

/* How long a thread may sleep at @now, if it wants to be awake from @margin
 * before the next frame is expected until @margin after that: 0 means not at
 * all, and -1 until the frame comes. */
gint64 gst_vkgdr_ipc_pace_get_sleep (
    const GstVkgdrIpcPace *self, gint64 now, guint margin);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_PACE_H__ */
