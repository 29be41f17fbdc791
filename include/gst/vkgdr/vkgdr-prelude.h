/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vkgdr-prelude.h: common definitions for all headers of the library
 *
 * Defines how symbols are exported, and declares types that several headers
 * use.
 */

#ifndef __GST_VKGDR_PRELUDE_H__
#define __GST_VKGDR_PRELUDE_H__

#include <gst/gst.h>

#ifndef GST_VKGDR_API
#ifdef BUILDING_GST_VKGDR
#define GST_VKGDR_API GST_API_EXPORT
#else
#define GST_VKGDR_API GST_API_IMPORT
#endif
#endif

G_BEGIN_DECLS

typedef struct _GstVkgdrFence GstVkgdrFence;
typedef struct _GstVkgdrAllocator GstVkgdrAllocator;

G_END_DECLS

#endif /* __GST_VKGDR_PRELUDE_H__ */
