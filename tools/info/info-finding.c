/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-finding.c: the list of findings about a device
 *
 * Must not depend on how they are found or used.
 */

#include "info-finding.h"

static void
free_finding (InfoFinding *finding)
{
  g_free (finding->text);
  g_free (finding->remedy);
  g_free (finding);
}

void
info_verdict_add (InfoVerdict *verdict, InfoLevel level, const gchar *id,
    gchar *text, gchar *remedy)
{
  InfoFinding *finding = g_new (InfoFinding, 1);

  finding->id = id;
  finding->text = text;
  finding->remedy = remedy;
  g_ptr_array_add (verdict->findings, finding);
  verdict->level = MAX (verdict->level, level);
}

InfoVerdict *
info_verdict_new (void)
{
  InfoVerdict *verdict = g_new0 (InfoVerdict, 1);

  verdict->findings =
      g_ptr_array_new_with_free_func ((GDestroyNotify) free_finding);
  return verdict;
}

void
info_verdict_free (InfoVerdict *verdict)
{
  g_ptr_array_unref (verdict->findings);
  g_free (verdict->text);
  g_free (verdict->remedy);
  g_free (verdict);
}

const gchar *
info_level_name (InfoLevel level)
{
  static const gchar *const names[] = { "ready", "limited", "unusable" };

  return names[level];
}
