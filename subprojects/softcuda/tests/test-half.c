/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-half.c: tests of half precision, bit by bit
 *
 * All 65536 values are converted. Sums and products of many pairs are compared
 * with exact results that are rounded once.
 */

#include <math.h>
#include <stdbool.h>

#include "compiler.h"

FIXTURE (setup_context, teardown_context);

#define N_HALVES 65536

/* The value of a number in the format binary16 of IEEE 754, by its
 * definition. */
static double
value_of (unsigned int bits)
{
  int exponent = bits >> 10 & 31;
  double fraction = (bits & 0x3ff) / 1024.0;
  double size = exponent == 0 ? ldexp (fraction, -14)
                              : ldexp (1 + fraction, exponent - 15);

  if (exponent == 31)
    size = fraction != 0 ? NAN : INFINITY;
  return bits & 0x8000 ? -size : size;
}

/* Rounds to 11 significant bits, or to the multiples of the smallest number.
 * The even one of two numbers that are equally near is the result. */
static double
nearest (double v)
{
  int exponent;
  double unit;

  frexp (v, &exponent);
  unit = ldexp (1, MAX (exponent - 11, -24));
  if (isfinite (v))
    v = copysign (rint (v / unit) * unit, v);
  return fabs (v) >= 65536 ? copysign (INFINITY, v) : v;
}

static bool
same (double a, double b)
{
  return isnan (a) ? isnan (b) : a == b && signbit (a) == signbit (b);
}

#define HEAD "#include <cuda_fp16.h>\n__global__ void test "

TEST (every_half)
{
  const float *seen = run_test (HEAD
      "(float *out)\n"
      "{\n"
      "  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  __half h = __ushort_as_half (i);\n"
      "  out[2 * i] = __half2float (h);\n"
      "  out[2 * i + 1] = __half_as_ushort (__float2half (h));\n"
      "}\n",
      N_HALVES / 256, 256, 2 * N_HALVES * sizeof *seen);

  for (unsigned int i = 0; i < N_HALVES; i++) {
    ck_assert_msg (
        same (seen[2 * i], value_of (i)), "%#x is %g", i, seen[2 * i]);
    ck_assert_msg (same (value_of (seen[2 * i + 1]), value_of (i)), "%#x", i);
  }
}

/* Both the kernel and the test compute these numbers of 32 bits. */
#define SCRAMBLE "r = i * 2654435761u; r ^= r >> 15; r *= 2246822519u;\n"

static unsigned int
scramble (unsigned int i)
{
  i *= 2654435761u;
  i ^= i >> 15;
  return i * 2246822519u;
}

TEST (arithmetic)
{
  const guint16 *seen = run_test (HEAD
      "(unsigned short *out)\n"
      "{\n"
      "  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, " SCRAMBLE
      "  half a = __ushort_as_half (r), b = __ushort_as_half (r >> 16);\n"
      "  half c = __ushort_as_half (r >> 7);\n"
      "  unsigned short *at = out + 6 * i;\n"
      "  at[0] = __half_as_ushort (a + b);\n"
      "  at[1] = __half_as_ushort (a - b);\n"
      "  at[2] = __half_as_ushort (__hmul (a, b));\n"
      "  at[3] = __half_as_ushort (a / b);\n"
      "  at[4] = __half_as_ushort (__hfma (a, b, c));\n"
      "  at[5] = __half_as_ushort (hsqrt (a));\n"
      "}\n",
      N_HALVES / 256, 256, 6 * N_HALVES * sizeof *seen);

  for (unsigned int i = 0; i < N_HALVES; i++, seen += 6) {
    unsigned int r = scramble (i);
    double a = value_of (r & 0xffff);
    double b = value_of (r >> 16);
    double c = value_of (r >> 7 & 0xffff);
    double exact[6] = { a + b, a - b, a * b, a / b, a * b + c, sqrt (a) };

    for (int k = 0; k < 6; k++)
      ck_assert_msg (same (value_of (seen[k]), nearest (exact[k])),
          "operation %d of %g, %g, %g: %#x, not %g", k, a, b, c, seen[k],
          nearest (exact[k]));
  }
}

TEST (functions)
{
  static const Expectation table[] = {
    { "__float2half_rz (1.0f / 3) < __float2half_ru (1.0f / 3)", "1" },
    { "__half_as_ushort (__float2half_rd (-1e-9f))", "0x8001" },
    { "__half_as_ushort (__float2half_ru (-1e-9f))", "0x8000" },
    { "__half_as_ushort (__float2half_rz (70000.0f))", "0x7bff" },
    { "__half_as_ushort (__float2half_rd (70000.0f))", "0x7bff" },
    { "__half_as_ushort (__float2half_rn (65519.0f))", "0x7bff" },
    { "__half_as_ushort (__float2half_rn (65520.0f))", "0x7c00" },
    { "__hisinf (inf) == 1 && __hisinf (-inf) == -1", "1" },
    { "__hisnan (nan) && !__hisnan (inf)", "1" },
    { "!__hlt (nan, one) && __hltu (nan, one)", "1" },
    { "!__hne (nan, one) && __hneu (nan, one) && nan != one", "1" },
    { "one < two && two >= one && one == __int2half_rn (1)", "1" },
    { "__half2int_rn (__float2half (2.5f))", "2" },
    { "__half2int_ru (third)", "1" },
    { "__half2uint_rz (-two)", "0" },
    { "__heq (__hmax (one, nan), one) && __hmin (one, two) == one", "1" },
    { "__low2float (pair)", "1.5" },
    { "__high2float (pair)", "-2" },
    { "__half22float2 (sum).x", "4" },
    { "__half22float2 (sum).y", "-3" },
    { "__low2half (__hfma2 (sum, sum, __hneg2 (sum))) == half (12)", "1" },
    { "__hfma2 (sum, sum, __hneg2 (sum)).y == half (12)", "1" },
    { "__hbeq2 (sum + sum, make_half2 (8.0f, -6.0f))", "1" },
    { "__hbeq2 (__half2half2 (12.0f), make_half2 (12.0f, 12.0f))", "1" },
    { "__habs (-two) == two && hfloor (-third) == -one", "1" },
    { "sizeof (half) == 2 && sizeof (half2) == 4", "1" },
    { "sizeof (__half2) == alignof (__half2)", "1" },
    { "__shfl_sync (~0u, third, 0) == third", "1" },
    { "({ half h = third; h += one; h *= two; __half2float (h); })",
        "2.666015625" },
  };

  check_values ("#include <cuda_fp16.h>\n"
                "#define one half (1.0f)\n"
                "#define two half (2)\n"
                "#define third __float2half (1.0f / 3)\n"
                "#define nan __float2half (0.0f / 0.0f)\n"
                "#define inf __float2half (70000.0f)\n"
                "#define pair __floats2half2_rn (1.5f, -2.0f)\n"
                "#define sum \\\n"
                "  (pair * __float2half2_rn (2.0f) + make_half2 (one, one))\n",
      table, 1);
}
