/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * case.h: test cases that register themselves
 *
 *   TEST_FIXTURE (setup, teardown);
 *
 *   TEST (upload_copies_nothing)
 *   {
 *     fail_unless (...);
 *   }
 *
 * A program runs the cases in the order of its source. libcheck runs each of
 * them in a process of its own. GST_CHECKS=upload_copies_nothing runs only this
 * case. docs/testing.md lists what the cases promise.
 */

#ifndef __TEST_CASE_H__
#define __TEST_CASE_H__

/* GStreamer's copy of libcheck, which needs GLib's types. */
#include <glib.h>
#include <gst/check/internal-check.h>

G_BEGIN_DECLS

/* A case. With TEST_LOOP, it runs @n times: __i__ is 0 to @n - 1. The numbers
 * are computed before main (). */
#define TEST(name) TEST_LOOP (name, 1)
#define TEST_LOOP(name, n) \
  static void test_##name (int __i__); \
\
  static void test_case_##name (int __i__) \
  { \
    tcase_fn_start (#name, __FILE__, __LINE__); \
    test_##name (__i__); \
    test_end_case (); \
  } \
\
  __attribute__ ((constructor)) static void test_add_##name (void) \
  { \
    test_add_case (#name, test_case_##name, n); \
  } \
\
  static void test_##name (int __i__ G_GNUC_UNUSED)

/* The following cases call @setup before, and @teardown after. Both may be
 * NULL. */
#define TEST_FIXTURE(setup, teardown) \
  TEST_AT_START (test_set_fixture (setup, teardown))

/* Calls @function before the first case. It can end the program, for example
 * with exit status 77, which means skipped. */
#define TEST_REQUIRE(function) TEST_AT_START (test_add_requirement (function))

/* The program runs @n cases at a time. For programs whose cases wait for most
 * of their time. Under a tool that makes tests slow, it runs one at a time. */
#define TEST_PARALLEL(n) TEST_AT_START (test_set_parallel (n))

#define TEST_AT_START(call) TEST_AT_START_OF_LINE (call, __LINE__)
#define TEST_AT_START_OF_LINE(call, line) TEST_AT_START_NAMED (call, line)
#define TEST_AT_START_NAMED(call, line) \
  __attribute__ ((constructor)) static void test_at_start_##line (void) \
  { \
    call; \
  } \
  struct test_at_start_##line

/* For the macros. */
void test_add_case (const char *name, TFun function, int n);
void test_set_fixture (SFun setup, SFun teardown);
void test_add_requirement (void (*function) (void));
void test_set_parallel (int n);

/* The programs of each folder have these functions of their own. The second
 * one runs the suite that @make returns, and returns an exit status. */
void test_end_case (void);
int test_run_suite (int argc, char **argv, Suite *(*make) (const char *name));

/* The main () of a test program that has no other one. It checks the
 * requirements, and runs the cases that the environment variable GST_CHECKS
 * names, or all. */
int test_main (int argc, char **argv);

/* --- for the tests ------------------------------------------------------- */

/* Ends the function that is a case if @condition is false. The case is counted
 * as skipped, and the log says that it needs @what. */
#define TEST_NEEDS(condition, what) \
  do { \
    if (!(condition)) { \
      g_print ("Skipped case: %s needs %s\n", __func__, what); \
      return; \
    } \
  } while (0)

/* Returns the byte at @i of pattern number @seed; writes such bytes, or returns
 * whether these are. */
guint8 test_pattern (gsize i, guint seed);
void test_fill (guint8 *data, gsize size, guint seed);
gboolean test_matches (const guint8 *data, gsize size, guint seed);

/* Returns the number of open file descriptors of this process. */
guint test_count_fds (void);

/* Whether the leak checker ignores the leaks of this process. */
extern gboolean test_leaks;

G_END_DECLS

#endif /* __TEST_CASE_H__ */
