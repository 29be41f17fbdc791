/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:kernel
 * @title: vkgdr/kernel.h
 * @short_description: what a CUDA kernel of cudafilter sees of a buffer
 *
 * cudafilter puts this header in front of every CUDA source by itself. The
 * first two arguments of a kernel are its input and its output:
 *
 * |[<!-- language="C" -->
 * __global__ void
 * negative (VkgdrFrame in, VkgdrFrame out)
 * {
 *   int x = blockIdx.x * blockDim.x + threadIdx.x;
 *   int y = blockIdx.y * blockDim.y + threadIdx.y;
 *
 *   if (x >= out.width || y >= out.height)
 *     return;
 *   for (int c = 0; c < out.n_components; c++)
 *     if (vkgdr_has (out, c, x, y))
 *       vkgdr_put (out, c, x, y, vkgdr_max (in, c) - vkgdr_get (in, c, x, y));
 * }
 * ]|
 *
 * A launch covers out.width x out.height threads in blocks of 32 x 8, rounded
 * up to whole blocks, so that a kernel has to leave where its pixel lies
 * outside. A kernel whose registers allow fewer threads in a block gets smaller
 * ones. A source that says `#pragma vkgdr tile 4x2` gets a thread for each 4 x
 * 2 pixels, the last ones of a row or column for fewer; the numbers are 1
 * to 99.
 *
 * Names: a source is put between `extern "C" {` and `}`, so that a kernel's
 * name is the one to give as entry=. Templates, headers and overloaded
 * functions do not bear that: a source in which one of
 *
 *  - `template`,
 *  - `#include`,
 *  - `extern "C"`,
 *  - `#pragma vkgdr no-extern-c`
 *
 * stands outside of comments and strings is left as it is. Its kernels may say
 * `extern "C"` themselves, and are found by their plain names even where they
 * do not, as long as there is one kernel of that name.
 *
 * Kernels that work on anything else than video have VkgdrSamples in place of
 * VkgdrFrame: raw audio, and the bytes of whatever stream.
 *
 * |[<!-- language="C" -->
 * __global__ void
 * halve (VkgdrSamples in, VkgdrSamples out)
 * {
 *   long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x;
 *
 *   if (i < out.n)
 *     ((short *) out.data)[i] = ((const short *) in.data)[i] / 2;
 * }
 * ]|
 *
 * A launch covers out.n threads, in x alone, in blocks of 256 or fewer, rounded
 * up to whole blocks.
 *
 * The output may be the input, where both are alike and nobody else has the
 * buffer, which saves its memory's bandwidth. A kernel each of whose threads
 * reads no more of the input than what it writes of the output itself bears
 * that, and says so in its source: `#pragma vkgdr in-place`.
 *
 * Further arguments: those behind the two frames are given by params=, in their
 * order, and each must be as large as the kernel's parameter:
 *
 * | value given            | parameter                                        |
 * |------------------------|--------------------------------------------------|
 * | int, uint, enum, flags | int, unsigned, and wider or narrower integers    |
 * |                        | that hold the value                              |
 * | int64, uint64          | long long, unsigned long long, a device pointer  |
 * | boolean                | bool, int                                        |
 * | float, double          | float, double: whichever the kernel has          |
 *
 * The driver knows the size of a parameter and not its type: 2 given for a
 * float arrives as the integer's bits. Write 2.0 or (float)2.
 *
 * The same source is compiled by NVRTC for an NVIDIA GPU, and by the host's C++
 * compiler for the software device.
 */

#ifndef VKGDR_KERNEL_H
#define VKGDR_KERNEL_H

#define VKGDR_MAX_PLANES 4

/**
 * VkgdrModel: what a format's components mean
 * @VKGDR_RGB: components 0 to 2 are red, green and blue, 3 is alpha or, in
 *   formats such as RGBx, the padding, which effects hand on unchanged
 * @VKGDR_YUV: components 0 to 2 are Y, Cb and Cr, 3 is alpha where there is one
 * @VKGDR_GRAY: component 0 is luma
 */
typedef enum VkgdrModel {
  VKGDR_RGB = 0,
  VKGDR_YUV = 1,
  VKGDR_GRAY = 2
} VkgdrModel;

