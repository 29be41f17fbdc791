/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * image.c: images of modules, before the dynamic linker sees them
 *
 * Callers pass an image as an address without a size, and the address may be
 * wrong. The operating system copies the image, because it refuses unmapped
 * addresses. The copy is then checked. Knows nothing of modules.
 */

#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_WRAPPER_MAGIC 0x466243B1u
#define MACHINE_CUDA 190 /* EM_CUDA */

#if defined(__x86_64__)
#define MACHINE_HOST EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_HOST EM_AARCH64
#elif defined(__riscv)
#define MACHINE_HOST EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE_HOST EM_PPC64
#elif defined(__s390__)
#define MACHINE_HOST EM_S390
#else
#error "softcuda: a 64-bit machine whose ELF number is not known here"
#endif

/* How many bytes of a text are searched for the marks of PTX. */
#define PTX_SEARCH 65536

/* Larger than any module. Limits the copy if the header is wrong. */
#define MAX_SIZE ((size_t) 256 << 20)

/* Appends as many bytes to the file as can be read. Uses the system call
 * directly, because sanitizers check the addresses that write() gets, and here
 * the operating system has to check them. */
static size_t
append (int fd, const unsigned char *bytes, size_t size)
{
  size_t done = 0;

  while (done < size) {
    long n = syscall (SYS_write, fd, bytes + done, size - done);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += n;
  }
  return done;
}

/* Appends the bytes of a text before its NUL, but at most max bytes. Reads the
 * bytes one by one, because the memory behind the NUL may belong to other code.
 * Returns the number of bytes. */
static size_t
append_text (int fd, const unsigned char *text, size_t max)
{
  size_t n = 0;

  while (n < max && append (fd, text + n, 1) == 1 && text[n] != '\0')
    n++;
  return n;
}

/* PTX has a .version and a .target near its beginning; a text ends with NUL. */
static bool
is_ptx (const char *text)
{
  size_t size = strlen (text);

  for (size_t i = 0; i < size; i++)
    if (text[i] < ' ' && strchr ("\t\r\n\f\v", text[i]) == NULL)
      return false;
  return strstr (text, ".version") != NULL || strstr (text, ".target") != NULL;
}

/* Returns the error for an image that is not an ELF file. The file has the
 * first 4 bytes of the image, or fewer if the image is a shorter text. */
static CUresult
name_other_format (int fd, const unsigned char *image, size_t head, size_t size)
{
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  uint32_t word = 0;
  char *text;

  if (head < sizeof word || pread (fd, &word, sizeof word, 0) != sizeof word)
    return result;
  if (word == FATBIN_MAGIC || word == FATBIN_WRAPPER_MAGIC)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  text = calloc (1, PTX_SEARCH + 1);
  if (text == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  append_text (
      fd, image + head, (size < PTX_SEARCH ? size : PTX_SEARCH) - head);
  if (pread (fd, text, PTX_SEARCH, 0) > 0 && is_ptx (text))
    result = CUDA_ERROR_INVALID_PTX;
  free (text);
  return result;
}

/* The size of an image of our compiler: the linker puts the section headers
 * last. */
static CUresult
find_size (const Elf64_Ehdr *header, size_t *size)
{
  size_t table = (size_t) header->e_shnum * header->e_shentsize;

  if (header->e_ident[EI_CLASS] != ELFCLASS64)
    return CUDA_ERROR_INVALID_IMAGE;
  if (header->e_machine == MACHINE_CUDA)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (header->e_machine != MACHINE_HOST || header->e_type != ET_DYN
      || table > MAX_SIZE || header->e_shoff < sizeof *header
      || header->e_shoff > MAX_SIZE - table)
    return CUDA_ERROR_INVALID_IMAGE;
  *size = header->e_shoff + table;
  return CUDA_SUCCESS;
}

/* Checks the checksum, and replaces it by zeros, which the linker requires. */
static CUresult
open_seal (int fd, size_t size)
{
  static const unsigned char zeros[SC_SEAL_SIZE];
  unsigned char seal[SC_SEAL_SIZE];
  unsigned char *file =
      mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  bool good;

  if (file == MAP_FAILED)
    return CUDA_ERROR_OPERATING_SYSTEM;
  sc_image_seal (file, size, seal);
  good = memcmp (file + SC_SEAL_OFFSET, seal, sizeof seal) == 0;
  memcpy (file + SC_SEAL_OFFSET, zeros, sizeof zeros);
  munmap (file, size);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* The first 4 bytes decide whether more bytes are read. */
static CUresult
copy_and_check (int fd, const unsigned char *image, size_t size)
{
  size_t head = append_text (fd, image, size < SELFMAG ? size : SELFMAG);
  size_t rest = sizeof (Elf64_Ehdr) - SELFMAG, whole;
  CUresult result;
  Elf64_Ehdr header;

  if (pread (fd, &header, SELFMAG, 0) != SELFMAG
      || memcmp (header.e_ident, ELFMAG, SELFMAG) != 0)
    return name_other_format (fd, image, head, size);
  if (size < sizeof header || append (fd, image + SELFMAG, rest) != rest
      || pread (fd, &header, sizeof header, 0) != sizeof header)
    return CUDA_ERROR_INVALID_IMAGE;
  result = find_size (&header, &whole);
  if (result != CUDA_SUCCESS)
    return result;
  rest = whole - sizeof header;
  if (whole > size || append (fd, image + sizeof header, rest) != rest)
    return CUDA_ERROR_INVALID_IMAGE;
  return open_seal (fd, whole);
}

CUresult
sc_image_open (const void *image, size_t size, int *fd)
{
  CUresult result;

  *fd = memfd_create ("softcuda-module", MFD_CLOEXEC);
  if (*fd < 0)
    return CUDA_ERROR_OPERATING_SYSTEM;
  result = copy_and_check (*fd, image, size);
  if (result != CUDA_SUCCESS)
    close (*fd);
  return result;
}

/* ---- files ---- */

/* size: the expected size. Becomes smaller if the file has become shorter. */
static CUresult
read_all (int fd, unsigned char *bytes, size_t *size)
{
  size_t done = 0;

  while (done < *size) {
    ssize_t n = read (fd, bytes + done, *size - done);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return CUDA_ERROR_OPERATING_SYSTEM;
    if (n == 0)
      break;
    done += n;
  }
  *size = done;
  return CUDA_SUCCESS;
}

CUresult
sc_image_read_file (const char *path, void **image, size_t *size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  CUresult result = CUDA_ERROR_INVALID_IMAGE;

  *image = NULL;
  if (fd < 0)
    return CUDA_ERROR_FILE_NOT_FOUND;
  if (fstat (fd, &status) == 0 && S_ISREG (status.st_mode)
      && status.st_size <= (off_t) MAX_SIZE) {
    *size = status.st_size;
    *image = malloc (*size + 1);
    result =
        *image != NULL ? read_all (fd, *image, size) : CUDA_ERROR_OUT_OF_MEMORY;
  }
  close (fd);
  if (result != CUDA_SUCCESS)
    free (*image);
  return result;
}
