/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/request.h: what the properties ask for
 *
 * The element has one that property setters write to. At the end of a
 * g_object_set() a copy goes to the worker, so that what was set together is
 * built together.
 */

#ifndef __GST_CUDA_REQUEST_H__
#define __GST_CUDA_REQUEST_H__

#include "cudafilter/choice.h"

G_BEGIN_DECLS

typedef struct {
  GstCudaChoice choice;
  GstStructure *params; /* as the user gave them, or NULL */
  GstCaps *output;      /* gst_cuda_caps_complete() made it, or NULL */
  gboolean output_is_in_any_memory;

  /* What was set since the worker took a request. */
  gboolean choice_is_new;
  gboolean params_are_new;
  gboolean output_is_new;
  guint serial; /* of the element's params object when @params were set */
} GstCudaRequest;

/* A copy, which gst_cuda_request_free() frees. */
GstCudaRequest *gst_cuda_request_copy (const GstCudaRequest *self);

/* Whether anything was set. */
gboolean gst_cuda_request_is_new (const GstCudaRequest *self);

/* From now on nothing counts as new. */
void gst_cuda_request_set_old (GstCudaRequest *self);

/* What was new in @earlier, which nobody took, is new in @self, too. */
void gst_cuda_request_inherit (
    GstCudaRequest *self, const GstCudaRequest *earlier);

void gst_cuda_request_clear (GstCudaRequest *self);
void gst_cuda_request_free (GstCudaRequest *self);

G_END_DECLS

#endif /* __GST_CUDA_REQUEST_H__ */
