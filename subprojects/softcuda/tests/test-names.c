/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-names.c: tests that every entry point of the driver API exists, and that
 * programs find it
 */

#include <stdbool.h>
#include <string.h>

#include "driver.h"

typedef struct {
  const char *symbol;
  int version;
} listed;

/* The entry points that the driver API documents. */
static const listed names[] = {
#define X(symbol, version) { #symbol, version },
#include "entry-points.def"
#undef X
};

static CUresult (*get_proc) (const char *name, void **function, int version,
    uint64_t flags, CUdriverProcAddressQueryResult *status);
static CUresult (*get_proc_v1) (
    const char *name, void **function, int version, uint64_t flags);

static void *library;

static void
load (void)
{
  load_driver ();
  library = open_library ("libcuda.so.1");
  *(void **) &get_proc = find_symbol (library, "cuGetProcAddress_v2");
  *(void **) &get_proc_v1 = find_symbol (library, "cuGetProcAddress");
}

/* Whether a file of the sources defines this entry point. */
static bool
is_implemented (const char *symbol)
{
  static const char *const implemented[] = {
#define NAME(name, symbol, args) #symbol,
    SOFTCUDA_FUNCTIONS (NAME)
#undef NAME
  };

  for (size_t i = 0; i < G_N_ELEMENTS (implemented); i++)
    if (strcmp (implemented[i], symbol) == 0)
      return true;
  return false;
}

START_TEST (test_every_name)
{
  int n_absent = 0;

  load ();
  ck_assert (G_N_ELEMENTS (names) > 650);
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++) {
    CUresult (*function) (void) = NULL;

    *(void **) &function = find_symbol (library, names[i].symbol);
    if (is_implemented (names[i].symbol))
      continue;
    fails (function (), CUDA_ERROR_NOT_INITIALIZED);
    n_absent++;
  }
  ok (cu.cuInit (0));
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++) {
    CUresult (*function) (void) = NULL;

    *(void **) &function = find_symbol (library, names[i].symbol);
    if (!is_implemented (names[i].symbol))
      fails (function (), CUDA_ERROR_NOT_SUPPORTED);
  }
  ck_assert (n_absent > 400);
}
END_TEST;

/* Each entry point that is implemented has to be listed. */
START_TEST (test_implemented_are_listed)
{
#define CHECK(name, symbol, args) #symbol,
  static const char *const implemented[] = { SOFTCUDA_FUNCTIONS (CHECK) };
#undef CHECK

  for (size_t i = 0; i < G_N_ELEMENTS (implemented); i++) {
    bool found = false;

    for (size_t k = 0; k < G_N_ELEMENTS (names); k++)
      found = found || strcmp (names[k].symbol, implemented[i]) == 0;
    ck_assert_msg (found, "%s", implemented[i]);
  }
}
END_TEST;

START_TEST (test_get_proc_address)
{
  CUdriverProcAddressQueryResult status;
  void *function;

  load ();
  ok (get_proc ("cuMemAlloc", &function, 13000, 0, &status));
  ck_assert (function == find_symbol (library, "cuMemAlloc_v2"));
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_SUCCESS);
  ok (get_proc ("cuMemAlloc", &function, 2000, 0, NULL));
  ck_assert (function == find_symbol (library, "cuMemAlloc"));
  ok (get_proc ("cuCtxCreate", &function, 12000, 0, NULL));
  ck_assert (function == find_symbol (library, "cuCtxCreate_v3"));
  ok (get_proc ("cuLaunchKernel", &function, 13000,
      CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
  ck_assert (function == find_symbol (library, "cuLaunchKernel"));
  ok (get_proc ("cuGetProcAddress", &function, 12000, 0, NULL));
  ck_assert (function == (void *) get_proc);
  ok (get_proc_v1 ("cuInit", &function, 11030, 0));
  ck_assert (function == find_symbol (library, "cuInit"));

  fails (get_proc ("cuMulticastCreate", &function, 11000, 0, &status),
      CUDA_ERROR_NOT_FOUND);
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  fails (get_proc ("cuNoSuch", &function, 13000, 0, &status),
      CUDA_ERROR_NOT_FOUND);
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  ck_assert (function == NULL);
  fails (
      get_proc_v1 ("cuMemAlloc_v2", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
  fails (get_proc (NULL, &function, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
  fails (get_proc ("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

static Suite *
softcuda_names_suite (void)
{
  Suite *s = suite_create ("softcuda-names");
  TCase *tc = tcase_create ("names");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_every_name);
  tcase_add_test (tc, test_implemented_are_listed);
  tcase_add_test (tc, test_get_proc_address);
  return s;
}

TEST_MAIN (softcuda_names);
