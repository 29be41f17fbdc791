/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sepia: the brown of old photographs.
 *
 * Parameters: float amount, from 0, the colours as they are, to 1, sepia alone.
 *
 *  - sepia's red is 0.393 R + 0.769 G + 0.189 B, green 0.349 R + 0.686 G +
 *    0.168 B, blue 0.272 R + 0.534 G + 0.131 B, each at most 1
 *  - a colour goes from what it is to sepia by amount
 *  - alpha: unchanged; padding becomes its maximum
 *
 * Where pixels share a sample of colour, each is computed with it, and it
 * becomes their mean. In float: devices may differ by one in the last place.
 */

/* Blocks of 256 threads, four at a time: left alone, the compiler takes registers
 * for two. */
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
