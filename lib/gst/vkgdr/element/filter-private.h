/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/filter-private.h: the interface between filter.c and filtercaps.c
 */

#ifndef __GST_VKGDR_FILTER_PRIVATE_H__
#define __GST_VKGDR_FILTER_PRIVATE_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/* Sets the functions of GstVkgdrFilter's class that handle caps. */
void gst_vkgdr_filter_init_caps (GstBaseTransformClass *klass);

G_END_DECLS

#endif /* __GST_VKGDR_FILTER_PRIVATE_H__ */
