/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shape.h: how many threads a launch has, and in what blocks
 *
 * Knows numbers of threads; nothing of buffers and arguments.
 */

#ifndef __GST_VKGDR_SHAPE_H__
#define __GST_VKGDR_SHAPE_H__

#include "kernel/module.h"

G_BEGIN_DECLS

/* Threads of a block, blocks of the grid, and pixels or samples that a thread
 * sees to. In what is asked for, an x of 0 means that it is chosen; of a tile,
 * it is 1. */
typedef struct {
  guint block_x, block_y;
  guint grid_x, grid_y;
  guint tile_x, tile_y;
} GstVkgdrShape;

/* Whether the function can have such blocks, or such a grid; else FALSE
 * with @error set (GST_VKGDR_ERROR_ARGUMENT). */
gboolean gst_vkgdr_shape_check_block (
    const GstVkgdrFunction *function, guint x, guint y, GError **error);
gboolean gst_vkgdr_shape_check_grid (
    const GstVkgdrFunction *function, guint x, guint y, GError **error);

/* The shape of a launch for @width x @height pixels, @height being 1 for a row
 * of samples. FALSE with @error set where no grid has as many. */
gboolean gst_vkgdr_shape_choose (const GstVkgdrFunction *function,
    const GstVkgdrShape *wanted, guint64 width, guint64 height,
    GstVkgdrShape *shape, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_SHAPE_H__ */
