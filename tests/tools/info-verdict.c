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
#include "info-verdict.h"

#define MIB ((guint64) 1 << 20)
#define GIB ((guint64) 1 << 30)

/* A good machine with one GPU, which the tests then change. Only the strings of
 * the verdict have to be freed. */
typedef struct {
  InfoReport report;
  InfoDevice device;
  gchar *settings[4];
  gchar *manifests[2];
  InfoVerdict *verdict;
} Fixture;

static void
make_good (Fixture *f)
{
  vkgdr_device_info *info = &f->device.info;

  memset (f, 0, sizeof (*f));
  f->report.machine.settings = f->settings;
  f->report.machine.manifests = f->manifests;
  f->report.machine.kernel_driver = TRUE;
  f->manifests[0] = (gchar *) "/usr/share/vulkan/icd.d/nvidia_icd.json";
  f->device.memory_size = 24 * GIB;
  f->device.trial = INFO_TRIAL_PASSED;
  g_strlcpy (info->name, "NVIDIA GPU", sizeof (info->name));
  g_strlcpy (info->pci_address, "0000:01:00.0", sizeof (info->pci_address));
  info->window_size = info->window_budget = 24 * GIB;
  info->coherent = true;
}

/* A machine on which Vulkan does not show the GPU. It works with staging. */
static void
make_without_vulkan (Fixture *f)
{
  make_good (f);
  f->device.obstacle = VKGDR_OBSTACLE_VULKAN_DEVICE;
  f->device.info.window_size = f->device.info.window_budget = 0;
  f->device.info.coherent = false;
}

static void
judge (Fixture *f)
{
  f->verdict = info_verdict_of_device (&f->report, &f->device);
}

/* Checks that there is this finding, and that its remedy contains these words.
 * No finding is expected if the words are NULL. */
static void
check_finding (const Fixture *f, const gchar *id, const gchar *remedy)
{
  guint i;

  for (i = 0; i < f->verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (f->verdict->findings, i);

    if (strcmp (finding->id, id) != 0)
      continue;
    if (!remedy)
      fail_unless (finding->remedy == NULL, "%s", finding->remedy);
    else
      fail_unless (finding->remedy && strstr (finding->remedy, remedy),
          "no \"%s\" in: %s", remedy, finding->remedy);
    return;
  }
  fail ("no finding \"%s\": %s", id, f->verdict->text);
}

/* Checks that there is this finding and no other. */
static void
check_only (Fixture *f, InfoLevel level, const gchar *id, const gchar *remedy)
{
  judge (f);
  fail_unless_equals_int (f->verdict->level, level);
  fail_unless_equals_int (f->verdict->findings->len, 1);
  check_finding (f, id, remedy);
  info_verdict_free (f->verdict);
}

GST_START_TEST (test_ready)
{
  Fixture f;

  make_good (&f);
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_READY);
  fail_unless_equals_string (f.verdict->text,
      "ready: the CPU writes directly into 24 GiB of the GPU's memory");
  fail_unless (f.verdict->remedy == NULL);
  fail_unless_equals_int (f.verdict->findings->len, 0);
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_small_window)
{
  Fixture f;

  make_good (&f);
  f.device.info.window_size = f.device.info.window_budget = 246 * MIB;
  judge (&f);
  fail_unless_equals_string (f.verdict->text,
      "works, but the window has just 246 MiB of the GPU's 24 GiB, and what "
      "does not fit takes a transfer (staged)");
  fail_unless_equals_string (f.verdict->remedy,
      "enable Resizable BAR and Above 4G decoding in the firmware");
  info_verdict_free (f.verdict);

  f.device.info.window_size = f.device.info.window_budget = 8 * GIB;
  check_only (&f, INFO_LIMITED, "small-window", "Resizable BAR");
  f.device.info.window_size = f.device.info.window_budget = 23 * GIB;
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_READY);
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_full_window)
{
  Fixture f;

  make_good (&f);
  f.device.info.window_usage = 24 * GIB - 100 * MIB;
  check_only (&f, INFO_LIMITED, "full-window", "nvidia-smi");
  /* Other programs may have left less memory than this process already uses. */
  f.device.info.window_budget = GIB;
  check_only (&f, INFO_LIMITED, "full-window", "nvidia-smi");
  f.device.info.window_usage = 0;
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_READY);
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_several_things)
{
  Fixture f;

  make_good (&f);
  f.device.info.coherent = false;
  f.device.compute_mode = CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  f.device.compiler_error = (gchar *) "NVRTC was not found";
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_LIMITED);
  fail_unless_equals_int (f.verdict->findings->len, 3);
  check_finding (&f, "non-coherent", NULL);
  check_finding (&f, "compute-mode", "nvidia-smi -i 0000:01:00.0 -c DEFAULT");
  check_finding (&f, "no-compiler", "VKGDR_NVRTC");
  fail_unless (strchr (f.verdict->text, '\n') == NULL);
  fail_unless (strstr (f.verdict->remedy, "; ") != NULL);
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_compute_mode)
{
  Fixture f;

  make_good (&f);
  f.device.trial = INFO_TRIAL_NO_CONTEXT;
  check_only (&f, INFO_UNUSABLE, "no-context", "nvidia-smi");
  f.device.compute_mode = CU_COMPUTEMODE_PROHIBITED;
  check_only (&f, INFO_UNUSABLE, "compute-mode", "-c DEFAULT");
  f.device.compute_mode = CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  check_only (&f, INFO_UNUSABLE, "compute-mode", "-c DEFAULT");
}

