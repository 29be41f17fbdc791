/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/cudalib.h: GStreamer's own CUDA library, if the process has it
 *
 * Its header needs a CUDA toolkit, and linking it would load it into every
 * process. So it is looked up at run time: if the process has not loaded it, no
 * element uses its memory. The types are those of the ABI of libgstcuda-1.0.
 */

#ifndef __GST_VKGDR_CUDA_LIB_H__
#define __GST_VKGDR_CUDA_LIB_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrcontext.h>

#include "driver.h"

G_BEGIN_DECLS

/* Type of the GstContext that contains a GstCudaContext, and name of the field.
 */
#define GST_VKGDR_CUDA_CONTEXT_TYPE "gst.cuda.context"

/* Type of the library's memory. */
#define GST_VKGDR_CUDA_MEMORY_TYPE "gst.cuda.memory"

typedef struct _GstCudaContext GstCudaContext;
typedef struct _GstCudaStream GstCudaStream;
typedef struct _GstCudaAllocator GstCudaAllocator;

/* The public part of the library's memory. */
typedef struct {
  GstMemory mem;
  GstCudaContext *context;
  GstVideoInfo info;
} GstVkgdrCudaMemory;

/* The public part of the library's pool. */
typedef struct {
  GstBufferPool pool;
  GstCudaContext *context;
} GstVkgdrCudaPool;

/* Flags of the library's memory. NEED_DOWNLOAD: the CPU's copy is not current.
 * NEED_SYNC: users of another stream than the memory's have to wait for that
 * stream. */
#define GST_VKGDR_CUDA_MEMORY_NEED_DOWNLOAD (GST_MEMORY_FLAG_LAST << 0)
#define GST_VKGDR_CUDA_MEMORY_NEED_SYNC (GST_MEMORY_FLAG_LAST << 2)

/* The library's functions, named without their prefix gst_ or gst_cuda_. */
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

/* Returns NULL if the process has not loaded the library, or has loaded a
 * version before 1.24. If the process loads the library later, later calls
 * return it. */
const GstVkgdrCudaLib *gst_vkgdr_cuda_lib_get (void);

/* Whether @lib uses the same driver as @cuda: handles of one driver are invalid
 * in another. */
gboolean gst_vkgdr_cuda_lib_uses (
    const GstVkgdrCudaLib *lib, const vkgdr_cuda *cuda);

/* --- contexts (device/cudacontext.c) --- */

/* Returns a GstContext with a GstCudaContext that uses the CUDA context of
 * @context, or NULL if none can be made. As long as the GstCudaContext exists,
 * each call returns the same one. */
GstContext *gst_vkgdr_cuda_context_offer (GstVkgdrContext *context);

/* Returns the GstCudaContext itself, which the caller owns. */
GstCudaContext *gst_vkgdr_cuda_context_get (
    const GstVkgdrCudaLib *lib, GstVkgdrContext *context);

/* Returns a context that uses the CUDA context of @gst_context. As long as the
 * returned context exists, each call returns the same one. Returns NULL if the
 * CUDA context belongs to another device than @device (if @device >= 0) or to
 * another driver, or if it cannot be used. */
GstVkgdrContext *gst_vkgdr_cuda_context_adopt (
    GstContext *gst_context, gint device);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_LIB_H__ */
