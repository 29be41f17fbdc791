/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-share.c: tests that another process imports memory from its file
 * descriptor, and writes to it
 *
 * The other process is this program, which is started again with arguments.
 * Device memory is tested with the driver if it can export it, and otherwise
 * with functions that take the place of the driver's.
 */

#include "util.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE ((size_t) 1000003) /* not a multiple of anything */

/* The seeds of the bytes that the parent and the child write. */
#define PARENTS 1
#define CHILDS 2

/* Writes through the host pointer if there is one, and otherwise by a
 * transfer. */
static bool
write_bytes (vkgdr_memory_t mem, unsigned int seed)
{
  uint8_t *bytes = malloc (SIZE);
  CUresult result = CUDA_SUCCESS;

  test_fill (bytes, SIZE, seed);
  if (vkgdr_memory_get_host_ptr (mem)) {
    memcpy (vkgdr_memory_get_host_ptr (mem), bytes, SIZE);
    vkgdr_memory_flush (mem, 0, SIZE);
  } else {
    /* A copy from pageable memory may return before it is complete. It would
     * not be completed if the process ended now. */
    result = vkgdr_driver_load ()->cuMemcpyHtoD (
        vkgdr_memory_get_device_ptr (mem), bytes, SIZE);
    if (result == CUDA_SUCCESS)
      result = vkgdr_driver_load ()->cuCtxSynchronize ();
  }
  free (bytes);
  return result == CUDA_SUCCESS;
}

/* Returns whether the device reads these bytes, and the CPU, too, if there is a
 * host pointer. */
static bool
holds (vkgdr_memory_t mem, unsigned int seed)
{
  uint8_t *bytes = malloc (SIZE);
  bool ok;

  ok = vkgdr_driver_load ()->cuMemcpyDtoH (
           bytes, vkgdr_memory_get_device_ptr (mem), SIZE)
           == CUDA_SUCCESS
       && test_matches (bytes, SIZE, seed);
  if (ok && vkgdr_memory_get_host_ptr (mem)) {
    vkgdr_memory_invalidate (mem, 0, SIZE);
    ok = test_matches (vkgdr_memory_get_host_ptr (mem), SIZE, seed);
  }
  free (bytes);
  return ok;
}

/* --- the other process ---------------------------------------------------- */

static int
fail_in_child (const char *what)
{
  char *error = vkgdr_last_error ();

  fprintf (stderr, "child: %s: %s\n", what, error ? error : "no error");
  free (error);
  return EXIT_FAILURE;
}

/* Does the same as test_enter_context (), whose checks need libcheck. */
static bool
enter_context (void)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  CUcontext context;

  return cu && cu->cuDevicePrimaryCtxRetain (&context, 0) == CUDA_SUCCESS
         && cu->cuCtxPushCurrent (context) == CUDA_SUCCESS;
}

/* Imports the file descriptor in argv[2]. The description comes from standard
 * input. argv[3] tells whether a host pointer is expected. */
static int
be_the_child (char **argv)
{
  bool expects_host = strcmp (argv[3], "host") == 0;
  vkgdr_fd_info info;
  vkgdr_memory_t mem;
  vkgdr_t g;

  if (read (STDIN_FILENO, &info, sizeof (info)) != sizeof (info))
    return fail_in_child ("read");
  if (!enter_context ())
    return fail_in_child ("CUDA context");
  g = vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  if (!g)
    return fail_in_child ("vkgdr_open");
  mem = vkgdr_memory_import_fd (g, atoi (argv[2]), &info);
  if (!mem)
    return fail_in_child ("vkgdr_memory_import_fd");
  if ((vkgdr_memory_get_host_ptr (mem) != NULL) != expects_host)
    return fail_in_child ("host pointer");
  if (vkgdr_memory_get_size (mem) != SIZE)
    return fail_in_child ("size");
  if (!holds (mem, PARENTS))
    return fail_in_child ("other bytes than the parent's");
  if (!write_bytes (mem, CHILDS))
    return fail_in_child ("write");
  vkgdr_memory_free (mem);
  vkgdr_close (g);
  return EXIT_SUCCESS;
}

