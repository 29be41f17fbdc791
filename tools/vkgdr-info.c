/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vkgdr-info.c: tells what each CUDA device is and can do, or why it cannot
 *
 * A program over libvkgdr alone: it knows neither GStreamer nor Vulkan, and of
 * CUDA only the table that the core loads.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include <vkgdr/vkgdr.h>

/* Bytes of the allocation that proves that a device works. */
#define TRIAL_SIZE ((size_t) 64 << 10)

/* Bits of vkgdr_memory_type.flags, the lowest first. */
static const char *const flag_names[] = { "device-local", "host-visible",
  "host-coherent", "host-cached", "lazily-allocated", "protected" };
#define N_FLAGS (sizeof (flag_names) / sizeof (flag_names[0]))

static void
print_help (void)
{
  puts ("Usage: vkgdr-info [--help | --version]\n"
        "\n"
        "Tells for each CUDA device what it is, how large the window is that "
        "the\nCPU can write through, and whether memory can be had there.\n"
        "\n"
        "Environment:\n"
        "  VKGDR_DRIVER   auto (default), nvidia or software\n"
        "  VKGDR_DEBUG    bar, bar=SIZE, non-coherent: the device looks worse "
        "than it is\n"
        "\n"
        "Exit status: 0 if at least one device can be used, else 1.");
}

static void
print_error (const char *what)
{
  char *error = vkgdr_last_error ();

  printf ("  %-18s %s\n", what, error ? error : "unknown error");
  free (error);
}

static void
print_bytes (const char *what, uint64_t bytes)
{
  static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  double value = bytes;
  size_t unit = 0;

  while (value >= 1024 && unit + 1 < sizeof (units) / sizeof (units[0])) {
    value /= 1024;
    unit++;
  }
  if (unit == 0)
    printf ("  %-18s %" PRIu64 " bytes\n", what, bytes);
  else
    printf ("  %-18s %.1f %s (%" PRIu64 " bytes)\n", what, value, units[unit],
        bytes);
}

