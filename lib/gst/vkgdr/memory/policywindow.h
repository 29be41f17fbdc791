/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policywindow.h: counts the buffers of one writer during a time window
 *
 * Knows nothing of access modes. Not thread-safe: the caller must lock.
 */

#ifndef __GST_VKGDR_POLICY_WINDOW_H__
#define __GST_VKGDR_POLICY_WINDOW_H__

#include "memory/policysearch.h"
#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct {
  guint64 bytes;      /* of all buffers but the first */
  guint n_buffers;    /* number of buffers that the writer got */
  GstClockTime first; /* time of the first buffer */
  GstClockTime last;
  GstClockTime wait;        /* time that it waited for the device */
  GstClockTime work;        /* time that it needed to write buffers */
  guint n_work;             /* number of buffers that it wrote */
  GstClockTime thread_time; /* time for which its thread was observed */
  GstClockTime thread_cpu;  /* processor time that the thread used then */
  guint n_other_mode; /* number of buffers not written with the expected mode */
} GstVkgdrPolicyWindow;

/* Must be called when the writer gets a buffer. @waited is the time for which
 * the writer waited until the device had finished with the buffer. */
void gst_vkgdr_policy_window_add (GstVkgdrPolicyWindow *window, gsize size,
    GstClockTime now, GstClockTime waited);

/* Must be called when a thread has written two buffers, one after the other.
 * Between their ends, @time has passed, and the thread has used the processor
 * time @cpu. */
void gst_vkgdr_policy_window_add_thread (
    GstVkgdrPolicyWindow *window, GstClockTime time, GstClockTime cpu);

/* Whether the writer's thread waits a large part of the time, not counting the
 * waits for the device. FALSE if this is not known. */
gboolean gst_vkgdr_policy_window_is_idle (const GstVkgdrPolicyWindow *window);

/* Returns the score of the writer, from its first buffer to its last. */
GstVkgdrPolicyScore gst_vkgdr_policy_window_get_score (
    const GstVkgdrPolicyWindow *window);

/* The same for a window of @elapsed that was aborted, in which the writer may
 * have got no buffer at all. */
GstVkgdrPolicyScore gst_vkgdr_policy_window_get_score_until (
    const GstVkgdrPolicyWindow *window, GstClockTime elapsed);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_WINDOW_H__ */
