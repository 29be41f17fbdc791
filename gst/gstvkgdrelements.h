/* SPDX-License-Identifier: LGPL-2.1-or-later */

#ifndef __GST_VKGDR_ELEMENTS_H__
#define __GST_VKGDR_ELEMENTS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (cudafilter)
GST_ELEMENT_REGISTER_DECLARE (vkgdrdownload)
GST_ELEMENT_REGISTER_DECLARE (vkgdrtensor)
GST_ELEMENT_REGISTER_DECLARE (vkgdripcsink)
GST_ELEMENT_REGISTER_DECLARE (vkgdripcsrc)
GST_ELEMENT_REGISTER_DECLARE (vkgdrupload)

G_END_DECLS

#endif /* __GST_VKGDR_ELEMENTS_H__ */
