/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/choice.h: which kernel is asked for, and what came of it
 *
 * Knows the ways in which a kernel can be named, and how each is loaded;
 * nothing of elements, nor of when that happens.
 */

#ifndef __GST_CUDA_CHOICE_H__
#define __GST_CUDA_CHOICE_H__

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* What the properties of the same names say; all but kernel_name may be
 * NULL. */
typedef struct {
  gchar *kernel_name;
  gchar *location;
  gchar *source;
  gchar *pixel;
  gchar *compiler_options;
  gchar *entry;
  gchar *block; /* "" where it is chosen, as the next */
  gchar *grid;
} GstCudaChoice;

/* A kernel that is loaded. Immutable; shared by references. */
typedef struct {
  GstVkgdrKernel *kernel;
  const GstEffect *effect; /* that it is, or NULL: a user's */
  gchar *file;             /* that it was read from, or NULL */
  gboolean is_pixel;
  GstStructure *pixel_params; /* whose names and types a pixel's has, or NULL */
} GstCudaLoaded;

void gst_cuda_choice_copy (GstCudaChoice *self, const GstCudaChoice *other);
void gst_cuda_choice_clear (GstCudaChoice *self);

/* The effect that is asked for; NULL where it is a user's kernel, or a name
 * that no effect has. */
const GstEffect *gst_cuda_choice_get_effect (const GstCudaChoice *self);

/* The file that is asked for, or NULL where the kernel comes from elsewhere. */
const gchar *gst_cuda_choice_get_file (const GstCudaChoice *self);

/* The options that a source is compiled with; *@options is NULL if there are
 * none, and else the caller unrefs it. FALSE with @error
 * (GST_VKGDR_ERROR_ARGUMENT) if one is not known. */
gboolean gst_cuda_choice_get_options (const GstCudaChoice *self,
    GstVkgdrCompileOptions **options, GError **error);

/* Whether a pixel's expression is asked for. */
gboolean gst_cuda_choice_is_pixel (const GstCudaChoice *self);

/* Compiles what is asked for; @params (nullable) name a pixel's parameters.
 * NULL with @error. Thread-safe; takes as long as a compiler does. */
GstCudaLoaded *gst_cuda_choice_load (const GstCudaChoice *self,
    GstVkgdrContext *context, const GstStructure *params, GError **error);

GstCudaLoaded *gst_cuda_loaded_ref (GstCudaLoaded *self);
void gst_cuda_loaded_unref (GstCudaLoaded *self);

/* The arguments of a launch if the user gives @params (nullable): the same, or
 * for an effect all that it has, in its order. The caller frees *@arguments,
 * which are NULL if the kernel takes none. FALSE with @error
 * (GST_VKGDR_ERROR_ARGUMENT) if they do not fit. Thread-safe. */
gboolean gst_cuda_loaded_fit (const GstCudaLoaded *self,
    const GstStructure *params, GstStructure **arguments, GError **error);

/* Whether the output may be written over the input. */
gboolean gst_cuda_loaded_may_run_in_place (const GstCudaLoaded *self);

G_END_DECLS

#endif /* __GST_CUDA_CHOICE_H__ */
