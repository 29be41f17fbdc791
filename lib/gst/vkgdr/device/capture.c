/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/capture.c: see device/capture.h
 */

#include <stdbool.h>

#include "device/capture.h"

static _Thread_local struct {
  unsigned int depth;
  bool is_relaxed;
  CUstreamCaptureMode outer; /* the thread's mode outside of the calls */
} calls;

void
gst_vkgdr_capture_begin_calls (const vkgdr_cuda *cuda)
{
  if (calls.depth++ > 0)
    return;
  calls.outer = CU_STREAM_CAPTURE_MODE_RELAXED;
  /* Drivers before CUDA 10.1 do not have this function. */
  calls.is_relaxed =
      cuda->cuThreadExchangeStreamCaptureMode
      && cuda->cuThreadExchangeStreamCaptureMode (&calls.outer) == CUDA_SUCCESS;
}

void
gst_vkgdr_capture_end_calls (const vkgdr_cuda *cuda)
{
  /* The caller may pop more often than it has pushed. */
  if (calls.depth == 0 || --calls.depth > 0)
    return;
  if (calls.is_relaxed)
    cuda->cuThreadExchangeStreamCaptureMode (&calls.outer);
}
