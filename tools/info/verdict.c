/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * verdict.c: whether a device can be used, or why not and what to do
 *
 * Uses only the report, and calls no driver. So a test can use the report of a
 * device that the machine does not have. A remedy is a sentence without a full
 * stop.
 */

#include <string.h>

#include "cuda-driver.h"
#include "info.h"

/* The largest window of a GPU without Resizable BAR. */
#define SMALL_WINDOW ((guint64) 256 << 20)

/* A window is almost full if less than this, and also less than a sixteenth of
 * the window, is free. This is room for a few frames. */
#define LITTLE_FREE ((guint64) 256 << 20)

/* --- the device ----------------------------------------------------------- */

gboolean
info_device_is_staged (const InfoDevice *device)
{
  return device->obstacle >= VKGDR_OBSTACLE_VULKAN_LOADER
         && device->obstacle <= VKGDR_OBSTACLE_EXPORT;
}

/* If other processes use much memory, the budget of this process can be less
 * than it already uses. */
guint64
info_device_window_free (const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;

  if (info->window_usage >= info->window_budget)
    return 0;
  return info->window_budget - info->window_usage;
}

gchar *
info_format_bytes (guint64 bytes)
{
  static const gchar *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  gdouble value = bytes;
  guint unit = 0;

  while (value >= 1024 && unit + 1 < G_N_ELEMENTS (units)) {
    value /= 1024;
    unit++;
  }
  return g_strdup_printf (
      "%.*f %s", value == (guint64) value ? 0 : 1, value, units[unit]);
}

/* --- remedies that depend on the machine ---------------------------------- */

/* What is missing. */
typedef enum { CUDA, LOADER, VULKAN, COMPILER } Missing;

/* Facts about the machine and the device. */
enum {
  CONTAINER = 1 << 0,
  KERNEL_DRIVER = 1 << 1,
  WSL = 1 << 2,
  SOFTWARE = 1 << 3, /* the device is softcuda's */
  MIG = 1 << 4,
  LVP_MANIFEST = 1 << 5,
  NV_MANIFEST = 1 << 6,
  BROKEN_MANIFEST = 1 << 7,
  GRAPHICS = 1 << 8,       /* the container has this capability */
  WANTS_SOFTWARE = 1 << 9, /* VKGDR_DRIVER */
  WANTS_UNKNOWN = 1 << 10,
  NO_VULKAN = 1 << 11, /* VKGDR_DEBUG */
  LIBRARY = 1 << 12    /* there is NVRTC, or softcuda's */
};

/* Applies if all facts in @has and none of @lacks are true, and one of the
 * settings, if there are any, is set. A text that begins with a comma follows
 * "unset NAME (it is VALUE)". "%s" is the value of the setting or, without one,
 * what is wrong with NVIDIA's manifest. */
typedef struct {
  Missing missing;
  guint has;
  guint lacks;
  const gchar *settings[2];
  const gchar *text;
} Rule;

#define NO_SETTING \
  { \
    NULL \
  }
#define LISTS \
  { \
    "VK_DRIVER_FILES", "VK_ICD_FILENAMES" \
  }
#define FILTERS \
  { \
    "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE" \
  }
#define ICD "/usr/share/vulkan/icd.d/"
#define HIDES_LVP ", which hides lavapipe's manifest (" ICD "lvp_icd.*.json)"
#define HIDES_NVIDIA ", which hides NVIDIA's manifest (" ICD "nvidia_icd.json)"
#define GET_SOFTCUDA \
  "install softcuda with gst-vkgdr, or let VKGDR_SOFTCUDA_DIR name its folder"
#define START_CONTAINER \
  "start the container with the GPU (docker run --gpus all -e " \
  "NVIDIA_DRIVER_CAPABILITIES=all), and see that nvidia-smi lists it there"
#define CAPABILITIES(now) \
  "start the container with NVIDIA_DRIVER_CAPABILITIES=all, or with graphics " \
  "among them (now " now "), so that it gets " ICD \
  "nvidia_icd.json from the host"
#define GET_LOADER \
  "install the Vulkan loader, libvulkan.so.1, of version 1.1 or newer " \
  "(Debian: libvulkan1)"

