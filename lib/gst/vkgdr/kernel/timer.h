/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/timer.h: measures how long the device works on a part of a stream
 *
 * Measures between two points of a stream with CUDA events, and never waits: a
 * result is fetched when a later measurement begins. A measurement is skipped
 * while the result of the last one is pending, and once there are some results,
 * most are skipped. Not thread-safe, except gst_vkgdr_timer_get ().
 */

#ifndef __GST_VKGDR_TIMER_H__
#define __GST_VKGDR_TIMER_H__

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrTimer GstVkgdrTimer;

GstVkgdrTimer *gst_vkgdr_timer_new (GstVkgdrContext *context);

void gst_vkgdr_timer_free (GstVkgdrTimer *timer);

/* The work between the two calls is measured. If the first one returns FALSE,
 * the measurement is skipped, and the second one must not be called. */
gboolean gst_vkgdr_timer_begin (GstVkgdrTimer *timer, GstVkgdrStream *stream);
void gst_vkgdr_timer_end (GstVkgdrTimer *timer, GstVkgdrStream *stream);

/* The median of the last times; GST_CLOCK_TIME_NONE before the first result. If
 * the device is idle, it includes the time that the CPU needs to launch. */
GstClockTime gst_vkgdr_timer_get (GstVkgdrTimer *timer);

G_END_DECLS

#endif /* __GST_VKGDR_TIMER_H__ */
