/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convert: converts to another format and another size.
 *
 * Parameters: int method, for frames of another size: 0 takes the nearest
 * pixel, 1 is the weighted mean of four pixels (bilinear). Other values count
 * as 1.
 *
 * - pixels are squares: the middle of the output's pixel (x, y) is at
 *   ((x + 0.5) * in.width / out.width, and so on) in the input. Nearest takes the
 *   pixel at this position. Bilinear takes the four pixels whose middles are
 *   around it; pixels outside the frame are equal to the nearest pixel of its
 *   edge
 * - a field of an interlaced frame is made of the same field of the input. Its
 *   lines keep their distance from the lines of the other field: the top field
 *   begins half a line of the frame above the middle of both, and the bottom
 *   field half a line below
 * - colours are converted to red, green and blue with the matrix and range of
 *   the input's colorimetry, and then with those of the output's. Gamut and
 *   transfer function are not converted
 * - if several pixels of the input share a sample of Cb or Cr, it is used for
 *   all of them; if several pixels of the output share one, it is their mean
 * - alpha is interpolated like a colour; it is 1 if the input has none, and
 *   dropped if the output has none. Padding becomes its maximum
 *
 * Results are rounded to nearest, halves to even, and clamped. Frames are up to
 * 32767 pixels wide and high.
 *
 * Positions are computed in integers, and weights in float. Texture units are
 * not used: their weights have only 8 fractional bits, and software devices
 * have no texture units. So all devices take the same pixels, and results
 * differ by at most one in the last place.
 */

/* The first of two neighbours, and the weight of the second one. */
typedef struct {
  int first;
  float share;
} ConvertPlace;

/* @part is 1 for all of a picture's lines or columns, and 2 for the lines of a
 * field. @side is -1 for the top field, 1 for the bottom field, otherwise 0. */
__device__ static ConvertPlace
convert_find (int at, int in_size, int out_size, int part, int side)
{
  /* In halves of the output's pixels, or quarters of the field's lines, from
   * the middle of the first pixel. */
  int place = part * ((2 * at + 1) * in_size - out_size)
              + side * (in_size - out_size);
  int unit = 2 * part * out_size;
  ConvertPlace result = { 0, 0.0f };

  if (place <= 0)
    return result;
  result.first = place / unit;
  result.share = (float) (place - result.first * unit) / (float) unit;
  return result;
}

/* Returns 0 if the picture is not a field. */
__device__ static int
convert_side (const VkgdrFrame &f)
{
  int fields = f.fields & VKGDR_BOTH;

  return fields == VKGDR_TOP ? -1 : (fields == VKGDR_BOTTOM ? 1 : 0);
}

__device__ static ConvertPlace
convert_find_line (const VkgdrFrame &in, const VkgdrFrame &out, int y)
{
  int side = convert_side (in);

  return convert_find (y, in.height, out.height, side ? 2 : 1, side);
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
  ConvertPlace u = convert_find (x, in.width, out.width, 1, 0);
  ConvertPlace v = convert_find_line (in, out, y);
  VkgdrRgba above = convert_mix (vkgdr_get_rgba (in, u.first, v.first),
      vkgdr_get_rgba (in, u.first + 1, v.first), u.share);
  VkgdrRgba below = convert_mix (vkgdr_get_rgba (in, u.first, v.first + 1),
      vkgdr_get_rgba (in, u.first + 1, v.first + 1), u.share);

  return convert_mix (above, below, v.share);
}

__device__ static VkgdrRgba
convert_nearest (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  ConvertPlace v = convert_find_line (in, out, y);

  return vkgdr_get_rgba (in, (2 * x + 1) * in.width / (2 * out.width),
      v.first + (v.share >= 0.5f));
}

/* Whether convert_420 () can read the frame: NV12, I420 and other formats with
 * a sample of Cb and Cr for 2 x 2 pixels and consecutive bytes of luma.
 * convert_420 () converts 4 x 2 pixels at a time to packed red, green and
 * blue. */
__device__ static bool
convert_is_420 (const VkgdrFrame &in)
{
  const VkgdrComponent *k = in.component;
  unsigned long long luma = (unsigned long long) in.plane[0].data
                            | (unsigned long long) in.plane[0].stride;

  return in.model == VKGDR_YUV && in.n_components == 3 && k[0].depth == 8
         && k[0].step == 1 && k[1].depth == 8 && k[1].w_sub == 1
         && k[1].h_sub == 1 && (luma & 3) == 0;
}

