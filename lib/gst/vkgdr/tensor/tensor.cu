/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor.cu: a frame becomes a part of a tensor, in one pass
 *
 * Each thread makes all channels of one pixel. It filters the samples of the
 * frame in each grid (see job.h), converts the result to channels with one
 * matrix, normalises the channels and writes them.
 *
 * How samples are read and filtered takes most of the time, so these settings
 * are macros, and the kernel has no branches for them:
 *
 *  - TENSOR_READ, TENSOR_PAIR, TENSOR_FILTER: see job.h
 *  - TENSOR_FULL, TENSOR_HALF: bits of the components that are read: those of
 *    grid 0, and those of grid 1. With TENSOR_READ_ANY they are in the job.
 */

#if TENSOR_READ == TENSOR_READ_ANY
#undef TENSOR_FULL
#undef TENSOR_HALF
#define TENSOR_FULL job.full
#define TENSOR_HALF job.half
#endif

#define TENSOR_ONE (1ll << 32)
#define TENSOR_FRACTION (1.0f / 4294967296.0f)

__device__ static inline int
tensor_clamp (int v, int first, int last)
{
  return v < first ? first : (v > last ? last : v);
}

/* Returns a position, rounded down to an integer. */
__device__ static inline int
tensor_floor (long long position)
{
  return (int) (position >> 32);
}

/* Returns the difference between a position and that integer. */
__device__ static inline float
tensor_fraction (long long position)
{
  return (float) (unsigned int) position * TENSOR_FRACTION;
}

/* --- lines --------------------------------------------------------------- */

/* The rows of a grid from which a row of the picture is made: the position, the
 * first and the last one. In an interlaced frame, they are numbers of the rows
 * of one field. */
typedef struct {
  long long position;
  int first;
  int last;
  int field; /* 1 for the bottom field */
} TensorRows;

__device__ static inline TensorRows
tensor_find_rows (const VkgdrTensorJob &job, int grid, int y)
{
  const VkgdrTensorAxis &axis = job.grid[grid].y;
  TensorRows rows = { axis.base + y * axis.step, axis.first, axis.last, 0 };

  if (job.fields) {
    rows.field = job.fields == VKGDR_BOTH ? y & 1 : job.fields - 1;
    rows.position = (rows.position - rows.field * TENSOR_ONE) >> 1;
    rows.first = (job.y + 1 - rows.field) >> 1 >> axis.shift;
    rows.last =
        (job.y + job.region_height - 1 - rows.field) >> 1 >> axis.shift;
  }
  return rows;
}

/* Returns the row of the plane. */
__device__ static inline int
tensor_row (const VkgdrTensorJob &job, const TensorRows &rows, int row)
{
  return job.fields ? 2 * row + rows.field : row;
}

/* --- samples ------------------------------------------------------------- */

__device__ static inline float
tensor_read (const VkgdrFrame &f, const VkgdrTensorJob &job, int c, int grid,
    int x, int y)
{
#if TENSOR_READ == TENSOR_READ_BYTES
  return (float) job.data[c][y * job.stride[c] + x * job.step[c]];
#elif TENSOR_READ == TENSOR_READ_WORDS
  unsigned int v = *(const unsigned short *) (job.data[c] + y * job.stride[c]
                                              + x * job.step[c]);

  return (float) (int) (v >> job.shift[c] & job.mask[c]);
#else
  return (float) vkgdr_get (
      f, c, x << job.grid[grid].x.shift, vkgdr_line (f, c, y));
#endif
}

