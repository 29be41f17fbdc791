/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.h: whether a writer does better in the window or beside it
 *
 * A plain writer is as fast in the window as in RAM. One that also reads what
 * it wrote, though it promised to write alone, is hundreds of times slower
 * there; and many plain writers at once hold each other up, while DMA would
 * have room. Then again, whoever needs at once what was staged waits for the
 * transfer, and the writer with him if that is in the same thread. So what is
 * measured both ways is the time from one buffer to the next, and where that is
 * the same, because somebody else sets the pace, the time that a writer takes.
 * Knows neither memory nor pools. Thread-safe.
 */

#ifndef __GST_VKGDR_POLICY_H__
#define __GST_VKGDR_POLICY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPolicy GstVkgdrPolicy;

/* Begins with what cannot stall anybody: staged. */
GstVkgdrPolicy *gst_vkgdr_policy_new (void);

GstVkgdrPolicy *gst_vkgdr_policy_ref (GstVkgdrPolicy *policy);
void gst_vkgdr_policy_unref (GstVkgdrPolicy *policy);

/* With %GST_VKGDR_ACCESS_AUTO it measures, with another it obeys. */
void gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted);

/* A writer, having @waited for it, gets its next buffer @now: what it is to
 * get. What it reported until now belongs to the buffer before. */
GstVkgdrAccess gst_vkgdr_policy_next (
    GstVkgdrPolicy *policy, GstClockTime now, GstClockTime waited);

/* A mapping for writing lasted @time. @reads: it was for reading, too. */
void gst_vkgdr_policy_report (
    GstVkgdrPolicy *policy, GstClockTime time, gboolean reads);

/* What is in force between measurements: direct or staged. */
GstVkgdrAccess gst_vkgdr_policy_get (GstVkgdrPolicy *policy);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_H__ */
