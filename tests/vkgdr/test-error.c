/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-error.c: tests that each thread has its own last error, and that a
 * successful call clears it
 */

#include "error.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

TEST (the_caller_owns_it)
{
  char *first, *second;

  ck_assert_ptr_null (vkgdr_last_error ());
  vkgdr_error_set ("number %d", 1);
  first = vkgdr_last_error ();
  second = vkgdr_last_error ();
  ck_assert_str_eq (first, "number 1");
  ck_assert_str_eq (second, "number 1");
  ck_assert_ptr_ne (first, second);
  free (first);
  free (second);
  vkgdr_error_set ("failed (%s)", vkgdr_error_peek ());
  ck_assert_str_eq (vkgdr_error_peek (), "failed (number 1)");
  vkgdr_error_clear ();
  ck_assert_ptr_null (vkgdr_last_error ());
}

static void
assert_parts (const char *reason, const char *remedy)
{
  char found_reason[VKGDR_MAX_MESSAGE], found_remedy[VKGDR_MAX_MESSAGE];

  vkgdr_error_split (found_reason, found_remedy);
  ck_assert_str_eq (found_reason, reason);
  ck_assert_str_eq (found_remedy, remedy);
}

TEST (reason_and_remedy)
{
  vkgdr_error_set_remedy ("buy one: today", "no %s: none", "horse");
  ck_assert_str_eq (vkgdr_error_peek (), "no horse: none: buy one: today");
  assert_parts ("no horse: none", "buy one: today");
  vkgdr_error_set ("no horse: buy one");
  assert_parts ("no horse: buy one", "");
  vkgdr_error_set_remedy ("twice\nover", "%s", vkgdr_error_peek ());
  assert_parts ("no horse: buy one", "twice over");
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

static void *
set_in_thread (void *data)
{
  ck_assert_ptr_null (vkgdr_last_error ());
  vkgdr_error_set ("of the thread");
  ck_assert_str_eq (vkgdr_error_peek (), "of the thread");
  return NULL;
}

TEST (threads_have_their_own)
{
  vkgdr_error_set ("of the test");
  test_run_threads (1, set_in_thread, NULL);
  ck_assert_str_eq (vkgdr_error_peek (), "of the test");
}

static const struct {
  int result;
  const char *name;
} results[] = {
  { CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
  { CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS" },
  { 710, "CUDA_ERROR_ASSERT" },
  { 718, "CUDA_ERROR_INVALID_PC" },
  { 12345, "unknown CUDA error" },
};

TEST (results_have_names)
{
  size_t i;

  for (i = 0; i < N_ELEMENTS (results); i++)
    ck_assert_str_eq (
        vkgdr_cuda_result_name (results[i].result), results[i].name);
  ck_assert_str_eq (
      vkgdr_vk_result_name (VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
  ck_assert_str_eq (
      vkgdr_vk_result_name ((VkResult) -12345), "unknown Vulkan error");
}
