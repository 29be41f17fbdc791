/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shape.h: the numbers of threads and blocks of a launch
 *
 * Computes numbers only. Knows nothing of buffers and arguments.
 */

#ifndef __GST_VKGDR_SHAPE_H__
#define __GST_VKGDR_SHAPE_H__

#include "kernel/module.h"

G_BEGIN_DECLS

/* Threads of a block, blocks of the grid, and pixels or samples that a thread
 * writes. In a requested shape, an x of 0 means that the library chooses; for a
 * tile, it means 1. */
typedef struct {
  guint block_x, block_y;
  guint grid_x, grid_y;
  guint tile_x, tile_y;
} GstVkgdrShape;

/* Returns whether the function can have such blocks, or such a grid. If not,
 * sets @error to GST_VKGDR_ERROR_ARGUMENT. */
gboolean gst_vkgdr_shape_check_block (
    const GstVkgdrFunction *function, guint x, guint y, GError **error);
gboolean gst_vkgdr_shape_check_grid (
    const GstVkgdrFunction *function, guint x, guint y, GError **error);

/* Computes the shape of a launch for @width x @height pixels; @height is 1 for
 * a row of samples. Returns FALSE with @error set if the grid would be too
 * large. */
gboolean gst_vkgdr_shape_choose (const GstVkgdrFunction *function,
    const GstVkgdrShape *wanted, guint64 width, guint64 height,
    GstVkgdrShape *shape, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_SHAPE_H__ */
