/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * assert.h: of a kernel: fails the launch, not the process
 *
 * Found before the system's by whoever includes <assert.h> or <cassert>, and
 * like that one to be included again whenever NDEBUG has changed. Needs
 * softcuda_runtime.h.
 */

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void) 0)
#else
#define assert(condition) \
  ((condition) ? (void) 0 \
               : softcuda_assert_failed (#condition, __FILE__, __LINE__))
#endif
