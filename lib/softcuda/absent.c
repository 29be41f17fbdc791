/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * absent.c: every entry point of the driver API, by name
 *
 * A program that is linked with libcuda.so.1 needs all of its symbols. Each is
 * defined here, weakly, as a function that answers "not supported"; those that
 * the device has are defined in other files, and replace these. No prototypes
 * are visible here: such a function looks at none of its arguments.
 */

#include "absent.h"
#include "softcuda.h"

#define X(symbol, version) \
  SOFTCUDA_API __attribute__ ((weak)) CUresult symbol (void); \
  CUresult symbol (void) \
  { \
    return sc_enter_absent (); \
  }
#include "driver-api.def"
#undef X

const sc_entry_point sc_entry_points[] = {
#define X(symbol, version) { #symbol, version, (void (*) (void)) symbol },
#include "driver-api.def"
#undef X
};

const int sc_n_entry_points =
    (int) (sizeof sc_entry_points / sizeof *sc_entry_points);
