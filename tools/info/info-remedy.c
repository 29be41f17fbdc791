/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-remedy.c: remedies for missing drivers
 *
 * Chooses the most likely cause from the data of the machine. Calls no driver.
 */

#include "info-remedy.h"

#include <string.h>

/* Settings that select Vulkan's drivers: two by their manifests, of which the
 * first one has priority, and two by names. */
static const gchar *const manifest_settings[] = { "VK_DRIVER_FILES",
  "VK_ICD_FILENAMES", NULL };
static const gchar *const filter_settings[] = { "VK_LOADER_DRIVERS_SELECT",
  "VK_LOADER_DRIVERS_DISABLE", NULL };

static gboolean
setting_is (const InfoMachine *machine, const gchar *name, const gchar *value)
{
  return g_strcmp0 (info_machine_setting (machine, name), value) == 0;
}

static const gchar *
driver_remedy (const InfoMachine *machine)
{
  if (machine->container && !machine->kernel_driver)
    return "install NVIDIA's driver on the host, start the container with the "
           "GPU (docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all), and "
           "see that nvidia-smi lists it there";
  if (machine->container)
    return "start the container with the GPU (docker run --gpus all -e "
           "NVIDIA_DRIVER_CAPABILITIES=all), and see that nvidia-smi lists it "
           "there";
  if (machine->kernel_driver)
    return "install the CUDA library of the driver that the kernel has loaded "
           "(Debian: libcuda1), reboot after an update of the driver, and see "
           "that nvidia-smi lists the GPU";
  return "install NVIDIA's driver (Debian: nvidia-driver), and see that "
         "nvidia-smi lists the GPU";
}

gchar *
info_remedy_cuda (const InfoMachine *machine)
{
  const gchar *driver = info_machine_setting (machine, "VKGDR_DRIVER");
  const gchar *visible = info_machine_setting (machine, "CUDA_VISIBLE_DEVICES");

  if (driver && strcmp (driver, "auto") != 0 && strcmp (driver, "nvidia") != 0
      && strcmp (driver, "software") != 0)
    return g_strdup ("set VKGDR_DRIVER to auto, nvidia or software");
  if (driver && strcmp (driver, "software") == 0)
    return g_strdup ("install softcuda with gst-vkgdr, or let "
                     "VKGDR_SOFTCUDA_DIR name its folder");
  /* If the kernel has no driver, CUDA_VISIBLE_DEVICES is not the cause. */
  if (visible && machine->kernel_driver)
    return g_strdup_printf ("unset CUDA_VISIBLE_DEVICES (it is \"%s\"), or let "
                            "it name a GPU that nvidia-smi -L lists",
        visible);
  if (setting_is (machine, "VKGDR_DRIVER", "nvidia"))
    return g_strdup_printf ("%s; without a GPU, unset VKGDR_DRIVER for the "
                            "software device",
        driver_remedy (machine));
  return g_strdup (driver_remedy (machine));
}

gchar *
info_remedy_loader (const InfoMachine *machine)
{
  const gchar *library = info_machine_setting (machine, "VKGDR_VULKAN_LIBRARY");

  if (library)
    return g_strdup_printf (
        "unset VKGDR_VULKAN_LIBRARY (it is \"%s\"), or let it name a Vulkan "
        "loader of version 1.1 or newer",
        library);
  return g_strdup_printf ("install the Vulkan loader, libvulkan.so.1, of "
                          "version 1.1 or newer (Debian: libvulkan1)%s",
      machine->container ? ", and start the container with "
                           "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video,"
                           "utility"
                         : "");
}

/* Returns: (nullable): the remedy if a setting of the user may hide the driver
 * whose manifest has @word in its name. */
static gchar *
settings_remedy (
    const InfoMachine *machine, const gchar *word, const gchar *manifest)
{
  const gchar *const *name = info_machine_has_manifest (machine, word)
                                 ? filter_settings
                                 : manifest_settings;

  for (; *name; name++) {
    const gchar *value = info_machine_setting (machine, *name);

    if (value)
      return g_strdup_printf (
          "unset %s (it is \"%s\"), which hides %s", *name, value, manifest);
  }
  return NULL;
}

