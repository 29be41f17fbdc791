/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_runtime.h: CUDA C for the software device, in C++17
 *
 * softcuda's libnvrtc includes this file in front of every kernel. It also
 * replaces __global__ and __shared__, for which macros are not sufficient. One
 * thread of the CPU runs a block, so the block's variables are thread-local.
 *
 * Not supported: texture references, inline PTX that does more than read a
 * special register, and allocation and launches on the device.
 */

#ifndef SOFTCUDA_RUNTIME_H
#define SOFTCUDA_RUNTIME_H

#include "softcuda_traits.h"

#ifdef SOFTCUDA_NVCC
#include "softcuda_nvcc.h"
#else
#include "softcuda_library.h"
#endif

#include "softcuda_image.h"

/* ---- macros that identify the compiler ---- */

#define __SOFTCUDA__ 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ 900

/* ---- qualifiers ---- */

/* nvrtc-scan.c removes these words: a variable gets an attribute instead. */
#define __device__ __device__
#define __constant__ __constant__
#define __managed__ __managed__
#define __host__ __host__
#define __grid_constant__
#define __forceinline__ inline __attribute__ ((always_inline))
#define __noinline__ __attribute__ ((noinline))
#define __align__(n) __attribute__ ((aligned (n)))
#define __launch_bounds__(...)

/* ---- vectors ---- */

#include "softcuda_vectors.h"

struct dim3 {
  unsigned int x, y, z;

  constexpr dim3 (unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
      : x (x), y (y), z (z)
  {
  }
  constexpr dim3 (uint3 v) : x (v.x), y (v.y), z (v.z)
  {
  }
  constexpr operator uint3 () const
  {
    return { x, y, z };
  }
};

/* ---- the running thread ---- */

static thread_local uint3 threadIdx;
static thread_local uint3 blockIdx;
static thread_local dim3 blockDim;
static thread_local dim3 gridDim;
static constexpr int warpSize = 32;

static thread_local softcuda_block *softcuda_current;

/* A declaration of dynamic shared memory at file scope is a pointer, which each
 * block sets. */
struct softcuda_dynamic {
  void (*set) (void *memory);
  softcuda_dynamic *next;
  static inline softcuda_dynamic *first;

  softcuda_dynamic (void (*set) (void *memory)) : set (set), next (first)
  {
    first = this;
  }
};

static inline void *
softcuda_dynamic_shared ()
{
  return softcuda_current->dynamic_shared;
}

static inline void
softcuda_enter (softcuda_block *block)
{
  softcuda_current = block;
  block->thread_idx = &threadIdx.x;
  blockIdx = { block->block_idx[0], block->block_idx[1], block->block_idx[2] };
  blockDim = { block->block_dim[0], block->block_dim[1], block->block_dim[2] };
  gridDim = { block->grid_dim[0], block->grid_dim[1], block->grid_dim[2] };
  for (softcuda_dynamic *d = softcuda_dynamic::first; d != NULL; d = d->next)
    d->set (block->dynamic_shared);
}

[[noreturn]] static inline void
__trap ()
{
  softcuda_current->hooks->fail (softcuda_current, 0);
  __builtin_unreachable ();
}

/* Those of the C library, by names that kernels do not use. */
extern "C" {
extern void *softcuda_stdout __asm__("stdout");
extern void *softcuda_stderr __asm__("stderr");
int softcuda_fprintf (void *file, const char *format, ...) __asm__("fprintf");
int softcuda_fputs (const char *text, void *file) __asm__("fputs");
int softcuda_vsnprintf (char *text, size_t size, const char *format,
    __builtin_va_list arguments) __asm__("vsnprintf");
}

[[noreturn]] static inline void
softcuda_assert_failed (const char *condition, const char *file, int line)
{
  softcuda_fprintf (softcuda_stderr,
      "%s:%d: block: [%u,%u,%u], thread: [%u,%u,%u] "
      "Assertion `%s` failed.\n",
      file, line, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
      threadIdx.z, condition);
  softcuda_current->hooks->fail (softcuda_current, 1);
  __builtin_unreachable ();
}

#include "softcuda_assert.h"

/* Formats the text before it takes the lock of stdout: after a fault, a
 * function that has the lock does not release it. Longer lines are
 * truncated. */
__attribute__ ((format (__printf__, 1, 2))) static inline int
softcuda_printf (const char *format, ...)
{
  char line[4096];
  __builtin_va_list arguments;
  int size;

  __builtin_va_start (arguments, format);
  size = softcuda_vsnprintf (line, sizeof line, format, arguments);
  __builtin_va_end (arguments);
  softcuda_fputs (line, softcuda_stdout);
  return size;
}
#define printf softcuda_printf

/* ---- waits of a block's threads for each other ---- */

/* Marks the image whenever the compiler emits the surrounding function. The
 * threads of such an image must be able to wait. */
#define SOFTCUDA_THREADS_WAIT() \
  __asm__ volatile(".pushsection softcuda_fibres,\"a\"\n.byte 1\n.popsection")

/* All threads of the block share the variable threadIdx. So it is saved while
 * the thread waits. */
template <typename F>
static inline auto
softcuda_wait (F wait)
{
  uint3 self = threadIdx;

  SOFTCUDA_THREADS_WAIT ();
  auto result = wait (softcuda_current->hooks);
  threadIdx = self;
  return result;
}

static inline int
__syncthreads_count (int predicate)
{
  return softcuda_wait ([=] (const softcuda_hooks *hooks) {
    return hooks->barrier (softcuda_current, predicate);
  });
}

static inline void
__syncthreads ()
{
  __syncthreads_count (0);
}

static inline int
__syncthreads_or (int predicate)
{
  return __syncthreads_count (predicate) != 0;
}

static inline int
__syncthreads_and (int predicate)
{
  return __syncthreads_count (predicate == 0) == 0;
}

static inline void
__threadfence ()
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
}

