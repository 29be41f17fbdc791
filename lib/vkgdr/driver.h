/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * driver.h: loads a CUDA driver
 *
 * Exported only for libgstvkgdr-1.0: the symbols are not public API, and the
 * header is not installed.
 */

#ifndef VKGDR_DRIVER_H
#define VKGDR_DRIVER_H

#include "cuda-driver.h"
#include <vkgdr/vkgdr.h>

/**
 * vkgdr_driver_load:
 *
 * Loads libcuda.so.1 as VKGDR_DRIVER says: `nvidia` is the system's driver and
 * `software` is softcuda. `auto` (default) is the system's driver if it exists
 * and has a device, and otherwise softcuda. Calls cuInit(). A loaded driver
 * stays loaded; after a failure, the next call tries again. Thread-safe.
 *
 * Returns: the table of entry points, or NULL (vkgdr_last_error())
 */
VKGDR_API const vkgdr_cuda *vkgdr_driver_load (void);

/**
 * vkgdr_driver_is_software:
 *
 * Returns: whether the driver that vkgdr_driver_load() loaded is softcuda
 */
VKGDR_API bool vkgdr_driver_is_software (void);

/**
 * vkgdr_driver_why_software:
 *
 * Returns: (nullable) (transfer none): in `auto`, why the system's driver was
 *   not used, in one sentence; otherwise NULL
 */
VKGDR_API const char *vkgdr_driver_why_software (void);

/**
 * vkgdr_driver_has_ended:
 * @cu: (nullable): the table of vkgdr_driver_load()
 *
 * An exit handler may run after those of the drivers, for example that of
 * gst_deinit() if it was registered early. CUDA functions then return an error,
 * and Vulkan's functions are no longer mapped. The resources of the process on
 * the device are freed when the process ends.
 *
 * Returns: whether the device must not be used any more
 */
bool vkgdr_driver_has_ended (const vkgdr_cuda *cu);

/**
 * vkgdr_driver_softcuda_dir:
 *
 * Returns: (transfer none): the folder of softcuda's libraries:
 *   VKGDR_SOFTCUDA_DIR in the environment, or else the folder
 *   `softcuda` next to libvkgdr
 */
VKGDR_API const char *vkgdr_driver_softcuda_dir (void);

#endif /* VKGDR_DRIVER_H */
