/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * assert.h: the system's header, for softcuda's nvcc
 */

#include "../softcuda_assert.h"
