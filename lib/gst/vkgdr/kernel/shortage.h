/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shortage.h: what this machine has run out of
 *
 * Knows nothing of what failed.
 */

#ifndef __GST_VKGDR_SHORTAGE_H__
#define __GST_VKGDR_SHORTAGE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* A sentence on what has run out that a compiler or a driver needs, with a
 * blank in front, or ""; the caller frees it. A library often answers only that
 * it failed, so this is asked right after a failure. Thread-safe. */
gchar *gst_vkgdr_shortage_explain (void);

G_END_DECLS

#endif /* __GST_VKGDR_SHORTAGE_H__ */
