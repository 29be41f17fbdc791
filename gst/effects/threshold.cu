/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * threshold: white where luma reaches a level, black where it does not.
 *
 * Parameters: float level, from 0, black, to 1, white. As a value of luma it is
 * rounded to nearest, halves to even.
 *
 * - red, green, blue: all three become black or white, by the pixel's luma as
 *   in the effect grayscale
 * - Y and gray: become black or white, 16 or 235 in limited range and 8 bits
 * - Cb and Cr: neutral, 128 in 8 bits
 * - alpha and padding: unchanged
 *
 * Computed in integers, so the CPU and all devices give the same result.
 */

/* The lowest luma that becomes white. */
__device__ static int
threshold_luma (const VkgdrFrame &f, float level)
{
  float v = fmaf (level, (float) vkgdr_range (f, 0), (float) vkgdr_black (f, 0));

  return (int) rintf (fminf (fmaxf (v, -1.0f), 65536.0f));
}

__device__ static void
threshold_packed4 (
    const VkgdrFrame &in, const VkgdrFrame &out, int x, int y, int level)
{
  unsigned int p = *vkgdr_packed4 (in, x, y);
  unsigned int rest = 0xffu << vkgdr_shift4 (in, 3);
  int luma = vkgdr_weigh (in, p >> vkgdr_shift4 (in, 0) & 255,
      p >> vkgdr_shift4 (in, 1) & 255, p >> vkgdr_shift4 (in, 2) & 255);

  *vkgdr_packed4 (out, x, y) = luma >= level ? p | ~rest : p & rest;
}

__global__ void
threshold (VkgdrFrame in, VkgdrFrame out, float level)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;

  int limit = threshold_luma (in, level);

  if (in.format == out.format && in.model == VKGDR_RGB && in.full_range
      && vkgdr_is_packed4 (in) && vkgdr_is_packed4 (out)) {
    threshold_packed4 (in, out, x, y, limit);
    return;
  }

  bool white = vkgdr_luma (in, x, y) >= limit;

  for (int c = 0; c < out.n_components; c++) {
    if (!vkgdr_has (out, c, x, y))
      continue;
    if (vkgdr_is_chroma (out, c))
      vkgdr_put (out, c, x, y, vkgdr_neutral (out, c));
    else if (c == 3)
      vkgdr_put (out, c, x, y, vkgdr_get (in, c, x, y));
    else
      vkgdr_put (out, c, x, y,
          vkgdr_black (out, c) + (white ? vkgdr_range (out, c) : 0));
  }
}