GST_END_TEST;

GST_START_TEST (test_no_manifest)
{
  Fixture f;

  make_without_vulkan (&f);
  f.manifests[0] = (gchar *) "/usr/share/vulkan/icd.d/lvp_icd.json";
  check_only (&f, INFO_LIMITED, "vulkan-device",
      "/usr/share/vulkan/icd.d/nvidia_icd.json");
  f.settings[0] = (gchar *) "VK_DRIVER_FILES=/x/lvp_icd.json";
  check_only (&f, INFO_LIMITED, "vulkan-device", "unset VK_DRIVER_FILES");
}

GST_END_TEST;

GST_START_TEST (test_container)
{
  Fixture f;

  make_without_vulkan (&f);
  f.manifests[0] = NULL;
  f.report.machine.container = TRUE;
  check_only (&f, INFO_LIMITED, "vulkan-device",
      "NVIDIA_DRIVER_CAPABILITIES=all, or with graphics among them (now it is "
      "not set)");
  f.settings[0] = (gchar *) "NVIDIA_DRIVER_CAPABILITIES=compute,utility";
  check_only (&f, INFO_LIMITED, "vulkan-device", "(now \"compute,utility\")");
  f.settings[0] = (gchar *) "NVIDIA_DRIVER_CAPABILITIES=graphics,utility";
  check_only (&f, INFO_LIMITED, "vulkan-device", "nvidia-container-toolkit");
}

GST_END_TEST;

/* For a device without a window, the remedy is a change of the machine, not
 * another device. A device that fails the trial cannot be used at all. */
GST_START_TEST (test_staged)
{
  Fixture f;

  make_without_vulkan (&f);
  f.device.obstacle = VKGDR_OBSTACLE_VULKAN_LOADER;
  check_only (&f, INFO_LIMITED, "vulkan-loader", "libvulkan1");
  f.report.machine.container = TRUE;
  check_only (&f, INFO_LIMITED, "vulkan-loader",
      "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video,utility");
  f.device.trial = INFO_TRIAL_NO_MEMORY;
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_UNUSABLE);
  check_finding (&f, "no-memory", "nvidia-smi");
  info_verdict_free (f.verdict);

  make_without_vulkan (&f);
  f.report.machine.wsl = TRUE;
  check_only (&f, INFO_LIMITED, "vulkan-device", "WSL 2");

  make_without_vulkan (&f);
  f.device.obstacle = VKGDR_OBSTACLE_VULKAN_LOADER;
  f.settings[0] = (gchar *) "VKGDR_DEBUG=no-vulkan";
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_LIMITED);
  check_finding (&f, "vulkan-loader", NULL);
  check_finding (&f, "simulated", "unset VKGDR_DEBUG");
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_manifest_without_effect)
{
  Fixture f;

  make_without_vulkan (&f);
  check_only (&f, INFO_LIMITED, "vulkan-device", "one version");
  f.report.machine.manifest_error = (gchar *) "libX11.so.6 is not there";
  check_only (&f, INFO_LIMITED, "vulkan-device", "(libX11.so.6 is not there)");
  f.settings[0] = (gchar *) "VK_LOADER_DRIVERS_SELECT=lvp*";
  check_only (
      &f, INFO_LIMITED, "vulkan-device", "unset VK_LOADER_DRIVERS_SELECT");
  g_strlcpy (f.device.info.name, "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
      sizeof (f.device.info.name));
  check_only (&f, INFO_LIMITED, "vulkan-device", "-mig 0");
}

GST_END_TEST;

GST_START_TEST (test_every_obstacle)
{
  Fixture f;
  int obstacle;

  make_without_vulkan (&f);
  for (obstacle = VKGDR_OBSTACLE_NONE + 1; obstacle <= VKGDR_OBSTACLE_EXPORT;
       obstacle++) {
    gboolean staged = obstacle >= VKGDR_OBSTACLE_VULKAN_LOADER;

    f.device.obstacle = (vkgdr_obstacle) obstacle;
    f.device.trial = staged ? INFO_TRIAL_PASSED : INFO_TRIAL_NONE;
    judge (&f);
    fail_unless_equals_int (
        f.verdict->level, staged ? INFO_LIMITED : INFO_UNUSABLE);
    fail_unless (staged == !!strstr (f.verdict->text, "takes a transfer"));
    fail_unless_equals_int (f.verdict->findings->len, 1);
    fail_unless (f.verdict->remedy && *f.verdict->remedy);
    info_verdict_free (f.verdict);
  }
}

