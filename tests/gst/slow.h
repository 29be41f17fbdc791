/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * slow.h: whether a test runs under a tool that makes it many times slower, and
 * waits that consider it
 *
 * A test that does the same for hundreds of cases then runs fewer of them. The
 * test decides which.
 */

#ifndef __TEST_SLOW_H__
#define __TEST_SLOW_H__

#include <glib.h>
#include <time.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* Whether Valgrind runs the test. It is slow, and runs one thread at a time. */
static inline gboolean
test_is_on_valgrind (void)
{
  return RUNNING_ON_VALGRIND != 0;
}

/* Whether Valgrind or the thread sanitizer runs the test. */
static inline gboolean
test_is_slow (void)
{
#ifdef __SANITIZE_THREAD__
  return TRUE;
#else
  return test_is_on_valgrind ();
#endif
}

/* Microseconds for which the calling thread has run. Unlike time that passes,
 * it hardly grows when other programs run. */
static inline gint64
test_cpu_time (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* Returns the time limit @microseconds, or no limit (G_MAXINT64) if a tool of
 * scripts/test makes the test slow. */
static inline gint64
test_limit (gint64 microseconds)
{
  const gchar *slower = g_getenv ("CK_TIMEOUT_MULTIPLIER");

  return slower && g_ascii_strtoll (slower, NULL, 10) > 1 ? G_MAXINT64
                                                          : microseconds;
}

/* Waits until @condition is true. Fails the test if that takes longer than on a
 * busy machine. Under a tool that makes tests slow, there is no limit. */
#define test_wait_for(condition) \
  G_STMT_START \
  { \
    gint64 start_ = g_get_monotonic_time (); \
    gint64 limit_ = test_limit (60 * G_TIME_SPAN_SECOND); \
\
    while (!(condition)) { \
      fail_unless (g_get_monotonic_time () - start_ < limit_, \
          "not in time: %s", G_STRINGIFY (condition)); \
      g_usleep (1000); \
    } \
  } \
  G_STMT_END

#endif /* __TEST_SLOW_H__ */
