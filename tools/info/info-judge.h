/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-judge.h: what is wrong with a device, and what could be better
 */

#ifndef INFO_JUDGE_H
#define INFO_JUDGE_H

#include "info-finding.h"
#include "info-report.h"

/* Adds a finding for each thing: what kind of device it is, what keeps it from
 * being used, and only where nothing does, what makes it less than it could
 * be. */
void info_judge (
    InfoVerdict *verdict, const InfoReport *report, const InfoDevice *device);

#endif /* INFO_JUDGE_H */
