/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sepia: the brown of old photographs.
 *
 * Parameters: float amount, from 0 (unchanged colours) to 1 (only sepia).
 *
 * - sepia's red is 0.393 R + 0.769 G + 0.189 B, green 0.349 R + 0.686 G + 0.168
 *   B, blue 0.272 R + 0.534 G + 0.131 B, each at most 1
 * - the result is colour * (1 - amount) + sepia * amount
 * - alpha: unchanged; padding becomes its maximum
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
__global__ void __launch_bounds__ (256, 4)
sepia (VkgdrFrame in, VkgdrFrame out, float amount)
{
  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int, int) {
        float r = fmaf (0.393f, c.r, fmaf (0.769f, c.g, 0.189f * c.b));
        float g = fmaf (0.349f, c.r, fmaf (0.686f, c.g, 0.168f * c.b));
        float b = fmaf (0.272f, c.r, fmaf (0.534f, c.g, 0.131f * c.b));

        c.r = fmaf (amount, fminf (r, 1.0f) - c.r, c.r);
        c.g = fmaf (amount, fminf (g, 1.0f) - c.g, c.g);
        c.b = fmaf (amount, fminf (b, 1.0f) - c.b, c.b);
      });
}
