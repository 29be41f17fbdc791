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

/* Whether @query asks for a context of a type that this library's elements
 * share. */
gboolean gst_vkgdr_element_is_context_query (GstQuery *query);

/* For an element with the property `device` that gets a context query before it
 * starts. Sets *@context, which must be NULL, to the context that the element
 * will use after its start: an existing one, or a new one, which is announced.
 * Fails silently, because the start will report the error. */
void gst_vkgdr_element_open_device (
    GstElement *element, gint device, GstVkgdrContext **context);

G_END_DECLS

#endif /* __GST_VKGDR_ELEMENT_PRIVATE_H__ */