static void
print_uuid (const uint8_t *uuid)
{
  int i;

  printf ("  %-18s ", "UUID");
  for (i = 0; i < 16; i++)
    printf (
        "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  putchar ('\n');
}

static void
print_memory_type (const vkgdr_device_info *info, uint32_t index)
{
  const vkgdr_memory_type *type = &info->memory_types[index];
  size_t i;

  printf ("    %2u%s heap %u (%" PRIu64 " MiB):", index,
      index == info->memory_type ? " *" : "  ", type->heap,
      type->heap_size >> 20);
  for (i = 0; i < N_FLAGS; i++) {
    if (type->flags & (1u << i))
      printf (" %s", flag_names[i]);
  }
  if (type->flags >> N_FLAGS)
    printf (" and %#x", type->flags >> N_FLAGS << N_FLAGS);
  puts (type->flags ? "" : " nothing special");
}

static void
print_info (const vkgdr_device_info *info)
{
  uint32_t version = info->vulkan_api_version;
  uint32_t i;

  printf ("  %-18s %s%s\n", "name", info->name,
      info->software ? " (software: no GPU)" : "");
  print_uuid (info->uuid);
  printf ("  %-18s %s\n", "PCI address",
      info->pci_address[0] ? info->pci_address : "none");
  if (info->bar_size)
    print_bytes ("largest BAR", info->bar_size);
  else
    printf ("  %-18s unknown\n", "largest BAR");
  print_bytes ("window", info->window_size);
  print_bytes ("window, budget", info->window_budget);
  print_bytes ("window, in use", info->window_usage);
  printf ("  %-18s %s\n", "coherent",
      info->coherent ? "yes" : "no: writes have to be flushed");
  printf ("  %-18s %s\n", "host-cached",
      info->host_cached ? "yes" : "no: the CPU reads it slowly");
  printf ("  %-18s %s, API %u.%u.%u\n", "Vulkan driver", info->vulkan_driver,
      version >> 22, (version >> 12) & 0x3ff, version & 0xfff);
  printf ("  %-18s API %d.%d\n", "CUDA driver",
      info->cuda_driver_version / 1000, info->cuda_driver_version % 1000 / 10);
  printf ("  %-18s (* is in use)\n", "memory types");
  for (i = 0; i < info->n_memory_types; i++)
    print_memory_type (info, i);
}

/* Writes through the host's pointer, and reads through the device's. */
static bool
try_bytes (const vkgdr_cuda *cu, vkgdr_memory_t mem)
{
  static uint8_t written[TRIAL_SIZE], read[TRIAL_SIZE];
  CUresult result;

  memset (written, 0xa5, sizeof (written));
  vkgdr_copy_to_bar (
      vkgdr_memory_get_host_ptr (mem), written, sizeof (written), 1);
  vkgdr_memory_flush (mem, 0, sizeof (written));
  result =
      cu->cuMemcpyDtoH (read, vkgdr_memory_get_device_ptr (mem), sizeof (read));
  if (result == CUDA_SUCCESS && memcmp (written, read, sizeof (read)) == 0)
    return true;
  printf ("  %-18s no: the device does not see what the CPU wrote (%d)\n",
      "usable", result);
  return false;
}

static bool
try_memory (const vkgdr_cuda *cu, vkgdr_t g, CUdevice device)
{
  vkgdr_memory_t mem;
  CUcontext context;
  CUresult result;
  bool ok = false;

  result = cu->cuDevicePrimaryCtxRetain (&context, device);
  if (result != CUDA_SUCCESS) {
    printf ("  %-18s no: CUDA makes no context (error %d)\n", "usable", result);
    return false;
  }
  cu->cuCtxPushCurrent (context);
  mem = vkgdr_memory_alloc (g, TRIAL_SIZE, 0);
  if (mem) {
    ok = try_bytes (cu, mem);
    vkgdr_memory_free (mem);
  } else {
    print_error ("usable");
  }
  cu->cuCtxPopCurrent (&context);
  cu->cuDevicePrimaryCtxRelease (device);
  return ok;
}

static bool
show_device (const vkgdr_cuda *cu, int ordinal)
{
  vkgdr_device_info info;
  char name[256] = "";
  CUdevice device;
  vkgdr_t g;
  bool ok;

  printf ("device %d\n", ordinal);
  if (cu->cuDeviceGet (&device, ordinal) != CUDA_SUCCESS) {
    puts ("  cannot be had from CUDA");
    return false;
  }
  g = vkgdr_open (device, 0);
  if (!g) {
    cu->cuDeviceGetName (name, sizeof (name), device);
    printf ("  %-18s %s\n", "name", name);
    print_error ("cannot be opened");
    return false;
  }
  vkgdr_get_device_info (g, &info);
  print_info (&info);
  ok = try_memory (cu, g, device);
  if (ok)
    printf ("  %-18s yes\n", "usable");
  vkgdr_close (g);
  return ok;
}

static bool
show_all (void)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  const char *why;
  bool usable = false;
  int n = 0;
  int i;

  if (!cu) {
    print_error ("no driver");
    return false;
  }
  why = vkgdr_driver_why_software ();
  if (why)
    printf ("software device, because %s\n", why);
  printf ("copies with %s\n", vkgdr_copy_isa ());
  cu->cuDeviceGetCount (&n);
  for (i = 0; i < n; i++)
    usable = show_device (cu, i) || usable;
  return usable;
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--help") == 0) {
    print_help ();
    return EXIT_SUCCESS;
  }
  if (argc == 2 && strcmp (argv[1], "--version") == 0) {
    puts ("vkgdr-info " VKGDR_VERSION);
    return EXIT_SUCCESS;
  }
  if (argc > 1) {
    fprintf (stderr, "vkgdr-info: unknown argument %s; see --help\n", argv[1]);
    return EXIT_FAILURE;
  }
  return show_all () ? EXIT_SUCCESS : EXIT_FAILURE;
}
