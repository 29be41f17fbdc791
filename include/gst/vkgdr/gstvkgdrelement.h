/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrelement.h: functions with which elements share a context,
 * tell of errors, and end their work
 *
 * For elements of any base class.
 */

#ifndef __GST_VKGDR_ELEMENT_H__
#define __GST_VKGDR_ELEMENT_H__

#include <gst/vkgdr/gstvkgdrbufferpool.h>
#include <gst/vkgdr/gstvkgdrcontext.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

GST_VKGDR_API
gboolean gst_vkgdr_element_ensure_context (
    GstElement *element, gint device, GstVkgdrContext **context);

GST_VKGDR_API
gboolean gst_vkgdr_element_handle_set_context (GstElement *element,
    GstContext *gst_context, gint device, GstVkgdrContext **context);

GST_VKGDR_API
gboolean gst_vkgdr_element_handle_context_query (GstElement *element,
    GstQuery *query, gint device, GstVkgdrContext **context);

GST_VKGDR_API
void gst_vkgdr_element_post_error (GstElement *element, const GError *error);

GST_VKGDR_API
void gst_vkgdr_element_forget_error (GstElement *element);

GST_VKGDR_API
void gst_vkgdr_element_post_dropped (GstElement *element, const GError *error);

GST_VKGDR_API
gboolean gst_vkgdr_element_finish_work (
    GstElement *element, GstVkgdrStream *stream);

GST_VKGDR_API
void gst_vkgdr_element_post_pool_errors (
    GstElement *element, GstVkgdrBufferPool *pool);

G_END_DECLS

#endif /* __GST_VKGDR_ELEMENT_H__ */
