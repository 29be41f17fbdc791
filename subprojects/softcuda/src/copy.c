/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy.c: copies and memsets
 *
 * Each copy is an item of a stream. Synchronous copies are items of the default
 * stream. The call checks all ranges of device memory before it queues the
 * copy. Knows nothing of how memory is allocated.
 */

#include <string.h>

#include "../device/softcuda_texture.h"
#include "private.h"

/* Copies `rows` rows of `width` bytes. A memset has no source. */
typedef struct {
  unsigned char *dst;
  const unsigned char *src;
  size_t dst_pitch;
  size_t src_pitch;
  size_t width;
  size_t rows;
  unsigned int value; /* only its lowest `unit` bytes count, and are repeated */
  unsigned int unit;
} copy_job;

/* One end of a copy before it is checked. */
typedef struct {
  uintptr_t address;
  bool device;
} copy_end;

/* Must be called with an aligned row: set_2d() has checked this. */
static void
fill_row (const copy_job *job, unsigned char *row)
{
  if (job->unit == 1)
    memset (row, (unsigned char) job->value, job->width);
  else if (job->unit == 2)
    for (size_t x = 0; x < job->width / 2; x++)
      ((uint16_t *) row)[x] = job->value;
  else
    for (size_t x = 0; x < job->width / 4; x++)
      ((uint32_t *) row)[x] = job->value;
}

static CUresult
run_copy (void *data)
{
  const copy_job *job = data;

  for (size_t y = 0; y < job->rows; y++) {
    unsigned char *dst = job->dst + y * job->dst_pitch;

    if (job->src == NULL)
      fill_row (job, dst);
    else
      memmove (dst, job->src + y * job->src_pitch, job->width);
  }
  return CUDA_SUCCESS;
}

/* The number of bytes from the first row to the end of the last row. Returns
 * false if it overflows. */
static bool
extent (size_t pitch, size_t width, size_t rows, size_t *size)
{
  return !__builtin_mul_overflow (pitch, rows - 1, size)
         && !__builtin_add_overflow (*size, width, size);
}

/* Pageable host memory is memory that the driver does not know. The caller may
 * change or free it as soon as the call returns. */
static CUresult
check_end_locked (
    const copy_end *end, size_t pitch, const copy_job *job, bool *pageable)
{
  size_t size;
  bool covered;

  if (!extent (pitch, job->width, job->rows, &size))
    return CUDA_ERROR_INVALID_VALUE;
  covered = sc_range_covers_locked (end->address, size);
  if (end->device && !covered)
    return CUDA_ERROR_INVALID_VALUE;
  if (end->address == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!covered)
    *pageable = true;
  return CUDA_SUCCESS;
}

static CUresult
check_locked (
    const copy_job *job, bool dst_device, bool src_device, bool *pageable)
{
  copy_end dst = { (uintptr_t) job->dst, dst_device };
  copy_end src = { (uintptr_t) job->src, src_device };
  CUresult result = check_end_locked (&dst, job->dst_pitch, job, pageable);

  if (result != CUDA_SUCCESS || job->src == NULL)
    return result;
  return check_end_locked (&src, job->src_pitch, job, pageable);
}

static bool
is_host_memory_locked (const void *address)
{
  const sc_range *range = sc_range_find_locked ((uintptr_t) address);

  return range == NULL || range->is_managed || range->kind == SC_RANGE_HOST
         || range->kind == SC_RANGE_REGISTERED;
}

/* A copy or memset that uses only device memory does not wait, even if the call
 * is not asynchronous. */
static bool
has_host_memory_locked (const copy_job *job)
{
  return is_host_memory_locked (job->dst)
         || (job->src != NULL && is_host_memory_locked (job->src));
}

/* Returns the address that the device uses for an end of the copy. The second
 * mapping of registered memory has only the registered pages, so it must not be
 * used for an end that goes beyond them. */
static uintptr_t
device_address_locked (const void *end, size_t pitch, const copy_job *job)
{
  uintptr_t address = (uintptr_t) end;
  size_t size;

  if (!extent (pitch, job->width, job->rows, &size)
      || !sc_range_covers_locked (address, size))
    return address;
  return sc_range_device_address_locked (address);
}

static CUresult
submit_locked (const copy_job *job, CUstream stream, bool wait)
{
  copy_job *copy = malloc (sizeof *copy);
  sc_work work = { run_copy, free, copy, false };

  if (copy == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *copy = *job;
  copy->dst = (void *) device_address_locked (job->dst, job->dst_pitch, job);
  copy->src =
      (const void *) device_address_locked (job->src, job->src_pitch, job);
  return wait ? sc_submit_and_wait_locked (stream, &work)
              : sc_submit_locked (stream, &work, NULL, NULL);
}

static CUresult
start_copy (const copy_job *job, bool dst_device, bool src_device,
    CUstream stream, bool wait)
{
  CUcontext context;
  CUstream found;
  CUresult result;

  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS && job->width != 0 && job->rows != 0) {
    wait = wait && has_host_memory_locked (job);
    result = check_locked (job, dst_device, src_device, &wait);
    if (result == CUDA_SUCCESS)
      result = submit_locked (job, found, wait);
  }
  sc_unlock ();
  return result;
}

