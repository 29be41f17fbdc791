/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/background.h: threads that may outlive the last pipeline
 *
 * Such a thread waits some time for more work before it ends, so it may be
 * alive when the last pipeline is gone. gst_deinit () frees data that every use
 * of a GstObject needs, and the exit handlers of the drivers free data that
 * every driver call needs. So all these threads are ended before that. Comments
 * call this moment "the end". It comes:
 *
 * - In gst_deinit (). GStreamer has no hook for it, but gst_deinit () releases
 *   GStreamer's registry early enough: the threads are ended at this moment.
 * - In an exit handler, in programs that do not call gst_deinit (). It runs
 *   before the handlers of the drivers, which were registered earlier.
 *
 * A child of fork () has none of these threads. Thread-safe.
 */

#ifndef __GST_VKGDR_BACKGROUND_H__
#define __GST_VKGDR_BACKGROUND_H__

#include "device/device-private.h"

G_BEGIN_DECLS

typedef struct {
  const gchar *name; /* of the thread */
  /* The thread keeps a reference of its data. */
  gpointer (*ref) (gpointer data);
  void (*unref) (gpointer data);
  void (*run) (gpointer data); /* the thread's function */
  /* Makes run () return soon. Does not wait for that. */
  void (*end) (gpointer data);
  /* Whether the thread may be in a driver call that does not return, because a
   * kernel does not end. Then the end does not wait for it. */
  gboolean (*is_stuck) (gpointer data);
} GstVkgdrBackground;

/* Starts a thread. FALSE with @error set if none can be created, or if the
 * threads have been ended. */
gboolean gst_vkgdr_background_start (
    const GstVkgdrBackground *type, gpointer data, GError **error);

/* Whether the threads are being ended, or have been ended. */
gboolean gst_vkgdr_background_is_over (void);

G_END_DECLS

#endif /* __GST_VKGDR_BACKGROUND_H__ */
