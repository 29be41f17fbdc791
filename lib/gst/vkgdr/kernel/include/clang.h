/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * clang.h: the declarations of CUDA C++ for clang, instead of a CUDA toolkit
 *
 * Included in front of every kernel that clang compiles for NVPTX. Declares
 * what is built into NVRTC, in C++17. Functions that only need instructions of
 * PTX are as exact as CUDA's. exp, log, pow, sin, cos and similar functions
 * reduce their argument, and then use the approximations of the device
 * (ex2.approx, lg2.approx, sin.approx). Their results have some 20 exact bits,
 * and are of single precision even if the argument is a double.
 *
 * Not supported: functions of warps such as __shfl_sync(), textures,
 * cooperative groups, half precision, device-side allocation and launches.
 */

#ifndef VKGDR_CLANG_H
#define VKGDR_CLANG_H

#define __CUDACC__ 1

#include <stddef.h>
#include <stdint.h>

/* ---- qualifiers ---- */

#define __global__ __attribute__ ((global))
#define __device__ __attribute__ ((device))
#define __host__ __attribute__ ((host))
#define __shared__ __attribute__ ((shared))
#define __constant__ __attribute__ ((constant))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__ ((launch_bounds (__VA_ARGS__)))
#define __forceinline__ inline __attribute__ ((always_inline))
#define __align__(n) __attribute__ ((aligned (n)))
/* In newer versions of clang, __noinline__ is a keyword. */
#if __clang_major__ < 15
#define __noinline__ __attribute__ ((noinline))
#endif

#define VKGDR_DEVICE static __device__ inline

/* ---- vectors ---- */

#define VKGDR_VECTOR_FUNCTION VKGDR_DEVICE
#include "cuda-vectors.h"

struct dim3 {
  unsigned int x, y, z;