static inline void
__threadfence_block ()
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
}

static inline void
__threadfence_system ()
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
}

/* ---- atomics: all return the old value ---- */

/* For types of 2, 4 or 8 bytes, by comparing and swapping their bits. */
template <typename T, typename F>
static inline T
softcuda_atomic (T *p, F change)
{
  T before;
  T after;

  __atomic_load (p, &before, __ATOMIC_RELAXED);
  do
    after = change (before);
  while (!__atomic_compare_exchange (
      p, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  return before;
}

/* All atomics are atomic for the whole system. */
#define SOFTCUDA_ATOMIC(name, type, value) \
  static inline type name (type *p, type v) \
  { \
    return softcuda_atomic (p, [v] (type old) -> type { return value; }); \
  } \
  static inline type name##_system (type *p, type v) \
  { \
    return name (p, v); \
  } \
  static inline type name##_block (type *p, type v) \
  { \
    return name (p, v); \
  }
#define SOFTCUDA_ATOMIC_INTEGER(type) \
  SOFTCUDA_ATOMIC (atomicMin, type, old < v ? old : v) \
  SOFTCUDA_ATOMIC (atomicMax, type, old > v ? old : v) \
  SOFTCUDA_ATOMIC (atomicAnd, type, old &v) \
  SOFTCUDA_ATOMIC (atomicOr, type, old | v) \
  SOFTCUDA_ATOMIC (atomicXor, type, old ^ v)
#define SOFTCUDA_ATOMIC_CAS(type) \
  static inline type atomicCAS (type *p, type compare, type v) \
  { \
    return softcuda_atomic (p, \
        [compare, v] (type old) -> type { return old == compare ? v : old; }); \
  } \
  static inline type atomicCAS_system (type *p, type compare, type v) \
  { \
    return atomicCAS (p, compare, v); \
  } \
  static inline type atomicCAS_block (type *p, type compare, type v) \
  { \
    return atomicCAS (p, compare, v); \
  }

/* CUDA has no others. */
SOFTCUDA_ATOMIC_INTEGER (int)
SOFTCUDA_ATOMIC_INTEGER (unsigned int)
SOFTCUDA_ATOMIC_INTEGER (long long)
SOFTCUDA_ATOMIC_INTEGER (unsigned long long)
SOFTCUDA_ATOMIC (atomicAdd, int, old + v)
SOFTCUDA_ATOMIC (atomicAdd, unsigned int, old + v)
SOFTCUDA_ATOMIC (atomicAdd, unsigned long long, old + v)
SOFTCUDA_ATOMIC (atomicAdd, float, old + v)
SOFTCUDA_ATOMIC (atomicAdd, double, old + v)
SOFTCUDA_ATOMIC (atomicSub, int, old - v)
SOFTCUDA_ATOMIC (atomicSub, unsigned int, old - v)
SOFTCUDA_ATOMIC (atomicExch, int, ((void) old, v))
SOFTCUDA_ATOMIC (atomicExch, unsigned int, ((void) old, v))
SOFTCUDA_ATOMIC (atomicExch, unsigned long long, ((void) old, v))
SOFTCUDA_ATOMIC (atomicExch, float, ((void) old, v))
SOFTCUDA_ATOMIC (atomicInc, unsigned int, old >= v ? 0 : old + 1)
SOFTCUDA_ATOMIC (atomicDec, unsigned int, old == 0 || old > v ? v : old - 1)
SOFTCUDA_ATOMIC_CAS (unsigned short)
SOFTCUDA_ATOMIC_CAS (int)
SOFTCUDA_ATOMIC_CAS (unsigned int)
SOFTCUDA_ATOMIC_CAS (unsigned long long)

#undef SOFTCUDA_ATOMIC
#undef SOFTCUDA_ATOMIC_INTEGER
#undef SOFTCUDA_ATOMIC_CAS

/* ---- smallest and largest ---- */

/* These types, and no other mixed ones: the rest is ambiguous, as in NVRTC. If
 * one argument is a NaN, the result is the other one. */
#define SOFTCUDA_LIMITS(T, A, B) \
  static inline T min (A a, B b) \
  { \
    return (T) a != (T) a || (T) b < (T) a ? (T) b : (T) a; \
  } \
  static inline T max (A a, B b) \
  { \
    return (T) a != (T) a || (T) a < (T) b ? (T) b : (T) a; \
  }
#define SOFTCUDA_LIMITS_MIXED(A, B) \
  SOFTCUDA_LIMITS (A, A, A) \
  SOFTCUDA_LIMITS (B, B, B) \
  SOFTCUDA_LIMITS (B, A, B) \
  SOFTCUDA_LIMITS (B, B, A)

SOFTCUDA_LIMITS_MIXED (int, unsigned int)
SOFTCUDA_LIMITS_MIXED (long, unsigned long)
SOFTCUDA_LIMITS_MIXED (long long, unsigned long long)
SOFTCUDA_LIMITS_MIXED (float, double)

#undef SOFTCUDA_LIMITS
#undef SOFTCUDA_LIMITS_MIXED

static inline unsigned int
umin (unsigned int a, unsigned int b)
{
  return min (a, b);
}

static inline unsigned int
umax (unsigned int a, unsigned int b)
{
  return max (a, b);
}

static inline long long
llmin (long long a, long long b)
{
  return min (a, b);
}

static inline long long
llmax (long long a, long long b)
{
  return max (a, b);
}

static inline unsigned long long
ullmin (unsigned long long a, unsigned long long b)
{
  return min (a, b);
}

static inline unsigned long long
ullmax (unsigned long long a, unsigned long long b)
{
  return max (a, b);
}

/* ---- bits ---- */

static inline int
__popc (unsigned int v)
{
  return __builtin_popcount (v);
}

static inline int
__popcll (unsigned long long v)
{
  return __builtin_popcountll (v);
}

static inline int
__clz (int v)
{
  return v == 0 ? 32 : __builtin_clz ((unsigned int) v);
}

static inline int
__clzll (long long v)
{
  return v == 0 ? 64 : __builtin_clzll ((unsigned long long) v);
}

static inline int
__ffs (int v)
{
  return __builtin_ffs (v);
}

static inline int
__ffsll (long long v)
{
  return __builtin_ffsll (v);
}

static inline unsigned int
__brev (unsigned int v)
{
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32 (v);
}

static inline unsigned long long
__brevll (unsigned long long v)
{
  return (unsigned long long) __brev ((unsigned int) v) << 32
         | __brev ((unsigned int) (v >> 32));
}

/* Byte i of the result is byte (selector >> 4 i) & 7 of b:a. */
static inline unsigned int
__byte_perm (unsigned int a, unsigned int b, unsigned int selector)
{
  unsigned long long both = (unsigned long long) b << 32 | a;
  unsigned int result = 0;

  for (int i = 0; i < 4; i++)
    result |= (unsigned int) (both >> 8 * (selector >> 4 * i & 7) & 0xff)
              << 8 * i;
  return result;
}

template <typename To, typename From>
static inline To
softcuda_bits (From from)
{
  To to;

  static_assert (sizeof to == sizeof from);
  memcpy (&to, &from, sizeof to);
  return to;
}

static inline int
__float_as_int (float v)
{
  return softcuda_bits<int> (v);
}

static inline unsigned int
__float_as_uint (float v)
{
  return softcuda_bits<unsigned int> (v);
}

static inline float
__int_as_float (int v)
{
  return softcuda_bits<float> (v);
}

static inline float
__uint_as_float (unsigned int v)
{
  return softcuda_bits<float> (v);
}

static inline long long
__double_as_longlong (double v)
{
  return softcuda_bits<long long> (v);
}

static inline double
__longlong_as_double (long long v)
{
  return softcuda_bits<double> (v);
}

/* ---- integers ---- */

/* Returns the product of the low 24 bits, sign-extended. */
static inline int
__mul24 (int a, int b)
{
  return (int) ((unsigned int) ((int) ((unsigned int) a << 8) >> 8)
                * (unsigned int) ((int) ((unsigned int) b << 8) >> 8));
}

static inline unsigned int
__umul24 (unsigned int a, unsigned int b)
{
  return (a & 0xffffffu) * (b & 0xffffffu);
}

static inline int
__mulhi (int a, int b)
{
  return (int) ((long long) a * b >> 32);
}

static inline unsigned int
__umulhi (unsigned int a, unsigned int b)
{
  return (unsigned int) ((unsigned long long) a * b >> 32);
}

static inline unsigned int
__sad (int a, int b, unsigned int c)
{
  return c + (a < b ? (unsigned int) b - a : (unsigned int) a - b);
}

static inline unsigned int
__usad (unsigned int a, unsigned int b, unsigned int c)
{
  return c + (a < b ? b - a : a - b);
}

static inline unsigned int
__uhadd (unsigned int a, unsigned int b)
{
  return (unsigned int) (((unsigned long long) a + b) >> 1);
}

static inline unsigned int
__urhadd (unsigned int a, unsigned int b)
{
  return (unsigned int) (((unsigned long long) a + b + 1) >> 1);
}

/* ---- conversions: values out of range are clamped, NaN gives 0 ---- */

template <typename To>
static inline To
softcuda_saturate (double v)
{
  constexpr bool is_signed = softcuda_is_signed<To>;
  constexpr int bits = 8 * sizeof (To) - is_signed;
  constexpr To largest = (To) ~(is_signed ? (To) 1 << bits : (To) 0);
  constexpr To smallest = is_signed ? (To) (-largest - 1) : (To) 0;

  if (v != v)
    return 0;
  if (v >= ldexp (1.0, bits))
    return largest;
  return v <= (double) smallest ? smallest : (To) v;
}

#define SOFTCUDA_CONVERT(from, from_name, to, to_name) \
  static inline to __##from_name##2##to_name##_rn (from v) \
  { \
    return softcuda_saturate<to> (rint ((double) v)); \
  } \
  static inline to __##from_name##2##to_name##_rz (from v) \
  { \
    return softcuda_saturate<to> (trunc ((double) v)); \
  } \
  static inline to __##from_name##2##to_name##_rd (from v) \
  { \
    return softcuda_saturate<to> (floor ((double) v)); \
  } \
  static inline to __##from_name##2##to_name##_ru (from v) \
  { \
    return softcuda_saturate<to> (ceil ((double) v)); \
  }

SOFTCUDA_CONVERT (float, float, int, int)
SOFTCUDA_CONVERT (float, float, unsigned int, uint)
SOFTCUDA_CONVERT (float, float, long long, ll)
SOFTCUDA_CONVERT (float, float, unsigned long long, ull)
SOFTCUDA_CONVERT (double, double, int, int)
SOFTCUDA_CONVERT (double, double, unsigned int, uint)
SOFTCUDA_CONVERT (double, double, long long, ll)
SOFTCUDA_CONVERT (double, double, unsigned long long, ull)

#undef SOFTCUDA_CONVERT

/* ---- floating point ---- */

/* Newer C libraries also have functions with these names. */
#define rsqrtf softcuda_rsqrtf
#define rsqrt softcuda_rsqrt
#define sinpif softcuda_sinpif
#define cospif softcuda_cospif

static inline float
softcuda_rsqrtf (float v)
{
  return 1.0f / sqrtf (v);
}

static inline double
softcuda_rsqrt (double v)
{
  return 1.0 / sqrt (v);
}

static inline float
softcuda_rsqrt (float v)
{
  return rsqrtf (v);
}

static inline float
__saturatef (float v)
{
  return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}

static inline float
__fdividef (float a, float b)
{
  return a / b;
}

static inline float
fdividef (float a, float b)
{
  return a / b;
}

static inline float
__frsqrt_rn (float v)
{
  return (float) (1.0 / sqrt ((double) v));
}

static inline float
softcuda_sinpif (float v)
{
  return (float) sin (3.14159265358979323846 * fmod ((double) v, 2.0));
}

static inline float
softcuda_cospif (float v)
{
  return (float) cos (3.14159265358979323846 * fmod ((double) v, 2.0));
}

static inline float
norm3df (float a, float b, float c)
{
  return sqrtf (a * a + b * b + c * c);
}

static inline void
softcuda_sincosf (float v, float *sine, float *cosine)
{
  *sine = sinf (v);
  *cosine = cosf (v);
}

/* The C library has other functions with these names. */
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf softcuda_sincosf

static inline void
sincos (float v, float *sine, float *cosine)
{
  softcuda_sincosf (v, sine, cosine);
}

/* ---- more functions, time, warps and textures ---- */

#include "softcuda_math.h"
#include "softcuda_intrinsics.h"
#include "softcuda_time.h"
#include "softcuda_warp.h"
#include "softcuda_texture.h"

/* ---- kernels in the form that the driver needs ---- */

#if defined(__x86_64__) && defined(__FMA__)
static constexpr unsigned int softcuda_needs = SOFTCUDA_NEEDS_FMA;
#else
static constexpr unsigned int softcuda_needs = 0;
#endif

template <typename... A> struct softcuda_layout {
  softcuda_param param[sizeof...(A) + 1];

  constexpr softcuda_layout () : param{}
  {
    size_t at = 0;
    size_t i = 0;

    ((at = (at + alignof (A) - 1) / alignof (A) * alignof (A),
         param[i++] = { at, sizeof (A) }, at += sizeof (A)),
        ...);
    (void) at;
    (void) i;
  }
};

template <auto F> struct softcuda_entry;

template <typename... A, void (*F) (A...)> struct softcuda_entry<F> {
  static constexpr softcuda_layout<A...> layout{};

  template <size_t... I>
  static inline void
  call (void **params, softcuda_indices<I...>)
  {
    (void) params;
    F (*static_cast<A *> (params[I])...);
  }

  static void
  run_thread (
      softcuda_block *block, unsigned int x, unsigned int y, unsigned int z)
  {
    softcuda_enter (block);
    threadIdx = { x, y, z };
    call (block->params, typename softcuda_count<sizeof...(A)>::type ());
  }

  static void
  run_block (softcuda_block *block)
  {
    softcuda_enter (block);
    for (unsigned int z = 0; z < block->block_dim[2]; z++) {
      for (unsigned int y = 0; y < block->block_dim[1]; y++) {
        for (unsigned int x = 0; x < block->block_dim[0]; x++) {
          threadIdx = { x, y, z };
          call (block->params, typename softcuda_count<sizeof...(A)>::type ());
        }
      }
    }
  }

  static constexpr softcuda_kernel
  describe (const char *name)
  {
    return { name, layout.param, sizeof...(A), run_block, run_thread };
  }
};

/* NVRTC does not define these. */
#ifndef SOFTCUDA_NVCC
#undef __GNUC__
#undef __GNUG__
#undef __linux
#undef __linux__
#undef __unix
#undef __unix__
#endif

#endif /* SOFTCUDA_RUNTIME_H */
