/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.c: tests of vkgdr-info's verdicts on devices that a machine for
 * tests does not have
 *
 * The devices and machines are made up. Needs no driver. test-info.py has the
 * verdicts that the software device can give.
 */

#include <gst/check/gstcheck.h>

#include "info.h"

/* A machine with NVIDIA's driver, and a good device with a window of 24 GiB. */
#define GOOD \
  "'settings': <@a{sv} {}>, 'nvidia-kernel-driver': <true>, 'name': <'NVIDIA " \
  "GPU'>," \
  " 'pci-address': <'0000:01:00.0'>, 'compute-mode': <'default'>," \
  " 'memory-size': <int64 0x600000000>, 'has-window': <true>," \
  " 'window-size': <int64 0x600000000>, 'coherent': <true>," \
  " 'window-free': <int64 0x600000000>, 'obstacle': <'none'>," \
  " 'trial': <'passed'>"

#define NO_WINDOW(what) \
  "'window-size': <@ms nothing>, 'has-window': <false>, 'reason': <'why'>," \
  " 'remedy': <'of libvkgdr'>, 'obstacle': <'" what "'>"
#define FULL "'window-free': <int64 0x6400000>"
#define NO_CUDA "'obstacle': <@ms nothing>, 'trial': <@ms nothing>"
#define NO_KERNEL_DRIVER "'nvidia-kernel-driver': <false>"
#define NO_CONTEXT "'trial': <'no-context'>"
#define EXCLUSIVE "'compute-mode': <'exclusive-process'>"
#define SOFTWARE "'software': <true>, 'host-compiler': <'c++'>"

/* Facts that differ, and a pattern of the verdict: the level, the findings, the
 * text and the remedy. */