/**
 * VkgdrOrder: how the samples of a component are stored
 * @VKGDR_NATIVE: in a byte of their own, or above 8 bits in a word of two bytes
 *   in the device's byte order
 * @VKGDR_SWAPPED: in a word of two bytes in the other byte order
 * @VKGDR_BITS_LE: in bits that begin anywhere, the lowest bit of a byte first
 * @VKGDR_BITS_BE: in bits that begin anywhere, the highest bit of a byte first
 *
 * vkgdr_get() and vkgdr_put() work with all of them.
 */
typedef enum VkgdrOrder {
  VKGDR_NATIVE = 0,
  VKGDR_SWAPPED = 1,
  VKGDR_BITS_LE = 2,
  VKGDR_BITS_BE = 3
} VkgdrOrder;

/**
 * VkgdrPlane: one plane of a frame
 * @data: the device's pointer to its first row
 * @stride: bytes from one row to the next
 * @width: samples or pixels in a row
 * @height: rows
 */
typedef struct VkgdrPlane {
  unsigned char *data;
  long long stride;
  int width;
  int height;
} VkgdrPlane;

/**
 * VkgdrComponent: where the samples of one component lie
 * @plane: index of the plane
 * @offset: bytes from a row's start to its first sample, or to its first group
 *   of samples
 * @step: bytes from one sample, or from one group, to the next
 * @w_sub: log2 of the horizontal subsampling: 1 where two pixels share a sample
 * @h_sub: log2 of the vertical subsampling
 * @depth: bits of a sample
 * @shift: how far a sample is shifted up in its two bytes; with a VkgdrOrder of
 *   bits, how many bits come before it, or before the first one of its group
 * @order: a VkgdrOrder; what follows has a meaning only where it is one of bits
 * @group: samples in a group, those of all components counted: sample i of this
 *   component is number @first + i * @pitch of the row, and that number divided
 *   by @group tells which group it is in, and which one of it
 * @first: number of the first sample
 * @pitch: from the number of a sample to that of the next
 * @spacing: bits from one sample of a group to the next
 * @origin: the sample that means 0: black, or no colour in Cb and Cr
 * @range: from there to 1: white, or what the largest Cb or Cr is above the
 *   smallest
 * @scale: 1 / @range
 */
typedef struct VkgdrComponent {
  int plane;
  int offset;
  int step;
  int w_sub;
  int h_sub;
  int depth;
  int shift;
  int order;
  int group;
  int first;
  int pitch;
  int spacing;
  float origin;
  float range;
  float scale;
} VkgdrComponent;

/**
 * VkgdrFrame: a video frame in device memory
 * @plane: its planes, @n_planes of them
 * @component: its components, @n_components of them, in the order of
 *   VkgdrModel whatever their order in memory
 * @width: pixels in a row
 * @height: rows
 * @format: the GstVideoFormat
 * @model: a VkgdrModel
 * @n_planes: number of planes
 * @n_components: number of components, the padding of RGBx counted
 * @has_alpha: 1 where component 3 is alpha, 0 where it is padding or missing
 * @packed4: 1 where a pixel is one word, see vkgdr_is_packed4()
 * @full_range: 1 where luma runs from 0 to the largest value, 0 where it runs
 *   from 16 to 235 (in 8 bits)
 * @kr: weight of red in luma, by the colorimetry of the caps
 * @kb: weight of blue in luma
 * @v_to_r: red is luma and Cr times this
 * @u_to_b: blue is luma and Cb times this
 * @u_to_g: green is luma and Cb times this,
 * @v_to_g: and Cr times this
 * @r_to_v: Cr is what red is above luma, times this
 * @b_to_u: Cb is what blue is above luma, times this
 * @frame: number of the frame since the stream began, from 0
 * @time: presentation time stamp in nanoseconds, -1 where there is none
 */
typedef struct VkgdrFrame {
  VkgdrPlane plane[VKGDR_MAX_PLANES];
  VkgdrComponent component[VKGDR_MAX_PLANES];
  int width;
  int height;
  int format;
  int model;
  int n_planes;
  int n_components;
  int has_alpha;
  int packed4;
  int full_range;
  float kr;
  float kb;
  float v_to_r;
  float u_to_b;
  float u_to_g;
  float v_to_g;
  float r_to_v;
  float b_to_u;
  unsigned long long frame;
  long long time;
} VkgdrFrame;

