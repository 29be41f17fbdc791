/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * chromakey: takes away what has the key's colour, a green screen's, say.
 *
 * Parameters, all of them float: red, green and blue, the key, from 0 to 1;
 * tolerance, how far from the key colours are still taken away altogether, and
 * softness, over how far beyond that they come back; background-red,
 * background-green and background-blue, what is put in their place where the
 * output has no alpha.
 *
 * Distance is that of the colour differences (Cb, Cr), each from -0.5 to 0.5,
 * by the input's colorimetry, so that lighter and darker shades of the key are
 * alike. A colour stays by the share (distance - tolerance) / softness, from 0
 * to 1; with no softness, it stays where distance is at least tolerance.
 *
 *  - output with alpha: alpha is multiplied by the share, colours are unchanged
 *  - without: the colour goes from the background to what it is by the share;
 *    padding becomes its maximum
 *
 * Where pixels share a sample of colour, each is computed with it, and it
 * becomes their mean. In float: devices may differ by one in the last place.
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

/* Blocks of 256 threads, four at a time: left alone, the compiler takes registers
 * for two. */
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
