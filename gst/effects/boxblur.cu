/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * boxblur: the mean of a square of samples.
 *
 * Parameters: int radius, 0 to 16: the distance in samples from the middle of
 * the square to its sides. Other values are clamped.
 *
 * Every component is filtered at its own resolution; samples outside the frame
 * are equal to the nearest sample of its edge. Sums are integers, and rounded
 * to nearest. Alpha and padding are unchanged. Cannot run in place.
 *
 * The threads of a block first load all samples that they need, then sum up the
 * rows, and then the columns of these sums.
 */

#pragma vkgdr fields

#define BOXBLUR_RADIUS 16
/* The size of the part that is processed at a time. It is the size of the
 * default block, but a launch may have other blocks. */
#define BOXBLUR_WIDTH 32
#define BOXBLUR_HEIGHT 8

__device__ static int
boxblur_min (int a, int b)
{
  return a < b ? a : b;
}

/* Filters width x height samples of component c, from (left, top) on. Must be
 * called by all threads of the block. */
__device__ static void
boxblur_tile (const VkgdrFrame &in, const VkgdrFrame &out, int c, int left,
    int top, int width, int height, int radius)
{
  __shared__ unsigned int tile[BOXBLUR_HEIGHT + 2 * BOXBLUR_RADIUS]
                              [BOXBLUR_WIDTH + 2 * BOXBLUR_RADIUS];
  __shared__ unsigned int
      sums[BOXBLUR_HEIGHT + 2 * BOXBLUR_RADIUS][BOXBLUR_WIDTH];
  int across = 1 << in.component[c].w_sub, down = 1 << in.component[c].h_sub;
  int tx = threadIdx.x, ty = threadIdx.y;
  unsigned int n = (2 * radius + 1) * (2 * radius + 1);

  for (int y = ty; y < height + 2 * radius; y += blockDim.y)
    for (int x = tx; x < width + 2 * radius; x += blockDim.x)
      tile[y][x] = vkgdr_get (
          in, c, (left + x - radius) * across, (top + y - radius) * down);
  __syncthreads ();
  for (int y = ty; y < height + 2 * radius; y += blockDim.y)
    for (int x = tx; x < width; x += blockDim.x) {
      unsigned int row = 0;

      for (int i = 0; i <= 2 * radius; i++)
        row += tile[y][x + i];
      sums[y][x] = row;
    }
  __syncthreads ();
  for (int y = ty; y < height; y += blockDim.y)
    for (int x = tx; x < width; x += blockDim.x) {
      unsigned int sum = 0;

      for (int i = 0; i <= 2 * radius; i++)
        sum += sums[y + i][x];
      vkgdr_put (
          out, c, (left + x) * across, (top + y) * down, (sum + n / 2) / n);
    }
}

/* Filters the samples of component c that belong to the block's pixels. */
__device__ static void
boxblur_component (
    const VkgdrFrame &in, const VkgdrFrame &out, int c, int radius)
{
  int across = 1 << in.component[c].w_sub, down = 1 << in.component[c].h_sub;
  int left = (blockIdx.x * blockDim.x + across - 1) / across;
  int top = (blockIdx.y * blockDim.y + down - 1) / down;
  int right = boxblur_min ((blockIdx.x + 1) * blockDim.x, out.width);
  int bottom = boxblur_min ((blockIdx.y + 1) * blockDim.y, out.height);

  right = (right + across - 1) / across;
  bottom = (bottom + down - 1) / down;
  for (int y = top; y < bottom; y += BOXBLUR_HEIGHT)
    for (int x = left; x < right; x += BOXBLUR_WIDTH)
      boxblur_tile (in, out, c, x, y, boxblur_min (BOXBLUR_WIDTH, right - x),
          boxblur_min (BOXBLUR_HEIGHT, bottom - y), radius);
}

/* A block has at most as many threads as a part has samples. */
__global__ void __launch_bounds__ (256)
boxblur (VkgdrFrame in, VkgdrFrame out, int radius)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  radius = radius < 0 ? 0
                      : (radius > BOXBLUR_RADIUS ? BOXBLUR_RADIUS : radius);
  for (int c = 0; c < out.n_components && c < 3; c++)
    boxblur_component (in, out, c, radius);
  if (out.n_components == 4 && vkgdr_has (out, 3, x, y))
    vkgdr_put (out, 3, x, y, vkgdr_get (in, 3, x, y));
}
