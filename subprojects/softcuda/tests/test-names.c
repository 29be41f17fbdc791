/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-names.c: tests that every entry point of the driver API exists, and that
 * programs find it
 */

#include "driver.h"

/* The entry points that the driver API documents. */
static const char *const names[] = {
#define X(symbol, version) #symbol,
#include "entry-points.def"
#undef X
  NULL
};

/* Those that a file of the sources defines. */
static const char *const implemented[] = {
#define NAME(name, symbol, args) #symbol,
  SOFTCUDA_FUNCTIONS (NAME)
#undef NAME
      NULL
};

static void *library;

static void
load (void)
{
  load_driver ();
  library = open_library ("libcuda.so.1");
}

FIXTURE (load, NULL);

/* Returns the number of the entry points that do nothing but fail. */
static int
check_absent (CUresult expected)
{
  int n = 0;

  for (int i = 0; names[i] != NULL; i++) {
    CUresult (*function) (void) = find_symbol (library, names[i]);

    if (g_strv_contains (implemented, names[i]))
      continue;
    fails (function (), expected);
    n++;
  }
  return n;
}

TEST (every_name)
{
  ck_assert (G_N_ELEMENTS (names) > 650);
  for (int i = 0; implemented[i] != NULL; i++)
    ck_assert_msg (g_strv_contains (names, implemented[i]), "%s is not listed",
        implemented[i]);
  ck_assert (check_absent (CUDA_ERROR_NOT_INITIALIZED) > 400);
  ok (cu.cuInit (0));
  check_absent (CUDA_ERROR_NOT_SUPPORTED);
}

TEST (get_proc_address)
{
  CUdriverProcAddressQueryResult status;
  void *function;

  ok (cu.cuGetProcAddress ("cuMemAlloc", &function, 13000, 0, &status));
  ck_assert (function == find_symbol (library, "cuMemAlloc_v2"));
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_SUCCESS);
  ok (cu.cuGetProcAddress ("cuMemAlloc", &function, 2000, 0, NULL));
  ck_assert (function == find_symbol (library, "cuMemAlloc"));
  ok (cu.cuGetProcAddress ("cuCtxCreate", &function, 12000, 0, NULL));
  ck_assert (function == find_symbol (library, "cuCtxCreate_v3"));
  ok (cu.cuGetProcAddress ("cuLaunchKernel", &function, 13000,
      CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
  ck_assert (function == find_symbol (library, "cuLaunchKernel"));
  ok (cu.cuGetProcAddress ("cuGetProcAddress", &function, 12000, 0, NULL));
  ck_assert (function == (void *) cu.cuGetProcAddress);
  ok (cu.cuGetProcAddress_v1 ("cuInit", &function, 11030, 0));
  ck_assert (function == find_symbol (library, "cuInit"));

  fails (
      cu.cuGetProcAddress ("cuMulticastCreate", &function, 11000, 0, &status),
      CUDA_ERROR_NOT_FOUND);
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  fails (cu.cuGetProcAddress ("cuNoSuch", &function, 13000, 0, &status),
      CUDA_ERROR_NOT_FOUND);
  ck_assert_int_eq (status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  ck_assert (function == NULL);
  fails (cu.cuGetProcAddress_v1 ("cuMemAlloc_v2", &function, 13000, 0),
      CUDA_ERROR_NOT_FOUND);
  invalid (cu.cuGetProcAddress (NULL, &function, 13000, 0, NULL));
  invalid (cu.cuGetProcAddress ("cuInit", NULL, 13000, 0, NULL));
}
