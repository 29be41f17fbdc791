/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/wait.h: pauses between two queries of the device
 *
 * A wait inside the driver ends only when the device is done; if the device
 * hangs, it never ends. So a thread that waits queries, pauses and queries
 * again, and can give up. The pauses grow with the time waited so far, so that
 * both the delay and the cost of the queries stay within a few percent of it.
 */

#ifndef __GST_VKGDR_WAIT_H__
#define __GST_VKGDR_WAIT_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gint64 since; /* microseconds; 0 before the first pause */
  gint slack; /* the thread's original timer slack, or -1 if it was not changed
               */
} GstVkgdrWait;

#define GST_VKGDR_WAIT_INIT \
  { \
    0, -1 \
  }

void gst_vkgdr_wait_pause (GstVkgdrWait *wait);

/* Must be called in the same thread, even if there was no pause. */
void gst_vkgdr_wait_end (GstVkgdrWait *wait);

G_END_DECLS

#endif /* __GST_VKGDR_WAIT_H__ */
