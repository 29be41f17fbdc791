/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.c: tests of vkgdr-info's verdicts on devices that a machine for
 * tests does not have
 *
 * The devices and machines are made up. Needs no driver.
 */

#include <string.h>

#include <gst/check/gstcheck.h>

#include "cuda-driver.h"
#include "info.h"

#define MIB ((guint64) 1 << 20)
#define GIB ((guint64) 1 << 30)
#define NVIDIA_MANIFEST "/usr/share/vulkan/icd.d/nvidia_icd.json"
#define LVP_MANIFEST "/usr/share/vulkan/icd.d/lvp_icd.json"

/* How a device differs from a good one with a window of 24 GiB, on a machine
 * with NVIDIA's driver; and the finding that has to be there, with words of its
 * remedy. */
typedef struct {
  const gchar *finding; /* NULL: there must be none */
  const gchar *remedy;  /* NULL: there must be none */
  const gchar *text;    /* words of the verdict, or NULL */
  InfoLevel level;
  guint n_others; /* other findings */

  guint64 window, budget, usage;
  vkgdr_obstacle obstacle;
  InfoTrial trial;
  const gchar *name;
  gint mode; /* a compute mode */
  const gchar *compiler_error;
  gboolean not_coherent, software, no_device;

  const gchar *setting, *manifest, *manifest_error, *why_software;
  const gchar *host_compiler;
  gboolean container, wsl, no_kernel_driver, no_manifest;
} Case;

#define STAGED(what) \
  .level = INFO_LIMITED, .obstacle = VKGDR_OBSTACLE_VULKAN_##what, \
  .text = "takes a transfer"
#define VULKAN STAGED (DEVICE), .finding = "vulkan-device"
#define UNUSABLE .level = INFO_UNUSABLE
#define LIMITED .level = INFO_LIMITED
#define NO_CUDA .finding = "cuda-driver", .no_device = TRUE, UNUSABLE
#define SOFTWARE \
  LIMITED, .software = TRUE, .host_compiler = "c++", .finding = "software"

