/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * coordinates: the four numbers of each of n boxes become number * scale + offset
 *
 * Number c of box i is element c * row + i * step.
 */

struct Coordinates {
  float *data;
  long long n, row, step;
  float scale[4], offset[4];
};

__global__ void
coordinates (Coordinates boxes)
{
  long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= boxes.n)
    return;
  for (int c = 0; c < 4; c++) {
    float *value = boxes.data + c * boxes.row + i * boxes.step;

    *value = *value * boxes.scale[c] + boxes.offset[c];
  }
}
