/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * invert: the photographic negative.
 *
 * - red, green, blue, gray and luma of full range: max - v
 * - the same of limited range: black and white change places, 16 + 235 - v in 8
 *   bits, clamped to 0..max
 * - Cb and Cr: 2 * 128 - v in 8 bits, clamped to 0..max
 * - alpha and padding: unchanged
 */

/* The sum of a sample and its negative. */
__device__ static int
invert_sum (const VkgdrFrame &f, int c)
{
  if (vkgdr_is_chroma (f, c))
    return 2 * vkgdr_neutral (f, c);
  return 2 * vkgdr_black (f, c) + vkgdr_range (f, c);
}

#pragma vkgdr tile 4x1

__device__ static void
invert_pixel (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y)) {
      int v = vkgdr_get (in, c, x, y);

      vkgdr_put (out, c, x, y, c == 3 ? v : invert_sum (in, c) - v);
    }
}

__device__ static void
invert_words (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  VkgdrWords p = *vkgdr_words (in, x, y);
  unsigned int colours = ~(0xffu << vkgdr_shift4 (in, 3));

  for (int i = 0; i < 4; i++)
    p.word[i] ^= colours;
  *vkgdr_words (out, x, y) = p;
}

__global__ void
invert (VkgdrFrame in, VkgdrFrame out)
{
  int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && in.model == VKGDR_RGB && in.full_range
      && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out) && vkgdr_has_words (in, x, y)
      && vkgdr_has_words (out, x, y)) {
    invert_words (in, out, x, y);
    return;
  }
  for (int i = 0; i < 4 && x + i < out.width; i++)
    invert_pixel (in, out, x + i, y);
}