/* The first rule that applies gives the remedy. */
static const Rule rules[] = {
  { CUDA, WANTS_UNKNOWN, 0, NO_SETTING,
      "set VKGDR_DRIVER to auto, nvidia or software" },
  { CUDA, WANTS_SOFTWARE, 0, NO_SETTING, GET_SOFTCUDA },
  /* If the kernel has no driver, this setting is not the cause. */
  { CUDA, KERNEL_DRIVER, 0, { "CUDA_VISIBLE_DEVICES" },
      ", or let it name a GPU that nvidia-smi -L lists" },
  { CUDA, CONTAINER, KERNEL_DRIVER, NO_SETTING,
      "install NVIDIA's driver on the host, " START_CONTAINER },
  { CUDA, CONTAINER, 0, NO_SETTING, START_CONTAINER },
  { CUDA, KERNEL_DRIVER, 0, NO_SETTING,
      "install the CUDA library of the driver that the kernel has loaded "
      "(Debian: libcuda1), reboot after an update of the driver, and see that "
      "nvidia-smi lists the GPU" },
  { CUDA, 0, 0, NO_SETTING,
      "install NVIDIA's driver (Debian: nvidia-driver), and see that "
      "nvidia-smi lists the GPU" },

  { LOADER, NO_VULKAN, 0, NO_SETTING, NULL }, /* "simulated" has the remedy */
  { LOADER, 0, 0, { "VKGDR_VULKAN_LIBRARY" },
      ", or let it name a Vulkan loader of version 1.1 or newer" },
  { LOADER, CONTAINER, 0, NO_SETTING,
      GET_LOADER ", and start the container with "
                 "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video,utility" },
  { LOADER, 0, 0, NO_SETTING, GET_LOADER },

  { VULKAN, SOFTWARE, LVP_MANIFEST, LISTS, HIDES_LVP },
  { VULKAN, SOFTWARE | LVP_MANIFEST, 0, FILTERS, HIDES_LVP },
  { VULKAN, SOFTWARE | LVP_MANIFEST, 0, NO_SETTING,
      "install lavapipe anew (Debian: mesa-vulkan-drivers); "
      "VK_LOADER_DEBUG=error,driver tells why its driver is not loaded" },
  { VULKAN, SOFTWARE, 0, NO_SETTING,
      "install lavapipe (Debian: mesa-vulkan-drivers), which brings " ICD
      "lvp_icd.*.json" },
  { VULKAN, WSL, 0, NO_SETTING,
      "use Linux without WSL 2, which has no Vulkan driver that could open the "
      "window" },
  { VULKAN, MIG, 0, NO_SETTING,
      "use a GPU that is not divided (nvidia-smi -mig 0): NVIDIA's Vulkan does "
      "not serve MIG instances of this one" },
  { VULKAN, 0, NV_MANIFEST, LISTS, HIDES_NVIDIA },
  { VULKAN, NV_MANIFEST, 0, FILTERS, HIDES_NVIDIA },
  { VULKAN, BROKEN_MANIFEST, 0, NO_SETTING,
      "install what NVIDIA's Vulkan driver needs, for it cannot be loaded "
      "(%s)" },
  { VULKAN, NV_MANIFEST, 0, NO_SETTING,
      "see that CUDA's and Vulkan's drivers are of one version (reboot after "
      "an update; in a container both come from the host); "
      "VK_LOADER_DEBUG=error,driver tells which drivers are loaded" },
  { VULKAN, CONTAINER | GRAPHICS, 0, NO_SETTING,
      "install the Vulkan part of NVIDIA's driver on the host, and see that "
      "the container gets its " ICD "nvidia_icd.json (a newer "
      "nvidia-container-toolkit brings it)" },
  { VULKAN, CONTAINER, 0, { "NVIDIA_DRIVER_CAPABILITIES" },
      CAPABILITIES ("\"%s\"") },
  { VULKAN, CONTAINER, 0, NO_SETTING, CAPABILITIES ("it is not set") },
  { VULKAN, 0, 0, NO_SETTING,
      "install the Vulkan part of NVIDIA's driver (Debian: nvidia-vulkan-icd, "
      "Ubuntu: libnvidia-gl of the driver's version), which brings " ICD
      "nvidia_icd.json" },

  { COMPILER, SOFTWARE | LIBRARY, 0, NO_SETTING,
      "install a C++ compiler (Debian: g++), or let SOFTCUDA_CXX name one" },
  { COMPILER, SOFTWARE, 0, NO_SETTING, GET_SOFTCUDA },
  { COMPILER, 0, 0, { "VKGDR_NVRTC" },
      ", or let it name a library of NVRTC 11.2 or newer" },
  { COMPILER, 0, 0, NO_SETTING,
      "install NVRTC 11.2 or newer (of the CUDA toolkit, whose folder "
      "CUDA_HOME "
      "or CUDA_PATH may name, or pip: nvidia-cuda-nvrtc), or let VKGDR_NVRTC "
      "name its library" },
};

