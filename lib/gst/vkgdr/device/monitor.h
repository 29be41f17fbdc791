/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/monitor.h: what watches the kernels of a CUDA context
 *
 * The room sync does this. It registers its functions here, since the room
 * device must not use a room above it.
 */

#ifndef __GST_VKGDR_MONITOR_H__
#define __GST_VKGDR_MONITOR_H__

#include <glib.h>

#include "driver.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrWatchdog GstVkgdrWatchdog;

/* See sync/watchdog.h for each. */
typedef struct {
  GstVkgdrWatchdog *(*get) (
      const vkgdr_cuda *cuda, CUcontext context, GError **error);
  void (*unref) (GstVkgdrWatchdog *self);
  gboolean (*check) (GstVkgdrWatchdog *self, GError **error);
  gboolean (*has_failed) (GstVkgdrWatchdog *self);
  gboolean (*check_result) (GstVkgdrWatchdog *self, CUresult result,
      const gchar *what, GError **error);
  gboolean (*tell) (const vkgdr_cuda *cuda, CUresult result, const gchar *what,
      GError **error);
  gboolean (*begin_alone) (GstVkgdrWatchdog *self, GError **error);
  void (*end_alone) (GstVkgdrWatchdog *self);
} GstVkgdrMonitor;

/* Set before main () begins. */
extern const GstVkgdrMonitor *gst_vkgdr_monitor;

G_END_DECLS

#endif /* __GST_VKGDR_MONITOR_H__ */
