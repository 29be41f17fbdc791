/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/cudalib.h: GStreamer's own CUDA library, where the process has it
 *
 * Its header needs a CUDA toolkit, and linking it would bring it into every
 * process; so it is found at run time. A process that has not loaded it has no
 * element that knows its memory. The types are ABI facts of libgstcuda-1.0.
 */

#ifndef __GST_VKGDR_CUDA_LIB_H__
#define __GST_VKGDR_CUDA_LIB_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrcontext.h>

#include "driver.h"

G_BEGIN_DECLS

/* Type of the GstContext that carries a GstCudaContext, in a field that is
 * called so as well. */
#define GST_VKGDR_CUDA_CONTEXT_TYPE "gst.cuda.context"

/* Type of its memory. */
#define GST_VKGDR_CUDA_MEMORY_TYPE "gst.cuda.memory"

typedef struct _GstCudaContext GstCudaContext;
typedef struct _GstCudaStream GstCudaStream;
typedef struct _GstCudaAllocator GstCudaAllocator;

/* The public part of its memory. */
typedef struct {
  GstMemory mem;
  GstCudaContext *context;
  GstVideoInfo info;
} GstVkgdrCudaMemory;

/* The public part of its pool. */
typedef struct {
  GstBufferPool pool;
  GstCudaContext *context;
} GstVkgdrCudaPool;

/* Flags of its memory: what the CPU was given is not the content, or no longer;
 * and who uses it on another stream than the memory's has to wait for that. */
#define GST_VKGDR_CUDA_MEMORY_NEED_DOWNLOAD (GST_MEMORY_FLAG_LAST << 0)
#define GST_VKGDR_CUDA_MEMORY_NEED_SYNC (GST_MEMORY_FLAG_LAST << 2)

/* Its entry points, named without their prefix gst_ or gst_cuda_. */
typedef struct {
  gboolean (*load_library) (void);
  GType (*context_get_type) (void);
  GstCudaContext *(*context_new_wrapped) (CUcontext context, CUdevice device);
  gpointer (*context_get_handle) (GstCudaContext *context);
  GstMemory *(*allocator_alloc) (GstCudaAllocator *allocator,
      GstCudaContext *context, GstCudaStream *stream, const GstVideoInfo *info);
  GstMemory *(*allocator_alloc_wrapped) (GstCudaAllocator *allocator,
      GstCudaContext *context, GstCudaStream *stream, const GstVideoInfo *info,
      CUdeviceptr pointer, gpointer user_data, GDestroyNotify notify);
  gboolean (*is_memory) (GstMemory *memory);
  void (*memory_sync) (GstVkgdrCudaMemory *memory);
  void (*memory_set_pooled) (GstMemory *memory); /* nullable */
  GstCudaStream *(*memory_get_stream) (GstVkgdrCudaMemory *memory);
  GstCudaStream *(*stream_new) (GstCudaContext *context);
  void (*stream_unref) (GstCudaStream *stream);
  CUstream (*stream_get_handle) (GstCudaStream *stream);
  GType (*buffer_pool_get_type) (void);
  GstBufferPool *(*buffer_pool_new) (GstCudaContext *context);
  GstCudaStream *(*config_get_stream) (GstStructure *config);
  void (*config_set_stream) (GstStructure *config, GstCudaStream *stream);
} GstVkgdrCudaLib;

/* NULL where the process has none, or one before 1.24; it may come later. */
const GstVkgdrCudaLib *gst_vkgdr_cuda_lib_get (void);

/* Whether it calls the same driver as @cuda: handles of one driver mean nothing
 * to another. */
gboolean gst_vkgdr_cuda_lib_uses (
    const GstVkgdrCudaLib *lib, const vkgdr_cuda *cuda);

/* --- contexts (device/cudacontext.c) --- */

/* A GstContext with a GstCudaContext of the same CUDA context, the same one
 * each time while it lives; NULL where there can be none. */
GstContext *gst_vkgdr_cuda_context_offer (GstVkgdrContext *context);

/* The GstCudaContext itself; the caller's. */
GstCudaContext *gst_vkgdr_cuda_context_get (
    const GstVkgdrCudaLib *lib, GstVkgdrContext *context);

/* A context on the CUDA context that @gst_context carries, the same one each
 * time while it lives; NULL where that is of another device (@device >= 0) or
 * driver, or cannot be used. */
GstVkgdrContext *gst_vkgdr_cuda_context_adopt (
    GstContext *gst_context, gint device);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_LIB_H__ */
