/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda_fp16.h: half precision: the part of CUDA's header that the software
 * device supports
 *
 * Every operation is done in double precision, and the result is then rounded
 * to a half. In double precision, sums and products of halves are exact. A
 * fused multiply-add is exact, or its error is too small to change the half. So
 * the results have the same bits as those of a GPU. Only hexp() and similar
 * functions may differ in the last bit.
 */

#ifndef SOFTCUDA_CUDA_FP16_H
#define SOFTCUDA_CUDA_FP16_H

#define __CUDA_FP16_TYPES_EXIST__

typedef enum softcuda_rounding {
  SOFTCUDA_ROUND_NEAREST,
  SOFTCUDA_ROUND_ZERO,
  SOFTCUDA_ROUND_DOWN,
  SOFTCUDA_ROUND_UP
} softcuda_rounding;

struct __half_raw {
  unsigned short x;
};

/* ---- conversion of the bits ---- */

/* Rounds to an integer. */
__device__ static inline double
softcuda_round (double v, softcuda_rounding rounding, bool negative)
{
  if (rounding == SOFTCUDA_ROUND_NEAREST)
    return rint (v);
  if (rounding == SOFTCUDA_ROUND_ZERO
      || negative == (rounding == SOFTCUDA_ROUND_UP))
    return floor (v);
  return ceil (v);
}

/* A half has 10 bits after the first one, and exponents from -14 to 15. If
 * rounding carries into the exponent, the sum below is still right. */
__device__ static inline unsigned short
softcuda_half_bits (
    double v, softcuda_rounding rounding = SOFTCUDA_ROUND_NEAREST)
{
  const bool negative = signbit (v);
  const unsigned int sign = negative ? 0x8000u : 0;
  const unsigned int infinity = 0x7c00;

  if (v != v)
    return 0x7fff;
  if (isinf (v))
    return (unsigned short) (sign | infinity);
  int exponent = v == 0 ? -14 : ilogb (v);
  if (exponent > 15) { /* 65528 is rounded like any larger number */
    v = 65528.0;
    exponent = 15;
  }
  if (exponent < -14)
    exponent = -14;
  double quanta =
      softcuda_round (ldexp (fabs (v), 10 - exponent), rounding, negative);
  return (unsigned short) (sign
                           | ((unsigned int) (exponent + 14) << 10)
                                 + (unsigned int) quanta);
}

