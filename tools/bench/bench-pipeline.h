/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-pipeline.h: measures the cases
 */

#ifndef BENCH_PIPELINE_H
#define BENCH_PIPELINE_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-options.h"
#include "bench-results.h"

/* The sections of cases in their order. Each has at least one case. */
#define BENCH_SECTION_START "start"
#define BENCH_SECTION_PROCESS "process"
#define BENCH_SECTION_LOOPS "loops"
#define BENCH_SECTION_FRAMES "frames"
#define BENCH_SECTION_STREAMS "streams"
#define BENCH_SECTION_ROUND_TRIP "roundtrip"
#define BENCH_SECTION_DOWNLOAD "download"
#define BENCH_SECTION_BUFFERS "buffers"
#define BENCH_SECTION_OVERHEAD "overhead"
#define BENCH_SECTION_CHAIN "chain"
#define BENCH_SECTION_EFFECT "effect"
#define BENCH_SECTION_KERNEL "kernel"
#define BENCH_SECTION_CONVERT "convert"
#define BENCH_SECTION_CUDA "cuda"
#define BENCH_SECTION_CUDA_MEMORY "cuda-memory"
#define BENCH_SECTION_TENSORS "tensors"
#define BENCH_SECTION_TENSOR_KERNEL "tensor-kernel"
#define BENCH_SECTION_IPC "ipc"
#define BENCH_SECTION_IPC_DELAY "ipc-delay"
#define BENCH_SECTION_COMPARE "compare"

/* The ids of variants. */
#define BENCH_VKGDR "vkgdrupload"
#define BENCH_VKGDR_DIRECT "vkgdrupload-direct"
#define BENCH_VKGDR_STAGED "vkgdrupload-staged"
#define BENCH_CUDA "cudaupload"
#define BENCH_IDENTITY "identity"
#define BENCH_NONE "none"
#define BENCH_DOWNLOAD "vkgdrdownload"
#define BENCH_LINK_UP "link-to-device"
#define BENCH_LINK_DOWN "link-from-device"
#define BENCH_KERNEL "cudafilter"
#define BENCH_FOUR_KERNELS "four-cudafilters"
#define BENCH_KERNEL_TIME "kernel-time"
#define BENCH_DEVICE_COPY "device-copy"
#define BENCH_TENSOR "vkgdrtensor"
#define BENCH_TENSOR_BILINEAR "tensor-bilinear"
#define BENCH_TENSOR_NEAREST "tensor-nearest"
#define BENCH_TENSOR_AREA "tensor-area"
#define BENCH_BARE_WINDOW "loop-window"
#define BENCH_BARE_STAGED "loop-staged"
#define BENCH_BARE_RAM "loop-ram"
#define BENCH_IPC "vkgdripcsink"
#define BENCH_IPC_CUDA "cudaipcsink"
#define BENCH_IPC_MEDIAN "delay-p50"
#define BENCH_IPC_TAIL "delay-p99"
#define BENCH_IPC_RECEIVED "received-p50"
#define BENCH_LOOPS_DIRECT "loops-direct"
#define BENCH_LOOPS_STAGED "loops-staged"
#define BENCH_LOOPS_BEST "loops-best-mix"
#define BENCH_MEMORY_VKGDR "memory-vkgdrupload"
#define BENCH_MEMORY_POOL "memory-pool"
#define BENCH_MEMORY_CUDA "memory-cudaupload"

/**
 * bench_pipeline_run:
 * @context: the device
 * @options: the user's options
 * @error: return location for a #GError
 *
 * Measures all pipelines, or only those of the sections in @options. If a
 * pipeline fails, its samples have the error.
 *
 * Returns: (transfer full): array of BenchCase, or %NULL with @error set if
 *   there is no such section
 */
GPtrArray *bench_pipeline_run (
    GstVkgdrContext *context, const BenchOptions *options, GError **error);

#endif /* BENCH_PIPELINE_H */