/* Whether the file name of one of the manifests contains @word. */
static gboolean
has_manifest (const InfoMachine *machine, const gchar *word)
{
  gchar **path;

  for (path = machine->manifests; path && *path; path++) {
    const gchar *slash = strrchr (*path, '/');

    if (strstr (slash ? slash : *path, word))
      return TRUE;
  }
  return FALSE;
}

static const gchar *
value_of (const InfoMachine *machine, const gchar *setting)
{
  return g_environ_getenv (machine->settings, setting);
}

static gboolean
contains (const InfoMachine *machine, const gchar *setting, const gchar *word)
{
  const gchar *value = value_of (machine, setting);

  return value && strstr (value, word);
}

/* @device is nullable. */
static guint
find_facts (const InfoMachine *m, const InfoDevice *device)
{
  static const gchar *const drivers[] = { "auto", "nvidia", "software", NULL };
  const gchar *driver = value_of (m, "VKGDR_DRIVER");
  const struct {
    guint fact;
    gboolean is_true;
  } facts[] = {
    { CONTAINER, m->container },
    { KERNEL_DRIVER, m->kernel_driver },
    { WSL, m->wsl },
    { SOFTWARE, device && device->info.software },
    { MIG, device && strstr (device->info.name, " MIG ") },
    { LVP_MANIFEST, has_manifest (m, "lvp") },
    { NV_MANIFEST, has_manifest (m, "nvidia") },
    { BROKEN_MANIFEST, has_manifest (m, "nvidia") && m->manifest_error },
    { GRAPHICS, contains (m, "NVIDIA_DRIVER_CAPABILITIES", "graphics")
                    || contains (m, "NVIDIA_DRIVER_CAPABILITIES", "all") },
    { WANTS_SOFTWARE, g_strcmp0 (driver, "software") == 0 },
    { WANTS_UNKNOWN, driver && !g_strv_contains (drivers, driver) },
    { NO_VULKAN, contains (m, "VKGDR_DEBUG", "no-vulkan") },
    { LIBRARY, device && !device->compiler_error },
  };
  guint result = 0, i;

  for (i = 0; i < G_N_ELEMENTS (facts); i++)
    if (facts[i].is_true)
      result |= facts[i].fact;
  return result;
}

/* Returns: (nullable): the name of the rule's setting that is set. */
static const gchar *
find_setting (const InfoMachine *machine, const Rule *rule)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (rule->settings); i++)
    if (rule->settings[i] && value_of (machine, rule->settings[i]))
      return rule->settings[i];
  return NULL;
}

/* Returns: (nullable) (transfer full): the remedy. @device is nullable. */
static gchar *
find_remedy (
    const InfoMachine *machine, const InfoDevice *device, Missing missing)
{
  gboolean forced =
      missing == CUDA
      && g_strcmp0 (value_of (machine, "VKGDR_DRIVER"), "nvidia") == 0;
  guint facts = find_facts (machine, device);
  GString *remedy = g_string_new (NULL);
  const gchar *setting = NULL;
  const Rule *rule;

  for (rule = rules;; rule++) { /* the last rule of each kind always applies */
    if (rule->missing != missing || (facts & rule->has) != rule->has
        || (facts & rule->lacks))
      continue;
    setting = find_setting (machine, rule);
    if (setting || !rule->settings[0])
      break;
  }
  if (rule->text && *rule->text == ',')
    g_string_printf (remedy, "unset %s (it is \"%s\")", setting,
        value_of (machine, setting));
  if (rule->text)
    g_string_append_printf (remedy, rule->text,
        setting ? value_of (machine, setting) : machine->manifest_error);
  if (forced)
    g_string_append (
        remedy, "; without a GPU, unset VKGDR_DRIVER for the software device");
  return g_string_free (remedy, remedy->len == 0);
}

/* --- findings ------------------------------------------------------------- */

/* Takes ownership of @text and @remedy, which may be NULL. */
static void
add (InfoVerdict *verdict, InfoLevel level, const gchar *id, gchar *text,
    gchar *remedy)
{
  InfoFinding *finding = g_new (InfoFinding, 1);

  *finding = (InfoFinding){ id, text, remedy };
  g_ptr_array_add (verdict->findings, finding);
  verdict->level = MAX (verdict->level, level);
}

/* The words of a finding. The remedy is NULL if it depends on the machine. */
typedef struct {
  const gchar *id;
  const gchar *text;
  const gchar *remedy;
} Words;

#define FIRMWARE "enable Resizable BAR and Above 4G decoding in the firmware"

