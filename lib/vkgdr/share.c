/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * share.c: shares memory with other processes, by file descriptors
 *
 * Exports memory, and imports memory that another process has exported. Knows
 * nothing of how file descriptors are sent to other processes.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memfd.h"
#include "memory.h"

#define UUID_SIZE 16

int
vkgdr_memory_get_fd (vkgdr_memory_t mem)
{
  int fd;

  if (mem->imported) {
    vkgdr_error_set ("memory that was imported is not exported again: use the "
                     "file descriptor of the process that allocated it");
    return -1;
  }
  if (mem->flags & VKGDR_MEMORY_DEVICE_BIT)
    fd = vkgdr_device_memory_export_fd (mem);
  else
    fd = vkgdr_window_memory_export_fd (mem);
  if (fd >= 0)
    vkgdr_error_clear ();
  return fd;
}

void
vkgdr_memory_describe_fd (vkgdr_memory_t mem, vkgdr_fd_info *info)
{
  memset (info, 0, sizeof (*info));
  info->size = mem->size;
  info->flags = mem->flags;
  memcpy (info->device_uuid, mem->g->info.uuid, UUID_SIZE);
  memcpy (info->driver_uuid, mem->g->driver_uuid, UUID_SIZE);
}

static bool
is_known (const uint8_t *uuid)
{
  static const uint8_t unknown[UUID_SIZE];

  return memcmp (uuid, unknown, UUID_SIZE) != 0;
}

static bool
differ (const uint8_t *theirs, const uint8_t *ours)
{
  return is_known (theirs) && is_known (ours)
         && memcmp (theirs, ours, UUID_SIZE) != 0;
}

/* Each version of a driver has its own UUID: memory that one version exports
 * may not be usable in another one. */
static bool
check_origin (vkgdr_t g, const vkgdr_fd_info *info)
{
  char theirs[VKGDR_VK_UUID_TEXT], ours[VKGDR_VK_UUID_TEXT];

  if (differ (info->device_uuid, g->info.uuid)) {
    vkgdr_vk_format_uuid (info->device_uuid, theirs);
    vkgdr_vk_format_uuid (g->info.uuid, ours);
    vkgdr_error_set ("the memory is on another device (its UUID is %s, and "
                     "that of %s is %s): import it on the device that it was "
                     "allocated on",
        theirs, g->info.name, ours);
    return false;
  }
  if (differ (info->driver_uuid, g->driver_uuid)) {
    vkgdr_vk_format_uuid (info->driver_uuid, theirs);
    vkgdr_vk_format_uuid (g->driver_uuid, ours);
    vkgdr_error_set ("the memory was exported by another version of the driver "
                     "(its UUID is %s, and here it is %s): run both processes "
                     "with the same version",
        theirs, ours);
    return false;
  }
  return true;
}

/* The file of a software device is checked here. The file of a GPU's driver has
 * no size; the driver checks the memory. */
static bool
check_fd (int fd, const vkgdr_fd_info *info)
{
  struct stat status;

  if (fstat (fd, &status) != 0) {
    vkgdr_error_set ("%d is not a file descriptor that can be imported (%s): "
                     "pass one of vkgdr_memory_get_fd()",
        fd, strerror (errno));
    return false;
  }
  return !S_ISREG (status.st_mode) || vkgdr_memfd_check (fd, info->size);
}

static bool
check_info (const vkgdr_fd_info *info)
{
  if (info->flags & ~VKGDR_MEMORY_DEVICE_BIT) {
    vkgdr_error_set ("memory with the flags %#x cannot be imported: it was "
                     "exported by a newer version of libvkgdr; use that one",
        info->flags);
    return false;
  }
  if (info->size > 0 && info->size <= PTRDIFF_MAX)
    return true;
  vkgdr_error_set (
      "memory of %llu bytes cannot be imported: pass the size that "
      "vkgdr_memory_describe_fd() gave",
      (unsigned long long) info->size);
  return false;
}

vkgdr_memory_t
vkgdr_memory_import_fd (vkgdr_t g, int fd, const vkgdr_fd_info *info)
{
  vkgdr_memory_t mem;
  bool ok;

  if (!check_info (info) || !check_origin (g, info) || !check_fd (fd, info))
    return NULL;
  mem = vkgdr_memory_new (g, info->size, info->flags);
  if (!mem)
    return NULL;
  mem->imported = true;
  if (info->flags & VKGDR_MEMORY_DEVICE_BIT)
    ok = vkgdr_device_memory_import (mem, fd);
  else
    ok = vkgdr_window_memory_import (mem, fd);
  if (!ok) {
    vkgdr_memory_abandon (mem);
    return NULL;
  }
  close (fd);
  vkgdr_error_clear ();
  return mem;
}
