/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pair.h: a pair: a kernel, and the parameters that it runs with
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
  GstStructure *given; /* the params that the user set, or NULL */
  GstCaps *output;     /* the same as in GstCudaRequest */
  gboolean output_is_in_any_memory;
  gboolean is_reload; /* the kernel's file has changed */

  /* The object with the values. When the pair is swapped in, the values in
   * @initial are set in it, except for parameters that the user set after
   * @serial. If @initial is NULL, no values are set. */
  GstCudaParams *params;
  GstStructure *initial;
  guint serial;

  /* --- used by the streaming thread only --- */
  GstStructure *arguments; /* for the next launch; checked against the kernel */
  GstStructure *trial;     /* the same fields, not checked yet */
  guint arguments_serial;  /* the serial of @params at the last read */
} GstCudaPair;

/* @arguments (nullable, taken) are the result of gst_cuda_loaded_fit() for
 * @params (nullable), which the user set. gst_cuda_pair_attach() must be called
 * later. */
GstCudaPair *gst_cuda_pair_new (GstCudaLoaded *loaded,
    const GstStructure *params, GstStructure *arguments,
    const GstCudaRequest *request);

void gst_cuda_pair_free (GstCudaPair *self);

/* Sets the object with the values. @params must have the same fields as the
 * pair. With @set_values, the object gets the pair's values when the pair is
 * swapped in, except values that were set after @serial. */
void gst_cuda_pair_attach (GstCudaPair *self, GstCudaParams *params,
    gboolean set_values, guint serial);

/* Must be called for a pair that replaces @old before @old was swapped in. If
 * @old would have set initial values in the same object, and @self sets none,
 * @self sets the values of @old. */
void gst_cuda_pair_inherit (GstCudaPair *self, GstCudaPair *old);

/* Must be called by the streaming thread when the pair is swapped in: sets the
 * initial values. Returns TRUE if a value may have changed. */
gboolean gst_cuda_pair_enter (GstCudaPair *self);

/* Must be called by the streaming thread before each frame: reads the values at
 * the stream time @time; GST_CLOCK_TIME_NONE: the current values. Allocates
 * nothing if nothing is controlled and no value has changed. If a value does
 * not fit the kernel, returns FALSE with @error set, and the last valid values
 * are used. */
gboolean gst_cuda_pair_refresh (
    GstCudaPair *self, GstClockTime time, GError **error);

G_END_DECLS

#endif /* __GST_CUDA_PAIR_H__ */
