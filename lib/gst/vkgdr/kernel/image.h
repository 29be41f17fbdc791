/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/image.h: what a file of kernel code is, and what PTX says of itself
 *
 * Looks at bytes alone; knows neither driver nor compiler.
 */

#ifndef __GST_VKGDR_IMAGE_H__
#define __GST_VKGDR_IMAGE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum {
  GST_VKGDR_IMAGE_UNKNOWN,
  GST_VKGDR_IMAGE_SOURCE,
  GST_VKGDR_IMAGE_PTX,
  GST_VKGDR_IMAGE_CUBIN, /* any ELF file: softcuda's images too */
  GST_VKGDR_IMAGE_FATBIN
} GstVkgdrImageKind;

/* The content of a regular file of a bounded size, of whatever kind; NULL with
 * GST_VKGDR_ERROR_NOT_FOUND where it cannot be read. */
GBytes *gst_vkgdr_image_read (const gchar *path, GError **error);

GstVkgdrImageKind gst_vkgdr_image_get_kind (GBytes *image);

/* FALSE with GST_VKGDR_ERROR_IMAGE where @image is of no kind. */
gboolean gst_vkgdr_image_check_kind (
    GBytes *image, const gchar *name, GError **error);

/* Whether everything that a cubin's or a fatbin's headers point at is there:
 * the driver is not told an image's size, and reads on. */
gboolean gst_vkgdr_image_is_complete (GBytes *image);

/* The kernels that PTX text defines, in its order; ends with NULL. */
gchar **gst_vkgdr_image_list_ptx_entries (const gchar *ptx);

/* The sizes of @entry's parameters, gsize each; NULL where @ptx does not have
 * it. */
GArray *gst_vkgdr_image_read_ptx_params (const gchar *ptx, const gchar *entry);

G_END_DECLS

#endif /* __GST_VKGDR_IMAGE_H__ */
