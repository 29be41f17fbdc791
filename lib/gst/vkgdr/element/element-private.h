/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/element-private.h: what the files of the room element share
 */

#ifndef __GST_VKGDR_ELEMENT_PRIVATE_H__
#define __GST_VKGDR_ELEMENT_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrbasetransform.h>
#include <gst/vkgdr/gstvkgdrelement.h>
#include <gst/vkgdr/gstvkgdrfilter.h>
#include <gst/vkgdr/gstvkgdrvideofilter.h>
#include "exchange/exchange-private.h"

G_BEGIN_DECLS

/* The element's context, which a neighbour's thread may ask for while it starts
 * or stops; the caller's, or NULL. */
GstVkgdrContext *gst_vkgdr_base_transform_ref_context (
    GstVkgdrBaseTransform *self);

/* Whether @query is for a context of a kind that our elements share. */
gboolean gst_vkgdr_element_is_asked (GstQuery *query);

/* For an element that is asked before it starts, and has to use @device: sets
 * @context, which is unset, to what its start would find, and tells the others.
 * Fails silently: the start tells why. */
void gst_vkgdr_element_open_device (
    GstElement *element, gint device, GstVkgdrContext **context);

G_END_DECLS

#endif /* __GST_VKGDR_ELEMENT_PRIVATE_H__ */
