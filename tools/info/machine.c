/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * machine.c: data of the machine that the drivers depend on
 *
 * Looks at the environment, at files, and at whether one library can be loaded.
 * Must not draw conclusions.
 */

#include <dlfcn.h>
#include <string.h>

#include "info.h"

/* The variables that select a driver, a library or a device. */
static const gchar *const settings[] = { "VKGDR_DRIVER", "VKGDR_DEBUG",
  "VKGDR_SOFTCUDA_DIR", "VKGDR_VULKAN_LIBRARY", "VKGDR_NVRTC", "CUDA_HOME",
  "CUDA_PATH", "SOFTCUDA_CXX", "CUDA_DEVICE", "CUDA_VISIBLE_DEVICES",
  "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "VK_DRIVER_FILES",
  "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES", "VK_LOADER_DRIVERS_SELECT",
  "VK_LOADER_DRIVERS_DISABLE" };

/* An empty value is the same as no value, except that an empty
 * CUDA_VISIBLE_DEVICES hides all GPUs. */
static GStrv
collect_settings (void)
{
  gchar **found = g_new0 (gchar *, 1);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (settings); i++) {
    const gchar *value = g_getenv (settings[i]);

    if (value && (*value || strcmp (settings[i], "CUDA_VISIBLE_DEVICES") == 0))
      found = g_environ_setenv (found, settings[i], value, TRUE);
  }
  return found;
}

/* --- manifests of Vulkan drivers ------------------------------------------ */

static gint
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *) a, *(const gchar *const *) b);
}

/* Adds the manifests of @folder, in the order of their names. */
static void
add_folder (GPtrArray *found, const gchar *folder)
{
  GPtrArray *here = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  guint i;

  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_suffix (name, ".json"))
      g_ptr_array_add (here, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (here, compare_paths);
  for (i = 0; i < here->len; i++)
    if (!g_ptr_array_find_with_equal_func (
            found, here->pdata[i], g_str_equal, NULL))
      g_ptr_array_add (found, g_strdup (here->pdata[i]));
  g_clear_pointer (&dir, g_dir_close);
  g_ptr_array_unref (here);
}

static void
add_base (GPtrArray *found, const gchar *base)
{
  gchar *folder = g_build_filename (base, "vulkan", "icd.d", NULL);

  add_folder (found, folder);
  g_free (folder);
}

/* The default folders of the loader, in its order. */
static void
add_usual (GPtrArray *found)
{
  static const gchar *const fixed[] = { "/usr/local/etc", "/etc",
    "/usr/local/share", "/usr/share", NULL };
  const gchar *const *base;

  add_base (found, g_get_user_config_dir ());
  for (base = g_get_system_config_dirs (); *base; base++)
    add_base (found, *base);
  add_base (found, g_get_user_data_dir ());
  for (base = g_get_system_data_dirs (); *base; base++)
    add_base (found, *base);
  for (base = fixed; *base; base++)
    add_base (found, *base);
}

/* As in the loader, either of two settings, which list files and folders,
 * replaces all others. */
static GStrv
collect_manifests (const InfoMachine *machine)
{
  const gchar *list = g_environ_getenv (machine->settings, "VK_DRIVER_FILES");
  GPtrArray *found = g_ptr_array_new ();
  gboolean only;
  gchar **paths, **path;

  if (!list)
    list = g_environ_getenv (machine->settings, "VK_ICD_FILENAMES");
  only = list != NULL;
  if (!only)
    list = g_environ_getenv (machine->settings, "VK_ADD_DRIVER_FILES");
  paths = g_strsplit (list ? list : "", G_SEARCHPATH_SEPARATOR_S, -1);
  for (path = paths; *path; path++) {
    if (g_file_test (*path, G_FILE_TEST_IS_DIR))
      add_folder (found, *path);
    else if (g_file_test (*path, G_FILE_TEST_EXISTS))
      g_ptr_array_add (found, g_strdup (*path));
  }
  g_strfreev (paths);
  if (!only)
    add_usual (found);
  g_ptr_array_add (found, NULL);
  return (GStrv) g_ptr_array_free (found, FALSE);
}

/* Returns: (nullable): why the library that the manifest names cannot be
 * loaded. If it can be loaded, it stays loaded, because the process may crash
 * if such a library is unloaded. */
static gchar *
try_library (const gchar *manifest)
{
  gchar *text = NULL, *error = NULL, *name, *end = NULL;

  if (!g_file_get_contents (manifest, &text, NULL, NULL))
    text = g_strdup ("");
  name = strstr (text, "\"library_path\"");
  name = name ? strchr (name + strlen ("\"library_path\""), '"') : NULL;
  end = name ? strchr (++name, '"') : NULL;
  if (end)
    *end = '\0';
  if (!end)
    error = g_strdup_printf ("%s names no library", manifest);
  /* For the loader, a path with a folder is relative to the manifest. */
  else if ((g_path_is_absolute (name) || !strchr (name, '/'))
           && !dlopen (name, RTLD_LAZY | RTLD_LOCAL))
    error = g_strdup (dlerror ());
  g_free (text);
  return error;
}

/* Returns: (nullable): why no library of NVIDIA's manifests can be loaded. */
static gchar *
collect_manifest_error (const InfoMachine *machine)
{
  gchar *error = NULL;
  gchar **path;

  for (path = machine->manifests; *path; path++) {
    if (!strstr (strrchr (*path, '/') ? strrchr (*path, '/') : *path, "nvidia"))
      continue;
    g_free (error);
    error = try_library (*path);
    if (!error)
      return NULL;
  }
  return error;
}

/* --- the machine ---------------------------------------------------------- */

/* Searches in the same way as softcuda. */
static gchar *
find_host_compiler (const InfoMachine *machine)
{
  static const gchar *const usual[] = { "c++", "g++", "clang++" };
  const gchar *own = g_environ_getenv (machine->settings, "SOFTCUDA_CXX");
  gchar *path = own ? g_find_program_in_path (own) : NULL;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (usual) && !path && !own; i++)
    path = g_find_program_in_path (usual[i]);
  return path;
}

static gboolean
exists (const gchar *path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

void
info_machine_collect (InfoMachine *machine)
{
  machine->settings = collect_settings ();
  machine->manifests = collect_manifests (machine);
  machine->manifest_error = collect_manifest_error (machine);
  machine->host_compiler = find_host_compiler (machine);
  machine->kernel_driver = exists ("/proc/driver/nvidia/version");
  machine->container = exists ("/.dockerenv") || exists ("/run/.containerenv")
                       || g_getenv ("container")
                       || g_getenv ("KUBERNETES_SERVICE_HOST")
                       || g_getenv ("NVIDIA_VISIBLE_DEVICES");
  machine->wsl = exists ("/dev/dxg"); /* in WSL 2, this is the GPU */
}

void
info_machine_clear (InfoMachine *machine)
{
  g_clear_pointer (&machine->settings, g_strfreev);
  g_clear_pointer (&machine->manifests, g_strfreev);
  g_clear_pointer (&machine->manifest_error, g_free);
  g_clear_pointer (&machine->host_compiler, g_free);
}
