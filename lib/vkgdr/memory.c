/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.c: creates, flushes and frees one allocation, and returns its pointers
 *
 * All parts of a memory are released in one function, release(). Must not know
 * how a device is found, nor how memory is pooled.
 */

#include "memory.h"

#include <stdlib.h>

#include "driver.h"
#include "fence.h"

static bool
check_window (vkgdr_t g)
{
  if (g->obstacle == VKGDR_OBSTACLE_NONE)
    return true;
  vkgdr_error_set_remedy (g->remedy, "%s has no window to allocate in: %s",
      g->info.name, g->reason);
  return false;
}

/* A memory must not be imported in a CUDA context of another device. */
static bool
check_context (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  CUdevice device = -1;
  CUresult result;

  result = cu->cuCtxGetCurrent (&mem->context);
  if (result == CUDA_SUCCESS && !mem->context) {
    vkgdr_error_set ("no CUDA context is current in this thread: make a "
                     "context of device %d current (cuCtxPushCurrent) before "
                     "you allocate memory",
        mem->g->cu_device);
    return false;
  }
  if (result == CUDA_SUCCESS)
    result = cu->cuCtxGetDevice (&device);
  if (result != CUDA_SUCCESS) {
    vkgdr_error_set_cuda ("cuCtxGetDevice", result,
        "see that the current CUDA context has not been destroyed");
    return false;
  }
  if (device != mem->g->cu_device) {
    vkgdr_error_set ("the current CUDA context is of device %d, but the handle "
                     "is of device %d: make a context of device %d current",
        device, mem->g->cu_device, mem->g->cu_device);
    return false;
  }
  return true;
}

/* Makes the memory's context current, unless it already is. */
static CUresult
enter_context (vkgdr_memory_t mem, bool *pushed)
{
  const vkgdr_cuda *cu = mem->g->cu;
  CUcontext current = NULL;
  CUresult result;

  *pushed = false;
  result = cu->cuCtxGetCurrent (&current);
  if (result == CUDA_SUCCESS && current == mem->context)
    return CUDA_SUCCESS;
  result = cu->cuCtxPushCurrent (mem->context);
  *pushed = result == CUDA_SUCCESS;
  return result;
}

/* Continues after a failure, and reports the first one. */
static void
release_cuda (vkgdr_memory_t mem)
{
  CUcontext popped;
  CUresult result;
  bool pushed;

  if (!mem->external && !mem->handle)
    return;
  result = enter_context (mem, &pushed);
  if (result != CUDA_SUCCESS) {
    vkgdr_error_set_cuda ("cuCtxPushCurrent", result,
        "free memory before the CUDA context that it was allocated in");
    return;
  }
  if (mem->flags & VKGDR_MEMORY_DEVICE_BIT)
    vkgdr_device_memory_release_cuda (mem);
  else
    vkgdr_window_memory_release_cuda (mem);
  if (pushed)
    mem->g->cu->cuCtxPopCurrent (&popped);
}

/* Releases all existing parts, in reverse order. */
static void
release (vkgdr_memory_t mem)
{
  vkgdr_t g = mem->g;

  if (!vkgdr_driver_has_ended (g->cu)) {
    release_cuda (mem);
    vkgdr_window_memory_release_vulkan (mem);
  }
  if (mem->counted) {
    vkgdr_debug_window_give (&g->debug, mem->size);
    atomic_fetch_sub (&g->allocated, mem->size);
    atomic_fetch_sub (&g->n_allocations, 1);
  }
  vkgdr_device_unref (g);
  free (mem);
}

/* Keeps the earlier error, which is the cause of later failures. */
void
vkgdr_memory_abandon (vkgdr_memory_t mem)
{
  vkgdr_error error;

  vkgdr_error_save (&error);
  release (mem);
  vkgdr_error_restore (&error);
}

vkgdr_memory_t
vkgdr_memory_new (vkgdr_t g, size_t size, uint32_t flags)
{
  vkgdr_memory_t mem = calloc (1, sizeof (*mem));

  if (!mem) {
    vkgdr_error_set ("no memory is left: end other programs");
    return NULL;
  }
  mem->g = g;
  mem->size = size;
  mem->flags = flags;
  vkgdr_device_ref (g);
  if (check_context (mem))
    return mem;
  vkgdr_memory_abandon (mem);
  return NULL;
}

