/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/build.h: builds the pair for a request
 *
 * Loads the kernel, and checks whether the parameters fit. Called by the worker
 * only. Knows neither the element nor threads.
 */

#ifndef __GST_CUDA_BUILD_H__
#define __GST_CUDA_BUILD_H__

#include "cudafilter/pair.h"

G_BEGIN_DECLS

/* The state that the worker keeps between two builds. */
typedef struct {
  GstVkgdrContext *context;
  /* The kernel that was loaded for the last request, even if its parameters are
   * not set yet; NULL if it could not be loaded. */
  GstCudaLoaded *candidate;
  gboolean is_tried;
  GstStructure *tried_params; /* the params at the last load, or NULL */
} GstCudaBuild;

/* Builds the pair for @request. @running (nullable) is the kernel that
 * continues to run if there is no new one, and @given (nullable) are its
 * params. Returns NULL with @error set on failure. */
GstCudaPair *gst_cuda_build (GstCudaBuild *self, const GstCudaRequest *request,
    gboolean file_changed, GstCudaLoaded *running, const GstStructure *given,
    GError **error);

void gst_cuda_build_clear (GstCudaBuild *self);

G_END_DECLS

#endif /* __GST_CUDA_BUILD_H__ */
