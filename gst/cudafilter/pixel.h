/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pixel.h: a pixel's expression as a kernel
 *
 * Knows text, and the names and types of parameters, but neither devices nor
 * elements.
 */

#ifndef __GST_CUDA_PIXEL_H__
#define __GST_CUDA_PIXEL_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The kernel's function. */
#define GST_CUDA_PIXEL_ENTRY "pixel"

/* Whether both have the same names and types in the same order, so that an
 * expression gives the same kernel. Both may be NULL. */
gboolean gst_cuda_pixel_same_params (
    const GstStructure *one, const GstStructure *other);

/* Returns the CUDA source of a kernel that runs @expression for each pixel. Its
 * name is GST_CUDA_PIXEL_ENTRY, and its further parameters are those of @params
 * (nullable). The caller frees the source. Returns NULL with @error set
 * (GST_VKGDR_ERROR_ARGUMENT) if a name is not an identifier or is already used
 * in the source, or if a value is neither a number nor a boolean. */
gchar *gst_cuda_pixel_make_source (
    const gchar *expression, const GstStructure *params, GError **error);

G_END_DECLS

#endif /* __GST_CUDA_PIXEL_H__ */
