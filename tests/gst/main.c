/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * main.c: runs the cases of a test of the library or the elements
 */

#include <gst/check/gstcheck.h>

#include "../case.h"

/* ipc-harness.c has another one. */
__attribute__ ((weak)) void
test_end_case (void)
{
  gst_task_cleanup_all ();
}

int
test_run_suite (int argc, char **argv, Suite *(*make) (const char *name))
{
  const gchar *name = strrchr (argv[0], '/');

  gst_check_init (&argc, &argv);
  name = name ? name + 1 : argv[0];
  return gst_check_run_suite (make (name), name, __FILE__);
}
