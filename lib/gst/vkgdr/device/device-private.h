/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/device-private.h: the interface of the folder device for the other
 * folders, which docs/architecture.md calls rooms
 *
 * The CUDA driver is a table of functions, which the other rooms get here. No
 * public header and no element uses a CUDA type.
 */

#ifndef __GST_VKGDR_DEVICE_PRIVATE_H__
#define __GST_VKGDR_DEVICE_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrcontext.h>
#include <gst/vkgdr/gstvkgdrdevice.h>
#include <gst/vkgdr/gstvkgdrerror.h>

#include "device/cudalib.h"
#include "device/health.h"
#include "driver.h"

G_BEGIN_DECLS

/* The driver's entry points; valid as long as the process. */
const vkgdr_cuda *gst_vkgdr_context_get_driver (GstVkgdrContext *context);

/* FALSE with @error set if the context was made by g_object_new (). */
gboolean gst_vkgdr_context_check_usable (
    GstVkgdrContext *context, GError **error);

/* The handle of libvkgdr; valid as long as the context. */
vkgdr_t gst_vkgdr_context_get_handle (GstVkgdrContext *context);

/* Whether memory with a host pointer can be allocated. The results of this and
 * of the next three functions do not change while the context exists. */
gboolean gst_vkgdr_context_has_window (GstVkgdrContext *context);

/* Whether most of the device's memory is outside the window. */
gboolean gst_vkgdr_context_has_small_window (GstVkgdrContext *context);

/* Why there is no window, and what the user can do about it: two parts of a
 * sentence without a full stop, owned by @context; "" if there is a window. */
const gchar *gst_vkgdr_context_get_window_reason (GstVkgdrContext *context);
const gchar *gst_vkgdr_context_get_window_remedy (GstVkgdrContext *context);

/* Whether the CPU reads the window as fast as its own memory. */
gboolean gst_vkgdr_context_is_host_cached (GstVkgdrContext *context);

/* Whether pointers of one context are valid in the other: both have the same
 * CUDA context. */
gboolean gst_vkgdr_context_shares (
    GstVkgdrContext *context, GstVkgdrContext *other);

/* The device's compute capability, 90 for 9.0, or 0 with @error set. The second
 * function needs no context. */
gint gst_vkgdr_context_get_capability (
    GstVkgdrContext *context, GError **error);
gint gst_vkgdr_read_capability (
    const vkgdr_cuda *cuda, CUdevice device, GError **error);

/* The health of its CUDA context; valid as long as @context. */
GstVkgdrHealth *gst_vkgdr_context_get_health (GstVkgdrContext *context);

/* A reference for a thread of the library, which drops it soon after the last
 * other reference. GStreamer's leak tracer does not report a context that only
 * has such references, since gst_deinit () may be called before the thread
 * drops it. */
GstVkgdrContext *gst_vkgdr_context_ref_in_background (GstVkgdrContext *context);
void gst_vkgdr_context_unref_in_background (GstVkgdrContext *context);

/* Sets *@context, a variable of the caller's, if it is NULL or not on @device.
 * An element uses the first context that it finds, in GStreamer's usual order:
 * its own, that of a neighbour, that of the application, and then a new one. A
 * new one uses the CUDA context of GStreamer's own CUDA elements if there is
 * one. @may_query: whether to ask the neighbours, which is not possible while
 * one of them is answered. */
gboolean gst_vkgdr_context_find (GstElement *element, gint device,
    gboolean may_query, GstVkgdrContext **context, GError **error);

/* Sets *@context, which must be NULL, to the context in @gst_context if it
 * belongs to @device, or to any device if that is -1. Returns whether it did.
 */
gboolean gst_vkgdr_context_adopt (GstElement *element, GstContext *gst_context,
    gint device, GstVkgdrContext **context);

/* As gst_vkgdr_context_push (), but returns the driver's error, and does not
 * change the health of the context, so locks may be held. */
CUresult gst_vkgdr_context_try_push (GstVkgdrContext *context);

/* Returns a weak reference in which the room memory keeps the allocator that
 * the elements of @context share. Must be used with the object lock of @context
 * held. */
GWeakRef *gst_vkgdr_context_get_allocator_slot (GstVkgdrContext *context);

/* Takes a recycled CUDA event without timing, because making one costs more
 * than using it. Must be called with the context pushed. May return NULL with
 * @error set. */
CUevent gst_vkgdr_context_take_event (GstVkgdrContext *context, GError **error);
void gst_vkgdr_context_give_event (GstVkgdrContext *context, CUevent event);

/* Sets @error from a CUDA result: "what: CUDA_ERROR_NAME (text)". Returns
 * whether @result is CUDA_SUCCESS. */
gboolean gst_vkgdr_check (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error);

/* The same, but @context does not have to be current. If the device failed, the
 * error of both gst_vkgdr_check () and this function names the kernels that may
 * be the cause. */
gboolean gst_vkgdr_context_check (GstVkgdrContext *context, CUresult result,
    const gchar *what, GError **error);

/* Sets @error to the same text, without a check of the context's health. */
void gst_vkgdr_set_cuda_error (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error);

/* Whether @result may mean that the CUDA context cannot be used any more. */
gboolean gst_vkgdr_is_lost (CUresult result);

/* Must be called after a subclass's function failed, because functions of
 * language bindings may fail without an error. If *@error is NULL, sets it to
 * "@what failed, and gave no reason". */
void gst_vkgdr_ensure_error (GError **error, const gchar *what);

/* Sets @error from vkgdr_last_error (). */
void gst_vkgdr_set_last_error (GError **error, GstVkgdrError code);

G_END_DECLS

#endif /* __GST_VKGDR_DEVICE_PRIVATE_H__ */