/**
 * VkgdrSamples: a buffer that is no video, in device memory
 * @data: the device's pointer to its first byte
 * @n: samples in all, those of all channels counted
 * @size: bytes of a sample; 1 for what is no audio
 * @channels: channels, whose samples take turns: sample i is one of channel
 *   i % @channels; 1 for what is no audio
 * @rate: samples of a channel in a second; 0 for what is no audio
 * @format: the GstAudioFormat; 0 for what is no audio
 * @frame: number of the buffer since the stream began, from 0
 * @time: presentation time stamp in nanoseconds, -1 where there is none
 */
typedef struct VkgdrSamples {
  unsigned char *data;
  long long n;
  int size;
  int channels;
  int rate;
  int format;
  unsigned long long frame;
  long long time;
} VkgdrSamples;

#ifdef __CUDACC__

/**
 * vkgdr_clamp: the coordinate in a frame of that size that is nearest to v
 */
__device__ inline int
vkgdr_clamp (int v, int size)
{
  return v < 0 ? 0 : (v >= size ? size - 1 : v);
}

/* The byte of the sample that pixel (x, y) has a share in, where it has bytes
 * of its own; what lies outside the frame is moved to its edge. */
__device__ inline unsigned char *
vkgdr_address (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];

  x = vkgdr_clamp (x, f.width);
  y = vkgdr_clamp (y, f.height);
  return f.plane[k.plane].data
         + (long long) (y >> k.h_sub) * f.plane[k.plane].stride + k.offset
         + (long long) (x >> k.w_sub) * k.step;
}

/**
 * vkgdr_has: whether pixel (x, y) is the one that answers for its sample of
 * component c: the upper left one of those that share it
 */
__device__ inline bool
vkgdr_has (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];

  return x < f.width && y < f.height
         && ((x & ((1 << k.w_sub) - 1)) | (y & ((1 << k.h_sub) - 1))) == 0;
}

/**
 * vkgdr_max: the largest value of a sample of component c, 255 for 8 bits
 */
__device__ inline int
vkgdr_max (const VkgdrFrame &f, int c)
{
  return (1 << f.component[c].depth) - 1;
}

/* --- samples in bits ----------------------------------------------------- */

/* Where a sample begins, in words of four bytes at multiples of four: as rows
 * need not begin at one, the bit that it begins with counts from there. */
typedef struct VkgdrBits {
  unsigned int *word;
  int bit;
  int padding; /* bits behind it that belong to no sample */
} VkgdrBits;

__device__ inline VkgdrBits
vkgdr_find_bits (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];
  int number = k.first + (vkgdr_clamp (x, f.width) >> k.w_sub) * k.pitch;
  int group = number / k.group, index = number - group * k.group;
  int bit = k.shift + index * k.spacing;
  unsigned long long address =
      (unsigned long long) f.plane[k.plane].data
      + (long long) (vkgdr_clamp (y, f.height) >> k.h_sub)
            * f.plane[k.plane].stride
      + k.offset + (long long) group * k.step + (bit >> 3);
  VkgdrBits bits = { (unsigned int *) (address & ~3ull),
    (int) (address & 3) * 8 + (bit & 7), 0 };

  /* Only groups of whole words have such bits, as those of v210. */
  if (k.group > 1 && index == k.group - 1 && (k.step & 3) == 0)
    bits.padding = 8 * k.step - k.group * k.spacing;
  return bits;
}

/* A word's bytes in the order in which its bits are counted. */
__device__ inline unsigned int
vkgdr_order_word (unsigned int v, int order)
{
  if (order == VKGDR_BITS_LE)
    return v;
  return v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24;
}

/* Not inline, and without a frame: the formats that need it are rare. */
__device__ __noinline__ inline int
vkgdr_read_bits (const unsigned int *p, int bit, int depth, int order)
{
  unsigned int max = (1u << depth) - 1;
  int end = bit + depth;
  unsigned int v = vkgdr_order_word (p[0], order);
  unsigned int next = end > 32 ? vkgdr_order_word (p[1], order) : 0;

  if (order == VKGDR_BITS_LE)
    v = v >> bit | (end > 32 ? next << (32 - bit) : 0);
  else
    v = end > 32 ? v << (end - 32) | next >> (64 - end) : v >> (32 - end);
  return (int) (v & max);
}

/* Sets the bits of mask, and no others, to those of v: other threads may have
 * samples in the same word. */
__device__ inline void
vkgdr_set_bits (unsigned int *p, unsigned int mask, unsigned int v, int order)
{
  atomicAnd (p, ~vkgdr_order_word (mask, order));
  atomicOr (p, vkgdr_order_word (v, order));
}

