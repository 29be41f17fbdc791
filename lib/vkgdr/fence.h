/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fence.h: orders the stores of this thread before all that follow
 *
 * Private.
 */

#ifndef VKGDR_FENCE_H
#define VKGDR_FENCE_H

/* Write-combined and non-temporal stores leave their buffers at a fence; a
 * plain release, which is nothing on x86, does not order them. On aarch64 it
 * orders them for the other CPUs only (the inner shareable domain), and a
 * device is in the outer one. */
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
