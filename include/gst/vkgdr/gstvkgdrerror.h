/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrerror.h: the errors of the library
 *
 * The whole library has one error domain.
 */

#ifndef __GST_VKGDR_ERROR_H__
#define __GST_VKGDR_ERROR_H__

#include <gst/vkgdr/vkgdr-prelude.h>

G_BEGIN_DECLS

/**
 * GstVkgdrError:
 * @GST_VKGDR_ERROR_FAILED: a call of the driver failed, and the message names
 *   the call and CUDA's error; or another operation failed
 * @GST_VKGDR_ERROR_NO_DRIVER: a required library or program is missing or too
 *   old: the Vulkan loader, the CUDA driver, the compiler of kernels (NVRTC)
 *   or GStreamer's CUDA library
 * @GST_VKGDR_ERROR_NO_DEVICE: there is no such device, or it has no memory
 *   that is device-local and host-visible
 * @GST_VKGDR_ERROR_NO_MEMORY: the window, or the device's memory, is full
 * @GST_VKGDR_ERROR_COMPILE: a source does not compile; the message holds the
 *   compiler's log
 * @GST_VKGDR_ERROR_IMAGE: a PTX, cubin or fatbin does not fit the device, or
 *   the data is not one of these
 * @GST_VKGDR_ERROR_NOT_FOUND: there is no such file, kernel, variable,
 *   attribute or effect
 * @GST_VKGDR_ERROR_ARGUMENT: an argument is invalid: the number, type or size
 *   of a parameter, or a frame's format
 *
 * Errors in the domain %GST_VKGDR_ERROR.
 *
 * Since: 0.1
 */
typedef enum {
  GST_VKGDR_ERROR_FAILED,
  GST_VKGDR_ERROR_NO_DRIVER,
  GST_VKGDR_ERROR_NO_DEVICE,
  GST_VKGDR_ERROR_NO_MEMORY,
  GST_VKGDR_ERROR_COMPILE,
  GST_VKGDR_ERROR_IMAGE,
  GST_VKGDR_ERROR_NOT_FOUND,
  GST_VKGDR_ERROR_ARGUMENT
} GstVkgdrError;

/**
 * GST_VKGDR_ERROR:
 *
 * The error domain of the library.
 *
 * Since: 0.1
 */
#define GST_VKGDR_ERROR (gst_vkgdr_error_quark ())

GST_VKGDR_API
GQuark gst_vkgdr_error_quark (void);

G_END_DECLS

#endif /* __GST_VKGDR_ERROR_H__ */
