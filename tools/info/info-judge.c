/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-judge.c: problems of a device, and possible improvements
 *
 * Uses only the report, and must not call a driver. So a test can use the
 * report of a device that the machine does not have. info-verdict.c makes the
 * sentences.
 */

#include "info-judge.h"

#include <string.h>

#include "cuda-driver.h"
#include "info-remedy.h"

/* The largest window of a GPU without Resizable BAR. */
#define SMALL_WINDOW ((guint64) 256 << 20)

/* A window is almost full if less than this, and also less than a sixteenth of
 * the window, is free. This is room for a few frames. */
#define LITTLE_FREE ((guint64) 256 << 20)

#define FIRMWARE_REMEDY \
  "enable Resizable BAR and Above 4G decoding in the firmware"

/* --- why a device cannot be used, or its window cannot be opened --------- */

/* If VKGDR_DEBUG hides Vulkan, judge_debug () gives the remedy. */
static gboolean
hides_vulkan (const InfoMachine *machine)
{
  const gchar *debug = info_machine_setting (machine, "VKGDR_DEBUG");

  return debug && strstr (debug, "no-vulkan");
}

static gchar *
obstacle_remedy (const InfoMachine *machine, const InfoDevice *device)
{
  switch (device->obstacle) {
  case VKGDR_OBSTACLE_HOST_MEMORY:
    return g_strdup ("end programs that are not needed");
  case VKGDR_OBSTACLE_SETTINGS:
    return g_strdup ("correct VKGDR_DEBUG, or unset it");
  case VKGDR_OBSTACLE_CUDA_DRIVER:
    return info_remedy_cuda (machine);
  case VKGDR_OBSTACLE_CUDA_DEVICE:
    return g_strdup ("see whether nvidia-smi lists the GPU, and dmesg whether "
                     "it is lost");
  case VKGDR_OBSTACLE_VULKAN_LOADER:
    return hides_vulkan (machine) ? NULL : info_remedy_loader (machine);
  case VKGDR_OBSTACLE_VULKAN_DRIVER:
  case VKGDR_OBSTACLE_VULKAN_DEVICE:
    return info_remedy_vulkan (machine, device);
  case VKGDR_OBSTACLE_WINDOW:
    return g_strdup (FIRMWARE_REMEDY);
  case VKGDR_OBSTACLE_EXPORT:
    return g_strdup ("install a newer driver, and see whether nvidia-smi lists "
                     "the GPU");
  case VKGDR_OBSTACLE_NONE:
    break;
  }
  return NULL;
}

static void
judge_obstacle (
    InfoVerdict *verdict, const InfoMachine *machine, const InfoDevice *device)
{
  static const struct {
    const gchar *id;
    const gchar *text;
  } words[] = {
    [VKGDR_OBSTACLE_HOST_MEMORY] = { "host-memory",
        "the host has no memory left" },
    [VKGDR_OBSTACLE_SETTINGS] = { "settings", "VKGDR_DEBUG cannot be read" },
    [VKGDR_OBSTACLE_CUDA_DRIVER] = { "cuda-driver", "CUDA has no driver" },
    [VKGDR_OBSTACLE_CUDA_DEVICE] = { "cuda-device",
        "CUDA does not give it out" },
    [VKGDR_OBSTACLE_VULKAN_LOADER] = { "vulkan-loader",
        "the Vulkan loader is missing or too old" },
    [VKGDR_OBSTACLE_VULKAN_DRIVER] = { "vulkan-driver",
        "Vulkan finds no driver" },
    [VKGDR_OBSTACLE_VULKAN_DEVICE] = { "vulkan-device",
        "no Vulkan device has its UUID" },
    [VKGDR_OBSTACLE_WINDOW] = { "no-window",
        "it has no memory of its own that the CPU can write to" },
    [VKGDR_OBSTACLE_EXPORT] = { "export",
        "Vulkan cannot open it for memory that CUDA shares" },
  };
  const gchar *text = words[device->obstacle].text;

  if (device->obstacle == VKGDR_OBSTACLE_NONE)
    return;
  if (device->info.software && device->obstacle == VKGDR_OBSTACLE_VULKAN_DEVICE)
    text = "Vulkan has no software device";
  if (info_device_is_staged (device))
    info_verdict_add (verdict, INFO_LIMITED, words[device->obstacle].id,
        g_strdup_printf ("there is no window, so what is written takes a "
                         "transfer (staged): %s",
            text),
        obstacle_remedy (machine, device));
  else
    info_verdict_add (verdict, INFO_UNUSABLE, words[device->obstacle].id,
        g_strdup (text), obstacle_remedy (machine, device));
}

static void
judge_no_context (InfoVerdict *verdict, const InfoDevice *device)
{
  gchar *remedy = g_strdup_printf (
      "allow it: sudo nvidia-smi -i %s -c DEFAULT", device->info.pci_address);

  if (device->compute_mode == CU_COMPUTEMODE_PROHIBITED) {
    info_verdict_add (verdict, INFO_UNUSABLE, "compute-mode",
        g_strdup ("its compute mode forbids CUDA"), remedy);
    return;
  }
  if (device->compute_mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
    info_verdict_add (verdict, INFO_UNUSABLE, "compute-mode",
        g_strdup ("another process has it, and its compute mode is exclusive"),
        remedy);
    return;
  }
  g_free (remedy);
  info_verdict_add (verdict, INFO_UNUSABLE, "no-context",
      g_strdup ("CUDA makes no context on it"),
      g_strdup ("see with nvidia-smi whether its memory is full, and with "
                "dmesg whether it is lost"));
}

