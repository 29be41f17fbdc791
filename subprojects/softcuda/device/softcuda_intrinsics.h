/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_intrinsics.h: functions that are one instruction on a GPU
 *
 * Loads and stores with a hint for the cache, integers of 64 bits and parts of
 * words, two or four numbers in one word, and arithmetic that rounds in a given
 * direction. Part of softcuda_runtime.h.
 */
#ifndef SOFTCUDA_INTRINSICS_H
#define SOFTCUDA_INTRINSICS_H

/* ---- loads and stores: the hints have no effect ---- */

#define SOFTCUDA_LOAD(name) \
  template <typename T> static inline T name (const T *p) \
  { \
    return *p; \
  }
#define SOFTCUDA_STORE(name) \
  template <typename T> static inline void name (T *p, softcuda_if<true, T> v) \
  { \
    *p = v; \
  }

SOFTCUDA_LOAD (__ldg)
SOFTCUDA_LOAD (__ldca)
SOFTCUDA_LOAD (__ldcg)
SOFTCUDA_LOAD (__ldcs)
SOFTCUDA_LOAD (__ldcv)
SOFTCUDA_LOAD (__ldlu)
SOFTCUDA_STORE (__stcg)
SOFTCUDA_STORE (__stcs)
SOFTCUDA_STORE (__stwb)
SOFTCUDA_STORE (__stwt)

#undef SOFTCUDA_LOAD
#undef SOFTCUDA_STORE

/* ---- integers ---- */

__extension__ typedef __int128 softcuda_int128;
__extension__ typedef unsigned __int128 softcuda_uint128;

static inline long long
__mul64hi (long long a, long long b)
{
  return (long long) ((softcuda_int128) a * b >> 64);
}

static inline unsigned long long
__umul64hi (unsigned long long a, unsigned long long b)
{
  return (unsigned long long) ((softcuda_uint128) a * b >> 64);
}

static inline int
__hadd (int a, int b)
{
  return (int) (((long long) a + b) >> 1);
}

static inline int
__rhadd (int a, int b)
{
  return (int) (((long long) a + b + 1) >> 1);
}

/* The words high:low, shifted; those without c use five bits of the shift. */
static inline unsigned int
__funnelshift_lc (unsigned int low, unsigned int high, unsigned int shift)
{
  unsigned long long both = (unsigned long long) high << 32 | low;

  return (unsigned int) (both << (shift < 32 ? shift : 32) >> 32);
}

static inline unsigned int
__funnelshift_rc (unsigned int low, unsigned int high, unsigned int shift)
{
  unsigned long long both = (unsigned long long) high << 32 | low;

  return (unsigned int) (both >> (shift < 32 ? shift : 32));
}

static inline unsigned int
__funnelshift_l (unsigned int low, unsigned int high, unsigned int shift)
{
  return __funnelshift_lc (low, high, shift & 31);
}

static inline unsigned int
__funnelshift_r (unsigned int low, unsigned int high, unsigned int shift)
{
  return __funnelshift_rc (low, high, shift & 31);
}

/* c and the products of n parts of type A of a, and of type B of b. */
template <typename A, typename B, typename T>
static inline T
softcuda_dot (unsigned int a, unsigned int b, T c, int n, int first)
{
  for (int i = 0; i < n; i++)
    c += (T) ((T) (A) (a >> 8 * (int) sizeof (A) * i)
              * (T) (B) (b >> 8 * (int) sizeof (B) * (first + i)));
  return c;
}

#define SOFTCUDA_DOT(name, A, A_vector, B, B_vector, T, n, first) \
  static inline T name (T a, T b, T c) \
  { \
    return softcuda_dot<A, B> ( \
        (unsigned int) a, (unsigned int) b, c, n, first); \
  } \
  static inline T name (A_vector a, B_vector b, T c) \
  { \
    return softcuda_dot<A, B> (softcuda_bits<unsigned int> (a), \
        softcuda_bits<unsigned int> (b), c, n, first); \
  }

SOFTCUDA_DOT (__dp4a, signed char, char4, signed char, char4, int, 4, 0)
SOFTCUDA_DOT (
    __dp4a, unsigned char, uchar4, unsigned char, uchar4, unsigned int, 4, 0)
SOFTCUDA_DOT (__dp2a_lo, short, short2, signed char, char4, int, 2, 0)
SOFTCUDA_DOT (__dp2a_lo, unsigned short, ushort2, unsigned char, uchar4,
    unsigned int, 2, 0)
