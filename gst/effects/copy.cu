/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy: copies all samples of all components, also alpha and padding.
 *
 * Bytes between the rows, and bits of a 16-bit word beyond the depth, are not
 * copied.
 */

#pragma vkgdr tile 4x1

__device__ static void
copy_pixel (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y))
      vkgdr_put (out, c, x, y, vkgdr_get (in, c, x, y));
}

__global__ void
copy (VkgdrFrame in, VkgdrFrame out)
{
  int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out) && vkgdr_has_words (in, x, y)
      && vkgdr_has_words (out, x, y)) {
    *vkgdr_words (out, x, y) = *vkgdr_words (in, x, y);
    return;
  }
  for (int i = 0; i < 4 && x + i < out.width; i++)
    copy_pixel (in, out, x + i, y);
}