/* Reads Cb and Cr, which are adjacent. */
__device__ static inline void
tensor_read_pair (const VkgdrTensorJob &job, int x, int y, float v[TENSOR_MAX])
{
  const int first = TENSOR_PAIR == TENSOR_PAIR_UV ? 1 : 2;
  const unsigned char *p =
      job.data[first] + y * job.stride[1] + x * job.step[1];

#if TENSOR_READ == TENSOR_READ_BYTES
  unsigned int pair = *(const unsigned short *) p;

  v[first] = (float) (int) (pair & 255u);
  v[3 - first] = (float) (int) (pair >> 8);
#else
  unsigned int pair = *(const unsigned int *) p;

  v[first] = (float) (int) ((pair & 65535u) >> job.shift[1] & job.mask[1]);
  v[3 - first] = (float) (int) (pair >> 16 >> job.shift[2] & job.mask[2]);
#endif
}

/* Reads the samples of a grid at one position. Does not change the values of
 * components of the other grid. */
__device__ static inline void
tensor_fetch (const VkgdrFrame &f, const VkgdrTensorJob &job, int grid, int x,
    int y, float v[TENSOR_MAX])
{
  const int needed = grid == 0 ? TENSOR_FULL : TENSOR_HALF;

#if TENSOR_READ == TENSOR_READ_PACKED
  unsigned int word =
      *(const unsigned int *) (job.data[0] + y * job.stride[0] + 4 * x);

#pragma unroll
  for (int c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1)
      v[c] = (float) (int) (word >> job.shift[c] & 255u);
#else
#if TENSOR_PAIR != TENSOR_PAIR_NONE
  if (grid == 1) {
    tensor_read_pair (job, x, y, v);
    return;
  }
#endif
#pragma unroll
  for (int c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1)
      v[c] = tensor_read (f, job, c, grid, x, y);
#endif
}

/* --- filters: the samples of a grid for column x and row y of the picture -- */

#if TENSOR_FILTER == TENSOR_FILTER_NEAREST

/* Computes with floating point numbers and rounds after each operation, as
 * PyTorch does. So the same sample is used as in PyTorch even if rounding
 * decides. */
__device__ static inline int
tensor_nearest (int at, float scale, int size)
{
  int i = (int) floorf ((float) at * scale);

  return i < size ? i : size - 1;
}

__device__ static inline void
tensor_filter (const VkgdrFrame &f, const VkgdrTensorJob &job, int grid, int x,
    int y, float v[TENSOR_MAX])
{
  int column = job.x + tensor_nearest (x, job.scale_x, job.region_width);
  int line = job.y + tensor_nearest (y, job.scale_y, job.region_height);
  int shift = job.grid[grid].y.shift, row = line >> shift;

  if (job.fields) {
    TensorRows rows = tensor_find_rows (job, grid, y);

    row = tensor_row (job, rows,
        tensor_clamp (
            (line - rows.field) >> 1 >> shift, rows.first, rows.last));
  }
  tensor_fetch (f, job, grid, column >> job.grid[grid].x.shift, row, v);
}

#elif TENSOR_FILTER == TENSOR_FILTER_BILINEAR

__device__ static inline float
tensor_mix (float a, float b, float share)
{
  return fmaf (share, b - a, a);
}

__device__ static inline void
tensor_filter (const VkgdrFrame &f, const VkgdrTensorJob &job, int grid, int x,
    int y, float v[TENSOR_MAX])
{
  const int needed = grid == 0 ? TENSOR_FULL : TENSOR_HALF;
  const VkgdrTensorAxis &h = job.grid[grid].x;
  TensorRows rows = tensor_find_rows (job, grid, y);
  long long u = h.base + x * h.step, t = rows.position;
  int x0 = tensor_clamp (tensor_floor (u), h.first, h.last);
  int x1 = tensor_clamp (tensor_floor (u) + 1, h.first, h.last);
  int y0 = tensor_row (
      job, rows, tensor_clamp (tensor_floor (t), rows.first, rows.last));
  int y1 = tensor_row (
      job, rows, tensor_clamp (tensor_floor (t) + 1, rows.first, rows.last));
  float a[TENSOR_MAX], b[TENSOR_MAX], c[TENSOR_MAX], d[TENSOR_MAX];

  tensor_fetch (f, job, grid, x0, y0, a);
  tensor_fetch (f, job, grid, x1, y0, b);
  tensor_fetch (f, job, grid, x0, y1, c);
  tensor_fetch (f, job, grid, x1, y1, d);
#pragma unroll
  for (int i = 0; i < TENSOR_MAX; i++)
    if (needed >> i & 1)
      v[i] = tensor_mix (tensor_mix (a[i], b[i], tensor_fraction (u)),
          tensor_mix (c[i], d[i], tensor_fraction (u)), tensor_fraction (t));
}

