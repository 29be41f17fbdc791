/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/worktime.h: measures how long a writer needs for a buffer
 *
 * A writer may keep a buffer mapped while it waits, for example for the packets
 * that it writes to the buffer. The processor time of its thread does not
 * contain these waits. It does contain the time for which the processor waits
 * for the window.
 */

#ifndef __GST_VKGDR_WORK_TIME_H__
#define __GST_VKGDR_WORK_TIME_H__

#include <gst/gst.h>

G_BEGIN_DECLS

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

G_END_DECLS

#endif /* __GST_VKGDR_WORK_TIME_H__ */
