/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:kernel
 * @title: vkgdr/kernel.h
 * @short_description: the view of a buffer in a CUDA kernel of cudafilter
 *
 * cudafilter adds this header to every CUDA source. The first two arguments of
 * a kernel are its input and its output:
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
 * A launch has at least out.width x out.height threads in blocks of 32 x 8,
 * rounded up to whole blocks, so a thread has to return if its pixel is outside
 * the frame. If a kernel uses so many registers that a block can have fewer
 * threads, blocks are smaller. With `#pragma vkgdr tile 4x2` in the source, a
 * launch has one thread per tile of 4 x 2 pixels; tiles at the right and lower
 * edge may be smaller. Both numbers are 1 to 99.
 *
 * Names: a source is put between `extern "C" {` and `}`, so that the property
 * `entry` of cudafilter takes the kernel's plain name. Templates, headers and
 * overloaded functions do not compile there. So a source that contains one of
 *
 *  - `template`,
 *  - `#include`,
 *  - `extern "C"`,
 *  - `#pragma vkgdr no-extern-c`
 *
 * outside of comments and strings is not put into `extern "C"`. Its kernels may
 * be declared as `extern "C"` in the source. A kernel without `extern "C"` is
 * still found by its plain name, if no other kernel has that name.
 *
 * Kernels for other streams than video have VkgdrSamples instead of VkgdrFrame.
 * The samples are those of raw audio, or the bytes of any other stream.
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
 * A launch has at least out.n threads, in x only, in blocks of at most 256,
 * rounded up to whole blocks.
 *
 * To save memory bandwidth, the output may be the input, if both have the same
 * format and the buffer has no other user. A kernel can run in place in this
 * way if each thread reads only the part of the input that the same thread
 * writes in the output. The source has to declare it with
 * `#pragma vkgdr in-place`.
 *
 * Interlaced video: a frame may have two fields, which were recorded one after
 * the other. Lines 0, 2, 4 and so on are the top field, and lines 1, 3, 5 the
 * bottom field; VkgdrFrame.fields tells. vkgdr_get(), vkgdr_put() and all other
 * functions here find the samples of Cb and Cr of the line's own field. A
 * kernel that reads the lines above and below a pixel mixes both fields. If the
 * source has `#pragma vkgdr fields`, the kernel is launched once for each field
 * instead: the frames that it gets have only the lines of this field, and it
 * works on progressive and on interlaced video alike.
 *
 * Detected objects: if the third parameter of a kernel is a VkgdrBoxes, it gets
 * the boxes that a detector has attached to the input buffer:
 *
 * |[<!-- language="C" -->
 * __global__ void
 * blank (VkgdrFrame in, VkgdrFrame out, VkgdrBoxes boxes)
 * {
 *   vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,
 *       blockIdx.y * blockDim.y + threadIdx.y,
 *       [&](VkgdrRgba &rgba, int x, int y) {
 *         for (int i = 0; i < boxes.n; i++)
 *           if (boxes.box[i].label == VKGDR_LABEL ("person")
 *               && vkgdr_is_inside (boxes.box[i], x, y))
 *             rgba.r = rgba.g = rgba.b = 0.0f;
 *       });
 * }
 * ]|
 *
 * Further arguments: the arguments after these are the fields of the
 * property `params` of cudafilter, in the same order. Each must have the size
 * of the kernel's parameter:
 *
 * | value given            | parameter                                        |
 * |------------------------|--------------------------------------------------|
 * | int, uint, enum, flags | int, unsigned, and wider or narrower integers    |
 * |                        | that hold the value                              |
 * | int64, uint64          | long long, unsigned long long, a device pointer  |
 * | boolean                | bool, int                                        |
 * | float, double          | float, double: as the kernel declares it         |
 * | GBytes                 | a structure, or an array in a structure, with    |
 * |                        | exactly these bytes                              |
 *
 * The driver knows the size of a parameter, but not its type: if 2 is given for
 * a float, the kernel gets the bits of the integer. Write 2.0 or (float)2.
 *
 * The same source is compiled by NVRTC for an NVIDIA GPU, and by the host's C++
 * compiler for the software device.
 */

#ifndef VKGDR_KERNEL_H
#define VKGDR_KERNEL_H

#define VKGDR_MAX_PLANES 4

/**
 * VkgdrModel: the meaning of a format's components
 * @VKGDR_RGB: components 0 to 2 are red, green and blue. 3 is alpha or, in
 *   formats such as RGBx, the padding, which effects do not change
 * @VKGDR_YUV: components 0 to 2 are Y, Cb and Cr, 3 is alpha if there is one
 * @VKGDR_GRAY: component 0 is luma
 */
