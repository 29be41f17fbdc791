/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.c: tests of vkgdr-info's verdicts on devices that a machine for
 * tests does not have
 *
 * The devices and machines are made up. Needs no driver. test-info.py has the
 * verdicts that the software device can give.
 */

#include <string.h>

#include <gst/check/gstcheck.h>

#include "info.h"

/* A machine with NVIDIA's driver, and a good device with a window of 24 GiB. */
#define GOOD \
  "'nvidia-kernel-driver': <true>, 'name': <'NVIDIA GPU'>," \
  " 'pci-address': <'0000:01:00.0'>, 'compute-mode': <'default'>," \
  " 'memory-size': <int64 0x600000000>, 'has-window': <true>," \
  " 'window-size': <int64 0x600000000>, 'coherent': <true>," \
  " 'window-free': <int64 0x600000000>, 'obstacle': <'none'>," \
  " 'trial': <'passed'>"

#define NONE "<@ms nothing>"
#define OBSTACLE(what) \
  "'window-size': " NONE ", 'has-window': <false>, 'obstacle': <'" what "'>," \
  " 'remedy': <'of libvkgdr'>"
#define BROKEN(what) "'obstacle': <'" what "'>, 'trial': <'none'>"
#define NO_CUDA "'obstacle': " NONE
#define NO_KERNEL_DRIVER "'nvidia-kernel-driver': <false>"
#define EXCLUSIVE "'compute-mode': <'exclusive-process'>"
#define SOFTWARE "'software': <true>, 'host-compiler': <'c++'>"

/* Facts that differ, the level with all findings, words of the remedy (NULL:
 * there is none), and words of the text. */
static const struct {
  const gchar *facts, *findings, *remedy, *text;
} cases[] = {
  { "'software': <false>", "ready:", NULL,
      "ready: the CPU writes directly into 24 GiB of the GPU's memory" },
  /* the window */
  { "'window-size': <int64 0xf600000>", "limited: small-window",
      "enable Resizable BAR and Above 4G decoding in the firmware",
      "works, but the window has just 246 MiB of the GPU's 24 GiB, and what "
      "does not fit takes a transfer (staged)" },
  { "'window-size': <int64 0x200000000>", "limited: small-window",
      "Resizable BAR", "8 GiB" },
  { "'window-size': <int64 0x5c0000000>", "ready:", NULL, "23 GiB" },
  { "'window-free': <int64 0x6400000>", "limited: full-window", "nvidia-smi",
      "only 100 MiB of the window is free" },
  { "'window-free': <int64 0x40000000>", "ready:", NULL, "" },
  /* the compute mode */
  { EXCLUSIVE, "limited: compute-mode", "nvidia-smi -i 0000:01:00.0 -c DEFAULT",
      "only one process" },
  { "'trial': <'no-context'>, 'compute-mode': <'prohibited'>",
      "unusable: compute-mode", "-c DEFAULT", "forbids" },
  { "'trial': <'no-context'>, " EXCLUSIVE, "unusable: compute-mode",
      "-c DEFAULT", "another process" },
  /* obstacles */
  { BROKEN ("host-memory"), "unusable: host-memory", "end programs", "" },
  { BROKEN ("cuda-driver"), "unusable: cuda-driver", "libcuda1", "" },
  { OBSTACLE ("export"), "limited: export", "of libvkgdr", "a transfer" },
  { OBSTACLE ("vulkan-driver"), "limited: vulkan-driver", "of libvkgdr", "" },
  { OBSTACLE ("vulkan-device"), "limited: vulkan-device", "of libvkgdr", "" },
  { OBSTACLE ("vulkan-device") ", 'name': <'NVIDIA A100 MIG 1g.5gb'>",
      "limited: vulkan-device", "-mig 0", "" },
  /* CUDA's driver */
  { NO_CUDA ", 'container': <true>", "unusable: cuda-driver",
      "start the container with the GPU", "no CUDA driver" },
  { NO_CUDA ", 'container': <true>, 'CUDA_VISIBLE_DEVICES': <''>",
      "unusable: cuda-driver", "unset CUDA_VISIBLE_DEVICES (it is \"\")", "" },
  { NO_CUDA ", 'container': <true>, " NO_KERNEL_DRIVER
            ", 'CUDA_VISIBLE_DEVICES': <''>",
      "unusable: cuda-driver", "on the host", "" },
  { NO_CUDA ", " NO_KERNEL_DRIVER, "unusable: cuda-driver",
      "install NVIDIA's driver (Debian: nvidia-driver)", "" },
  { NO_CUDA ", 'VKGDR_DRIVER': <'nvidia'>", "unusable: cuda-driver",
      "without a GPU, unset VKGDR_DRIVER", "" },
  /* the software device */
  { SOFTWARE ", 'why-software': <'no libcuda.so.1'>, " NO_KERNEL_DRIVER,
      "limited: software", "if there is an NVIDIA GPU, install NVIDIA's driver",
      "" },
  { SOFTWARE ", 'why-software': <'CUDA_ERROR_NO_DEVICE'>, "
             "'CUDA_VISIBLE_DEVICES': <''>, " OBSTACLE ("vulkan-device"),
      "limited: software vulkan-device",
      "unset CUDA_VISIBLE_DEVICES (it is \"\"), or let it name a GPU that "
      "nvidia-smi -L lists; of libvkgdr",
      "" },
  { "'software': <true>, 'window-size': <int64 0x200000000>",
      "limited: software no-compiler", "SOFTCUDA_CXX", "built-in effects" },
  /* compilers */
  { "'compiler-error': <'none'>", "limited: no-compiler", "install NVRTC",
      "kernels in CUDA source" },
  { "'compiler-error': <'none'>, 'VKGDR_NVRTC': <'/x'>", "limited: no-compiler",
      "unset VKGDR_NVRTC (it is \"/x\"), or let it", "" },
  /* several findings */
  { "'compiler-error': <'none'>, 'coherent': <false>, " EXCLUSIVE,
      "limited: compute-mode non-coherent no-compiler",
      "for several: sudo nvidia-smi -i 0000:01:00.0 -c DEFAULT; install NVRTC",
      "at a time; the window is not coherent" },
};

/* Returns: (transfer full): the last one of several members with a name counts.
 */
static JsonObject *
make_facts (const gchar *good, const gchar *others)
{
  gchar *text = g_strdup_printf ("@a{sv} {%s, %s}", good, others);
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
  JsonObject *device = make_facts (GOOD, cases[__i__].facts);
  JsonObject *report = make_facts ("'settings': <@a{sv} {}>", "'wsl': <false>");
  JsonObject *probe = json_object_new ();
  JsonObject *verdict = info_judge (report, probe, device);
  GString *found =
      g_string_new (json_object_get_string_member (verdict, "level"));
  const gchar *remedy =
      json_object_get_string_member_with_default (verdict, "remedy", NULL);
  const gchar *text = json_object_get_string_member (verdict, "text");

  g_string_append_c (found, ':');
  json_array_foreach_element (
      json_object_get_array_member (verdict, "findings"), add_finding, found);
  fail_unless_equals_string (found->str, cases[__i__].findings);
  fail_unless (
      strstr (text, cases[__i__].text) && !strchr (text, '\n'), "%s", text);
  if (cases[__i__].remedy)
    fail_unless (remedy && strstr (remedy, cases[__i__].remedy), "%s", remedy);
  else
    fail_unless (!remedy, "%s", remedy);
  g_string_free (found, TRUE);
  json_object_unref (verdict);
  json_object_unref (probe);
  json_object_unref (report);
  json_object_unref (device);
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
