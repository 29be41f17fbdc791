/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memfd.h: the files in memory with which the software device shares memory
 *
 * Mesa's lavapipe exports memory as a memfd: a header, and the memory. Other
 * processes map the same file and can write to the header, and lavapipe would
 * use what they have written there. So memory of other processes is mapped
 * without lavapipe, and lavapipe gets a header of its own. Needs no Vulkan.
 * Private.
 */

#ifndef VKGDR_MEMFD_H
#define VKGDR_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a file descriptor is a file, as those of the software device are.
 * That of a GPU is not. */
bool vkgdr_memfd_is_file (int fd);

/* Makes sure that nobody can change the size of the file: an access behind its
 * end would end the process. Does nothing if @fd is not a memfd. */
void vkgdr_memfd_seal (int fd);

/* Whether a file of another process is sealed, and has @size bytes. Otherwise
 * sets the error. */
bool vkgdr_memfd_check (int fd, size_t size);

/* Maps the @size bytes of memory behind the header. Returns NULL on failure
 * (vkgdr_error_set()). vkgdr_memfd_unmap() unmaps them. */
void *vkgdr_memfd_map (int fd, size_t size);
void vkgdr_memfd_unmap (void *memory, size_t size);

/* Replaces the header before @memory, which lavapipe has mapped from @fd, by a
 * private copy in this process. Does nothing if it is not there. */
void vkgdr_memfd_keep_header (int fd, void *memory);

#endif /* VKGDR_MEMFD_H */
