/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-machine.h: data of the machine that the drivers depend on
 */

#ifndef INFO_MACHINE_H
#define INFO_MACHINE_H

#include "info-report.h"

/* Fills @machine. The caller clears it with info_machine_clear(). May load the
 * library of NVIDIA's Vulkan driver, so it should be called when the devices
 * are not used any more. */
void info_machine_collect (InfoMachine *machine);

#endif /* INFO_MACHINE_H */
