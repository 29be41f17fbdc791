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

static int
use_memory (vkgdr_memory_t mem)
{
  CUdeviceptr device = vkgdr_memory_get_device_ptr (mem);
  void *host = vkgdr_memory_get_host_ptr (mem);
  size_t size = vkgdr_memory_get_size (mem);
  size_t atom = vkgdr_memory_non_coherent_atom_size (mem);
  bool coherent = vkgdr_memory_is_coherent (mem);

  memset (host, 0, size);
  vkgdr_memory_flush (mem, 0, size);
  vkgdr_memory_invalidate (mem, 0, size);
  printf ("%zu bytes at %llx, atom %zu, %s\n", size,
      (unsigned long long) device, atom, coherent ? "coherent" : "not");
  return vkgdr_last_error () == NULL;
}

/* Prints the last error. Returns whether there is one. */
static int
print_error (void)
{
  char *error = vkgdr_last_error ();
  int ok = error != NULL;

  printf ("%s\n", error ? error : "there is no error message");
  free (error);
  return ok;
}

static int
use_device (vkgdr_t g)
{
  vkgdr_memory_t mem = vkgdr_memory_alloc (g, 4096, 0);
  int ok;

  if (!mem)
    return print_error ();
  ok = use_memory (mem);
  vkgdr_memory_free (mem);
  return ok;
}

int
main (void)
{
  const uint32_t flags[] = { 0, VKGDR_OPEN_CURRENT_CONTEXT_BIT,
    VKGDR_OPEN_FORCE_NON_COHERENT_BIT, VKGDR_OPEN_REQUIRE_COHERENT_BIT };
  CUdevice device = 0;
  vkgdr_t g;
  int ok = 1;
  size_t i;

  for (i = 0; i < sizeof (flags) / sizeof (flags[0]); i++) {
    g = vkgdr_open (device, flags[i]);
    ok = (g ? use_device (g) : print_error ()) && ok;
    vkgdr_close (g);
  }
  return ok && VKGDR_OPEN_CURRENT_CONTEXT_BIT == 1
                 && VKGDR_OPEN_FORCE_NON_COHERENT_BIT == 2
                 && VKGDR_OPEN_REQUIRE_COHERENT_BIT == 4
             ? EXIT_SUCCESS
             : EXIT_FAILURE;
}
