/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-half.c: tests of half precision, bit by bit
 *
 * All 65536 values are converted. Sums and products of many pairs are compared
 * with exact results that are rounded once.
 */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "compiler.h"

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

/* Returns the largest number that is not larger than size. */
static unsigned int
half_below (double size)
{
  unsigned int low = 0;
  unsigned int high = 0x7c00;

  while (high - low > 1) {
    unsigned int middle = (low + high) / 2;

    if (value_of (middle) <= size)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Searches the nearest number. If two numbers are equally near, returns the
 * even one. Infinity counts as 65536. */
static unsigned int
nearest (double v)
{
  unsigned int sign = signbit (v) ? 0x8000 : 0;
  unsigned int low = half_below (fabs (v));
  double above = low == 0x7bff ? 65536.0 : value_of (low + 1);
  double to_low = fabs (v) - value_of (low);
  double to_high = above - fabs (v);

  if (v != v)
    return 0x7fff;
  if (to_high < to_low || (to_high == to_low && (low & 1) != 0))
    low++;
  return sign | low;
}

static bool
same (unsigned int a, unsigned int b)
{
  return a == b || (isnan (value_of (a)) && isnan (value_of (b)));
}

#define HEAD "#include <cuda_fp16.h>\nextern \"C\" __global__ void test "

START_TEST (test_every_half)
{
  float *seen = g_new (float, 2 * N_HALVES);

  run_test (HEAD "(float *out)\n"
                 "{\n"
                 "  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "  __half h = __ushort_as_half (i);\n"
                 "  out[2 * i] = __half2float (h);\n"
                 "  out[2 * i + 1] = __half_as_ushort (__float2half (h));\n"
                 "}\n",
      N_HALVES / 256, 256, seen, 2 * N_HALVES * sizeof *seen);
  for (unsigned int i = 0; i < N_HALVES; i++) {
    double v = value_of (i);

    ck_assert_msg (seen[2 * i] == v || (isnan (v) && isnan (seen[2 * i])),
        "%#x is %g", i, seen[2 * i]);
    ck_assert_msg (same (seen[2 * i + 1], i), "%#x", i);
  }
  g_free (seen);
}
END_TEST;

/* Computes the same numbers as the kernel of test_arithmetic. */
static unsigned int
scramble (unsigned int i)
{
  i *= 2654435761u;
  i ^= i >> 15;
  i *= 2246822519u;
  return i ^ i >> 13;
}

START_TEST (test_arithmetic)
{
  guint16 *seen = g_new (guint16, 6 * N_HALVES);

  run_test (HEAD
      "(unsigned short *out)\n"
      "{\n"
      "  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  unsigned int r = i * 2654435761u;\n"
      "  r ^= r >> 15; r *= 2246822519u; r ^= r >> 13;\n"
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
      N_HALVES / 256, 256, seen, 6 * N_HALVES * sizeof *seen);
  for (unsigned int i = 0; i < N_HALVES; i++) {
    unsigned int r = scramble (i);
    double a = value_of (r & 0xffff);
    double b = value_of (r >> 16);
    double c = value_of (r >> 7 & 0xffff);
    double exact[6] = { a + b, a - b, a * b, a / b, a * b + c, sqrt (a) };

    for (int k = 0; k < 6; k++)
      ck_assert_msg (same (seen[6 * i + k], nearest (exact[k])),
          "operation %d of %g, %g, %g: %#x, not %#x", k, a, b, c,
          seen[6 * i + k], nearest (exact[k]));
  }
  g_free (seen);
}
END_TEST;

/* Each statement stores 1 if the result is the one that CUDA documents. */
START_TEST (test_functions)
{
  int seen[40] = { 0 };
  int n = 0;

  run_test (HEAD
      "(int *out)\n"
      "{\n"
      "  half one = 1.0f, third = __float2half (1.0f / 3), two = 2;\n"
      "  half nan = __float2half (NAN), inf = __float2half (70000.0f);\n"
      "  half2 h = __floats2half2_rn (1.5f, -2.0f);\n"
      "#define CHECK(c) *out++ = (c) ? 1 : -__LINE__\n"
      "  CHECK (__float2half_rz (1.0f / 3) < __float2half_ru (1.0f / 3));\n"
      "  CHECK (__half_as_ushort (__float2half_rd (-1e-9f)) == 0x8001);\n"
      "  CHECK (__half_as_ushort (__float2half_ru (-1e-9f)) == 0x8000);\n"
      "  CHECK (__half_as_ushort (__float2half_rz (70000.0f)) == 0x7bff);\n"
      "  CHECK (__half_as_ushort (__float2half_rd (70000.0f)) == 0x7bff);\n"
      "  CHECK (__half_as_ushort (__float2half_rn (65519.0f)) == 0x7bff);\n"
      "  CHECK (__half_as_ushort (__float2half_rn (65520.0f)) == 0x7c00);\n"
      "  CHECK (__hisinf (inf) == 1 && __hisinf (-inf) == -1);\n"
      "  CHECK (__hisnan (nan) && !__hisnan (inf));\n"
      "  CHECK (!__hlt (nan, one) && __hltu (nan, one));\n"
      "  CHECK (!__hne (nan, one) && __hneu (nan, one) && nan != one);\n"
      "  CHECK (one < two && two >= one && one == __int2half_rn (1));\n"
      "  CHECK (__half2int_rn (__float2half (2.5f)) == 2);\n"
      "  CHECK (__half2int_ru (third) == 1 && __half2uint_rz (-two) == 0);\n"
      "  CHECK (__heq (__hmax (one, nan), one) && __hmin (one, two) == one);\n"
      "  CHECK (__low2float (h) == 1.5f && __high2float (h) == -2.0f);\n"
      "  h = h * __float2half2_rn (2.0f) + make_half2 (one, one);\n"
      "  CHECK (__half22float2 (h).x == 4 && __half22float2 (h).y == -3);\n"
      "  h = __hfma2 (h, h, __hneg2 (h));\n"
      "  CHECK (__low2half (h) == half (12) && h.y == half (12));\n"
      "  CHECK (__hbeq2 (h, __half2half2 (12.0f)));\n"
      "  CHECK (__habs (-two) == two && hfloor (-third) == -one);\n"
      "  CHECK (sizeof (half) == 2 && sizeof (half2) == 4);\n"
      "  CHECK (__shfl_sync (~0u, third, 0) == third);\n"
      "  CHECK (sizeof (__half2) == alignof (__half2));\n"
      "  third += one; third *= two;\n"
      "  CHECK (fabsf ((float) third - 8.0f / 3) < 2e-3f);\n"
      "  *out = 7;\n"
      "}\n",
      1, 1, seen, sizeof seen);
  while (seen[n] == 1)
    n++;
  ck_assert_msg (seen[n] == 7, "check %d, in line %d", n, -seen[n]);
  ck_assert_int_eq (n, 24);
}
END_TEST;

static Suite *
softcuda_half_suite (void)
{
  Suite *s = suite_create ("softcuda-half");
  TCase *tc = tcase_create ("half");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup, teardown_context);
  tcase_add_test (tc, test_every_half);
  tcase_add_test (tc, test_arithmetic);
  tcase_add_test (tc, test_functions);
  return s;
}

TEST_MAIN (softcuda_half);
