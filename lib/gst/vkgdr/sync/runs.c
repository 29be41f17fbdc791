/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/runs.c: see sync/runs.h
 */

#include "sync/runs.h"
#include "sync/tail.h"

/* The maximum number of later fences from which one is chosen for a query. If
 * that fence was not reached, no later fence is chosen for the next LATER_PAUSE
 * queries. */
#define LATER_MAX 8
#define LATER_PAUSE 16

GstVkgdrRun *
gst_vkgdr_runs_get_first (GstVkgdrRuns *self)
{
  return g_queue_peek_head (&self->queue);
}

static GstVkgdrRun *
take_spare (GstVkgdrRuns *self)
{
  GList *link = g_queue_pop_head_link (&self->spare);
  GstVkgdrRun *run;

  if (link)
    return link->data;
  run = g_new0 (GstVkgdrRun, 1);
  run->link.data = run;
  run->waits = gst_vkgdr_tail_new_waits ();
  return run;
}

GstVkgdrRun *
gst_vkgdr_runs_append (GstVkgdrRuns *self, GstVkgdrLauncher *launcher,
    const gchar *kernel, guint limit)
{
  GstVkgdrRun *run = take_spare (self);

  run->launcher = gst_vkgdr_launcher_ref (launcher);
  run->kernel = kernel;
  run->limit = limit;
  run->since = 0;
  g_queue_push_tail_link (&self->queue, &run->link);
  return run;
}

void
gst_vkgdr_runs_retire (GstVkgdrRuns *self, GstVkgdrRun *run)
{
  g_queue_unlink (&self->queue, &run->link);
  g_queue_push_tail_link (&self->done, &run->link);
}

void
gst_vkgdr_runs_retire_all (GstVkgdrRuns *self)
{
  while (!g_queue_is_empty (&self->queue))
    gst_vkgdr_runs_retire (self, gst_vkgdr_runs_get_first (self));
}

static gboolean
is_known (GstVkgdrRuns *self, GstVkgdrFence *fence)
{
  guint64 serial = gst_vkgdr_fence_get_serial (fence);

  return gst_vkgdr_fence_is_known (fence)
         || (serial > 0 && serial <= self->reached);
}

void
gst_vkgdr_runs_retire_known (GstVkgdrRuns *self)
{
  GstVkgdrRun *first = gst_vkgdr_runs_get_first (self);

  while (first && first->end && is_known (self, first->end)) {
    gst_vkgdr_runs_retire (self, first);
    first = gst_vkgdr_runs_get_first (self);
  }
}

CUresult
gst_vkgdr_runs_retire_ended (GstVkgdrRuns *self, guint n)
{
  const GstVkgdrRun *last = g_queue_peek_nth (&self->queue, n - 1);
  CUresult result =
      last->end ? gst_vkgdr_fence_query (last->end) : CUDA_ERROR_NOT_READY;

  if (result == CUDA_SUCCESS)
    self->reached = MAX (self->reached, gst_vkgdr_fence_get_serial (last->end));
  while (
      result == CUDA_SUCCESS && n-- > 0 && gst_vkgdr_runs_get_first (self)->end)
    gst_vkgdr_runs_retire (self, gst_vkgdr_runs_get_first (self));
  return result;
}

GstVkgdrRun *
gst_vkgdr_runs_take_done (GstVkgdrRuns *self)
{
  GList *link = g_queue_pop_head_link (&self->done);

  return link ? link->data : NULL;
}

void
gst_vkgdr_runs_give_back (GstVkgdrRuns *self, GstVkgdrRun *run)
{
  g_queue_push_head_link (&self->spare, &run->link);
}

void
gst_vkgdr_runs_clear (GstVkgdrRuns *self)
{
  GList *link;

  while ((link = g_queue_pop_head_link (&self->spare))) {
    GstVkgdrRun *run = link->data;

    g_ptr_array_unref (run->waits);
    g_free (run);
  }
}

gboolean
gst_vkgdr_runs_is_open (GstVkgdrRuns *self)
{
  const GstVkgdrRun *last = g_queue_peek_tail (&self->queue);

  return last && last->end && gst_vkgdr_fence_is_deferred (last->end);
}

/* --- kernels that share a fence --------------------------------------------
 */

/* The next kernel that ends with the same fence as @run, or NULL. */
static const GstVkgdrRun *
next_of_group (const GstVkgdrRun *run)
{
  const GstVkgdrRun *next = run->link.next ? run->link.next->data : NULL;

  return next && next->end && next->end == run->end ? next : NULL;
}

guint64
gst_vkgdr_run_get_limit (const GstVkgdrRun *run)
{
  guint64 limit = 0;

  for (; run; run = next_of_group (run))
    limit += run->limit;
  return limit;
}

gchar *
gst_vkgdr_run_describe (const GstVkgdrRun *run)
{
  return g_strdup_printf ("kernel \"%s\" of %s", run->kernel,
      gst_vkgdr_launcher_get_name (run->launcher));
}

gchar *
gst_vkgdr_run_describe_group (const GstVkgdrRun *run)
{
  GString *names = g_string_new (NULL);

  for (; run; run = next_of_group (run)) {
    gchar *name = gst_vkgdr_run_describe (run);

    g_string_append_printf (names, "%s%s", names->len > 0 ? " or " : "", name);
    g_free (name);
  }
  return g_string_free (names, FALSE);
}

/* --- later fences ----------------------------------------------------------
 */

/* Returns the middle one of the fences behind @serial, or NULL if there is only
 * one, which is probably not reached. */
static GstVkgdrFence *
choose_later (GstVkgdrRuns *self, guint64 serial)
{
  GstVkgdrFence *later[LATER_MAX];
  guint n = 0;
  GList *link;

  for (link = self->queue.tail; link && n < LATER_MAX; link = link->prev) {
    GstVkgdrFence *end = ((GstVkgdrRun *) link->data)->end;

    if (!end || gst_vkgdr_fence_is_deferred (end)
        || (n > 0 && later[n - 1] == end))
      continue;
    if (gst_vkgdr_fence_get_serial (end) <= serial)
      break;
    later[n++] = end;
  }
  return n > 1 ? later[n / 2] : NULL;
}

gboolean
gst_vkgdr_runs_find_later (
    GstVkgdrRuns *self, guint64 serial, GstVkgdrFence **later)
{
  *later = NULL;
  if (serial <= self->reached)
    return TRUE;
  if (self->later_pause > 0)
    self->later_pause--;
  else
    *later = choose_later (self, serial);
  if (*later)
    gst_vkgdr_fence_ref (*later);
  return FALSE;
}

void
gst_vkgdr_runs_report_later (
    GstVkgdrRuns *self, guint64 serial, gboolean is_reached)
{
  if (is_reached)
    self->reached = MAX (self->reached, serial);
  else
    self->later_pause = LATER_PAUSE;
}
