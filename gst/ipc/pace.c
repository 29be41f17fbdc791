/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/pace.c: see ipc/pace.h
 */

#include "ipc/pace.h"

void
gst_vkgdr_ipc_pace_add (GstVkgdrIpcPace *self, gint64 now)
{
  guint index = self->n_intervals % GST_VKGDR_IPC_PACE_INTERVALS;

  if (self->last != 0) {
    self->intervals[index] = now - self->last;
    self->n_intervals++;
  }
  self->last = now;
}

static gint64
shortest_interval (const GstVkgdrIpcPace *self)
{
  guint i, n = MIN (self->n_intervals, GST_VKGDR_IPC_PACE_INTERVALS);
  gint64 shortest = self->intervals[0];

  for (i = 1; i < n; i++)
    shortest = MIN (shortest, self->intervals[i]);
  return shortest;
}

gint64
gst_vkgdr_ipc_pace_get_sleep (
    const GstVkgdrIpcPace *self, gint64 now, guint margin)
{
  gint64 expected;

  if (margin == 0 || self->n_intervals == 0)
    return -1;
  expected = self->last + shortest_interval (self);
  if (now > expected + margin)
    return -1;
  return MAX (expected - (gint64) margin - now, 0);
}
