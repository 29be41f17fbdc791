/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gamma: raises red, green and blue to a power.
 *
 * Parameters: float gamma, larger than 0. Values above 1 make dark colours
 * lighter, values below 1 make them darker.
 *
 * - red, green, blue and gray, from 0 to 1, are raised to the power of 1 /
 *   gamma; negative values become 0
 * - alpha: unchanged; padding becomes its maximum
 *
 * If several pixels share a sample of Cb or Cr, each pixel is computed with it,
 * and the sample is set to the mean of the results. Computed in float, so
 * devices may differ by one in the last place.
 */

/* The C library has a function called gamma, so the kernel needs a C++ name. */
#pragma vkgdr no-extern-c

__device__ static float
gamma_raise (float v, float power)
{
  return v > 0.0f ? powf (v, power) : 0.0f;
}

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
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