vkgdr_memory_t
vkgdr_memory_alloc (vkgdr_t g, size_t size, uint32_t flags)
{
  bool in_window = !(flags & VKGDR_MEMORY_DEVICE_BIT);
  vkgdr_memory_t mem;

  if (size == 0) {
    vkgdr_error_set ("the requested size is 0: request at least 1 byte");
    return NULL;
  }
  if (flags & ~VKGDR_MEMORY_DEVICE_BIT) {
    vkgdr_error_set ("vkgdr_memory_alloc() does not know the flags %#x: "
                     "valid flags are those of vkgdr_memory_flags",
        flags & ~VKGDR_MEMORY_DEVICE_BIT);
    return NULL;
  }
  if (in_window && !check_window (g))
    return NULL;
  mem = vkgdr_memory_new (g, size, flags);
  if (!mem)
    return NULL;
  if (in_window ? !vkgdr_window_memory_allocate (mem)
                : !vkgdr_device_memory_allocate (mem)) {
    vkgdr_memory_abandon (mem);
    return NULL;
  }
  vkgdr_error_clear ();
  return mem;
}

void
vkgdr_memory_free (vkgdr_memory_t mem)
{
  if (mem)
    release (mem);
}

void *
vkgdr_memory_get_host_ptr (vkgdr_memory_t mem)
{
  return mem->host;
}

CUdeviceptr
vkgdr_memory_get_device_ptr (vkgdr_memory_t mem)
{
  return mem->pointer;
}

size_t
vkgdr_memory_get_size (vkgdr_memory_t mem)
{
  return mem->size;
}

bool
vkgdr_memory_is_coherent (vkgdr_memory_t mem)
{
  return !mem->host || !mem->vk_memory || mem->g->info.coherent;
}

size_t
vkgdr_memory_non_coherent_atom_size (vkgdr_memory_t mem)
{
  return vkgdr_memory_is_coherent (mem) ? 1 : mem->g->atom_size;
}

/* Extends a range to multiples of the atom size, but not beyond the end of the
 * memory. */
static VkMappedMemoryRange
whole_atoms (vkgdr_memory_t mem, size_t offset, size_t size)
{
  VkMappedMemoryRange range = {
    .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
    .memory = mem->vk_memory,
  };
  size_t atom = mem->g->atom_size;
  size_t end = offset + size;
  size_t rest = end % atom;

  if (rest)
    end = mem->size - end < atom - rest ? mem->size : end + (atom - rest);
  range.offset = offset - offset % atom;
  range.size = end - range.offset;
  return range;
}

typedef VkResult (*sync_function) (
    VkDevice device, uint32_t n, const VkMappedMemoryRange *ranges);

/* Calls @function if the memory is not coherent. @name is the name of the
 * calling function, @vk_name that of @function; both are for messages. */
static void
synchronize (vkgdr_memory_t mem, size_t offset, size_t size, const char *name,
    sync_function function, const char *vk_name, const char *effect)
{
  VkMappedMemoryRange range;
  VkResult result = VK_SUCCESS;

  if (offset > mem->size || size > mem->size - offset) {
    vkgdr_error_set ("%s of %zu bytes from byte %zu reaches beyond the "
                     "memory's %zu bytes: give a range inside it",
        name, size, offset, mem->size);
    return;
  }
  if (size > 0 && !vkgdr_memory_is_coherent (mem)) {
    range = whole_atoms (mem, offset, size);
    result = function (mem->g->vk.device, 1, &range);
  }
  if (result == VK_SUCCESS)
    vkgdr_error_clear ();
  else
    vkgdr_error_set ("%s failed (%s): the %s; see whether the device is lost "
                     "(dmesg)",
        vk_name, vkgdr_vk_result_name (result), effect);
}

void
vkgdr_memory_flush (vkgdr_memory_t mem, size_t offset, size_t size)
{
  vkgdr_store_fence ();
  synchronize (mem, offset, size, "vkgdr_memory_flush()",
      mem->g->vk.FlushMappedMemoryRanges, "vkFlushMappedMemoryRanges",
      "device may not see what was written");
}

void
vkgdr_memory_invalidate (vkgdr_memory_t mem, size_t offset, size_t size)
{
  synchronize (mem, offset, size, "vkgdr_memory_invalidate()",
      mem->g->vk.InvalidateMappedMemoryRanges, "vkInvalidateMappedMemoryRanges",
      "CPU may not see what the device wrote");
}
