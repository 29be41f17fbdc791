/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/process.h: another program, run in a folder of its own
 *
 * Knows nothing of what the program does.
 */

#ifndef __GST_VKGDR_PROCESS_H__
#define __GST_VKGDR_PROCESS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* A new folder for temporary files, or NULL with @error set; and its end, with
 * all that is in it. */
gchar *gst_vkgdr_process_make_folder (GError **error);
void gst_vkgdr_process_remove_folder (const gchar *folder);

/* Runs @argv, whose first word is the program's path, without a shell, and
 * waits for its end, at most @seconds: then it is killed, and what it started,
 * too. What it leaves in its temporary folder goes to @folder.
 *
 * What it printed, on either stream, is @output, in UTF-8, in any case; the
 * caller frees it. Returns whether it ended with 0; else @error is
 * GST_VKGDR_ERROR_NO_DRIVER where it could not be started,
 * GST_VKGDR_ERROR_COMPILE where it ended with another status, and
 * GST_VKGDR_ERROR_FAILED where it crashed or was killed. Thread-safe. */
gboolean gst_vkgdr_process_run (const gchar *const *argv, const gchar *folder,
    guint seconds, gchar **output, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROCESS_H__ */
