/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-memory.c: tests of memory, of copies and memsets, of registered and of
 * imported memory
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

FIXTURE (setup_context, teardown_context);

TEST (memory_is_bounded)
{
  CUdeviceptr a, b;

  invalid (cu.cuMemAlloc (&a, 0));
  fails (cu.cuMemAlloc (&a, LIMIT + 1), CUDA_ERROR_OUT_OF_MEMORY);
  fails (cu.cuMemAlloc (&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&a, LIMIT - 1000));
  ck_assert_uint_eq (free_memory (), 1000);
  fails (cu.cuMemAlloc (&b, 1001), CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAlloc (&b, 1000));
  ok (cu.cuMemFree (a));
  ok (cu.cuMemFree (b));
  ck_assert_uint_eq (free_memory (), LIMIT);
}

TEST (free_of_what_is_not_ours)
{
  CUdeviceptr pointer = new_memory (100, 0);
  void *host;
  char local[16];

  invalid (cu.cuMemFree ((uintptr_t) local));
  invalid (cu.cuMemFree (pointer + 1));
  invalid (cu.cuMemFreeHost ((void *) (uintptr_t) pointer));
  ok (cu.cuMemFree (pointer));
  invalid (cu.cuMemFree (pointer));
  ok (cu.cuMemHostAlloc (&host, 100, 0));
  invalid (cu.cuMemFree ((uintptr_t) host));
  ok (cu.cuMemFreeHost (host));
}

TEST (pitch)
{
  CUdeviceptr pointer;
  size_t pitch;

  invalid (cu.cuMemAllocPitch (&pointer, &pitch, 100, 10, 3));
  fails (cu.cuMemAllocPitch (&pointer, &pitch, SIZE_MAX - 3, 10, 4),
      CUDA_ERROR_OUT_OF_MEMORY);
  ok (cu.cuMemAllocPitch (&pointer, &pitch, 513, 10, 4));
  ck_assert_uint_eq (pitch, 1024);
  ok (cu.cuMemsetD8 (pointer, 1, 10240));
  invalid (cu.cuMemsetD8 (pointer, 1, 10241));
}

TEST (host_memory)
{
  char text[8] = "abcdefg";
  CUdeviceptr at;
  unsigned int flags;
  void *pinned;

  invalid (cu.cuMemAllocHost (&pinned, 0));
  ok (cu.cuMemAllocHost (&pinned, 100));
  ok (cu.cuMemFreeHost (pinned));
  ok (cu.cuMemHostAlloc (&pinned, 100, 4));
  ok (cu.cuMemHostGetFlags (&flags, pinned));
  ck_assert_uint_eq (flags, 4 | CU_MEMHOSTALLOC_DEVICEMAP);
  ok (cu.cuMemHostGetDevicePointer (&at, (char *) pinned + 5, 0));
  ck_assert (at == (uintptr_t) pinned + 5);
  invalid (cu.cuMemHostGetDevicePointer (&at, text, 0));
}

