/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * case.c: see case.h
 */

#include "case.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* In gstcheck.h, which this file must not include: a test of libvkgdr does not
 * start GStreamer. Returns whether GST_CHECKS names the case. */
gboolean _gst_check_run_test_func (const gchar *name);

typedef struct {
  const char *name;
  TFun function;
  int n;
  SFun setup, teardown;
} Case;

#define MAX_CASES 64
#define MAX_REQUIREMENTS 4

static Case cases[MAX_CASES];
static guint n_cases;
static void (*requirements[MAX_REQUIREMENTS]) (void);
static guint n_requirements;
static SFun fixture_setup, fixture_teardown;
static int n_parts = 1, part;

void
test_add_case (const char *name, TFun function, int n)
{
  g_assert (n_cases < MAX_CASES);
  if (n > 0)
    cases[n_cases++] =
        (Case){ name, function, n, fixture_setup, fixture_teardown };
}

void
test_set_fixture (SFun setup, SFun teardown)
{
  fixture_setup = setup;
  fixture_teardown = teardown;
}

void
test_add_requirement (void (*function) (void))
{
  g_assert (n_requirements < MAX_REQUIREMENTS);
  requirements[n_requirements++] = function;
}

void
test_set_parallel (int n)
{
  const char *slower = getenv ("CK_TIMEOUT_MULTIPLIER");

  if (!slower || atoi (slower) <= 1)
    n_parts = n;
}

/* Makes a suite of the cases of this part. */
static Suite *
make_suite (const char *name)
{
  Suite *suite = suite_create (name);
  int n = 0, k;
  guint i;

  for (i = 0; i < n_requirements; i++)
    requirements[i]();
  for (i = 0; i < n_cases; i++) {
    const Case *c = &cases[i];
    TCase *tc;

    if (!_gst_check_run_test_func (c->name))
      continue;
    tc = tcase_create (c->name);
    if (c->setup || c->teardown)
      tcase_add_checked_fixture (tc, c->setup, c->teardown);
    for (k = 0; k < c->n; k++)
      if (n++ % n_parts == part)
        _tcase_add_test (tc, c->function, c->name, 0, 0, k, k + 1);
    suite_add_tcase (suite, tc);
  }
  return suite;
}

guint8
test_pattern (gsize i, guint seed)
{
  return (guint8) ((i * 2654435761u + seed * 40503u) >> 11);
}

void
test_fill (guint8 *data, gsize size, guint seed)
{
  gsize i;

  for (i = 0; i < size; i++)
    data[i] = test_pattern (i, seed);
}

gboolean
test_matches (const guint8 *data, gsize size, guint seed)
{
  gsize i = 0;

  while (i < size && data[i] == test_pattern (i, seed))
    i++;
  if (i < size)
    g_debug ("byte %" G_GSIZE_FORMAT " is %02x, not %02x", i, data[i],
        test_pattern (i, seed));
  return i == size;
}

guint
test_count_fds (void)
{
  GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir))
    n++;
  g_dir_close (dir);
  return n;
}

gboolean test_leaks;

/* Called by the leak checker. */
__attribute__ ((visibility ("default"))) int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return test_leaks;
}

int
test_main (int argc, char **argv)
{
  int status = 0, failed = 0, i;

  /* Only a debugger sets CK_FORK. */
  if (getenv ("CK_FORK"))
    n_parts = 1;
  for (i = 1; i < n_parts; i++)
    if (fork () == 0) {
      part = i;
      return test_run_suite (argc, argv, make_suite);
    }
  status = test_run_suite (argc, argv, make_suite);
  for (i = 1; i < n_parts; i++)
    if (wait (&failed) < 0 || failed != 0)
      status = status ? status : EXIT_FAILURE;
  return status;
}

__attribute__ ((weak)) int
main (int argc, char **argv)
{
  return test_main (argc, argv);
}
