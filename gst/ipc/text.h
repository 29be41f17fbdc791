/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/text.h: whether a text of another process may be parsed
 *
 * GStreamer's parsers of caps and structures call themselves for each nested
 * value, so that a text with many brackets overflows the stack. They also keep
 * each name of a field until the process ends.
 */

#ifndef __GST_VKGDR_IPC_TEXT_H__
#define __GST_VKGDR_IPC_TEXT_H__

#include <glib.h>

G_BEGIN_DECLS

/* Whether GStreamer may parse the @size bytes at @text: they are UTF-8, they
 * are not nested too deeply, they contain no GstSample, and they do not have
 * too many names that are new to this process. A GstSample has caps in Base64,
 * which this function cannot check. Servers check their own texts, too.
 * Thread-safe. */
gboolean gst_vkgdr_ipc_text_is_safe (const gchar *text, gsize size);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_TEXT_H__ */
