/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * probe.c: the smallest fuzzer, which shows whether clang can build one
 */

#include "packets.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  return 0;
}
