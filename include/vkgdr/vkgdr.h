/* SPDX-License-Identifier: LGPL-2.1-or-later */

/**
 * SECTION:vkgdr
 * @title: libvkgdr
 * @short_description: GPU memory that the CPU writes and CUDA reads
 *
 * Vulkan allocates memory that is both device-local and host-visible: the
 * window, the part of GPU memory that the CPU can address through the GPU's
 * PCIe BAR. Vulkan exports it as a file descriptor, and CUDA imports that. So
 * one allocation has a host pointer and a device pointer.
 *
 * The functions of vkgdr 0.1 have the same names, values and meaning, so that a
 * program for vkgdr 0.1 compiles and links unchanged. Newer symbols are marked
 * with `Since:` and a version of gst-vkgdr.
 *
 * Neither libvulkan nor libcuda is linked; both are loaded by the first call
 * that needs them, and stay loaded until the process ends. The header includes
 * `cuda.h` if it is available, like vkgdr 0.1, but does not need it.
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

/* vkgdr 0.1 includes cuda.h, and programs rely on that. Without cuda.h, or with
 * VKGDR_NO_CUDA_H defined, the two necessary types are defined here. */
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
 *   it is coherent (for debugging); with the next flag, coherent memory is
 *   required and then treated as non-coherent
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
 * Returns the error of the calling thread's last call of a function that can
 * fail: vkgdr_open(), vkgdr_probe(), vkgdr_memory_alloc(),
 * vkgdr_memory_import_fd(), vkgdr_memory_flush(), vkgdr_memory_invalidate() and
 * vkgdr_memory_get_fd(). vkgdr_memory_free() only sets the error if freeing
 * fails. No other function changes it, so a program can clean up before it
 * reads the error.
 *
 * Returns: a message of one line, which the caller frees with free(), or NULL
 *   if that call was successful
 */
VKGDR_API char *vkgdr_last_error (void);

/**
 * vkgdr_open:
 * @device: a CUDA device, as cuDeviceGet() returns it; ignored with
 *   %VKGDR_OPEN_CURRENT_CONTEXT_BIT
 * @flags: a combination of #vkgdr_open_flags, or 0
 *
 * Opens the Vulkan device with the same UUID as the CUDA device. Without an
 * NVIDIA driver or GPU, that is a software device. A device may be opened
 * several times.
 *
 * The call fails without a Vulkan loader or driver, without a Vulkan device of
 * that UUID, or if that device has no memory that is device-local and
 * host-visible, because vkgdr_memory_alloc() promises memory with a host
 * pointer. With %VKGDR_OPEN_WINDOW_OPTIONAL_BIT it succeeds, and functions that
 * need no window work.
 *
 * While a device is open, one thread of the library makes the calls of Vulkan
 * for the process, except those that flush memory that is not coherent. The
 * reason is that in some drivers, it is not safe to end a thread that has
 * called Vulkan. A child process of fork() cannot use handles of its parent,
 * but it may close them.
 *
 * In the environment, `VKGDR_DRIVER` selects the driver: `auto` (default),
 * `nvidia` or `software`. `VKGDR_DEBUG` simulates a device with fewer features.
 * It is a list of words, separated by commas: `bar` (the memory counts as an
 * uncached window), `bar=SIZE` (also limits the window to SIZE bytes, with K, M
 * or G after the number, for all handles of the process together),
 * `non-coherent` (like %VKGDR_OPEN_FORCE_NON_COHERENT_BIT), `no-window` (no
 * memory is device-local and host-visible) and `no-vulkan` (there is no Vulkan
 * loader).
 *
 * Returns: a handle, which the caller closes with vkgdr_close(), or NULL; then
 *   vkgdr_last_error() returns the cause and the remedy
 */
VKGDR_API vkgdr_t vkgdr_open (CUdevice device, uint32_t flags);