/* Reads the link first, because Valgrind cannot execute /proc/self/exe. */
static void
exec_child (int fd, int input, const char *host, const char *debug)
{
  char self[PATH_MAX] = "";
  char number[16];

  if (readlink ("/proc/self/exe", self, sizeof (self) - 1) < 0)
    _exit (126);
  dup2 (input, STDIN_FILENO);
  fcntl (fd, F_SETFD, 0);
  snprintf (number, sizeof (number), "%d", fd);
  if (debug)
    setenv ("VKGDR_DEBUG", debug, 1);
  execl (self, self, "child", number, host, NULL);
  _exit (127);
}

/* Starts a child with VKGDR_DEBUG=@debug, which imports @mem and writes to
 * it. */
static void
let_child_write (vkgdr_memory_t mem, const char *host, const char *debug)
{
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_fd_info info;
  int pipe_ends[2];
  int status = -1;
  pid_t child;

  assert_no_error ();
  ck_assert_int_ge (fd, 0);
  vkgdr_memory_describe_fd (mem, &info);
  ck_assert_int_eq (pipe2 (pipe_ends, O_CLOEXEC), 0);
  ck_assert_int_eq (
      write (pipe_ends[1], &info, sizeof (info)), (int) sizeof (info));
  child = fork ();
  if (child == 0)
    exec_child (fd, pipe_ends[0], host, debug);
  ck_assert_int_eq (waitpid (child, &status, 0), child);
  ck_assert_msg (WIFEXITED (status) && WEXITSTATUS (status) == 0,
      "the child ended with status %#x", status);
  close (fd);
  close (pipe_ends[0]);
  close (pipe_ends[1]);
}

/* The kind of memory, and what a child with VKGDR_DEBUG=@debug gets. */
static const struct {
  uint32_t flags;
  const char *host, *debug;
} children[] = {
  { 0, "host", NULL },
  /* Memory in the parent's window is device memory for such a child. */
  { 0, "no-host", "no-window" },
  { 0, "host", "non-coherent" },
  { VKGDR_MEMORY_DEVICE_BIT, "no-host", NULL },
  { VKGDR_MEMORY_DEVICE_BIT, "no-host", "no-window" },
};

TEST_REQUIRE (test_require_device);

TEST_LOOP (a_child_writes, N_ELEMENTS (children))
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = vkgdr_memory_alloc (g, SIZE, children[__i__].flags);

  if (!mem) {
    ck_assert_uint_ne (children[__i__].flags, 0);
    assert_error ("device memory");
    printf ("skipped: this driver does not export device memory\n");
  } else {
    ck_assert (write_bytes (mem, PARENTS));
    let_child_write (mem, children[__i__].host, children[__i__].debug);
    ck_assert (holds (mem, CHILDS));
    vkgdr_memory_free (mem);
  }
  vkgdr_close (g);
}

/* --- in one process ------------------------------------------------------ */

TEST (an_import_keeps_the_bytes)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  int fd = vkgdr_memory_get_fd (mem);
  int fds = test_count_fds ();
  vkgdr_device_info device;
  vkgdr_fd_info info;

  ck_assert (write_bytes (mem, PARENTS));
  vkgdr_memory_describe_fd (mem, &info);
  ck_assert_uint_eq (info.size, SIZE);
  ck_assert_uint_eq (info.flags, 0);
  ck_assert_mem_eq (info.device_uuid, g->info.uuid, 16);
  vkgdr_memory_free (mem);

  mem = vkgdr_memory_import_fd (g, fd, &info);
  assert_no_error ();
  ck_assert_ptr_nonnull (mem);
  ck_assert (holds (mem, PARENTS));
  ck_assert_int_lt (fcntl (fd, F_GETFD), 0); /* the import owns the file
                                              * descriptor now */
  ck_assert_ptr_nonnull (vkgdr_memory_get_host_ptr (mem));

  vkgdr_get_device_info (g, &device);
  ck_assert_uint_eq (device.allocated, 0);
  ck_assert_uint_eq (device.n_allocations, 0);
  ck_assert_int_eq (vkgdr_memory_get_fd (mem), -1);
  assert_error ("imported", "allocated it");
  vkgdr_memory_free (mem);
  ck_assert_int_lt (test_count_fds (), fds);
  vkgdr_close (g);
}