static const Words obstacles[] = {
  [VKGDR_OBSTACLE_HOST_MEMORY] = { "host-memory", "the host has no memory left",
      "end programs that are not needed" },
  [VKGDR_OBSTACLE_SETTINGS] = { "settings", "VKGDR_DEBUG cannot be read",
      "correct VKGDR_DEBUG, or unset it" },
  [VKGDR_OBSTACLE_CUDA_DRIVER] = { "cuda-driver", "CUDA has no driver" },
  [VKGDR_OBSTACLE_CUDA_DEVICE] = { "cuda-device", "CUDA does not give it out",
      "see whether nvidia-smi lists the GPU, and dmesg whether it is lost" },
  [VKGDR_OBSTACLE_VULKAN_LOADER] = { "vulkan-loader",
      "the Vulkan loader is missing or too old" },
  [VKGDR_OBSTACLE_VULKAN_DRIVER] = { "vulkan-driver",
      "Vulkan finds no driver" },
  [VKGDR_OBSTACLE_VULKAN_DEVICE] = { "vulkan-device",
      "no Vulkan device has its UUID" },
  [VKGDR_OBSTACLE_WINDOW] = { "no-window",
      "it has no memory of its own that the CPU can write to", FIRMWARE },
  [VKGDR_OBSTACLE_EXPORT] = { "export",
      "Vulkan cannot open it for memory that CUDA shares",
      "install a newer driver, and see whether nvidia-smi lists the GPU" },
};

static const Words trials[INFO_N_TRIALS] = {
  [INFO_TRIAL_NO_CONTEXT] = { "no-context", "CUDA makes no context on it",
      "see with nvidia-smi whether its memory is full, and with dmesg whether "
      "it is lost" },
  [INFO_TRIAL_NO_MEMORY] = { "no-memory", "not even a little memory can be had",
      "end other programs that use the GPU (nvidia-smi lists them), and "
      "install "
      "a newer driver if there are none" },
  [INFO_TRIAL_WRONG_BYTES] = { "wrong-bytes",
      "it does not see what the CPU writes",
      "install another version of the driver, and see in dmesg whether the GPU "
      "is lost" },
};

static void
judge_obstacle (
    InfoVerdict *verdict, const InfoMachine *machine, const InfoDevice *device)
{
  gboolean staged = info_device_is_staged (device);
  Words words = obstacles[device->obstacle];
  Missing missing = VULKAN;

  if (device->obstacle == VKGDR_OBSTACLE_NONE)
    return;
  if (device->obstacle == VKGDR_OBSTACLE_CUDA_DRIVER)
    missing = CUDA;
  else if (device->obstacle == VKGDR_OBSTACLE_VULKAN_LOADER)
    missing = LOADER;
  else if (device->obstacle == VKGDR_OBSTACLE_VULKAN_DEVICE
           && device->info.software)
    words.text = "Vulkan has no software device";
  add (verdict, staged ? INFO_LIMITED : INFO_UNUSABLE, words.id,
      g_strconcat (staged ? "there is no window, so what is written takes a "
                            "transfer (staged): "
                          : "",
          words.text, NULL),
      words.remedy ? g_strdup (words.remedy)
                   : find_remedy (machine, device, missing));
}

static void
judge_trial (InfoVerdict *verdict, const InfoDevice *device)
{
  const Words *words = &trials[device->trial];
  gboolean exclusive = device->compute_mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;

  if (device->trial == INFO_TRIAL_NO_CONTEXT
      && (exclusive || device->compute_mode == CU_COMPUTEMODE_PROHIBITED))
    add (verdict, INFO_UNUSABLE, "compute-mode",
        g_strdup (exclusive ? "another process has it, and its compute mode is "
                              "exclusive"
                            : "its compute mode forbids CUDA"),
        g_strdup_printf ("allow it: sudo nvidia-smi -i %s -c DEFAULT",
            device->info.pci_address));
  else if (words->id)
    add (verdict, INFO_UNUSABLE, words->id, g_strdup (words->text),
        g_strdup (words->remedy));
  else if (exclusive)
    add (verdict, INFO_LIMITED, "compute-mode",
        g_strdup ("its compute mode lets only one process use it at a time"),
        g_strdup_printf ("for several: sudo nvidia-smi -i %s -c DEFAULT",
            device->info.pci_address));
}

