/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/wait.h: pauses between two looks at the device
 *
 * A wait inside the driver ends when the device does, and where that hangs,
 * never. So whoever waits looks, pauses, and looks again, and can be told to
 * give up. The pauses grow with the time that was waited, so that neither the
 * delay nor the work of looking is more than a few percent of it. Knows nothing
 * of what is waited for.
 */

#ifndef __GST_VKGDR_WAIT_H__
#define __GST_VKGDR_WAIT_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gint64 since; /* microseconds; 0 before the first pause */
  gint slack;   /* the thread's own timer slack, or -1 where it still has it */
} GstVkgdrWait;

#define GST_VKGDR_WAIT_INIT \
  { \
    0, -1 \
  }

void gst_vkgdr_wait_pause (GstVkgdrWait *wait);

/* In the same thread; also where there was no pause. */
void gst_vkgdr_wait_end (GstVkgdrWait *wait);

G_END_DECLS

#endif /* __GST_VKGDR_WAIT_H__ */
