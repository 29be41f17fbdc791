/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * launch.c: kernel launches
 *
 * Checks a launch, copies its arguments, and queues it as an item of its
 * stream. block.c runs the blocks.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "module.h"
#include "run.h"

#define MAX_GRID_X 2147483647u
#define MAX_GRID_YZ 65535u
#define MAX_BLOCK_XY 1024u
#define MAX_BLOCK_Z 64u

/* The block size that the occupancy functions return. All block sizes are
 * equally fast here. */
#define USUAL_BLOCK_SIZE 256

/* The copies of arguments are aligned for any type. */
#define ARGUMENT_ALIGNMENT 64

typedef struct {
  const softcuda_kernel *kernel;
  bool in_fibres;
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  unsigned char *arguments;
  pthread_mutex_t lock;
  CUresult error; /* of the first block that failed */
  void *params[];
} launch_job;

/* Only the text of one block is printed, because usually all blocks fail in the
 * same way. */
static void
note_failure (launch_job *job, const sc_outcome *outcome)
{
  bool first;

  pthread_mutex_lock (&job->lock);
  first = job->error == CUDA_SUCCESS;
  if (first)
    job->error = outcome->error;
  pthread_mutex_unlock (&job->lock);
  if (first && outcome->text[0] != '\0')
    fprintf (stderr, "softcuda: %s\n", outcome->text);
}

static bool
run_one_block (void *data, uint64_t i)
{
  launch_job *job = data;
  softcuda_block block;
  sc_outcome outcome = { CUDA_ERROR_OUT_OF_MEMORY, "" };

  memset (&block, 0, sizeof block);
  memcpy (block.grid_dim, job->grid, sizeof job->grid);
  memcpy (block.block_dim, job->block, sizeof job->block);
  block.block_idx[0] = i % job->grid[0];
  block.block_idx[1] = i / job->grid[0] % job->grid[1];
  block.block_idx[2] = i / job->grid[0] / job->grid[1];
  block.params = (void **) job->params;
  if (job->shared_bytes == 0
      || posix_memalign (
             &block.dynamic_shared, ARGUMENT_ALIGNMENT, job->shared_bytes)
             == 0)
    sc_run_block (job->kernel, job->in_fibres, &block, &outcome);
  free (block.dynamic_shared);
  if (outcome.error != CUDA_SUCCESS)
    note_failure (job, &outcome);
  return outcome.error == CUDA_SUCCESS;
}

static CUresult
run_launch (void *data)
{
  launch_job *job = data;
  uint64_t n = (uint64_t) job->grid[0] * job->grid[1] * job->grid[2];

  sc_faults_begin ();
  sc_pool_run (run_one_block, job, n);
  sc_faults_end ();
  return job->error;
}

static void
drop_launch (void *data)
{
  launch_job *job = data;

  pthread_mutex_destroy (&job->lock);
  free (job->arguments);
  free (job);
}

/* cuLaunchKernel accepts arguments in two forms: a pointer to each argument, or
 * one buffer in which each argument has an offset. */
typedef struct {
  void **params;
  unsigned char *buffer;
  size_t buffer_size;
} launch_arguments;

