/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/file.h: reads regular files of a bounded size
 *
 * Knows nothing of what is in them.
 */

#ifndef __GST_VKGDR_FILE_H__
#define __GST_VKGDR_FILE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Returns the content of the file at @path. Never blocks on a FIFO or a device,
 * and reads at most @max_size bytes. Returns NULL with @error set to
 * GST_VKGDR_ERROR_NOT_FOUND if the file cannot be read, is not a regular file,
 * or is larger. Thread-safe. */
GBytes *gst_vkgdr_file_read (const gchar *path, gsize max_size, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FILE_H__ */
