/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-remedy.h: remedies for missing drivers
 *
 * Each is one sentence without a full stop, for the machine of the report.
 */

#ifndef INFO_REMEDY_H
#define INFO_REMEDY_H

#include "info-report.h"

/* Returns: (transfer full): the remedy if NVIDIA's CUDA driver cannot be
 * used. */
gchar *info_remedy_cuda (const InfoMachine *machine);

/* Returns: (transfer full): the remedy if libvulkan.so.1 is missing or too
 * old. */
gchar *info_remedy_loader (const InfoMachine *machine);

/* Returns: (transfer full): the remedy if Vulkan does not have @device. */
gchar *info_remedy_vulkan (
    const InfoMachine *machine, const InfoDevice *device);

/* Returns: (nullable) (transfer full): the remedy if kernels cannot be compiled
 * for @device. NULL if they can. */
gchar *info_remedy_compiler (
    const InfoMachine *machine, const InfoDevice *device);

#endif /* INFO_REMEDY_H */
