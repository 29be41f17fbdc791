/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/element-private.h: the interface between the files of the room
 * (folder) element
 */

#ifndef __GST_VKGDR_ELEMENT_PRIVATE_H__
#define __GST_VKGDR_ELEMENT_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrbasetransform.h>
#include <gst/vkgdr/gstvkgdrelement.h>
#include <gst/vkgdr/gstvkgdrfilter.h>
#include <gst/vkgdr/gstvkgdrvideofilter.h>
#include "exchange/exchange-private.h"

G_BEGIN_DECLS

/* Returns a reference to the element's context, or NULL. May be called from a
 * neighbour's thread while the element starts or stops. */
GstVkgdrContext *gst_vkgdr_base_transform_ref_context (
    GstVkgdrBaseTransform *self);

/* Returns a reference to *@context, which is protected by the object lock of
 * @element, or NULL. */
GstVkgdrContext *gst_vkgdr_element_ref_context (
    GstElement *element, GstVkgdrContext **context);

/* Whether the negotiated input and output are raw video. */
gboolean gst_vkgdr_filter_is_video (GstVkgdrFilter *self);

/* Sets the functions of GstVkgdrFilter's class that handle caps. */
void gst_vkgdr_filter_init_caps (GstBaseTransformClass *klass);

G_END_DECLS

#endif /* __GST_VKGDR_ELEMENT_PRIVATE_H__ */
