/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda-check.h: libcheck, and the main function of a test program
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

static inline int
run_suite (Suite *suite)
{
  SRunner *runner = srunner_create (suite);
  int failed;

  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The function NAME_suite () makes the suite. */
#define TEST_MAIN(name) \
  int main (void) \
  { \
    return run_suite (name##_suite ()); \
  } \
  struct no_declaration

#endif
