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

/* Loads libcuda.so.1 as VKGDR_DRIVER says: `nvidia` is the system's driver and
 * `software` is softcuda. `auto` (default) is the system's driver if it exists
 * and has a device, and otherwise softcuda. Calls cuInit(). A loaded driver
 * stays loaded; after a failure, the next call tries again. Returns the table
 * of entry points, or NULL (vkgdr_last_error()). Thread-safe. */
VKGDR_API const vkgdr_cuda *vkgdr_driver_load (void);

/* Whether the driver that was loaded is softcuda. */
VKGDR_API bool vkgdr_driver_is_software (void);

/* In `auto`, why the system's driver was not used, in one sentence; otherwise
 * NULL. */
VKGDR_API const char *vkgdr_driver_why_software (void);

/* Whether the device must not be used any more. An exit handler may run after
 * those of the drivers, for example that of gst_deinit() if it was registered
 * early. CUDA functions then return an error, and Vulkan's functions are no
 * longer mapped. The resources of the process on the device are freed when the
 * process ends. @cu may be NULL. */
bool vkgdr_driver_has_ended (const vkgdr_cuda *cu);

/* The folder of softcuda's libraries: VKGDR_SOFTCUDA_DIR in the environment, or
 * else the folder `softcuda` next to libvkgdr. */
VKGDR_API const char *vkgdr_driver_softcuda_dir (void);

#endif /* VKGDR_DRIVER_H */
