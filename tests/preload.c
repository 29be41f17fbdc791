/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * preload.c: loads LLVM once, before a test program forks
 *
 * libcheck runs each test case in a child process. If the case uses lavapipe,
 * its process loads LLVM, which takes more processor time than most test cases.
 * A child process already has the libraries that its parent has loaded.
 *
 * Only LLVM stays loaded. Each test case still loads and starts the Vulkan
 * loader and lavapipe, and this project's libraries load and unload in the same
 * way as without this file. Does nothing if lavapipe is not on the library
 * path.
 */

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* A variable that is set for the programs that the test starts. These do not
 * fork, so they do not have to load LLVM. */
#define DONE "VKGDR_TEST_PRELOADED"

/* LLVM is a dependency of lavapipe, so it is in the list of loaded libraries.
 * Its file name has a version. */
static void
keep_llvm (void *lavapipe)
{
  struct link_map *map;

  if (dlinfo (lavapipe, RTLD_DI_LINKMAP, &map))
    return;
  for (; map; map = map->l_next)
    if (strstr (map->l_name, "/libLLVM"))
      dlopen (map->l_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

__attribute__ ((constructor)) static void
preload (void)
{
  const char *debug = getenv ("VKGDR_DEBUG");
  void *lavapipe;

  if (getenv (DONE) || (debug && strstr (debug, "no-vulkan")))
    return;
  setenv (DONE, "1", 1);
  lavapipe = dlopen ("libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
  if (lavapipe) {
    keep_llvm (lavapipe);
    dlclose (lavapipe);
  }
}