typedef enum VkgdrModel {
  VKGDR_RGB = 0,
  VKGDR_YUV = 1,
  VKGDR_GRAY = 2
} VkgdrModel;

/**
 * VkgdrOrder: how the samples of a component are stored
 * @VKGDR_NATIVE: each sample is a byte or, if it has more than 8 bits, a word
 *   of two bytes in the device's byte order
 * @VKGDR_SWAPPED: each sample is a word of two bytes in the other byte order
 * @VKGDR_BITS_LE: a sample can begin at any bit; the lowest bit of a byte is
 *   the first one
 * @VKGDR_BITS_BE: a sample can begin at any bit; the highest bit of a byte is
 *   the first one
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
 * VkgdrFields: the fields in a picture
 * @VKGDR_PROGRESSIVE: no fields: all lines were recorded at the same time
 * @VKGDR_TOP: the picture is a top field
 * @VKGDR_BOTTOM: the picture is a bottom field
 * @VKGDR_BOTH: the picture has two fields: lines 0, 2, 4 and so on are the top
 *   field, lines 1, 3, 5 the bottom field
 * @VKGDR_TOP_FIRST: a bit that is set in addition if the top field was recorded
 *   before the bottom field
 */
typedef enum VkgdrFields {
  VKGDR_PROGRESSIVE = 0,
  VKGDR_TOP = 1,
  VKGDR_BOTTOM = 2,
  VKGDR_BOTH = VKGDR_TOP | VKGDR_BOTTOM,
  VKGDR_TOP_FIRST = 4
} VkgdrFields;

/**
 * VkgdrPlane: one plane of a frame
 * @data: device pointer to its first row
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
 * VkgdrComponent: the position of the samples of one component
 * @plane: index of the plane
 * @offset: bytes from a row's start to its first sample, or to its first group
 *   of samples
 * @step: bytes from one sample, or from one group, to the next
 * @w_sub: log2 of the horizontal subsampling: 1 if two pixels share a sample
 * @h_sub: log2 of the vertical subsampling
 * @depth: bits of a sample
 * @shift: number of unused bits below a sample in its word of two bytes; with
 *   VKGDR_BITS_LE or VKGDR_BITS_BE, the number of bits before the sample, or
 *   before the first sample of its group
 * @order: a VkgdrOrder; @group to @spacing are only used for VKGDR_BITS_*
 * @group: number of samples in a group, for all components together. Sample i
 *   of this component is number n = @first + i * @pitch of the row, which is
 *   sample n % @group of group n / @group
 * @first: number of the first sample
 * @pitch: difference of the numbers of neighbouring samples
 * @spacing: bits from one sample of a group to the next
 * @origin: the sample that means 0, which is black, or no colour in Cb and Cr
 * @range: the distance from @origin to the sample that means 1, which is white;
 *   for Cb and Cr, the largest minus the smallest sample
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
 *   VkgdrModel; their order in memory may differ
 * @width: pixels in a row
 * @height: rows
 * @format: the GstVideoFormat
 * @model: a VkgdrModel
 * @n_planes: number of planes
 * @n_components: number of components, including the padding of RGBx
 * @has_alpha: 1 if component 3 is alpha, 0 if it is padding or missing
 * @packed4: 1 if a pixel is one word, see vkgdr_is_packed4()
 * @full_range: 1 if luma, gray, red, green and blue are 0 to the largest value,
 *   0 if they are 16 to 235 (in 8 bits)
 * @kr: weight of red in luma, according to the colorimetry of the caps
 * @kb: weight of blue in luma
 * @v_to_r: red is luma + Cr * @v_to_r
 * @u_to_b: blue is luma + Cb * @u_to_b
 * @u_to_g: green is luma + Cb * @u_to_g + Cr * @v_to_g
 * @v_to_g: see @u_to_g
 * @r_to_v: Cr is (red - luma) * @r_to_v
 * @b_to_u: Cb is (blue - luma) * @b_to_u
 * @fields: the fields in the picture, bits of VkgdrFields
 * @frame: number of the frame since the stream began, from 0
 * @time: presentation time stamp in nanoseconds, -1 if there is none
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
  int fields;
  unsigned long long frame;
  long long time;
} VkgdrFrame;

/**
 * VkgdrSamples: a buffer in device memory that is not video
 * @data: device pointer to its first byte
 * @n: number of samples of all channels together
 * @size: bytes of a sample; 1 for other streams than audio
 * @channels: number of channels, whose samples are interleaved: sample i
 *   belongs to channel i % @channels; 1 for other streams than audio
 * @rate: samples per channel and second; 0 for other streams than audio
 * @format: the GstAudioFormat; 0 for other streams than audio
 * @frame: number of the buffer since the stream began, from 0
 * @time: presentation time stamp in nanoseconds, -1 if there is none
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

#define VKGDR_MAX_BOXES 128

/**
 * VkgdrBox: where a detected object is
 * @x: the left side in pixels of the input, from the left side of the picture
 * @y: the upper side
 * @width: the width in pixels
 * @height: the height
 * @score: how certain the detector is, 0 to 1; 1 if it does not say
 * @label: what the object is: VKGDR_LABEL() of the name, 0 if it has none
 *
 * A part of a box may be outside of the picture.
 */
