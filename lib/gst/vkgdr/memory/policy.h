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
 * A policy knows neither memory nor pools. All times are in nanoseconds of one
 * monotonic clock, and are passed in, except the processor time of a thread.
 * Thread-safe: each policy has a lock, and nothing is called with it held.
 */

#ifndef __GST_VKGDR_POLICY_H__
#define __GST_VKGDR_POLICY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrPolicy GstVkgdrPolicy;

/* These structures measure how long a writer needs for a buffer. A writer may
 * keep a buffer mapped while it waits, for example for the packets that it
 * writes to the buffer. So the processor time of its thread is measured: it
 * does not contain these waits, but contains the time for which the processor
 * waits for the window. */

/* The moment when a writer begins. */
typedef struct {
  GstClockTime time; /* on the clock of gst_util_get_timestamp () */
  GThread *thread;   /* only compared; NULL if cpu is not measured */
  GstClockTime cpu;  /* processor time of the thread */
} GstVkgdrWorkStart;

/* What is known when the writer has ended. */
typedef struct {
  GstClockTime time; /* that the writer needed: the processor time of its
                      * thread, or the time that has passed if the processor
                      * time is not known */
  GstClockTime end;  /* on the same clock */
  GThread *thread;   /* NULL if the processor time is not known */
  GstClockTime cpu;  /* processor time of the thread at the end */
} GstVkgdrWork;

/* Must be called when the writer begins, at the time @now. Reading the
 * processor time is a system call, which takes about 0.2 us.
 * @with_processor_time: whether to read it; should be FALSE if the work is so
 * short that this matters. */
void gst_vkgdr_work_start (
    GstVkgdrWorkStart *start, GstClockTime now, gboolean with_processor_time);

/* Must be called when the writer has ended, at the time @now. The processor
 * time is known if it was measured, and the writer began in this thread. */
GstVkgdrWork gst_vkgdr_work_end (
    const GstVkgdrWorkStart *start, GstClockTime now);

/* One use of a buffer of a pool: from the moment when a writer gets the buffer
 * until the next writer gets it. Must be zero-initialised. Accesses must be
 * serialised by the caller. */
typedef struct {
  GstVkgdrPolicy *policy; /* a reference, or NULL */
  GstVkgdrAccess access;  /* of the writer; AUTO: not mapped yet */
  GstClockTime waited;    /* time for which the writer waited for the device */
  gboolean is_pending;    /* not yet written */
  gboolean is_trial;      /* one of the direct buffers of rule 2 */
} GstVkgdrPolicyTurn;

/* The policy of one pool. The pools of a device have the same @device. */
GstVkgdrPolicy *gst_vkgdr_policy_new (gint device, gboolean window_is_cached);
GstVkgdrPolicy *gst_vkgdr_policy_ref (GstVkgdrPolicy *policy);
void gst_vkgdr_policy_unref (GstVkgdrPolicy *policy);

/* With %GST_VKGDR_ACCESS_AUTO, the initial value, the rules decide. Any other
 * value is used as given. */
void gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted);
GstVkgdrAccess gst_vkgdr_policy_get_wanted (GstVkgdrPolicy *policy);

/* Returns the mode of the last buffer that was not a trial: direct or staged.
 */
GstVkgdrAccess gst_vkgdr_policy_get (GstVkgdrPolicy *policy);

/* Must be called when a writer gets the buffer of @turn. */
void gst_vkgdr_policy_turn_begin (
    GstVkgdrPolicyTurn *turn, GstVkgdrPolicy *policy, GstClockTime waited);

/* Returns the access mode for a mapping for writing at the time @now. The mode
 * stays the same until the next turn, except that a buffer becomes staged as
 * soon as the writer is known to read. @in_window: whether the buffer has a
 * host pointer. A buffer that has none is always staged, which says nothing
 * about its writer. @turn must have a policy. */
GstVkgdrAccess gst_vkgdr_policy_turn_map (
    GstVkgdrPolicyTurn *turn, gboolean in_window, GstClockTime now);

/* Must be called when a mapping for writing has ended. @used is its access
 * mode, which is staged for a mapping that also reads. @work is what the writer
 * needed for it. */
void gst_vkgdr_policy_turn_end (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, const GstVkgdrWork *work);

/* Drops the reference of @turn. */
void gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_H__ */
