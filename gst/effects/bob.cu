/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bob: makes a picture from one field of an interlaced picture.
 *
 * Parameters: int field, 0 for the top field (lines 0, 2, 4 and so on), or 1
 * for the bottom field (lines 1, 3, 5).
 *
 * - lines of the field: unchanged
 * - lines between: the mean of the line above and the line below, rounded to
 *   nearest, halves up; if the first or the last line does not belong to the
 *   field, it becomes equal to the line next to it
 * - each component has its own lines, also alpha and padding
 *
 * Computed in integers, so the CPU and all devices give the same result.
 */

/* The lines of the field from which line y is made. A component with a single
 * line has only this one. */
__device__ static void
bob_find (int y, int lines, int field, int *above, int *below)
{
  *above = *below = y;
  if ((y & 1) == (field & 1) || lines == 1)
    return;
  *above = y > 0 ? y - 1 : y + 1;
  *below = y + 1 < lines ? y + 1 : y - 1;
}

__device__ static void
bob_packed4 (
    const VkgdrFrame &in, const VkgdrFrame &out, int x, int y, int field)
{
  int above, below;
  unsigned int a, b;

  bob_find (y, in.height, field, &above, &below);
  a = *vkgdr_packed4 (in, x, above);
  b = *vkgdr_packed4 (in, x, below);
  /* Four means at once: the bits that either word has, minus half of the bits
   * that differ. */
  *vkgdr_packed4 (out, x, y) = (a | b) - ((a ^ b) >> 1 & 0x7f7f7f7fu);
}

__device__ static int
bob_sample (const VkgdrFrame &in, int c, int x, int row, int field)
{
  int rows = in.plane[in.component[c].plane].height;
  int above, below;

  bob_find (row, rows, field, &above, &below);
  return (vkgdr_get (in, c, x, vkgdr_line (in, c, above))
             + vkgdr_get (in, c, x, vkgdr_line (in, c, below)) + 1)
         >> 1;
}

__global__ void
bob (VkgdrFrame in, VkgdrFrame out, int field)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x >= out.width || y >= out.height)
    return;
  if (in.format == out.format && vkgdr_is_packed4 (in)
      && vkgdr_is_packed4 (out)) {
    bob_packed4 (in, out, x, y, field);
    return;
  }
  for (int c = 0; c < out.n_components; c++)
    if (vkgdr_has (out, c, x, y))
      vkgdr_put (out, c, x, y,
          bob_sample (in, c, x, vkgdr_row (out, c, y), field));
}