typedef struct VkgdrBox {
  float x;
  float y;
  float width;
  float height;
  float score;
  unsigned int label;
} VkgdrBox;

/**
 * VkgdrBoxes: the detected objects of a frame
 * @n: number of boxes in @box
 * @total: number of boxes that the frame has; those with the lowest scores are
 *   left out if these are more than VKGDR_MAX_BOXES
 * @box: the boxes, that with the highest score first
 *
 * They are the object detections of GStreamer's analytics library or, if the
 * buffer has none, or the library was not there when this project was built,
 * each GstVideoRegionOfInterestMeta. Boxes of which nothing is in the picture
 * are left out.
 */
typedef struct VkgdrBoxes {
  int n;
  int total;
  VkgdrBox box[VKGDR_MAX_BOXES];
} VkgdrBoxes;

#ifdef __CUDACC__

__device__ constexpr unsigned int
vkgdr_label (const char *name, unsigned int hash = 2166136261u)
{
  return *name ? vkgdr_label (name + 1,
             (hash ^ (unsigned int) (unsigned char) *name) * 16777619u)
               : hash;
}

/**
 * VKGDR_LABEL: the VkgdrBox.label of objects with a name. It is the hash FNV-1a
 * of its bytes, which the compiler computes, so it may be the label of a switch
 */
#define VKGDR_LABEL(name) (vkgdr_label (name))

/**
 * vkgdr_is_inside: whether the middle of pixel (x, y) is inside a box
 */
__device__ inline bool
vkgdr_is_inside (const VkgdrBox &box, int x, int y)
{
  float u = (float) x + 0.5f - box.x, v = (float) y + 0.5f - box.y;

  return u >= 0.0f && v >= 0.0f && u < box.width && v < box.height;
}

/**
 * vkgdr_clamp: the nearest coordinate to v that is inside a frame of that size
 */
__device__ inline int
vkgdr_clamp (int v, int size)
{
  return v < 0 ? 0 : (v >= size ? size - 1 : v);
}

/**
 * vkgdr_is_interlaced: 1 if the lines of two fields alternate in a frame,
 * otherwise 0
 */
__device__ inline int
vkgdr_is_interlaced (const VkgdrFrame &f)
{
  return (f.fields & VKGDR_BOTH) == VKGDR_BOTH;
}

/**
 * vkgdr_row: the row of its plane in which component c has the samples of line
 * y. In a frame of two fields, the rows of Cb and Cr alternate as the lines do
 */
__device__ inline int
vkgdr_row (const VkgdrFrame &f, int c, int y)
{
  int n = vkgdr_is_interlaced (f);

  return (y >> n >> f.component[c].h_sub) << n | (y & n);
}

/**
 * vkgdr_line: the first line that has its samples of component c in a row of
 * the plane, the reverse of vkgdr_row()
 */
__device__ inline int
vkgdr_line (const VkgdrFrame &f, int c, int row)
{
  int n = vkgdr_is_interlaced (f);

  return row >> n << f.component[c].h_sub << n | (row & n);
}

/* The first byte of the sample for pixel (x, y), if samples have bytes of their
 * own. Coordinates outside the frame are moved to its edge. */
__device__ inline unsigned char *
vkgdr_address (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];

  x = vkgdr_clamp (x, f.width);
  y = vkgdr_clamp (y, f.height);
  return f.plane[k.plane].data
         + (long long) vkgdr_row (f, c, y) * f.plane[k.plane].stride + k.offset
         + (long long) (x >> k.w_sub) * k.step;
}

/**
 * vkgdr_has: whether pixel (x, y) is the upper left one of the pixels that
 * share its sample of component c. Pixels of different fields share no sample
 */
