/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/capture.h: calls of the driver while the application captures a graph
 *
 * With the capture mode "global", the default, CUDA refuses calls of all
 * threads that it cannot order with the captured work, such as
 * cuEventQuery (), and invalidates the capture. The library's work is never a
 * part of the application's graph, so its threads use the mode "relaxed".
 * cuCtxRecordEvent () is refused in every mode.
 */

#ifndef GST_VKGDR_CAPTURE_H
#define GST_VKGDR_CAPTURE_H

#include "driver.h"

/* Between these two, the calls of this thread do not affect a capture. They may
 * be nested. */
void gst_vkgdr_capture_begin_calls (const vkgdr_cuda *cuda);
void gst_vkgdr_capture_end_calls (const vkgdr_cuda *cuda);

#endif /* GST_VKGDR_CAPTURE_H */
