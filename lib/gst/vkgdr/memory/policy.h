/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.h: decides whether the writers of pools get direct or staged
 * access
 *
 * A plain writer is about as fast in the window as in ordinary memory. A writer
 * that also reads what it wrote, though it mapped for writing alone, is
 * hundreds of times slower there. Many plain writers at once share the window's
 * bandwidth, while DMA has bandwidth of its own. So the access mode is
 * measured.
 *
 * The pools that share a device are one group. What counts is the bytes that
 * all writers of the group together write per time. Where that is equal,
 * because something else sets the pace, the time that the writers spend counts.
 *
 * A measurement begins when no buffer of the other mode is being written any
 * more, and covers several buffers of each writer. Each candidate is measured
 * at least twice, so one odd buffer decides nothing.
 *
 * The policy knows neither memory nor pools. All times are handed in, in
 * nanoseconds of one monotonic clock. Thread-safe. The lock of a group is the
 * last in the order of locks: nothing is called with it held.
 */

#ifndef __GST_VKGDR_POLICY_H__
#define __GST_VKGDR_POLICY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPolicyGroup GstVkgdrPolicyGroup;
typedef struct _GstVkgdrPolicy GstVkgdrPolicy;

/* One buffer of a pool, from the moment that a writer gets it until it is
 * written for the first time, or comes back. Zero-initialised. Accesses have to
 * be serialised by the caller. */
typedef struct {
  GstVkgdrPolicy *policy; /* a reference, or NULL */
  GstVkgdrAccess access;  /* what the writer got */
  gboolean is_pending;    /* not yet written */
  gboolean is_probe;
  gboolean is_measured; /* the group is trying access modes at present */
} GstVkgdrPolicyTurn;

/* A group for the pools of one device. @window_is_cached: the CPU reads through
 * the window as fast as it reads its own memory. */
GstVkgdrPolicyGroup *gst_vkgdr_policy_group_new (gboolean window_is_cached);
GstVkgdrPolicyGroup *gst_vkgdr_policy_group_ref (GstVkgdrPolicyGroup *group);
void gst_vkgdr_policy_group_unref (GstVkgdrPolicyGroup *group);

/* The policy of one pool. It begins with the mode that cannot stall a writer:
 * staged, or direct where the window is cached. */
GstVkgdrPolicy *gst_vkgdr_policy_new (GstVkgdrPolicyGroup *group);
GstVkgdrPolicy *gst_vkgdr_policy_ref (GstVkgdrPolicy *policy);
void gst_vkgdr_policy_unref (GstVkgdrPolicy *policy);

/* With %GST_VKGDR_ACCESS_AUTO the policy measures. Any other value is used as
 * it is. */
void gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted);

/* A writer gets a buffer of @size bytes at the time @now, after it @waited for
 * the buffer. Starts @turn, and returns the mode that the buffer is to have. */
GstVkgdrAccess gst_vkgdr_policy_next (GstVkgdrPolicy *policy,
    GstVkgdrPolicyTurn *turn, gsize size, GstClockTime now,
    GstClockTime waited);

/* A mapping for writing of the buffer of @turn lasted @time. @used: the mode
 * that the mapping had, which is staged for a mapping that reads. */
void gst_vkgdr_policy_report (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, GstClockTime time);

/* The buffer of @turn comes back, whether or not it was written. */
void gst_vkgdr_policy_cancel (GstVkgdrPolicyTurn *turn);

/* Cancels @turn and drops its reference. */
void gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn);

/* What is in force between measurements: direct or staged. */
GstVkgdrAccess gst_vkgdr_policy_get (GstVkgdrPolicy *policy);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_H__ */
