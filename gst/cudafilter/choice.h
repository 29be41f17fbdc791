/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/choice.h: what the properties request, and what runs
 *
 * Knows how users name kernels, and how to load each kind. A kernel with its
 * parameters and its output is called a pair. Knows nothing of elements and
 * threads, and does not decide when kernels are loaded.
 */

#ifndef __GST_CUDA_CHOICE_H__
#define __GST_CUDA_CHOICE_H__

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* The values of the properties. All except kernel_name may be NULL. */
typedef struct {
  gchar *kernel_name;
  gchar *location;
  gchar *source;
  gchar *pixel;
  gchar *compiler_options;
  gchar *entry;
  gchar *block; /* "": the library chooses; the same for the next field */
  gchar *grid;
} GstCudaChoice;

/* A kernel that is loaded. Immutable; shared by references. */
typedef struct {
  GstVkgdrKernel *kernel;
  const GstEffect *effect; /* or NULL for a user's kernel */
  gchar *file;             /* the file that it was read from, or NULL */
  gboolean is_pixel;
  GstStructure *pixel_params; /* with the names and types of a pixel's
                               * parameters, or NULL */
} GstCudaLoaded;

/* Returns the requested effect, or NULL for a user's kernel, or if no effect
 * has the name. */
const GstEffect *gst_cuda_choice_get_effect (const GstCudaChoice *self);

/* Returns the requested file, or NULL if the kernel does not come from a file.
 */
const gchar *gst_cuda_choice_get_file (const GstCudaChoice *self);

/* Sets *@options to the compiler's options, which the caller unrefs, or to NULL
 * if there are none. Returns FALSE with @error set (GST_VKGDR_ERROR_ARGUMENT)
 * if an option is unknown. */
gboolean gst_cuda_choice_get_options (const GstCudaChoice *self,
    GstVkgdrCompileOptions **options, GError **error);

gboolean gst_cuda_choice_is_pixel (const GstCudaChoice *self);

/* Compiles or loads the requested kernel. @params (nullable) are the parameters
 * of a pixel's expression. Returns NULL with @error set. Thread-safe; takes as
 * long as a compilation. */
GstCudaLoaded *gst_cuda_choice_load (const GstCudaChoice *self,
    GstVkgdrContext *context, const GstStructure *params, GError **error);

GstCudaLoaded *gst_cuda_loaded_ref (GstCudaLoaded *self);
void gst_cuda_loaded_unref (GstCudaLoaded *self);

gboolean gst_cuda_loaded_may_run_in_place (const GstCudaLoaded *self);

/* Properties that were set since the worker took the last request. */
typedef enum {
  GST_CUDA_CHANGED_CHOICE = 1 << 0,
  GST_CUDA_CHANGED_PARAMS = 1 << 1,
  GST_CUDA_CHANGED_OUTPUT = 1 << 2
} GstCudaChanges;

/* The values of the properties. */
typedef struct {
  GstCudaChoice choice;
  GstStructure *params; /* or NULL */
  GstCaps *output;      /* or NULL */
  guint changes;        /* of GstCudaChanges */
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
} GstCudaPair;

/* Returns a pair of @loaded, the user's @params (nullable) and the output of
 * @request, or NULL with @error set if the params do not fit the kernel. */
GstCudaPair *gst_cuda_pair_new (GstCudaLoaded *loaded,
    const GstStructure *params, const GstCudaRequest *request, GError **error);

GstCudaPair *gst_cuda_pair_ref (GstCudaPair *self);
void gst_cuda_pair_unref (GstCudaPair *self);

G_END_DECLS

#endif /* __GST_CUDA_CHOICE_H__ */
