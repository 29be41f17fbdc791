/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_math.h: mathematical functions that CUDA has and the C library has
 * not
 *
 * Most have a function of double precision, one of single precision with an f
 * at the end, and an overload, as in CUDA. Part of softcuda_runtime.h.
 */
#ifndef SOFTCUDA_MATH_H
#define SOFTCUDA_MATH_H

#define SOFTCUDA_MATH_1(name) \
  static inline float name##f (float v) \
  { \
    return (float) name ((double) v); \
  } \
  static inline float name (float v) \
  { \
    return (float) name ((double) v); \
  }

/* Newer C libraries also have functions with these names. */
#define sinpi softcuda_sinpi
#define cospi softcuda_cospi

static inline double
softcuda_sinpi (double v)
{
  return sin (3.14159265358979323846 * fmod (v, 2.0));
}

static inline double
softcuda_cospi (double v)
{
  return cos (3.14159265358979323846 * fmod (v, 2.0));
}

static inline float
softcuda_sinpi (float v)
{
  return sinpif (v);
}

static inline float
softcuda_cospi (float v)
{
  return cospif (v);
}

static inline double
rcbrt (double v)
{
  return 1.0 / cbrt (v);
}

static inline double
normcdf (double v)
{
  return 0.5 * erfc (-v * 0.70710678118654752440);
}

/* Newton's method for the logarithm of erfc(), which is nearly a parabola. */
static inline double
erfcinv (double z)
{
  double x;

  if (!(z >= 0.0 && z <= 2.0))
    return __builtin_nan ("");
  if (z > 1.0)
    return -erfcinv (2.0 - z);
  if (z == 0.0)
    return __builtin_inf ();
  x = z > 0.3 ? (1.0 - z) * 0.886226925452758 : sqrt (-log (z));
  for (int i = 0; i < 12; i++) {
    double value = erfc (x);
    double slope = -1.1283791670955126 * exp (-x * x) / value;

    x -= log (value / z) / slope;
  }
  return x;
}

static inline double
erfinv (double y)
{
  double x = y * 0.886226925452758;

  if (!(fabs (y) <= 0.5))
    return y < 0.0 ? -erfcinv (1.0 + y) : erfcinv (1.0 - y);
  for (int i = 0; i < 6; i++)
    x -= (erf (x) - y) / (1.1283791670955126 * exp (-x * x));
  return x;
}

static inline double
normcdfinv (double p)
{
  return -1.41421356237309504880 * erfcinv (2.0 * p);
}

static inline double
erfcx (double v)
{
  double square = v * v;

  if (v < 20.0)
    return exp (square) * erfc (v);
  return (1.0 - (1.0 - (1.5 - 3.75 / square) / square) / (2.0 * square))
         / (v * 1.772453850905516);
}

/* The sum over k of (v / 2)^(2k + order) / (k! (k + order)!). */
static inline double
softcuda_bessel (double v, int order)
{
  double half = v / 2.0;
  double term = order == 0 ? 1.0 : half;
  double sum = term;

  for (int k = 1; fabs (term) > fabs (sum) * 1e-17 && k < 100000; k++) {
    term *= half * half / ((double) k * (k + order));
    sum += term;
  }
  return sum;
}

static inline double
cyl_bessel_i0 (double v)
{
  return softcuda_bessel (v, 0);
}

static inline double
cyl_bessel_i1 (double v)
{
  return softcuda_bessel (v, 1);
}

SOFTCUDA_MATH_1 (rcbrt)
SOFTCUDA_MATH_1 (normcdf)
SOFTCUDA_MATH_1 (normcdfinv)
SOFTCUDA_MATH_1 (erfinv)
SOFTCUDA_MATH_1 (erfcinv)
SOFTCUDA_MATH_1 (erfcx)
SOFTCUDA_MATH_1 (cyl_bessel_i0)
SOFTCUDA_MATH_1 (cyl_bessel_i1)

#undef SOFTCUDA_MATH_1

static inline double
norm3d (double a, double b, double c)
{
  return hypot (hypot (a, b), c);
}

/* The length of a vector, and its reciprocal. */
#define SOFTCUDA_MATH_NORM(type, f) \
  static inline type norm##f (int n, const type *v) \
  { \
    double sum = 0.0; \
\
    for (int i = 0; i < n; i++) \
      sum = hypot (sum, (double) v[i]); \
    return (type) sum; \
  } \
  static inline type rnorm##f (int n, const type *v) \
  { \
    return 1 / norm##f (n, v); \
  } \
  static inline type rnorm3d##f (type a, type b, type c) \
  { \
    return 1 / norm3d##f (a, b, c); \
  } \
  static inline type norm4d##f (type a, type b, type c, type d) \
  { \
    const type v[] = { a, b, c, d }; \
\
    return norm##f (4, v); \
  } \
  static inline type rnorm4d##f (type a, type b, type c, type d) \
  { \
    return 1 / norm4d##f (a, b, c, d); \
  } \
  static inline type rhypot##f (type a, type b) \
  { \
    return (type) (1.0 / hypot ((double) a, (double) b)); \
  } \
  static inline void sincospi##f (type v, type *sine, type *cosine) \
  { \
    *sine = (type) softcuda_sinpi ((double) v); \
    *cosine = (type) softcuda_cospi ((double) v); \
  }

SOFTCUDA_MATH_NORM (double, )
SOFTCUDA_MATH_NORM (float, f)

#undef SOFTCUDA_MATH_NORM

#endif
