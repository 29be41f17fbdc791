/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pair.h: what runs on a frame: a kernel and its parameters
 *
 * The worker makes a pair, and the streaming thread swaps it in between two
 * frames. From then on it does not change, except for the values of its
 * parameters, which are in an object of their own (cudafilter/params.h).
 */

#ifndef __GST_CUDA_PAIR_H__
#define __GST_CUDA_PAIR_H__

#include "cudafilter/caps.h"
#include "cudafilter/params.h"
#include "cudafilter/request.h"

G_BEGIN_DECLS

typedef struct {
  GstCudaLoaded *loaded;
  GstStructure *given; /* the params as the user gave them, or NULL */
  GstCaps *output;     /* as GstCudaRequest has it */
  gboolean output_is_in_any_memory;
  gboolean is_reload; /* of a file that changed */

  /* The values, and what they become when the pair is swapped in: NULL if they
   * stay. A value that was set after @serial stays in any case. */
  GstCudaParams *params;
  GstStructure *initial;
  guint serial;

  /* --- the streaming thread's --- */
  GstStructure *arguments; /* of the next launch; they fit the kernel */
  GstStructure *trial;     /* of the same fields: values to be checked */
  guint arguments_serial;  /* of @params, when they were read last */
} GstCudaPair;

/* gst_cuda_loaded_fit() made @arguments (nullable, taken) of @params (nullable,
 * as the user gave them). The object of parameters is attached later, by
 * gst_cuda_pair_attach(). */
GstCudaPair *gst_cuda_pair_new (GstCudaLoaded *loaded,
    const GstStructure *params, GstStructure *arguments,
    const GstCudaRequest *request);

void gst_cuda_pair_free (GstCudaPair *self);

/* Gives the pair @params, an object with the same fields. With @set_values they
 * become the pair's when it is swapped in, except those set after @serial; else
 * they stay. */
void gst_cuda_pair_attach (GstCudaPair *self, GstCudaParams *params,
    gboolean set_values, guint serial);

/* The streaming thread's: lets @initial count. TRUE if values became others. */
gboolean gst_cuda_pair_enter (GstCudaPair *self);

/* The streaming thread's, before each frame: reads the values as they are at
 * stream time @time (or GST_CLOCK_TIME_NONE: as they are). Allocates nothing if
 * nothing is controlled and no value has changed. FALSE with @error set if a
 * value does not fit the kernel: the last ones that did are used. */
gboolean gst_cuda_pair_refresh (
    GstCudaPair *self, GstClockTime time, GError **error);

G_END_DECLS

#endif /* __GST_CUDA_PAIR_H__ */
