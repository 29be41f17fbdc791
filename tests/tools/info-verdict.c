/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-verdict.c: tests of vkgdr-info's verdicts on devices that a machine for
 * tests does not have
 *
 * The devices and machines are made up. Needs no driver.
 */

#include <string.h>

#include <gst/check/gstcheck.h>

#include "info.h"

#define MIB ((guint64) 1 << 20)
#define GIB ((guint64) 1 << 30)

/* How a device differs from a good one with a window of 24 GiB, on a machine
 * with NVIDIA's driver; and the finding that has to be there, with words of its
 * remedy. */
typedef struct {
  const gchar *finding; /* NULL: there must be none */
  const gchar *remedy;  /* NULL: there must be none */
  const gchar *text;    /* words of the verdict, or NULL */
  const gchar *level;   /* NULL: ready */
  guint n_others;       /* other findings */

  guint64 window, budget, usage;
  const gchar *obstacle, *trial, *name;
  const gchar *mode; /* a compute mode */
  const gchar *compiler_error;
  gboolean not_coherent, software, no_device;

  const gchar *setting, *why_software, *host_compiler;
  gboolean container, no_kernel_driver;
} Case;

#define OF_LIBRARY "the remedy of libvkgdr"
#define STAGED(what) \
  .level = "limited", .obstacle = "vulkan-" what, .text = "takes a transfer"
#define VULKAN STAGED ("device"), .finding = "vulkan-device"
#define UNUSABLE .level = "unusable"
#define LIMITED .level = "limited"
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
  { LIMITED, .mode = "exclusive-process", .finding = "compute-mode",
      .remedy = "nvidia-smi -i 0000:01:00.0 -c DEFAULT" },
  { UNUSABLE, .trial = "no-context", .finding = "no-context",
      .remedy = "nvidia-smi" },
  { UNUSABLE, .trial = "no-context", .mode = "prohibited",
      .finding = "compute-mode", .remedy = "-c DEFAULT" },
  { UNUSABLE, .trial = "no-context", .mode = "exclusive-process",
      .finding = "compute-mode", .remedy = "-c DEFAULT" },
  { UNUSABLE, .trial = "wrong-bytes", .finding = "wrong-bytes",
      .remedy = "another version of the driver" },
  { UNUSABLE, .trial = "no-memory", .finding = "no-memory",
      .remedy = "nvidia-smi" },
  { UNUSABLE, .trial = "no-memory", .obstacle = "vulkan-loader",
      .finding = "no-memory", .remedy = "nvidia-smi", .n_others = 1 },
  /* obstacles that do not depend on the machine */
  { UNUSABLE, .obstacle = "host-memory", .finding = "host-memory",
      .remedy = "end programs" },
  { UNUSABLE, .obstacle = "cuda-driver", .finding = "cuda-driver",
      .remedy = "libcuda1" },
  { UNUSABLE, .obstacle = "cuda-device", .finding = "cuda-device",
      .remedy = "dmesg" },
  { UNUSABLE, .obstacle = "settings", .finding = "settings",
      .remedy = "VKGDR_DEBUG" },
  { LIMITED, .obstacle = "no-window", .finding = "no-window",
      .remedy = OF_LIBRARY, .text = "takes a transfer" },
  { LIMITED, .obstacle = "export", .finding = "export", .remedy = OF_LIBRARY,
      .text = "takes a transfer" },
  /* Vulkan's loader */
  { STAGED ("loader"), .finding = "vulkan-loader", .remedy = OF_LIBRARY },
  { STAGED ("loader"), .finding = "vulkan-loader",
      .setting = "VKGDR_VULKAN_LIBRARY=/x",
      .remedy = "unset VKGDR_VULKAN_LIBRARY (it is \"/x\"), or let" },
  { STAGED ("loader"), .finding = "vulkan-loader",
      .setting = "VKGDR_DEBUG=no-vulkan", .n_others = 1 },
  /* Vulkan's driver */
  { STAGED ("driver"), .finding = "vulkan-driver", .remedy = OF_LIBRARY },
  { VULKAN, .remedy = OF_LIBRARY },
  { VULKAN, .name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb", .remedy = "-mig 0" },
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
      .obstacle = "vulkan-device", .remedy = "unset CUDA_VISIBLE_DEVICES" },
  { LIMITED, .software = TRUE, .n_others = 1, .finding = "no-compiler",
      .text = "built-in effects", .remedy = "SOFTCUDA_CXX" },
  { LIMITED, .software = TRUE, .n_others = 1, .finding = "vulkan-device",
      .host_compiler = "c++", .obstacle = "vulkan-device",
      .remedy = OF_LIBRARY },
  /* compilers */
  { LIMITED, .compiler_error = "none", .finding = "no-compiler",
      .remedy = "install NVRTC" },
  { LIMITED, .compiler_error = "none", .finding = "no-compiler",
      .setting = "VKGDR_NVRTC=/x",
      .remedy = "unset VKGDR_NVRTC (it is \"/x\"), or let it" },
  /* several findings */
  { LIMITED, .compiler_error = "none", .not_coherent = TRUE,
      .mode = "exclusive-process", .n_others = 2, .finding = "compute-mode",
      .remedy = "for several" },
};

