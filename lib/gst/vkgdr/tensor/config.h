/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/config.h: what follows from the description of a tensor
 *
 * Knows neither frames nor devices.
 */

#ifndef __GST_VKGDR_TENSOR_CONFIG_H__
#define __GST_VKGDR_TENSOR_CONFIG_H__

#include <gst/vkgdr/gstvkgdrtensor.h>

G_BEGIN_DECLS

/* Whether the elements are integers. */
gboolean gst_vkgdr_tensor_config_is_integer (
    const GstVkgdrTensorConfig *config);

/* What samples are multiplied by, never 0. */
gfloat gst_vkgdr_tensor_config_get_scale (const GstVkgdrTensorConfig *config);

/* The type of the elements, as caps have it. */
const gchar *gst_vkgdr_tensor_config_get_type_name (
    const GstVkgdrTensorConfig *config);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_CONFIG_H__ */
