/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * machine.c: facts about the machine that the drivers depend on
 *
 * Looks at the environment, at files, and at whether one library can be loaded.
 * Must not draw conclusions.
 */

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

/* The variables that select a driver, a library or a device. */
static const gchar *const variables[] = { "VKGDR_DRIVER", "VKGDR_DEBUG",
  "VKGDR_SOFTCUDA_DIR", "VKGDR_VULKAN_LIBRARY", "VKGDR_NVRTC", "CUDA_HOME",
  "CUDA_PATH", "SOFTCUDA_CXX", "CUDA_DEVICE", "CUDA_VISIBLE_DEVICES",
  "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "VK_DRIVER_FILES",
  "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES", "VK_LOADER_DRIVERS_SELECT",
  "VK_LOADER_DRIVERS_DISABLE" };

/* Returns: (nullable): its value, unless that is empty. */
static const gchar *
variable (const gchar *name)
{
  const gchar *value = g_getenv (name);

  return value && *value ? value : NULL;
}

/* An empty value is the same as none, but an empty CUDA_VISIBLE_DEVICES hides
 * all GPUs. Returns: a{ss} */
static GVariant *
describe_settings (void)
{
  GVariantBuilder settings;
  guint i;

  g_variant_builder_init (&settings, G_VARIANT_TYPE ("a{ss}"));
  for (i = 0; i < G_N_ELEMENTS (variables); i++) {
    const gchar *value = g_getenv (variables[i]);

    if (value && (*value || strcmp (variables[i], "CUDA_VISIBLE_DEVICES") == 0))
      g_variant_builder_add (
          &settings, "{ss}", variables[i], info_keep (g_strdup (value)));
  }
  return g_variant_builder_end (&settings);
}

/* Adds the files that match, in the order of their names, each once. */
static void
add_matches (GPtrArray *found, const gchar *folder, const gchar *rest)
{
  gchar *pattern = g_build_filename (folder, rest, NULL);
  glob_t matches;
  gsize i;

  if (glob (pattern, 0, NULL, &matches) == 0) {
    for (i = 0; i < matches.gl_pathc; i++)
      if (!g_ptr_array_find_with_equal_func (
              found, matches.gl_pathv[i], g_str_equal, NULL))
        g_ptr_array_add (found, g_utf8_make_valid (matches.gl_pathv[i], -1));
    globfree (&matches);
  }
  g_free (pattern);
}

/* The manifests of Vulkan drivers, in the loader's order. Settings that filter
 * drivers by name are not considered. */
static GPtrArray *
find_manifests (void)
{
  static const gchar *const fixed[] = { "/usr/local/etc", "/etc",
    "/usr/local/share", "/usr/share", NULL };
  const gchar *user[][2] = { { g_get_user_config_dir () },
    { g_get_user_data_dir () } };
  const gchar *const *const folders[] = { user[0], g_get_system_config_dirs (),
    user[1], g_get_system_data_dirs (), fixed };
  GPtrArray *found = g_ptr_array_new_with_free_func (g_free);
  const gchar *only = variable ("VK_DRIVER_FILES"), *more, *const * folder;
  gchar **paths, **path;
  guint i;

  if (!only)
    only = variable ("VK_ICD_FILENAMES");
  more = only ? only : variable ("VK_ADD_DRIVER_FILES");
  paths = g_strsplit (more ? more : "", G_SEARCHPATH_SEPARATOR_S, -1);
  for (path = paths; *path; path++)
    add_matches (found, *path,
        g_file_test (*path, G_FILE_TEST_IS_DIR) ? "*.json" : NULL);
  g_strfreev (paths);
  for (i = 0; i < G_N_ELEMENTS (folders) && !only; i++)
    for (folder = folders[i]; *folder; folder++)
      add_matches (found, *folder, "vulkan/icd.d/*.json");
  return found;
}

/* Returns: (nullable): why the library that the manifest names cannot be
 * loaded. If it can be loaded, it stays loaded, because the process may crash
 * if such a library is unloaded. */
static gchar *
try_library (const gchar *manifest)
{
  gchar *text = NULL, *error = NULL, name[4096];
  const gchar *member;

  g_file_get_contents (manifest, &text, NULL, NULL);
  member = text ? strstr (text, "\"library_path\"") : NULL;
  if (!member || sscanf (member, "\"library_path\" : \"%4095[^\"]", name) != 1)
    error = g_strdup_printf ("%s names no library", manifest);
  /* For the loader, a path with a folder is relative to the manifest. */
  else if ((g_path_is_absolute (name) || !strchr (name, '/'))
           && !dlopen (name, RTLD_LAZY | RTLD_LOCAL))
    error = g_strdup (dlerror ());
  g_free (text);
  return error;
}

/* Returns: (nullable): why no library of NVIDIA's manifests can be loaded. */
static const gchar *
find_manifest_error (GPtrArray *manifests)
{
  gchar *error = NULL;
  gboolean works = FALSE;
  guint i;

  for (i = 0; i < manifests->len && !works; i++) {
    const gchar *slash = strrchr (manifests->pdata[i], '/');

    if (!strstr (slash ? slash : manifests->pdata[i], "nvidia"))
      continue;
    g_free (error);
    error = try_library (manifests->pdata[i]);
    works = error == NULL;
  }
  return info_keep (error);
}

/* Searches in the same way as softcuda. Returns: (nullable) */
static const gchar *
find_host_compiler (void)
{
  const gchar *own = variable ("SOFTCUDA_CXX");
  const gchar *const names[] = { own ? own : "c++", "g++", "clang++" };
  gchar *path = NULL;
  guint i;

  for (i = 0; i < (own ? 1 : G_N_ELEMENTS (names)) && !path; i++)
    path = g_find_program_in_path (names[i]);
  return info_keep (path);
}

static gboolean
exists (const gchar *path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

JsonObject *
info_describe_machine (void)
{
  gboolean container = exists ("/.dockerenv") || exists ("/run/.containerenv")
                       || g_getenv ("container")
                       || g_getenv ("KUBERNETES_SERVICE_HOST")
                       || g_getenv ("NVIDIA_VISIBLE_DEVICES");
  GPtrArray *manifests = find_manifests ();
  GVariant *facts;

  facts = g_variant_new_parsed (
      "{'settings': <%*>, 'vulkan-manifests': <%*>,"
      " 'vulkan-manifest-error': <%ms>, 'host-compiler': <%ms>,"
      " 'nvidia-kernel-driver': <%b>, 'container': <%b>, 'wsl': <%b>}",
      describe_settings (),
      g_variant_new_strv (
          (const gchar *const *) manifests->pdata, manifests->len),
      find_manifest_error (manifests), find_host_compiler (),
      exists ("/proc/driver/nvidia/version"), container,
      /* In WSL 2, this is the GPU. */
      exists ("/dev/dxg"));
  g_ptr_array_unref (manifests);
  return info_take_facts (facts);
}
