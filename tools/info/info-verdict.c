/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.c: whether a device can be used, as a sentence, with a remedy
 *
 * Only makes the sentences. info-judge.c finds what is wrong with a device.
 */

#include "info-verdict.h"

#include "info-judge.h"
#include "info-remedy.h"

/* Returns: (nullable): the texts of the findings, or their remedies. */
static gchar *
join (const InfoVerdict *verdict, gboolean remedies)
{
  GString *line = g_string_new (NULL);
  guint i;

  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);
    const gchar *part = remedies ? finding->remedy : finding->text;

    if (part)
      g_string_append_printf (line, "%s%s", line->len ? "; " : "", part);
  }
  return g_string_free (line, line->len == 0);
}

static void
put_in_words (InfoVerdict *verdict)
{
  gchar *findings = join (verdict, FALSE);

  verdict->text = g_strdup_printf ("%s%s",
      verdict->level == INFO_LIMITED ? "works, but " : "not usable: ",
      findings ? findings : "");
  verdict->remedy = join (verdict, TRUE);
  g_free (findings);
}

InfoVerdict *
info_verdict_of_device (const InfoReport *report, const InfoDevice *device)
{
  InfoVerdict *verdict = info_verdict_new ();
  gchar *size;

  info_judge (verdict, report, device);
  if (verdict->level != INFO_READY) {
    put_in_words (verdict);
    return verdict;
  }
  size = info_format_bytes (device->info.window_size);
  verdict->text = g_strdup_printf (
      "ready: the CPU writes directly into %s of the GPU's memory", size);
  g_free (size);
  return verdict;
}

InfoVerdict *
info_verdict_of_nothing (const InfoReport *report)
{
  InfoVerdict *verdict = info_verdict_new ();

  info_verdict_add (verdict, INFO_UNUSABLE, "cuda-driver",
      g_strdup ("there is no CUDA driver with a device"),
      info_remedy_cuda (&report->machine));
  put_in_words (verdict);
  return verdict;
}
