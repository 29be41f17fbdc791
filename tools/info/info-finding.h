/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-finding.h: what is found of a device, one after the other
 */

#ifndef INFO_FINDING_H
#define INFO_FINDING_H

#include <glib.h>

typedef enum { INFO_READY, INFO_LIMITED, INFO_UNUSABLE } InfoLevel;

/**
 * InfoFinding:
 * @id: a word for programs, which stays the same
 * @text: half a sentence for people
 * @remedy: (nullable): what to do, where something can be done
 */
typedef struct {
  const gchar *id;
  gchar *text;
  gchar *remedy;
} InfoFinding;

/**
 * InfoVerdict:
 * @level: how good it is
 * @text: that in words, in one line
 * @remedy: (nullable): all remedies, in one line
 * @findings: (element-type InfoFinding): what it is made of; one of them at
 *   least unless it is ready
 */
typedef struct {
  InfoLevel level;
  gchar *text;
  gchar *remedy;
  GPtrArray *findings;
} InfoVerdict;

/* (transfer full): without findings and words. */
InfoVerdict *info_verdict_new (void);

/* Takes over @text and @remedy, which may be NULL. */
void info_verdict_add (InfoVerdict *verdict, InfoLevel level, const gchar *id,
    gchar *text, gchar *remedy);

void info_verdict_free (InfoVerdict *verdict);

/* `ready`, `limited` or `unusable`. */
const gchar *info_level_name (InfoLevel level);

#endif /* INFO_FINDING_H */