/* Takes ownership of @facts. Returns: (transfer full) */
static JsonObject *
take_facts (GVariant *facts)
{
  JsonNode *node = json_gvariant_serialize (g_variant_ref_sink (facts));
  JsonObject *object = json_node_dup_object (node);

  json_node_unref (node);
  g_variant_unref (facts);
  return object;
}

/* Returns: (transfer full) */
static JsonObject *
make_device (const Case *c)
{
  guint64 window = c->obstacle ? 0 : c->window ? c->window : 24 * GIB;
  guint64 budget = c->budget ? c->budget : window;

  return take_facts (g_variant_new_parsed (
      "{'name': <%s>, 'pci-address': <'0000:01:00.0'>, 'software': <%b>,"
      " 'compute-mode': <%s>, 'memory-size': <%t>, 'has-window': <%b>,"
      " 'window-size': <%mt>, 'window-free': <%mt>, 'coherent': <%mb>,"
      " 'compiler-error': <%ms>}",
      c->name ? c->name : "NVIDIA GPU", c->software,
      c->mode ? c->mode : "default", 24 * GIB, window > 0, window > 0, window,
      window > 0, budget > c->usage ? budget - c->usage : 0, window > 0,
      !c->not_coherent, c->compiler_error));
}

/* Returns: (transfer full) */
static JsonObject *
make_machine (const Case *c)
{
  gchar **setting = g_strsplit (c->setting ? c->setting : "", "=", 2);
  GVariantBuilder settings;
  JsonObject *machine;

  g_variant_builder_init (&settings, G_VARIANT_TYPE ("a{ss}"));
  if (c->setting)
    g_variant_builder_add (&settings, "{ss}", setting[0], setting[1]);
  machine = take_facts (g_variant_new_parsed (
      "{'settings': <%*>, 'host-compiler': <%ms>, 'why-software': <%ms>,"
      " 'nvidia-kernel-driver': <%b>, 'container': <%b>}",
      g_variant_builder_end (&settings), c->host_compiler, c->why_software,
      !c->no_kernel_driver, c->container));
  g_strfreev (setting);
  return machine;
}

/* Returns: (nullable) (transfer none) */
static JsonObject *
find (JsonArray *findings, const gchar *id)
{
  guint i;

  for (i = 0; i < json_array_get_length (findings); i++) {
    JsonObject *finding = json_array_get_object_element (findings, i);

    if (g_strcmp0 (json_object_get_string_member (finding, "id"), id) == 0)
      return finding;
  }
  return NULL;
}

static void
check (const Case *c, JsonObject *verdict)
{
  JsonArray *findings = json_object_get_array_member (verdict, "findings");
  JsonObject *finding = find (findings, c->finding);
  const gchar *text = json_object_get_string_member (verdict, "text");
  const gchar *remedy = NULL;

  fail_unless_equals_string (json_object_get_string_member (verdict, "level"),
      c->level ? c->level : "ready");
  fail_unless_equals_int (
      json_array_get_length (findings), c->n_others + (c->finding != NULL));
  fail_unless ((finding != NULL) == (c->finding != NULL), "%s", text);
  fail_unless (!c->text || strstr (text, c->text), "%s", text);
  fail_unless (!strchr (text, '\n'));
  if (finding)
    remedy = json_object_get_string_member (finding, "remedy");
  if (!c->remedy) {
    fail_unless (!remedy);
    return;
  }
  fail_unless (remedy && strstr (remedy, c->remedy), "no \"%s\" in: %s",
      c->remedy, remedy);
  fail_unless (
      strstr (json_object_get_string_member (verdict, "remedy"), remedy)
      != NULL);
}

GST_START_TEST (test_case)
{
  const Case *c = &cases[__i__];
  gboolean staged = c->obstacle
                    && (g_str_has_prefix (c->obstacle, "vulkan")
                        || strcmp (c->obstacle, "no-window") == 0
                        || strcmp (c->obstacle, "export") == 0);
  const gchar *trial = c->trial                 ? c->trial
                       : staged || !c->obstacle ? "passed"
                                                : "none";
  JsonObject *probe = take_facts (g_variant_new_parsed (
      "{'obstacle': <%s>, 'trial': <%s>, 'remedy': <%ms>}",
      c->obstacle ? c->obstacle : "none", trial, staged ? OF_LIBRARY : NULL));
  JsonObject *report = make_machine (c);
  JsonObject *device = c->no_device ? NULL : make_device (c);

  info_judge (report, device, probe);
  check (
      c, json_object_get_object_member (device ? device : report, "verdict"));
  json_object_unref (probe);
  if (device)
    json_object_unref (device);
  json_object_unref (report);
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
