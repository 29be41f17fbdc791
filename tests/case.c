/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * case.c: see case.h
 */

#include "case.h"

/* In gstcheck.h, which this file must not include: a test of libvkgdr does not
 * start GStreamer. Returns whether GST_CHECKS names the case. */
gboolean _gst_check_run_test_func (const gchar *name);

typedef struct {
  const char *name;
  TFun function;
  int first, end;
  SFun setup, teardown;
} Case;

#define MAX_CASES 64
#define MAX_REQUIREMENTS 4

static Case cases[MAX_CASES];
static guint n_cases;
static void (*requirements[MAX_REQUIREMENTS]) (void);
static guint n_requirements;
static SFun fixture_setup, fixture_teardown;
static gboolean condition = TRUE;

void
test_add_case (const char *name, TFun function, int first, int end)
{
  g_assert (n_cases < MAX_CASES);
  if (condition && end > first)
    cases[n_cases++] =
        (Case){ name, function, first, end, fixture_setup, fixture_teardown };
}

void
test_set_fixture (SFun setup, SFun teardown)
{
  fixture_setup = setup;
  fixture_teardown = teardown;
}

void
test_set_condition (gboolean is_met)
{
  condition = is_met;
}

void
test_add_requirement (void (*function) (void))
{
  g_assert (n_requirements < MAX_REQUIREMENTS);
  requirements[n_requirements++] = function;
}

Suite *
test_make_suite (const char *name)
{
  Suite *suite = suite_create (name);
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
    _tcase_add_test (tc, c->function, c->name, 0, 0, c->first, c->end);
    suite_add_tcase (suite, tc);
  }
  return suite;
}

__attribute__ ((weak)) int
main (int argc, char **argv)
{
  return test_main (argc, argv);
}
