/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda-check.h: test cases that register themselves, and the main function
 * of a test program
 *
 *   FIXTURE (setup, teardown);
 *
 *   TEST (copies_are_checked)
 *   {
 *     ck_assert (...);
 *   }
 *
 * Tests that access wrong addresses on purpose are not run under Valgrind
 * (RUNNING_ON_VALGRIND), which reports these accesses as errors. Most tests
 * with faults of kernels are not run with ThreadSanitizer, either.
 */

#ifndef TEST_SOFTCUDA_CHECK_H
#define TEST_SOFTCUDA_CHECK_H

#include <check.h>
#include <glib.h>
#include <stdlib.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

static Suite *test_suite;
static SFun test_setup, test_teardown;

static inline void
add_test (const TTest *test, int signal, int n)
{
  TCase *tc = tcase_create (test->name);

  if (test_suite == NULL)
    test_suite = suite_create ("softcuda");
  suite_add_tcase (test_suite, tc);
  tcase_add_checked_fixture (tc, test_setup, test_teardown);
  _tcase_add_test (tc, test, signal, 0, 0, n);
}

/* A case. With TEST_LOOP, it runs n times: _i is 0 to n - 1. With TEST_SIGNAL,
 * the signal has to end it. */
#define TEST(name) TEST_LOOP (name, 1)
#define TEST_IF(name, condition) TEST_LOOP (name, (condition) ? 1 : 0)
#define TEST_LOOP(name, n) TEST_SIGNAL (name, 0, n)
#define TEST_SIGNAL(name, signal, n) \
  static void test_##name (int _i); \
\
  __attribute__ ((constructor)) static void add_##name (void) \
  { \
    static const TTest test = { #name, test_##name, __FILE__, __LINE__ }; \
\
    add_test (&test, signal, n); \
  } \
\
  static void test_##name (int _i G_GNUC_UNUSED)

/* The functions that run before and after each of the following cases, or
 * NULL */
#define FIXTURE(setup, teardown) FIXTURE_AT (setup, teardown, __COUNTER__)
#define FIXTURE_AT(setup, teardown, n) FIXTURE_NAMED (setup, teardown, n)
#define FIXTURE_NAMED(setup, teardown, n) \
  __attribute__ ((constructor)) static void set_fixture_##n (void) \
  { \
    test_setup = setup; \
    test_teardown = teardown; \
  } \
  struct no_declaration

int
main (void)
{
  SRunner *runner = srunner_create (test_suite);
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