static const struct {
  const gchar *facts, *verdict;
} cases[] = {
  { "'software': <false>",
      "ready: | ready: the CPU writes directly into 24 GiB of the GPU's memory "
      "| " },
  /* the window */
  { "'window-size': <int64 0x200000000>",
      "limited: small-window | works, but the window has just 8 GiB of the "
      "GPU's 24 GiB, and what does not fit takes a transfer (staged) | enable "
      "Resizable BAR and Above 4G decoding in the firmware" },
  { "'window-size': <int64 0x5c0000000>", "ready: | *23 GiB* | " },
  /* without Resizable BAR; the driver needs a part of the 256 MiB */
  { "'window-size': <int64 0xf600000>, 'window-free': <int64 0xf600000>",
      "limited: small-window | *just 246 MiB of the GPU's 24 GiB* | enable "
      "Resizable BAR*" },
  { FULL,
      "limited: full-window | *only 100 MiB of the window* | *nvidia-smi*" },
  { "'window-free': <int64 0x40000000>", "ready: | * | " },
  { FULL ", 'obstacle': <'window-memory'>, 'reason': <'why: enlarge it'>",
      "limited: window-memory full-window | *(staged): not even*; only * | end "
      "other programs that use the GPU (nvidia-smi lists them)" },
  { "'window-size': <int64 0x10000000>, 'VKGDR_DEBUG': <'bar=256M'>",
      "limited: small-window simulated | * | unset VKGDR_DEBUG" },
  { NO_WINDOW ("vulkan-device"),
      "limited: vulkan-device | *a transfer (staged): why | of libvkgdr" },
  { NO_WINDOW ("vulkan-device") ", 'name': <'NVIDIA A100 MIG 1g.5gb'>",
      "limited: vulkan-device | * | *-mig 0*" },
  /* the compute mode */
  { EXCLUSIVE, "limited: compute-mode | *only one process* | for several: sudo "
               "nvidia-smi -i 0000:01:00.0 -c DEFAULT" },
  { NO_CONTEXT ", 'compute-mode': <'prohibited'>",
      "unusable: compute-mode | *forbids* | *-c DEFAULT" },
  { NO_CONTEXT ", " EXCLUSIVE,
      "unusable: compute-mode | *another process* | *-c DEFAULT" },
  { NO_CONTEXT ", 'compute-mode': <'unknown'>",
      "unusable: no-context | not usable: CUDA makes no context on it | *" },
  /* CUDA's driver */
  { NO_CUDA ", 'container': <true>",
      "unusable: cuda-driver | *no CUDA driver* | start the container with*" },
  { NO_CUDA ", 'container': <true>, 'CUDA_VISIBLE_DEVICES': <''>",
      "unusable: cuda-driver | * | unset CUDA_VISIBLE_DEVICES (it is \"\")*" },
  { NO_CUDA ", 'container': <true>, " NO_KERNEL_DRIVER
            ", 'CUDA_VISIBLE_DEVICES': <''>",
      "unusable: cuda-driver | * | *on the host*" },
  { NO_CUDA ", " NO_KERNEL_DRIVER,
      "unusable: cuda-driver | * | *(Debian: nvidia-driver)*" },
  { NO_CUDA ", 'VKGDR_DRIVER': <'nvidia'>",
      "unusable: cuda-driver | * | *libcuda1*; without a GPU, unset "
      "VKGDR_DRIVER*" },
  /* the software device */
  { SOFTWARE ", 'why-software': <'no libcuda.so.1'>, " NO_KERNEL_DRIVER,
      "limited: software | * | if there is an NVIDIA GPU, install NVIDIA's "
      "driver*" },
  { SOFTWARE ", 'why-software': <'CUDA_ERROR_NO_DEVICE'>, "
             "'CUDA_VISIBLE_DEVICES': <''>, " NO_WINDOW ("vulkan-device"),
      "limited: software vulkan-device | * | *unset CUDA_VISIBLE_DEVICES (it "
      "is \"\"), or let it name a GPU that nvidia-smi -L lists; of libvkgdr" },
  { "'software': <true>, 'window-size': <int64 0x200000000>",
      "limited: software no-compiler | *built-in effects* | *SOFTCUDA_CXX*" },
  /* several findings */
  { "'compiler-error': <'get NVRTC'>, 'coherent': <false>, " EXCLUSIVE,
      "limited: compute-mode non-coherent no-compiler | *at a time; the window "
      "is not coherent*; kernels in CUDA source* | for several*; get NVRTC" },
};

/* Returns: (transfer full): facts about the machine and the device. The last
 * one of several members with a name counts. */
static JsonObject *
make_facts (const gchar *others)
{
  gchar *text = g_strdup_printf ("@a{sv} {" GOOD ", %s}", others);
  GVariant *facts = g_variant_parse (NULL, text, NULL, NULL, NULL);
  JsonNode *node = json_gvariant_serialize (facts);
  JsonObject *object = json_node_dup_object (node);

  json_node_unref (node);
  g_variant_unref (facts);
  g_free (text);
  return object;
}

static void
add_finding (JsonArray *findings, guint i, JsonNode *finding, gpointer text)
{
  g_string_append_printf (text, " %s",
      json_object_get_string_member (json_node_get_object (finding), "id"));
}

GST_START_TEST (test_case)
{
  JsonObject *facts = make_facts (cases[__i__].facts);
  JsonObject *verdict = info_judge (facts, facts, facts);
  GString *found = g_string_new (NULL);

  g_string_printf (
      found, "%s:", json_object_get_string_member (verdict, "level"));
  json_array_foreach_element (
      json_object_get_array_member (verdict, "findings"), add_finding, found);
  g_string_append_printf (found, " | %s | %s",
      json_object_get_string_member (verdict, "text"),
      json_object_get_string_member_with_default (verdict, "remedy", ""));
  fail_unless (g_pattern_match_simple (cases[__i__].verdict, found->str),
      "%s\nis not\n%s", found->str, cases[__i__].verdict);
  g_string_free (found, TRUE);
  json_object_unref (verdict);
  json_object_unref (facts);
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
