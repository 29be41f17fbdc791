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

/* The first function creates a folder for temporary files, or returns NULL with
 * @error set. The second one removes it with its content. */
gchar *gst_vkgdr_process_make_folder (GError **error);
void gst_vkgdr_process_remove_folder (const gchar *folder);

/* Runs @argv, whose first word is the path of the program, without a shell, and
 * waits for its end. After @seconds, the program and its children are killed.
 * The program does not get the environment variables @removed, a
 * NULL-terminated list. Its temporary files are in @folder.
 *
 * Always sets @output to the text on both output streams in UTF-8, which the
 * caller frees. Returns whether the exit status was 0. Otherwise, @error is
 * GST_VKGDR_ERROR_NO_DRIVER if the program could not be started,
 * GST_VKGDR_ERROR_COMPILE if it ended with another status, and
 * GST_VKGDR_ERROR_FAILED if it crashed or was killed. Thread-safe. */
gboolean gst_vkgdr_process_run (const gchar *const *argv,
    const gchar *const *removed, const gchar *folder, guint seconds,
    gchar **output, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PROCESS_H__ */
