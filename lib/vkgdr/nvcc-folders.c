/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcc-folders.c: where CUDA's headers are, and which package has a missing one
 */

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvcc.h"

/* --- a list of folders --------------------------------------------------- */

typedef struct {
  char **paths;
  size_t n;
  bool has_failed; /* no memory */
} List;

static bool
list_has (const List *list, const char *path)
{
  size_t i;

  for (i = 0; i < list->n; i++)
    if (strcmp (list->paths[i], path) == 0)
      return true;
  return false;
}

/* Adds a folder that exists, once. */
static void
list_add (List *list, const char *path)
{
  char real[PATH_MAX];
  struct stat st;
  char **paths;

  if (!realpath (path, real) || stat (real, &st) != 0 || !S_ISDIR (st.st_mode)
      || list_has (list, real))
    return;
  paths = realloc (list->paths, (list->n + 2) * sizeof (*paths));
  if (paths)
    list->paths = paths;
  if (!paths || !(paths[list->n] = strdup (real))) {
    list->has_failed = true;
    return;
  }
  paths[++list->n] = NULL;
}

/* Adds the folders that match "@folder/@pattern" and have CUDA's headers: those
 * of a system can be in the same place. */
static void
list_add_matches (List *list, const char *folder, const char *pattern)
{
  static const char *const marks[] = { "cuda_fp16.h", "crt/host_defines.h",
    "curand_kernel.h", "cuda/std/version", "cccl/cuda/std/version" };
  char path[PATH_MAX];
  glob_t found;
  size_t i, k;

  if (snprintf (path, sizeof (path), "%s/%s", folder, pattern)
          >= (int) sizeof (path)
      || glob (path, 0, NULL, &found) != 0)
    return;
  for (i = 0; i < found.gl_pathc; i++)
    for (k = 0; k < sizeof (marks) / sizeof (*marks); k++) {
      snprintf (path, sizeof (path), "%s/%s", found.gl_pathv[i], marks[k]);
      if (access (path, F_OK) != 0)
        continue;
      list_add (list, found.gl_pathv[i]);
      snprintf (path, sizeof (path), "%s/cccl", found.gl_pathv[i]);
      list_add (list, path);
    }
  globfree (&found);
}

/* --- the places ---------------------------------------------------------- */

/* Removes the last @n names of a path. */
static void
cut (char *path, int n)
{
  char *slash;

  while (n-- > 0 && (slash = strrchr (path, '/')))
    *slash = '\0';
}

/* @folder (nullable) is the value of a variable of the environment. */
static void
add_matches_of (List *list, const char *folder, const char *pattern)
{
  if (folder && *folder)
    list_add_matches (list, folder, pattern);
}

static void
add_toolkit (List *list, const char *folder)
{
  add_matches_of (list, folder, "include");
  add_matches_of (list, folder, "targets/*/include");
}

/* The headers of the compiler that was loaded: those of its toolkit, where the
 * library is in lib or lib64; of NVIDIA's packages of pip, which are beside the
 * library's own (nvidia/cuda_nvrtc/lib); or of Debian's packages
 * (/usr/lib/x86_64-linux-gnu). */
static void
add_compiler (List *list, const void *nvrtc)
{
  char path[PATH_MAX];
  Dl_info info;

  if (!nvrtc || dladdr (nvrtc, &info) == 0 || !realpath (info.dli_fname, path))
    return;
  cut (path, 2);
  add_toolkit (list, path);
  cut (path, 1);
  if (strcmp (strrchr (path, '/') ? strrchr (path, '/') : "", "/nvidia") == 0)
    list_add_matches (list, path, "*/include");
  else
    add_toolkit (list, path);
}

/* Follows links, so that a folder of links leads to the toolkit. */
static void
add_nvcc (List *list)
{
  const char *folders = getenv ("PATH");
  char path[PATH_MAX], real[PATH_MAX];
  size_t length;

  for (; folders && *folders; folders += length + (folders[length] == ':')) {
    length = strcspn (folders, ":");
    if (snprintf (path, sizeof (path), "%.*s/nvcc", (int) length, folders)
            < (int) sizeof (path)
        && access (path, X_OK) == 0 && realpath (path, real)) {
      cut (real, 2);
      add_toolkit (list, real);
      return;
    }
  }
}

/* NVIDIA's packages of pip: those of the environment that is active, of the
 * user, and of the system. */
