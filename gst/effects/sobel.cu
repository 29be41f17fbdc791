/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sobel: edges. The length of the luma's gradient, by Sobel's two 3 x 3
 * filters.
 *
 * m = sqrt (gx * gx + gy * gy), rounded to nearest and clamped to max. Luma of
 * red, green and blue is that of the effect grayscale; pixels outside the frame
 * are equal to the nearest pixel of its edge.
 *
 * - red, green, blue, and luma of full range: m
 * - luma of limited range: 16 + m * 219 / 255 in 8 bits, rounded to nearest
 * - Cb and Cr: neutral, 128 in 8 bits
 * - alpha and padding: unchanged
 *
 * Computed in integers, so the CPU and all devices give the same result. Cannot
 * run in place.
 */

#pragma vkgdr fields

/* The square root of n < 2^32, rounded to nearest. The device's function gives
 * an estimate, which is corrected in integers. */
__device__ static unsigned int
sobel_root (unsigned int n)
{
  unsigned long long r = (unsigned long long) sqrtf ((float) n);

  while (r * r > n)
    r--;
  while ((r + 1) * (r + 1) <= n)
    r++;
  return (unsigned int) (n - r * r > r ? r + 1 : r);
}

__device__ static unsigned int
sobel_magnitude (const VkgdrFrame &f, int x, int y)
{
  int a = vkgdr_luma (f, x - 1, y - 1), b = vkgdr_luma (f, x, y - 1),
      c = vkgdr_luma (f, x + 1, y - 1), d = vkgdr_luma (f, x - 1, y),
      e = vkgdr_luma (f, x + 1, y), g = vkgdr_luma (f, x - 1, y + 1),
      h = vkgdr_luma (f, x, y + 1), i = vkgdr_luma (f, x + 1, y + 1);
  long long gx = c + 2 * e + i - a - 2 * d - g;
  long long gy = g + 2 * h + i - a - 2 * b - c;
  long long square = gx * gx + gy * gy;
  long long max = vkgdr_max (f, 0);

  return square >= max * max ? (unsigned int) max
                             : sobel_root ((unsigned int) square);
}

__global__ void
sobel (VkgdrFrame in, VkgdrFrame out)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;

  unsigned int max = vkgdr_max (in, 0);
  unsigned int m = sobel_magnitude (in, x, y);

  for (int c = 0; c < out.n_components; c++) {
    if (!vkgdr_has (out, c, x, y))
      continue;
    if (vkgdr_is_chroma (out, c))
      vkgdr_put (out, c, x, y, vkgdr_neutral (out, c));
    else if (c == 3)
      vkgdr_put (out, c, x, y, vkgdr_get (in, c, x, y));
    else
      vkgdr_put (out, c, x, y,
          vkgdr_black (out, c) + (m * vkgdr_range (out, c) + max / 2) / max);
  }
}