static const Case cases[] = {
  { .text = "ready: the CPU writes directly into 24 GiB of the GPU's memory" },
  /* the window */
  { LIMITED, .window = 246 * MIB, .finding = "small-window",
      .remedy = "enable Resizable BAR and Above 4G decoding in the firmware",
      .text = "works, but the window has just 246 MiB of the GPU's 24 GiB, and "
              "what does not fit takes a transfer (staged)" },
  { LIMITED, .window = 8 * GIB, .finding = "small-window",
      .remedy = "Resizable BAR" },
  { .window = 23 * GIB },
  { LIMITED, .usage = 24 * GIB - 100 * MIB, .finding = "full-window",
      .remedy = "nvidia-smi" },
  /* Other programs may have left less memory than this process already uses. */
  { LIMITED, .usage = 23 * GIB, .budget = GIB, .finding = "full-window",
      .remedy = "nvidia-smi" },
  { .budget = GIB },
  { LIMITED, .not_coherent = TRUE, .finding = "non-coherent" },
  /* the compute mode, and the trial */
  { LIMITED, .mode = CU_COMPUTEMODE_EXCLUSIVE_PROCESS,
      .finding = "compute-mode",
      .remedy = "nvidia-smi -i 0000:01:00.0 -c DEFAULT" },
  { UNUSABLE, .trial = INFO_TRIAL_NO_CONTEXT, .finding = "no-context",
      .remedy = "nvidia-smi" },
  { UNUSABLE, .trial = INFO_TRIAL_NO_CONTEXT, .mode = CU_COMPUTEMODE_PROHIBITED,
      .finding = "compute-mode", .remedy = "-c DEFAULT" },
  { UNUSABLE, .trial = INFO_TRIAL_NO_CONTEXT,
      .mode = CU_COMPUTEMODE_EXCLUSIVE_PROCESS, .finding = "compute-mode",
      .remedy = "-c DEFAULT" },
  { UNUSABLE, .trial = INFO_TRIAL_WRONG_BYTES, .finding = "wrong-bytes",
      .remedy = "another version of the driver" },
  { UNUSABLE, .trial = INFO_TRIAL_NO_MEMORY, .finding = "no-memory",
      .remedy = "nvidia-smi" },
  { UNUSABLE, .trial = INFO_TRIAL_NO_MEMORY,
      .obstacle = VKGDR_OBSTACLE_VULKAN_LOADER, .finding = "no-memory",
      .remedy = "nvidia-smi", .n_others = 1 },
  /* obstacles that do not depend on the machine */
  { UNUSABLE, .obstacle = VKGDR_OBSTACLE_HOST_MEMORY, .finding = "host-memory",
      .remedy = "end programs" },
  { UNUSABLE, .obstacle = VKGDR_OBSTACLE_CUDA_DRIVER, .finding = "cuda-driver",
      .remedy = "libcuda1" },
  { UNUSABLE, .obstacle = VKGDR_OBSTACLE_CUDA_DEVICE, .finding = "cuda-device",
      .remedy = "dmesg" },
  { UNUSABLE, .obstacle = VKGDR_OBSTACLE_SETTINGS, .finding = "settings",
      .remedy = "VKGDR_DEBUG" },
  { LIMITED, .obstacle = VKGDR_OBSTACLE_WINDOW, .finding = "no-window",
      .remedy = "Resizable BAR", .text = "takes a transfer" },
  { LIMITED, .obstacle = VKGDR_OBSTACLE_EXPORT, .finding = "export",
      .remedy = "newer driver", .text = "takes a transfer" },
  /* Vulkan's loader */
  { STAGED (LOADER), .finding = "vulkan-loader", .remedy = "libvulkan1" },
  { STAGED (LOADER), .finding = "vulkan-loader", .container = TRUE,
      .remedy = "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video,utility" },
  { STAGED (LOADER), .finding = "vulkan-loader",
      .setting = "VKGDR_VULKAN_LIBRARY=/x",
      .remedy = "unset VKGDR_VULKAN_LIBRARY (it is \"/x\"), or let" },
  { STAGED (LOADER), .finding = "vulkan-loader",
      .setting = "VKGDR_DEBUG=no-vulkan", .n_others = 1 },
  /* Vulkan's driver */
  { STAGED (DRIVER), .finding = "vulkan-driver", .remedy = "one version" },
  { VULKAN, .remedy = "one version" },
  { VULKAN, .manifest_error = "libX11.so.6 is not there",
      .remedy = "(libX11.so.6 is not there)" },
  { VULKAN, .manifest_error = "libX11.so.6 is not there",
      .setting = "VK_LOADER_DRIVERS_SELECT=lvp*",
      .remedy = "unset VK_LOADER_DRIVERS_SELECT (it is \"lvp*\"), which" },
  { VULKAN, .setting = "VK_LOADER_DRIVERS_SELECT=lvp*",
      .name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb", .remedy = "-mig 0" },
  { VULKAN, .manifest = LVP_MANIFEST, .remedy = NVIDIA_MANIFEST },
  { VULKAN, .manifest = LVP_MANIFEST, .setting = "VK_ICD_FILENAMES=/x.json",
      .remedy = "unset VK_ICD_FILENAMES" },
  { VULKAN, .wsl = TRUE, .remedy = "WSL 2" },
  { VULKAN, .no_manifest = TRUE, .container = TRUE,
      .remedy = "NVIDIA_DRIVER_CAPABILITIES=all, or with graphics among them "
                "(now it is not set)" },
  { VULKAN, .no_manifest = TRUE, .container = TRUE,
      .setting = "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
      .remedy = "(now \"compute,utility\")" },
  { VULKAN, .no_manifest = TRUE, .container = TRUE,
      .setting = "NVIDIA_DRIVER_CAPABILITIES=graphics,utility",
      .remedy = "nvidia-container-toolkit" },
  /* CUDA's driver */
  { NO_CUDA, .remedy = "libcuda1" },
  { NO_CUDA, .container = TRUE, .remedy = "start the container with the GPU" },
  { NO_CUDA, .container = TRUE, .setting = "CUDA_VISIBLE_DEVICES=",
      .remedy = "unset CUDA_VISIBLE_DEVICES (it is \"\")" },
  { NO_CUDA, .container = TRUE, .setting = "CUDA_VISIBLE_DEVICES=",
      .no_kernel_driver = TRUE, .remedy = "on the host" },
  { NO_CUDA, .no_kernel_driver = TRUE,
      .remedy = "install NVIDIA's driver (Debian: nvidia-driver)" },
  { NO_CUDA, .setting = "VKGDR_DRIVER=software",
      .remedy = "VKGDR_SOFTCUDA_DIR" },
  { NO_CUDA, .setting = "VKGDR_DRIVER=nvidia",
      .remedy = "without a GPU, unset VKGDR_DRIVER" },
  { NO_CUDA, .setting = "VKGDR_DRIVER=voodoo",
      .remedy = "auto, nvidia or software" },
  /* the software device */
  { SOFTWARE, .remedy = "unset VKGDR_DRIVER" },
  { SOFTWARE, .why_software = "no libcuda.so.1", .no_kernel_driver = TRUE,
      .remedy = "if there is an NVIDIA GPU, install NVIDIA's driver" },
  { SOFTWARE, .why_software = "CUDA_ERROR_NO_DEVICE",
      .setting = "CUDA_VISIBLE_DEVICES=", .n_others = 1,
      .obstacle = VKGDR_OBSTACLE_VULKAN_DEVICE,
      .text = "Vulkan has no software device",
      .remedy = "unset CUDA_VISIBLE_DEVICES" },
  { LIMITED, .software = TRUE, .n_others = 1, .finding = "no-compiler",
      .text = "built-in effects", .remedy = "SOFTCUDA_CXX" },
  { LIMITED, .software = TRUE, .n_others = 1, .finding = "vulkan-device",
      .host_compiler = "c++", .obstacle = VKGDR_OBSTACLE_VULKAN_DEVICE,
      .remedy = "mesa-vulkan-drivers" },
  /* compilers */
  { LIMITED, .compiler_error = "none", .finding = "no-compiler",
      .remedy = "install NVRTC" },
  { LIMITED, .compiler_error = "none", .finding = "no-compiler",
      .setting = "VKGDR_NVRTC=/x",
      .remedy = "unset VKGDR_NVRTC (it is \"/x\"), or let it" },
  /* several findings */
  { LIMITED, .compiler_error = "none", .not_coherent = TRUE,
      .mode = CU_COMPUTEMODE_EXCLUSIVE_PROCESS, .n_others = 2,
      .finding = "compute-mode", .remedy = "for several" },
};

static void
make_device (const Case *c, InfoDevice *device)
{
  vkgdr_device_info *info = &device->info;
  gboolean staged;

  device->obstacle = c->obstacle;
  staged = info_device_is_staged (device);
  device->memory_size = 24 * GIB;
  device->compute_mode = c->mode;
  device->compiler_error = (gchar *) c->compiler_error;
  device->trial = c->trial;
  if (!c->trial && (staged || !c->obstacle))
    device->trial = INFO_TRIAL_PASSED;
  g_strlcpy (info->name, c->name ? c->name : "NVIDIA GPU", sizeof (info->name));
  g_strlcpy (info->pci_address, "0000:01:00.0", sizeof (info->pci_address));
  info->software = c->software;
  info->window_size = staged ? 0 : c->window ? c->window : 24 * GIB;
  info->window_budget = c->budget ? c->budget : info->window_size;
  info->window_usage = c->usage;
  info->coherent = !staged && !c->not_coherent;
}

static const InfoFinding *
find (const InfoVerdict *verdict, const gchar *id)
{
  guint i;

  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);

    if (g_strcmp0 (finding->id, id) == 0)
      return finding;
  }
  return NULL;
}