SOFTCUDA_DOT (__dp2a_hi, short, short2, signed char, char4, int, 2, 2)
SOFTCUDA_DOT (__dp2a_hi, unsigned short, ushort2, unsigned char, uchar4,
    unsigned int, 2, 2)

#undef SOFTCUDA_DOT

/* ---- two or four numbers in one word ---- */

/* Calls f with the numbers x of a, and y of b, which have the type T. */
template <typename T, typename F>
static inline unsigned int
softcuda_each (unsigned int a, unsigned int b, F f)
{
  constexpr int bits = 8 * sizeof (T);
  unsigned int result = 0;

  for (int i = 0; i < 32; i += bits)
    result |= ((unsigned int) f ((int) (T) (a >> i), (int) (T) (b >> i))
                  & 0xffffffffu >> (32 - bits))
              << i;
  return result;
}

template <typename T>
static inline int
softcuda_clamp (int v)
{
  constexpr int largest =
      (1 << (8 * (int) sizeof (T) - softcuda_is_signed<T>) ) - 1;
  constexpr int smallest = softcuda_is_signed<T> ? -largest - 1 : 0;

  return v > largest ? largest : v < smallest ? smallest : v;
}

#define SOFTCUDA_EACH(name, T, value) \
  static inline unsigned int name (unsigned int a, unsigned int b) \
  { \
    return softcuda_each<T> (a, b, [] (int x, int y) { return value; }); \
  }
#define SOFTCUDA_EACH_1(name, T, value) \
  static inline unsigned int name (unsigned int a) \
  { \
    return softcuda_each<T> (a, 0u, [] (int x, int) { return value; }); \
  }
