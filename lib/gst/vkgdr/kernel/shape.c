/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/shape.c: the numbers of threads and blocks of a launch
 *
 * Computes numbers only. Knows nothing of buffers and arguments.
 */

#include "kernel/shape.h"

/* The width of blocks for frames. It is that of a warp, so that the accesses of
 * a warp are consecutive. */
#define ROW 32

/* The limits of CUDA for all kernels, on all devices that it supports. */
#define MAX_BLOCK_XY 1024
#define MAX_GRID_X G_MAXINT32
#define MAX_GRID_Y 65535

gboolean
gst_vkgdr_shape_check_block (
    const GstVkgdrFunction *function, guint x, guint y, GError **error)
{
  guint max = function->max_threads ? function->max_threads : MAX_BLOCK_XY;

  if (x <= MAX_BLOCK_XY && y <= MAX_BLOCK_XY && (guint64) x * y <= max)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "A block of %ux%u threads has %" G_GUINT64_FORMAT
      ", but kernel \"%s\" can have %u at the most on this device",
      x, y, (guint64) x * y, function->entry, max);
  return FALSE;
}

gboolean
gst_vkgdr_shape_check_grid (
    const GstVkgdrFunction *function, guint x, guint y, GError **error)
{
  if (x <= MAX_GRID_X && y <= MAX_GRID_Y)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "A grid of %ux%u blocks is too large for kernel \"%s\": CUDA allows "
      "%dx%d at the most",
      x, y, function->entry, MAX_GRID_X, MAX_GRID_Y);
  return FALSE;
}

static void
choose_block (
    const GstVkgdrFunction *function, guint64 height, GstVkgdrShape *shape)
{
  if (height == 1) {
    shape->block_x = function->good_threads;
    shape->block_y = 1;
    return;
  }
  shape->block_x = MIN (function->good_threads, ROW);
  shape->block_y = function->good_threads / shape->block_x;
}

static guint64
divide_up (guint64 size, guint by)
{
  return (size + by - 1) / by;
}

gboolean
gst_vkgdr_shape_choose (const GstVkgdrFunction *function,
    const GstVkgdrShape *wanted, guint64 width, guint64 height,
    GstVkgdrShape *shape, GError **error)
{
  guint64 x, y;

  *shape = *wanted;
  width = divide_up (width, MAX (shape->tile_x, 1));
  height = divide_up (height, MAX (shape->tile_y, 1));
  if (shape->block_x == 0)
    choose_block (function, height, shape);
  if (shape->grid_x != 0)
    return TRUE;
  x = divide_up (width, shape->block_x);
  y = divide_up (height, shape->block_y);
  if (x > MAX_GRID_X || y > MAX_GRID_Y) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Kernel \"%s\" cannot be launched for %" G_GUINT64_FORMAT
        "x%" G_GUINT64_FORMAT " in blocks of %ux%u: the grid is too large",
        function->entry, width, height, shape->block_x, shape->block_y);
    return FALSE;
  }
  shape->grid_x = (guint) x;
  shape->grid_y = (guint) y;
  return TRUE;
}
