/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shortage.h: resources of which the machine has run out
 *
 * Knows nothing of the operation that failed.
 */

#ifndef __GST_VKGDR_SHORTAGE_H__
#define __GST_VKGDR_SHORTAGE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* If the machine has run out of a resource that compilers and drivers need,
 * returns a sentence that names it, with a blank in front; otherwise "". The
 * caller frees the text. Libraries often report only that they failed, so this
 * function is called to find the reason. Thread-safe. */
gchar *gst_vkgdr_shortage_explain (void);

G_END_DECLS

#endif /* __GST_VKGDR_SHORTAGE_H__ */
