/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * balance: brightness, contrast, saturation and hue.
 *
 * Parameters: float brightness, added to luma, from -1 to 1; float contrast, a
 * factor of luma; float saturation, a factor of the colour differences, with 0
 * for gray; float hue, the angle of the rotation of the colour differences, in
 * half turns from -1 to 1.
 *
 * - luma, from black 0 to white 1, becomes Y * contrast + brightness
 * - the colour differences become saturation times
 *   (U cos h + V sin h) and (V cos h - U sin h), where h is hue times pi
 * - luma and the colour differences are those of the input's colorimetry
 * - alpha: unchanged; padding becomes its maximum
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

/* The sine and cosine of the angle of @hue, in half turns. They are computed
 * from half the angle, for which a few terms of the series are as exact as a
 * float. */
__device__ static void
balance_turn (float hue, float *sine, float *cosine)
{
  float x = fminf (fmaxf (hue, -1.0f), 1.0f) * 1.57079633f;
  float q = x * x;
  float s = fmaf (q, -2.50521084e-8f, 2.75573192e-6f);
  float c = fmaf (q, 2.08767570e-9f, -2.75573192e-7f);

  s = fmaf (q, s, -1.98412698e-4f);
  s = fmaf (q, s, 8.33333333e-3f);
  s = fmaf (q, s, -1.66666667e-1f);
  s = fmaf (q * x, s, x);
  c = fmaf (q, c, 2.48015873e-5f);
  c = fmaf (q, c, -1.38888889e-3f);
  c = fmaf (q, c, 4.16666667e-2f);
  c = fmaf (q, c, -0.5f);
  c = fmaf (q, c, 1.0f);
  *sine = 2.0f * s * c;
  *cosine = fmaf (-2.0f * s, s, 1.0f);
}

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
__global__ void __launch_bounds__ (256, 4)
balance (VkgdrFrame in, VkgdrFrame out, float brightness, float contrast,
    float saturation, float hue)
{
  float sine, cosine;

  balance_turn (hue, &sine, &cosine);
  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int, int) {
        VkgdrYuv yuv = vkgdr_to_yuv (in, c);
        VkgdrYuv turned = { fmaf (yuv.y, contrast, brightness),
          saturation * fmaf (yuv.u, cosine, yuv.v * sine),
          saturation * fmaf (yuv.v, cosine, -yuv.u * sine) };
        VkgdrRgba result = vkgdr_from_yuv (in, turned);

        result.a = c.a;
        c = result;
      });
}
