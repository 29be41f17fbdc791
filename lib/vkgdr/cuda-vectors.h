/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda-vectors.h: the vectors of CUDA C (float4, make_float4() and others)
 *
 * For clang without a toolkit, which does not have them built in. Their sizes
 * and alignments are those of CUDA. A file that includes this one must first
 * define VKGDR_VECTOR_FUNCTION: the specifiers with which the functions are
 * declared, such as static inline.
 */

#ifndef VKGDR_CUDA_VECTORS_H
#define VKGDR_CUDA_VECTORS_H

#define VKGDR_VECTOR(type, name, align2, align4) \
  struct name##1 \
  { \
    type x; \
  }; \
  struct alignas (align2) name##2 \
  { \
    type x, y; \
  }; \
  struct name##3 \
  { \
    type x, y, z; \
  }; \
  struct alignas (align4) name##4 \
  { \
    type x, y, z, w; \
  }; \
  VKGDR_VECTOR_FUNCTION name##1 make_##name##1(type x) \
  { \
    return { x }; \
  } \
  VKGDR_VECTOR_FUNCTION name##2 make_##name##2(type x, type y) \
  { \
    return { x, y }; \
  } \
  VKGDR_VECTOR_FUNCTION name##3 make_##name##3(type x, type y, type z) \
  { \
    return { x, y, z }; \
  } \
  VKGDR_VECTOR_FUNCTION name##4 make_##name##4(type x, type y, type z, type w) \
  { \
    return { x, y, z, w }; \
  }

VKGDR_VECTOR (signed char, char, 2, 4)
VKGDR_VECTOR (unsigned char, uchar, 2, 4)
VKGDR_VECTOR (short, short, 4, 8)
VKGDR_VECTOR (unsigned short, ushort, 4, 8)
VKGDR_VECTOR (int, int, 8, 16)
VKGDR_VECTOR (unsigned int, uint, 8, 16)
VKGDR_VECTOR (long, long, 16, 16)
VKGDR_VECTOR (unsigned long, ulong, 16, 16)
VKGDR_VECTOR (long long, longlong, 16, 16)
VKGDR_VECTOR (unsigned long long, ulonglong, 16, 16)
VKGDR_VECTOR (float, float, 8, 16)
VKGDR_VECTOR (double, double, 16, 16)

#undef VKGDR_VECTOR
#undef VKGDR_VECTOR_FUNCTION

#endif /* VKGDR_CUDA_VECTORS_H */