  __device__ constexpr dim3 (
      unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x (x), y (y), z (z)
  {
  }
};

/* ---- the running thread ---- */

/* clang's header for threadIdx, blockIdx, blockDim, gridDim and warpSize. */
#include <__clang_cuda_builtin_vars.h>

VKGDR_DEVICE void
__threadfence ()
{
  __nvvm_membar_gl ();
}

VKGDR_DEVICE void
__threadfence_block ()
{
  __nvvm_membar_cta ();
}

VKGDR_DEVICE void
__threadfence_system ()
{
  __nvvm_membar_sys ();
}

VKGDR_DEVICE void
__trap ()
{
  asm volatile("trap;");
}

VKGDR_DEVICE long long
clock64 ()
{
  return __nvvm_read_ptx_sreg_clock64 ();
}

/* clang replaces calls of it by calls of vprintf. */
extern "C" __device__ int printf (const char *format, ...);

#ifdef NDEBUG
#define assert(condition) ((void) 0)
#else
#define assert(condition) \
  ((condition) ? (void) 0 \
               : (printf ("%s:%d: Assertion `%s` failed.\n", __FILE__, \
                      __LINE__, #condition), \
                   __trap ()))
#endif

/* ---- atomics: all return the old value ---- */

#define VKGDR_ATOMIC(type) \
  VKGDR_DEVICE type atomicAdd (type *p, type v) \
  { \
    return __atomic_fetch_add (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicSub (type *p, type v) \
  { \
    return __atomic_fetch_sub (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicMin (type *p, type v) \
  { \
    return __atomic_fetch_min (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicMax (type *p, type v) \
  { \
    return __atomic_fetch_max (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicAnd (type *p, type v) \
  { \
    return __atomic_fetch_and (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicOr (type *p, type v) \
  { \
    return __atomic_fetch_or (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicXor (type *p, type v) \
  { \
    return __atomic_fetch_xor (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicExch (type *p, type v) \
  { \
    return __atomic_exchange_n (p, v, __ATOMIC_RELAXED); \
  } \
  VKGDR_DEVICE type atomicCAS (type *p, type expected, type v) \
  { \
    __atomic_compare_exchange_n ( \
        p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return expected; \
  }

VKGDR_ATOMIC (int)
VKGDR_ATOMIC (unsigned int)
VKGDR_ATOMIC (long long)
VKGDR_ATOMIC (unsigned long long)

#undef VKGDR_ATOMIC

VKGDR_DEVICE float
atomicAdd (float *p, float v)
{
  return __nvvm_atom_add_gen_f (p, v);
}

/* ---- smallest and largest ---- */

template <typename A, typename B>
VKGDR_DEVICE auto
min (A a, B b) -> decltype (a < b ? +a : +b)
{
  return b < a ? b : a;
}

template <typename A, typename B>
VKGDR_DEVICE auto
max (A a, B b) -> decltype (a < b ? +a : +b)
{
  return a < b ? b : a;
}

VKGDR_DEVICE float
min (float a, float b)
{
  return __nvvm_fmin_f (a, b);
}

VKGDR_DEVICE float
max (float a, float b)
{
  return __nvvm_fmax_f (a, b);
}

VKGDR_DEVICE int
abs (int v)
{
  return v < 0 ? -v : v;
}

VKGDR_DEVICE long
labs (long v)
{
  return v < 0 ? -v : v;
}

VKGDR_DEVICE long long
llabs (long long v)
{
  return v < 0 ? -v : v;
}

/* ---- bits ---- */

VKGDR_DEVICE int
__popc (unsigned int v)
{
  return __builtin_popcount (v);
}

VKGDR_DEVICE int
__popcll (unsigned long long v)
{
  return __builtin_popcountll (v);
}

VKGDR_DEVICE int
__clz (int v)
{
  return v ? __builtin_clz ((unsigned int) v) : 32;
}

VKGDR_DEVICE int
__clzll (long long v)
{
  return v ? __builtin_clzll ((unsigned long long) v) : 64;
}

VKGDR_DEVICE int
__ffs (int v)
{
  return v ? __builtin_ctz ((unsigned int) v) + 1 : 0;
}

VKGDR_DEVICE unsigned int
__brev (unsigned int v)
{
  return __builtin_bitreverse32 (v);
}

VKGDR_DEVICE unsigned int
__byte_perm (unsigned int a, unsigned int b, unsigned int selector)
{
  return __nvvm_prmt (a, b, selector);
}

VKGDR_DEVICE int
__float_as_int (float v)
{
  return __builtin_bit_cast(int, v);
}

VKGDR_DEVICE unsigned int
__float_as_uint (float v)
{
  return __builtin_bit_cast(unsigned int, v);
}

VKGDR_DEVICE float
__int_as_float (int v)
{
  return __builtin_bit_cast(float, v);
}

VKGDR_DEVICE float
__uint_as_float (unsigned int v)
{
  return __builtin_bit_cast(float, v);
}

/* ---- integers ---- */

VKGDR_DEVICE int
__mul24 (int a, int b)
{
  return __nvvm_mul24_i (a, b);
}

VKGDR_DEVICE int
__mulhi (int a, int b)
{
  return (int) ((long long) a * b >> 32);
}

VKGDR_DEVICE unsigned int
__umulhi (unsigned int a, unsigned int b)
{
  return (unsigned int) ((unsigned long long) a * b >> 32);
}

VKGDR_DEVICE unsigned int
__usad (unsigned int a, unsigned int b, unsigned int c)
{
  return c + (a < b ? b - a : a - b);
}

template <typename T>
VKGDR_DEVICE T
__ldg (const T *p)
{
  return *p;
}

/* ---- conversions: out of range gives the nearest integer, NaN gives 0 ---- */

#define VKGDR_CONVERT(mode, ptx) \
  VKGDR_DEVICE int __float2int_##mode (float v) \
  { \
    int result; \
\
    asm("cvt." ptx ".s32.f32 %0, %1;" : "=r"(result) : "f"(v)); \
    return result; \
  } \
  VKGDR_DEVICE unsigned int __float2uint_##mode (float v) \
  { \
    unsigned int result; \
\
    asm("cvt." ptx ".u32.f32 %0, %1;" : "=r"(result) : "f"(v)); \
    return result; \
  }

VKGDR_CONVERT (rn, "rni")
VKGDR_CONVERT (rz, "rzi")
VKGDR_CONVERT (rd, "rmi")
VKGDR_CONVERT (ru, "rpi")

#undef VKGDR_CONVERT

VKGDR_DEVICE float
__int2float_rn (int v)
{
  return (float) v;
}

VKGDR_DEVICE float
__uint2float_rn (unsigned int v)
{
  return (float) v;
}

/* ---- floating point: exact, or rounded to nearest ---- */

#define VKGDR_ROUNDING(name) \
  VKGDR_DEVICE float name##f (float v) \
  { \
    return __builtin_##name##f (v); \
  } \
  VKGDR_DEVICE float name (float v) \
  { \
    return __builtin_##name##f (v); \
  } \
  VKGDR_DEVICE double name (double v) \
  { \
    return __builtin_##name (v); \
  }

VKGDR_ROUNDING (fabs)
VKGDR_ROUNDING (floor)
VKGDR_ROUNDING (ceil)
VKGDR_ROUNDING (trunc)
VKGDR_ROUNDING (rint)
VKGDR_ROUNDING (nearbyint)
VKGDR_ROUNDING (round)

#undef VKGDR_ROUNDING

VKGDR_DEVICE float
abs (float v)
{
  return fabsf (v);
}

VKGDR_DEVICE double
abs (double v)
{
  return fabs (v);
}

VKGDR_DEVICE int
lrintf (float v)
{
  return __float2int_rn (v);
}

VKGDR_DEVICE float
sqrtf (float v)
{
  return __nvvm_sqrt_rn_f (v);
}

VKGDR_DEVICE float
sqrt (float v)
{
  return __nvvm_sqrt_rn_f (v);
}

VKGDR_DEVICE double
sqrt (double v)
{
  return __nvvm_sqrt_rn_d (v);
}

VKGDR_DEVICE float
fmaf (float a, float b, float c)
{
  return __nvvm_fma_rn_f (a, b, c);
}

VKGDR_DEVICE float
fma (float a, float b, float c)
{
  return __nvvm_fma_rn_f (a, b, c);
}

VKGDR_DEVICE double
fma (double a, double b, double c)
{
  return __nvvm_fma_rn_d (a, b, c);
}

VKGDR_DEVICE float
fminf (float a, float b)
{
  return __nvvm_fmin_f (a, b);
}

VKGDR_DEVICE float
fmin (float a, float b)
{
  return __nvvm_fmin_f (a, b);
}

VKGDR_DEVICE double
fmin (double a, double b)
{
  return __nvvm_fmin_d (a, b);
}

VKGDR_DEVICE float
fmaxf (float a, float b)
{
  return __nvvm_fmax_f (a, b);
}

VKGDR_DEVICE float
fmax (float a, float b)
{
  return __nvvm_fmax_f (a, b);
}

VKGDR_DEVICE double
fmax (double a, double b)
{
  return __nvvm_fmax_d (a, b);
}

VKGDR_DEVICE float
fdimf (float a, float b)
{
  return a > b ? a - b : 0.0f;
}

VKGDR_DEVICE float
copysignf (float a, float b)
{
  return __builtin_copysignf (a, b);
}

VKGDR_DEVICE float
__saturatef (float v)
{
  return __nvvm_saturate_f (v);
}

VKGDR_DEVICE float
__fmaf_rn (float a, float b, float c)
{
  return __nvvm_fma_rn_f (a, b, c);
}

/* The compiler never combines these functions into a fused multiply-add. */
VKGDR_DEVICE float
__fmul_rn (float a, float b)
{
  return __nvvm_mul_rn_f (a, b);
}

VKGDR_DEVICE float
__fadd_rn (float a, float b)
{
  return __nvvm_add_rn_f (a, b);
}

VKGDR_DEVICE float
__fsub_rn (float a, float b)
{
  return __nvvm_add_rn_f (a, -b);
}

VKGDR_DEVICE float
__fdiv_rn (float a, float b)
{
  return __nvvm_div_rn_f (a, b);
}

VKGDR_DEVICE float
__fsqrt_rn (float v)
{
  return __nvvm_sqrt_rn_f (v);
}

VKGDR_DEVICE float
__frcp_rn (float v)
{
  return __nvvm_rcp_rn_f (v);
}

VKGDR_DEVICE float
hypotf (float a, float b)
{
  return sqrtf (fmaf (a, a, b * b));
}

VKGDR_DEVICE bool
isnan (float v)
{
  return v != v;
}

VKGDR_DEVICE bool
isinf (float v)
{
  return fabsf (v) == __builtin_inff ();
}

VKGDR_DEVICE bool
isfinite (float v)
{
  return fabsf (v) < __builtin_inff ();
}

/* ---- floating point: approximations ---- */

/* The result is exact if the integer part of the quotient has few bits. */
VKGDR_DEVICE float
fmodf (float a, float b)
{
  return fmaf (-truncf (a / b), b, a);
}

VKGDR_DEVICE float
rsqrtf (float v)
{
  return __nvvm_rsqrt_approx_f (v);
}

VKGDR_DEVICE float
__fdividef (float a, float b)
{
  return __nvvm_div_approx_f (a, b);
}

VKGDR_DEVICE float
exp2f (float v)
{
  return __nvvm_ex2_approx_f (v);
}

VKGDR_DEVICE float
log2f (float v)
{
  return __nvvm_lg2_approx_f (v);
}

/* The result is 2^n e^r, with v = n ln 2 + r. ln 2 is given as the sum of two
 * floats, which keeps r exact. The bounds keep n small: beyond them, the result
 * is 0 or infinite anyway. */
VKGDR_DEVICE float
expf (float v)
{
  float bounded = fminf (fmaxf (v, -110.0f), 110.0f);
  float n = rintf (bounded * 1.44269504f);
  float r = fmaf (n, 1.90465430e-9f, fmaf (n, -0.693147182f, bounded));

  if (isnan (v))
    return v;
  return exp2f (n) * exp2f (r * 1.44269504f);
}

VKGDR_DEVICE float
exp10f (float v)
{
  return expf (v * 2.30258509f);
}

VKGDR_DEVICE float
expm1f (float v)
{
  return fabsf (v) < 1.0e-3f ? fmaf (0.5f * v, v, v) : expf (v) - 1.0f;
}

VKGDR_DEVICE float
logf (float v)
{
  return log2f (v) * 0.693147182f;
}

VKGDR_DEVICE float
log10f (float v)
{
  return log2f (v) * 0.301029996f;
}

VKGDR_DEVICE float
log1pf (float v)
{
  return fabsf (v) < 1.0e-3f ? fmaf (-0.5f * v, v, v) : logf (1.0f + v);
}

VKGDR_DEVICE float
powf (float v, float power)
{
  float magnitude = exp2f (power * log2f (fabsf (v)));

  if (power == 0.0f || v == 1.0f)
    return 1.0f;
  if (v >= 0.0f || isnan (v))
    return magnitude;
  if (truncf (power) != power)
    return __builtin_nanf ("");
  return fmodf (power, 2.0f) == 0.0f ? magnitude : -magnitude;
}

VKGDR_DEVICE float
cbrtf (float v)
{
  return copysignf (exp2f (log2f (fabsf (v)) * 0.333333333f), v);
}

/* Subtracts a multiple of 2 pi, which is given as the sum of two floats. */
VKGDR_DEVICE float
vkgdr_turn (float v)
{
  float n = rintf (v * 0.159154943f);

  return fmaf (n, 1.74845553e-7f, fmaf (n, -6.28318548f, v));
}

VKGDR_DEVICE float
sinf (float v)
{
  return __nvvm_sin_approx_f (vkgdr_turn (v));
}

VKGDR_DEVICE float
cosf (float v)
{
  return __nvvm_cos_approx_f (vkgdr_turn (v));
}

VKGDR_DEVICE void
sincosf (float v, float *sine, float *cosine)
{
  *sine = sinf (v);
  *cosine = cosf (v);
}

VKGDR_DEVICE float
sinpif (float v)
{
  return sinf (fmodf (v, 2.0f) * 3.14159265f);
}

VKGDR_DEVICE float
cospif (float v)
{
  return cosf (fmodf (v, 2.0f) * 3.14159265f);
}

VKGDR_DEVICE float
tanf (float v)
{
  return sinf (v) / cosf (v);
}

/* For v from 0 to 1, by polynomial 4.4.49 of Abramowitz and Stegun, with an
 * error of up to 2e-8. */
VKGDR_DEVICE float
vkgdr_atan_unit (float v)
{
  float s = v * v, sum = 0.0028662257f;

  sum = fmaf (sum, s, -0.0161657367f);
  sum = fmaf (sum, s, 0.0429096138f);
  sum = fmaf (sum, s, -0.0752896400f);
  sum = fmaf (sum, s, 0.1065626393f);
  sum = fmaf (sum, s, -0.1420889944f);
  sum = fmaf (sum, s, 0.1999355085f);
  sum = fmaf (sum, s, -0.3333314528f);
  return fmaf (sum * s, v, v);
}

VKGDR_DEVICE float
atanf (float v)
{
  float m = fabsf (v);
  float angle =
      m > 1.0f ? 1.57079633f - vkgdr_atan_unit (1.0f / m) : vkgdr_atan_unit (m);

  return copysignf (angle, v);
}

VKGDR_DEVICE float
atan2f (float y, float x)
{
  float a = fabsf (x), b = fabsf (y);
  float large = fmaxf (a, b), small = fminf (a, b);
  float angle = large > 0.0f ? vkgdr_atan_unit (small / large) : 0.0f;

  if (b > a)
    angle = 1.57079633f - angle;
  if (copysignf (1.0f, x) < 0.0f)
    angle = 3.14159265f - angle;
  return copysignf (angle, y);
}

VKGDR_DEVICE float
asinf (float v)
{
  return atan2f (v, sqrtf (fmaf (-v, v, 1.0f)));
}

VKGDR_DEVICE float
acosf (float v)
{
  return atan2f (sqrtf (fmaf (-v, v, 1.0f)), v);
}

VKGDR_DEVICE float
sinhf (float v)
{
  float m = fabsf (v), e = expm1f (fminf (m, 10.0f));
  float result = m < 10.0f ? 0.5f * (e + e / (e + 1.0f)) : 0.5f * expf (m);

  return copysignf (result, v);
}

VKGDR_DEVICE float
coshf (float v)
{
  return 0.5f * (expf (v) + expf (-v));
}

VKGDR_DEVICE float
tanhf (float v)
{
  float e = expm1f (2.0f * fminf (fabsf (v), 20.0f));

  return copysignf (e / (e + 2.0f), v);
}

/* The names of the same functions without the f. */
#define VKGDR_SINGLE(name) \
  VKGDR_DEVICE float name (float v) \
  { \
    return name##f (v); \
  }

VKGDR_SINGLE (exp)
VKGDR_SINGLE (exp2)
VKGDR_SINGLE (log)
VKGDR_SINGLE (log2)
VKGDR_SINGLE (log10)
VKGDR_SINGLE (rsqrt)
VKGDR_SINGLE (cbrt)
VKGDR_SINGLE (sin)
VKGDR_SINGLE (cos)
VKGDR_SINGLE (tan)
VKGDR_SINGLE (asin)
VKGDR_SINGLE (acos)
VKGDR_SINGLE (atan)
VKGDR_SINGLE (sinh)
VKGDR_SINGLE (cosh)
VKGDR_SINGLE (tanh)

#undef VKGDR_SINGLE

#define VKGDR_SINGLE(name) \
  VKGDR_DEVICE float name (float a, float b) \
  { \
    return name##f (a, b); \
  }

VKGDR_SINGLE (pow)
VKGDR_SINGLE (fmod)
VKGDR_SINGLE (atan2)
VKGDR_SINGLE (hypot)

#undef VKGDR_SINGLE
#undef VKGDR_DEVICE

#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf

/* Functions after this line need no __device__, as with the option
 * --device-as-default-execution-space of NVRTC. */
#pragma clang force_cuda_host_device begin

#endif /* VKGDR_CLANG_H */
