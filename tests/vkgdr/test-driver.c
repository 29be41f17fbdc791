/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-driver.c: tests of the last error, of VKGDR_DRIVER, and of errors while
 * the driver is loaded and a second attempt after them
 */

#include "error.h"
#include "util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* --- the last error ------------------------------------------------------ */

static void *
set_in_thread (void *data)
{
  ck_assert_ptr_null (vkgdr_last_error ());
  vkgdr_error_set ("of the thread");
  return NULL;
}

/* At first, there is none. Each thread has its own. The caller owns the text.
 * An error may quote the last one. */
TEST (last_error)
{
  char *first;

  ck_assert_ptr_null (vkgdr_last_error ());
  vkgdr_error_set ("number %d", 1);
  test_run_threads (1, set_in_thread, NULL);
  first = vkgdr_last_error ();
  vkgdr_error_set ("failed (%s)", vkgdr_error_peek ());
  ck_assert_str_eq (first, "number 1");
  ck_assert_str_eq (vkgdr_error_peek (), "failed (number 1)");
  free (first);
  vkgdr_error_clear ();
  ck_assert_ptr_null (vkgdr_last_error ());
}

/* An error is one line, and is cut at its end. */
TEST (one_line_of_bounded_length)
{
  char text[2 * VKGDR_MAX_MESSAGE];
  char reason[VKGDR_MAX_MESSAGE], remedy[VKGDR_MAX_MESSAGE];
  size_t length;

  memset (text, 'x', sizeof (text));
  text[10] = '\n';
  for (length = VKGDR_MAX_MESSAGE - 4; length <= VKGDR_MAX_MESSAGE + 1;
       length++) {
    vkgdr_error_set_remedy ("remedy", "%.*s", (int) length, text);
    ck_assert_uint_lt (strlen (vkgdr_error_peek ()), VKGDR_MAX_MESSAGE);
    ck_assert_ptr_null (strchr (vkgdr_error_peek (), '\n'));
    vkgdr_error_split (reason, remedy);
    ck_assert_uint_ge (strlen (reason), VKGDR_MAX_MESSAGE - 4);
    ck_assert_uint_le (strlen (remedy), 1);
  }
}

/* --- the driver ---------------------------------------------------------- */

/* What is wrong, and words of the error. Each is tried again afterwards. */
static const struct {
  const char *variable, *value;
  const char *words[3];
} failures[] = {
  { "VKGDR_DRIVER", "bogus", { "\"bogus\"", "nvidia", "software" } },
  { "SOFTCUDA_FAIL", "cuInit:1+:CUDA_ERROR_NO_DEVICE",
      { "cuInit", "CUDA_ERROR_NO_DEVICE", "" } },
  { "SOFTCUDA_FAIL", "cuDeviceGetCount:1+", { "CUDA_ERROR_UNKNOWN", "", "" } },
};

TEST_LOOP (failures, N_ELEMENTS (failures))
{
  const char *const *words = failures[__i__].words;
  const char *variable = failures[__i__].variable;
  bool has_software = test_use_software ();
  const vkgdr_cuda *cu;
  int fds = test_count_fds ();

  TEST_NEEDS (has_software || __i__ == 0, "softcuda");
  setenv (variable, failures[__i__].value, 1);
  ck_assert_ptr_null (vkgdr_driver_load ());
  assert_error (words[0], words[1], words[2]);
  ck_assert_ptr_null (vkgdr_open (0, 0));
  assert_error (words[0]);
  ck_assert (!vkgdr_driver_is_software ());
  ck_assert_ptr_null (vkgdr_driver_why_software ());
  ck_assert_int_eq (test_count_fds (), fds);
  unsetenv (variable);
  if (!has_software || !test_use_software ())
    return;
  cu = vkgdr_driver_load ();
  ck_assert_ptr_nonnull (cu);
  assert_no_error ();
  /* The driver stays loaded. */
  setenv ("VKGDR_DRIVER", "bogus", 1);
  ck_assert_ptr_eq (vkgdr_driver_load (), cu);
}

static const char *const choices[] = { "software", "nvidia", "auto" };

/* The driver is the chosen one. With "auto", softcuda has a reason. */
TEST_LOOP (choices, N_ELEMENTS (choices))
{
  bool is_auto = __i__ == 2, has_software = test_use_software ();
  const char *why;

  setenv ("VKGDR_DRIVER", choices[__i__], 1);
  if (!vkgdr_driver_load ()) {
    ck_assert (__i__ == 1 || !has_software);
    assert_error ("libcuda.so.1", is_auto ? "softcuda" : "");
    return;
  }
  why = vkgdr_driver_why_software ();
  ck_assert (is_auto || vkgdr_driver_is_software () == (__i__ == 0));
  ck_assert_int_eq (!!why, is_auto && vkgdr_driver_is_software ());
  ck_assert (!why || strstr (why, "libcuda.so.1"));
}

/* As with softcuda's folder in LD_LIBRARY_PATH, the name of NVIDIA's driver
 * leads to softcuda. */
TEST (softcuda_on_the_path_is_not_nvidia)
{
  TEST_NEEDS (test_use_software (), "softcuda");
  ck_assert_ptr_nonnull (dlopen (test_software_path (), RTLD_NOW));
  setenv ("VKGDR_DRIVER", "nvidia", 1);
  ck_assert_ptr_null (vkgdr_driver_load ());
  assert_error ("is softcuda");
}

TEST (no_softcuda)
{
  setenv ("VKGDR_DRIVER", "software", 1);
  setenv ("VKGDR_SOFTCUDA_DIR", "/proc/missing", 1);
  ck_assert_ptr_null (vkgdr_driver_load ());
  assert_error ("/proc/missing/libcuda.so.1", "VKGDR_SOFTCUDA_DIR");
}

TEST (softcuda_is_beside_the_library)
{
  unsetenv ("VKGDR_SOFTCUDA_DIR");
  ck_assert_int_eq (vkgdr_driver_softcuda_dir ()[0], '/');
  ck_assert (g_str_has_suffix (vkgdr_driver_softcuda_dir (), "/softcuda"));
}
