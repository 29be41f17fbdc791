/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-driver.c: tests of the software device, of contexts, memory and imports
 *
 * Everything of the driver API that needs neither streams nor kernels.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

/* The build file sets SOFTCUDA_MEMORY to this value for these tests. */
#define LIMIT ((size_t) 64 << 20)

START_TEST (test_nothing_before_init)
{
  int count;

  load_driver ();
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_NOT_INITIALIZED);
  fails (cu.cuInit (1), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuInit (0));
  ok (cu.cuDeviceGetCount (&count));
  ck_assert_int_eq (count, 1);
}
END_TEST;

START_TEST (test_device)
{
  CUdevice device = -1;
  char text[64];
  int value;
  size_t total;

  ok (cu.cuDriverGetVersion (&value));
  ck_assert_int_eq (value, 13000);
  ok (cu.cuDeviceGet (&device, 0));
  fails (cu.cuDeviceGet (&device, 1), CUDA_ERROR_INVALID_DEVICE);
  ok (cu.cuDeviceGetName (text, sizeof text, device));
  ck_assert_msg (g_str_has_prefix (text, "softcuda ("), "%s", text);
  ok (cu.cuDeviceGetName (text, 5, device));
  ck_assert_str_eq (text, "soft");
  ok (cu.cuDeviceGetPCIBusId (text, sizeof text, device));
  ck_assert_str_eq (text, "0000:00:00.0");
  ok (cu.cuDeviceTotalMem (&total, device));
  ck_assert_uint_eq (total, LIMIT);
  ok (cu.cuDeviceGetAttribute (
      &value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device));
  ck_assert_int_eq (value, 1024);
  ok (cu.cuDeviceGetAttribute (
      &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  ck_assert_int_eq (value, 9);
  fails (
      cu.cuDeviceGetAttribute (&value, 9999, device), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* It is that of Vulkan's software device, if there is one. The tests of
 * libvkgdr show that. */
START_TEST (test_uuid)
{
  static const CUuuid nothing;
  CUuuid first, second;

  ok (cu.cuDeviceGetUuid (&first, 0));
  ck_assert (memcmp (&first, &nothing, sizeof first) != 0);
  ok (cu.cuDeviceGetUuid_v2 (&second, 0));
  ck_assert (memcmp (&first, &second, sizeof first) == 0);
  fails (cu.cuDeviceGetUuid (NULL, 0), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuDeviceGetUuid (&first, 1), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST;

START_TEST (test_error_names)
{
  const char *text;

  ok (cu.cuGetErrorName (CUDA_ERROR_OUT_OF_MEMORY, &text));
  ck_assert_str_eq (text, "CUDA_ERROR_OUT_OF_MEMORY");
  ok (cu.cuGetErrorString (CUDA_ERROR_OUT_OF_MEMORY, &text));
  ck_assert_str_eq (text, "out of memory");
  ok (cu.cuGetErrorName (CUDA_ERROR_ILLEGAL_INSTRUCTION, &text));
  ck_assert_str_eq (text, "CUDA_ERROR_ILLEGAL_INSTRUCTION");
  fails (cu.cuGetErrorName (4711, &text), CUDA_ERROR_INVALID_VALUE);
  ck_assert (text == NULL);
}
END_TEST;

START_TEST (test_context_stack)
{
  CUcontext other;
  CUcontext seen;
  CUdevice device = -1;

  ok (cu.cuCtxGetDevice (&device));
  ck_assert_int_eq (device, 0);
  ok (cu.cuCtxCreate (&other, 0, 0));
  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert (seen == other && other != primary);
  ok (cu.cuCtxPopCurrent (&seen));
  ck_assert (seen == other);
  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert (seen == primary);
  ok (cu.cuCtxDestroy (other));
  fails (cu.cuCtxDestroy (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPushCurrent (other), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPushCurrent (NULL), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST;

START_TEST (test_primary_is_counted)
{
  CUcontext again;
  CUdeviceptr pointer;
  unsigned int flags;
  int active;

  ok (cu.cuDevicePrimaryCtxRetain (&again, 0));
  ck_assert (again == primary);
  ok (cu.cuDevicePrimaryCtxRelease (0));
  ok (cu.cuMemAlloc (&pointer, 100));
  ok (cu.cuDevicePrimaryCtxGetState (0, &flags, &active));
  ck_assert_int_eq (active, 1);

  ok (cu.cuDevicePrimaryCtxRelease (0));
  ok (cu.cuDevicePrimaryCtxGetState (0, &flags, &active));
  ck_assert_int_eq (active, 0);
  fails (cu.cuMemFree (pointer), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemAlloc (&pointer, 100), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuDevicePrimaryCtxRelease (0), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuDevicePrimaryCtxRetain (&primary, 0));
}
END_TEST;

static gpointer
without_context (gpointer data)
{
  CUdeviceptr pointer;
  CUcontext seen = primary;

  fails (cu.cuMemAlloc (&pointer, 100), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxSynchronize (), CUDA_ERROR_INVALID_CONTEXT);
  fails (cu.cuCtxPopCurrent (NULL), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuCtxGetCurrent (&seen));
  ck_assert (seen == NULL);
  return NULL;
}

START_TEST (test_current_is_per_thread)
{
  g_thread_join (g_thread_new ("no-context", without_context, NULL));
}
END_TEST;

START_TEST (test_memory_is_bounded)
{
  CUdeviceptr a;
  CUdeviceptr b;
  size_t free_bytes;
  size_t total;

  fails (cu.cuMemAlloc (&a, 0), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemAlloc (&a, LIMIT + 1), CUDA_ERROR_OUT_OF_MEMORY);
  fails (cu.cuMemAlloc (&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&a, LIMIT - 1000));
  ok (cu.cuMemGetInfo (&free_bytes, &total));
  ck_assert_uint_eq (free_bytes, 1000);
  ck_assert_uint_eq (total, LIMIT);
  fails (cu.cuMemAlloc (&b, 1001), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&b, 1000));
  ok (cu.cuMemFree (a));
  ok (cu.cuMemFree (b));
  ok (cu.cuMemGetInfo (&free_bytes, &total));
  ck_assert_uint_eq (free_bytes, LIMIT);
}
END_TEST;

START_TEST (test_free_of_what_is_not_ours)
{
  CUdeviceptr pointer;
  void *host;
  char local[16];

  fails (
      cu.cuMemFree ((CUdeviceptr) (uintptr_t) local), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemAlloc (&pointer, 100));
  fails (cu.cuMemFree (pointer + 1), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemFreeHost ((void *) (uintptr_t) pointer),
      CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemFree (pointer));
  fails (cu.cuMemFree (pointer), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemHostAlloc (&host, 100, 0));
  fails (
      cu.cuMemFree ((CUdeviceptr) (uintptr_t) host), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_pitch)
{
  CUdeviceptr pointer;
  size_t pitch;

  fails (cu.cuMemAllocPitch (&pointer, &pitch, 100, 10, 3),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemAllocPitch (&pointer, &pitch, SIZE_MAX - 3, 10, 4),
      CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAllocPitch (&pointer, &pitch, 513, 10, 4));
  ck_assert_uint_eq (pitch, 1024);
  ok (cu.cuMemsetD8 (pointer, 1, 10240));
  fails (cu.cuMemsetD8 (pointer, 1, 10241), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_copies_are_checked)
{
  unsigned char host[64];
  CUdeviceptr a;
  CUdeviceptr b;

  memset (host, 7, sizeof host);
  ok (cu.cuMemAlloc (&a, 32));
  ok (cu.cuMemAlloc (&b, 32));
  ok (cu.cuMemcpyHtoD (a, host, 32));
  fails (cu.cuMemcpyHtoD (a, host, 33), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemcpyHtoD (a + 16, host, 17), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemcpyHtoD (a - 1, host, 2), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemcpyHtoD (0, host, 1), CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemcpyHtoD (a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemcpyHtoD (a, host, 0));
  ok (cu.cuMemcpyDtoD (b, a, 32));
  ok (cu.cuMemsetD8 (b + 8, 9, 8));
  fails (cu.cuMemcpyDtoD (b, a, 33), CUDA_ERROR_INVALID_VALUE);
  memset (host, 0, sizeof host);
  fails (cu.cuMemcpyDtoH (host, b, 64), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemcpyDtoH (host, b, 32));
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (host[i], i >= 32 ? 0 : i / 8 == 1 ? 9 : 7);
}
END_TEST;

START_TEST (test_copy_2d)
{
  unsigned char host[6 * 10];
  unsigned char back[6 * 10] = { 0 };
  CUdeviceptr device;
  CUDA_MEMCPY2D up = { 0 };
  CUDA_MEMCPY2D down = { 0 };

  for (int i = 0; i < 60; i++)
    host[i] = i;
  ok (cu.cuMemAlloc (&device, 16 * 4));
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = host;
  up.srcPitch = 10;
  up.srcXInBytes = 2;
  up.srcY = 1;
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = device;
  up.dstPitch = 16;
  up.WidthInBytes = 5;
  up.Height = 4;
  ok (cu.cuMemcpy2D (&up));
  down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  down.srcDevice = device;
  down.srcPitch = 16;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = back;
  down.dstPitch = 10;
  down.WidthInBytes = 5;
  down.Height = 4;
  ok (cu.cuMemcpy2D (&down));
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 10; x++)
      ck_assert_int_eq (
          back[10 * y + x], x < 5 ? host[10 * (y + 1) + x + 2] : 0);

  up.Height = 5;
  fails (cu.cuMemcpy2D (&up), CUDA_ERROR_INVALID_VALUE);
  up.Height = 4;
  up.dstXInBytes = 12;
  fails (cu.cuMemcpy2D (&up), CUDA_ERROR_INVALID_VALUE);
  up.dstXInBytes = 11;
  ok (cu.cuMemcpy2D (&up));
  up.dstMemoryType = CU_MEMORYTYPE_ARRAY; /* but there is none */
  fails (cu.cuMemcpy2D (&up), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_peers)
{
  CUcontext other, popped;
  CUdeviceptr from, to;
  unsigned char byte = 0;
  int can = 1;

  ok (cu.cuDeviceCanAccessPeer (&can, 0, 0));
  ck_assert_int_eq (can, 0);
  fails (cu.cuDeviceCanAccessPeer (&can, 0, 1), CUDA_ERROR_INVALID_DEVICE);

  ok (cu.cuMemAlloc (&from, 1));
  ok (cu.cuMemsetD8 (from, 5, 1));
  ok (cu.cuCtxSynchronize ()); /* the other context does not wait for it */
  ok (cu.cuCtxCreate (&other, 0, 0));
  ok (cu.cuMemAlloc (&to, 1));
  fails (cu.cuCtxEnablePeerAccess (primary, 0), 217);
  fails (cu.cuCtxDisablePeerAccess (primary), 705);
  fails (cu.cuCtxEnablePeerAccess (other, 0), CUDA_ERROR_INVALID_CONTEXT);
  ok (cu.cuMemcpyPeerAsync (to, other, from, primary, 1, NULL));
  ok (cu.cuMemcpyDtoH (&byte, to, 1));
  ck_assert_int_eq (byte, 5);
  ok (cu.cuCtxPopCurrent (&popped));
  ok (cu.cuCtxDestroy (other));
  fails (cu.cuMemcpyPeerAsync (from, other, from, primary, 1, NULL),
      CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST (test_registration)
{
  char *memory = g_malloc0 (10000);
  CUdeviceptr at = (uintptr_t) memory;
  unsigned int type;

  fails (cu.cuPointerGetAttribute (&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at),
      CUDA_ERROR_INVALID_VALUE);
  fails (
      cu.cuMemHostUnregister (memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  fails (cu.cuMemHostRegister (memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemHostRegister (memory, 5000, CU_MEMHOSTREGISTER_PORTABLE));
  ok (cu.cuPointerGetAttribute (
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at + 4999));
  ck_assert_int_eq (type, CU_MEMORYTYPE_HOST);
  fails (cu.cuPointerGetAttribute (
             &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at + 5000),
      CUDA_ERROR_INVALID_VALUE);
  fails (cu.cuMemHostRegister (memory, 5000, 0),
      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  fails (cu.cuMemHostRegister (memory + 4999, 10, 0),
      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  ok (cu.cuMemHostRegister (memory + 5000, 5000, 0));
  ok (cu.cuMemHostUnregister (memory));
  fails (cu.cuMemHostRegister (memory, 5001, 0),
      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  ok (cu.cuMemHostUnregister (memory + 5000));
  g_free (memory);
}
END_TEST;

START_TEST (test_registration_of_nothing)
{
  size_t page = sysconf (_SC_PAGESIZE);
  char *memory = mmap (NULL, 2 * page, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  ck_assert (memory != MAP_FAILED);
  munmap (memory + page, page);
  fails (cu.cuMemHostRegister (memory, 2 * page, 0), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuMemHostRegister (memory, page, 0));
  ok (cu.cuMemHostUnregister (memory));
  munmap (memory, page);
}
END_TEST;

/* Maps 2 shared pages, filled with the value. */
static char *
map_shared (void *at, int fd, int value)
{
  size_t size = 2 * sysconf (_SC_PAGESIZE);
  int flags =
      MAP_SHARED | (at != NULL ? MAP_FIXED : 0) | (fd < 0 ? MAP_ANONYMOUS : 0);
  char *memory = mmap (at, size, PROT_READ | PROT_WRITE, flags, fd, 0);

  ck_assert (memory != MAP_FAILED);
  memset (memory, value, size);
  return memory;
}

/* The registration maps pages a second time, with a call of mremap() that
 * neither Valgrind nor qemu can make. */
static gboolean
can_map_twice (void)
{
  size_t size = sysconf (_SC_PAGESIZE);
  void *memory = mmap (
      NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void *again = mremap (memory, 0, size, MREMAP_MAYMOVE);

  munmap (memory, size);
  if (again == MAP_FAILED)
    return FALSE;
  munmap (again, size);
  return !RUNNING_ON_VALGRIND;
}

/* A registration pins pages, not addresses. If other pages are mapped at the
 * same address later, the device does not access them. */
START_TEST (test_registration_pins_pages)
{
  size_t size = 2 * sysconf (_SC_PAGESIZE);
  int fd = memfd_create ("registered", MFD_CLOEXEC);
  char *memory;
  char *seen = g_malloc (size);
  CUdeviceptr device;

  ck_assert_int_eq (ftruncate (fd, size), 0);
  memory = map_shared (NULL, _i == 0 ? fd : -1, 0x11);
  ok (cu.cuMemAlloc (&device, size));
  ok (cu.cuMemHostRegister (memory + 100, size - 200, 0));
  munmap (memory, size);
  ck_assert (map_shared (memory, -1, 0x22) == memory);

  ok (cu.cuMemcpyHtoD (device, memory + 100, size - 200));
  ok (cu.cuMemHostUnregister (memory + 100));
  ok (cu.cuMemcpyDtoH (seen, device, size - 200));
  for (size_t i = 0; i < size - 200; i++)
    ck_assert_int_eq (seen[i], 0x11);

  ok (cu.cuMemHostRegister (memory, size, 0));
  ok (cu.cuMemcpyHtoD (device, memory, size));
  ok (cu.cuMemcpyDtoH (seen, device, size));
  ck_assert_int_eq (seen[size - 1], 0x22);
  ok (cu.cuMemHostUnregister (memory));
  ok (cu.cuMemFree (device));
  munmap (memory, size);
  close (fd);
  g_free (seen);
}
END_TEST;

/* The device reads the bytes that the CPU stores after the registration. The
 * bytes that the device writes are in the file. They are not at the address,
 * because other pages are mapped there by then. */
START_TEST (test_registration_writes_to_pages)
{
  size_t size = 2 * sysconf (_SC_PAGESIZE);
  int fd = memfd_create ("registered", MFD_CLOEXEC);
  char *memory;
  char in_file = 0;
  CUdeviceptr device;

  ck_assert_int_eq (ftruncate (fd, size), 0);
  memory = map_shared (NULL, fd, 0x11);
  ok (cu.cuMemAlloc (&device, size));
  ok (cu.cuMemHostRegister (memory, size, 0));
  memory[size - 1] = 0x33;
  ok (cu.cuMemcpyHtoDAsync (device, memory, size, NULL));
  ok (cu.cuCtxSynchronize ());
  munmap (memory, size);
  ck_assert (map_shared (memory, -1, 0x22) == memory);
  ok (cu.cuMemcpyDtoHAsync (memory, device + size - 1, 1, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (pread (fd, &in_file, 1, 0), 1);
  ck_assert_int_eq (in_file, 0x33);
  ck_assert_int_eq (memory[0], 0x22);
  ok (cu.cuMemHostUnregister (memory));
  ok (cu.cuMemFree (device));
  munmap (memory, size);
  close (fd);
}
END_TEST;

/* A copy may begin in registered memory and end in memory that is not
 * registered. It uses the bytes that are at the addresses. */
START_TEST (test_copy_goes_beyond_registration)
{
  size_t page = sysconf (_SC_PAGESIZE);
  int fd = memfd_create ("registered", MFD_CLOEXEC);
  char *memory;
  char *seen = g_malloc0 (2 * page);
  CUdeviceptr device;

  ck_assert_int_eq (ftruncate (fd, 2 * page), 0);
  memory = map_shared (NULL, fd, 0x11);
  memset (memory + page, 0x22, page);
  ok (cu.cuMemAlloc (&device, 2 * page));
  ok (cu.cuMemHostRegister (memory, page, 0));
  ok (cu.cuMemcpyHtoD (device, memory, 2 * page));
  ok (cu.cuMemcpyDtoH (seen, device, 2 * page));
  ck_assert (memcmp (seen, memory, 2 * page) == 0);
  ok (cu.cuMemsetD8 (device, 0x33, page));
  ok (cu.cuMemsetD8 (device + page, 0x44, page));
  ok (cu.cuMemcpyDtoH (memory, device, 2 * page));
  ck_assert_int_eq (memory[page - 1], 0x33);
  ck_assert_int_eq (memory[page], 0x44);
  ck_assert_int_eq (memory[2 * page - 1], 0x44);
  ok (cu.cuMemHostUnregister (memory));
  ok (cu.cuMemFree (device));
  munmap (memory, 2 * page);
  close (fd);
  g_free (seen);
}
END_TEST;

START_TEST (test_pointer_attributes)
{
  CUdeviceptr pointer;
  CUcontext context = NULL;
  unsigned int type = 0;
  int ordinal = -1;

  ok (cu.cuMemAlloc (&pointer, 100));
  ok (cu.cuPointerGetAttribute (
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 99));
  ck_assert_int_eq (type, CU_MEMORYTYPE_DEVICE);
  ok (cu.cuPointerGetAttribute (
      &context, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  ck_assert (context == primary);
  ok (cu.cuPointerGetAttribute (
      &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  ck_assert_int_eq (ordinal, 0);
  ok (cu.cuMemFree (pointer));
  fails (cu.cuPointerGetAttribute (
             &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer),
      CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* ---- external memory ---- */

/* Makes a memfd as lavapipe does. The arguments can make the numbers in its
 * header wrong. */
static int
make_memfd (uint64_t payload, uint64_t offset, int64_t total_error)
{
  struct {
    uint64_t total;
    uint64_t offset;
    unsigned char uuid[16];
  } header = { payload + offset + total_error, offset, { 0 } };
  int fd = memfd_create ("test", MFD_CLOEXEC);

  ck_assert (fd >= 0);
  ck_assert (ftruncate (fd, (off_t) (payload + offset)) == 0);
  ck_assert (pwrite (fd, &header, sizeof header, 0) == sizeof header);
  return fd;
}

static CUresult
import_fd (CUexternalMemory *memory, int fd, uint64_t size)
{
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { 0 };

  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  return cu.cuImportExternalMemory (memory, &desc);
}

static CUresult
map_external (
    CUdeviceptr *pointer, CUexternalMemory memory, uint64_t at, uint64_t size)
{
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = { 0 };

  desc.offset = at;
  desc.size = size;
  return cu.cuExternalMemoryGetMappedBuffer (pointer, memory, &desc);
}

static gboolean
fd_is_open (int fd)
{
  return fcntl (fd, F_GETFD) >= 0;
}

START_TEST (test_import)
{
  int fd = make_memfd (16384, 4096, 0);
  unsigned char *host =
      mmap (NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
  CUexternalMemory memory;
  CUdeviceptr all;
  CUdeviceptr part;
  unsigned char byte = 0;
  unsigned int type = 0;

  ck_assert (host != MAP_FAILED);
  ok (import_fd (&memory, fd, 16384));
  ok (map_external (&all, memory, 0, 16384));
  ok (map_external (&part, memory, 5000, 100));
  fails (map_external (&part, memory, 16384, 1), CUDA_ERROR_INVALID_VALUE);
  fails (map_external (&part, memory, 1, 16384), CUDA_ERROR_INVALID_VALUE);
  fails (map_external (&part, memory, UINT64_MAX, 2), CUDA_ERROR_INVALID_VALUE);
  fails (map_external (&part, memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
  host[5001] = 42;
  ok (cu.cuMemcpyDtoH (&byte, part + 1, 1));
  ck_assert_int_eq (byte, 42);
  ok (cu.cuMemsetD8 (all + 5002, 43, 1));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (host[5002], 43);
  fails (cu.cuMemsetD8 (part, 0, 101), CUDA_ERROR_INVALID_VALUE);
  ok (cu.cuPointerGetAttribute (&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, part));
  ck_assert_int_eq (type, CU_MEMORYTYPE_DEVICE);

  ok (cu.cuDestroyExternalMemory (memory));
  ck_assert (!fd_is_open (fd));
  fails (cu.cuDestroyExternalMemory (memory), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuMemsetD8 (part, 44, 1));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (host[5000], 44);
  ok (cu.cuMemFree (part));
  ok (cu.cuMemFree (all));
  munmap (host, 16384);
}
END_TEST;

static void
refuse_fd (int fd, uint64_t size, CUresult error)
{
  CUexternalMemory memory;

  fails (import_fd (&memory, fd, size), error);
  ck_assert (fd_is_open (fd));
  close (fd);
}

START_TEST (test_import_of_malformed)
{
  CUexternalMemory memory;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { 0 };
  int pipe_fds[2];

  refuse_fd (make_memfd (8192, 4096, 1), 8192, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (make_memfd (8192, 4096, -1), 8192, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (make_memfd (8192, 4095, 0), 8192, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (make_memfd (8192, 0, 0), 8192, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (make_memfd (0, 4096, 0), 1, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (make_memfd (8192, 4096, 0), 8193, CUDA_ERROR_INVALID_VALUE);
  refuse_fd (make_memfd (8192, 4096, 0), 0, CUDA_ERROR_INVALID_VALUE);
  refuse_fd (memfd_create ("empty", 0), 1, CUDA_ERROR_INVALID_HANDLE);
  ck_assert (pipe (pipe_fds) == 0);
  refuse_fd (pipe_fds[0], 1, CUDA_ERROR_INVALID_HANDLE);
  close (pipe_fds[1]);
  fails (import_fd (&memory, -1, 1), CUDA_ERROR_INVALID_HANDLE);
  desc.type = 4;
  desc.size = 1;
  fails (cu.cuImportExternalMemory (&memory, &desc), CUDA_ERROR_NOT_SUPPORTED);
  fails (cu.cuImportExternalMemory (&memory, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

/* ---- calls are counted ---- */

static gpointer
count_in_thread (gpointer unused)
{
  int count;

  ok (cu.cuDeviceGetCount (&count));
  return GSIZE_TO_POINTER (count_calls ("cuDeviceGetCount"));
}

/* Each thread has its own counts. Calls that fail are counted, too. */
START_TEST (test_count)
{
  unsigned long all = count_calls ("*"), some = count_calls ("cuMemAlloc");
  CUdeviceptr pointer;
  GThread *thread;
  int count;

  ok (cu.cuMemAlloc (&pointer, 10));
  ok (cu.cuMemFree (pointer));
  ok (set_fail ("cuMemAlloc:1"));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_UNKNOWN);
  ck_assert_uint_eq (count_calls ("cuMemAlloc"), some + 2);
  ck_assert_uint_eq (count_calls ("*"), all + 3);
  ck_assert_uint_eq (count_calls ("cuNothing"), 0);
  ok (cu.cuDeviceGetCount (&count));
  some = count_calls ("cuDeviceGetCount");
  thread = g_thread_new ("count", count_in_thread, NULL);
  ck_assert_uint_eq (GPOINTER_TO_SIZE (g_thread_join (thread)), 1);
  ck_assert_uint_eq (count_calls ("cuDeviceGetCount"), some);
}
END_TEST;

/* ---- calls made to fail ---- */

START_TEST (test_fail)
{
  CUdeviceptr pointer;
  int count;

  fails (set_fail ("cuNothing:1"), CUDA_ERROR_INVALID_VALUE);
  fails (set_fail ("cuMemAlloc:0"), CUDA_ERROR_INVALID_VALUE);
  fails (set_fail ("cuMemAlloc:x"), CUDA_ERROR_INVALID_VALUE);
  fails (set_fail ("cuMemAlloc"), CUDA_ERROR_INVALID_VALUE);
  fails (set_fail ("cuMemAlloc:1:CUDA_NONSENSE"), CUDA_ERROR_INVALID_VALUE);
  ok (set_fail ("cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,cuMemFree:1:719,"
                "cuDeviceGetCount:1"));
  ok (cu.cuMemAlloc (&pointer, 10));
  fails (cu.cuMemFree (pointer), CUDA_ERROR_LAUNCH_FAILED);
  ok (cu.cuMemFree (pointer));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&pointer, 10));
  ok (cu.cuMemFree (pointer));
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_UNKNOWN);
  ok (set_fail ("cuDeviceGetCount:2+:46"));
  ok (cu.cuDeviceGetCount (&count));
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
  fails (cu.cuDeviceGetCount (&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
  ok (set_fail ("*:2"));
  ok (cu.cuDeviceGetCount (&count));
  fails (cu.cuMemAlloc (&pointer, 10), CUDA_ERROR_UNKNOWN);
  ok (cu.cuDeviceGetCount (&count));
  ok (set_fail ("cuDeviceGetCount:1"));
  ok (set_fail (NULL));
  ok (cu.cuDeviceGetCount (&count));
}
END_TEST;

START_TEST (test_fail_by_environment)
{
  load_driver ();
  g_setenv ("SOFTCUDA_FAIL", "cuInit:2:CUDA_ERROR_NO_DEVICE", TRUE);
  ok (cu.cuInit (0));
  fails (cu.cuInit (0), CUDA_ERROR_NO_DEVICE);
  ok (cu.cuInit (0));
  g_setenv ("SOFTCUDA_FAIL", "nonsense", TRUE);
  fails (cu.cuInit (0), CUDA_ERROR_INVALID_VALUE);
  g_unsetenv ("SOFTCUDA_FAIL");
  ok (cu.cuInit (0));
}
END_TEST;

static Suite *
softcuda_driver_suite (void)
{
  Suite *s = suite_create ("softcuda-driver");
  TCase *bare = tcase_create ("bare");
  TCase *tc = tcase_create ("context");

  suite_add_tcase (s, bare);
  tcase_add_test (bare, test_nothing_before_init);
  tcase_add_test (bare, test_fail_by_environment);
  suite_add_tcase (s, tc);
  tcase_add_checked_fixture (tc, setup_context, teardown_context);
  tcase_add_test (tc, test_device);
  tcase_add_test (tc, test_uuid);
  tcase_add_test (tc, test_error_names);
  tcase_add_test (tc, test_context_stack);
  tcase_add_test (tc, test_primary_is_counted);
  tcase_add_test (tc, test_current_is_per_thread);
  tcase_add_test (tc, test_memory_is_bounded);
  tcase_add_test (tc, test_free_of_what_is_not_ours);
  tcase_add_test (tc, test_pitch);
  tcase_add_test (tc, test_copies_are_checked);
  tcase_add_test (tc, test_copy_2d);
  tcase_add_test (tc, test_peers);
  tcase_add_test (tc, test_registration);
  tcase_add_test (tc, test_registration_of_nothing);
  if (can_map_twice ()) {
    tcase_add_loop_test (tc, test_registration_pins_pages, 0, 2);
    tcase_add_test (tc, test_registration_writes_to_pages);
    tcase_add_test (tc, test_copy_goes_beyond_registration);
  }
  tcase_add_test (tc, test_pointer_attributes);
  tcase_add_test (tc, test_import);
  tcase_add_test (tc, test_import_of_malformed);
  tcase_add_test (tc, test_count);
  tcase_add_test (tc, test_fail);
  return s;
}

TEST_MAIN (softcuda_driver);
