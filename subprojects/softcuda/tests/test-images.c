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
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler.h"
#include "image.h"

/* The number of damaged images that are tried, and a time limit. */
#define N_ROUNDS 1500
#define SECONDS 15

static CUresult (*load_file) (CUmodule *module, const char *path);

static guint8 *image; /* a correct image */
static size_t image_length;

/* Compiles the image once, for all tests. */
static void
make_image (void)
{
  nvrtcProgram program;

  load_compiler ();
  ck_assert_int_eq (create (&program,
                        "extern \"C\" __global__ void fill (int *p)\n"
                        "{ p[threadIdx.x] = 7; }\n",
                        NULL, 0, NULL, NULL),
      0);
  ck_assert_int_eq (compile (program, 0, NULL), 0);
  ck_assert_int_eq (image_size (program, &image_length), 0);
  image = (guint8 *) take_image (program);
  ck_assert_int_eq (destroy (&program), 0);
}

static void
free_image (void)
{
  g_free (image);
}

static void
setup_images (void)
{
  setup_context ();
  *(void **) &load_file =
      find_symbol (open_library ("libcuda.so.1"), "cuModuleLoad");
}

static CUresult
load_as_file (const guint8 *bytes, size_t size)
{
  char *path = g_strdup_printf (
      "%s/softcuda-image-%d.cubin", g_get_tmp_dir (), (int) getpid ());
  CUmodule module;
  CUresult result;

  ck_assert (
      g_file_set_contents (path, (const char *) bytes, (gssize) size, NULL));
  result = load_file (&module, path);
  g_unlink (path);
  g_free (path);
  return result;
}

/* A page without access follows the last byte. */
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

START_TEST (test_good_image)
{
  CUmodule module;

  ck_assert_int_eq (load_as_file (image, image_length), CUDA_SUCCESS);
  ck_assert_int_eq (load_as_memory (image, image_length), CUDA_SUCCESS);
  fails (load_file (&module, "/nonexistent/file"), CUDA_ERROR_FILE_NOT_FOUND);
  fails (load_file (&module, "/tmp"), CUDA_ERROR_INVALID_IMAGE);
  fails (load_file (&module, "/dev/zero"), CUDA_ERROR_INVALID_IMAGE);
  fails (load_file (NULL, "/tmp"), CUDA_ERROR_INVALID_VALUE);
}
END_TEST;

START_TEST (test_truncated)
{
  for (size_t size = 0; size < image_length; size += 1 + size / 50)
    refused (image, size, "cut off at", size);
  refused (image, image_length - 1, "cut off at", image_length - 1);
}
END_TEST;

START_TEST (test_random_bytes)
{
  guint8 bytes[5000];
  GRand *rand = g_rand_new_with_seed (13);

  for (int round = 0; round < 200; round++) {
    size_t size = g_rand_int_range (rand, 1, sizeof bytes);

    for (size_t i = 0; i < size; i++)
      bytes[i] = g_rand_int (rand);
    if (round % 2 != 0) /* the beginning is that of an ELF file for this
                         * processor */
      memcpy (bytes, image, MIN (size, 40));
    refused (bytes, size, "random bytes, round", round);
  }
  g_rand_free (rand);
}
END_TEST;

/* Changes each field of the headers that contains an offset, a size or a number
 * of entries. */
START_TEST (test_wild_offsets)
{
  static const guint64 wild[] = { 0, 1, 63, 0x1000, 0x7fffffffffff,
    0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff };
  guint8 *bytes = g_malloc (image_length);
  Elf64_Ehdr *header = (Elf64_Ehdr *) bytes;

  for (size_t i = 0; i < G_N_ELEMENTS (wild); i++) {
    for (int field = 0; field < 6; field++) {
      memcpy (bytes, image, image_length);
      if (field == 0)
        header->e_shoff = wild[i];
      else if (field == 1)
        header->e_phoff = wild[i];
      else if (field == 2)
        header->e_shnum = (guint16) wild[i];
      else if (field == 3)
        header->e_phnum = (guint16) ~wild[i];
      else if (field == 4)
        header->e_shentsize = (guint16) wild[i];
      else
        ((Elf64_Phdr *) (bytes + header->e_phoff))->p_offset = ~wild[i];
      if (memcmp (bytes, image, image_length) != 0)
        refused (bytes, image_length, "wild field", field);
    }
  }
  g_free (bytes);
}
END_TEST;

/* With these fields, the end of the section headers is beyond 64 bits, and
 * wraps around to the end of the image. The checksum of the image is correct.
 */
START_TEST (test_section_headers_that_wrap_around)
{
  guint8 *bytes = g_memdup2 (image, image_length);
  Elf64_Ehdr *header = (Elf64_Ehdr *) bytes;

  header->e_shnum = header->e_shentsize = 0xffff;
  header->e_shoff = image_length - (guint64) 0xffff * 0xffff;
  sc_image_seal (bytes, image_length, bytes + SC_SEAL_OFFSET);
  refused (bytes, image_length, "size of the section headers", 0xffff);
  g_free (bytes);
}
END_TEST;

/* Changes some bytes, except the number of the processor. */
START_TEST (test_changed_bytes)
{
  guint8 *bytes = g_malloc (image_length);
  GRand *rand = g_rand_new_with_seed (4711);
  gint64 end = g_get_monotonic_time () + SECONDS * G_USEC_PER_SEC;
  int round;

  for (round = 0; round < N_ROUNDS && g_get_monotonic_time () < end; round++) {
    int n = 1 + round % 4;

    memcpy (bytes, image, image_length);
    for (int i = 0; i < n; i++) {
      gsize at = round % 2 == 0 ? g_rand_int_range (rand, 20, 1000)
                                : g_rand_int_range (rand, 20, image_length);

      bytes[at] ^= 1 << (round + i) % 8;
      if (i > 0 && memcmp (bytes, image, image_length) == 0)
        bytes[at] ^= 1 << (round + i) % 8;
    }
    refused (bytes, image_length, "changed bytes, round", round);
  }
  ck_assert_msg (round > 50, "%d rounds", round);
  g_rand_free (rand);
  g_free (bytes);
}
END_TEST;

/* The linker takes one image, and gives it back. */
START_TEST (test_link)
{
  CUlinkState state;
  CUmodule module;
  void *linked;
  size_t size;

  ok (cu.cuLinkCreate (0, NULL, NULL, &state));
  fails (cu.cuLinkComplete (state, &linked, &size), CUDA_ERROR_INVALID_VALUE);
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
END_TEST;

static Suite *
softcuda_images_suite (void)
{
  Suite *s = suite_create ("softcuda-images");
  TCase *tc = tcase_create ("images");

  suite_add_tcase (s, tc);
  tcase_add_unchecked_fixture (tc, make_image, free_image);
  tcase_add_checked_fixture (tc, setup_images, teardown_context);
  tcase_add_test (tc, test_link);
  tcase_add_test (tc, test_good_image);
  /* Valgrind reports that pages without access are passed to a system call. */
  if (RUNNING_ON_VALGRIND)
    return s;
  tcase_add_test (tc, test_truncated);
  tcase_add_test (tc, test_random_bytes);
  tcase_add_test (tc, test_wild_offsets);
  tcase_add_test (tc, test_section_headers_that_wrap_around);
  tcase_add_test (tc, test_changed_bytes);
  return s;
}

TEST_MAIN (softcuda_images);
