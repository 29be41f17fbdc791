/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/config.h: properties that follow from the description of a tensor
 *
 * Knows neither frames nor devices.
 */

#ifndef __GST_VKGDR_TENSOR_CONFIG_H__
#define __GST_VKGDR_TENSOR_CONFIG_H__

#include <gst/vkgdr/gstvkgdrtensor.h>

G_BEGIN_DECLS

/* Whether the description is valid. If not, sets @error
 * (GST_VKGDR_ERROR_ARGUMENT). */
gboolean gst_vkgdr_tensor_config_check (
    const GstVkgdrTensorConfig *config, GError **error);

/* Whether the elements are integers. */
gboolean gst_vkgdr_tensor_config_is_integer (
    const GstVkgdrTensorConfig *config);

/* Bytes of an element. */
gsize gst_vkgdr_tensor_config_get_element_size (
    const GstVkgdrTensorConfig *config);

/* The factor by which samples are multiplied, never 0. */
gfloat gst_vkgdr_tensor_config_get_scale (const GstVkgdrTensorConfig *config);

/* The name of the type of the elements in caps. */
const gchar *gst_vkgdr_tensor_config_get_type_name (
    const GstVkgdrTensorConfig *config);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_CONFIG_H__ */
