/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * verdict.c: whether a device can be used, or why not and what to do
 *
 * A device can be used if the trial with it passed. One table says which facts
 * make a finding, another one has the remedies that depend on the machine.
 * Errors of the libraries have remedies of their own. Calls no driver. So a
 * test can use the report of a device that the machine does not have.
 */

#include <string.h>

#include "info.h"

/* A window is almost full if less than this, and also less than a sixteenth of
 * the window, is free. This is room for a few frames. */
#define LITTLE_FREE ((gint64) 256 << 20)

#define READY \
  "ready: the CPU writes directly into {window-size} of the GPU's memory"
#define STAGED "what is written takes a transfer (staged)"
#define ALLOW "sudo nvidia-smi -i {pci-address} -c DEFAULT"
#define END_PROGRAMS \
  "end other programs that use the GPU (nvidia-smi lists them)"

/* A row is a finding if all conditions in @when hold. A fact is a member of the
 * report, of its settings, of the device or of the probe (info.h). NAME: the
 * fact is neither null nor false; NAME=TEXT: its text contains TEXT; ! negates.
 * In texts, {NAME} is the text of a fact, or the first remedy of this name that
 * applies. */
static const struct {
  const gchar *id, *when, *text, *remedy;
} findings[] = {
  { "cuda-driver", "!obstacle", "there is no CUDA driver with a device",
      "{get-driver}" },
  { "software", "software",
      "it is a software device, for development only: no GPU is in use",
      "if there is an NVIDIA GPU, {use-gpu}" },
  { "cuda-device", "obstacle=cuda-device", "CUDA does not give it out",
      "see whether nvidia-smi lists the GPU, and dmesg whether it is lost" },
  { "{obstacle}", "trial=none !obstacle=cuda-device", "it cannot be opened",
      "{error}" },
  { "{obstacle}", "reason !obstacle=window-memory", STAGED ": {reason}",
      "{get-window}" },
  { "window-memory", "obstacle=window-memory",
      STAGED ": not even a little memory can be had in the window",
      "{get-window}" },

  { "compute-mode", "trial=no-context compute-mode=exclusive-process",
      "another process has it, and its compute mode is exclusive",
      "allow it: " ALLOW },
  { "compute-mode", "trial=no-context compute-mode=prohibited",
      "its compute mode forbids CUDA", "allow it: " ALLOW },
  { "no-context",
      "trial=no-context !compute-mode=exclusive-process "
      "!compute-mode=prohibited",
      "CUDA makes no context on it",
      "see with nvidia-smi whether its memory is full, and with dmesg whether "
      "it is lost" },
  { "no-memory", "trial=no-memory", "not even a little memory can be had",
      END_PROGRAMS ", and install a newer driver if there are none" },
  { "wrong-bytes", "trial=wrong-bytes", "it does not see what the CPU writes",
      "install another version of the driver, and see in dmesg whether the GPU "
      "is lost" },
  { "compute-mode", "trial=passed compute-mode=exclusive-process",
      "its compute mode lets only one process use it at a time",
      "for several: " ALLOW },
  { "small-window", "trial=passed small !software",
      "the window has just {window-size} of the GPU's {memory-size}, and what "
      "does not fit takes a transfer (staged)",
      "{resize-window}" },
  { "full-window", "trial=passed full",
      "only {window-free} of the window is free", END_PROGRAMS },
  { "non-coherent", "trial=passed has-window !coherent",
      "the window is not coherent, so each write is flushed", "" },
  { "no-compiler", "trial=passed compiler-error",
      "kernels in CUDA source cannot be compiled", "{compiler-error}" },
  { "no-compiler", "trial=passed software !compiler-error !host-compiler",
      "kernels, the built-in effects among them, cannot be compiled",
      "install a C++ compiler (Debian: g++), or let SOFTCUDA_CXX name one" },
  { "simulated", "obstacle !obstacle=settings VKGDR_DEBUG",
      "VKGDR_DEBUG={VKGDR_DEBUG} makes it look worse than it is",
      "unset VKGDR_DEBUG" },
};

#define START_CONTAINER \
  "start the container with the GPU (docker run --gpus all -e " \
  "NVIDIA_DRIVER_CAPABILITIES=all), and see that nvidia-smi lists it there"

static const struct {
  const gchar *name, *when, *text;
} remedies[] = {
  { "get-driver", "VKGDR_DRIVER=nvidia",
      "{get-cuda}; without a GPU, unset VKGDR_DRIVER for the software device" },
  { "get-driver", "VKGDR_DRIVER !VKGDR_DRIVER=auto", "{driver-error}" },
  { "get-driver", "", "{get-cuda}" },
  { "use-gpu", "!why-software", "unset VKGDR_DRIVER" },
  { "use-gpu", "", "{get-cuda}" },
  /* If Linux has no NVIDIA driver, this variable is not the cause. */
  { "get-cuda", "nvidia-kernel-driver CUDA_VISIBLE_DEVICES",
      "unset CUDA_VISIBLE_DEVICES (it is \"{CUDA_VISIBLE_DEVICES}\"), or let "
      "it name a GPU that nvidia-smi -L lists" },
  { "get-cuda", "container !nvidia-kernel-driver",
      "install NVIDIA's driver on the host, " START_CONTAINER },
  { "get-cuda", "container", START_CONTAINER },
  { "get-cuda", "nvidia-kernel-driver",
      "install the CUDA library of the driver that the kernel has loaded "
      "(Debian: libcuda1), reboot after an update of the driver, and see that "
      "nvidia-smi lists the GPU" },
  { "get-cuda", "",
      "install NVIDIA's driver (Debian: nvidia-driver), and see that "
      "nvidia-smi lists the GPU" },

  { "resize-window", "!VKGDR_DEBUG=bar",
      "enable Resizable BAR and Above 4G decoding in the firmware" },

  /* The findings "simulated" and "full-window" have the remedy. */
  { "get-window", "VKGDR_DEBUG=no-", "" },
  { "get-window", "obstacle=window-memory VKGDR_DEBUG=bar", "" },
  { "get-window", "obstacle=window-memory full", "" },
  { "get-window", "obstacle=vulkan-loader VKGDR_VULKAN_LIBRARY",
      "unset VKGDR_VULKAN_LIBRARY (it is \"{VKGDR_VULKAN_LIBRARY}\"), or let "
      "it name a Vulkan loader of version 1.1 or newer" },
  { "get-window", "obstacle=vulkan-device name=MIG",
      "use a GPU that is not divided (nvidia-smi -mig 0): NVIDIA's Vulkan does "
      "not serve MIG instances of this one" },
  { "get-window", "obstacle=window-memory", "{reason}" },
  { "get-window", "", "{remedy}" },
};