/* If an import is refused, the caller keeps the file descriptor, and nothing
 * else is left. */
static void
assert_refused (vkgdr_t g, int fd, const vkgdr_fd_info *info, const char *word)
{
  int fds = test_count_fds ();
  int maps = test_count_maps ();

  ck_assert_ptr_null (vkgdr_memory_import_fd (g, fd, info));
  assert_error (word);
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_int_le (test_count_maps (), maps + 8);
}

/* What is wrong in the description of the file descriptor, and a word of the
 * error. @fd is a file descriptor instead of that of the memory, OF_DEVICE, or
 * OF_MEMORY. */
enum { OF_MEMORY = -2, OF_DEVICE = -3 /* of something without a size */ };

static const struct {
  uint8_t device, driver; /* change the UUIDs */
  uint64_t size;          /* 0: the right one */
  uint32_t flags;
  int fd;
  const char *word;
} wrong[] = {
  { 1, 0, 0, 0, OF_MEMORY, "another device" },
  { 0, 1, 0, 0, OF_MEMORY, "another version of the driver" },
  { 0, 0, UINT64_MAX, 0, OF_MEMORY, "18446744073709551615 bytes" },
  { 0, 0, 0, 0x80, OF_MEMORY, "0x80" },
  { 0, 0, 0, VKGDR_MEMORY_DEVICE_BIT, OF_MEMORY, "device memory" },
  { 0, 0, 0, 0, -1, "-1 is not a file descriptor" },
  { 0, 0, 0, 0, OF_DEVICE, "cuImportExternalMemory" },
  { 0, 0, 100 * SIZE, 0, OF_MEMORY, "the size that" },
};

TEST_LOOP (what_does_not_fit_is_refused, N_ELEMENTS (wrong))
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  int fd = vkgdr_memory_get_fd (mem);
  int other = wrong[__i__].fd == OF_MEMORY   ? fd
              : wrong[__i__].fd == OF_DEVICE ? open ("/dev/null", O_RDWR)
                                             : wrong[__i__].fd;
  vkgdr_fd_info good, bad;

  vkgdr_memory_describe_fd (mem, &good);
  bad = good;
  bad.device_uuid[3] ^= wrong[__i__].device;
  bad.driver_uuid[0] ^= wrong[__i__].driver;
  bad.flags = wrong[__i__].flags;
  if (wrong[__i__].size)
    bad.size = wrong[__i__].size;
  /* Only softcuda knows the size of a descriptor. */
  if (g->info.software || wrong[__i__].size != 100 * SIZE)
    assert_refused (g, other, &bad, wrong[__i__].word);
  if (wrong[__i__].fd == OF_DEVICE)
    close (other);
  bad = good;
  bad.size = 0;
  assert_refused (g, fd, &bad, "0 bytes");
  /* A program that only knows the size can import, too. */
  memset (good.device_uuid, 0, sizeof (good.device_uuid));
  memset (good.driver_uuid, 0, sizeof (good.driver_uuid));
  vkgdr_memory_free (vkgdr_memory_import_fd (g, fd, &good));
  assert_no_error ();
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (an_import_needs_a_context)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_fd_info info;
  CUcontext popped;

  vkgdr_memory_describe_fd (mem, &info);
  vkgdr_driver_load ()->cuCtxPopCurrent (&popped);
  assert_refused (g, fd, &info, "no CUDA context");
  close (fd);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

static const char *const calls[] = { "cuImportExternalMemory",
  "cuExternalMemoryGetMappedBuffer", "vkAllocateMemory", "vkMapMemory" };

