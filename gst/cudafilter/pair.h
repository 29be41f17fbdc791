/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pair.h: what the properties request, and what runs
 *
 * A pair is a kernel with its parameters and its output. It never changes: new
 * values of the parameters make a new pair. Knows neither the element nor
 * threads.
 */

#ifndef __GST_CUDA_PAIR_H__
#define __GST_CUDA_PAIR_H__

#include "cudafilter/choice.h"

G_BEGIN_DECLS

/* Properties that were set since the worker took the last request. */
typedef enum {
  GST_CUDA_NEWS_CHOICE = 1 << 0,
  GST_CUDA_NEWS_PARAMS = 1 << 1,
  GST_CUDA_NEWS_OUTPUT = 1 << 2
} GstCudaNews;

/* The values of the properties. */
typedef struct {
  GstCudaChoice choice;
  GstStructure *params; /* or NULL */
  GstCaps *output;      /* from gst_cuda_caps_complete (), or NULL */
  gboolean output_is_in_any_memory;
  guint news; /* of GstCudaNews */
} GstCudaRequest;

/* Replaces the values of @self by copies of those of @other. */
void gst_cuda_request_assign (
    GstCudaRequest *self, const GstCudaRequest *other);

void gst_cuda_request_clear (GstCudaRequest *self);

/* Immutable; shared by references. */
typedef struct {
  GstCudaLoaded *loaded;
  GstStructure *given;     /* the params that the user set, or NULL */
  GstStructure *arguments; /* of each launch; checked against the kernel */
  GstCaps *output;         /* the same as in GstCudaRequest */
  gboolean output_is_in_any_memory;
  gboolean is_reload; /* the kernel's file has changed */
} GstCudaPair;

/* Returns a pair of @loaded, the user's @params (nullable) and the output of
 * @request, or NULL with @error set if the params do not fit the kernel. */
GstCudaPair *gst_cuda_pair_new (GstCudaLoaded *loaded,
    const GstStructure *params, const GstCudaRequest *request, GError **error);

GstCudaPair *gst_cuda_pair_ref (GstCudaPair *self);
void gst_cuda_pair_unref (GstCudaPair *self);

G_END_DECLS

#endif /* __GST_CUDA_PAIR_H__ */
