/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * invert: the photographic negative.
 *
 *  - red, green, blue, and luma of full range: max - v
 *  - luma of limited range: black and white change places, 16 + 235 - v in 8
 *    bits, clamped to 0..max
 *  - Cb and Cr: 2 * 128 - v in 8 bits, clamped to 0..max
 *  - alpha and padding: unchanged
 */

/* What a sample and its negative add up to. */
__device__ static int
invert_sum (const VkgdrFrame &f, int c)
{
  if (vkgdr_is_chroma (f, c))
    return 2 * vkgdr_neutral (f, c);
  return 2 * vkgdr_black (f, c) + vkgdr_range (f, c);
}

__global__ void
invert (VkgdrFrame in, VkgdrFrame out)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && in.model == VKGDR_RGB && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    *vkgdr_packed4 (out, x, y)
        = *vkgdr_packed4 (in, x, y) ^ ~(0xffu << vkgdr_shift4 (in, 3));
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y)) {
      int v = vkgdr_get (in, c, x, y);

      vkgdr_put (out, c, x, y, c == 3 ? v : invert_sum (in, c) - v);
    }
}
