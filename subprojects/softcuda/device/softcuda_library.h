/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_library.h: the functions of the C library that NVRTC has
 *
 * They are those of the host, declared without its headers: these would define
 * names that NVRTC does not know. Part of softcuda_runtime.h.
 */

#ifndef SOFTCUDA_LIBRARY_H
#define SOFTCUDA_LIBRARY_H

typedef decltype (sizeof 0) size_t;
typedef decltype ((char *) 0 - (char *) 0) ptrdiff_t;
#define NULL __null

extern "C" {
void *malloc (size_t size) noexcept;
void free (void *memory) noexcept;
void *memcpy (void *to, const void *from, size_t size) noexcept;
void *memset (void *to, int byte, size_t size) noexcept;
int abs (int v) noexcept;
long labs (long v) noexcept;
long long llabs (long long v) noexcept;
}

/* ---- parts of C++ that NVRTC has ---- */

namespace std
{
template <typename T> struct softcuda_plain {
  using type = T;
};
template <typename T> struct softcuda_plain<T &> {
  using type = T;
};
template <typename T> struct softcuda_plain<T &&> {
  using type = T;
};

template <typename T>
constexpr typename softcuda_plain<T>::type &&
move (T &&v) noexcept
{
  return static_cast<typename softcuda_plain<T>::type &&> (v);
}

template <typename T>
constexpr T &&
forward (typename softcuda_plain<T>::type &v) noexcept
{
  return static_cast<T &&> (v);
}

template <typename T>
constexpr T &&
forward (typename softcuda_plain<T>::type &&v) noexcept
{
  return static_cast<T &&> (v);
}

/* Compilers make objects of this class, and expect these members. */
template <typename T> class initializer_list
{
  const T *array;
  size_t n;

public:
  constexpr initializer_list () noexcept : array (nullptr), n (0)
  {
  }
  constexpr size_t
  size () const noexcept
  {
    return n;
  }
  constexpr const T *
  begin () const noexcept
  {
    return array;
  }
  constexpr const T *
  end () const noexcept
  {
    return array + n;
  }
};
} // namespace std

/* NVRTC has it without a header. */
constexpr void *
operator new (size_t, void *place) noexcept
{
  return place;
}

/* ---- mathematics: for double, and for float ----
 * Other arguments, such as an integer, are ambiguous, as in NVRTC. NVIDIA's
 * compiler lets constexpr functions call them, which PyCUDA does. */

#define SOFTCUDA_UNARY(name) \
  extern "C" double name (double) noexcept; \
  extern "C" float name##f (float) noexcept; \
  static inline constexpr float name (float v) \
  { \
    return __builtin_##name##f (v); \
  }
#define SOFTCUDA_BINARY(name) \
  extern "C" double name (double, double) noexcept; \
  extern "C" float name##f (float, float) noexcept; \
  static inline constexpr float name (float a, float b) \
  { \
    return __builtin_##name##f (a, b); \
  }
/* With a further argument, and with another result. */
#define SOFTCUDA_WITH(name, type) \
  extern "C" double name (double, type) noexcept; \
  extern "C" float name##f (float, type) noexcept; \
  static inline float name (float v, type other) \
  { \
    return name##f (v, other); \
  }
#define SOFTCUDA_TO(name, type) \
  extern "C" type name (double) noexcept; \
  extern "C" type name##f (float) noexcept; \
  static inline type name (float v) \
  { \
    return name##f (v); \
  }
#define SOFTCUDA_TEST(name, builtin) \
  static inline bool name (float v) \
  { \
    return builtin (v); \
  } \
  static inline bool name (double v) \
  { \
    return builtin (v); \
  }

