/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * clang.h: the declarations of CUDA C++ for clang, instead of a CUDA toolkit
 *
 * Included in front of the kernels of this project when clang compiles them to
 * PTX, together with the project. Has only the functions that they use; add a
 * function here when a kernel needs it. Functions that only need instructions
 * of PTX are as exact as CUDA's. expf() and powf() use the approximations of
 * the device, and have some 20 exact bits.
 */

#ifndef VKGDR_CLANG_H
#define VKGDR_CLANG_H

#define __CUDACC__ 1

#include <stddef.h>
#include <stdint.h>

#define __global__ __attribute__ ((global))
/* Always inline: a function that gets a VkgdrFrame by reference would make each
 * thread copy the frame from the parameters to its local memory. */
#define __device__ __attribute__ ((device, always_inline))
#define __host__ __attribute__ ((host))
#define __shared__ __attribute__ ((shared))
#define __constant__ __attribute__ ((constant))
#define __launch_bounds__(...) __attribute__ ((launch_bounds (__VA_ARGS__)))
#define __forceinline__ inline __attribute__ ((always_inline))
/* In newer versions of clang, __noinline__ is a keyword. */
#if __clang_major__ < 15
#define __noinline__ __attribute__ ((noinline))
#endif

#define VKGDR_DEVICE static __device__ inline

/* The type of blockIdx and similar variables of clang's header below. */
struct uint3 {
  unsigned int x, y, z;
};

struct dim3 {
  unsigned int x, y, z;

  __device__ constexpr dim3 (
      unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x (x), y (y), z (z)
  {
  }
};

#include <__clang_cuda_builtin_vars.h>

/* ---- words ---- */

VKGDR_DEVICE unsigned int
atomicAnd (unsigned int *p, unsigned int v)
{
  return __atomic_fetch_and (p, v, __ATOMIC_RELAXED);
}

VKGDR_DEVICE unsigned int
atomicOr (unsigned int *p, unsigned int v)
{
  return __atomic_fetch_or (p, v, __ATOMIC_RELAXED);
}

VKGDR_DEVICE unsigned int
__byte_perm (unsigned int a, unsigned int b, unsigned int selector)
{
  return __nvvm_prmt (a, b, selector);
}

VKGDR_DEVICE unsigned int
__float_as_uint (float v)
{
  return __builtin_bit_cast(unsigned int, v);
}

VKGDR_DEVICE float
__uint_as_float (unsigned int v)
{
  return __builtin_bit_cast(float, v);
}

/* ---- floating point: exact, or rounded to nearest ---- */

VKGDR_DEVICE float
fabsf (float v)
{
  return __builtin_fabsf (v);
}

VKGDR_DEVICE float
floorf (float v)
{
  return __builtin_floorf (v);
}

VKGDR_DEVICE float
rintf (float v)
{
  return __builtin_rintf (v);
}

VKGDR_DEVICE float
sqrtf (float v)
{
  return __nvvm_sqrt_rn_f (v);
}

VKGDR_DEVICE float
fmaf (float a, float b, float c)
{
  return __nvvm_fma_rn_f (a, b, c);
}

VKGDR_DEVICE float
fminf (float a, float b)
{
  return __nvvm_fmin_f (a, b);
}

VKGDR_DEVICE float
fmaxf (float a, float b)
{
  return __nvvm_fmax_f (a, b);
}

VKGDR_DEVICE float
__saturatef (float v)
{
  return __nvvm_saturate_f (v);
}

/* ---- floating point: approximations ---- */

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

  return exp2f (n) * exp2f (r * 1.44269504f);
}

/* For v from 0. */
VKGDR_DEVICE float
powf (float v, float power)
{
  return power == 0.0f || v == 1.0f ? 1.0f : exp2f (power * log2f (v));
}

#endif /* VKGDR_CLANG_H */
