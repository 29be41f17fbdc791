/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda.h: as much of the CUDA toolkit's header as a program of vkgdr 0.1 needs
 *
 * With this file, a machine without the toolkit also tests that vkgdr.h works
 * with the toolkit's header.
 */

#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

#endif /* FAKE_CUDA_H */
