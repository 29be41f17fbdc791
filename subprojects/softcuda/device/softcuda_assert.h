/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_assert.h: assert() for kernels: fails the launch, not the process
 *
 * With softcuda's nvcc, it is also <assert.h>. Like the system's header, it may
 * be included again after NDEBUG has changed. Needs softcuda_runtime.h.
 */

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void) 0)
#else
#define assert(condition) \
  ((condition) ? (void) 0 \
               : softcuda_assert_failed (#condition, __FILE__, __LINE__))
#endif
