/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/build.h: makes a pair of what is asked for
 *
 * Loads the kernel and judges whether the parameters fit. Knows neither the
 * element nor threads; all of it is the worker's.
 */

#ifndef __GST_CUDA_BUILD_H__
#define __GST_CUDA_BUILD_H__

#include "cudafilter/pair.h"

G_BEGIN_DECLS

/* The worker's memory between two builds. */
typedef struct {
  GstVkgdrContext *context;
  /* What was loaded for the choice of the last request, also if it waits for
   * parameters that fit it; NULL if that failed. */
  GstCudaLoaded *candidate;
  gboolean is_tried;
  GstStructure *tried_params; /* that a pixel's expression was compiled with */
} GstCudaBuild;

/* @running (nullable) is the kernel that goes on if nothing else is built, and
 * @given (nullable) its params. NULL with @error if @request does not lead to
 * another pair. */
GstCudaPair *gst_cuda_build (GstCudaBuild *self, const GstCudaRequest *request,
    gboolean file_changed, GstCudaLoaded *running, const GstStructure *given,
    GError **error);

void gst_cuda_build_clear (GstCudaBuild *self);

G_END_DECLS

#endif /* __GST_CUDA_BUILD_H__ */
