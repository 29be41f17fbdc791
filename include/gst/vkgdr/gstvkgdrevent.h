/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrevent.h: points of a stream, with their time
 *
 * Knows nothing of memory.
 */

#ifndef __GST_VKGDR_EVENT_H__
#define __GST_VKGDR_EVENT_H__

#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_EVENT (gst_vkgdr_event_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrEvent, gst_vkgdr_event, GST, VKGDR_EVENT, GstObject)

GST_VKGDR_API
GstVkgdrEvent *gst_vkgdr_event_new (GstVkgdrContext *context, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_event_record (
    GstVkgdrEvent *event, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_event_is_done (GstVkgdrEvent *event);

GST_VKGDR_API
gboolean gst_vkgdr_event_synchronize (GstVkgdrEvent *event, GError **error);

GST_VKGDR_API
gdouble gst_vkgdr_event_get_elapsed (
    GstVkgdrEvent *event, GstVkgdrEvent *start, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_stream_wait_event (
    GstVkgdrStream *stream, GstVkgdrEvent *event, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_EVENT_H__ */
