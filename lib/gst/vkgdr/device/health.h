/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/health.h: whether a CUDA context can still be used
 *
 * A CUDA context is lost when the device failed: from then on each call returns
 * the error. It is hung while a kernel does not end. The room (folder) sync
 * reports such kernels. All GstVkgdrContext objects of one CUDA context share
 * its health.
 *
 * Thread-safe.
 */

#ifndef __GST_VKGDR_HEALTH_H__
#define __GST_VKGDR_HEALTH_H__

#include <glib.h>

#include "driver.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrHealth GstVkgdrHealth;

/* Adds the names of the kernels that run in @context, of type gchar *, to
 * @names, each once. Called with the lock of the health held: it must not call
 * functions of this header. */
typedef void (*GstVkgdrSuspectsFunc) (gpointer context, GPtrArray *names);

/* The health of @context; the caller owns a reference. */
GstVkgdrHealth *gst_vkgdr_health_get (
    const vkgdr_cuda *cuda, CUcontext context);
void gst_vkgdr_health_unref (GstVkgdrHealth *self);

/* Sets the function that names the running kernels when a device fails. */
void gst_vkgdr_health_set_suspects_func (GstVkgdrSuspectsFunc func);

/* FALSE with @error set if the context is lost. */
gboolean gst_vkgdr_health_check (GstVkgdrHealth *self, GError **error);

/* Like gst_vkgdr_check (). If @result means that the context is lost, the error
 * of this and of later calls names the kernels that may be the cause. */
gboolean gst_vkgdr_health_check_result (
    GstVkgdrHealth *self, CUresult result, const gchar *what, GError **error);

/* If the context is lost, asks the driver, and forgets the error if the driver
 * does not report it any more. Returns whether the context can be used. */
gboolean gst_vkgdr_health_try_recover (GstVkgdrHealth *self);

/* Must be called when a kernel runs for longer than its limit (@error tells
 * which one), and when it has ended. Calls are counted. */
void gst_vkgdr_health_begin_hang (GstVkgdrHealth *self, const GError *error);
void gst_vkgdr_health_end_hang (GstVkgdrHealth *self);

/* Whether a kernel runs for longer than its limit. */
gboolean gst_vkgdr_health_is_hung (GstVkgdrHealth *self);

/* FALSE with @error set if a kernel runs for longer than its limit. Must be
 * called before driver calls that block until the device is idle, if a thread
 * waits for their result. */
gboolean gst_vkgdr_health_check_hang (GstVkgdrHealth *self, GError **error);

/* Must be called between two queries of the device, by a thread that has waited
 * for it since @since (monotonic time). A wait inside the driver ends only when
 * the device is done; if the device hangs, it never ends. So a thread that
 * waits queries, pauses and queries again. The pauses grow with the time waited
 * so far, so that both the delay and the cost of the queries stay within a few
 * percent of it. FALSE with @error set if the wait should be given up, because
 * a kernel does not end, and the wait has lasted so long that what it waits
 * for is certainly queued behind that kernel. */
gboolean gst_vkgdr_health_pause (
    GstVkgdrHealth *self, gint64 since, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_HEALTH_H__ */