__device__ __noinline__ inline void
vkgdr_write_bits (
    unsigned int *p, int bit, int depth, int order, unsigned int v)
{
  unsigned int max = (1u << depth) - 1;
  int end = bit + depth;

  if (order == VKGDR_BITS_LE) {
    vkgdr_set_bits (p, max << bit, v << bit, order);
    if (end > 32)
      vkgdr_set_bits (p + 1, max >> (32 - bit), v >> (32 - bit), order);
  } else if (end > 32) {
    vkgdr_set_bits (p, max >> (end - 32), v >> (end - 32), order);
    vkgdr_set_bits (p + 1, max << (64 - end), v << (64 - end), order);
  } else {
    vkgdr_set_bits (p, max << (32 - end), v << (32 - end), order);
  }
}

/* --- samples ------------------------------------------------------------- */

__device__ inline unsigned short
vkgdr_swap (unsigned int v)
{
  return (unsigned short) (v << 8 | (v >> 8 & 255));
}

/**
 * vkgdr_get: the sample of component c at pixel (x, y), 0 to vkgdr_max();
 * coordinates outside the frame give the nearest pixel of its edge
 */
__device__ inline int
vkgdr_get (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];
  const unsigned char *p;
  unsigned int v;

  if (k.order >= VKGDR_BITS_LE) {
    VkgdrBits bits = vkgdr_find_bits (f, c, x, y);

    return vkgdr_read_bits (bits.word, bits.bit, k.depth, k.order);
  }
  p = vkgdr_address (f, c, x, y);
  if (k.depth <= 8)
    return *p;
  v = *(const unsigned short *) p;
  if (k.order == VKGDR_SWAPPED)
    v = vkgdr_swap (v);
  return (int) (v >> k.shift) & vkgdr_max (f, c);
}

/**
 * vkgdr_put: sets the sample of component c at pixel (x, y); a value outside
 * 0 to vkgdr_max() is clamped. Threads may set different samples at the same
 * time, in all formats
 */
__device__ inline void
vkgdr_put (const VkgdrFrame &f, int c, int x, int y, int value)
{
  const VkgdrComponent &k = f.component[c];
  int max = vkgdr_max (f, c);
  unsigned char *p;
  unsigned int v;

  value = value < 0 ? 0 : (value > max ? max : value);
  if (k.order >= VKGDR_BITS_LE) {
    VkgdrBits bits = vkgdr_find_bits (f, c, x, y);

    vkgdr_write_bits (bits.word, bits.bit, k.depth + bits.padding, k.order,
        (unsigned int) value);
    return;
  }
  p = vkgdr_address (f, c, x, y);
  v = (unsigned int) value << k.shift;
  if (k.depth <= 8)
    *p = (unsigned char) value;
  else
    *(unsigned short *) p =
        k.order == VKGDR_SWAPPED ? vkgdr_swap (v) : (unsigned short) v;
}

/**
 * vkgdr_is_chroma: whether component c is a colour difference, Cb or Cr
 */
__device__ inline bool
vkgdr_is_chroma (const VkgdrFrame &f, int c)
{
  return f.model == VKGDR_YUV && (c == 1 || c == 2);
}

/**
 * vkgdr_black: the value of component c where there is no light: 0, or 16 (in 8
 * bits) for luma of limited range; of Cb, Cr and alpha 0
 */
__device__ inline int
vkgdr_black (const VkgdrFrame &f, int c)
{
  return f.full_range || c != 0 ? 0 : 16 << (f.component[c].depth - 8);
}

/**
 * vkgdr_range: how far white is above black in component c: vkgdr_max(), or 219
 * (in 8 bits) for luma of limited range
 */
__device__ inline int
vkgdr_range (const VkgdrFrame &f, int c)
{
  return f.full_range || c != 0 ? vkgdr_max (f, c)
                                : 219 << (f.component[c].depth - 8);
}

/**
 * vkgdr_neutral: the value of Cb and Cr that means no colour, 128 for 8 bits
 */
__device__ inline int
vkgdr_neutral (const VkgdrFrame &f, int c)
{
  return 128 << (f.component[c].depth - 8);
}

/**
 * vkgdr_weigh: the luma of red, green and blue of the same depth, by the
 * frame's kr and kb. The weights are rounded to 1/65536, so that every device
 * and the CPU come to the same integer
 */
