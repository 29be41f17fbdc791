/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * absent.h: every entry point of the driver API, by name
 *
 * Declares none of them, so that absent.c can define them all.
 */

#ifndef SOFTCUDA_ABSENT_H
#define SOFTCUDA_ABSENT_H

#include "driver-api.h"

typedef struct sc_entry_point {
  const char *symbol;
  int version; /* see entry-points.def */
  void (*address) (void);
} sc_entry_point;

extern const sc_entry_point sc_entry_points[];
extern const int sc_n_entry_points;

/* The return value of entry points that the device does not support
 * (entry.c). */
CUresult sc_enter_absent (void);

#endif /* SOFTCUDA_ABSENT_H */
