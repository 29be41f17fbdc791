/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policywindow.h: counts the buffers of one writer during a time window
 *
 * Knows nothing of access modes. Not thread-safe: the caller locks.
 */

#ifndef __GST_VKGDR_POLICY_WINDOW_H__
#define __GST_VKGDR_POLICY_WINDOW_H__

#include "memory/policysearch.h"
#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct {
  guint64 bytes;      /* of all buffers but the first */
  guint n_buffers;    /* that the writer got */
  GstClockTime first; /* when it got the first of them */
  GstClockTime last;
  GstClockTime wait; /* that it waited for buffers */
  GstClockTime work; /* that it had buffers mapped */
  guint n_work;      /* buffers that it wrote */
  guint n_odd;       /* buffers that were not written in the expected mode */
} GstVkgdrPolicyWindow;

/* The writer gets a buffer. */
void gst_vkgdr_policy_window_add (GstVkgdrPolicyWindow *window, gsize size,
    GstClockTime now, GstClockTime waited);

/* What the writer did, from its first buffer to its last. */
GstVkgdrPolicyScore gst_vkgdr_policy_window_get_score (
    const GstVkgdrPolicyWindow *window);

/* The same for a window of @elapsed that was cut short, in which the writer may
 * not have got a single buffer. */
GstVkgdrPolicyScore gst_vkgdr_policy_window_get_score_until (
    const GstVkgdrPolicyWindow *window, GstClockTime elapsed);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_WINDOW_H__ */