__device__ inline int
vkgdr_weigh (const VkgdrFrame &f, int r, int g, int b)
{
  unsigned int wr = (unsigned int) (f.kr * 65536.0f + 0.5f);
  unsigned int wb = (unsigned int) (f.kb * 65536.0f + 0.5f);
  unsigned int wg = 65536u - wr - wb;

  return (int) ((wr * r + wg * g + wb * b + 32768u) >> 16);
}

/* Sample v of component from on the scale of component to: RGB16 has 6 bits of
 * green, and 5 of the others. */
__device__ inline int
vkgdr_rescale (const VkgdrFrame &f, int from, int to, int v)
{
  int old_max = vkgdr_max (f, from), new_max = vkgdr_max (f, to);

  return old_max == new_max ? v : (v * new_max + old_max / 2) / old_max;
}

/**
 * vkgdr_is_packed4: whether a pixel is four bytes side by side, one a
 * component, at an address that is a multiple of four: RGBA, BGRx, AYUV and
 * their like. Such a pixel is read and written at once through vkgdr_packed4()
 */
__device__ inline bool
vkgdr_is_packed4 (const VkgdrFrame &f)
{
  return f.packed4;
}

/**
 * vkgdr_packed4: the four bytes of pixel (x, y), which must lie inside a frame
 * that is vkgdr_is_packed4(); component c is bits vkgdr_shift4() and up
 */
__device__ inline unsigned int *
vkgdr_packed4 (const VkgdrFrame &f, int x, int y)
{
  return (unsigned int *) (f.plane[0].data + (long long) y * f.plane[0].stride)
         + x;
}

/**
 * VkgdrWords: four words, read and written at once
 */
typedef struct alignas (16) VkgdrWords {
  unsigned int word[4];
} VkgdrWords;

/**
 * vkgdr_has_words: whether pixels (x, y) to (x + 3, y) lie inside a frame that
 * is vkgdr_is_packed4(), and can be read at once; x is a multiple of 4
 */
__device__ inline bool
vkgdr_has_words (const VkgdrFrame &f, int x, int y)
{
  return x + 3 < f.width && y < f.height
         && (((unsigned long long) f.plane[0].data
                 | (unsigned long long) f.plane[0].stride)
                & 15)
                == 0;
}

/**
 * vkgdr_words: pixels (x, y) to (x + 3, y), where vkgdr_has_words()
 */
__device__ inline VkgdrWords *
vkgdr_words (const VkgdrFrame &f, int x, int y)
{
  return (VkgdrWords *) vkgdr_packed4 (f, x, y);
}

/**
 * vkgdr_shift4: where component c begins in the word of vkgdr_packed4(), in
 * bits
 */
__device__ inline int
vkgdr_shift4 (const VkgdrFrame &f, int c)
{
  return f.component[c].offset * 8;
}

/**
 * vkgdr_luma: the luma of pixel (x, y), 0 to vkgdr_max() of component 0: the
 * sample of Y or gray, or vkgdr_weigh() of red, green and blue. Coordinates
 * outside the frame give its edge
 */
__device__ inline int
vkgdr_luma (const VkgdrFrame &f, int x, int y)
{
  if (f.model != VKGDR_RGB)
    return vkgdr_get (f, 0, x, y);
  if (vkgdr_is_packed4 (f)) {
    unsigned int p =
        *vkgdr_packed4 (f, vkgdr_clamp (x, f.width), vkgdr_clamp (y, f.height));

    return vkgdr_weigh (f, p >> vkgdr_shift4 (f, 0) & 255,
        p >> vkgdr_shift4 (f, 1) & 255, p >> vkgdr_shift4 (f, 2) & 255);
  }
  return vkgdr_weigh (f, vkgdr_get (f, 0, x, y),
      vkgdr_rescale (f, 1, 0, vkgdr_get (f, 1, x, y)),
      vkgdr_rescale (f, 2, 0, vkgdr_get (f, 2, x, y)));
}

/* --- colours ------------------------------------------------------------- */

/**
 * VkgdrRgba: a colour
 * @r: red, 0 black and 1 the most there is
 * @g: green
 * @b: blue
 * @a: alpha, 0 transparent and 1 opaque, which is not multiplied in
 *
 * Values are not clamped: YUV can say colours that RGB cannot.
 */
typedef struct VkgdrRgba {
  float r;
  float g;
  float b;
  float a;
} VkgdrRgba;

