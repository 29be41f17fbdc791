/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fence.h: orders all earlier stores of this thread before all later ones
 *
 * Private.
 */

#ifndef VKGDR_FENCE_H
#define VKGDR_FENCE_H

/* Write-combined and non-temporal stores leave the CPU's buffers at a fence. A
 * plain release does not order them: on x86 it is not an instruction, and
 * on aarch64 it orders stores only for other CPUs (the inner shareable domain),
 * but a device is in the outer shareable domain. */
static inline void
vkgdr_store_fence (void)
{
#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE__))
  __builtin_ia32_sfence ();
#elif defined(__aarch64__)
  __asm__ volatile("dmb oshst" ::: "memory");
#else
  __sync_synchronize ();
#endif
}

#endif /* VKGDR_FENCE_H */
