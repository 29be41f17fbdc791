/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * driver.h: the one place that loads a CUDA driver
 *
 * Exported for libgstvkgdr-1.0 alone: the symbols are no public API, and the
 * header is not installed.
 */

#ifndef VKGDR_DRIVER_H
#define VKGDR_DRIVER_H

#include "cuda-driver.h"
#include <vkgdr/vkgdr.h>

/**
 * vkgdr_driver_load:
 *
 * Loads libcuda.so.1 as VKGDR_DRIVER says: `nvidia`, the system's; `software`,
 * softcuda; `auto` (default), the system's where it is and has a device, else
 * softcuda. Calls cuInit(). What was loaded stays loaded; a failure is tried
 * again by the next call. Thread-safe.
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
 *   not taken, in one sentence; else NULL
 */
VKGDR_API const char *vkgdr_driver_why_software (void);

/**
 * vkgdr_driver_has_ended:
 * @cu: (nullable): the table of vkgdr_driver_load()
 *
 * An exit handler may come after those of the drivers, as that of gst_deinit()
 * does where it was registered early: CUDA then says so, and Vulkan's functions
 * are no longer mapped. What the process has of the device, its end gives back.
 *
 * Returns: whether nothing of the device is to be touched any more
 */
bool vkgdr_driver_has_ended (const vkgdr_cuda *cu);

/**
 * vkgdr_driver_softcuda_dir:
 *
 * Returns: (transfer none): the folder of softcuda's libraries:
 *   VKGDR_SOFTCUDA_DIR in the environment, else beside libvkgdr in
 *   `gst-vkgdr/softcuda`
 */
VKGDR_API const char *vkgdr_driver_softcuda_dir (void);

/**
 * vkgdr_driver_set_software_uuid:
 * @uuid: 16 bytes: the UUID of the Vulkan device that is a processor
 *
 * Gives softcuda's device this UUID; does nothing with NVIDIA's driver. Not
 * exported: vkgdr_driver_load() does it, and vkgdr_open() again, as Vulkan may
 * not have been there before.
 */
void vkgdr_driver_set_software_uuid (const uint8_t *uuid);

#endif /* VKGDR_DRIVER_H */
