/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-clock.h: the clock of all measurements, in nanoseconds
 *
 * Must not depend on what is measured.
 */

#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <glib.h>
#include <time.h>

static inline gint64
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

#endif /* BENCH_CLOCK_H */
