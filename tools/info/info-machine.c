/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-machine.c: data of the machine that the drivers depend on
 *
 * Looks at the environment, at files, and at whether one library can be loaded.
 * Must not draw conclusions.
 */

#include "info-machine.h"

#include <dlfcn.h>
#include <string.h>

/* The variables that select a driver, a library or a device. */
static const gchar *const settings[] = { "VKGDR_DRIVER", "VKGDR_DEBUG",
  "VKGDR_SOFTCUDA_DIR", "VKGDR_VULKAN_LIBRARY", "VKGDR_NVRTC", "SOFTCUDA_CXX",
  "CUDA_DEVICE", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
  "NVIDIA_DRIVER_CAPABILITIES", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
  "VK_ADD_DRIVER_FILES", "VK_LOADER_DRIVERS_SELECT",
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

static gint
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *) a, *(const gchar *const *) b);
}

/* Adds the manifests of @folder, in the order of their names. */
static void
add_folder (GPtrArray *found, const gchar *folder)
{
  GPtrArray *here = g_ptr_array_new ();
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  guint i;

  while (dir && (name = g_dir_read_name (dir))) {
    if (g_str_has_suffix (name, ".json"))
      g_ptr_array_add (here, g_build_filename (folder, name, NULL));
  }
  g_ptr_array_sort (here, compare_paths);
  for (i = 0; i < here->len; i++) {
    gchar *path = g_ptr_array_index (here, i);

    if (g_ptr_array_find_with_equal_func (found, path, g_str_equal, NULL))
      g_free (path);
    else
      g_ptr_array_add (found, path);
  }
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

static void
add_bases (GPtrArray *found, const gchar *const *bases)
{
  for (; *bases; bases++)
    add_base (found, *bases);
}

/* Adds the files in a setting of the loader, which lists files and folders. */
static void
add_listed (GPtrArray *found, const gchar *list)
{
  GStrv paths = g_strsplit (list ? list : "", G_SEARCHPATH_SEPARATOR_S, -1);
  gchar **path;

  for (path = paths; *path; path++) {
    if (g_file_test (*path, G_FILE_TEST_IS_DIR))
      add_folder (found, *path);
    else if (g_file_test (*path, G_FILE_TEST_EXISTS))
      g_ptr_array_add (found, g_strdup (*path));
  }
  g_strfreev (paths);
}

/* The default folders of the loader, in its order. */
static void
add_usual (GPtrArray *found)
{
  static const gchar *const fixed[] = { "/usr/local/etc", "/etc",
    "/usr/local/share", "/usr/share", NULL };

  add_base (found, g_get_user_config_dir ());
  add_bases (found, g_get_system_config_dirs ());
  add_base (found, g_get_user_data_dir ());
  add_bases (found, g_get_system_data_dirs ());
  add_bases (found, fixed);
}

/* As in the loader, either of the two settings replaces all others. */
static GStrv
collect_manifests (const InfoMachine *machine)
{
  const gchar *only = info_machine_setting (machine, "VK_DRIVER_FILES");
  GPtrArray *found = g_ptr_array_new ();

  if (!only)
    only = info_machine_setting (machine, "VK_ICD_FILENAMES");
  if (only) {
    add_listed (found, only);
  } else {
    add_listed (found, info_machine_setting (machine, "VK_ADD_DRIVER_FILES"));
    add_usual (found);
  }
  g_ptr_array_add (found, NULL);
  return (GStrv) g_ptr_array_free (found, FALSE);
}

/* Returns the value of "library_path". Nothing else in the file is needed. */
static gchar *
read_library_path (const gchar *manifest)
{
  static const gchar key[] = "\"library_path\"";
  gchar *text = NULL;
  gchar *result = NULL;
  gchar *p;

  if (!g_file_get_contents (manifest, &text, NULL, NULL))
    return NULL;
  p = strstr (text, key);
  p = p ? strchr (p + strlen (key), '"') : NULL;
  if (p && strchr (p + 1, '"'))
    result = g_strndup (p + 1, strcspn (p + 1, "\""));
  g_free (text);
  return result;
}

/* If the library can be loaded, it stays loaded, because the process may crash
 * if such a library is unloaded. */
static gchar *
try_library (const gchar *manifest)
{
  gchar *library = read_library_path (manifest);
  gchar *error = NULL;

  if (!library)
    error = g_strdup_printf ("%s names no library", manifest);
  /* For the loader, a path with a folder is relative to the manifest. */
  else if ((g_path_is_absolute (library) || !strchr (library, '/'))
           && !dlopen (library, RTLD_LAZY | RTLD_LOCAL))
    error = g_strdup (dlerror ());
  g_free (library);
  return error;
}

/* Returns: (nullable): why no library of NVIDIA's manifests can be loaded. */
static gchar *
collect_manifest_error (const InfoMachine *machine)
{
  gchar *error = NULL;
  gchar **path;

  for (path = machine->manifests; *path; path++) {
    gchar *name = g_path_get_basename (*path);
    gboolean nvidia = strstr (name, "nvidia") != NULL;

    g_free (name);
    if (!nvidia)
      continue;
    g_free (error);
    error = try_library (*path);
    if (!error)
      return NULL;
  }
  return error;
}

/* Searches in the same way as softcuda. */
static gchar *
find_host_compiler (const InfoMachine *machine)
{
  static const gchar *const usual[] = { "c++", "g++", "clang++" };
  const gchar *own = info_machine_setting (machine, "SOFTCUDA_CXX");
  gchar *path = NULL;
  guint i;

  if (own)
    return g_find_program_in_path (own);
  for (i = 0; i < G_N_ELEMENTS (usual) && !path; i++)
    path = g_find_program_in_path (usual[i]);
  return path;
}

/* In WSL 2, the GPU has this device file. */
static gboolean
is_wsl (void)
{
  return g_file_test ("/dev/dxg", G_FILE_TEST_EXISTS);
}

static gboolean
is_container (void)
{
  return g_file_test ("/.dockerenv", G_FILE_TEST_EXISTS)
         || g_file_test ("/run/.containerenv", G_FILE_TEST_EXISTS)
         || g_getenv ("container") || g_getenv ("KUBERNETES_SERVICE_HOST")
         || g_getenv ("NVIDIA_VISIBLE_DEVICES");
}

void
info_machine_collect (InfoMachine *machine)
{
  machine->settings = collect_settings ();
  machine->manifests = collect_manifests (machine);
  machine->manifest_error = collect_manifest_error (machine);
  machine->host_compiler = find_host_compiler (machine);
  machine->kernel_driver =
      g_file_test ("/proc/driver/nvidia/version", G_FILE_TEST_EXISTS);
  machine->container = is_container ();
  machine->wsl = is_wsl ();
}
