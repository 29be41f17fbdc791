/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrnavigation.h: the place in a navigation event, such as a mouse click
 *
 * Knows neither elements nor what they do with pictures.
 */

#ifndef __GST_VKGDR_NAVIGATION_H__
#define __GST_VKGDR_NAVIGATION_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Changes a place of an element's output to that of its input. */
typedef void (*GstVkgdrMovePlace) (gconstpointer data, gdouble *x, gdouble *y);

/* Returns @event (transfer full), which goes upstream, with its place moved by
 * @move, if it is a navigation event that has one. */
GstEvent *gst_vkgdr_navigation_move (
    GstEvent *event, GstVkgdrMovePlace move, gconstpointer data);

G_END_DECLS

#endif /* __GST_VKGDR_NAVIGATION_H__ */
