/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-finding.h: the list of findings about a device
 */

#ifndef INFO_FINDING_H
#define INFO_FINDING_H

#include <glib.h>

typedef enum { INFO_READY, INFO_LIMITED, INFO_UNUSABLE } InfoLevel;

/**
 * InfoFinding:
 * @id: a word for programs, which stays the same
 * @text: part of a sentence for the user
 * @remedy: (nullable): what to do, if something can be done
 */
typedef struct {
  const gchar *id;
  gchar *text;
  gchar *remedy;
} InfoFinding;

/**
 * InfoVerdict:
 * @level: whether the device can be used
 * @text: the level in words, in one line
 * @remedy: (nullable): all remedies, in one line
 * @findings: (element-type InfoFinding): the reasons; at least one unless
 *   the level is `ready`
 */
typedef struct {
  InfoLevel level;
  gchar *text;
  gchar *remedy;
  GPtrArray *findings;
} InfoVerdict;

/* Returns: (transfer full): a verdict without findings and texts. */
InfoVerdict *info_verdict_new (void);

/* Takes ownership of @text and @remedy, which may be NULL. */
void info_verdict_add (InfoVerdict *verdict, InfoLevel level, const gchar *id,
    gchar *text, gchar *remedy);

void info_verdict_free (InfoVerdict *verdict);

/* Returns `ready`, `limited` or `unusable`. */
const gchar *info_level_name (InfoLevel level);

#endif /* INFO_FINDING_H */
