/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * chromakey: removes pixels with the colour of the key, for example of a green
 * screen.
 *
 * Parameters, all of them float: red, green and blue, the key, from 0 to 1;
 * tolerance, the distance from the key up to which colours are removed
 * completely; softness, the width of the transition beyond this distance;
 * background-red, background-green and background-blue, the colour that
 * replaces them if the output has no alpha.
 *
 * The distance is that of the colour differences (Cb, Cr), each from -0.5 to
 * 0.5, by the input's colorimetry. So light and dark shades of the key have the
 * same distance. The weight of a colour is (distance - tolerance) / softness,
 * from 0 to 1. If softness is 0, the weight is 1 if the distance is at least
 * tolerance, otherwise 0.
 *
 * - output with alpha: alpha is multiplied by the weight, colours are unchanged
 * - output without alpha: colour * weight + background * (1 - weight); padding
 *   becomes its maximum
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

__device__ static float
chromakey_share (VkgdrYuv c, VkgdrYuv key, float tolerance, float softness)
{
  float u = c.u - key.u, v = c.v - key.v;
  float distance = sqrtf (fmaf (u, u, v * v));

  if (softness <= 0.0f)
    return distance >= tolerance ? 1.0f : 0.0f;
  return fminf (fmaxf ((distance - tolerance) / softness, 0.0f), 1.0f);
}

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
__global__ void __launch_bounds__ (256, 4)
chromakey (VkgdrFrame in, VkgdrFrame out, float red, float green, float blue,
    float tolerance, float softness, float background_red,
    float background_green, float background_blue)
{
  VkgdrRgba key_rgba = { red, green, blue, 1.0f };
  VkgdrYuv key = vkgdr_to_yuv (in, key_rgba);

  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int, int) {
        float share = chromakey_share (
            vkgdr_to_yuv (in, c), key, tolerance, softness);

        if (out.has_alpha) {
          c.a *= share;
          return;
        }
        c.r = fmaf (share, c.r - background_red, background_red);
        c.g = fmaf (share, c.g - background_green, background_green);
        c.b = fmaf (share, c.b - background_blue, background_blue);
      });
}
