/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * grayscale: luma without colour.
 *
 * - red, green, blue: all three become the luma of the pixel, kr R + kg G + kb
 *   B by the colorimetry of the caps (BT.709 if they have none); the weights
 *   are rounded to multiples of 1/65536, and the luma to nearest
 * - Y and gray: unchanged
 * - Cb and Cr: neutral, 128 in 8 bits
 * - alpha and padding: unchanged
 */

__device__ static void
grayscale_packed4 (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  unsigned int p = *vkgdr_packed4 (in, x, y);
  int r = vkgdr_shift4 (in, 0), g = vkgdr_shift4 (in, 1),
      b = vkgdr_shift4 (in, 2), a = vkgdr_shift4 (in, 3);
  unsigned int v = vkgdr_weigh (in, p >> r & 255, p >> g & 255, p >> b & 255);

  *vkgdr_packed4 (out, x, y) = v << r | v << g | v << b | (p & 0xffu << a);
}

__global__ void
grayscale (VkgdrFrame in, VkgdrFrame out)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && in.model == VKGDR_RGB && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    grayscale_packed4 (in, out, x, y);
    return;
  }

  int luma = vkgdr_luma (in, x, y);

  for (int c = 0; c < out.n_components; c++) {
    if (!vkgdr_has (out, c, x, y))
      continue;
    if (vkgdr_is_chroma (out, c))
      vkgdr_put (out, c, x, y, vkgdr_neutral (out, c));
    else
      vkgdr_put (out, c, x, y,
          c == 3 ? vkgdr_get (in, c, x, y) : vkgdr_rescale (in, 0, c, luma));
  }
}