static void
add_packages (List *list)
{
  static const char headers[] = "lib/python3*/*-packages/nvidia/*/include";
  const char *home = getenv ("HOME");
  char local[PATH_MAX];

  add_matches_of (list, getenv ("VIRTUAL_ENV"), headers);
  add_matches_of (list, getenv ("CONDA_PREFIX"), headers);
  if (home && snprintf (local, sizeof (local), "%s/.local", home) < PATH_MAX)
    list_add_matches (list, local, headers);
  list_add_matches (list, "/usr/local", headers);
}

char **
vkgdr_nvcc_find_folders (const void *nvrtc)
{
  List list = { calloc (1, sizeof (*list.paths)), 0, false };

  list.has_failed = !list.paths;
  add_compiler (&list, nvrtc);
  add_toolkit (&list, getenv ("CUDA_HOME"));
  add_toolkit (&list, getenv ("CUDA_PATH"));
  add_toolkit (&list, getenv ("CUDA_ROOT"));
  add_nvcc (&list);
  add_toolkit (&list, "/usr/local/cuda");
  add_toolkit (&list, "/usr/lib/cuda");
  add_toolkit (&list, "/usr");
  add_packages (&list);
  if (!list.has_failed)
    return list.paths;
  vkgdr_nvcc_free (list.paths);
  return NULL;
}

void
vkgdr_nvcc_load_builtins (const void *nvrtc, int major, int minor)
{
  char folder[PATH_MAX], path[PATH_MAX];
  Dl_info info;

  if (dladdr (nvrtc, &info) == 0 || !strchr (info.dli_fname, '/')
      || snprintf (folder, sizeof (folder), "%s", info.dli_fname) >= PATH_MAX)
    return;
  cut (folder, 1);
  if (snprintf (path, sizeof (path), "%s/libnvrtc-builtins.so.%d.%d", folder,
          major, minor)
      < PATH_MAX)
    dlopen (path, RTLD_NOW | RTLD_LOCAL);
}

/* --- advice -------------------------------------------------------------- */

#define PACKAGE(pip) \
  "CUDA's headers are not complete: install the CUDA toolkit and set " \
  "CUDA_HOME, or install them with pip (" pip \
  ", for CUDA 12 with -cu12 at the end) or as Debian's package " \
  "nvidia-cuda-dev"
#define HOST \
  "NVRTC compiles for the device only: put code for the host between " \
  "#ifndef __CUDACC_RTC__ and #endif"

/* What the log has, in this order. */
static const struct {
  const char *first, *second;
  const char *advice;
} advices[] = {
  { "open source file \"", "cooperative_groups",
      PACKAGE ("nvidia-cuda-runtime and nvidia-cuda-cccl") },
  { "open source file \"", "\"curand", PACKAGE ("nvidia-curand") },
  { "open source file \"", "\"crt/",
      PACKAGE ("nvidia-cuda-crt, for CUDA 12 nvidia-cuda-nvcc") },
  { "open source file \"", "\"cuda/", PACKAGE ("nvidia-cuda-cccl") },
  { "open source file \"", "\"cub/", PACKAGE ("nvidia-cuda-cccl") },
  { "open source file \"", "\"nv/", PACKAGE ("nvidia-cuda-cccl") },
  { "open source file \"", "\"thrust/",
      "Thrust is for the host, which NVRTC does not compile for: use its "
      "algorithms on the device by CUB, or compile with nvcc" },
  { "open source file \"", "\"cuda_", PACKAGE ("nvidia-cuda-runtime") },
  { "open source file \"", "\"cuComplex.h", PACKAGE ("nvidia-cuda-runtime") },
  { "open source file \"", "\"mma.h",
      PACKAGE ("nvidia-cuda-runtime and nvidia-cuda-crt") },
  { "not allowed in JIT mode", "", HOST },
  { "\" is undefined", "\"cuda", HOST },
  { "namespace \"std\" has no member", "\"",
      "Code for the device has only a part of C++'s library: include the "
      "header of the name, such as <type_traits>, which needs CUDA's headers "
      "(pip: nvidia-cuda-cccl); classes of the host, such as std::vector, "
      "cannot be used" },
};

/* Whether a line of the log has both, with the second one after or before the
 * first. */
static bool
has_line (const char *log, const char *first, const char *second)
{
  size_t length;

  for (; *log; log += length + (log[length] == '\n')) {
    const char *at;

    length = strcspn (log, "\n");
    at = memmem (log, length, first, strlen (first));
    if (at && memmem (log, length, second, strlen (second)))
      return true;
  }
  return false;
}

const char *
vkgdr_nvcc_explain (const char *log)
{
  size_t i;

  for (i = 0; i < sizeof (advices) / sizeof (*advices); i++)
    if (has_line (log, advices[i].first, advices[i].second))
      return advices[i].advice;
  return NULL;
}