/* The colour of samples of Cb and Cr if the sample of luma is 0. */
__device__ static VkgdrRgba
convert_chroma (const VkgdrFrame &in, int cb, int cr)
{
  VkgdrYuv c = { vkgdr_to_fraction (in, 0, 0), vkgdr_to_fraction (in, 1, cb),
    vkgdr_to_fraction (in, 2, cr) };

  return vkgdr_from_yuv (in, c);
}

/* The low byte of the result is the rounded sample. The unit of a float from
 * 2^23 on is 1, so the sum is rounded to an integer. This is faster than a
 * conversion. */
__device__ static unsigned int
convert_round (float fraction)
{
  return __float_as_uint (
      fmaf (__saturatef (fraction), 255.0f, (float) (1 << 23)));
}

/* The selector with which __byte_perm () puts the bytes of convert_pack () into
 * the order of the output's format. */
__device__ static unsigned int
convert_order (const VkgdrFrame &out)
{
  return 0u << vkgdr_shift4 (out, 0) / 2 | 1u << vkgdr_shift4 (out, 1) / 2
         | 4u << vkgdr_shift4 (out, 2) / 2 | 5u << vkgdr_shift4 (out, 3) / 2;
}

__device__ static unsigned int
convert_pack (float luma, VkgdrRgba colour, float scale, unsigned int order)
{
  unsigned int r = convert_round (fmaf (luma, scale, colour.r));
  unsigned int g = convert_round (fmaf (luma, scale, colour.g));
  unsigned int b = convert_round (fmaf (luma, scale, colour.b));

  return __byte_perm (
      __byte_perm (r, g, 0x40), __byte_perm (b, 255, 0x40), order);
}

__device__ static void
convert_420 (const VkgdrFrame &in, const VkgdrFrame &out, int x, int y)
{
  const unsigned char *luma = vkgdr_address (in, 0, x, y);
  const unsigned char *cb = vkgdr_address (in, 1, x, y);
  const unsigned char *cr = vkgdr_address (in, 2, x, y);
  float scale = in.component[0].scale;
  unsigned int order = convert_order (out), four[2];
  VkgdrRgba colour[2];

  /* Before the first store, so that all loads wait together. */
  for (int row = 0; row < 2; row++)
    four[row] = *(const unsigned int *) (luma + row * in.plane[0].stride);
  for (int i = 0; i < 2; i++)
    colour[i] = convert_chroma (
        in, cb[i * in.component[1].step], cr[i * in.component[2].step]);
  for (int row = 0; row < 2; row++) {
    VkgdrWords pixels;

    for (int i = 0; i < 4; i++)
      pixels.word[i] = convert_pack (
          (float) (four[row] >> 8 * i & 255), colour[i / 2], scale, order);
    *vkgdr_words (out, x, y + row) = pixels;
  }
}

__device__ static void
convert_pixel (
    const VkgdrFrame &in, const VkgdrFrame &out, int x, int y, int method)
{
  bool same = in.width == out.width && in.height == out.height;

  vkgdr_render (out, x, y, [&](int px, int py) {
    if (same)
      return vkgdr_get_rgba (in, px, py);
    if (method == 0)
      return convert_nearest (in, out, px, py);
    return convert_bilinear (in, out, px, py);
  });
}

#pragma vkgdr tile 4x2
#pragma vkgdr fields

/* With these bounds, four blocks of 256 threads run at a time. Without them,
 * the compiler uses so many registers that only two blocks can run. */
__global__ void __launch_bounds__ (256, 4)
convert (VkgdrFrame in, VkgdrFrame out, int method)
{
  int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  int y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);

  if (in.width == out.width && in.height == out.height && convert_is_420 (in)
      && out.model == VKGDR_RGB && out.full_range && vkgdr_is_packed4 (out)
      && vkgdr_has_words (out, x, y) && vkgdr_has_words (out, x, y + 1)) {
    convert_420 (in, out, x, y);
    return;
  }
  for (int row = 0; row < 2; row++)
    for (int i = 0; i < 4; i++)
      convert_pixel (in, out, x + i, y + row, method);
}