static gchar *
software_remedy (const InfoMachine *machine)
{
  gchar *remedy = settings_remedy (machine, "lvp",
      "lavapipe's manifest (/usr/share/vulkan/icd.d/lvp_icd.*.json)");

  if (remedy)
    return remedy;
  if (!info_machine_has_manifest (machine, "lvp"))
    return g_strdup ("install lavapipe (Debian: mesa-vulkan-drivers), which "
                     "brings /usr/share/vulkan/icd.d/lvp_icd.*.json");
  return g_strdup ("install lavapipe anew (Debian: mesa-vulkan-drivers); "
                   "VK_LOADER_DEBUG=error,driver tells why its driver is not "
                   "loaded");
}

/* For NVIDIA's driver, if it has no manifest. */
static gchar *
manifest_remedy (const InfoMachine *machine)
{
  const gchar *capabilities =
      info_machine_setting (machine, "NVIDIA_DRIVER_CAPABILITIES");

  if (!machine->container)
    return g_strdup ("install the Vulkan part of NVIDIA's driver (Debian: "
                     "nvidia-vulkan-icd, Ubuntu: libnvidia-gl of the driver's "
                     "version), which brings "
                     "/usr/share/vulkan/icd.d/nvidia_icd.json");
  if (capabilities
      && (strstr (capabilities, "graphics") || strstr (capabilities, "all")))
    return g_strdup ("install the Vulkan part of NVIDIA's driver on the host, "
                     "and see that the container gets its "
                     "/usr/share/vulkan/icd.d/nvidia_icd.json (a newer "
                     "nvidia-container-toolkit brings it)");
  return g_strdup_printf (
      "start the container with NVIDIA_DRIVER_CAPABILITIES=all, or with "
      "graphics among them (%s%s%s), so that it gets "
      "/usr/share/vulkan/icd.d/nvidia_icd.json from the host",
      capabilities ? "now \"" : "now it is not set",
      capabilities ? capabilities : "", capabilities ? "\"" : "");
}

gchar *
info_remedy_vulkan (const InfoMachine *machine, const InfoDevice *device)
{
  gchar *remedy;

  if (device->info.software)
    return software_remedy (machine);
  if (machine->wsl)
    return g_strdup ("use Linux without WSL 2, which has no Vulkan driver that "
                     "could open the window");
  /* CUDA's name of a MIG instance is the name of the GPU, followed by "MIG" and
   * the profile. */
  if (strstr (device->info.name, " MIG "))
    return g_strdup ("use a GPU that is not divided (nvidia-smi -mig 0): "
                     "NVIDIA's Vulkan does not serve MIG instances of this "
                     "one");
  remedy = settings_remedy (machine, "nvidia",
      "NVIDIA's manifest (/usr/share/vulkan/icd.d/nvidia_icd.json)");
  if (remedy)
    return remedy;
  if (!info_machine_has_manifest (machine, "nvidia"))
    return manifest_remedy (machine);
  if (machine->manifest_error)
    return g_strdup_printf ("install what NVIDIA's Vulkan driver needs, for it "
                            "cannot be loaded (%s)",
        machine->manifest_error);
  return g_strdup ("see that CUDA's and Vulkan's drivers are of one version "
                   "(reboot after an update; in a container both come from the "
                   "host); VK_LOADER_DEBUG=error,driver tells which drivers "
                   "are loaded");
}

static gchar *
nvrtc_remedy (const InfoMachine *machine)
{
  const gchar *library = info_machine_setting (machine, "VKGDR_NVRTC");

  if (library)
    return g_strdup_printf ("unset VKGDR_NVRTC (it is \"%s\"), or let it name "
                            "a library of NVRTC 11.2 or newer",
        library);
  return g_strdup ("install NVRTC 11.2 or newer (of the CUDA toolkit, or pip: "
                   "nvidia-cuda-nvrtc), or let VKGDR_NVRTC name its library");
}

gchar *
info_remedy_compiler (const InfoMachine *machine, const InfoDevice *device)
{
  if (device->compiler_error && !device->info.software)
    return nvrtc_remedy (machine);
  if (device->compiler_error)
    return g_strdup ("install softcuda with gst-vkgdr, or let "
                     "VKGDR_SOFTCUDA_DIR name its folder");
  if (device->info.software && !machine->host_compiler)
    return g_strdup ("install a C++ compiler (Debian: g++), or let "
                     "SOFTCUDA_CXX name one");
  return NULL;
}
