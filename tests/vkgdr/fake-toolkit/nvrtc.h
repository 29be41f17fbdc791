/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.h: as much of the CUDA toolkit's header as docs/examples/c/frames.c
 * needs; toolkit.c implements it
 */

#ifndef FAKE_NVRTC_H
#define FAKE_NVRTC_H

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

nvrtcResult nvrtcCreateProgram (nvrtcProgram *program, const char *source,
    const char *name, int n, const char *const *headers,
    const char *const *names);
nvrtcResult nvrtcCompileProgram (
    nvrtcProgram program, int n, const char *const *options);
nvrtcResult nvrtcGetPTX (nvrtcProgram program, char *ptx);

#endif /* FAKE_NVRTC_H */