__device__ inline bool
vkgdr_has (const VkgdrFrame &f, int c, int x, int y)
{
  const VkgdrComponent &k = f.component[c];
  int line = y >> vkgdr_is_interlaced (f);

  return x < f.width && y < f.height
         && ((x & ((1 << k.w_sub) - 1)) | (line & ((1 << k.h_sub) - 1))) == 0;
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

/* The position of a sample in words of four bytes, whose addresses are
 * multiples of four. A row may begin inside a word, so bits are counted from
 * the start of the word. */
typedef struct VkgdrBits {
  unsigned int *word;
  int bit;
  int padding; /* unused bits after the sample */
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
      + (long long) vkgdr_row (f, c, vkgdr_clamp (y, f.height))
            * f.plane[k.plane].stride
      + k.offset + (long long) group * k.step + (bit >> 3);
  VkgdrBits bits = { (unsigned int *) (address & ~3ull),
    (int) (address & 3) * 8 + (bit & 7), 0 };

  /* Only groups of whole words have unused bits, for example those of v210. */
  if (k.group > 1 && index == k.group - 1 && (k.step & 3) == 0)
    bits.padding = 8 * k.step - k.group * k.spacing;
  return bits;
}

/* Returns the bytes of a word in the order in which its bits are counted. */
__device__ inline unsigned int
vkgdr_order_word (unsigned int v, int order)
{
  if (order == VKGDR_BITS_LE)
    return v;
  return v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24;
}

/* Not inline, and without a parameter for the frame, because the formats that
 * need it are rare. */
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

/* Sets the bits of mask to those of v. Does not change the other bits, because
 * other threads may write samples in the same word. */
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
 * vkgdr_get: the sample of component c at pixel (x, y), 0 to vkgdr_max(); for
 * coordinates outside the frame, the nearest pixel of its edge
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
 * time, in all formats: samples that do not have bytes of their own are set by
 * atomic operations on aligned words of four bytes, whose other bits do not
 * change
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
 * vkgdr_black: the value of component c for black: 0, or 16 (in 8 bits) for
 * luma, gray, red, green and blue of limited range; for Cb, Cr and alpha 0
 */
__device__ inline int
vkgdr_black (const VkgdrFrame &f, int c)
{
  return vkgdr_is_chroma (f, c) ? 0 : (int) rintf (f.component[c].origin);
}

/**
 * vkgdr_range: the difference of white and black in component c: vkgdr_max(),
 * or 219 (in 8 bits) for luma, gray, red, green and blue of limited range; for
 * Cb, Cr and alpha vkgdr_max()
 */
__device__ inline int
vkgdr_range (const VkgdrFrame &f, int c)
{
  return vkgdr_is_chroma (f, c) ? vkgdr_max (f, c)
                                : (int) rintf (f.component[c].range);
}

/**
 * vkgdr_neutral: the value of Cb and Cr for no colour, 128 for 8 bits
 */
__device__ inline int
vkgdr_neutral (const VkgdrFrame &f, int c)
{
  return 128 << (f.component[c].depth - 8);
}

/**
 * vkgdr_weigh: the luma of red, green and blue of the same depth, with the
 * frame's kr and kb. The weights are rounded to 1/65536, so that every device
 * and the CPU get the same integer
 */
__device__ inline int
vkgdr_weigh (const VkgdrFrame &f, int r, int g, int b)
{
  unsigned int wr = (unsigned int) (f.kr * 65536.0f + 0.5f);
  unsigned int wb = (unsigned int) (f.kb * 65536.0f + 0.5f);
  unsigned int wg = 65536u - wr - wb;

  return (int) ((wr * r + wg * g + wb * b + 32768u) >> 16);
}

/* Converts sample v of component from to the depth of component to: RGB16 has 6
 * bits of green, and 5 of the others. */
__device__ inline int
vkgdr_rescale (const VkgdrFrame &f, int from, int to, int v)
{
  int old_max = vkgdr_max (f, from), new_max = vkgdr_max (f, to);

  return old_max == new_max ? v : (v * new_max + old_max / 2) / old_max;
}

/**
 * vkgdr_is_packed4: whether a pixel consists of four bytes, one per component,
 * at an address that is a multiple of four, as in RGBA, BGRx and AYUV. Such a
 * pixel is read and written in one access through vkgdr_packed4()
 */
__device__ inline bool
vkgdr_is_packed4 (const VkgdrFrame &f)
{
  return f.packed4;
}

/**
 * vkgdr_packed4: the four bytes of pixel (x, y), which must be inside a frame
 * that is vkgdr_is_packed4(); component c begins at bit vkgdr_shift4()
 */
__device__ inline unsigned int *
vkgdr_packed4 (const VkgdrFrame &f, int x, int y)
{
  return (unsigned int *) (f.plane[0].data + (long long) y * f.plane[0].stride)
         + x;
}

/**
 * VkgdrWords: four words, read and written in one access
 */
typedef struct alignas (16) VkgdrWords {
  unsigned int word[4];
} VkgdrWords;

/**
 * vkgdr_has_words: whether pixels (x, y) to (x + 3, y) are inside a frame that
 * is vkgdr_is_packed4(), and can be read in one access; x is a multiple of 4
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
 * vkgdr_words: pixels (x, y) to (x + 3, y), only if vkgdr_has_words()
 */
__device__ inline VkgdrWords *
vkgdr_words (const VkgdrFrame &f, int x, int y)
{
  return (VkgdrWords *) vkgdr_packed4 (f, x, y);
}

/**
 * vkgdr_shift4: the first bit of component c in the word of vkgdr_packed4()
 */
__device__ inline int
vkgdr_shift4 (const VkgdrFrame &f, int c)
{
  return f.component[c].offset * 8;
}

/**
 * vkgdr_luma: the luma of pixel (x, y), 0 to vkgdr_max() of component 0: the
 * sample of Y or gray, or vkgdr_weigh() of red, green and blue. For coordinates
 * outside the frame, the nearest pixel of its edge is read
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
 * @r: red, 0 is black and 1 is the maximum
 * @g: green
 * @b: blue
 * @a: alpha, 0 is transparent and 1 is opaque; not premultiplied
 *
 * Values are not clamped: YUV has colours that RGB does not have.
 */
typedef struct VkgdrRgba {
  float r;
  float g;
  float b;
  float a;
} VkgdrRgba;

/**
 * VkgdrYuv: luma, 0 is black and 1 is white, and colour differences, -0.5 to
 * 0.5
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

/* Reads all samples of pixel (x, y), in one access if the pixel is one word. */
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
  /* Without a loop, all compilers keep the samples in registers. */
  v[0] = vkgdr_get (f, 0, x, y);
  v[1] = f.n_components > 1 ? vkgdr_get (f, 1, x, y) : 0;
  v[2] = f.n_components > 2 ? vkgdr_get (f, 2, x, y) : 0;
  v[3] = f.n_components > 3 ? vkgdr_get (f, 3, x, y) : 0;
}

