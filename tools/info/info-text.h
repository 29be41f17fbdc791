/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-text.h: the report as text, for users
 */

#ifndef INFO_TEXT_H
#define INFO_TEXT_H

#include "info-report.h"

/* Prints the report on standard output. */
void info_text_print (const InfoReport *report);

#endif /* INFO_TEXT_H */
