/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fill.c: memsets of rows, by elements of 1, 2 and 4 bytes
 *
 * Items of a stream, as copies are (copy.c, which has those of single bytes in
 * one row). Knows nothing of how memory is made.
 */

#include <string.h>

#include "private.h"

typedef struct {
  unsigned char *dst;
  size_t pitch;
  unsigned char value[4];
  size_t element; /* bytes of it */
  size_t width;   /* elements */
  size_t rows;
} fill_job;

static CUresult
run_fill (void *data)
{
  const fill_job *job = data;

  for (size_t y = 0; y < job->rows; y++)
    for (size_t x = 0; x < job->width; x++)
      memcpy (job->dst + y * job->pitch + x * job->element, job->value,
          job->element);
  return CUDA_SUCCESS;
}

static CUresult
check_locked (const fill_job *job)
{
  size_t row, size;

  if ((uintptr_t) job->dst % job->element != 0
      || (job->rows > 1 && job->pitch % job->element != 0)
      || __builtin_mul_overflow (job->width, job->element, &row)
      || (job->rows > 1 && job->pitch < row)
      || __builtin_mul_overflow (job->pitch, job->rows - 1, &size)
      || __builtin_add_overflow (size, row, &size)
      || !sc_range_covers_locked ((uintptr_t) job->dst, size))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

static CUresult
submit_locked (const fill_job *job, CUstream stream)
{
  fill_job *copy = malloc (sizeof *copy);
  sc_work work = { run_fill, free, copy, false };

  if (copy == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *copy = *job;
  return sc_submit_locked (stream, &work, NULL, NULL);
}

static CUresult
fill (CUdeviceptr pointer, size_t pitch, const void *value, size_t element,
    size_t width, size_t height, CUstream stream)
{
  fill_job job = { (unsigned char *) (uintptr_t) pointer, pitch, { 0 }, element,
    width, height };
  CUcontext context;
  CUstream found;
  CUresult result;

  memcpy (job.value, value, element);
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS && width != 0 && height != 0) {
    result = check_locked (&job);
    if (result == CUDA_SUCCESS)
      result = submit_locked (&job, found);
  }
  sc_unlock ();
  return result;
}

CUresult
cuMemsetD2D8Async (CUdeviceptr pointer, size_t pitch, unsigned char value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D8Async);
  return fill (pointer, pitch, &value, sizeof value, width, height, stream);
}

CUresult
cuMemsetD2D16Async (CUdeviceptr pointer, size_t pitch, unsigned short value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D16Async);
  return fill (pointer, pitch, &value, sizeof value, width, height, stream);
}

CUresult
cuMemsetD2D32Async (CUdeviceptr pointer, size_t pitch, unsigned int value,
    size_t width, size_t height, CUstream stream)
{
  SC_ENTER (cuMemsetD2D32Async);
  return fill (pointer, pitch, &value, sizeof value, width, height, stream);
}