static CUresult
copy_1d (uintptr_t dst, bool dst_device, uintptr_t src, bool src_device,
    size_t size, CUstream stream, bool wait)
{
  copy_job job = { (void *) dst, (const void *) src, 0, 0, size, 1, 0, 0 };

  if (src == 0 && size != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return start_copy (&job, dst_device, src_device, stream, wait);
}

CUresult
cuMemcpyHtoD_v2 (CUdeviceptr dst, const void *src, size_t size)
{
  SC_ENTER (cuMemcpyHtoD);
  return copy_1d (dst, true, (uintptr_t) src, false, size, NULL, true);
}

CUresult
cuMemcpyDtoH_v2 (void *dst, CUdeviceptr src, size_t size)
{
  SC_ENTER (cuMemcpyDtoH);
  return copy_1d ((uintptr_t) dst, false, src, true, size, NULL, true);
}

CUresult
cuMemcpyDtoD_v2 (CUdeviceptr dst, CUdeviceptr src, size_t size)
{
  SC_ENTER (cuMemcpyDtoD);
  return copy_1d (dst, true, src, true, size, NULL, true);
}

CUresult
cuMemcpyHtoDAsync_v2 (
    CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  SC_ENTER (cuMemcpyHtoDAsync);
  return copy_1d (dst, true, (uintptr_t) src, false, size, stream, false);
}

CUresult
cuMemcpyDtoHAsync_v2 (void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
  SC_ENTER (cuMemcpyDtoHAsync);
  return copy_1d ((uintptr_t) dst, false, src, true, size, stream, false);
}

CUresult
cuMemcpyDtoDAsync_v2 (
    CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
  SC_ENTER (cuMemcpyDtoDAsync);
  return copy_1d (dst, true, src, true, size, stream, false);
}

/* The source and the destination may each be device or host memory. */
CUresult
cuMemcpy (CUdeviceptr dst, CUdeviceptr src, size_t size)
{
  SC_ENTER (cuMemcpy);
  return copy_1d (dst, false, src, false, size, NULL, true);
}

CUresult
cuMemcpyAsync (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
  SC_ENTER (cuMemcpyAsync);
  return copy_1d (dst, false, src, false, size, stream, false);
}

/* One end of a copy of rows, as the caller describes it. */
typedef struct {
  CUmemorytype type;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  size_t x;
  size_t y;
  size_t pitch;
} rows_end;

/* The caller does not give the pitch of an array. */
static CUresult
resolve_array (rows_end *rows, size_t width, size_t height, copy_end *end)
{
  softcuda_texture texels;
  size_t right;
  size_t bottom;
  bool is_live;

  sc_lock ();
  is_live = sc_array_get_locked (rows->array, &texels);
  sc_unlock ();
  if (!is_live)
    return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_add_overflow (rows->x, width, &right)
      || __builtin_add_overflow (rows->y, height, &bottom)
      || right > texels.width * texels.texel_size || bottom > texels.height)
    return CUDA_ERROR_INVALID_VALUE;
  rows->pitch = texels.pitch;
  *end = (copy_end){ (uintptr_t) texels.data, true };
  return CUDA_SUCCESS;
}

/* With CU_MEMORYTYPE_UNIFIED, the address is in the field for device memory,
 * but it may be an address of host memory. */