/**
 * VkgdrYuv: luma, 0 black and 1 white, and colour differences, -0.5 to 0.5
 */
typedef struct VkgdrYuv {
  float y;
  float u;
  float v;
} VkgdrYuv;

/**
 * vkgdr_to_yuv: luma and colour differences of a colour, by the frame's kr and
 * kb
 */
__device__ inline VkgdrYuv
vkgdr_to_yuv (const VkgdrFrame &f, VkgdrRgba c)
{
  float kg = 1.0f - f.kr - f.kb;
  float y = fmaf (f.kr, c.r, fmaf (kg, c.g, f.kb * c.b));
  VkgdrYuv yuv = { y, (c.b - y) * f.b_to_u, (c.r - y) * f.r_to_v };

  return yuv;
}

/**
 * vkgdr_from_yuv: the opaque colour of luma and colour differences
 */
__device__ inline VkgdrRgba
vkgdr_from_yuv (const VkgdrFrame &f, VkgdrYuv c)
{
  VkgdrRgba rgba = { fmaf (f.v_to_r, c.v, c.y),
    fmaf (f.u_to_g, c.u, fmaf (f.v_to_g, c.v, c.y)), fmaf (f.u_to_b, c.u, c.y),
    1.0f };

  return rgba;
}

/* All samples of pixel (x, y), in one access where they are one word. */
__device__ inline void
vkgdr_get_pixel (const VkgdrFrame &f, int x, int y, int v[VKGDR_MAX_PLANES])
{
  if (vkgdr_is_packed4 (f)) {
    unsigned int p =
        *vkgdr_packed4 (f, vkgdr_clamp (x, f.width), vkgdr_clamp (y, f.height));

    for (int c = 0; c < 4; c++)
      v[c] = (int) (p >> vkgdr_shift4 (f, c) & 255);
    return;
  }
  for (int c = 0; c < VKGDR_MAX_PLANES; c++)
    v[c] = c < f.n_components ? vkgdr_get (f, c, x, y) : 0;
}

/* Sample v of component c as a fraction: of the way from black to white, about
 * 0 for Cb and Cr. */
__device__ inline float
vkgdr_to_fraction (const VkgdrFrame &f, int c, int v)
{
  return ((float) v - f.component[c].origin) * f.component[c].scale;
}

/* The other way, rounded to nearest, halves to even, and clamped. */
__device__ inline int
vkgdr_from_fraction (const VkgdrFrame &f, int c, float value)
{
  float v = fmaf (value, f.component[c].range, f.component[c].origin);

  return (int) rintf (fminf (fmaxf (v, 0.0f), (float) vkgdr_max (f, c)));
}

__device__ inline void
vkgdr_put_fraction (const VkgdrFrame &f, int c, int x, int y, float value)
{
  vkgdr_put (f, c, x, y, vkgdr_from_fraction (f, c, value));
}

/**
 * vkgdr_get_rgba: the colour of pixel (x, y), whatever the format; coordinates
 * outside the frame give its edge. Where several pixels share a sample of
 * colour, all of them have it
 */
__device__ inline VkgdrRgba
vkgdr_get_rgba (const VkgdrFrame &f, int x, int y)
{
  VkgdrRgba c = { 0.0f, 0.0f, 0.0f, 1.0f };
  int v[VKGDR_MAX_PLANES];

  vkgdr_get_pixel (f, x, y, v);
  if (f.model == VKGDR_RGB) {
    c.r = vkgdr_to_fraction (f, 0, v[0]);
    c.g = vkgdr_to_fraction (f, 1, v[1]);
    c.b = vkgdr_to_fraction (f, 2, v[2]);
  } else if (f.model == VKGDR_YUV) {
    VkgdrYuv yuv = { vkgdr_to_fraction (f, 0, v[0]),
      vkgdr_to_fraction (f, 1, v[1]), vkgdr_to_fraction (f, 2, v[2]) };

    c = vkgdr_from_yuv (f, yuv);
  } else {
    c.r = c.g = c.b = vkgdr_to_fraction (f, 0, v[0]);
  }
  if (f.has_alpha)
    c.a = vkgdr_to_fraction (f, 3, v[3]);
  return c;
}

