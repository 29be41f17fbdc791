/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/image.h: the kind of a file of kernel code, and the kernels in PTX
 * text
 *
 * Reads bytes only. Knows neither driver nor compiler.
 */

#ifndef __GST_VKGDR_IMAGE_H__
#define __GST_VKGDR_IMAGE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum {
  GST_VKGDR_IMAGE_UNKNOWN,
  GST_VKGDR_IMAGE_SOURCE,
  GST_VKGDR_IMAGE_PTX,
  GST_VKGDR_IMAGE_CUBIN, /* any ELF file, also an image of softcuda */
  GST_VKGDR_IMAGE_FATBIN
} GstVkgdrImageKind;

/* Returns the content of a regular file of any kind and of a limited size, or
 * NULL with GST_VKGDR_ERROR_NOT_FOUND if it cannot be read. */
GBytes *gst_vkgdr_image_read (const gchar *path, GError **error);

GstVkgdrImageKind gst_vkgdr_image_get_kind (GBytes *image);

/* Returns whether the kind of @image is known. If not, sets @error to
 * GST_VKGDR_ERROR_IMAGE. */
gboolean gst_vkgdr_image_check_kind (
    GBytes *image, const gchar *name, GError **error);

/* Returns whether a cubin or a fatbin has all the data that its headers refer
 * to. The driver does not know the size of an image, and would read beyond its
 * end. */
gboolean gst_vkgdr_image_is_complete (GBytes *image);

/* Returns the names of the kernels in PTX text, in their order,
 * NULL-terminated. */
gchar **gst_vkgdr_image_list_ptx_entries (const gchar *ptx);

/* Returns the sizes (gsize) of the parameters of @entry, or NULL if @ptx does
 * not have it. Appends the offsets (gsize) of the parameters in the arguments
 * to @offsets, if that is not NULL. */
GArray *gst_vkgdr_image_read_ptx_params (
    const gchar *ptx, const gchar *entry, GArray *offsets);

G_END_DECLS

#endif /* __GST_VKGDR_IMAGE_H__ */
