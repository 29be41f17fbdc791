/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * image.h: images of modules, before the dynamic linker sees them
 */

#ifndef SOFTCUDA_IMAGE_FILE_H
#define SOFTCUDA_IMAGE_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "driver-api.h"

/* The compiler puts a checksum of the image into these bytes of its first 16,
 * which ELF reserves. The driver refuses an image whose checksum is wrong,
 * because the dynamic linker does not check the contents of a file. */
#define SC_SEAL_OFFSET EI_PAD
#define SC_SEAL_SIZE (EI_NIDENT - EI_PAD)

/* Computes the checksum (FNV-1a) of an image. size must be at least EI_NIDENT.
 * The first EI_NIDENT bytes are not included. */
static inline void
sc_image_seal (
    const unsigned char *image, size_t size, unsigned char seal[SC_SEAL_SIZE])
{
  uint64_t hash = 0xcbf29ce484222325u;

  for (size_t i = EI_NIDENT; i < size; i++)
    hash = (hash ^ image[i]) * 0x100000001b3u;
  for (int i = 0; i < SC_SEAL_SIZE; i++)
    seal[i] = (unsigned char) (hash >> 8 * i);
}

/* image.c: copies an image into a file that the linker can load, *fd, which the
 * caller closes. size may be larger than the image; use SIZE_MAX if it is
 * unknown. If it fails, no file is open. */
CUresult sc_image_open (const void *image, size_t size, int *fd);

/* Returns the content of a regular file, in memory that the caller has to
 * free. */
CUresult sc_image_read_file (const char *path, void **image, size_t *size);

#endif /* SOFTCUDA_IMAGE_FILE_H */