/* Pixel (x, y), which lies inside, of red, green and blue in one word. */
__device__ inline void
vkgdr_put_packed4 (const VkgdrFrame &f, int x, int y, VkgdrRgba c)
{
  unsigned int r = vkgdr_from_fraction (f, 0, c.r);
  unsigned int g = vkgdr_from_fraction (f, 1, c.g);
  unsigned int b = vkgdr_from_fraction (f, 2, c.b);
  unsigned int a = f.has_alpha ? vkgdr_from_fraction (f, 3, c.a) : 255;

  *vkgdr_packed4 (f, x, y) = r << vkgdr_shift4 (f, 0) | g << vkgdr_shift4 (f, 1)
                             | b << vkgdr_shift4 (f, 2)
                             | a << vkgdr_shift4 (f, 3);
}

/* All but Cb and Cr of pixel (x, y); padding becomes its maximum. */
__device__ inline void
vkgdr_put_pixel (const VkgdrFrame &f, int x, int y, VkgdrRgba c)
{
  if (f.model == VKGDR_RGB && vkgdr_is_packed4 (f)) {
    vkgdr_put_packed4 (f, x, y, c);
    return;
  }
  if (f.model == VKGDR_RGB) {
    vkgdr_put_fraction (f, 0, x, y, c.r);
    vkgdr_put_fraction (f, 1, x, y, c.g);
    vkgdr_put_fraction (f, 2, x, y, c.b);
  } else {
    vkgdr_put_fraction (f, 0, x, y, vkgdr_to_yuv (f, c).y);
  }
  if (f.n_components == 4)
    vkgdr_put_fraction (f, 3, x, y, f.has_alpha ? c.a : 1.0f);
}

/**
 * vkgdr_render: gives pixel (x, y) of a frame its colour, whatever the format
 * @f: the frame to write to
 * @x: the thread's pixel
 * @y: the thread's row
 * @paint: called as paint (x, y), returns the VkgdrRgba of that pixel
 *
 * To be called once for each pixel, as by the threads of a launch, also for
 * those outside the frame, which it leaves alone. Where several pixels share a
 * sample of colour, the upper left one's thread paints all of them, and the
 * sample becomes their mean; the others' threads do nothing.
 */
template <typename Paint>
__device__ inline void
vkgdr_render (const VkgdrFrame &f, int x, int y, Paint paint)
{
  bool yuv = f.model == VKGDR_YUV;
  int w = yuv ? 1 << f.component[1].w_sub : 1;
  int h = yuv ? 1 << f.component[1].h_sub : 1;
  float u = 0.0f, v = 0.0f;
  int n = 0;

  if (x >= f.width || y >= f.height || (x & (w - 1)) || (y & (h - 1)))
    return;
  for (int py = y; py < y + h && py < f.height; py++)
    for (int px = x; px < x + w && px < f.width; px++) {
      VkgdrRgba c = paint (px, py);

      vkgdr_put_pixel (f, px, py, c);
      if (yuv) {
        VkgdrYuv difference = vkgdr_to_yuv (f, c);

        u += difference.u;
        v += difference.v;
        n++;
      }
    }
  if (yuv) {
    vkgdr_put_fraction (f, 1, x, y, u / (float) n);
    vkgdr_put_fraction (f, 2, x, y, v / (float) n);
  }
}

/**
 * vkgdr_shade: changes the colour of pixel (x, y)
 * @in: the frame to read, of the same size
 * @out: the frame to write, of any format; may be @in
 * @x: the thread's pixel
 * @y: the thread's row
 * @shade: called as shade (rgba, x, y), and changes rgba, a VkgdrRgba that is
 *   passed by reference
 *
 * Called as vkgdr_render() is:
 *
 * |[<!-- language="C" -->
 * __global__ void
 * warm (VkgdrFrame in, VkgdrFrame out, float amount)
 * {
 *   vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
 *       blockIdx.y * blockDim.y + threadIdx.y,
 *       [&](VkgdrRgba &rgba, int x, int y) {
 *         rgba.r += amount;
 *         rgba.b -= amount;
 *       });
 * }
 * ]|
 */
template <typename Shade>
__device__ inline void
vkgdr_shade (
    const VkgdrFrame &in, const VkgdrFrame &out, int x, int y, Shade shade)
{
  vkgdr_render (out, x, y, [&] (int px, int py) {
    VkgdrRgba c = vkgdr_get_rgba (in, px, py);

    shade (c, px, py);
    return c;
  });
}

#endif /* __CUDACC__ */
#endif /* VKGDR_KERNEL_H */