TEST_LOOP (failures_leave_nothing_behind, N_ELEMENTS (calls))
{
  vkgdr_memory_t mem;
  vkgdr_fd_info info;
  char spec[128];
  vkgdr_t g;
  int fd;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  mem = test_alloc (g, SIZE);
  fd = vkgdr_memory_get_fd (mem);
  vkgdr_memory_describe_fd (mem, &info);
  snprintf (spec, sizeof (spec), "%s:1", calls[__i__]);
  if (calls[__i__][0] == 'c')
    test_fail (spec);
  else
    test_fail_vulkan (g, calls[__i__]);
  assert_refused (g, fd, &info, calls[__i__]);
  test_fail (NULL);
  test_fail_vulkan (g, NULL);
  vkgdr_memory_free (vkgdr_memory_import_fd (g, fd, &info));
  assert_no_error ();
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* A handle and its memory. */
typedef struct {
  vkgdr_t g;
  vkgdr_memory_t mem;
} Owner;

static void
import_and_free (void *data)
{
  Owner *owner = data;
  vkgdr_fd_info info;

  vkgdr_memory_describe_fd (owner->mem, &info);
  vkgdr_memory_free (vkgdr_memory_import_fd (
      owner->g, vkgdr_memory_get_fd (owner->mem), &info));
  assert_no_error ();
}

TEST (many_imports_leave_nothing)
{
  Owner owner = { .g = test_open (0) };

  owner.mem = test_alloc (owner.g, SIZE);
  test_leaves_nothing (90, import_and_free, &owner);
  vkgdr_memory_free (owner.mem);
  vkgdr_close (owner.g);
}

/* --- device memory, with functions in place of a driver's ---------------- */

#define GRANULE ((size_t) 65536)

/* The number of existing handles, reserved address ranges (`places`) and
 * mappings, the call that fails, and whether allocations are too small to be
 * mapped. */
static struct {
  int handles, places, maps;
  const char *failing;
  bool too_small;
} fake;

#define FAIL_IF_ASKED() \
  if (fake.failing && strcmp (fake.failing, __func__ + 5) == 0) \
  return CUDA_ERROR_OUT_OF_MEMORY

static CUresult
fake_cuMemGetAllocationGranularity (size_t *granularity,
    const CUmemAllocationProp *properties,
    CUmemAllocationGranularity_flags option)
{
  FAIL_IF_ASKED ();
  ck_assert_int_eq (properties->requestedHandleTypes,
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ck_assert_int_eq (properties->location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  ck_assert_int_eq (properties->location.id, 0);
  *granularity = GRANULE;
  return CUDA_SUCCESS;
}

/* A handle is a file descriptor plus 1. */
static CUresult
fake_cuMemCreate (CUmemGenericAllocationHandle *handle, size_t size,
    const CUmemAllocationProp *properties, unsigned long long flags)
{
  int fd;

  FAIL_IF_ASKED ();
  ck_assert_uint_eq (size % GRANULE, 0);
  fd = memfd_create ("device", MFD_CLOEXEC);
  ck_assert_int_eq (ftruncate (fd, size), 0);
  *handle = fd + 1;
  fake.handles++;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemRelease (CUmemGenericAllocationHandle handle)
{
  FAIL_IF_ASKED ();
  ck_assert_int_eq (close (handle - 1), 0);
  fake.handles--;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemAddressReserve (CUdeviceptr *pointer, size_t size, size_t alignment,
    CUdeviceptr wanted, unsigned long long flags)
{
  FAIL_IF_ASKED ();
  ck_assert_uint_eq (size % GRANULE, 0);
  *pointer = (uintptr_t) mmap (
      NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fake.places++;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemAddressFree (CUdeviceptr pointer, size_t size)
{
  FAIL_IF_ASKED ();
  ck_assert (fake.maps < fake.places || fake.failing); /* it has been
                                                        * unmapped */
  munmap ((void *) (uintptr_t) pointer, size);
  fake.places--;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemMap (CUdeviceptr pointer, size_t size, size_t offset,
    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
  FAIL_IF_ASKED ();
  if (fake.too_small)
    return CUDA_ERROR_INVALID_VALUE;
  ck_assert_ptr_ne (mmap ((void *) (uintptr_t) pointer, size, PROT_NONE,
                        MAP_SHARED | MAP_FIXED, handle - 1, 0),
      MAP_FAILED);
  fake.maps++;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemUnmap (CUdeviceptr pointer, size_t size)
{
  FAIL_IF_ASKED ();
  fake.maps--;
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemSetAccess (CUdeviceptr pointer, size_t size,
    const CUmemAccessDesc *access, size_t count)
{
  FAIL_IF_ASKED ();
  ck_assert_uint_eq (count, 1);
  ck_assert_int_eq (access->flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  return mprotect ((void *) (uintptr_t) pointer, size, PROT_READ | PROT_WRITE)
                 == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_UNKNOWN;
}

static CUresult
fake_cuMemExportToShareableHandle (void *shareable,
    CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
    unsigned long long flags)
{
  FAIL_IF_ASKED ();
  *(int *) shareable = fcntl (handle - 1, F_DUPFD_CLOEXEC, 0);
  return CUDA_SUCCESS;
}

static CUresult
fake_cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *handle,
    void *shareable, CUmemAllocationHandleType type)
{
  FAIL_IF_ASKED ();
  *handle = fcntl ((int) (uintptr_t) shareable, F_DUPFD_CLOEXEC, 0) + 1;
  fake.handles++;
  return CUDA_SUCCESS;
}

/* Opens a device whose driver exports device memory. */
static vkgdr_t
open_fake (void)
{
  static vkgdr_cuda cu;
  vkgdr_t g = test_open (VKGDR_OPEN_WINDOW_OPTIONAL_BIT);

  cu = *g->cu;
#define USE_FAKE(name, symbol, need, args) cu.name = fake_##name;
  VKGDR_CUDA_VMM_FUNCTIONS (USE_FAKE)
#undef USE_FAKE
  g->cu = &cu;
  return g;
}

static void
assert_nothing_lives (void)
{
  ck_assert_int_eq (fake.handles, 0);
  ck_assert_int_eq (fake.places, 0);
  ck_assert_int_eq (fake.maps, 0);
}

static vkgdr_memory_t
alloc_device (vkgdr_t g)
{
  return vkgdr_memory_alloc (g, SIZE, VKGDR_MEMORY_DEVICE_BIT);
}

/* Each thread opens a device of its own, as a process would. */
static void *
import_often (void *mem)
{
  vkgdr_fd_info info;
  vkgdr_t g;
  int i;

  test_enter_context ();
  g = vkgdr_open (0, 0);
  vkgdr_memory_describe_fd (mem, &info);
  for (i = 0; i < 300; i++) {
    vkgdr_memory_t own =
        g ? vkgdr_memory_import_fd (g, vkgdr_memory_get_fd (mem), &info) : NULL;

    if (!own)
      return vkgdr_last_error ();
    vkgdr_memory_free (own);
  }
  vkgdr_close (g);
  return NULL;
}

TEST (several_import_at_once)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);

  test_run_threads (4, import_often, mem);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* A copy of the file descriptor, as another process would have it, or -1. Its
 * position is changed after each call of lseek64(). */
static int theirs = -1;

/* Lavapipe calls this function instead of libc's. */
__attribute__ ((visibility ("default"))) off64_t
lseek64 (int fd, off64_t offset, int whence)
{
  off64_t position = syscall (SYS_lseek, fd, offset, whence);

  if (theirs >= 0)
    syscall (SYS_lseek, theirs, 7, SEEK_SET);
  return position;
}

/* Copies of a file descriptor share one position. lavapipe sets the position
 * and then reads, so another process can change the position in between. */
TEST (another_process_imports_meanwhile)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE), imported;
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_fd_info info;

  ck_assert (write_bytes (mem, PARENTS));
  vkgdr_memory_describe_fd (mem, &info);
  theirs = fcntl (fd, F_DUPFD_CLOEXEC, 0);
  imported = vkgdr_memory_import_fd (g, fd, &info);
  assert_no_error ();
  close (theirs);
  theirs = -1;
  ck_assert_ptr_nonnull (imported);
  ck_assert (holds (imported, PARENTS));
  vkgdr_memory_free (imported);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (device_memory_needs_no_window)
{
  vkgdr_memory_t mem, imported;
  vkgdr_device_info device;
  vkgdr_fd_info info;
  vkgdr_t g;
  int fd;

  setenv ("VKGDR_DEBUG", "no-vulkan", 1);
  g = open_fake ();
  mem = alloc_device (g);
  assert_no_error ();
  ck_assert_ptr_null (vkgdr_memory_get_host_ptr (mem));
  ck_assert_uint_eq (vkgdr_memory_get_size (mem), SIZE);
  ck_assert (vkgdr_memory_is_coherent (mem));
  ck_assert_uint_eq (vkgdr_memory_non_coherent_atom_size (mem), 1);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  vkgdr_memory_invalidate (mem, 0, SIZE);
  assert_no_error ();
  vkgdr_get_device_info (g, &device);
  ck_assert_uint_eq (device.allocated, 0);

  fd = vkgdr_memory_get_fd (mem);
  vkgdr_memory_describe_fd (mem, &info);
  ck_assert_uint_eq (info.flags, VKGDR_MEMORY_DEVICE_BIT);
  imported = vkgdr_memory_import_fd (g, fd, &info);
  assert_no_error ();
  ck_assert_int_lt (fcntl (fd, F_GETFD), 0);
  test_fill (
      (uint8_t *) (uintptr_t) vkgdr_memory_get_device_ptr (mem), SIZE, PARENTS);
  ck_assert (test_matches (
      (uint8_t *) (uintptr_t) vkgdr_memory_get_device_ptr (imported), SIZE,
      PARENTS));

  /* The size of a driver's file descriptor is not known, but mapping fails if
   * it is too small. */
  fd = vkgdr_memory_get_fd (mem);
  fake.too_small = true;
  assert_refused (g, fd, &info, "cuMemMap");
  assert_error ("has this size");
  fake.too_small = false;
  close (fd);
  vkgdr_memory_free (imported);
  vkgdr_memory_free (mem);
  assert_nothing_lives ();
  vkgdr_close (g);
}

/* What fails: an allocation, getting a descriptor, an import, or freeing. */
static const struct {
  const char *call;
  enum { ALLOCATION, DESCRIPTOR, IMPORT, FREEING } of;
} failures[] = {
  { "cuMemGetAllocationGranularity", ALLOCATION },
  { "cuMemCreate", ALLOCATION },
  { "cuMemAddressReserve", ALLOCATION },
  { "cuMemMap", ALLOCATION },
  { "cuMemSetAccess", ALLOCATION },
  { "cuMemExportToShareableHandle", DESCRIPTOR },
  { "cuMemImportFromShareableHandle", IMPORT },
  { "cuMemMap", IMPORT },
  { "cuMemUnmap", FREEING },
  { "cuMemAddressFree", FREEING },
  { "cuMemRelease", FREEING },
};

TEST_LOOP (device_memory_fails, N_ELEMENTS (failures))
{
  const char *call = failures[__i__].call;
  vkgdr_t g = open_fake ();
  vkgdr_memory_t mem = alloc_device (g);
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_fd_info info;

  assert_no_error ();
  vkgdr_memory_describe_fd (mem, &info);
  fake.failing = call;
  if (failures[__i__].of == ALLOCATION) {
    ck_assert_ptr_null (alloc_device (g));
    assert_error (call, "CUDA_ERROR_OUT_OF_MEMORY");
  } else if (failures[__i__].of == DESCRIPTOR) {
    ck_assert_int_eq (vkgdr_memory_get_fd (mem), -1);
    assert_error (call);
  } else if (failures[__i__].of == IMPORT) {
    assert_refused (g, fd, &info, call);
  }
  if (failures[__i__].of != FREEING)
    fake.failing = NULL;
  vkgdr_memory_free (mem);
  if (fake.failing)
    assert_error (call, "stay in use");
  else
    assert_nothing_lives ();
  close (fd);
  vkgdr_close (g);
}

TEST (a_driver_may_be_too_old_for_device_memory)
{
  static vkgdr_cuda cu;
  vkgdr_t g = open_fake ();

  cu = *g->cu;
  cu.cuMemSetAccess = NULL;
  g->cu = &cu;
  ck_assert_ptr_null (alloc_device (g));
  assert_error ("does not export device memory", "newer driver");
  assert_nothing_lives ();
  vkgdr_close (g);
}

int
main (int argc, char **argv)
{
  if (argc == 4 && strcmp (argv[1], "child") == 0)
    return be_the_child (argv);
  return test_main (argc, argv);
}
