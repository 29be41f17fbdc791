/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/request.h: the pair that the properties request
 *
 * Property setters write to the request of the element. At the end of a
 * g_object_set (), the worker gets a copy of it, so that properties that were
 * set together are applied together.
 */

#ifndef __GST_CUDA_REQUEST_H__
#define __GST_CUDA_REQUEST_H__

#include "cudafilter/choice.h"

G_BEGIN_DECLS

typedef struct {
  GstCudaChoice choice;
  GstStructure *params; /* as set by the user, or NULL */
  GstCaps *output;      /* from gst_cuda_caps_complete (), or NULL */
  gboolean output_is_in_any_memory;

  /* The properties that were set since the worker got a request. */
  gboolean choice_is_new;
  gboolean params_are_new;
  gboolean output_is_new;
  /* The serial of the child object when @params were set, or when it became the
   * child later. Values that were set after it are newer than @params. */
  guint serial;
} GstCudaRequest;

/* Returns a copy, which gst_cuda_request_free () frees. */
GstCudaRequest *gst_cuda_request_copy (const GstCudaRequest *self);

/* Whether anything was set. */
gboolean gst_cuda_request_is_new (const GstCudaRequest *self);

/* Marks all properties as not new. */
void gst_cuda_request_set_old (GstCudaRequest *self);

/* Marks properties as new in @self if they are new in @earlier, a request that
 * was not used. */
void gst_cuda_request_inherit (
    GstCudaRequest *self, const GstCudaRequest *earlier);

void gst_cuda_request_clear (GstCudaRequest *self);
void gst_cuda_request_free (GstCudaRequest *self);

G_END_DECLS

#endif /* __GST_CUDA_REQUEST_H__ */