#else

/* The samples that have a weight: the first one, the last one, and the distance
 * of the first one from the position. */
typedef struct {
  int first;
  int last;
  float distance;
} TensorSpan;

__device__ static inline TensorSpan
tensor_find_span (long long support, long long position, int first, int last)
{
  TensorSpan span;

  span.first = tensor_floor (position + TENSOR_ONE - support);
  span.last = tensor_floor (position + TENSOR_ONE + support) - 1;
  span.first = tensor_clamp (span.first, first, last);
  span.last = tensor_clamp (span.last, span.first, last);
  span.distance = (float) (span.first - tensor_floor (position))
                  - tensor_fraction (position);
  return span;
}

__device__ static inline float
tensor_weigh (float distance, float inverse)
{
  return fmaxf (fmaf (-fabsf (distance), inverse, 1.0f), 0.0f);
}

__device__ static inline float
tensor_sum_weights (const TensorSpan &span, float inverse)
{
  float sum = 0.0f;

  for (int i = span.first; i <= span.last; i++)
    sum += tensor_weigh (span.distance + (float) (i - span.first), inverse);
  return sum;
}

__device__ static inline void
tensor_filter (const VkgdrFrame &f, const VkgdrTensorJob &job, int grid, int x,
    int y, float v[TENSOR_MAX])
{
  const int needed = grid == 0 ? TENSOR_FULL : TENSOR_HALF;
  const VkgdrTensorAxis &h = job.grid[grid].x, &w = job.grid[grid].y;
  TensorRows lines = tensor_find_rows (job, grid, y);
  TensorSpan columns =
      tensor_find_span (h.support, h.base + x * h.step, h.first, h.last);
  TensorSpan rows =
      tensor_find_span (w.support, lines.position, lines.first, lines.last);
  float total = tensor_sum_weights (columns, h.inverse)
                * tensor_sum_weights (rows, w.inverse);
  float weight_y, weight_x, sum[TENSOR_MAX], s[TENSOR_MAX];

#pragma unroll
  for (int c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1)
      v[c] = 0.0f;
  for (int row = rows.first; row <= rows.last; row++) {
    weight_y =
        tensor_weigh (rows.distance + (float) (row - rows.first), w.inverse);
#pragma unroll
    for (int c = 0; c < TENSOR_MAX; c++)
      sum[c] = 0.0f;
#pragma unroll 4
    for (int column = columns.first; column <= columns.last; column++) {
      weight_x = tensor_weigh (
          columns.distance + (float) (column - columns.first), h.inverse);
      tensor_fetch (f, job, grid, column, tensor_row (job, lines, row), s);
#pragma unroll
      for (int c = 0; c < TENSOR_MAX; c++)
        if (needed >> c & 1)
          sum[c] = fmaf (weight_x, s[c], sum[c]);
    }
#pragma unroll
    for (int c = 0; c < TENSOR_MAX; c++)
      if (needed >> c & 1)
        v[c] = fmaf (weight_y, sum[c], v[c]);
  }
#pragma unroll
  for (int c = 0; c < TENSOR_MAX; c++)
    if (needed >> c & 1)
      v[c] = v[c] / total;
}

#endif

/* --- elements ------------------------------------------------------------ */

/* Returns the bits of a half precision number, rounded to the nearest one, and
 * to an even one in the middle. CUDA's header for such numbers is part of its
 * toolkit, which may not be installed. */
