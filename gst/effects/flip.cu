/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * flip: rotates and mirrors.
 *
 * Parameters: int method, the same as that of videoflip: 0 none, 1 rotates
 * clockwise by 90 degrees, 2 by 180 degrees, 3 counterclockwise by 90 degrees,
 * 4 swaps left and right, 5 swaps top and bottom, 6 mirrors at the diagonal
 * from the upper left, 7 at that from the upper right. Other values count as 0.
 *
 * For methods 1, 3, 6 and 7, the output should have the width and height of the
 * input swapped, for the others the same size. For an output of another size,
 * the nearest samples are taken.
 *
 * - a component is moved at its own resolution, with unchanged samples
 * - if method 1, 3, 6 or 7 is used with components that are subsampled in one
 *   direction only, such as Cb and Cr of YUY2, a sample is the mean of the
 *   samples of its pixels, rounded to nearest, halves up
 * - alpha and padding: like the other components
 *
 * Frames are up to 32767 pixels wide and high. Computed in integers, so the CPU
 * and all devices give the same result. Cannot run in place.
 */

#pragma vkgdr fields

/* The changes of the axes: they may be swapped, and each may be reversed. */
typedef struct {
  bool swap, turn_x, turn_y;
} FlipAxes;

__device__ static FlipAxes
flip_axes (int method)
{
  FlipAxes axes = { method == 1 || method == 3 || method == 6 || method == 7,
    method == 2 || method == 3 || method == 4 || method == 7,
    method == 1 || method == 2 || method == 5 || method == 7 };

  return axes;
}

/* The index of the one of `have` samples that contains the middle of the sample
 * `at` of `wanted` samples. */
__device__ static int
flip_scale (int at, int have, int wanted)
{
  return have == wanted ? at : (2 * at + 1) * have / (2 * wanted);
}

/* Converts the position (*x, *y) in an output of out_width x out_height to that
 * in an input of width x height. */
__device__ static void
flip_find (FlipAxes axes, int width, int height, int out_width, int out_height,
    int *x, int *y)
{
  int u = axes.swap ? flip_scale (*y, width, out_height)
                    : flip_scale (*x, width, out_width);
  int v = axes.swap ? flip_scale (*x, height, out_width)
                    : flip_scale (*y, height, out_height);

  *x = axes.turn_x ? width - 1 - u : u;
  *y = axes.turn_y ? height - 1 - v : v;
}

__device__ static int
flip_samples (int pixels, int sub)
{
  return (pixels + (1 << sub) - 1) >> sub;
}

__device__ static int
flip_sample (const VkgdrFrame &in, const VkgdrFrame &out, FlipAxes axes, int c,
    int x, int y)
{
  int w_sub = in.component[c].w_sub, h_sub = in.component[c].h_sub;

  x >>= w_sub;
  y >>= h_sub;
  flip_find (axes, flip_samples (in.width, w_sub),
      flip_samples (in.height, h_sub), flip_samples (out.width, w_sub),
      flip_samples (out.height, h_sub), &x, &y);
  return vkgdr_get (in, c, x << w_sub, y << h_sub);
}

__device__ static int
flip_mean (const VkgdrFrame &in, const VkgdrFrame &out, FlipAxes axes, int c,
    int x, int y)
{
  int right = x + (1 << out.component[c].w_sub);
  int bottom = y + (1 << out.component[c].h_sub);
  int sum = 0, n = 0;

  for (int py = y; py < bottom && py < out.height; py++)
    for (int px = x; px < right && px < out.width; px++) {
      int u = px, v = py;

      flip_find (axes, in.width, in.height, out.width, out.height, &u, &v);
      sum += vkgdr_get (in, c, u, v);
      n++;
    }
  return (sum + n / 2) / n;
}

__global__ void
flip (VkgdrFrame in, VkgdrFrame out, int method)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  FlipAxes axes = flip_axes (method);

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    int u = x, v = y;

    flip_find (axes, in.width, in.height, out.width, out.height, &u, &v);
    *vkgdr_packed4 (out, x, y) = *vkgdr_packed4 (in, u, v);
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y)) {
      bool moved
          = !axes.swap || in.component[c].w_sub == in.component[c].h_sub;

      vkgdr_put (out, c, x, y,
          moved ? flip_sample (in, out, axes, c, x, y)
                : flip_mean (in, out, axes, c, x, y));
    }
}
