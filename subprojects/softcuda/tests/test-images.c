/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-images.c: tests that damaged and truncated images, and files of other
 * kinds, are refused
 *
 * The driver refuses each of them, and does not crash. An image is given as a
 * file, or as memory. A page without access follows the memory, so that reading
 * beyond the end is noticed.
 */

#include <elf.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler.h"
#include "image.h"

static guint8 *image; /* a correct image */
static size_t image_length;

static void
setup_image (void)
{
  image = (guint8 *) make_image ("extern \"C\" __global__ void fill (int *p)\n"
                                 "{ p[threadIdx.x] = 7; }\n",
      &image_length);
  setup_context ();
}

FIXTURE (setup_image, teardown_context);

static CUresult
load_as_file (const guint8 *bytes, size_t size)
{
  g_autofree char *path = g_strdup_printf (
      "%s/softcuda-image-%d.cubin", g_get_tmp_dir (), (int) getpid ());
  CUmodule module;
  CUresult result;

  ck_assert (
      g_file_set_contents (path, (const char *) bytes, (gssize) size, NULL));
  result = cu.cuModuleLoad (&module, path);
  g_unlink (path);
  return result;
}

static CUresult
load_as_memory (const guint8 *bytes, size_t size)
{
  size_t page = sysconf (_SC_PAGESIZE);
  size_t room = (size + page - 1) / page * page;
  guint8 *pages = mmap (NULL, room + page, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CUmodule module;
  CUresult result;

  ck_assert (pages != MAP_FAILED);
  mprotect (pages + room, page, PROT_NONE);
  memcpy (pages + room - size, bytes, size);
  result = cu.cuModuleLoadData (&module, pages + room - size);
  munmap (pages, room + page);
  return result;
}

static void
refused (const guint8 *bytes, size_t size, const char *what, gint64 detail)
{
  CUresult as_file = load_as_file (bytes, size);
  CUresult as_memory = load_as_memory (bytes, size);

  ck_assert_msg (as_file == CUDA_ERROR_INVALID_IMAGE,
      "%s %" G_GINT64_FORMAT ": %d as a file", what, detail, as_file);
  ck_assert_msg (as_memory == CUDA_ERROR_INVALID_IMAGE,
      "%s %" G_GINT64_FORMAT ": %d as memory", what, detail, as_memory);
}

TEST (good_image)
{
  CUmodule module;

  ck_assert_int_eq (load_as_file (image, image_length), CUDA_SUCCESS);
  ck_assert_int_eq (load_as_memory (image, image_length), CUDA_SUCCESS);
  fails (cu.cuModuleLoad (&module, "/proc/missing/file"),
      CUDA_ERROR_FILE_NOT_FOUND);
  fails (cu.cuModuleLoad (&module, "/tmp"), CUDA_ERROR_INVALID_IMAGE);
  fails (cu.cuModuleLoad (&module, "/dev/zero"), CUDA_ERROR_INVALID_IMAGE);
  invalid (cu.cuModuleLoad (NULL, "/tmp"));
}

/* Valgrind reports that pages without access are passed to a system call. */
#define TEST_DAMAGE(name) TEST_IF (name, !RUNNING_ON_VALGRIND)

TEST_DAMAGE (truncated)
{
  for (size_t size = 0; size < image_length; size += 1 + size / 50)
    refused (image, size, "cut off at", size);
  refused (image, image_length - 1, "cut off at", image_length - 1);
}

/* The section headers are at the end of the image. With the last values, their
 * end is beyond 64 bits, and wraps around to the end of the image. The checksum
 * of the image is correct. */
TEST_DAMAGE (wild_section_headers)
{
  const struct {
    guint64 offset;
    guint16 n, size;
  } wild[] = { { 0, 1, 1 }, { 1, 1, 63 }, { image_length, 1, 1 },
    { 0x7fffffffffff, 1, 64 }, { G_MAXINT64, 1, 64 },
    { (guint64) 1 << 63, 1, 64 }, { G_MAXUINT64, 1, 1 }, { 64, 0xffff, 0xffff },
    { image_length - (guint64) 0xffff * 0xffff, 0xffff, 0xffff } };
  g_autofree guint8 *bytes = g_memdup2 (image, image_length);
  Elf64_Ehdr *header = (Elf64_Ehdr *) bytes;

  for (size_t i = 0; i < G_N_ELEMENTS (wild); i++) {
    header->e_shoff = wild[i].offset;
    header->e_shnum = wild[i].n;
    header->e_shentsize = wild[i].size;
    sc_image_seal (bytes, image_length, bytes + SC_SEAL_OFFSET);
    refused (bytes, image_length, "wild section headers", i);
  }
}

/* Changes one bit, in every second round one of the first 1000 bytes. */
TEST_DAMAGE (changed_bytes)
{
  g_autofree guint8 *bytes = g_memdup2 (image, image_length);
  g_autoptr (GRand) rand = g_rand_new_with_seed (4711);

  for (int round = 0; round < 1500; round++) {
    gsize at =
        g_rand_int_range (rand, 20, round % 2 != 0 ? 1000 : image_length);

    bytes[at] ^= 1 << round % 8;
    refused (bytes, image_length, "changed byte", at);
    bytes[at] = image[at];
  }
}

/* ---- the linker ---- */

/* It takes one image, and gives it back. */
TEST (link)
{
  CUlinkState state;
  CUmodule module;
  void *linked;
  size_t size;

  ok (cu.cuLinkCreate (0, NULL, NULL, &state));
  invalid (cu.cuLinkComplete (state, &linked, &size));
  fails (cu.cuLinkAddData (
             state, 1, image, image_length / 2, "half", 0, NULL, NULL),
      CUDA_ERROR_INVALID_IMAGE);
  ok (cu.cuLinkAddData (state, 1, image, image_length, "whole", 0, NULL, NULL));
  fails (
      cu.cuLinkAddData (state, 1, image, image_length, "again", 0, NULL, NULL),
      CUDA_ERROR_NOT_SUPPORTED);
  ok (cu.cuLinkComplete (state, &linked, &size));
  ck_assert_int_eq (size, image_length);
  ok (cu.cuModuleLoadData (&module, linked));
  ok (cu.cuLinkDestroy (state));
  fails (cu.cuLinkDestroy (state), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- children of fork () ---- */

/* In a child, the sanitizers have locks and reports of their own. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER RUNNING_ON_VALGRIND
#endif

static gint is_over; /* atomic */

static gpointer
load_and_unload (gpointer unused)
{
  CUmodule module;

  setup_context ();
  while (!g_atomic_int_get (&is_over)) {
    ok (cu.cuModuleLoadData (&module, image));
    ok (cu.cuModuleUnload (module));
  }
  return NULL;
}

/* A child gets the locks of the C library as they are. Unloading a module takes
 * none that exit () takes in the child. */
TEST_IF (children_end_while_a_module_is_unloaded, !HAS_SANITIZER)
{
  GThread *thread = g_thread_new ("unload", load_and_unload, NULL);

  for (int i = 0; i < 100; i++) {
    pid_t child = fork ();
    int status;

    if (child == 0) {
      signal (SIGALRM, SIG_DFL); /* libcheck's handler ends the test */
      alarm (30);
      exit (0);
    }
    ck_assert_int_eq (waitpid (child, &status, 0), child);
    ck_assert_msg (WIFEXITED (status), "child %d does not end", i);
  }
  g_atomic_int_set (&is_over, TRUE);
  g_thread_join (thread);
}