/**
 * vkgdr_close:
 * @g: (nullable): a handle
 *
 * Closes a handle. Memory that was not freed stays valid, and keeps the Vulkan
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
 * @size: size in bytes, at least 1
 * @flags: 0 for memory in the window, or a combination of #vkgdr_memory_flags
 *
 * Allocates memory. A CUDA context of the handle's device must be current in
 * the calling thread. The content is undefined.
 *
 * Returns: the memory, which the caller frees with vkgdr_memory_free(), or
 *   NULL; then vkgdr_last_error() returns the reason. If memory ran out, the
 *   message has the size of the window and how much of it is in use
 */
VKGDR_API vkgdr_memory_t vkgdr_memory_alloc (
    vkgdr_t g, size_t size, uint32_t flags);

/**
 * vkgdr_memory_free:
 * @mem: (nullable): a memory
 *
 * Frees the memory. The device must have finished with it, and the CUDA context
 * that was current when it was allocated must still exist; the function makes
 * it current during the call, if necessary.
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
 * Returns: its requested size in bytes
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
 * Returns: the granularity of flushes in bytes, 1 if the memory is coherent
 */
VKGDR_API size_t vkgdr_memory_non_coherent_atom_size (vkgdr_memory_t mem);

/**
 * vkgdr_memory_flush:
 * @mem: a memory
 * @offset: offset of the first byte
 * @size: number of bytes
 *
 * Makes bytes that the CPU wrote to the range visible to the device, including
 * pending write-combined stores of the calling thread. A range that is not
 * aligned to vkgdr_memory_non_coherent_atom_size() is extended to it, at most
 * to the end of the memory. It is an error (vkgdr_last_error()) if the range
 * exceeds the memory, or if the driver fails. Does nothing if @size is 0.
 */
VKGDR_API void vkgdr_memory_flush (
    vkgdr_memory_t mem, size_t offset, size_t size);

