/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.h: decides whether the writers of a pool get direct or staged
 * access
 *
 * The four rules of access=auto:
 *
 * 1. A pool starts staged, because that slows no writer down. If the window is
 *    host-cached, its buffers are always direct.
 * 2. The pool gets two direct buffers. If both take far longer than a staged
 *    one, the writer reads what it writes: the pool is staged, and is tried
 *    again after ten seconds, then after twenty, and so on. The same holds for
 *    two such buffers in a row at any later time.
 * 3. If the writer's thread uses the processor for only a part of the time, it
 *    waits for other elements: the pool is staged.
 * 4. Otherwise the pool is direct while few such pools of the device are
 *    active. If there are more, the oldest ones are direct, and the others are
 *    staged: DMA has bandwidth of its own.
 *
 * A policy knows neither memory nor pools. All times are passed in, in
 * nanoseconds of one monotonic clock. Thread-safe: each policy has a lock, and
 * nothing is called with it held.
 */

#ifndef __GST_VKGDR_POLICY_H__
#define __GST_VKGDR_POLICY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "memory/worktime.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPolicy GstVkgdrPolicy;

/* One buffer of a pool, from the moment when a writer gets it until the next
 * writer does. Must be zero-initialised. Accesses must be serialised by the
 * caller. */
typedef struct {
  GstVkgdrPolicy *policy; /* a reference, or NULL */
  GstVkgdrAccess access;  /* of the writer; AUTO: it has not mapped it yet */
  GstClockTime waited;    /* time for which the writer waited for the device */
  gboolean is_pending;    /* not yet written */
  gboolean is_trial;      /* one of the direct buffers of rule 2 */
} GstVkgdrPolicyTurn;

/* The policy of one pool. @device is any number that the pools of a device have
 * in common. */
GstVkgdrPolicy *gst_vkgdr_policy_new (gint device, gboolean window_is_cached);
GstVkgdrPolicy *gst_vkgdr_policy_ref (GstVkgdrPolicy *policy);
void gst_vkgdr_policy_unref (GstVkgdrPolicy *policy);

/* With %GST_VKGDR_ACCESS_AUTO the rules decide. Any other value is used as
 * given. */
void gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted);

/* Returns the mode of the last buffer that was not a trial: direct or staged.
 */
GstVkgdrAccess gst_vkgdr_policy_get (GstVkgdrPolicy *policy);

/* Must be called when a writer gets the buffer of @turn. */
void gst_vkgdr_policy_turn_begin (
    GstVkgdrPolicyTurn *turn, GstVkgdrPolicy *policy, GstClockTime waited);

/* Returns the access mode for a mapping for writing at the time @now. The mode
 * stays the same until the next turn, except that a buffer becomes staged as
 * soon as the writer is known to read. @turn must have a policy. */
GstVkgdrAccess gst_vkgdr_policy_turn_map (
    GstVkgdrPolicyTurn *turn, GstClockTime now);

/* Must be called when a mapping for writing has ended. @used is its access
 * mode, which is staged for a mapping that also reads. @work is what the writer
 * needed for it. */
void gst_vkgdr_policy_turn_end (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, const GstVkgdrWork *work);

/* Drops the reference of @turn. */
void gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_H__ */