SOFTCUDA_UNARY (acos)
SOFTCUDA_UNARY (acosh)
SOFTCUDA_UNARY (asin)
SOFTCUDA_UNARY (asinh)
SOFTCUDA_UNARY (atan)
SOFTCUDA_UNARY (atanh)
SOFTCUDA_UNARY (cbrt)
SOFTCUDA_UNARY (ceil)
SOFTCUDA_UNARY (cos)
SOFTCUDA_UNARY (cosh)
SOFTCUDA_UNARY (erf)
SOFTCUDA_UNARY (erfc)
SOFTCUDA_UNARY (exp)
SOFTCUDA_UNARY (exp10)
SOFTCUDA_UNARY (exp2)
SOFTCUDA_UNARY (expm1)
SOFTCUDA_UNARY (fabs)
SOFTCUDA_UNARY (floor)
SOFTCUDA_UNARY (j0)
SOFTCUDA_UNARY (j1)
SOFTCUDA_UNARY (lgamma)
SOFTCUDA_UNARY (log)
SOFTCUDA_UNARY (log10)
SOFTCUDA_UNARY (log1p)
SOFTCUDA_UNARY (log2)
SOFTCUDA_UNARY (logb)
SOFTCUDA_UNARY (nearbyint)
SOFTCUDA_UNARY (rint)
SOFTCUDA_UNARY (round)
SOFTCUDA_UNARY (sin)
SOFTCUDA_UNARY (sinh)
SOFTCUDA_UNARY (sqrt)
SOFTCUDA_UNARY (tan)
SOFTCUDA_UNARY (tanh)
SOFTCUDA_UNARY (tgamma)
SOFTCUDA_UNARY (trunc)
SOFTCUDA_UNARY (y0)
SOFTCUDA_UNARY (y1)
SOFTCUDA_BINARY (atan2)
SOFTCUDA_BINARY (copysign)
SOFTCUDA_BINARY (fdim)
SOFTCUDA_BINARY (fmax)
SOFTCUDA_BINARY (fmin)
SOFTCUDA_BINARY (fmod)
SOFTCUDA_BINARY (hypot)
SOFTCUDA_BINARY (nextafter)
SOFTCUDA_BINARY (pow)
SOFTCUDA_BINARY (remainder)
SOFTCUDA_WITH (frexp, int *)
SOFTCUDA_WITH (ldexp, int)
SOFTCUDA_WITH (scalbn, int)
SOFTCUDA_WITH (scalbln, long)
SOFTCUDA_TO (ilogb, int)
SOFTCUDA_TO (lrint, long)
SOFTCUDA_TO (lround, long)
SOFTCUDA_TO (llrint, long long)
SOFTCUDA_TO (llround, long long)
SOFTCUDA_TEST (isfinite, __builtin_isfinite)
SOFTCUDA_TEST (isinf, __builtin_isinf)
SOFTCUDA_TEST (isnan, __builtin_isnan)
SOFTCUDA_TEST (signbit, __builtin_signbit)

#undef SOFTCUDA_UNARY
#undef SOFTCUDA_BINARY
#undef SOFTCUDA_WITH
#undef SOFTCUDA_TO
#undef SOFTCUDA_TEST

extern "C" {
double fma (double, double, double) noexcept;
float fmaf (float, float, float) noexcept;
double modf (double, double *) noexcept;
float modff (float, float *) noexcept;
double remquo (double, double, int *) noexcept;
float remquof (float, float, int *) noexcept;
double jn (int, double) noexcept;
float jnf (int, float) noexcept;
double yn (int, double) noexcept;
float ynf (int, float) noexcept;
double nan (const char *) noexcept;
float nanf (const char *) noexcept;
void sincos (double, double *, double *) noexcept;
void sincosf (float, float *, float *) noexcept;
}

static inline float
pow (float a, int b)
{
  return powf (a, (float) b);
}

static inline double
pow (double a, int b)
{
  return pow (a, (double) b);
}

static inline float
copysign (float a, double b)
{
  return copysignf (a, (float) b);
}

static inline double
copysign (double a, float b)
{
  return copysign (a, (double) b);
}

static inline float
fma (float a, float b, float c)
{
  return fmaf (a, b, c);
}

static inline float
modf (float v, float *whole)
{
  return modff (v, whole);
}

static inline float
remquo (float a, float b, int *quotient)
{
  return remquof (a, b, quotient);
}

static inline long
abs (long v)
{
  return labs (v);
}

static inline long long
abs (long long v)
{
  return llabs (v);
}

static inline float
abs (float v)
{
  return fabsf (v);
}

static inline double
abs (double v)
{
  return fabs (v);
}

#endif /* SOFTCUDA_LIBRARY_H */
