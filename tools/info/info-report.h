/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-report.h: the data that vkgdr-info has collected
 *
 * Has only structures, and functions that use them. Does not depend on where
 * the data come from, or on how they are used.
 */

#ifndef INFO_REPORT_H
#define INFO_REPORT_H

#include <glib.h>

#include <vkgdr/vkgdr.h>

/**
 * InfoTrial:
 * @INFO_TRIAL_NONE: the device cannot be used, so nothing was tried
 * @INFO_TRIAL_PASSED: the device saw what the CPU wrote
 * @INFO_TRIAL_NO_CONTEXT: CUDA cannot create a context on it
 * @INFO_TRIAL_NO_MEMORY: no memory can be allocated
 * @INFO_TRIAL_WRONG_BYTES: the device does not see what the CPU wrote
 *
 * The result of a trial with a small allocation.
 */
typedef enum {
  INFO_TRIAL_NONE,
  INFO_TRIAL_PASSED,
  INFO_TRIAL_NO_CONTEXT,
  INFO_TRIAL_NO_MEMORY,
  INFO_TRIAL_WRONG_BYTES
} InfoTrial;

/**
 * InfoDevice:
 * @ordinal: its number in CUDA
 * @obstacle: why it has no window, or cannot be used at all; see
 *   info_device_is_staged()
 * @info: the description by libvkgdr; unknown members are 0
 * @memory_size: the size of its memory in bytes, from CUDA, or 0
 * @compute_mode: its compute mode, as CUDA's number (CU_COMPUTEMODE_*)
 * @capability_major: the first number of its compute capability
 * @capability_minor: the second number of its compute capability
 * @trial: the result of a trial with a small allocation
 * @error: (nullable): the message of the library or CUDA about the obstacle or
 *   the trial
 * @compiler: (nullable): the compiler of kernels for it
 * @compiler_error: (nullable): why there is no @compiler; both are %NULL if
 *   no compiler was searched
 */
typedef struct {
  gint ordinal;
  vkgdr_obstacle obstacle;
  vkgdr_device_info info;
  guint64 memory_size;
  gint compute_mode;
  gint capability_major, capability_minor;
  InfoTrial trial;
  gchar *error;
  gchar *compiler;
  gchar *compiler_error;
} InfoDevice;

/**
 * InfoMachine:
 * @settings: environment variables that select drivers, libraries or devices,
 *   as `NAME=VALUE`
 * @manifests: paths of the Vulkan drivers' manifests that the loader reads.
 *   Settings that filter drivers by name are not considered
 * @manifest_error: (nullable): why the library of NVIDIA's manifest cannot be
 *   loaded
 * @host_compiler: (nullable): path of the C++ compiler with which the software
 *   device compiles kernels
 * @kernel_driver: whether NVIDIA's kernel module is loaded
 * @container: whether this is a container
 * @wsl: whether this is WSL 2
 *
 * The data of the machine that the drivers depend on.
 */
typedef struct {
  GStrv settings;
  GStrv manifests;
  gchar *manifest_error;
  gchar *host_compiler;
  gboolean kernel_driver;
  gboolean container;
  gboolean wsl;
} InfoMachine;

/**
 * InfoReport:
 * @machine: the data of the machine that the drivers depend on
 * @software: whether the CUDA driver is softcuda
 * @why_software: (nullable): why it is used instead of NVIDIA's driver
 * @driver_error: (nullable): why there is no CUDA driver; then there are no
 *   devices
 * @devices: (element-type InfoDevice): all of them, in CUDA's order
 */
typedef struct {
  InfoMachine machine;
  gboolean software;
  gchar *why_software;
  gchar *driver_error;
  GPtrArray *devices;
} InfoReport;

/* Returns: (nullable): the value of a setting, which may be "". */
const gchar *info_machine_setting (
    const InfoMachine *machine, const gchar *name);

/* Whether the file name of one of the manifests contains @word. */
gboolean info_machine_has_manifest (
    const InfoMachine *machine, const gchar *word);

void info_machine_clear (InfoMachine *machine);
void info_device_free (InfoDevice *device);
void info_report_clear (InfoReport *report);

/* Whether the device works without a window. Then writers use a staging
 * buffer. */
gboolean info_device_is_staged (const InfoDevice *device);

/* Returns how much of the window is left for this process, in bytes. */
guint64 info_device_window_free (const InfoDevice *device);

/* Returns: (nullable) (transfer full): the UUID as text, or NULL if it is not
 * known. */
gchar *info_format_uuid (const guint8 uuid[16]);

/* Returns: (transfer full): a text such as "256 MiB" or "1.5 GiB". */
gchar *info_format_bytes (guint64 bytes);

#endif /* INFO_REPORT_H */
