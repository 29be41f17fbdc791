/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/timer.h: how long the device works on what a stream is given
 *
 * Measures between two points of a stream with pairs of CUDA events, and never
 * waits: a result is fetched when a later measurement begins. Most measurements
 * are left out once there are some, and those for which no pair is free,
 * because the device is far behind. Not thread-safe, but for
 * gst_vkgdr_timer_get ().
 */

#ifndef __GST_VKGDR_TIMER_H__
#define __GST_VKGDR_TIMER_H__

#include "sync/fence.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrTimer GstVkgdrTimer;

GstVkgdrTimer *gst_vkgdr_timer_new (GstVkgdrContext *context);

void gst_vkgdr_timer_free (GstVkgdrTimer *timer);

/* The work between the two is measured, or left out. So is what fails here. */
void gst_vkgdr_timer_begin (GstVkgdrTimer *timer, GstVkgdrStream *stream);
void gst_vkgdr_timer_end (GstVkgdrTimer *timer, GstVkgdrStream *stream);

/* The mean of what was measured; GST_CLOCK_TIME_NONE before the first. */
GstClockTime gst_vkgdr_timer_get (GstVkgdrTimer *timer);

G_END_DECLS

#endif /* __GST_VKGDR_TIMER_H__ */
