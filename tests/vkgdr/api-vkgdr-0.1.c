/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * api-vkgdr-0.1.c: a program written for vkgdr 0.1
 *
 * It uses every function and flag of that API and nothing else: no newer
 * functions, and CUDA's types only through vkgdr.h. It is compiled as C and as
 * C++, with cuda.h of the toolkit and without it, and linked to the shared
 * library. If there is a device with a current context, it uses it. Otherwise
 * it prints the error.
 */

#include <vkgdr/vkgdr.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a memory can be used. */
static int
use_memory (vkgdr_memory_t mem)
{
  CUdeviceptr device = vkgdr_memory_get_device_ptr (mem);
  size_t size = vkgdr_memory_get_size (mem);
  bool coherent = vkgdr_memory_is_coherent (mem);

  memset (vkgdr_memory_get_host_ptr (mem), 0, size);
  vkgdr_memory_flush (mem, 0, size);
  vkgdr_memory_invalidate (mem, 0, size);
  printf ("%zu bytes at %llx, atom %zu, %s\n", size,
      (unsigned long long) device, vkgdr_memory_non_coherent_atom_size (mem),
      coherent ? "coherent" : "not");
  return vkgdr_last_error () == NULL;
}

int
main (void)
{
  const uint32_t flags[] = { 0, VKGDR_OPEN_CURRENT_CONTEXT_BIT,
    VKGDR_OPEN_FORCE_NON_COHERENT_BIT, VKGDR_OPEN_REQUIRE_COHERENT_BIT };
  const uint32_t values[] = { 0, 1, 2, 4 };
  CUdevice device = 0;
  int ok = 1;
  uint32_t i;

  for (i = 0; i < 4; i++) {
    vkgdr_t g = vkgdr_open (device, flags[i]);
    vkgdr_memory_t mem = g ? vkgdr_memory_alloc (g, 4096, 0) : NULL;
    char *error = vkgdr_last_error ();

    printf ("%s\n", error ? error : "no error");
    ok = ok && flags[i] == values[i] && (mem ? use_memory (mem) : !!error);
    free (error);
    vkgdr_memory_free (mem);
    vkgdr_close (g);
  }
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