#define ATTRIBUTE(name, value, address) \
  cu.cuPointerGetAttribute (value, CU_POINTER_ATTRIBUTE_##name, address)

TEST (pointer_attributes)
{
  CUdeviceptr pointer = new_memory (100, 0);
  CUcontext context = NULL;
  unsigned int type = 0;
  int ordinal = -1;

  ok (ATTRIBUTE (MEMORY_TYPE, &type, pointer + 99));
  ck_assert_int_eq (type, CU_MEMORYTYPE_DEVICE);
  ok (ATTRIBUTE (CONTEXT, &context, pointer));
  ck_assert (context == primary);
  ok (ATTRIBUTE (DEVICE_ORDINAL, &ordinal, pointer));
  ck_assert_int_eq (ordinal, 0);
  ok (cu.cuMemFree (pointer));
  invalid (ATTRIBUTE (MEMORY_TYPE, &type, pointer));
}

/* ---- copies and memsets ---- */

TEST (copies_are_checked)
{
  unsigned char host[64];
  CUdeviceptr a = new_memory (32, 0), b = new_memory (32, 0);

  memset (host, 7, sizeof host);
  ok (cu.cuMemcpyHtoD (a, host, 32));
  invalid (cu.cuMemcpyHtoD (a, host, 33));
  invalid (cu.cuMemcpyHtoD (a + 16, host, 17));
  invalid (cu.cuMemcpyHtoD (a - 1, host, 2));
  invalid (cu.cuMemcpyHtoD (0, host, 1));
  invalid (cu.cuMemcpyHtoD (a, NULL, 1));
  ok (cu.cuMemcpyHtoD (a, host, 0));
  ok (cu.cuMemcpyDtoD (b, a, 32));
  ok (cu.cuMemsetD8 (b + 8, 9, 8));
  invalid (cu.cuMemcpyDtoD (b, a, 33));
  memset (host, 0, sizeof host);
  invalid (cu.cuMemcpyDtoH (host, b, 64));
  ok (cu.cuMemcpyDtoH (host, b, 32));
  for (int i = 0; i < 64; i++)
    ck_assert_int_eq (host[i], i >= 32 ? 0 : i / 8 == 1 ? 9 : 7);
}

TEST (copies_of_either_side)
{
  char text[8] = "abcdefg", back[8] = "";
  CUdeviceptr memory = new_memory (sizeof text, 0);

  ok (cu.cuMemcpy (memory, (uintptr_t) text, sizeof text));
  ok (cu.cuMemcpyAsync ((uintptr_t) back, memory, sizeof back, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_str_eq (back, text);
  ok (cu.cuMemcpyPeer (memory, primary, memory + 4, primary, 4));
  ok (cu.cuMemcpyDtoH (back, memory, sizeof back));
  ck_assert_str_eq (back, "efg");
}

/* A rectangle of 5 x 4 bytes is copied from one of 10 x 6 to one of 16 x 5. */
TEST (copy_2d)
{
  guint8 host[6][10], (*device)[16] = zeroed (5 * 16);
  CUDA_MEMCPY2D copy = { .srcXInBytes = 2,
    .srcY = 1,
    .srcMemoryType = CU_MEMORYTYPE_HOST,
    .srcHost = host,
    .srcPitch = 10,
    .dstXInBytes = 11,
    .dstY = 1,
    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
    .dstDevice = (uintptr_t) device,
    .dstPitch = 16,
    .WidthInBytes = 5,
    .Height = 4 };

  for (gsize i = 0; i < sizeof host; i++)
    ((guint8 *) host)[i] = i;
  ok (cu.cuMemcpy2D (&copy));
  for (int y = 0; y < 5; y++)
    for (int x = 0; x < 16; x++)
      ck_assert_int_eq (device[y][x], y >= 1 && x >= 11 ? host[y][x - 9] : 0);
  copy.dstXInBytes = 12;
  invalid (cu.cuMemcpy2D (&copy));
  copy.dstXInBytes = 0;
  copy.Height = 5;
  invalid (cu.cuMemcpy2D (&copy));
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY; /* but there is none */
  invalid (cu.cuMemcpy2D (&copy));
}

/* A box of 2 x 3 x 2 bytes is copied out of one of 4 x 5 x 3. */
TEST (copy_3d)
{
  guint8 (*device)[5][4] = zeroed (3 * 5 * 4), box[2][3][2] = { { { 0 } } };
  CUDA_MEMCPY3D copy = { .srcXInBytes = 1,
    .srcY = 2,
    .srcZ = 1,
    .srcMemoryType = CU_MEMORYTYPE_DEVICE,
    .srcDevice = (uintptr_t) device,
    .srcPitch = 4,
    .srcHeight = 5,
    .dstMemoryType = CU_MEMORYTYPE_HOST,
    .dstHost = box,
    .dstPitch = 2,
    .dstHeight = 3,
    .WidthInBytes = 2,
    .Height = 3,
    .Depth = 3 };

  for (int i = 0; i < 3 * 5 * 4; i++)
    ((guint8 *) device)[i] = i;
  invalid (cu.cuMemcpy3D (&copy));
  ck_assert_int_eq (box[0][0][0], 0);
  copy.Depth = 2;
  ok (cu.cuMemcpy3D (&copy));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 3; y++)
      ck_assert_mem_eq (box[z][y], &device[z + 1][y + 2][1], 2);
  copy.Depth = 0;
  ok (cu.cuMemcpy3DAsync (&copy, NULL));
}

#define PITCH 64
#define ROWS 5

/* Checks that only the rectangle has been set, from the second row on, and
 * clears the memory. */
static void
check_set (CUresult result, guint8 *memory, const void *pixel, int size,
    int width, int rows)
{
  ok (result);
  ok (cu.cuCtxSynchronize ());
  for (int y = 0; y < ROWS; y++)
    for (int x = 0; x < PITCH; x++)
      ck_assert_int_eq (
          memory[y * PITCH + x], y > 0 && y <= rows && x < width * size
                                     ? ((const guint8 *) pixel)[x % size]
                                     : 0);
  memset (memory, 0, PITCH * ROWS);
}

TEST (memsets)
{
  const guint8 a = 0x5a;
  const guint16 b = 0x1234;
  const guint32 c = 0x789abcde;
  guint8 *memory = zeroed (PITCH * ROWS);
  CUdeviceptr at = (uintptr_t) memory + PITCH;
  CUstream stream = new_stream (CU_STREAM_DEFAULT);

#define CHECK(call, pixel, width, rows) \
  check_set (cu.call, memory, &pixel, sizeof pixel, width, rows)
#define CHECK_ALL(bits, pixel) \
  CHECK (cuMemsetD##bits (at, pixel, 7), pixel, 7, 1); \
  CHECK (cuMemsetD##bits##Async (at, pixel, 16, stream), pixel, 16, 1); \
  CHECK (cuMemsetD2D##bits (at, PITCH, pixel, 9, 3), pixel, 9, 3); \
  CHECK (cuMemsetD2D##bits##Async (at, PITCH, pixel, 16, 3, stream), pixel, \
      16, 3)
  CHECK_ALL (8, a);
  CHECK_ALL (16, b);
  CHECK_ALL (32, c);
  CHECK (cuMemsetD2D32 (at, PITCH, 9, 0, 1), c, 0, 0);
  CHECK (cuMemsetD2D8Async (at, 0, 9, 0, 5, NULL), c, 0, 0);
  invalid (cu.cuMemsetD2D8 (at, PITCH, 0, PITCH, ROWS));
  invalid (cu.cuMemsetD2D8 (at, 4, 0, 5, 2));
  invalid (cu.cuMemsetD2D16 (at + 1, PITCH, 0, 1, 1));
  invalid (cu.cuMemsetD2D32 (at, 66, 0, 1, 2));
  invalid (cu.cuMemsetD2D32 (at, PITCH, 0, SIZE_MAX / 2, 1));
  invalid (cu.cuMemsetD16 (at + 1, 0, 1));
  invalid (cu.cuMemsetD32 (at, 0, PITCH * ROWS / 4));
  ok (cu.cuMemAllocManaged (&at, PITCH * ROWS, 1));
  memory = (guint8 *) (uintptr_t) at;
  memset (memory, 0, PITCH * ROWS);
  ok (cu.cuMemsetD8 (at + PITCH, a, 7)); /* waits for managed memory */
  ck_assert_int_eq (memory[PITCH + 6], a);
}

/* ---- registered memory ---- */

TEST (registration)
{
  char *memory = g_malloc0 (10000);
  CUdeviceptr at = (uintptr_t) memory;
  unsigned int type;

  invalid (ATTRIBUTE (MEMORY_TYPE, &type, at));
  fails (
      cu.cuMemHostUnregister (memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  invalid (cu.cuMemHostRegister (memory, 0, 0));
  ok (cu.cuMemHostRegister (memory, 5000, CU_MEMHOSTREGISTER_PORTABLE));
  ok (ATTRIBUTE (MEMORY_TYPE, &type, at + 4999));
  ck_assert_int_eq (type, CU_MEMORYTYPE_HOST);
  invalid (ATTRIBUTE (MEMORY_TYPE, &type, at + 5000));
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

TEST (registration_of_nothing)
{
  size_t page = sysconf (_SC_PAGESIZE);
  char *memory = mmap (NULL, 2 * page, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  ck_assert (memory != MAP_FAILED);
  munmap (memory + page, page);
  invalid (cu.cuMemHostRegister (memory, 2 * page, 0));
  ok (cu.cuMemHostRegister (memory, page, 0));
  ok (cu.cuMemHostUnregister (memory));
}

/* Two pages that are shared, by a file or without one, and as much memory of
 * the device. */
static size_t size;
static char *memory, *device;
static CUdeviceptr pointer;

/* Maps the pages, filled with the value. */
static void
map_shared (int fd, int value)
{
  int flags = MAP_SHARED | (memory != NULL ? MAP_FIXED : 0)
              | (fd < 0 ? MAP_ANONYMOUS : 0);

  memory = mmap (memory, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  ck_assert (memory != MAP_FAILED);
  memset (memory, value, size);
}

static int
map_file (int value)
{
  int fd = memfd_create ("registered", MFD_CLOEXEC);

  size = 2 * sysconf (_SC_PAGESIZE);
  ck_assert_int_eq (ftruncate (fd, size), 0);
  map_shared (fd, value);
  device = zeroed (size);
  pointer = (uintptr_t) device;
  return fd;
}

/* The registration maps pages a second time, with a call of mremap() that
 * neither Valgrind nor qemu can make. */
static gboolean
can_map_twice (void)
{
  size_t page = sysconf (_SC_PAGESIZE);
  void *shared = mmap (
      NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  return mremap (shared, 0, page, MREMAP_MAYMOVE) != MAP_FAILED
         && !RUNNING_ON_VALGRIND;
}

/* A registration pins pages, not addresses. If other pages are mapped at the
 * same address later, the device does not access them. It reads the bytes that
 * the CPU stores after the registration, and the bytes that it writes are in
 * the file. */
TEST_IF (registration_pins_pages, can_map_twice ())
{
  int fd = map_file (0x11);
  char in_file = 0;

  ok (cu.cuMemHostRegister (memory + 100, size - 200, 0));
  memory[size - 101] = 0x33;
  ok (cu.cuMemcpyHtoDAsync (pointer, memory + 100, size - 200, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert (device[0] == 0x11 && device[size - 201] == 0x33);
  map_shared (-1, 0x22);
  ok (cu.cuMemcpyHtoD (pointer, memory + 100, 50));
  ck_assert (device[0] == 0x11);
  ok (cu.cuMemsetD8 (pointer, 0x44, 1));
  ok (cu.cuMemcpyDtoHAsync (memory + 100, pointer, 1, NULL));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (pread (fd, &in_file, 1, 100), 1);
  ck_assert_int_eq (in_file, 0x44);
  ck_assert_int_eq (memory[100], 0x22);
  ok (cu.cuMemHostUnregister (memory + 100));

  ok (cu.cuMemHostRegister (memory, size, 0)); /* pages without a file */
  map_shared (-1, 0x55);
  ok (cu.cuMemcpyHtoD (pointer, memory, size));
  ck_assert_int_eq (device[size - 1], 0x22);
}

/* A copy may begin in registered memory and end in memory that is not
 * registered. It uses the bytes that are at the addresses. */
TEST_IF (copy_goes_beyond_registration, can_map_twice ())
{
  size_t page = sysconf (_SC_PAGESIZE);

  map_file (0x11);
  memset (memory + page, 0x22, page);
  ok (cu.cuMemHostRegister (memory, page, 0));
  ok (cu.cuMemcpyHtoD (pointer, memory, size));
  ck_assert_mem_eq (device, memory, size);
  memset (device, 0x33, page);
  memset (device + page, 0x44, page);
  ok (cu.cuMemcpyDtoH (memory, pointer, size));
  ck_assert_mem_eq (device, memory, size);
}

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
import_fd (CUexternalMemory *imported, int fd, uint64_t size)
{
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { 0 };

  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  return cu.cuImportExternalMemory (imported, &desc);
}

static CUresult
map_external (CUdeviceptr *mapped, CUexternalMemory imported, uint64_t offset,
    uint64_t bytes)
{
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = { .offset = offset, .size = bytes };

  return cu.cuExternalMemoryGetMappedBuffer (mapped, imported, &desc);
}

/* It takes part of the device's memory while it is mapped. */
TEST (import_is_limited)
{
  size_t free_before, free_bytes, total;
  CUexternalMemory imported;
  CUdeviceptr mapped;

  ok (cu.cuMemGetInfo (&free_before, &total));
  ok (import_fd (&imported, make_memfd (total + 4096, 4096, 0), total + 4096));
  fails (map_external (&mapped, imported, 0, free_before + 1),
      CUDA_ERROR_OUT_OF_MEMORY);
  ok (map_external (&mapped, imported, 0, free_before));
  ok (cu.cuMemGetInfo (&free_bytes, &total));
  ck_assert_uint_eq (free_bytes, 0);
  ok (cu.cuMemFree (mapped));
  ok (cu.cuMemGetInfo (&free_bytes, &total));
  ck_assert_uint_eq (free_bytes, free_before);
  ok (cu.cuDestroyExternalMemory (imported));
}

static gboolean
fd_is_open (int fd)
{
  return fcntl (fd, F_GETFD) >= 0;
}

TEST (import)
{
  int fd = make_memfd (16384, 4096, 0);
  unsigned char *host =
      mmap (NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
  CUexternalMemory imported;
  CUdeviceptr all, part;
  unsigned char byte = 0;
  unsigned int type = 0;

  ck_assert (host != MAP_FAILED);
  ok (import_fd (&imported, fd, 16384));
  ok (map_external (&all, imported, 0, 16384));
  ok (map_external (&part, imported, 5000, 100));
  invalid (map_external (&part, imported, 16384, 1));
  invalid (map_external (&part, imported, 1, 16384));
  invalid (map_external (&part, imported, UINT64_MAX, 2));
  invalid (map_external (&part, imported, 0, 0));
  host[5001] = 42;
  ok (cu.cuMemcpyDtoH (&byte, part + 1, 1));
  ck_assert_int_eq (byte, 42);
  ok (cu.cuMemsetD8 (all + 5002, 43, 1));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (host[5002], 43);
  invalid (cu.cuMemsetD8 (part, 0, 101));
  ok (ATTRIBUTE (MEMORY_TYPE, &type, part));
  ck_assert_int_eq (type, CU_MEMORYTYPE_DEVICE);

  ok (cu.cuDestroyExternalMemory (imported));
  ck_assert (!fd_is_open (fd));
  fails (cu.cuDestroyExternalMemory (imported), CUDA_ERROR_INVALID_HANDLE);
  ok (cu.cuMemsetD8 (part, 44, 1));
  ok (cu.cuCtxSynchronize ());
  ck_assert_int_eq (host[5000], 44);
  ok (cu.cuMemFree (part));
  ok (cu.cuMemFree (all));
}

/* A memfd that is made with these numbers, and the size to import. */
static const struct {
  uint64_t payload, offset;
  int64_t total_error;
  uint64_t size;
  CUresult error;
} malformed[] = {
  { 8192, 4096, 1, 8192, CUDA_ERROR_INVALID_HANDLE },
  { 8192, 4096, -1, 8192, CUDA_ERROR_INVALID_HANDLE },
  { 8192, 4095, 0, 8192, CUDA_ERROR_INVALID_HANDLE },
  { 8192, 0, 0, 8192, CUDA_ERROR_INVALID_HANDLE },
  { 0, 4096, 0, 1, CUDA_ERROR_INVALID_HANDLE },
  { 8192, 4096, 0, 8193, CUDA_ERROR_INVALID_VALUE },
  { 8192, 4096, 0, 0, CUDA_ERROR_INVALID_VALUE },
};

/* The caller still owns a file descriptor that was refused. */
static void
refuse_fd (int fd, uint64_t bytes, CUresult error)
{
  CUexternalMemory imported;

  fails (import_fd (&imported, fd, bytes), error);
  ck_assert (fd < 0 || fd_is_open (fd));
}

TEST (import_of_malformed)
{
  CUexternalMemory imported;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = 4, .size = 1 };
  int pipe_fds[2];

  for (gsize i = 0; i < G_N_ELEMENTS (malformed); i++)
    refuse_fd (make_memfd (malformed[i].payload, malformed[i].offset,
                   malformed[i].total_error),
        malformed[i].size, malformed[i].error);
  refuse_fd (memfd_create ("empty", 0), 1, CUDA_ERROR_INVALID_HANDLE);
  ck_assert (pipe (pipe_fds) == 0);
  refuse_fd (pipe_fds[0], 1, CUDA_ERROR_INVALID_HANDLE);
  refuse_fd (-1, 1, CUDA_ERROR_INVALID_HANDLE);
  fails (
      cu.cuImportExternalMemory (&imported, &desc), CUDA_ERROR_NOT_SUPPORTED);
  invalid (cu.cuImportExternalMemory (&imported, NULL));
}
