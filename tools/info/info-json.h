/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-json.h: the report as JSON, for programs
 */

#ifndef INFO_JSON_H
#define INFO_JSON_H

#include "info-report.h"

/* The caller frees the result. Sizes are in bytes. Unknown values are null. */
gchar *info_json_write (const InfoReport *report);

#endif /* INFO_JSON_H */
