/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/params.h: a kernel's parameters as an object with properties
 *
 * Knows values and their types, but nothing of kernels.
 */

#ifndef __GST_CUDA_PARAMS_H__
#define __GST_CUDA_PARAMS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_PARAMS (gst_cuda_params_get_type ())

/* An object with a controllable property for each number and boolean in a list
 * of parameters. Lists of the same names, types and defaults share a class,
 * which is created when it is first needed. Thread-safe. */
GType gst_cuda_params_get_type (void);
G_DECLARE_DERIVABLE_TYPE (
    GstCudaParams, gst_cuda_params, GST, CUDA_PARAMS, GstObject)

struct _GstCudaParamsClass {
  GstObjectClass parent_class;
};

/* @values (nullable) has all parameters in their order. @defaults (nullable)
 * has the default values of the properties; the others are 0. The name of the
 * object is "params". The reference is not floating. */
GstCudaParams *gst_cuda_params_new (
    const GstStructure *values, const GstStructure *defaults);

/* Whether an object with these values and defaults would have the same class.
 */
gboolean gst_cuda_params_has_list (GstCudaParams *self,
    const GstStructure *values, const GstStructure *defaults);

/* Sets all values in one step, except those that were set after @serial. With
 * G_MAXUINT, sets all without exception. @values must have the fields with
 * which the object was created. Does not notify, so it may be called with a
 * lock held. */
void gst_cuda_params_set_values (
    GstCudaParams *self, const GstStructure *values, guint serial);

/* Notifies of all properties. */
void gst_cuda_params_notify (GstCudaParams *self);

/* Returns the current values, which the caller frees, or NULL if there are
 * none. Sets @serial (nullable) to a number that changes when a value is set.
 */
GstStructure *gst_cuda_params_get_values (GstCudaParams *self, guint *serial);

/* Returns the same number as gst_cuda_params_get_values (). */
guint gst_cuda_params_get_serial (GstCudaParams *self);

/* Sets the fields of @values (nullable) to the current values, without an
 * allocation, and sets @serial as gst_cuda_params_get_values () does. */
void gst_cuda_params_read (
    GstCudaParams *self, GstStructure *values, guint *serial);

/* Sets the fields of @params that are parameters to the current values, if
 * these were set after @serial. */
void gst_cuda_params_update (
    GstCudaParams *self, GstStructure *params, guint serial);

G_END_DECLS

#endif /* __GST_CUDA_PARAMS_H__ */
