/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.h: decides whether the writers of pools get direct or staged
 * access
 *
 * A plain writer is about as fast in the window as in ordinary memory. A writer
 * that also reads the bytes that it wrote, although it mapped for writing only,
 * is hundreds of times slower in the window. Several plain writers share the
 * window's bandwidth, and DMA has separate bandwidth. So the access mode is
 * chosen by measurements.
 *
 * The pools of a device are one group. The first criterion is the rate at which
 * all writers of the group together write bytes. If the rates are equal,
 * because another element limits the speed, the time that the writers spend is
 * compared. If the threads of all writers wait for other elements, the rate
 * says nothing, and the time for each byte is compared.
 *
 * A measurement begins when no buffer with the previous mode is being written
 * any more, and covers several buffers of each writer. Each candidate is
 * measured at least twice, so that a single outlier decides nothing.
 *
 * The policy knows neither memory nor pools. All times are passed in, in
 * nanoseconds of one monotonic clock. Thread-safe. The lock of a group is the
 * last one in the lock order: nothing is called with it held.
 */

#ifndef __GST_VKGDR_POLICY_H__
#define __GST_VKGDR_POLICY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "memory/worktime.h"
#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPolicyGroup GstVkgdrPolicyGroup;
typedef struct _GstVkgdrPolicy GstVkgdrPolicy;

/* One buffer of a pool, from the moment when a writer gets it until it is
 * written for the first time or released. Must be zero-initialised. Accesses
 * must be serialised by the caller. */
typedef struct {
  GstVkgdrPolicy *policy; /* a reference, or NULL */
  GstVkgdrAccess access;  /* access mode of the writer */
  gboolean is_auto;       /* the policy chose it */
  gboolean is_pending;    /* not yet written */
  gboolean is_probe;
  gboolean is_measured; /* the group is trying access modes at present */
} GstVkgdrPolicyTurn;

/* A group for the pools of one device. @window_is_cached: the CPU reads through
 * the window as fast as it reads its own memory. */
GstVkgdrPolicyGroup *gst_vkgdr_policy_group_new (gboolean window_is_cached);
GstVkgdrPolicyGroup *gst_vkgdr_policy_group_ref (GstVkgdrPolicyGroup *group);
void gst_vkgdr_policy_group_unref (GstVkgdrPolicyGroup *group);

/* The policy of one pool. Its first mode is the one that cannot slow a writer
 * down much: staged, or direct if the window is cached. */
GstVkgdrPolicy *gst_vkgdr_policy_new (GstVkgdrPolicyGroup *group);
GstVkgdrPolicy *gst_vkgdr_policy_ref (GstVkgdrPolicy *policy);
void gst_vkgdr_policy_unref (GstVkgdrPolicy *policy);

/* With %GST_VKGDR_ACCESS_AUTO the policy measures. Any other value is used as
 * given. */
void gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted);

/* Must be called when a writer gets a buffer of @size bytes at the time @now.
 * The writer has waited for the time @waited until the device had finished with
 * the buffer. Starts @turn, and returns the access mode for the buffer. */
GstVkgdrAccess gst_vkgdr_policy_next (GstVkgdrPolicy *policy,
    GstVkgdrPolicyTurn *turn, gsize size, GstClockTime now,
    GstClockTime waited);

/* Must be called when a mapping for writing of the buffer of @turn has ended.
 * @used is the access mode of the mapping, which is staged for a mapping that
 * also reads. @work is what the writer needed for it. */
void gst_vkgdr_policy_report (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, const GstVkgdrWork *work);

/* Must be called when the buffer of @turn is released, whether or not it was
 * written. */
void gst_vkgdr_policy_cancel (GstVkgdrPolicyTurn *turn);

/* Cancels @turn and drops its reference. */
void gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn);

/* Returns the mode between measurements: direct or staged. */
GstVkgdrAccess gst_vkgdr_policy_get (GstVkgdrPolicy *policy);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_H__ */
