/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * absent.c: every entry point of the driver API, by name
 *
 * A program that is linked with libcuda.so.1 needs all of its symbols. This
 * file defines each of them as a weak function that returns "not supported".
 * Other files define the entry points that the device supports, and those
 * definitions replace the weak ones. The prototypes of the entry points must
 * not be visible here, because these functions declare no parameters.
 */

#include "absent.h"
#include "softcuda.h"

#define X(symbol, version) \
  SOFTCUDA_API __attribute__ ((weak)) CUresult symbol (void); \
  CUresult symbol (void) \
  { \
    return sc_enter_absent (); \
  }
#include "entry-points.def"
#undef X

const sc_entry_point sc_entry_points[] = {
#define X(symbol, version) { #symbol, version, (void (*) (void)) symbol },
#include "entry-points.def"
#undef X
};

const int sc_n_entry_points =
    (int) (sizeof sc_entry_points / sizeof *sc_entry_points);
