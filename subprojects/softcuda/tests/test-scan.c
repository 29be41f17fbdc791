/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-scan.c: tests of the scanner of CUDA C with unusual sources
 *
 * The scanner has to end in a time that is proportional to the size of the
 * source. It must not change code that it does not understand.
 */

#include <string.h>

#include "softcuda-check.h"

#include "nvrtc-private.h"

#define N_ROUNDS 5000
#define SIZE_OF_LARGE ((gsize) 512 << 10)

static void
scan (const char *source, gsize size, rt_scan *result)
{
  rt_text text = { NULL, 0, 0, false };

  memset (result, 0, sizeof *result);
  rt_text_add (&text, source, size);
  rt_scan_run (result, &text);
  ck_assert (!result->text.failed && !result->kernels.failed);
  rt_text_clear (&text);
}

/* Only uses of variables of volatile memory wait for the other lanes. */
TEST (finds_volatile_memory)
{
  static const char source[] =
      "volatile int *a; void f (volatile int *b, volatile float c[]);\n"
      "void g (const T<3> volatile *__restrict__ b, int c)\n"
      "{ volatile int d, a[2], *e; b += x.b + x->b - X::b;\n"
      "  { int volatile *a = (volatile int *) b; a [1] = 0; } a[1] = d; }\n"
      "void h (int *b) { *b = sizeof (volatile int *); }\n"
      "void k (volatile int *b)\n"
      "{ for (;;) { while (f ({ 1; })) { b++; } do { } while (0); } }\n"
      "__shared__ int s;\n";
  rt_scan result;

  scan (source, strlen (source) - 18, &result); /* no shared memory */
  ck_assert (strstr (result.text.data, "lockstep") == NULL);
  rt_scan_clear (&result);
  scan (source, strlen (source), &result);
  ck_assert_str_eq (result.text.data,
      "volatile int *a; void f (volatile int *b, volatile float c[]);\n"
      "void g (const T<3> volatile *__restrict__ b, int c)\n"
      "{ volatile int d, a[2], *e; softcuda_lockstep<1> (b) += "
      "x.b + x->b - X::b;\n"
      "  { int volatile *a = (volatile int *) softcuda_lockstep<2> (b); "
      "softcuda_lockstep<3> (a) [1] = 0; } a[1] = d; }\n"
      "void h (int *b) { *b = sizeof (volatile int *); }\n"
      "void k (volatile int *b)\n"
      "{ for (;;) { while (f ({ 1; })) { softcuda_lockstep<4> (b)++; "
      "softcuda_meet<5> (); } do { } while (0); softcuda_meet<6> (); } }\n"
      "thread_local int s;\n");
  rt_scan_clear (&result);
}

/* Joins pieces of sources in any order, and truncates the result. */
TEST (any_order)
{
  static const char *const pieces[] = { "__global__ ", "extern ", "__shared__ ",
    "void ", "f ", "(", ")", "{", "}", "[", "]", "<", ">", ";", ":", "::", "\"",
    "'", "R\"x(", ")x\"", "namespace ", "template ", "\n", "# 1 \"a\"\n", "\\",
    "1e+5", "0x", "u8\"", "alignas ", "decltype (", "\"C\" ", "\377", "/", "L'",
    "__launch_bounds__ (", "\t", "a::b ", ".5", "R\"", "volatile ", "*", "," };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (int round = 0; round < N_ROUNDS; round++) {
    g_autoptr (GString) source = g_string_new (NULL);
    int n = g_rand_int_range (rand, 1, 60);
    rt_scan result;

    for (int i = 0; i < n; i++)
      g_string_append (
          source, pieces[g_rand_int_range (rand, 0, G_N_ELEMENTS (pieces))]);
    scan (source->str, g_rand_int_range (rand, 1, source->len + 1), &result);
    rt_scan_clear (&result);
  }
}

/* A source of 512 KiB that repeats one of these pieces. Scanners that need a
 * time proportional to the square of the size do not end within libcheck's
 * limit. */
static const char *const large_pieces[] = { "__global__ ", "extern ", "\n", "{",
  "extern __shared__ alignas (", "__global__ decltype (", "R\"(", "'", "\"",
  "namespace n { ", "extern __shared__ a::b c", "# 1\n", "template < ",
  "volatile a<", "for (" };

TEST_LOOP (large, G_N_ELEMENTS (large_pieces))
{
  g_autoptr (GString) source = g_string_new (NULL);
  rt_scan result;

  while (source->len < SIZE_OF_LARGE)
    g_string_append (source, large_pieces[_i]);
  scan (source->str, source->len, &result);
  rt_scan_clear (&result);
}

TEST (text_is_taken_out)
{
  rt_text text = { NULL, 0, 0, false };

  rt_text_remove_all (&text, "x");
  for (int i = 0; i < 20000; i++)
    rt_text_add (&text, "/tmp/a: error\n", 14);
  rt_text_remove_all (&text, "/tmp/");
  ck_assert_uint_eq (text.size, 20000 * 9);
  ck_assert_uint_eq (strlen (text.data), text.size);
  ck_assert (g_str_has_prefix (text.data, "a: error\na: error\n"));
  rt_text_clear (&text);
}