/* All ones or zero, and one or zero. */
#define SOFTCUDA_COMPARE(name, n, T, sign) \
  SOFTCUDA_EACH (__vcmp##name##n, T, x sign y ? -1 : 0) \
  SOFTCUDA_EACH (__vset##name##n, T, x sign y ? 1 : 0)
#define SOFTCUDA_SUM(name, T, value) \
  static inline unsigned int name (unsigned int a, unsigned int b) \
  { \
    unsigned int sum = 0; \
\
    softcuda_each<T> (a, b, [&sum] (int x, int y) { \
      sum += (unsigned int) (value); \
      return 0; \
    }); \
    return sum; \
  }
#define SOFTCUDA_SIMD(n, S, U) \
  SOFTCUDA_EACH_1 (__vabs##n, S, x < 0 ? -x : x) \
  SOFTCUDA_EACH_1 (__vabsss##n, S, softcuda_clamp<S> (x < 0 ? -x : x)) \
  SOFTCUDA_EACH_1 (__vneg##n, S, -x) \
  SOFTCUDA_EACH_1 (__vnegss##n, S, softcuda_clamp<S> (-x)) \
  SOFTCUDA_EACH (__vadd##n, U, x + y) \
  SOFTCUDA_EACH (__vaddss##n, S, softcuda_clamp<S> (x + y)) \
  SOFTCUDA_EACH (__vaddus##n, U, softcuda_clamp<U> (x + y)) \
  SOFTCUDA_EACH (__vsub##n, U, x - y) \
  SOFTCUDA_EACH (__vsubss##n, S, softcuda_clamp<S> (x - y)) \
  SOFTCUDA_EACH (__vsubus##n, U, softcuda_clamp<U> (x - y)) \
  SOFTCUDA_EACH (__vabsdiffs##n, S, x < y ? y - x : x - y) \
  SOFTCUDA_EACH (__vabsdiffu##n, U, x < y ? y - x : x - y) \
  SOFTCUDA_EACH (__vavgs##n, S, (x + y + (x + y >= 0)) >> 1) \
  SOFTCUDA_EACH (__vavgu##n, U, (x + y + 1) >> 1) \
  SOFTCUDA_EACH (__vhaddu##n, U, (x + y) >> 1) \
  SOFTCUDA_EACH (__vmaxs##n, S, x < y ? y : x) \
  SOFTCUDA_EACH (__vmaxu##n, U, x < y ? y : x) \
  SOFTCUDA_EACH (__vmins##n, S, y < x ? y : x) \
  SOFTCUDA_EACH (__vminu##n, U, y < x ? y : x) \
  SOFTCUDA_COMPARE (eq, n, U, ==) \
  SOFTCUDA_COMPARE (ne, n, U, !=) \
  SOFTCUDA_COMPARE (ges, n, S, >=) \
  SOFTCUDA_COMPARE (geu, n, U, >=) \
  SOFTCUDA_COMPARE (gts, n, S, >) \
  SOFTCUDA_COMPARE (gtu, n, U, >) \
  SOFTCUDA_COMPARE (les, n, S, <=) \
  SOFTCUDA_COMPARE (leu, n, U, <=) \
  SOFTCUDA_COMPARE (lts, n, S, <) \
  SOFTCUDA_COMPARE (ltu, n, U, <) \
  SOFTCUDA_SUM (__vsads##n, S, x < y ? y - x : x - y) \
  SOFTCUDA_SUM (__vsadu##n, U, x < y ? y - x : x - y)

SOFTCUDA_SIMD (2, short, unsigned short)
SOFTCUDA_SIMD (4, signed char, unsigned char)

#undef SOFTCUDA_EACH
#undef SOFTCUDA_EACH_1
#undef SOFTCUDA_COMPARE
#undef SOFTCUDA_SUM
#undef SOFTCUDA_SIMD

/* ---- the halves of a double ---- */

static inline int
__double2hiint (double v)
{
  return (int) (__double_as_longlong (v) >> 32);
}

static inline int
__double2loint (double v)
{
  return (int) __double_as_longlong (v);
}

static inline double
__hiloint2double (int high, int low)
{
  return __longlong_as_double (
      (long long) ((unsigned long long) (unsigned int) high << 32
                   | (unsigned int) low));
}

/* ---- rounding: to nearest, down, up, and to zero ---- */

extern "C" int softcuda_fesetround (int direction) noexcept
    __asm__("fesetround");

/* As in the C library's <fenv.h>. */
#ifdef __aarch64__
#define SOFTCUDA_FENV_UP 0x400000
#define SOFTCUDA_FENV_DOWN 0x800000
#else
#define SOFTCUDA_FENV_UP 0x800
#define SOFTCUDA_FENV_DOWN 0x400
#endif

/* An operand and the result are volatile, so that the
 * operation is between the calls, and is never a part of a fused one. */
#define SOFTCUDA_ROUNDED(direction, T, name, parameters, A, first, value) \
  static inline T name parameters \
  { \
    volatile A x = first; \
    volatile T result; \
\
    if (direction != 0) \
      softcuda_fesetround (direction); \
    result = (T) (value); \
    if (direction != 0) \
      softcuda_fesetround (0); \
    return result; \
  }
#define SOFTCUDA_ARITHMETIC(end, direction, T, letter, fused, root) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##add_##end, (T a, T b), T, a, x + b) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##sub_##end, (T a, T b), T, a, x - b) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##mul_##end, (T a, T b), T, a, x *b) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##div_##end, (T a, T b), T, a, x / b) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##rcp_##end, (T v), T, v, (T) 1 / x) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##letter##sqrt_##end, (T v), T, v, root (x)) \
  SOFTCUDA_ROUNDED ( \
      direction, T, __##fused##_##end, (T a, T b, T c), T, a, fused (x, b, c))
#define SOFTCUDA_FROM(end, direction, T, name, A) \
  SOFTCUDA_ROUNDED (direction, T, __##name##_##end, (A v), A, v, x)
#define SOFTCUDA_DIRECTION(end, direction) \
  SOFTCUDA_ARITHMETIC (end, direction, float, f, fmaf, sqrtf) \
  SOFTCUDA_ARITHMETIC (end, direction, double, d, fma, sqrt) \
  SOFTCUDA_FROM (end, direction, float, int2float, int) \
  SOFTCUDA_FROM (end, direction, float, uint2float, unsigned int) \
  SOFTCUDA_FROM (end, direction, float, ll2float, long long) \
  SOFTCUDA_FROM (end, direction, float, ull2float, unsigned long long) \
  SOFTCUDA_FROM (end, direction, double, ll2double, long long) \
  SOFTCUDA_FROM (end, direction, double, ull2double, unsigned long long) \
  SOFTCUDA_FROM (end, direction, float, double2float, double)

SOFTCUDA_DIRECTION (rn, 0)
SOFTCUDA_DIRECTION (rd, SOFTCUDA_FENV_DOWN)
SOFTCUDA_DIRECTION (ru, SOFTCUDA_FENV_UP)
SOFTCUDA_DIRECTION (rz, SOFTCUDA_FENV_UP | SOFTCUDA_FENV_DOWN)

SOFTCUDA_FROM (rn, 0, double, int2double, int)
SOFTCUDA_FROM (rn, 0, double, uint2double, unsigned int)

#undef SOFTCUDA_FENV_DOWN
#undef SOFTCUDA_FENV_UP
#undef SOFTCUDA_ROUNDED
#undef SOFTCUDA_ARITHMETIC
#undef SOFTCUDA_FROM
#undef SOFTCUDA_DIRECTION

#endif
