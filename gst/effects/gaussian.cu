/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gaussian: a Gaussian filter of any width.
 *
 * Parameters: float sigma, the standard deviation in samples, 0 to 8. Other
 * values are clamped.
 *
 * The weight of a sample at the distance d is proportional to exp (-d * d / (2
 * sigma * sigma)), in both directions, up to a distance of 3 sigma, rounded up.
 * The sum of the weights is 1. Every component is filtered at its own
 * resolution; samples outside the frame are equal to the nearest sample of its
 * edge. Alpha and padding are unchanged. Cannot run in place. Computed in
 * float, so devices may differ by one in the last place.
 *
 * The threads of a block first load all samples that they need, then sum up the
 * rows, and then the columns of these sums.
 */

#pragma vkgdr fields

#define GAUSSIAN_SIGMA 8.0f
#define GAUSSIAN_RADIUS 24
/* The size of the part that is processed at a time. It is the size of the
 * default block, but a launch may have other blocks. */
#define GAUSSIAN_WIDTH 32
#define GAUSSIAN_HEIGHT 8

__device__ static int
gaussian_min (int a, int b)
{
  return a < b ? a : b;
}

/* Filters width x height samples of component c, from (left, top) on. Must be
 * called by all threads of the block. */
__device__ static void
gaussian_tile (const VkgdrFrame &in, const VkgdrFrame &out, int c, int left,
    int top, int width, int height, const float *weight, int radius)
{
  __shared__ float tile[GAUSSIAN_HEIGHT + 2 * GAUSSIAN_RADIUS]
                       [GAUSSIAN_WIDTH + 2 * GAUSSIAN_RADIUS];
  __shared__ float sums[GAUSSIAN_HEIGHT + 2 * GAUSSIAN_RADIUS][GAUSSIAN_WIDTH];
  int across = 1 << in.component[c].w_sub, down = 1 << in.component[c].h_sub;
  int tx = threadIdx.x, ty = threadIdx.y;

  for (int y = ty; y < height + 2 * radius; y += blockDim.y)
    for (int x = tx; x < width + 2 * radius; x += blockDim.x)
      tile[y][x] = (float) vkgdr_get (
          in, c, (left + x - radius) * across, (top + y - radius) * down);
  __syncthreads ();
  for (int y = ty; y < height + 2 * radius; y += blockDim.y)
    for (int x = tx; x < width; x += blockDim.x) {
      float row = 0.0f;

      for (int i = 0; i <= 2 * radius; i++)
        row = fmaf (weight[i], tile[y][x + i], row);
      sums[y][x] = row;
    }
  __syncthreads ();
  for (int y = ty; y < height; y += blockDim.y)
    for (int x = tx; x < width; x += blockDim.x) {
      float sum = 0.0f;

      for (int i = 0; i <= 2 * radius; i++)
        sum = fmaf (weight[i], sums[y + i][x], sum);
      vkgdr_put (
          out, c, (left + x) * across, (top + y) * down, (int) rintf (sum));
    }
}

/* Filters the samples of component c that belong to the block's pixels. */
__device__ static void
gaussian_component (const VkgdrFrame &in, const VkgdrFrame &out, int c,
    const float *weight, int radius)
{
  int across = 1 << in.component[c].w_sub, down = 1 << in.component[c].h_sub;
  int left = (blockIdx.x * blockDim.x + across - 1) / across;
  int top = (blockIdx.y * blockDim.y + down - 1) / down;
  int right = gaussian_min ((blockIdx.x + 1) * blockDim.x, out.width);
  int bottom = gaussian_min ((blockIdx.y + 1) * blockDim.y, out.height);

  right = (right + across - 1) / across;
  bottom = (bottom + down - 1) / down;
  for (int y = top; y < bottom; y += GAUSSIAN_HEIGHT)
    for (int x = left; x < right; x += GAUSSIAN_WIDTH)
      gaussian_tile (in, out, c, x, y, gaussian_min (GAUSSIAN_WIDTH, right - x),
          gaussian_min (GAUSSIAN_HEIGHT, bottom - y), weight, radius);
}

/* Fills @weight, of 2 * @radius + 1 samples. Must be called by all threads of
 * the block. */
__device__ static void
gaussian_weigh (float *weight, float sigma, int radius)
{
  int thread = threadIdx.y * blockDim.x + threadIdx.x;
  int threads = blockDim.x * blockDim.y;
  float total = 0.0f;

  for (int i = -radius; i <= radius; i++)
    total += expf ((float) (-i * i) / (2.0f * sigma * sigma));
  for (int i = thread; i <= 2 * radius; i += threads) {
    int d = i - radius;

    weight[i] = expf ((float) (-d * d) / (2.0f * sigma * sigma)) / total;
  }
  __syncthreads ();
}

/* A block has at most as many threads as a part has samples. */
__global__ void __launch_bounds__ (256)
gaussian (VkgdrFrame in, VkgdrFrame out, float sigma)
{
  __shared__ float weight[2 * GAUSSIAN_RADIUS + 1];
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int radius;

  /* If sigma is close to 0, the middle has all the weight. */
  sigma = fminf (fmaxf (sigma, 0.01f), GAUSSIAN_SIGMA);
  radius = (int) (3.0f * sigma);
  radius += (float) radius < 3.0f * sigma;
  gaussian_weigh (weight, sigma, radius);
  for (int c = 0; c < out.n_components && c < 3; c++)
    gaussian_component (in, out, c, weight, radius);
  if (out.n_components == 4 && vkgdr_has (out, 3, x, y))
    vkgdr_put (out, 3, x, y, vkgdr_get (in, 3, x, y));
}
