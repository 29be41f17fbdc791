/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_time.h: clocks of a kernel
 *
 * The processor's clock counts nanoseconds, as the device's clock rate of
 * 1 GHz says. Part of softcuda_runtime.h.
 */

#ifndef SOFTCUDA_TIME_H
#define SOFTCUDA_TIME_H

/* The C library's function of this name is another one. */
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

/* The special register %globaltimer, by clang's name for it. */
static inline unsigned long long
__nvvm_read_ptx_sreg_globaltimer ()
{
  return softcuda_current->hooks->nanoseconds ();
}

/* Declared here, since its header would bring names that a kernel may have. */
extern "C" int usleep (unsigned int us);

static inline void
__nanosleep (unsigned int ns)
{
  uint3 self = threadIdx;

  softcuda_current->hooks->yield (softcuda_current);
  threadIdx = self;
  usleep (ns / 1000 + (ns % 1000 != 0));
}

#endif /* SOFTCUDA_TIME_H */
