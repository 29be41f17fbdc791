/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * assert.h: assert() for kernels: fails the launch, not the process
 *
 * A kernel's source that includes <assert.h> or <cassert> gets this file
 * instead of the system's header. Like the system's header, it may be included
 * again after NDEBUG has changed. Needs softcuda_runtime.h.
 */

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void) 0)
#else
#define assert(condition) \
  ((condition) ? (void) 0 \
               : softcuda_assert_failed (#condition, __FILE__, __LINE__))
#endif
