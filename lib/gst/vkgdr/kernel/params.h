/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/params.h: fields of a GstStructure as arguments of a kernel
 *
 * Knows neither driver nor frames: only the size of a parameter is known.
 */

#ifndef __GST_VKGDR_PARAMS_H__
#define __GST_VKGDR_PARAMS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The size of an argument's slot in bytes, which is that of the largest value
 * of a field. */
#define GST_VKGDR_PARAMS_SLOT_SIZE 8

/* Writes the values of the fields of @params (nullable) to @slots, in their
 * order. Each one is converted to the size of its parameter in @sizes. If
 * @sizes is NULL, the sizes are unknown, and values keep their own size. @entry
 * is the name of the kernel in messages. Returns FALSE with @error set if
 * number, type or size do not fit.
 *
 * Sets @arguments to the addresses of the values. Those of a GBytes are in
 * @params, and not in its slot. */
gboolean gst_vkgdr_params_pack (const GstStructure *params, const gchar *entry,
    const gsize *sizes, guint n_sizes, guint8 *slots, void **arguments,
    GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PARAMS_H__ */
