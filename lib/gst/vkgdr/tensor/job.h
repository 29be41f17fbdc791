/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/job.h: the parameters of the tensor kernel in addition to the frame
 *
 * The library compiles this file in front of tensor.cu, and its C files include
 * it, too. So the file uses only types of C, and includes nothing.
 */

#ifndef VKGDR_TENSOR_JOB_H
#define VKGDR_TENSOR_JOB_H

/* Values of the macros that tensor.cu is compiled with. */

/* TENSOR_READ: how samples are read. */
#define TENSOR_READ_ANY 0    /* by vkgdr_get(), which reads all formats */
#define TENSOR_READ_BYTES 1  /* each sample is a byte */
#define TENSOR_READ_WORDS 2  /* each sample is a word of two bytes */
#define TENSOR_READ_PACKED 3 /* a pixel is one word of four bytes */

/* TENSOR_PAIR: whether Cb and Cr are read at once. */
#define TENSOR_PAIR_NONE 0
#define TENSOR_PAIR_UV 1
#define TENSOR_PAIR_VU 2

/* TENSOR_FILTER has the values of GstVkgdrTensorFilter. */
#define TENSOR_FILTER_NEAREST 0
#define TENSOR_FILTER_BILINEAR 1
#define TENSOR_FILTER_AREA 2

/* VkgdrTensorJob.type has the values of GstVkgdrTensorType. */
#define TENSOR_TYPE_FLOAT32 0
#define TENSOR_TYPE_FLOAT16 1
#define TENSOR_TYPE_BFLOAT16 2
#define TENSOR_TYPE_UINT8 3
#define TENSOR_TYPE_INT8 4

/* The largest number of components of a frame, and of channels of a tensor. */
#define TENSOR_MAX 4

/* The positions of the samples for each column, or each row, of the picture.
 * The unit is a sample, and 0 is the middle of the first one. They are
 * fixed-point numbers with 32 fractional bits. */
typedef struct VkgdrTensorAxis {
  long long base;    /* the position of the first column */
  long long step;    /* the distance between two columns */
  long long support; /* the largest distance of a sample that has a weight, with
                      * TENSOR_FILTER_AREA */
  float inverse;     /* 1 / support */
  int first;         /* index of the first sample that may be read */
  int last;          /* index of the last one */
  int shift;         /* log2 of the subsampling */
} VkgdrTensorAxis;

/* The unit of `support` and `inverse` of vertical axes is a row of a field if
 * VkgdrTensorJob.fields is set. All other fields are those of the frame. */

/* Components whose samples have the same positions share a grid. */
typedef struct VkgdrTensorGrid {
  VkgdrTensorAxis x;
  VkgdrTensorAxis y;
} VkgdrTensorGrid;

typedef struct VkgdrTensorJob {
  /* The tensor. */
  unsigned char *out;
  int type;
  int channels;
  int interleaved; /* whether the channels of a pixel are adjacent */
  int width;
  int height;
  /* The position and size of the picture in the tensor. The rest is padding. */
  int left;
  int top;
  int picture_width;
  int picture_height;
  /* The part of the frame in the picture, for TENSOR_FILTER_NEAREST. */
  int x;
  int y;
  int region_width;
  int region_height;
  float scale_x;
  float scale_y;
  /* The fields of an interlaced frame that are used, bits of VkgdrFields, or 0
   * if the frame is progressive. */
  int fields;
  /* One for luma, or for red, green and blue, and one for Cb and Cr if they are
   * subsampled. */
  VkgdrTensorGrid grid[2];
  /* The components that TENSOR_READ_ANY has to read, one bit for each: those of
   * grid 0 and those of grid 1. */
  int full;
  int half;
  /* The components. Not used with TENSOR_READ_ANY. */
  const unsigned char *data[TENSOR_MAX];
  long long stride[TENSOR_MAX];
  int step[TENSOR_MAX];
  int shift[TENSOR_MAX];
  int mask[TENSOR_MAX];
  /* A channel, 0 to 255, is the sum of all components, each multiplied by a
   * factor, and of a constant. */
  float matrix[TENSOR_MAX][TENSOR_MAX + 1];
  /* An element is the channel * factor + bias. */
  float factor[TENSOR_MAX];
  float bias[TENSOR_MAX];
  float pad[TENSOR_MAX]; /* the channels of padding */
} VkgdrTensorJob;

#endif /* VKGDR_TENSOR_JOB_H */
