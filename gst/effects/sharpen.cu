/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sharpen: an unsharp mask, which adds the details that the effect blur
 * removes.
 *
 * Parameters: float amount, the factor of these details. With 0, nothing
 * changes; negative values blur.
 *
 * - red, green, blue, Y and gray: v + amount * (v - m), m being the mean of 5 x
 *   5 samples with weights 1 4 6 4 1 in both directions; samples outside the
 *   frame are equal to the nearest sample of its edge
 * - Cb and Cr, alpha and padding: unchanged
 *
 * 256 (v - m) is an integer; it is multiplied by amount / 256, and v is added,
 * in one fused multiply-add. Results are rounded to nearest, halves to even,
 * and clamped to 0..max, so the CPU and all devices give exactly the same
 * result. Cannot run in place.
 */

#pragma vkgdr fields

__device__ static int
sharpen_weight (int d)
{
  return d == 0 ? 6 : (d == 1 || d == -1 ? 4 : 1);
}

/* @sum is the mean, multiplied by 256. */
__device__ static int
sharpen_result (int v, int sum, float amount, int max)
{
  float result
      = fmaf ((float) (256 * v - sum), amount * (1.0f / 256.0f), (float) v);

  return (int) rintf (fminf (fmaxf (result, 0.0f), (float) max));
}

/* The even bytes of a pixel are summed up in one word, and the odd ones in
 * another one. A sum needs 16 bits, because it is at most 255 * 256. */
__device__ static void
sharpen_packed4 (
    const VkgdrFrame &in, const VkgdrFrame &out, int x, int y, float amount)
{
  unsigned int p = *vkgdr_packed4 (in, x, y);
  unsigned int even = 0, odd = 0, result = p & 0xffu << vkgdr_shift4 (in, 3);

  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++) {
      unsigned int q = *vkgdr_packed4 (in, vkgdr_clamp (x + dx, in.width),
          vkgdr_clamp (y + dy, in.height));
      unsigned int weight = sharpen_weight (dx) * sharpen_weight (dy);

      even += (q & 0x00ff00ffu) * weight;
      odd += (q >> 8 & 0x00ff00ffu) * weight;
    }
  for (int c = 0; c < 3; c++) {
    int shift = vkgdr_shift4 (in, c);
    unsigned int sum = (shift & 8 ? odd : even) >> (shift & 16) & 0xffffu;
    unsigned int v = p >> shift & 255;

    if (vkgdr_is_chroma (in, c))
      result |= v << shift;
    else
      result |= (unsigned int) sharpen_result (v, sum, amount, 255) << shift;
  }
  *vkgdr_packed4 (out, x, y) = result;
}

__device__ static int
sharpen_sample (const VkgdrFrame &in, int c, int x, int y, float amount)
{
  int sum = 0;

  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++)
      sum += vkgdr_get (in, c, x + dx, y + dy)
             * (sharpen_weight (dx) * sharpen_weight (dy));
  return sharpen_result (
      vkgdr_get (in, c, x, y), sum, amount, vkgdr_max (in, c));
}

__global__ void
sharpen (VkgdrFrame in, VkgdrFrame out, float amount)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    sharpen_packed4 (in, out, x, y, amount);
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y))
      vkgdr_put (out, c, x, y,
          c == 3 || vkgdr_is_chroma (in, c)
              ? vkgdr_get (in, c, x, y)
              : sharpen_sample (in, c, x, y, amount));
}