/**
 * vkgdr_memory_invalidate:
 * @mem: a memory
 * @offset: offset of the first byte
 * @size: number of bytes
 *
 * Makes bytes that the device wrote to the range visible to the CPU. Ranges are
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
 * Returns: a new file descriptor, which the caller closes or passes to an
 *   import that takes it; -1 on failure (vkgdr_last_error())
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API int vkgdr_memory_get_fd (vkgdr_memory_t mem);

/**
 * vkgdr_fd_info:
 * @size: size of the memory in bytes
 * @flags: #vkgdr_memory_flags of its allocation
 * @reserved: 0
 * @device_uuid: UUID of its device; all 0 if unknown
 * @driver_uuid: UUID of the Vulkan driver that exported it; all 0 if unknown
 *
 * The description of a memory's file descriptor. It has no pointers, and may be
 * sent as it is to another process on the same machine. A program that only
 * knows the size sets the other fields to 0.
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
 * @info: (out caller-allocates): the description to fill in
 *
 * Returns what another process has to know to import the file descriptor of
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
 *   one. If the call succeeds, the library owns it; otherwise the caller still
 *   does
 * @info: the description by vkgdr_memory_describe_fd()
 *
 * Imports an allocation of another process. A CUDA context of the handle's
 * device must be current in the calling thread. Unless the handle was opened
 * without a window, imported memory in the window has a host pointer, too, so
 * that both processes can write to it.
 *
 * The accesses of two processes are not ordered: each process has to notify the
 * other one when it has finished, after a flush if the memory is not coherent.
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
 * @pci_address: `domain:bus:device.function`, or "" if it has none
 * @bar_size: size in bytes of the largest PCI BAR, as reported by the kernel,
 *   or 0 if unknown
 * @window_size: size in bytes of the heap from which memory is allocated, or of
 *   the smaller window that VKGDR_DEBUG sets; 0 if there is no window
 * @window_budget: bytes of it that this process may use at present
 *   (VK_EXT_memory_budget), or @window_size if the driver does not report it
 * @window_usage: bytes of it that this process uses, as reported by the driver;
 *   otherwise the sum of the handle's own allocations
 * @allocated: bytes of the window that are allocated through this handle
 * @n_allocations: number of these allocations
 * @memory_type: index of the memory type in use, 0 if there is no window
 * @n_memory_types: number of valid entries in @memory_types
 * @memory_types: the device's memory types
 * @coherent: the memory needs no flush; false if there is no window
 * @host_cached: the CPU reads the memory as fast as its own
 * @software: the device is a CPU: Mesa's lavapipe with softcuda
 * @vulkan_api_version: packed as by VK_MAKE_API_VERSION
 * @vulkan_driver: name and version of the Vulkan driver
 * @cuda_driver_version: as by cuDriverGetVersion(): 1000 major + 10 minor
 *
 * The description of a device.
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
 * @info: (out caller-allocates): the description to fill in
 *
 * Describes the device. Budget and usage are updated by each call.
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API void vkgdr_get_device_info (vkgdr_t g, vkgdr_device_info *info);

/**
 * vkgdr_obstacle:
 * @VKGDR_OBSTACLE_NONE: nothing: vkgdr_open() succeeds
 * @VKGDR_OBSTACLE_HOST_MEMORY: the host has no memory left
 * @VKGDR_OBSTACLE_CUDA_DRIVER: no CUDA driver that works and has a device
 * @VKGDR_OBSTACLE_CUDA_DEVICE: no CUDA device with this number
 * @VKGDR_OBSTACLE_SETTINGS: the value of VKGDR_DEBUG is invalid
 * @VKGDR_OBSTACLE_VULKAN_LOADER: no Vulkan loader, or one that is too old
 * @VKGDR_OBSTACLE_VULKAN_DRIVER: the loader finds no driver
 * @VKGDR_OBSTACLE_VULKAN_DEVICE: no Vulkan device has the CUDA device's UUID
 * @VKGDR_OBSTACLE_WINDOW: no memory is both device-local and host-visible
 * @VKGDR_OBSTACLE_EXPORT: the Vulkan device cannot be opened for memory that is
 *   exported to CUDA
 *
 * The first reason why a device cannot be opened.
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
 * Returns whether memory with a host pointer can be allocated. A handle that
 * was opened without %VKGDR_OPEN_WINDOW_OPTIONAL_BIT always has a window. The
 * result does not change while the handle exists.
 *
 * Returns: %VKGDR_OBSTACLE_NONE if the handle has a window, otherwise the
 *   reason: %VKGDR_OBSTACLE_VULKAN_LOADER, %VKGDR_OBSTACLE_VULKAN_DRIVER,
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
 * @info: (out caller-allocates): the description to fill in
 *
 * Describes a device, even if it cannot be opened: unknown fields are 0 or "".
 * The field `window_size` is 0 unless there is memory that can be allocated.
 * Opens the device during the call; allocates no memory.
 *
 * Returns: what prevents vkgdr_open() from opening it; if something does,
 *   vkgdr_last_error() returns the cause and the remedy
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API vkgdr_obstacle vkgdr_probe (CUdevice device, vkgdr_device_info *info);

/**
 * vkgdr_copy_to_bar:
 * @dst: write-combined memory, for example of vkgdr_memory_get_host_ptr()
 * @src: ordinary memory
 * @size: number of bytes
 * @threads: how many threads may be used, at most 16; with 0, the library
 *   chooses: one below 4 MiB, two above. Each thread copies at least 1 MiB, so
 *   small copies always run in the calling thread
 *
 * Copies with non-temporal stores of the CPU's widest vectors, and ends with a
 * store fence. The pointers need no alignment; the ranges must not overlap.
 *
 * Since: 0.1 of gst-vkgdr
 */
VKGDR_API void vkgdr_copy_to_bar (
    void *dst, const void *src, size_t size, unsigned int threads);

/**
 * vkgdr_copy_from_bar:
 * @dst: ordinary memory
 * @src: write-combined memory
 * @size: number of bytes
 *
 * Copies with streaming loads, some ten times faster than memcpy() from such
 * memory. (A DMA transfer is another fifty times faster.)
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