__device__ static inline unsigned short
tensor_to_half (float v)
{
#ifndef __SOFTCUDA__
  unsigned short bits;

  asm ("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
#else
  unsigned int all = __float_as_uint (v);
  unsigned int sign = all >> 16 & 0x8000u, size = all & 0x7fffffffu;

  if (size >= 0x7f800000u) /* infinite, or not a number */
    return (unsigned short) (sign | (size > 0x7f800000u ? 0x7fffu : 0x7c00u));
  if (size >= 0x477ff000u) /* rounds to more than the largest half */
    return (unsigned short) (sign | 0x7c00u);
  if (size < 0x38800000u) /* half precision numbers that are not normalised are
                           * multiples of 2^-24 */
    return (unsigned short) (sign
                             | (unsigned int) rintf (
                                __uint_as_float (size) * 16777216.0f));
  size += 0xfffu + (size >> 13 & 1u);
  return (unsigned short) (sign | ((size - 0x38000000u) >> 13));
#endif
}

__device__ static inline unsigned short
tensor_to_bfloat16 (float v)
{
  unsigned int all = __float_as_uint (v);

  return (unsigned short) ((all + 0x7fffu + (all >> 16 & 1u)) >> 16);
}

__device__ static inline int
tensor_round (float v, float min, float max)
{
  return (int) rintf (fminf (fmaxf (v, min), max));
}

__device__ static inline void
tensor_store (const VkgdrTensorJob &job, long long at, float v)
{
  switch (job.type) {
  case TENSOR_TYPE_FLOAT32:
    ((float *) job.out)[at] = v;
    break;
  case TENSOR_TYPE_FLOAT16:
    ((unsigned short *) job.out)[at] = tensor_to_half (v);
    break;
  case TENSOR_TYPE_BFLOAT16:
    ((unsigned short *) job.out)[at] = tensor_to_bfloat16 (v);
    break;
  case TENSOR_TYPE_UINT8:
    job.out[at] = (unsigned char) tensor_round (v, 0.0f, 255.0f);
    break;
  default:
    ((signed char *) job.out)[at] =
        (signed char) tensor_round (v, -128.0f, 127.0f);
    break;
  }
}

__device__ static inline void
tensor_put (const VkgdrTensorJob &job, int channel, int x, int y, float value)
{
  long long at = (long long) y * job.width + x;
  long long plane = (long long) job.height * job.width;
  float v = fmaf (value, job.factor[channel], job.bias[channel]);

  at = job.interleaved ? at * job.channels + channel : at + channel * plane;
  tensor_store (job, at, v);
}

__device__ static inline float
tensor_mix_channel (
    const VkgdrTensorJob &job, int channel, const float v[TENSOR_MAX])
{
  float sum = job.matrix[channel][TENSOR_MAX];

#pragma unroll
  for (int c = 0; c < TENSOR_MAX; c++)
    if ((TENSOR_FULL | TENSOR_HALF) >> c & 1)
      sum = fmaf (job.matrix[channel][c], v[c], sum);
  return fminf (fmaxf (sum, 0.0f), 255.0f);
}

extern "C" __global__ void __launch_bounds__ (256)
vkgdr_tensor (VkgdrFrame f, VkgdrTensorJob job)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int column = x - job.left, row = y - job.top;
  bool is_padding = column < 0 || row < 0 || column >= job.picture_width
                    || row >= job.picture_height;
  float v[TENSOR_MAX];

  if (x >= job.width || y >= job.height)
    return;
  if (!is_padding && TENSOR_FULL)
    tensor_filter (f, job, 0, column, row, v);
  if (!is_padding && TENSOR_HALF)
    tensor_filter (f, job, 1, column, row, v);
#pragma unroll
  for (int i = 0; i < TENSOR_MAX; i++)
    if (i < job.channels)
      tensor_put (job, i, x, y,
          is_padding ? job.pad[i] : tensor_mix_channel (job, i, v));
}
