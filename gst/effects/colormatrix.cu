/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * colormatrix: red, green and blue, each a weighted sum of all three.
 *
 * Parameters, all of them float: rr, rg and rb, the weights of red, green and
 * blue in the new red; gr, gg and gb, in the new green; br, bg and bb, in the
 * new blue; r, g and b, constants that are added; 1 is the difference between
 * black and white.
 *
 * - gray: its luma is that of the new colour, by the caps' colorimetry
 * - alpha: unchanged; padding becomes its maximum
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
__global__ void __launch_bounds__ (256, 4)
colormatrix (VkgdrFrame in, VkgdrFrame out, float rr, float rg, float rb,
    float gr, float gg, float gb, float br, float bg, float bb, float r,
    float g, float b)
{
  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int, int) {
        VkgdrRgba old = c;

        c.r = fmaf (rr, old.r, fmaf (rg, old.g, fmaf (rb, old.b, r)));
        c.g = fmaf (gr, old.r, fmaf (gg, old.g, fmaf (gb, old.b, g)));
        c.b = fmaf (br, old.r, fmaf (bg, old.g, fmaf (bb, old.b, b)));
      });
}