GST_END_TEST;

static void
check_nothing (Fixture *f, const gchar *remedy)
{
  f->verdict = info_verdict_of_nothing (&f->report);
  fail_unless_equals_int (f->verdict->level, INFO_UNUSABLE);
  check_finding (f, "cuda-driver", remedy);
  info_verdict_free (f->verdict);
}

GST_START_TEST (test_no_cuda_driver)
{
  Fixture f;

  make_good (&f);
  check_nothing (&f, "libcuda1");
  f.report.machine.container = TRUE;
  check_nothing (&f, "start the container with the GPU");
  f.settings[0] = (gchar *) "CUDA_VISIBLE_DEVICES=";
  check_nothing (&f, "unset CUDA_VISIBLE_DEVICES (it is \"\")");
  f.report.machine.kernel_driver = FALSE;
  check_nothing (&f, "on the host");
  f.report.machine.container = FALSE;
  check_nothing (&f, "install NVIDIA's driver (Debian: nvidia-driver)");
  f.settings[0] = (gchar *) "VKGDR_DRIVER=software";
  check_nothing (&f, "VKGDR_SOFTCUDA_DIR");
}

GST_END_TEST;

GST_START_TEST (test_software_instead)
{
  Fixture f;

  make_good (&f);
  f.device.info.software = true;
  f.report.software = TRUE;
  f.report.machine.host_compiler = (gchar *) "/usr/bin/c++";
  check_only (&f, INFO_LIMITED, "software", "unset VKGDR_DRIVER");
  f.report.why_software = (gchar *) "there is no libcuda.so.1";
  f.report.machine.kernel_driver = FALSE;
  check_only (&f, INFO_LIMITED, "software",
      "if there is an NVIDIA GPU, install NVIDIA's driver");
  f.report.machine.host_compiler = NULL;
  judge (&f);
  check_finding (&f, "no-compiler", "SOFTCUDA_CXX");
  info_verdict_free (f.verdict);
}

GST_END_TEST;

/* If CUDA is hidden, Vulkan's software device may be missing, too. */
GST_START_TEST (test_neither_of_both)
{
  Fixture f;

  make_without_vulkan (&f);
  f.device.info.software = true;
  f.report.software = TRUE;
  f.report.why_software = (gchar *) "CUDA_ERROR_NO_DEVICE";
  f.settings[0] = (gchar *) "CUDA_VISIBLE_DEVICES=";
  judge (&f);
  fail_unless_equals_int (f.verdict->level, INFO_LIMITED);
  check_finding (&f, "software", "unset CUDA_VISIBLE_DEVICES");
  check_finding (&f, "vulkan-device", "mesa-vulkan-drivers");
  fail_unless (strstr (f.verdict->text, "Vulkan has no software device"));
  info_verdict_free (f.verdict);
}

GST_END_TEST;

GST_START_TEST (test_no_compiler)
{
  Fixture f;

  make_good (&f);
  f.device.compiler_error = (gchar *) "NVRTC was not found";
  check_only (&f, INFO_LIMITED, "no-compiler", "install NVRTC");
  f.settings[0] = (gchar *) "VKGDR_NVRTC=/nowhere";
  check_only (&f, INFO_LIMITED, "no-compiler",
      "unset VKGDR_NVRTC (it is \"/nowhere\")");
}

GST_END_TEST;

static Suite *
info_verdict_suite (void)
{
  Suite *suite = suite_create ("info-verdict");
  TCase *tc = tcase_create ("made-up devices");

  tcase_add_test (tc, test_ready);
  tcase_add_test (tc, test_small_window);
  tcase_add_test (tc, test_full_window);
  tcase_add_test (tc, test_several_things);
  tcase_add_test (tc, test_compute_mode);
  tcase_add_test (tc, test_no_manifest);
  tcase_add_test (tc, test_container);
  tcase_add_test (tc, test_staged);
  tcase_add_test (tc, test_manifest_without_effect);
  tcase_add_test (tc, test_every_obstacle);
  tcase_add_test (tc, test_no_cuda_driver);
  tcase_add_test (tc, test_software_instead);
  tcase_add_test (tc, test_neither_of_both);
  tcase_add_test (tc, test_no_compiler);
  suite_add_tcase (suite, tc);
  return suite;
}

GST_CHECK_MAIN (info_verdict);
