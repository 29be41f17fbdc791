/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/clock.c: see ipc/clock.h
 */

#include "ipc/clock.h"

/* Most pipelines use the monotonic system clock. The conversion from another
 * clock is never exact. */
gboolean
gst_vkgdr_ipc_clock_is_monotonic (GstClock *clock)
{
  GstClockType type;

  if (!clock || G_OBJECT_TYPE (clock) != GST_TYPE_SYSTEM_CLOCK)
    return FALSE;
  g_object_get (clock, "clock-type", &type, NULL);
  return type == GST_CLOCK_TYPE_MONOTONIC;
}

gint64
gst_vkgdr_ipc_monotonic (GstClock *clock, GstClockTime time)
{
  if (gst_vkgdr_ipc_clock_is_monotonic (clock))
    return time;
  return (gint64) time - (gint64) gst_clock_get_time (clock)
         + (gint64) gst_util_get_timestamp ();
}