/* --- facts ---------------------------------------------------------------- */

/* The objects whose members are facts. NULL ends the list. */
typedef JsonObject *Facts[5];

/* Returns: (nullable) (transfer full): the text of a fact, NULL if it is null
 * or false. */
static gchar *
fact (Facts facts, const gchar *name)
{
  JsonNode *node = NULL;
  guint i;

  for (i = 0; facts[i] && !node; i++)
    node = json_object_get_member (facts[i], name);
  if (!node || !JSON_NODE_HOLDS_VALUE (node))
    return NULL;
  switch (json_node_get_value_type (node)) {
  case G_TYPE_BOOLEAN:
    return json_node_get_boolean (node) ? g_strdup ("yes") : NULL;
  case G_TYPE_INT64:
    return info_format_bytes (json_node_get_int (node));
  default:
    return json_node_dup_string (node);
  }
}

static gboolean
applies (Facts facts, const gchar *when)
{
  gchar **conditions = g_strsplit (when, " ", -1), **c;
  gboolean result = TRUE;

  for (c = conditions; *c && result; c++) {
    gboolean negated = **c == '!';
    gchar **words = g_strsplit (*c + negated, "=", 2);
    gchar *text = fact (facts, words[0]);

    result = text && (!words[1] || strstr (text, words[1]));
    result ^= negated;
    g_free (text);
    g_strfreev (words);
  }
  g_strfreev (conditions);
  return result;
}

/* Adds facts that follow from others. */
static void
derive (JsonObject *device, JsonObject *probe)
{
  gint64 size =
      json_object_get_int_member_with_default (device, "window-size", 0);
  gint64 left =
      json_object_get_int_member_with_default (device, "window-free", 0);
  gint64 memory =
      json_object_get_int_member_with_default (device, "memory-size", 0);

  json_object_set_boolean_member (
      probe, "small", size > 0 && size < memory / 2);
  json_object_set_boolean_member (
      probe, "full", size > 0 && left < size / 16 && left < LITTLE_FREE);
}

/* --- the verdict ---------------------------------------------------------- */

/* Appends @text, in which names are replaced by their texts. */
static void
expand (Facts facts, const gchar *text, GString *result)
{
  gchar **parts =
      g_strsplit_set (text, "{}", -1); /* every other one is a name */
  guint i, k;

  for (i = 0; parts[i]; i++) {
    gchar *value = i % 2 ? fact (facts, parts[i]) : g_strdup (parts[i]);

    if (value)
      g_string_append (result, value);
    for (k = 0; !value && k < G_N_ELEMENTS (remedies); k++)
      if (strcmp (remedies[k].name, parts[i]) == 0
          && applies (facts, remedies[k].when)) {
        expand (facts, remedies[k].text, result);
        break;
      }
    g_free (value);
  }
  g_strfreev (parts);
}

/* Sets a member of @finding, and appends it to the line of all findings, if
 * there is one. */
static void
put (Facts facts, JsonObject *finding, const gchar *member, const gchar *text,
    GString *line)
{
  GString *part = g_string_new (NULL);

  expand (facts, text, part);
  json_object_set_string_member (finding, member, part->len ? part->str : NULL);
  if (line && part->len)
    g_string_append_printf (line, "%s%s", line->len ? "; " : "", part->str);
  g_string_free (part, TRUE);
}

JsonObject *
info_judge (JsonObject *report, JsonObject *device, JsonObject *probe)
{
  Facts facts = { report, json_object_get_object_member (report, "settings"),
    device, probe };
  GString *text = g_string_new (NULL), *remedy = g_string_new (NULL);
  JsonObject *verdict = json_object_new ();
  JsonArray *found = json_array_new ();
  gboolean passed = applies (facts, "trial=passed");
  guint i;

  if (device)
    derive (device, probe);
  for (i = 0; i < G_N_ELEMENTS (findings); i++)
    if (applies (facts, findings[i].when)) {
      JsonObject *finding = json_object_new ();

      put (facts, finding, "id", findings[i].id, NULL);
      put (facts, finding, "text", findings[i].text, text);
      put (facts, finding, "remedy", findings[i].remedy, remedy);
      json_array_add_object_element (found, finding);
    }
  json_object_set_string_member (verdict, "level",
      !passed     ? "unusable"
      : text->len ? "limited"
                  : "ready");
  if (passed && text->len == 0)
    expand (facts, READY, text);
  else
    g_string_prepend (text, passed ? "works, but " : "not usable: ");
  json_object_set_string_member (verdict, "text", text->str);
  json_object_set_string_member (
      verdict, "remedy", remedy->len ? remedy->str : NULL);
  json_object_set_array_member (verdict, "findings", found);
  g_string_free (text, TRUE);
  g_string_free (remedy, TRUE);
  return verdict;
}
