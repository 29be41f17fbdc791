/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info.h: the parts of vkgdr-info
 *
 * The report is the JSON that `vkgdr-info --json` writes: an object with the
 * facts about the machine, and an array "devices". Sizes are bytes, and what is
 * not known is null. A member keeps its name and its meaning.
 */

#ifndef INFO_INFO_H
#define INFO_INFO_H

#include <json-glib/json-glib.h>

/* collect.c: asks the machine and the drivers. Needs gst_vkgdr_init(). Returns:
 * (transfer full): the report. @usable is whether a device can be used. */
JsonObject *info_collect (gboolean *usable);

/* verdict.c: returns: (transfer full): the member "verdict" of @device or, if
 * that is NULL because there is no device, of @report. @probe has what was
 * found about the device beside its facts: "obstacle" (why it has no window, or
 * cannot be opened), "trial" (the result of one with a small allocation) and,
 * if elements get no memory in the window, "reason" and "remedy" (libvkgdr's;
 * the reason of "window-memory" contains the remedy). More is added to it.
 * Calls no driver. */
JsonObject *info_judge (
    JsonObject *report, JsonObject *device, JsonObject *probe);

/* output.c: returns: (transfer full): the report as text for users. */
gchar *info_to_text (JsonObject *report);

/* Returns: (transfer full): a text such as "256 MiB", "1.5 GiB" or "8". */
gchar *info_format_bytes (guint64 bytes);

#endif /* INFO_INFO_H */