static CUresult
read_extra (void **extra, launch_arguments *arguments)
{
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      arguments->buffer = extra[1];
    else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
      arguments->buffer_size = *(const size_t *) extra[1];
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

/* Returns NULL if the caller has not passed the argument. */
static const void *
find_argument (
    const launch_arguments *arguments, const softcuda_kernel *kernel, int i)
{
  const softcuda_param *param = &kernel->params[i];

  if (arguments->params != NULL)
    return arguments->params[i];
  if (arguments->buffer == NULL
      || arguments->buffer_size < param->offset + param->size)
    return NULL;
  return arguments->buffer + param->offset;
}

static CUresult
copy_arguments (launch_job *job, const launch_arguments *arguments)
{
  const softcuda_kernel *kernel = job->kernel;
  size_t total = 0;
  void *memory;

  for (unsigned int i = 0; i < kernel->n_params; i++) {
    if (find_argument (arguments, kernel, i) == NULL)
      return CUDA_ERROR_INVALID_VALUE;
    total += kernel->params[i].size + ARGUMENT_ALIGNMENT;
  }
  if (posix_memalign (&memory, ARGUMENT_ALIGNMENT, total + 1) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  job->arguments = memory;
  total = 0;
  for (unsigned int i = 0; i < kernel->n_params; i++) {
    size_t size = kernel->params[i].size;

    job->params[i] = job->arguments + total;
    memcpy (job->params[i], find_argument (arguments, kernel, i), size);
    total += (size + ARGUMENT_ALIGNMENT - 1) / ARGUMENT_ALIGNMENT
             * ARGUMENT_ALIGNMENT;
  }
  return CUDA_SUCCESS;
}

static CUresult
check_shape (const unsigned int *grid, const unsigned int *block,
    unsigned int shared_bytes)
{
  uint64_t threads = (uint64_t) block[0] * block[1] * block[2];

  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
    return CUDA_ERROR_INVALID_VALUE;
  if (block[0] > MAX_BLOCK_XY || block[1] > MAX_BLOCK_XY
      || block[2] > MAX_BLOCK_Z || threads > SC_MAX_BLOCK_THREADS)
    return CUDA_ERROR_INVALID_VALUE;
  if (shared_bytes > SOFTCUDA_MAX_DYNAMIC_SHARED)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

static CUresult
make_job_locked (CUfunction function, const unsigned int *grid,
    const unsigned int *block, unsigned int shared_bytes,
    const launch_arguments *arguments, launch_job **made)
{
  const softcuda_kernel *kernel = function->kernel;
  launch_job *job;
  CUresult result;

  job = calloc (1, sizeof *job + kernel->n_params * sizeof *job->params);
  if (job == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  pthread_mutex_init (&job->lock, NULL);
  job->kernel = kernel;
  job->in_fibres = function->module->image->fibres != NULL;
  memcpy (job->grid, grid, sizeof job->grid);
  memcpy (job->block, block, sizeof job->block);
  job->shared_bytes = shared_bytes;
  result = copy_arguments (job, arguments);
  if (result != CUDA_SUCCESS)
    drop_launch (job);
  else
    *made = job;
  return result;
}

static CUresult
launch_locked (CUfunction function, const unsigned int *grid,
    const unsigned int *block, unsigned int shared_bytes, CUstream stream,
    const launch_arguments *arguments)
{
  sc_work work = { run_launch, drop_launch, NULL, false };
  launch_job *job;
  CUcontext context;
  CUstream found;
  CUresult result = sc_current_usable_locked (&context);

  if (result != CUDA_SUCCESS)
    return result;
  if (!sc_handle_is_live_locked (function, SC_KIND_FUNCTION))
    return CUDA_ERROR_INVALID_HANDLE;
  result = sc_stream_find_locked (stream, &found);
  if (result != CUDA_SUCCESS)
    return result;
  if (found->handle.context != context || function->handle.context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  result =
      make_job_locked (function, grid, block, shared_bytes, arguments, &job);
  if (result != CUDA_SUCCESS)
    return result;
  work.data = job;
  return sc_submit_locked (found, &work, NULL, NULL);
}

CUresult
cuLaunchKernel (CUfunction function, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
    unsigned int block_z, unsigned int shared_bytes, CUstream stream,
    void **params, void **extra)
{
  const unsigned int grid[3] = { grid_x, grid_y, grid_z };
  const unsigned int block[3] = { block_x, block_y, block_z };
  launch_arguments arguments = { params, NULL, 0 };
  CUresult result;

  SC_ENTER (cuLaunchKernel);
  if (params != NULL && extra != NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = check_shape (grid, block, shared_bytes);
  if (result == CUDA_SUCCESS && extra != NULL)
    result = read_extra (extra, &arguments);
  if (result != CUDA_SUCCESS)
    return result;
  sc_lock ();
  result =
      launch_locked (function, grid, block, shared_bytes, stream, &arguments);
  sc_unlock ();
  return result;
}

CUresult
cuOccupancyMaxPotentialBlockSize (int *min_grid_size, int *block_size,
    CUfunction function, CUoccupancyB2DSize shared_of_block, size_t shared_size,
    int block_size_limit)
{
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuOccupancyMaxPotentialBlockSize);
  if (min_grid_size == NULL || block_size == NULL || block_size_limit < 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (!sc_handle_is_live_locked (function, SC_KIND_FUNCTION))
    result = CUDA_ERROR_INVALID_HANDLE;
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    return result;
  *min_grid_size = (int) sysconf (_SC_NPROCESSORS_ONLN);
  *block_size = USUAL_BLOCK_SIZE;
  if (block_size_limit != 0 && block_size_limit < *block_size)
    *block_size = block_size_limit;
  return CUDA_SUCCESS;
}
