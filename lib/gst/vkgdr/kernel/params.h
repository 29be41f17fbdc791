/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/params.h: fields of a GstStructure as arguments of a kernel
 *
 * Knows neither driver nor frames: a parameter is a size in bytes.
 */

#ifndef __GST_VKGDR_PARAMS_H__
#define __GST_VKGDR_PARAMS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Bytes of the slot that an argument gets: the largest value that a field can
 * hold. */
#define GST_VKGDR_PARAMS_SLOT_SIZE 8

/* How many arguments @params (nullable) has. */
guint gst_vkgdr_params_count (const GstStructure *params);

/* Writes @params (nullable) to @slots: each field's value in its order, as the
 * parameter of its size in @sizes wants it. @sizes is NULL where they are not
 * known; a value then has its own. Messages call the kernel @entry. FALSE with
 * @error set where number, type or size do not fit. */
gboolean gst_vkgdr_params_pack (const GstStructure *params, const gchar *entry,
    const gsize *sizes, guint n_sizes, guint8 *slots, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PARAMS_H__ */
