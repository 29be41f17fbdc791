/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * util.h: functions that the tests of libvkgdr share
 *
 * Each test runs in a process of its own (libcheck forks), so that it can set
 * environment variables before a driver is loaded. The process that forks must
 * not load a driver.
 */

#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <stdbool.h>
#include <string.h>

#include "../case.h"
#include "device.h"
#include "driver.h"
#include <vkgdr/vkgdr.h>

#define N_ELEMENTS(array) (sizeof (array) / sizeof ((array)[0]))

/* Macros that newer versions of libcheck have. */
#ifndef ck_assert_ptr_null
#define ck_assert_ptr_null(p) ck_assert_ptr_eq (p, NULL)
#define ck_assert_ptr_nonnull(p) ck_assert_ptr_ne (p, NULL)
#endif
#ifndef ck_assert_mem_eq
#define ck_assert_mem_eq(a, b, size) ck_assert_int_eq (memcmp (a, b, size), 0)
#endif

/* Returns the path of softcuda's libcuda.so.1. */
const char *test_software_path (void);

/* Chooses softcuda for this process. Returns false if it is not built. Must be
 * called before the driver is loaded. */
bool test_use_software (void);

/* Like test_use_software(), but also returns false if Vulkan has no software
 * device. */
bool test_use_software_device (void);

/* Makes calls of softcuda fail. @spec has the format of SOFTCUDA_FAIL. If it is
 * NULL, calls succeed again. */
void test_fail (const char *spec);

/* Returns the number of calls of a function of softcuda. */
unsigned long test_count_calls (const char *name);

/* Makes a function of Vulkan fail: vkAllocateMemory, vkMapMemory or
 * vkGetMemoryFdKHR. If @name is NULL, all succeed again. */
void test_fail_vulkan (vkgdr_t g, const char *name);

/* Loads the driver, and makes the primary context of device 0 current. */
const vkgdr_cuda *test_enter_context (void);

/* Opens device 0, and makes a context of it current. Never returns NULL. */
vkgdr_t test_open (uint32_t flags);

/* Allocates memory. Never returns NULL. */
vkgdr_memory_t test_alloc (vkgdr_t g, size_t size);

/* Calls @function in @n threads, and waits for all. It returns NULL, or an
 * error, which fails the test. */
void test_run_threads (int n, void *(*function) (void *data), void *data);

/* Calls @function @n times. Fails the test if this leaves file descriptors or
 * memory. The first ten calls fill caches of libraries and of the
 * drivers, so they do not count. */
void test_leaves_nothing (int n, void (*function) (void *data), void *data);

/* Fails the test unless the last error is NULL. */
#define assert_no_error() test_assert_no_error (__FILE__, __LINE__)

/* Fails the test unless the last error contains all of these words. */
#define assert_error(...) \
  test_assert_error (__FILE__, __LINE__, (const char *[]){ __VA_ARGS__, NULL })

void test_assert_no_error (const char *file, int line);
void test_assert_error (const char *file, int line, const char *const *words);

/* For TEST_REQUIRE(): ends the program as skipped if the machine has no device.
 */
void test_require_device (void);

#endif /* TEST_UTIL_H */
