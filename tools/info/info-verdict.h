/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.h: whether a device can be used, as a sentence, with a remedy
 */

#ifndef INFO_VERDICT_H
#define INFO_VERDICT_H

#include "info-finding.h"
#include "info-report.h"

/* Returns: (transfer full): the verdict on a device. */
InfoVerdict *info_verdict_of_device (
    const InfoReport *report, const InfoDevice *device);

/* Returns: (transfer full): the verdict on a machine without a device. */
InfoVerdict *info_verdict_of_nothing (const InfoReport *report);

#endif /* INFO_VERDICT_H */