static CUresult
resolve_end (rows_end *rows, size_t width, size_t height, copy_end *end)
{
  CUresult result = CUDA_SUCCESS;
  size_t offset;

  switch (rows->type) {
  case CU_MEMORYTYPE_HOST:
    *end = (copy_end){ (uintptr_t) rows->host, false };
    break;
  case CU_MEMORYTYPE_DEVICE:
    *end = (copy_end){ rows->device, true };
    break;
  case CU_MEMORYTYPE_UNIFIED:
    *end = (copy_end){ rows->device, false };
    break;
  case CU_MEMORYTYPE_ARRAY:
    result = resolve_array (rows, width, height, end);
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (result != CUDA_SUCCESS)
    return result;
  if (end->address == 0
      || (height > 1
          && (rows->pitch < rows->x || rows->pitch - rows->x < width))
      || __builtin_mul_overflow (rows->y, rows->pitch, &offset)
      || __builtin_add_overflow (end->address, offset, &end->address)
      || __builtin_add_overflow (end->address, rows->x, &end->address))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

static CUresult
copy_rows (rows_end *dst, rows_end *src, size_t width, size_t height,
    CUstream stream, bool wait)
{
  copy_job job = { NULL, NULL, 0, 0, width, height, 0, 0 };
  copy_end to;
  copy_end from;
  CUresult result = resolve_end (dst, width, height, &to);

  if (result == CUDA_SUCCESS)
    result = resolve_end (src, width, height, &from);
  if (result != CUDA_SUCCESS)
    return result;
  job.dst = (void *) to.address;
  job.src = (const void *) from.address;
  job.dst_pitch = dst->pitch;
  job.src_pitch = src->pitch;
  return start_copy (&job, to.device, from.device, stream, wait);
}

static CUresult
copy_2d (const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
  rows_end dst;
  rows_end src;

  if (c == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  dst = (rows_end){ c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
    c->dstXInBytes, c->dstY, c->dstPitch };
  src = (rows_end){ c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
    c->srcXInBytes, c->srcY, c->srcPitch };
  return copy_rows (&dst, &src, c->WidthInBytes, c->Height, stream, wait);
}

/* The row at which a slice begins. An array has only one slice. */
static bool
find_slice (
    const rows_end *end, size_t y, size_t slice, size_t height, size_t *row)
{
  return (end->type != CU_MEMORYTYPE_ARRAY || slice == 0)
         && !__builtin_mul_overflow (slice, height, row)
         && !__builtin_add_overflow (*row, y, row);
}

/* Begins with the last slice: a copy that is too large fails before anything is
 * copied. */
static CUresult
copy_3d (const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
  CUresult result = CUDA_SUCCESS;

  if (c == NULL || c->srcLOD != 0 || c->dstLOD != 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t z = c->Depth; z > 0 && result == CUDA_SUCCESS; z--) {
    rows_end dst = { c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
      c->dstXInBytes, 0, c->dstPitch };
    rows_end src = { c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
      c->srcXInBytes, 0, c->srcPitch };

    if (!find_slice (&dst, c->dstY, c->dstZ + z - 1, c->dstHeight, &dst.y)
        || !find_slice (&src, c->srcY, c->srcZ + z - 1, c->srcHeight, &src.y))
      return CUDA_ERROR_INVALID_VALUE;
    result = copy_rows (&dst, &src, c->WidthInBytes, c->Height, stream, wait);
  }
  return result;
}

/* Copies a part of the first row of an array. The other end is
 * host memory if `host` is not NULL. */
static CUresult
copy_array (CUarray array, size_t offset, bool to_array, const void *host,
    CUdeviceptr device, size_t size)
{
  rows_end end = { CU_MEMORYTYPE_ARRAY, NULL, 0, array, offset, 0, 0 };
  rows_end other = { host != NULL ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
    host, device, NULL, 0, 0, 0 };

  return to_array ? copy_rows (&end, &other, size, 1, NULL, true)
                  : copy_rows (&other, &end, size, 1, NULL, true);
}

CUresult
cuMemcpyHtoA_v2 (CUarray dst, size_t offset, const void *src, size_t size)
{
  SC_ENTER (cuMemcpyHtoA);
  return copy_array (dst, offset, true, src, 0, size);
}

CUresult
cuMemcpyAtoH_v2 (void *dst, CUarray src, size_t offset, size_t size)
{
  SC_ENTER (cuMemcpyAtoH);
  return copy_array (src, offset, false, dst, 0, size);
}

CUresult
cuMemcpyDtoA_v2 (CUarray dst, size_t offset, CUdeviceptr src, size_t size)
{
  SC_ENTER (cuMemcpyDtoA);
  return copy_array (dst, offset, true, NULL, src, size);
}

CUresult
cuMemcpyAtoD_v2 (CUdeviceptr dst, CUarray src, size_t offset, size_t size)
{
  SC_ENTER (cuMemcpyAtoD);
  return copy_array (src, offset, false, NULL, dst, size);
}

CUresult
cuMemcpyAtoA_v2 (
    CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size)
{
  rows_end to = { CU_MEMORYTYPE_ARRAY, NULL, 0, dst, dst_offset, 0, 0 };
  rows_end from = { CU_MEMORYTYPE_ARRAY, NULL, 0, src, src_offset, 0, 0 };

  SC_ENTER (cuMemcpyAtoA);
  return copy_rows (&to, &from, size, 1, NULL, true);
}

CUresult
cuMemcpy2D_v2 (const CUDA_MEMCPY2D *copy)
{
  SC_ENTER (cuMemcpy2D);
  return copy_2d (copy, NULL, true);
}

CUresult
cuMemcpy2DUnaligned_v2 (const CUDA_MEMCPY2D *copy)
{
  SC_ENTER (cuMemcpy2DUnaligned);
  return copy_2d (copy, NULL, true);
}

CUresult
cuMemcpy2DAsync_v2 (const CUDA_MEMCPY2D *copy, CUstream stream)
{
  SC_ENTER (cuMemcpy2DAsync);
  return copy_2d (copy, stream, false);
}

CUresult
cuMemcpy3D_v2 (const CUDA_MEMCPY3D *copy)
{
  SC_ENTER (cuMemcpy3D);
  return copy_3d (copy, NULL, true);
}

CUresult
cuMemcpy3DAsync_v2 (const CUDA_MEMCPY3D *copy, CUstream stream)
{
  SC_ENTER (cuMemcpy3DAsync);
  return copy_3d (copy, stream, false);
}

CUresult
cuMemsetD8_v2 (CUdeviceptr pointer, unsigned char value, size_t size)
{
  copy_job job = { (void *) (uintptr_t) pointer, NULL, 0, 0, size, 1, value,
    1 };

  SC_ENTER (cuMemsetD8);
  return start_copy (&job, true, true, NULL, true);
}

CUresult
cuMemsetD8Async (
    CUdeviceptr pointer, unsigned char value, size_t size, CUstream stream)
{
  copy_job job = { (void *) (uintptr_t) pointer, NULL, 0, 0, size, 1, value,
    1 };

  SC_ENTER (cuMemsetD8Async);
  return start_copy (&job, true, true, stream, false);
}

/* width is in units. */
static CUresult
set_2d (CUdeviceptr pointer, size_t pitch, unsigned int value,
    unsigned int unit, size_t width, size_t height, CUstream stream, bool wait)
{
  copy_job job = { (void *) (uintptr_t) pointer, NULL, pitch, 0, 0, height,
    value, unit };

  if (pointer % unit != 0 || (height > 1 && pitch % unit != 0)
      || __builtin_mul_overflow (width, unit, &job.width)
      || (height > 1 && pitch < job.width))
    return CUDA_ERROR_INVALID_VALUE;
  return start_copy (&job, true, true, stream, wait);
}

CUresult
cuMemsetD2D8_v2 (CUdeviceptr pointer, size_t pitch, unsigned char value,
    size_t width, size_t height)
{
  SC_ENTER (cuMemsetD2D8);
  return set_2d (pointer, pitch, value, 1, width, height, NULL, true);
}

CUresult
cuMemsetD2D8Async (CUdeviceptr pointer, size_t pitch, unsigned char value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D8Async);
  return set_2d (pointer, pitch, value, 1, width, height, stream, false);
}

CUresult
cuMemsetD2D16_v2 (CUdeviceptr pointer, size_t pitch, unsigned short value,
    size_t width, size_t height)
{
  SC_ENTER (cuMemsetD2D16);
  return set_2d (pointer, pitch, value, 2, width, height, NULL, true);
}

CUresult
cuMemsetD2D16Async (CUdeviceptr pointer, size_t pitch, unsigned short value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D16Async);
  return set_2d (pointer, pitch, value, 2, width, height, stream, false);
}

CUresult
cuMemsetD2D32_v2 (CUdeviceptr pointer, size_t pitch, unsigned int value,
    size_t width, size_t height)
{
  SC_ENTER (cuMemsetD2D32);
  return set_2d (pointer, pitch, value, 4, width, height, NULL, true);
}

CUresult
cuMemsetD2D32Async (CUdeviceptr pointer, size_t pitch, unsigned int value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D32Async);
  return set_2d (pointer, pitch, value, 4, width, height, stream, false);
}

/* One row. */
CUresult
cuMemsetD16_v2 (CUdeviceptr pointer, unsigned short value, size_t n)
{
  SC_ENTER (cuMemsetD16);
  return set_2d (pointer, 0, value, 2, n, 1, NULL, true);
}

CUresult
cuMemsetD16Async (
    CUdeviceptr pointer, unsigned short value, size_t n, CUstream stream)
{
  SC_ENTER (cuMemsetD16Async);
  return set_2d (pointer, 0, value, 2, n, 1, stream, false);
}

CUresult
cuMemsetD32_v2 (CUdeviceptr pointer, unsigned int value, size_t n)
{
  SC_ENTER (cuMemsetD32);
  return set_2d (pointer, 0, value, 4, n, 1, NULL, true);
}

CUresult
cuMemsetD32Async (
    CUdeviceptr pointer, unsigned int value, size_t n, CUstream stream)
{
  SC_ENTER (cuMemsetD32Async);
  return set_2d (pointer, 0, value, 4, n, 1, stream, false);
}
