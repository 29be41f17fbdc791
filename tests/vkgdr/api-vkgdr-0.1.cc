/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * api-vkgdr-0.1.cc: the same program as C++
 *
 * The C source is its content, so that both stay the same program.
 */

#include "api-vkgdr-0.1.c"
