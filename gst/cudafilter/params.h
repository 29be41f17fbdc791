/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/params.h: a kernel's parameters as an object with properties
 *
 * Knows values and their types; nothing of kernels.
 */

#ifndef __GST_CUDA_PARAMS_H__
#define __GST_CUDA_PARAMS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_PARAMS (gst_cuda_params_get_type ())

/* An object with a controllable property for each number and boolean in a list
 * of parameters. Lists of the same names, types and defaults share a class,
 * which is made when it is first needed. Thread-safe. */
GType gst_cuda_params_get_type (void);
G_DECLARE_DERIVABLE_TYPE (
    GstCudaParams, gst_cuda_params, GST, CUDA_PARAMS, GstObject)

struct _GstCudaParamsClass {
  GstObjectClass parent_class;
};

/* @values (nullable) have all parameters in their order; @defaults (nullable)
 * what the properties say of theirs, 0 where it has none. The object is called
 * "params"; the reference is not floating. */
GstCudaParams *gst_cuda_params_new (
    const GstStructure *values, const GstStructure *defaults);

/* Whether an object made of these would have the same class. */
gboolean gst_cuda_params_has_list (GstCudaParams *self,
    const GstStructure *values, const GstStructure *defaults);

/* Sets the values at once, except those that were set after @serial (G_MAXUINT:
 * all). @values must have the fields that it was made of. Nobody is notified,
 * so that this can be done with a lock held. */
void gst_cuda_params_set_values (
    GstCudaParams *self, const GstStructure *values, guint serial);

/* Notifies of all properties. */
void gst_cuda_params_notify (GstCudaParams *self);

/* The values as they are now, which the caller frees; NULL where there are
 * none. @serial (nullable) becomes another number each time that one is set. */
GstStructure *gst_cuda_params_get_values (GstCudaParams *self, guint *serial);

/* The same number as gst_cuda_params_get_values() gives. */
guint gst_cuda_params_get_serial (GstCudaParams *self);

/* Overwrites the fields of @values (nullable), which
 * gst_cuda_params_get_values() made, without an allocation; @serial as there.
 */
void gst_cuda_params_read (
    GstCudaParams *self, GstStructure *values, guint *serial);

/* Sets those fields of @params which are parameters to the values as they are
 * now. */
void gst_cuda_params_update (GstCudaParams *self, GstStructure *params);

G_END_DECLS

#endif /* __GST_CUDA_PARAMS_H__ */
