/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-debug.c: tests that VKGDR_DEBUG restricts the device, and that the error
 * of a full window says how large the window is and how much of it is used
 */

#include "util.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *text;
  bool ok;
  vkgdr_debug debug;
} texts[] = {
  { NULL, true, { false, 0, false } },
  { "", true, { false, 0, false } },
  { "bar", true, { true, 0, false } },
  { "non-coherent", true, { false, 0, true } },
  { "bar,non-coherent", true, { true, 0, true } },
  { "non-coherent,bar=16M", true, { true, 16 << 20, true } },
  { "bar=1", true, { true, 1, false } },
  { "bar=3k", true, { true, 3072, false } },
  { "bar=2G,", true, { true, (uint64_t) 2 << 30, false } },
  { "no-window", true, { false, 0, false, true } },
  { "no-vulkan", true, { false, 0, false, false, true } },
  { "bar,no-vulkan", true, { true, 0, false, false, true } },
  { "bar=0", false },
  { "bar=", false },
  { "bar=M", false },
  { "bar=-1", false },
  { "bar=1MB", false },
  { "bar=1T", false },
  { "bar=0x10", false },
  { "bar=99999999999999999999", false },
  { "bar=18446744073709551615G", false },
  { "Bar", false },
  { "bars", false },
  { "coherent", false },
  { "bar;non-coherent", false },
};

TEST_REQUIRE (test_require_device);

TEST (words_are_read)
{
  vkgdr_debug debug;
  size_t i;

  for (i = 0; i < N_ELEMENTS (texts); i++) {
    ck_assert_msg (vkgdr_debug_parse (texts[i].text, &debug) == texts[i].ok,
        "VKGDR_DEBUG=%s", texts[i].text);
    if (!texts[i].ok) {
      assert_error ("VKGDR_DEBUG", "unknown");
      continue;
    }
    ck_assert_int_eq (debug.bar, texts[i].debug.bar);
    ck_assert_uint_eq (debug.window, texts[i].debug.window);
    ck_assert_int_eq (debug.non_coherent, texts[i].debug.non_coherent);
    ck_assert_int_eq (debug.no_window, texts[i].debug.no_window);
    ck_assert_int_eq (debug.no_vulkan, texts[i].debug.no_vulkan);
  }
}

TEST (bar_is_not_cached)
{
  vkgdr_device_info info;
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", "bar", 1);
  g = test_open (0);
  vkgdr_get_device_info (g, &info);
  ck_assert (!info.host_cached);
  ck_assert_uint_eq (
      info.window_size, info.memory_types[info.memory_type].heap_size);
  vkgdr_close (g);
}

TEST (non_coherent_is_not_coherent)
{
  vkgdr_memory_t mem;
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", "non-coherent", 1);
  g = test_open (0);
  mem = test_alloc (g, 1);
  ck_assert (!vkgdr_memory_is_coherent (mem));
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (a_full_window_says_how_full)
{
  const size_t mega = 1 << 20;
  vkgdr_memory_t a, b, c;
  vkgdr_device_info info;
  vkgdr_t first, second;

  setenv ("VKGDR_DEBUG", "bar=16M", 1);
  first = test_open (0);
  second = test_open (0);
  vkgdr_get_device_info (first, &info);
  ck_assert_uint_eq (info.window_size, 16 * mega);
  ck_assert_uint_eq (info.window_budget, 16 * mega);
  ck_assert_uint_eq (info.window_usage, 0);

  a = test_alloc (first, 6 * mega);
  b = test_alloc (first, 4 * mega);
  ck_assert_ptr_null (vkgdr_memory_alloc (first, 6 * mega + 1, 0));
  assert_error ("6291457 bytes", "VK_ERROR_OUT_OF_DEVICE_MEMORY",
      "window has 16777216 bytes", "uses 10485760 in 2 allocations",
      "10485760 of at most 16777216", "Resizable BAR", "smaller pools");

  /* All handles share one window. */
  ck_assert_ptr_null (vkgdr_memory_alloc (second, 6 * mega + 1, 0));
  assert_error ("uses 0 in 0 allocations", "10485760 of at most 16777216");
  c = test_alloc (second, 6 * mega);
  vkgdr_get_device_info (second, &info);
  ck_assert_uint_eq (info.allocated, 6 * mega);
  ck_assert_uint_eq (info.window_usage, 16 * mega);
  ck_assert_ptr_null (vkgdr_memory_alloc (second, 1, 0));

  vkgdr_memory_free (a);
  vkgdr_memory_free (b);
  vkgdr_memory_free (c);
  vkgdr_memory_free (test_alloc (second, 16 * mega));
  vkgdr_get_device_info (first, &info);
  ck_assert_uint_eq (info.window_usage, 0);
  vkgdr_close (first);
  vkgdr_close (second);
}

TEST (a_failure_takes_none_of_the_window)
{
  vkgdr_device_info info;
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", "bar=1M", 1);
  g = test_open (0);
  test_fail_vulkan (g, "vkAllocateMemory");
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 1 << 20, 0));
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.window_usage, 0);
  test_fail_vulkan (g, NULL);
  vkgdr_memory_free (test_alloc (g, 1 << 20));
  vkgdr_close (g);
}
