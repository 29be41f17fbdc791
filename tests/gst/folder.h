/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * folder.h: a folder for the files of a test
 */

#ifndef __TEST_FOLDER_H__
#define __TEST_FOLDER_H__

#include <glib.h>

G_BEGIN_DECLS

/* A checked fixture: @folder is an empty folder, which exists while a test
 * runs. */
extern gchar *folder;
void folder_setup (void);
void folder_teardown (void);

/* Writes the file @name, which may be in a folder of its own, or removes it if
 * @text is NULL. If @folder_rewrites is TRUE, a file that exists is written to,
 * instead of being replaced. Returns the path, which the caller frees. */
extern gboolean folder_rewrites;
gchar *folder_write (const gchar *name, const gchar *text);

G_END_DECLS

#endif /* __TEST_FOLDER_H__ */
