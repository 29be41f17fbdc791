/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gamma: a power of red, green and blue.
 *
 * Parameters: float gamma, larger than 0. Above 1 what is dark becomes lighter,
 * below 1 darker.
 *
 *  - red, green, blue and gray, from 0 to 1, are raised to the power of
 *    1 / gamma; what is below 0 becomes 0
 *  - alpha: unchanged; padding becomes its maximum
 *
 * Where pixels share a sample of colour, each is computed with it, and it
 * becomes their mean. In float: devices may differ by one in the last place.
 */

/* The C library has a function of that name. */
#pragma vkgdr no-extern-c

__device__ static float
gamma_raise (float v, float power)
{
  return v > 0.0f ? powf (v, power) : 0.0f;
}

/* Blocks of 256 threads, four at a time: left alone, the compiler takes registers
 * for two. */
__global__ void __launch_bounds__ (256, 4)
gamma (VkgdrFrame in, VkgdrFrame out, float gamma)
{
  float power = 1.0f / fmaxf (gamma, 0.01f);

  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y,
      [&](VkgdrRgba &c, int, int) {
        c.r = gamma_raise (c.r, power);
        c.g = gamma_raise (c.g, power);
        c.b = gamma_raise (c.b, power);
      });
}
