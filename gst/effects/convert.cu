/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convert: another format, another size.
 *
 * Parameters: int method, how a frame of another size is made: 0 takes the
 * nearest pixel, 1 weighs the four around (bilinear). Others are 1.
 *
 *  - pixels are squares: the middle of the output's pixel (x, y) lies in the
 *    input at ((x + 0.5) * in.width / out.width, and so on). Nearest is the pixel
 *    in which it lies; bilinear weighs the four whose middles are around it, and
 *    what lies outside the frame is the nearest pixel of its edge
 *  - colours go by way of red, green and blue with the matrix and range of the
 *    input's colorimetry, and from there with those of the output's. Gamut and
 *    transfer function are left as they are
 *  - where the input's pixels share a sample of colour, all of them have it;
 *    where the output's do, it becomes their mean
 *  - alpha is weighed as a colour is; it is 1 where the input has none, and
 *    dropped where the output has none. Padding becomes its maximum
 *
 * Results are rounded to nearest, halves to even, and clamped. Frames are up to
 * 32767 pixels wide and high.
 *
 * Where a pixel comes from is computed in integers, and the weights in float, by
 * hand and not by texture units: these have weights of 8 fractional bits, and
 * software devices have none. So every device takes the same pixels, and
 * results differ by one in the last place at most.
 */

/* The first of two neighbours, and the share of the second. */
typedef struct {
  int first;
  float share;
} ConvertPlace;

__device__ static ConvertPlace
convert_find (int at, int in_size, int out_size)
{
  /* In halves of the output's pixels, and from the middle of the first. */
  int place = (2 * at + 1) * in_size - out_size;
  ConvertPlace result = { 0, 0.0f };

  if (place <= 0)
    return result;
  result.first = place / (2 * out_size);
  result.share = (float) (place - result.first * 2 * out_size)
                 / (float) (2 * out_size);
  return result;
}

__device__ static VkgdrRgba
convert_mix (VkgdrRgba a, VkgdrRgba b, float share)
{
  VkgdrRgba c = { fmaf (share, b.r - a.r, a.r), fmaf (share, b.g - a.g, a.g),
    fmaf (share, b.b - a.b, a.b), fmaf (share, b.a - a.a, a.a) };

  return c;
}

__device__ static VkgdrRgba
convert_bilinear (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  ConvertPlace u = convert_find (x, in.width, out.width);
  ConvertPlace v = convert_find (y, in.height, out.height);
  VkgdrRgba above = convert_mix (vkgdr_get_rgba (in, u.first, v.first),
      vkgdr_get_rgba (in, u.first + 1, v.first), u.share);
  VkgdrRgba below = convert_mix (vkgdr_get_rgba (in, u.first, v.first + 1),
      vkgdr_get_rgba (in, u.first + 1, v.first + 1), u.share);

  return convert_mix (above, below, v.share);
}

__device__ static VkgdrRgba
convert_nearest (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  return vkgdr_get_rgba (in, (2 * x + 1) * in.width / (2 * out.width),
      (2 * y + 1) * in.height / (2 * out.height));
}

/* Blocks of 256 threads, four at a time: left alone, the compiler takes registers
 * for two. */
__global__ void __launch_bounds__ (256, 4)
convert (VkgdrFrame in, VkgdrFrame out, int method)
{
  bool same = in.width == out.width && in.height == out.height;

  vkgdr_render (out, blockIdx.x * blockDim.x + threadIdx.x,
      blockIdx.y * blockDim.y + threadIdx.y, [&](int x, int y) {
        if (same)
          return vkgdr_get_rgba (in, x, y);
        if (method == 0)
          return convert_nearest (in, out, x, y);
        return convert_bilinear (in, out, x, y);
      });
}
