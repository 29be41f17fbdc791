/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.c: tests of the search for NVRTC
 *
 * The program replaces dlopen() and the functions of NVRTC, so the test chooses
 * which versions are found where. No device is needed.
 */

#include <dlfcn.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "kernel/compiler.h"

#define MAX_LIBRARIES 4

/* A library that dlopen() finds. */
typedef struct {
  const gchar *path;
  gint major;
} Library;

static const Library *libraries; /* MAX_LIBRARIES; unused ones have no path */
static gint opened;              /* the version of the last one */
static gint supported_arch = 52; /* by all versions */

__attribute__ ((visibility ("default"))) void *
dlopen (const char *name, int flags)
{
  static void *(*real) (const char *name, int flags);
  guint i;

  if (!g_atomic_pointer_get (&real))
    *(void **) &real = dlsym (RTLD_NEXT, "dlopen");
  if (!name || !strstr (name, "libnvrtc"))
    return real (name, flags);
  for (i = 0; i < MAX_LIBRARIES && libraries[i].path; i++)
    if (g_str_equal (libraries[i].path, name)) {
      opened = libraries[i].major;
      return real (NULL, flags);
    }
  return real ("/nowhere/libnvrtc.so", flags);
}

/* --- the functions of NVRTC ----------------------------------------------- */

#define EXPORTED __attribute__ ((visibility ("default")))

EXPORTED int nvrtcVersion (int *major, int *minor);
EXPORTED const char *nvrtcGetErrorString (int result);
EXPORTED int nvrtcGetNumSupportedArchs (int *n);
EXPORTED int nvrtcGetSupportedArchs (int *archs);

int
nvrtcVersion (int *major, int *minor)
{
  *major = opened;
  *minor = 0;
  return 0;
}

const char *
nvrtcGetErrorString (int result)
{
  return "an error";
}

int
nvrtcGetNumSupportedArchs (int *n)
{
  *n = 1;
  return 0;
}

int
nvrtcGetSupportedArchs (int *archs)
{
  *archs = supported_arch;
  return 0;
}

/* These functions have to exist, and are not called. */
#define NOT_CALLED(name) \
  EXPORTED int name (void); \
  int name (void) \
  { \
    g_assert_not_reached (); \
  }
NOT_CALLED (nvrtcCreateProgram)
NOT_CALLED (nvrtcDestroyProgram)
NOT_CALLED (nvrtcCompileProgram)
NOT_CALLED (nvrtcGetProgramLogSize)
NOT_CALLED (nvrtcGetProgramLog)
NOT_CALLED (nvrtcGetPTXSize)
NOT_CALLED (nvrtcGetPTX)

/* --- which version is used ------------------------------------------------ */

static void
setup (void)
{
  g_setenv ("CUDA_HOME", "/toolkit", TRUE);
  g_unsetenv ("CUDA_PATH");
  g_unsetenv ("VKGDR_NVRTC");
  g_setenv ("VKGDR_COMPILER", "nvrtc", TRUE);
}

#define TOOLKIT "/toolkit/lib64/libnvrtc.so"
#define SYSTEM "/usr/local/cuda/lib64/libnvrtc.so"

/* The driver supports version 12. */
static const struct {
  Library libraries[MAX_LIBRARIES];
  const gchar *found;
} searches[] = {
  { { { "libnvrtc.so.12", 12 }, { TOOLKIT, 12 } },
      "NVRTC 12.0 (libnvrtc.so.12)" },
  { { { "libnvrtc.so.11.2", 11 }, { TOOLKIT, 12 } },
      "NVRTC 11.0 (libnvrtc.so.11.2)" },
  /* A version that is newer than the driver is used only if there is no other
   * one. */
  { { { "libnvrtc.so.13", 13 }, { TOOLKIT, 12 } }, "NVRTC 12.0 (" TOOLKIT ")" },
  { { { "libnvrtc.so", 13 }, { TOOLKIT, 12 } }, "NVRTC 12.0 (" TOOLKIT ")" },
  { { { TOOLKIT, 13 }, { SYSTEM, 12 } }, "NVRTC 12.0 (" SYSTEM ")" },
  { { { "libnvrtc.so.13", 13 }, { "libnvrtc.so.11.2", 11 } },
      "NVRTC 11.0 (libnvrtc.so.11.2)" },
  { { { "libnvrtc.so.13", 13 } }, "NVRTC 13.0 (libnvrtc.so.13)" },
  { { { TOOLKIT, 13 }, { SYSTEM, 13 } }, "NVRTC 13.0 (" TOOLKIT ")" },
};

GST_START_TEST (test_search)
{
  const GstVkgdrCompilerTarget target = { FALSE, 12040, 90 };
  GError *error = NULL;
  gchar *text;

  libraries = searches[__i__].libraries;
  text = gst_vkgdr_compiler_describe (&target, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (text, searches[__i__].found);
  g_free (text);
}
GST_END_TEST;

/* --- an NVRTC that does not support the device ---------------------------- */

GST_START_TEST (test_description_names_what_is_used)
{
  const Library found[MAX_LIBRARIES] = { { "libnvrtc.so.13", 13 } };
  const GstVkgdrCompilerTarget pascal = { FALSE, 13000, 61 };
  const GstVkgdrCompilerTarget turing = { FALSE, 13000, 75 };
  GError *error = NULL;
  gchar *text;

  libraries = found;
  supported_arch = 75;
  fail_if (gst_vkgdr_compiler_describe (&pascal, &error));
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER);
  fail_unless (
      strstr (error->message, "compute capability 6.1"), "%s", error->message);
  g_clear_error (&error);
  text = gst_vkgdr_compiler_describe (&turing, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (text, "NVRTC 13.0 (libnvrtc.so.13)");
  g_free (text);
}
GST_END_TEST;

static Suite *
nvrtc_suite (void)
{
  Suite *s = suite_create ("nvrtc");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_loop_test (tc, test_search, 0, G_N_ELEMENTS (searches));
  tcase_add_test (tc, test_description_names_what_is_used);
  return s;
}

GST_CHECK_MAIN (nvrtc);
