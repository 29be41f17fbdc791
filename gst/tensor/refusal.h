/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/refusal.h: the reason why vkgdrtensor and vkgdrinfer refuse caps
 */

#ifndef __GST_TENSOR_REFUSAL_H__
#define __GST_TENSOR_REFUSAL_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* From now on, an error is posted if @pad, a sink pad of @element, does not
 * accept the caps that it is sent. GStreamer's own error would be that of the
 * source, and would have no reason. */
void gst_tensor_report_refused_caps (GstElement *element, GstPad *pad);

G_END_DECLS

#endif /* __GST_TENSOR_REFUSAL_H__ */