/* Sample v of component c as a fraction: from black 0 to white 1; around 0 for
 * Cb and Cr. */
__device__ inline float
vkgdr_to_fraction (const VkgdrFrame &f, int c, int v)
{
  return ((float) v - f.component[c].origin) * f.component[c].scale;
}

/* The reverse of vkgdr_to_fraction(). The result is rounded to the nearest
 * integer, halves to even, and clamped. */
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
 * vkgdr_get_rgba: the colour of pixel (x, y) in any format; for coordinates
 * outside the frame, the nearest pixel of its edge is read. Pixels that share a
 * chroma sample have the same chroma
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

/* Writes pixel (x, y), which must be inside, in an RGB format of one word per
 * pixel. */
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

/* Writes all components of pixel (x, y) except Cb and Cr; padding becomes its
 * maximum. */
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
 * vkgdr_render: sets the colour of pixel (x, y) in any format
 * @f: the frame to write to
 * @x: the thread's pixel
 * @y: the thread's row
 * @paint: called as paint (x, y), returns the VkgdrRgba of that pixel
 *
 * Must be called once for each pixel, for example by the threads of a launch.
 * Does nothing for pixels outside the frame. If several pixels share a chroma
 * sample, the thread of the upper left one paints all of them, and the sample
 * becomes their mean; the threads of the other pixels do nothing.
 */
template <typename Paint>
__device__ inline void
vkgdr_render (const VkgdrFrame &f, int x, int y, Paint paint)
{
  bool yuv = f.model == VKGDR_YUV;
  int w = yuv ? 1 << f.component[1].w_sub : 1;
  int h = yuv ? 1 << f.component[1].h_sub : 1;
  int interlaced = vkgdr_is_interlaced (f), down = 1 << interlaced;
  float u = 0.0f, v = 0.0f;
  int n = 0;

  if (x >= f.width || y >= f.height || (x & (w - 1))
      || (y >> interlaced & (h - 1)))
    return;
  for (int py = y; py < y + h * down && py < f.height; py += down)
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
 * Must be called once for each pixel, as vkgdr_render():
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
