/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gain: contrast and brightness.
 *
 * Parameters: float gain, a factor; float offset, where 1 is the difference
 * between black and white.
 *
 * - red, green, blue, gray and luma of full range: v * gain + offset * max
 * - the same of limited range: relative to black, in 8 bits
 *   16 + (v - 16) * gain + offset * 219
 * - Cb and Cr: relative to neutral, in 8 bits 128 + (v - 128) * gain
 * - alpha and padding: unchanged
 *
 * Results are rounded to nearest, halves to even, and clamped to 0..max. Each
 * multiplication and the addition after it are one fused multiply-add, so the
 * CPU and all devices give exactly the same result.
 */

__device__ static int
gain_sample (const VkgdrFrame &f, int c, int v, float gain, float offset)
{
  bool chroma = vkgdr_is_chroma (f, c);
  float origin = (float) (chroma ? vkgdr_neutral (f, c) : vkgdr_black (f, c));
  float shift = chroma ? 0.0f : offset;
  float base = fmaf (shift, (float) vkgdr_range (f, c), origin);
  float result = fmaf ((float) v - origin, gain, base);

  return (int) rintf (fminf (fmaxf (result, 0.0f), (float) vkgdr_max (f, c)));
}

__device__ static void
gain_packed4 (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y,
    float gain, float offset)
{
  unsigned int p = *vkgdr_packed4 (in, x, y);
  unsigned int result = p & 0xffu << vkgdr_shift4 (in, 3);

  for (int c = 0; c < 3; c++) {
    int shift = vkgdr_shift4 (in, c);
    unsigned int v = gain_sample (in, c, p >> shift & 255, gain, offset);

    result |= v << shift;
  }
  *vkgdr_packed4 (out, x, y) = result;
}

__global__ void
gain (VkgdrFrame in, VkgdrFrame out, float gain, float offset)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    gain_packed4 (in, out, x, y, gain, offset);
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y)) {
      int v = vkgdr_get (in, c, x, y);

      vkgdr_put (
          out, c, x, y, c == 3 ? v : gain_sample (in, c, v, gain, offset));
    }
}