static void
judge_trial (InfoVerdict *verdict, const InfoDevice *device)
{
  switch (device->trial) {
  case INFO_TRIAL_NONE:
  case INFO_TRIAL_PASSED:
    return;
  case INFO_TRIAL_NO_CONTEXT:
    judge_no_context (verdict, device);
    return;
  case INFO_TRIAL_NO_MEMORY:
    info_verdict_add (verdict, INFO_UNUSABLE, "no-memory",
        g_strdup ("not even a little memory can be had"),
        g_strdup ("end other programs that use the GPU (nvidia-smi lists "
                  "them), and install a newer driver if there are none"));
    return;
  case INFO_TRIAL_WRONG_BYTES:
    info_verdict_add (verdict, INFO_UNUSABLE, "wrong-bytes",
        g_strdup ("it does not see what the CPU writes"),
        g_strdup ("install another version of the driver, and see in dmesg "
                  "whether the GPU is lost"));
    return;
  }
}

/* --- what limits a device that can be used ------------------------------- */

static void
judge_software (
    InfoVerdict *verdict, const InfoReport *report, const InfoDevice *device)
{
  gchar *driver, *remedy;

  if (!device->info.software)
    return;
  if (report->why_software) {
    driver = info_remedy_cuda (&report->machine);
    remedy = g_strdup_printf ("if there is an NVIDIA GPU, %s", driver);
    g_free (driver);
  } else {
    remedy = g_strdup ("if there is an NVIDIA GPU, unset VKGDR_DRIVER");
  }
  info_verdict_add (verdict, INFO_LIMITED, "software",
      g_strdup ("it is a software device, for development only: no GPU is in "
                "use"),
      remedy);
}

static void
judge_window (InfoVerdict *verdict, const InfoDevice *device)
{
  guint64 size = device->info.window_size;
  guint64 left = info_device_window_free (device);
  gboolean partial = !device->info.software && size < device->memory_size / 2;
  gchar *text, *all;

  if (info_device_is_staged (device))
    return;
  if (size <= SMALL_WINDOW || partial) {
    text = info_format_bytes (size);
    all = partial ? info_format_bytes (device->memory_size) : NULL;
    info_verdict_add (verdict, INFO_LIMITED, "small-window",
        g_strdup_printf ("the window has just %s%s%s, and what does not fit "
                         "takes a transfer (staged)",
            text, all ? " of the GPU's " : "", all ? all : ""),
        g_strdup (FIRMWARE_REMEDY));
    g_free (all);
    g_free (text);
  }
  if (left < size / 16 && left < LITTLE_FREE) {
    text = info_format_bytes (left);
    info_verdict_add (verdict, INFO_LIMITED, "full-window",
        g_strdup_printf ("only %s of the window is free", text),
        g_strdup ("end other programs that use the GPU (nvidia-smi lists "
                  "them)"));
    g_free (text);
  }
}

static void
judge_compiler (
    InfoVerdict *verdict, const InfoMachine *machine, const InfoDevice *device)
{
  gchar *remedy = info_remedy_compiler (machine, device);

  if (remedy)
    info_verdict_add (verdict, INFO_LIMITED, "no-compiler",
        g_strdup (
            "kernels, the built-in effects among them, cannot be compiled"),
        remedy);
}

static void
judge_rest (InfoVerdict *verdict, const InfoDevice *device)
{
  if (!device->info.coherent && !info_device_is_staged (device))
    info_verdict_add (verdict, INFO_LIMITED, "non-coherent",
        g_strdup ("the window is not coherent, so each write is flushed"),
        NULL);
  if (device->compute_mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS)
    info_verdict_add (verdict, INFO_LIMITED, "compute-mode",
        g_strdup ("its compute mode lets only one process use it at a time"),
        g_strdup_printf ("for several: sudo nvidia-smi -i %s -c DEFAULT",
            device->info.pci_address));
}

static void
judge_debug (
    InfoVerdict *verdict, const InfoMachine *machine, const InfoDevice *device)
{
  const gchar *debug = info_machine_setting (machine, "VKGDR_DEBUG");

  if (!debug || device->obstacle == VKGDR_OBSTACLE_SETTINGS)
    return;
  info_verdict_add (verdict, INFO_LIMITED, "simulated",
      g_strdup_printf ("VKGDR_DEBUG=%s makes it look worse than it is", debug),
      g_strdup ("unset VKGDR_DEBUG"));
}

void
info_judge (
    InfoVerdict *verdict, const InfoReport *report, const InfoDevice *device)
{
  judge_software (verdict, report, device);
  judge_obstacle (verdict, &report->machine, device);
  judge_trial (verdict, device);
  if (verdict->level != INFO_UNUSABLE) {
    judge_window (verdict, device);
    judge_rest (verdict, device);
    judge_compiler (verdict, &report->machine, device);
  }
  judge_debug (verdict, &report->machine, device);
}