static void
check (const Case *c, const InfoVerdict *verdict)
{
  const InfoFinding *finding = find (verdict, c->finding);

  fail_unless_equals_int (verdict->level, c->level);
  fail_unless_equals_int (
      verdict->findings->len, c->n_others + (c->finding != NULL));
  fail_unless ((finding != NULL) == (c->finding != NULL), "%s", verdict->text);
  fail_unless (
      !c->text || strstr (verdict->text, c->text), "%s", verdict->text);
  fail_unless (!strchr (verdict->text, '\n'));
  if (!c->remedy) {
    fail_unless (!finding || !finding->remedy);
    return;
  }
  fail_unless (finding->remedy && strstr (finding->remedy, c->remedy),
      "no \"%s\" in: %s", c->remedy, finding->remedy);
  fail_unless (strstr (verdict->remedy, finding->remedy) != NULL);
}

GST_START_TEST (test_case)
{
  const Case *c = &cases[__i__];
  gchar *settings[] = { (gchar *) c->setting, NULL };
  gchar *manifests[] = { (gchar *) NVIDIA_MANIFEST, NULL };
  InfoReport report = { .software = c->software,
    .why_software = (gchar *) c->why_software,
    .machine = { .settings = settings,
        .manifests = manifests,
        .manifest_error = (gchar *) c->manifest_error,
        .host_compiler = (gchar *) c->host_compiler,
        .kernel_driver = !c->no_kernel_driver,
        .container = c->container,
        .wsl = c->wsl } };
  InfoDevice device = { 0 };
  InfoVerdict *verdict;

  if (c->manifest || c->no_manifest)
    manifests[0] = (gchar *) c->manifest;
  make_device (c, &device);
  verdict = info_verdict_new (&report, c->no_device ? NULL : &device);
  check (c, verdict);
  info_verdict_free (verdict);
}

GST_END_TEST;

static Suite *
info_verdict_suite (void)
{
  Suite *suite = suite_create ("info-verdict");
  TCase *tc = tcase_create ("made-up devices");

  tcase_add_loop_test (tc, test_case, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tc);
  return suite;
}

GST_CHECK_MAIN (info_verdict);