static void
judge_window (InfoVerdict *verdict, const InfoDevice *device)
{
  guint64 size = device->info.window_size, left;
  gboolean partial = !device->info.software && size < device->memory_size / 2;
  gchar *text = info_format_bytes (size);
  gchar *all = info_format_bytes (device->memory_size);

  if (size <= SMALL_WINDOW || partial)
    add (verdict, INFO_LIMITED, "small-window",
        g_strdup_printf ("the window has just %s%s%s, and what does not fit "
                         "takes a transfer (staged)",
            text, partial ? " of the GPU's " : "", partial ? all : ""),
        g_strdup (FIRMWARE));
  g_free (text);
  left = info_device_window_free (device);
  text = info_format_bytes (left);
  if (left < size / 16 && left < LITTLE_FREE)
    add (verdict, INFO_LIMITED, "full-window",
        g_strdup_printf ("only %s of the window is free", text),
        g_strdup (
            "end other programs that use the GPU (nvidia-smi lists them)"));
  if (!device->info.coherent)
    add (verdict, INFO_LIMITED, "non-coherent",
        g_strdup ("the window is not coherent, so each write is flushed"),
        NULL);
  g_free (text);
  g_free (all);
}

static void
judge_compiler (
    InfoVerdict *verdict, const InfoMachine *machine, const InfoDevice *device)
{
  gboolean software = device->info.software;

  if (device->compiler_error || (software && !machine->host_compiler))
    add (verdict, INFO_LIMITED, "no-compiler",
        g_strdup (software ? "kernels, the built-in effects among them, cannot "
                             "be compiled"
                           : "kernels in CUDA source cannot be compiled"),
        find_remedy (machine, device, COMPILER));
}

static void
judge_software (InfoVerdict *verdict, const InfoReport *report)
{
  gchar *remedy = report->why_software
                      ? find_remedy (&report->machine, NULL, CUDA)
                      : g_strdup ("unset VKGDR_DRIVER");

  add (verdict, INFO_LIMITED, "software",
      g_strdup (
          "it is a software device, for development only: no GPU is in use"),
      g_strconcat ("if there is an NVIDIA GPU, ", remedy, NULL));
  g_free (remedy);
}

/* --- the verdict ---------------------------------------------------------- */

/* Returns: (nullable): the texts of the findings, or their remedies. */
static gchar *
join (const InfoVerdict *verdict, gboolean remedies)
{
  GString *line = g_string_new (NULL);
  guint i;

  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);
    const gchar *part = remedies ? finding->remedy : finding->text;

    if (part)
      g_string_append_printf (line, "%s%s", line->len ? "; " : "", part);
  }
  return g_string_free (line, line->len == 0);
}

static void
put_in_words (InfoVerdict *verdict, guint64 window)
{
  gboolean ready = verdict->level == INFO_READY;
  gchar *rest = ready ? info_format_bytes (window) : join (verdict, FALSE);

  if (ready)
    verdict->text = g_strdup_printf (
        "ready: the CPU writes directly into %s of the GPU's memory", rest);
  else
    verdict->text = g_strconcat (
        verdict->level == INFO_LIMITED ? "works, but " : "not usable: ", rest,
        NULL);
  verdict->remedy = join (verdict, TRUE);
  g_free (rest);
}

static void
free_finding (gpointer data)
{
  InfoFinding *finding = data;

  g_free (finding->text);
  g_free (finding->remedy);
  g_free (finding);
}

static void
judge (InfoVerdict *verdict, const InfoReport *report, const InfoDevice *device)
{
  const InfoMachine *machine = &report->machine;
  const gchar *debug = value_of (machine, "VKGDR_DEBUG");

  if (device->info.software)
    judge_software (verdict, report);
  judge_obstacle (verdict, machine, device);
  judge_trial (verdict, device);
  if (verdict->level != INFO_UNUSABLE) {
    if (!info_device_is_staged (device))
      judge_window (verdict, device);
    judge_compiler (verdict, machine, device);
  }
  if (debug && device->obstacle != VKGDR_OBSTACLE_SETTINGS)
    add (verdict, INFO_LIMITED, "simulated",
        g_strdup_printf (
            "VKGDR_DEBUG=%s makes it look worse than it is", debug),
        g_strdup ("unset VKGDR_DEBUG"));
}

InfoVerdict *
info_verdict_new (const InfoReport *report, const InfoDevice *device)
{
  InfoVerdict *verdict = g_new0 (InfoVerdict, 1);

  verdict->findings = g_ptr_array_new_with_free_func (free_finding);
  if (device)
    judge (verdict, report, device);
  else
    add (verdict, INFO_UNUSABLE, "cuda-driver",
        g_strdup ("there is no CUDA driver with a device"),
        find_remedy (&report->machine, NULL, CUDA));
  put_in_words (verdict, device ? device->info.window_size : 0);
  return verdict;
}

void
info_verdict_free (InfoVerdict *verdict)
{
  g_ptr_array_unref (verdict->findings);
  g_free (verdict->text);
  g_free (verdict->remedy);
  g_free (verdict);
}
