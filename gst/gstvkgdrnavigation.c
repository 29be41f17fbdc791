/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrnavigation.c: see gstvkgdrnavigation.h
 */

#include "gstvkgdrnavigation.h"

GstEvent *
gst_vkgdr_navigation_move (
    GstEvent *event, GstVkgdrMovePlace move, gconstpointer data)
{
  const GstStructure *structure = gst_event_get_structure (event);
  gdouble x, y;

  if (GST_EVENT_TYPE (event) != GST_EVENT_NAVIGATION || !structure
      || !gst_structure_get (structure, "pointer_x", G_TYPE_DOUBLE, &x,
          "pointer_y", G_TYPE_DOUBLE, &y, NULL))
    return event;
  move (data, &x, &y);
  event = gst_event_make_writable (event);
  gst_structure_set (gst_event_writable_structure (event), "pointer_x",
      G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, NULL);
  return event;
}
