/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_vectors.h: the vectors of CUDA C (float4, make_float4() and others)
 *
 * Their sizes and alignments are those of CUDA.
 */

#ifndef SOFTCUDA_VECTORS_H
#define SOFTCUDA_VECTORS_H

#define SOFTCUDA_VECTOR(type, name, align2, align4) \
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
  static inline name##1 make_##name##1(type x) \
  { \
    return { x }; \
  } \
  static inline name##2 make_##name##2(type x, type y) \
  { \
    return { x, y }; \
  } \
  static inline name##3 make_##name##3(type x, type y, type z) \
  { \
    return { x, y, z }; \
  } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) \
  { \
    return { x, y, z, w }; \
  }

SOFTCUDA_VECTOR (signed char, char, 2, 4)
SOFTCUDA_VECTOR (unsigned char, uchar, 2, 4)
SOFTCUDA_VECTOR (short, short, 4, 8)
SOFTCUDA_VECTOR (unsigned short, ushort, 4, 8)
SOFTCUDA_VECTOR (int, int, 8, 16)
SOFTCUDA_VECTOR (unsigned int, uint, 8, 16)
SOFTCUDA_VECTOR (long, long, 16, 16)
SOFTCUDA_VECTOR (unsigned long, ulong, 16, 16)
SOFTCUDA_VECTOR (long long, longlong, 16, 16)
SOFTCUDA_VECTOR (unsigned long long, ulonglong, 16, 16)
SOFTCUDA_VECTOR (float, float, 8, 16)
SOFTCUDA_VECTOR (double, double, 16, 16)

#undef SOFTCUDA_VECTOR

#endif /* SOFTCUDA_VECTORS_H */
