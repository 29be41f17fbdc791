/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_nvcc.h: the headers of the C library that nvcc includes in front of
 * every source
 *
 * For softcuda's nvcc, instead of softcuda_library.h. Part of
 * softcuda_runtime.h.
 */

#ifndef SOFTCUDA_NVCC_H
#define SOFTCUDA_NVCC_H

/* libstdc++ adds functions to <math.h> that CUDA does not have, such as
 * std::legendre(). The compiler needs as much time for them as for the rest of
 * a small kernel. <type_traits> defines the macro that enables them. For a
 * library without this macro, the next two lines have no effect. */
#include <type_traits>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

/* An obsolete name of lgamma(). CUDA does not have it, so kernels may use the
 * name. */
#define gamma softcuda_obsolete_gamma
#include <math.h>
#undef gamma
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

#endif /* SOFTCUDA_NVCC_H */
