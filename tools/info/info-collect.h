/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-collect.h: collects data from the drivers
 */

#ifndef INFO_COLLECT_H
#define INFO_COLLECT_H

#include "info-report.h"

/* Fills @report. The caller clears it with info_report_clear(). Needs
 * gst_vkgdr_init(). */
void info_collect (InfoReport *report);

#endif /* INFO_COLLECT_H */