__device__ static inline float
softcuda_half_value (unsigned short bits)
{
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 0x3ff;
  float size;

  if (exponent == 31)
    size = fraction != 0 ? __builtin_nanf ("") : __builtin_inff ();
  else if (exponent == 0)
    size = ldexpf ((float) fraction, -24);
  else
    size = ldexpf ((float) (fraction | 0x400), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

/* ---- the types ---- */

struct alignas (2) __half {
  unsigned short bits;

  __half () = default;
  constexpr __half (__half_raw raw) : bits (raw.x)
  {
  }
  template <typename T, typename = softcuda_if<softcuda_is_number<T>>>
  __half (T v) : bits (softcuda_half_bits ((double) v))
  {
  }
  operator float () const
  {
    return softcuda_half_value (bits);
  }
  operator __half_raw () const
  {
    return { bits };
  }
};

struct alignas (4) __half2 {
  __half x, y;

  __half2 () = default;
  __half2 (__half x, __half y) : x (x), y (y)
  {
  }
};

typedef __half half;
typedef __half2 half2;

/* ---- conversions ---- */

__device__ static inline __half
__ushort_as_half (unsigned short bits)
{
  return __half_raw{ bits };
}

__device__ static inline __half
__short_as_half (short bits)
{
  return __half_raw{ (unsigned short) bits };
}

__device__ static inline unsigned short
__half_as_ushort (__half h)
{
  return h.bits;
}

__device__ static inline short
__half_as_short (__half h)
{
  return (short) h.bits;
}

__device__ static inline __half
softcuda_to_half (double v, softcuda_rounding rounding)
{
  return __half_raw{ softcuda_half_bits (v, rounding) };
}

#define SOFTCUDA_TO_HALF(type, name) \
  __device__ static inline __half __##name##2half_rn(type v) \
  { \
    return softcuda_to_half ((double) v, SOFTCUDA_ROUND_NEAREST); \
  } \
  __device__ static inline __half __##name##2half_rz(type v) \
  { \
    return softcuda_to_half ((double) v, SOFTCUDA_ROUND_ZERO); \
  } \
  __device__ static inline __half __##name##2half_rd(type v) \
  { \
    return softcuda_to_half ((double) v, SOFTCUDA_ROUND_DOWN); \
  } \
  __device__ static inline __half __##name##2half_ru(type v) \
  { \
    return softcuda_to_half ((double) v, SOFTCUDA_ROUND_UP); \
  }

SOFTCUDA_TO_HALF (float, float)
SOFTCUDA_TO_HALF (int, int)
SOFTCUDA_TO_HALF (unsigned int, uint)
SOFTCUDA_TO_HALF (short, short)
SOFTCUDA_TO_HALF (unsigned short, ushort)

#undef SOFTCUDA_TO_HALF

__device__ static inline __half
__float2half (float v)
{
  return __float2half_rn (v);
}

__device__ static inline __half
__double2half (double v)
{
  return softcuda_to_half (v, SOFTCUDA_ROUND_NEAREST);
}

__device__ static inline float
__half2float (__half h)
{
  return h;
}

#define SOFTCUDA_FROM_HALF(type, name) \
  __device__ static inline type __half2##name##_rn (__half h) \
  { \
    return softcuda_saturate<type> (rint ((double) (float) h)); \
  } \
  __device__ static inline type __half2##name##_rz (__half h) \
  { \
    return softcuda_saturate<type> (trunc ((double) (float) h)); \
  } \
  __device__ static inline type __half2##name##_rd (__half h) \
  { \
    return softcuda_saturate<type> (floor ((double) (float) h)); \
  } \
  __device__ static inline type __half2##name##_ru (__half h) \
  { \
    return softcuda_saturate<type> (ceil ((double) (float) h)); \
  }

SOFTCUDA_FROM_HALF (int, int)
SOFTCUDA_FROM_HALF (unsigned int, uint)
SOFTCUDA_FROM_HALF (short, short)
SOFTCUDA_FROM_HALF (unsigned short, ushort)

#undef SOFTCUDA_FROM_HALF

__device__ static inline __half2
__halves2half2 (__half low, __half high)
{
  return __half2 (low, high);
}

__device__ static inline __half2
__half2half2 (__half h)
{
  return __half2 (h, h);
}

__device__ static inline __half2
make_half2 (__half x, __half y)
{
  return __half2 (x, y);
}

__device__ static inline __half2
__floats2half2_rn (float low, float high)
{
  return __half2 (__float2half (low), __float2half (high));
}

__device__ static inline __half2
__float2half2_rn (float v)
{
  return __floats2half2_rn (v, v);
}

__device__ static inline __half2
__float22half2_rn (float2 v)
{
  return __floats2half2_rn (v.x, v.y);
}

__device__ static inline float2
__half22float2 (__half2 h)
{
  return { h.x, h.y };
}

__device__ static inline __half
__low2half (__half2 h)
{
  return h.x;
}

__device__ static inline __half
__high2half (__half2 h)
{
  return h.y;
}

__device__ static inline float
__low2float (__half2 h)
{
  return h.x;
}

__device__ static inline float
__high2float (__half2 h)
{
  return h.y;
}

__device__ static inline __half2
__lowhigh2highlow (__half2 h)
{
  return __half2 (h.y, h.x);
}

/* ---- arithmetic: x and y are the halves a and b in double precision ---- */

#define SOFTCUDA_HALF_1(name, expression) \
  __device__ static inline __half name (__half a) \
  { \
    const double x = (float) a; \
    return softcuda_to_half (expression, SOFTCUDA_ROUND_NEAREST); \
  }
#define SOFTCUDA_HALF_2(name, expression) \
  __device__ static inline __half __h##name (__half a, __half b) \
  { \
    const double x = (float) a; \
    const double y = (float) b; \
    return softcuda_to_half (expression, SOFTCUDA_ROUND_NEAREST); \
  } \
  __device__ static inline __half2 __h##name##2(__half2 a, __half2 b) \
  { \
    return __half2 (__h##name (a.x, b.x), __h##name (a.y, b.y)); \
  }

SOFTCUDA_HALF_2 (add, x + y)
SOFTCUDA_HALF_2 (sub, x - y)
SOFTCUDA_HALF_2 (mul, x *y)
SOFTCUDA_HALF_2 (min, fmin (x, y))
SOFTCUDA_HALF_2 (max, fmax (x, y))
SOFTCUDA_HALF_2 (add_sat, (double) __saturatef ((float) (x + y)))
SOFTCUDA_HALF_2 (sub_sat, (double) __saturatef ((float) (x - y)))
SOFTCUDA_HALF_2 (mul_sat, (double) __saturatef ((float) (x *y)))
SOFTCUDA_HALF_1 (hsqrt, sqrt (x))
SOFTCUDA_HALF_1 (hrsqrt, 1.0 / sqrt (x))
SOFTCUDA_HALF_1 (hrcp, 1.0 / x)
SOFTCUDA_HALF_1 (hexp, exp (x))
SOFTCUDA_HALF_1 (hexp2, exp2 (x))
SOFTCUDA_HALF_1 (hexp10, exp10 (x))
SOFTCUDA_HALF_1 (hlog, log (x))
SOFTCUDA_HALF_1 (hlog2, log2 (x))
SOFTCUDA_HALF_1 (hlog10, log10 (x))
SOFTCUDA_HALF_1 (hsin, sin (x))
SOFTCUDA_HALF_1 (hcos, cos (x))
SOFTCUDA_HALF_1 (hceil, ceil (x))
SOFTCUDA_HALF_1 (hfloor, floor (x))
SOFTCUDA_HALF_1 (htrunc, trunc (x))
SOFTCUDA_HALF_1 (hrint, rint (x))

#undef SOFTCUDA_HALF_1
#undef SOFTCUDA_HALF_2

__device__ static inline __half
__hdiv (__half a, __half b)
{
  return __double2half ((double) (float) a / (double) (float) b);
}

__device__ static inline __half2
__h2div (__half2 a, __half2 b)
{
  return __half2 (__hdiv (a.x, b.x), __hdiv (a.y, b.y));
}

__device__ static inline __half
__hfma (__half a, __half b, __half c)
{
  return __double2half (
      fma ((double) (float) a, (double) (float) b, (double) (float) c));
}

__device__ static inline __half2
__hfma2 (__half2 a, __half2 b, __half2 c)
{
  return __half2 (__hfma (a.x, b.x, c.x), __hfma (a.y, b.y, c.y));
}

__device__ static inline __half
__hneg (__half a)
{
  return __ushort_as_half (a.bits ^ 0x8000);
}

__device__ static inline __half2
__hneg2 (__half2 a)
{
  return __half2 (__hneg (a.x), __hneg (a.y));
}

__device__ static inline __half
__habs (__half a)
{
  return __ushort_as_half (a.bits & 0x7fff);
}

__device__ static inline __half2
__habs2 (__half2 a)
{
  return __half2 (__habs (a.x), __habs (a.y));
}

/* ---- comparisons: with the suffix u, also true if a or b is a NaN ---- */

#define SOFTCUDA_HALF_COMPARE(name, sign) \
  __device__ static inline bool __h##name (__half a, __half b) \
  { \
    return (float) a sign (float) b; \
  } \
  __device__ static inline bool __h##name##u (__half a, __half b) \
  { \
    return (float) a != (float) a || (float) b != (float) b \
           || (float) a sign (float) b; \
  } \
  __device__ static inline __half2 __h##name##2(__half2 a, __half2 b) \
  { \
    return __half2 ( \
        (float) __h##name (a.x, b.x), (float) __h##name (a.y, b.y)); \
  } \
  __device__ static inline bool __hb##name##2(__half2 a, __half2 b) \
  { \
    return __h##name (a.x, b.x) && __h##name (a.y, b.y); \
  }

SOFTCUDA_HALF_COMPARE (eq, ==)
SOFTCUDA_HALF_COMPARE (lt, <)
SOFTCUDA_HALF_COMPARE (le, <=)
SOFTCUDA_HALF_COMPARE (gt, >)
SOFTCUDA_HALF_COMPARE (ge, >=)

#undef SOFTCUDA_HALF_COMPARE

__device__ static inline bool
__hneu (__half a, __half b)
{
  return (float) a != (float) b;
}

__device__ static inline bool
__hne (__half a, __half b)
{
  return __hneu (a, b) && !__hneu (a, a) && !__hneu (b, b);
}

__device__ static inline bool
__hisnan (__half a)
{
  return __hneu (a, a);
}

/* Returns 1 or -1 for an infinite number, and 0 otherwise. */
__device__ static inline int
__hisinf (__half a)
{
  return a.bits == 0x7c00 ? 1 : a.bits == 0xfc00 ? -1 : 0;
}

/* ---- operators ---- */

#define SOFTCUDA_HALF_OPERATOR(sign, name, name2) \
  __device__ static inline __half operator sign ( \
      const __half &a, const __half &b) \
  { \
    return name (a, b); \
  } \
  __device__ static inline __half &operator sign##= ( \
      __half &a, const __half &b) \
  { \
    return a = name (a, b); \
  } \
  __device__ static inline __half2 operator sign ( \
      const __half2 &a, const __half2 &b) \
  { \
    return name2 (a, b); \
  } \
  __device__ static inline __half2 &operator sign##= ( \
      __half2 &a, const __half2 &b) \
  { \
    return a = name2 (a, b); \
  }

SOFTCUDA_HALF_OPERATOR (+, __hadd, __hadd2)
SOFTCUDA_HALF_OPERATOR (-, __hsub, __hsub2)
SOFTCUDA_HALF_OPERATOR (*, __hmul, __hmul2)
SOFTCUDA_HALF_OPERATOR (/, __hdiv, __h2div)

#undef SOFTCUDA_HALF_OPERATOR

__device__ static inline __half
operator- (const __half &a)
{
  return __hneg (a);
}

__device__ static inline __half2
operator- (const __half2 &a)
{
  return __hneg2 (a);
}

#define SOFTCUDA_HALF_COMPARISON(sign, name) \
  __device__ static inline bool operator sign ( \
      const __half &a, const __half &b) \
  { \
    return name (a, b); \
  }

SOFTCUDA_HALF_COMPARISON (==, __heq)
SOFTCUDA_HALF_COMPARISON (!=, __hneu)
SOFTCUDA_HALF_COMPARISON (<, __hlt)
SOFTCUDA_HALF_COMPARISON (<=, __hle)
SOFTCUDA_HALF_COMPARISON (>, __hgt)
SOFTCUDA_HALF_COMPARISON (>=, __hge)

#undef SOFTCUDA_HALF_COMPARISON

#endif /* SOFTCUDA_CUDA_FP16_H */
