/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:vkgdr
 * @title: libvkgdr
 * @short_description: GPU memory that the CPU writes to, and CUDA reads
 *
 * Vulkan allocates memory that is both device-local and host-visible (the
 * window that the GPU's PCIe BAR opens), exports it as a file descriptor, and
 * CUDA imports that: one allocation, a host pointer and a device pointer.
 *
 * The functions of vkgdr 0.1 keep their names, their values and their
 * meaning, so that a program written for it compiles and links unchanged.
 * What is newer says so with `Since: 0.1 of gst-vkgdr`.
 *
 * Neither libvulkan nor libcuda is linked; both are loaded by the first call
 * that needs them, and stay loaded until the process ends. The header includes
 * `cuda.h` where there is one, as vkgdr 0.1's does, and needs none.
 *
 * Thread-safety: every function may be called from any thread. Two threads
 * must not free or close one object at the same time, nor use it afterwards.
 */

#ifndef VKGDR_H
#define VKGDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VKGDR_API
#define VKGDR_API __attribute__ ((visibility ("default")))
#endif

/* vkgdr 0.1 includes cuda.h, and programs rely on that; where there is none, or
 * VKGDR_NO_CUDA_H is defined, the two types that are needed are enough. */
#if !defined(VKGDR_NO_CUDA_H) && defined(__has_include)
#if __has_include(<cuda.h>)
#define VKGDR_HAVE_CUDA_H
#include <cuda.h>
#endif
#endif
#ifndef VKGDR_HAVE_CUDA_H
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
#endif

/** vkgdr_t: opaque handle to one device, opened with vkgdr_open(). */
typedef struct vkgdr *vkgdr_t;

/** vkgdr_memory_t: opaque handle to one allocation. */
typedef struct vkgdr_memory *vkgdr_memory_t;

/**
 * vkgdr_open_flags:
 * @VKGDR_OPEN_CURRENT_CONTEXT_BIT: ignore the given device, and use the one of
 *   the calling thread's current CUDA context
 * @VKGDR_OPEN_FORCE_NON_COHERENT_BIT: treat the memory as non-coherent even if
 *   it is coherent (for debugging); together with the next one, the memory is
 *   coherent and yet treated as if it were not
 * @VKGDR_OPEN_REQUIRE_COHERENT_BIT: fail unless the memory is coherent
 * @VKGDR_OPEN_WINDOW_OPTIONAL_BIT: open the device also if it has no window;
 *   then vkgdr_get_window_obstacle() tells why (Since: 0.2 of gst-vkgdr)
 *
 * Flags of vkgdr_open(). Unknown bits are refused.
 */
typedef enum vkgdr_open_flags {
  VKGDR_OPEN_CURRENT_CONTEXT_BIT = 1,
  VKGDR_OPEN_FORCE_NON_COHERENT_BIT = 2,
  VKGDR_OPEN_REQUIRE_COHERENT_BIT = 4,
  VKGDR_OPEN_WINDOW_OPTIONAL_BIT = 8
} vkgdr_open_flags;

/**
 * vkgdr_last_error:
 *
 * The error of the calling thread's last call of a function that can fail:
 * vkgdr_open(), vkgdr_probe(), vkgdr_memory_alloc(), vkgdr_memory_import_fd(),
 * vkgdr_memory_flush(), vkgdr_memory_invalidate() and vkgdr_memory_get_fd().
 * vkgdr_memory_free() sets
 * it where freeing fails, and leaves it as it is otherwise, as all others do,
 * so that one may clean up before asking what failed.
 *
 * Returns: a message of one line, which the caller frees with free(), or NULL
 *   where that call succeeded
 */
VKGDR_API char *vkgdr_last_error (void);

/**
 * vkgdr_open:
 * @device: a CUDA device, as cuDeviceGet() returns it; ignored with
 *   %VKGDR_OPEN_CURRENT_CONTEXT_BIT
 * @flags: a combination of #vkgdr_open_flags, or 0
 *
 * Opens the Vulkan device whose UUID is the CUDA device's. Without an NVIDIA
 * driver or GPU, that is a software device. A device may be opened several
 * times.
 *
 * Without a Vulkan loader or driver, without a Vulkan device of that UUID, or
 * if that device has no memory which is its own and host-visible, the call
 * fails, since vkgdr_memory_alloc() promises memory with a host pointer. With
 * %VKGDR_OPEN_WINDOW_OPTIONAL_BIT it succeeds, and what needs no window works.
 *
 * In the environment, `VKGDR_DRIVER` chooses the driver: `auto` (default),
 * `nvidia` or `software`. `VKGDR_DEBUG` makes the device look worse than it is;
 * it takes, with commas between them, `bar` (the memory counts as an uncached
 * window), `bar=SIZE` (and the window has but SIZE bytes, with K, M or G after
 * the number, for all handles of the process together), `non-coherent` (as
 * %VKGDR_OPEN_FORCE_NON_COHERENT_BIT), `no-window` (no memory is the device's
 * own and host-visible) and `no-vulkan` (there is no Vulkan loader).
 *
 * Returns: a handle, which the caller closes with vkgdr_close(), or NULL; then
 *   vkgdr_last_error() tells the cause and the remedy
 */
VKGDR_API vkgdr_t vkgdr_open (CUdevice device, uint32_t flags);

/**
 * vkgdr_close:
 * @g: (nullable): a handle
 *
 * Closes a handle. Memory that still lives stays valid and keeps the Vulkan
 * device open until it is freed.
 */
VKGDR_API void vkgdr_close (vkgdr_t g);

/**
 * vkgdr_memory_flags:
 * @VKGDR_MEMORY_DEVICE_BIT: device memory that has no host pointer. It needs no
 *   window and no Vulkan, and can be exported as a file descriptor, which
 *   memory of cuMemAlloc() cannot. It takes a multiple of the driver's
 *   granularity, usually 2 MiB, so it suits large allocations
 *
 * Flags of vkgdr_memory_alloc(). Unknown bits are refused.
 *
 * Since: 0.2 of gst-vkgdr
 */
typedef enum vkgdr_memory_flags {
  VKGDR_MEMORY_DEVICE_BIT = 1
} vkgdr_memory_flags;

/**
 * vkgdr_memory_alloc:
 * @g: a handle
 * @size: bytes, at least 1
 * @flags: 0 for memory in the window, or a combination of #vkgdr_memory_flags
 *
 * Allocates memory. A CUDA context of the handle's device must be current in
 * the calling thread. The content is undefined.
 *
 * Returns: the memory, which the caller frees with vkgdr_memory_free(), or
 *   NULL; then vkgdr_last_error() tells why, and where memory ran out, how
 *   large the window is and how much of it is in use
 */
VKGDR_API vkgdr_memory_t vkgdr_memory_alloc (
    vkgdr_t g, size_t size, uint32_t flags);

/**
 * vkgdr_memory_free:
 * @mem: (nullable): a memory
 *
 * Frees it. The device must have finished with it, and the CUDA context that
 * was current when it was allocated must still exist; it is made current for
 * the call where it is not.
 */
VKGDR_API void vkgdr_memory_free (vkgdr_memory_t mem);

/**
 * vkgdr_memory_get_host_ptr:
 * @mem: a memory
 *
 * Returns: (transfer none): the host's pointer, valid until @mem is freed; NULL
 *   if the memory was allocated with %VKGDR_MEMORY_DEVICE_BIT, or imported with
 *   a handle that has no window.
 *   Reading through it is some hundred times slower than writing, unless the
 *   memory is host-cached (#vkgdr_device_info)
 */
VKGDR_API void *vkgdr_memory_get_host_ptr (vkgdr_memory_t mem);

/**
 * vkgdr_memory_get_device_ptr:
 * @mem: a memory
 *
 * Returns: CUDA's pointer to the same bytes
 */
VKGDR_API CUdeviceptr vkgdr_memory_get_device_ptr (vkgdr_memory_t mem);

/**
 * vkgdr_memory_get_size:
 * @mem: a memory
 *
 * Returns: its size in bytes, as it was asked for
 */
VKGDR_API size_t vkgdr_memory_get_size (vkgdr_memory_t mem);

/**
 * vkgdr_memory_is_coherent:
 * @mem: a memory
 *
 * Returns: whether it needs neither vkgdr_memory_flush() nor
 *   vkgdr_memory_invalidate()
 */
VKGDR_API bool vkgdr_memory_is_coherent (vkgdr_memory_t mem);

/**
 * vkgdr_memory_non_coherent_atom_size:
 * @mem: a memory
 *
 * Returns: the granularity of flushes in bytes, 1 where the memory is coherent
 */
VKGDR_API size_t vkgdr_memory_non_coherent_atom_size (vkgdr_memory_t mem);

/**
 * vkgdr_memory_flush:
 * @mem: a memory
 * @offset: first byte
 * @size: bytes
 *
 * Makes what the CPU wrote to the range visible to the device, the calling
 * thread's pending write-combined stores included. A range that is not aligned
 * to vkgdr_memory_non_coherent_atom_size() is widened to it, up to the memory's
 * end at most; one that does not lie inside the memory is refused, and where
 * the driver fails, that is an error, too (vkgdr_last_error()). Does nothing
 * where @size is 0.
 */
VKGDR_API void vkgdr_memory_flush (
    vkgdr_memory_t mem, size_t offset, size_t size);

/**
 * vkgdr_memory_invalidate:
 * @mem: a memory
 * @offset: first byte
 * @size: bytes
 *
 * Makes what the device wrote to the range visible to the CPU. Ranges are
 * treated as in vkgdr_memory_flush().
 */
VKGDR_API void vkgdr_memory_invalidate (
    vkgdr_memory_t mem, size_t offset, size_t size);

/* --- beyond vkgdr 0.1 ---------------------------------------------------- */

/**
 * vkgdr_memory_get_fd:
 * @mem: a memory that was allocated, not imported
 *
 * Exports the memory as a POSIX file descriptor, for another API or process on
 * the same device to import. Memory in the window is exported by Vulkan
 * (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT), device memory by CUDA
 * (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR). The file descriptor keeps the
 * allocation alive until it and all imports are gone, also after @mem is freed.
 *
 * Returns: a new file descriptor, which the caller closes or hands to an
 *   import that takes it over; -1 on failure (vkgdr_last_error())
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API int vkgdr_memory_get_fd (vkgdr_memory_t mem);

/**
 * vkgdr_fd_info:
 * @size: bytes of the memory
 * @flags: #vkgdr_memory_flags that it was allocated with
 * @reserved: 0
 * @device_uuid: UUID of the device that it is on; all 0 if that is not known
 * @driver_uuid: UUID of the Vulkan driver that exported it; all 0 if that is
 * not known
 *
 * What the file descriptor of a memory stands for. It has no pointers, and may
 * be sent to another process on the same machine as it is. A program that knows
 * only the size sets the rest to 0.
 *
 * Since: 0.2 of gst-vkgdr
 */
typedef struct vkgdr_fd_info {
  uint64_t size;
  uint32_t flags;
  uint32_t reserved;
  uint8_t device_uuid[16];
  uint8_t driver_uuid[16];
} vkgdr_fd_info;

/**
 * vkgdr_memory_describe_fd:
 * @mem: a memory
 * @info: (out caller-allocates): what to fill
 *
 * Tells what another process has to know to import the file descriptor of
 * vkgdr_memory_get_fd().
 *
 * Since: 0.2 of gst-vkgdr
 */
VKGDR_API void vkgdr_memory_describe_fd (
    vkgdr_memory_t mem, vkgdr_fd_info *info);

/**
 * vkgdr_memory_import_fd:
 * @g: a handle of the device that the memory is on
 * @fd: a file descriptor of vkgdr_memory_get_fd(), from this process or another
 *   one. The library takes it over if the call succeeds; it stays the caller's
 *   if the call fails
 * @info: what vkgdr_memory_describe_fd() told of the memory
 *
 * Makes a memory of the bytes that another process has allocated. A CUDA
 * context of the handle's device must be current in the calling thread. Memory
 * in the window has a host pointer here too, so that both processes can write
 * to it, unless the handle was opened without a window.
 *
 * Nothing orders what two processes do: both have to tell each other when they
 * have finished, after a flush where the memory is not coherent.
 *
 * The memory is not counted in #vkgdr_device_info, and cannot be exported
 * again.
 *
 * Returns: the memory, which the caller frees with vkgdr_memory_free(); NULL on
 *   failure (vkgdr_last_error()): the memory is on another device or was
 *   exported by another driver version, it does not have this size, or a driver
 *   refuses it
 *
 * Since: 0.2 of gst-vkgdr
 */
VKGDR_API vkgdr_memory_t vkgdr_memory_import_fd (
    vkgdr_t g, int fd, const vkgdr_fd_info *info);

#define VKGDR_MAX_MEMORY_TYPES 32

/**
 * vkgdr_memory_type:
 * @flags: VkMemoryPropertyFlags of the type
 * @heap: index of its heap
 * @heap_size: that heap's size in bytes
 */
typedef struct vkgdr_memory_type {
  uint32_t flags;
  uint32_t heap;
  uint64_t heap_size;
} vkgdr_memory_type;

/**
 * vkgdr_device_info:
 * @name: the Vulkan device's name
 * @uuid: its UUID, the same as CUDA's
 * @pci_address: `domain:bus:device.function`, or "" where it has none
 * @bar_size: bytes of the largest PCI BAR as the kernel tells it, or 0 where it
 *   is not known
 * @window_size: bytes of the heap that memory is allocated from, or of the
 *   smaller window that VKGDR_DEBUG asked for; 0 if there is no window
 * @window_budget: bytes of it that this process may use at present
 *   (VK_EXT_memory_budget), or @window_size where the driver does not tell
 * @window_usage: bytes of it that this process uses, as the driver tells it, or
 *   the sum of the handle's own allocations where it does not
 * @allocated: bytes of the window that are allocated through this handle
 * @n_allocations: allocations in the window that live
 * @memory_type: index of the memory type in use, 0 if there is no window
 * @n_memory_types: how many entries of @memory_types are valid
 * @memory_types: the device's memory types
 * @coherent: the memory needs no flush; false if there is no window
 * @host_cached: the CPU reads the memory as fast as its own
 * @software: the device is a processor: Mesa's lavapipe with softcuda
 * @vulkan_api_version: as VK_MAKE_API_VERSION packs it
 * @vulkan_driver: name and version of the Vulkan driver
 * @cuda_driver_version: as cuDriverGetVersion() gives it: 1000 major + 10 minor
 *
 * What a device is and can do.
 *
 * Since: 0.1 of gst-vkgdr
 */
typedef struct vkgdr_device_info {
  char name[256];
  uint8_t uuid[16];
  char pci_address[16];
  uint64_t bar_size;
  uint64_t window_size;
  uint64_t window_budget;
  uint64_t window_usage;
  uint64_t allocated;
  uint64_t n_allocations;
  uint32_t memory_type;
  uint32_t n_memory_types;
  vkgdr_memory_type memory_types[VKGDR_MAX_MEMORY_TYPES];
  bool coherent;
  bool host_cached;
  bool software;
  uint32_t vulkan_api_version;
  char vulkan_driver[512];
  int cuda_driver_version;
} vkgdr_device_info;

/**
 * vkgdr_get_device_info:
 * @g: a handle
 * @info: (out caller-allocates): what to fill
 *
 * Describes the device. Budget and usage are read anew at each call.
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API void vkgdr_get_device_info (vkgdr_t g, vkgdr_device_info *info);

/**
 * vkgdr_obstacle:
 * @VKGDR_OBSTACLE_NONE: nothing: vkgdr_open() succeeds
 * @VKGDR_OBSTACLE_HOST_MEMORY: the host has no memory left
 * @VKGDR_OBSTACLE_CUDA_DRIVER: no CUDA driver that works and has a device
 * @VKGDR_OBSTACLE_CUDA_DEVICE: no CUDA device of this number
 * @VKGDR_OBSTACLE_SETTINGS: VKGDR_DEBUG cannot be read
 * @VKGDR_OBSTACLE_VULKAN_LOADER: no Vulkan loader, or one that is too old
 * @VKGDR_OBSTACLE_VULKAN_DRIVER: the loader finds no driver
 * @VKGDR_OBSTACLE_VULKAN_DEVICE: no Vulkan device has the CUDA device's UUID
 * @VKGDR_OBSTACLE_WINDOW: no memory is both device-local and host-visible
 * @VKGDR_OBSTACLE_EXPORT: the Vulkan device cannot be opened for memory that is
 *   exported to CUDA
 *
 * What keeps a device from being opened, the first to be met.
 *
 * Since: 0.1 of gst-vkgdr
 */
typedef enum vkgdr_obstacle {
  VKGDR_OBSTACLE_NONE,
  VKGDR_OBSTACLE_HOST_MEMORY,
  VKGDR_OBSTACLE_CUDA_DRIVER,
  VKGDR_OBSTACLE_CUDA_DEVICE,
  VKGDR_OBSTACLE_SETTINGS,
  VKGDR_OBSTACLE_VULKAN_LOADER,
  VKGDR_OBSTACLE_VULKAN_DRIVER,
  VKGDR_OBSTACLE_VULKAN_DEVICE,
  VKGDR_OBSTACLE_WINDOW,
  VKGDR_OBSTACLE_EXPORT
} vkgdr_obstacle;

/**
 * vkgdr_get_window_obstacle:
 * @g: a handle
 * @reason: (out) (optional) (transfer none): why there is no window, "" if
 *   there is one; valid as long as @g
 * @remedy: (out) (optional) (transfer none): what the user can do about it, ""
 *   if there is a window; valid as long as @g
 *
 * Tells whether memory with a host pointer can be allocated. A handle that was
 * opened without %VKGDR_OPEN_WINDOW_OPTIONAL_BIT always has a window. What the
 * call tells does not change while the handle lives.
 *
 * Returns: %VKGDR_OBSTACLE_NONE if the handle has a window, else why not:
 *   %VKGDR_OBSTACLE_VULKAN_LOADER, %VKGDR_OBSTACLE_VULKAN_DRIVER,
 *   %VKGDR_OBSTACLE_VULKAN_DEVICE, %VKGDR_OBSTACLE_WINDOW or
 *   %VKGDR_OBSTACLE_EXPORT
 *
 * Since: 0.2 of gst-vkgdr
 */
VKGDR_API vkgdr_obstacle vkgdr_get_window_obstacle (
    vkgdr_t g, const char **reason, const char **remedy);

/**
 * vkgdr_probe:
 * @device: a CUDA device, as cuDeviceGet() returns it
 * @info: (out caller-allocates): what to fill
 *
 * Describes a device, also one that cannot be opened: then as far as it could
 * be looked at, and what is not known is 0 or "". @window_size is 0 unless
 * memory was found that one could allocate. Opens the device for the time of
 * the call; allocates no memory.
 *
 * Returns: what keeps vkgdr_open() from opening it; where something does,
 *   vkgdr_last_error() tells the cause and the remedy
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API vkgdr_obstacle vkgdr_probe (CUdevice device, vkgdr_device_info *info);

/**
 * vkgdr_copy_to_bar:
 * @dst: write-combined memory, such as vkgdr_memory_get_host_ptr() gives
 * @src: ordinary memory
 * @size: bytes
 * @threads: how many threads may share the work, 16 at most; 0 lets the library
 *   choose by @size: one below 4 MiB, two above. A thread gets 1 MiB at least,
 *   so that small copies always run in the calling thread
 *
 * Copies with non-temporal stores of the widest vector that the CPU has, and
 * ends with a store fence. Neither pointer needs to be aligned; the ranges must
 * not overlap.
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API void vkgdr_copy_to_bar (
    void *dst, const void *src, size_t size, unsigned int threads);

/**
 * vkgdr_copy_from_bar:
 * @dst: ordinary memory
 * @src: write-combined memory
 * @size: bytes
 *
 * Copies with streaming loads, some ten times faster than memcpy() from such
 * memory. (A DMA transfer is fifty times faster still.)
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API void vkgdr_copy_from_bar (void *dst, const void *src, size_t size);

/**
 * vkgdr_copy_isa:
 *
 * Returns: (transfer none): the instruction set in use by the copies:
 *   `avx512`, `avx2`, `sse4.1` or `generic`
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API const char *vkgdr_copy_isa (void);

#ifdef __cplusplus
}
#endif

#endif /* VKGDR_H */
