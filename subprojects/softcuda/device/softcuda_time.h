/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_time.h: the clocks of kernels
 *
 * clock() and clock64() count nanoseconds, as on a device with a clock rate of
 * 1 GHz. Part of softcuda_runtime.h.
 */

#ifndef SOFTCUDA_TIME_H
#define SOFTCUDA_TIME_H

/* The C library has another function with this name. */
#define clock softcuda_clock

typedef long clock_t;

static inline long long
clock64 ()
{
  return (long long) softcuda_current->hooks->nanoseconds ();
}

static inline clock_t
softcuda_clock ()
{
  return (clock_t) clock64 ();
}

/* clang's name of the special register %globaltimer. */
static inline unsigned long long
__nvvm_read_ptx_sreg_globaltimer ()
{
  return softcuda_current->hooks->nanoseconds ();
}

/* The C library's, by a name that kernels do not use. */
extern "C" int softcuda_usleep (unsigned int us) __asm__("usleep");

/* Lets the other threads of the block run if the module has a barrier or a warp
 * function. Otherwise the threads run one after another, which is faster, and
 * each ends before the next one begins. */
static inline void
__nanosleep (unsigned int ns)
{
  uint3 self = threadIdx;

  softcuda_current->hooks->yield (softcuda_current);
  threadIdx = self;
  softcuda_usleep (ns / 1000 + (ns % 1000 != 0));
}

#endif /* SOFTCUDA_TIME_H */
