/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcc.h: what users of nvcc write, for NVRTC
 *
 * NVRTC compiles for the device only. It has no headers of the C library, and
 * other options than nvcc. This is the one place that knows the difference: for
 * libgstvkgdr-1.0 and for the module of Python. Exported only for these: the
 * symbols are not public API, and the header is not installed. Runs no
 * compiler. All functions are thread-safe.
 */

#ifndef VKGDR_NVCC_H
#define VKGDR_NVCC_H

#include <stddef.h>

#include <vkgdr/vkgdr.h>

/* The name of the header that has to be included in front of each source. */
#define VKGDR_NVCC_HEADER "vkgdr/nvcc.h"

typedef struct {
  const char *name; /* with which a source includes it */
  const char *text;
} vkgdr_nvcc_header;

/* The headers that nvrtcCreateProgram() gets, VKGDR_NVCC_HEADER among them. The
 * last one is followed by NULL, NULL. */
VKGDR_API const vkgdr_nvcc_header *vkgdr_nvcc_get_headers (void);

/* The options with which NVRTC compiles as nvcc does, ended by NULL. @version
 * is that of NVRTC, 12040 for 12.4. The array is static. */
VKGDR_API const char *const *vkgdr_nvcc_get_options (int version);

/* Translates nvcc's options, and NVRTC's own, into NVRTC's. Options without a
 * meaning for NVRTC are left out. Of an option with one value, the last one is
 * kept. A folder of headers becomes -IFOLDER, a header in front of the source
 * --pre-include=FILE, and an architecture --gpu-architecture=NAME; without it,
 * the architecture is the device's. Unknown options are kept as they are, and
 * @unknown, if it is not NULL, is set to the first of them, or to NULL. Returns
 * a list that ends with NULL, for vkgdr_nvcc_free(), or NULL without memory. */
VKGDR_API char **vkgdr_nvcc_translate (
    const char *const *options, const char **unknown);

/* Returns the folders of CUDA's headers that exist, in the order in which they
 * are searched. Those of the compiler come first: @nvrtc is the address of one
 * of its functions, or NULL. They are followed by those of CUDA_HOME, CUDA_PATH
 * and CUDA_ROOT, of an nvcc on PATH, of /usr/local/cuda, of Debian's packages,
 * and of pip's packages (VIRTUAL_ENV, CONDA_PREFIX, ~/.local, /usr/local).
 * Result as that of vkgdr_nvcc_translate(). */
VKGDR_API char **vkgdr_nvcc_find_folders (const void *nvrtc);

/* Loads the library that NVRTC loads by its name when it compiles, if it is in
 * the folder of NVRTC: not all toolkits and packages of pip say that it is to
 * be searched there. @nvrtc is the address of one of NVRTC's functions. The
 * library stays loaded. */
VKGDR_API void vkgdr_nvcc_load_builtins (
    const void *nvrtc, int major, int minor);

VKGDR_API void vkgdr_nvcc_free (char **list);

/* Returns one sentence that says what to do about the errors in @log, the log
 * of NVRTC, or NULL if nothing is known about them. It is static. */
VKGDR_API const char *vkgdr_nvcc_explain (const char *log);

#endif /* VKGDR_NVCC_H */
