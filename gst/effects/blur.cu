/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blur: a binomial filter of 5 x 5 samples, with the weights 1 4 6 4 1 in both
 * directions, which is close to a Gaussian filter of sigma 1.
 *
 * Every component is filtered at its own resolution; samples outside the frame
 * are equal to the nearest sample of its edge. Sums are integers, and rounded
 * to nearest, halves up. Alpha and padding are unchanged. Cannot run in place.
 */

#pragma vkgdr fields

__device__ static int
blur_weight (int d)
{
  return d == 0 ? 6 : (d == 1 || d == -1 ? 4 : 1);
}

/* The even bytes of a pixel are summed up in one word, and the odd ones in
 * another one. A sum needs 16 bits, because it is at most 255 * 256. */
__device__ static void
blur_packed4 (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  unsigned int even = 0x00800080u, odd = 0x00800080u;
  unsigned int alpha = 0xffu << vkgdr_shift4 (in, 3);

  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++) {
      unsigned int p = *vkgdr_packed4 (
          in, vkgdr_clamp (x + dx, in.width), vkgdr_clamp (y + dy, in.height));
      unsigned int weight = blur_weight (dx) * blur_weight (dy);

      even += (p & 0x00ff00ffu) * weight;
      odd += (p >> 8 & 0x00ff00ffu) * weight;
    }
  *vkgdr_packed4 (out, x, y)
      = (((even >> 8 & 0x00ff00ffu) | (odd & 0xff00ff00u)) & ~alpha)
        | (*vkgdr_packed4 (in, x, y) & alpha);
}

__device__ static int
blur_sample (const VkgdrFrame &in, int c, int x, int y)
{
  int across = 1 << in.component[c].w_sub, down = 1 << in.component[c].h_sub;
  int sum = 128;

  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++)
      sum += vkgdr_get (in, c, x + dx * across, y + dy * down)
             * (blur_weight (dx) * blur_weight (dy));
  return sum >> 8;
}

__global__ void
blur (VkgdrFrame in, VkgdrFrame out)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    blur_packed4 (in, out, x, y);
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y))
      vkgdr_put (out, c, x, y,
          c == 3 ? vkgdr_get (in, c, x, y) : blur_sample (in, c, x, y));
}
