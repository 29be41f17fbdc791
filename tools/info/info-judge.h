/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-judge.h: problems of a device, and possible improvements
 */

#ifndef INFO_JUDGE_H
#define INFO_JUDGE_H

#include "info-finding.h"
#include "info-report.h"

/* Adds findings: the kind of the device, and why it cannot be used. If it can
 * be used, adds what limits it. */
void info_judge (
    InfoVerdict *verdict, const InfoReport *report, const InfoDevice *device);

#endif /* INFO_JUDGE_H */
