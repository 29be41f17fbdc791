/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrprivate.h: what the files of libgstvkgdr-1.0 tell each other
 *
 * The CUDA driver reaches the library here, as a table of functions; no public
 * header and no element knows a CUDA type.
 */

#ifndef __GST_VKGDR_PRIVATE_H__
#define __GST_VKGDR_PRIVATE_H__

#include <gst/vkgdr/vkgdr.h>
#include "driver.h"

G_BEGIN_DECLS

/* The driver's entry points; valid as long as the process. */
const vkgdr_cuda *gst_vkgdr_context_get_driver (GstVkgdrContext *context);

/* The handle of libvkgdr; valid as long as the context. */
vkgdr_t gst_vkgdr_context_get_handle (GstVkgdrContext *context);

typedef enum { GST_VKGDR_UPLOAD = 0, GST_VKGDR_DOWNLOAD = 1 } GstVkgdrDirection;

/* One stream for DMA a direction, so that uploads and downloads run side by
 * side. Made at first use; NULL with @error set on failure. */
GstVkgdrStream *gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *allocator, GstVkgdrDirection direction, GError **error);

/* Whether the CPU reads the window as fast as its own memory. */
gboolean gst_vkgdr_context_is_host_cached (GstVkgdrContext *context);

/* CUDA events without timing, recycled: making one costs more than using it.
 * take () needs the context to be pushed, and may return NULL with @error. */
CUevent gst_vkgdr_context_take_event (GstVkgdrContext *context, GError **error);
void gst_vkgdr_context_give_event (GstVkgdrContext *context, CUevent event);

/* Sets @error from a CUDA result: "what: CUDA_ERROR_NAME (text)". Returns
 * whether @result is CUDA_SUCCESS, so that a call can be wrapped in it. */
gboolean gst_vkgdr_check (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error);

/* Sets @error from vkgdr_last_error (). */
void gst_vkgdr_set_last_error (GError **error, GstVkgdrError code);

G_END_DECLS

#endif /* __GST_VKGDR_PRIVATE_H__ */
