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

typedef struct launch_shape {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
} launch_shape;

/* A launch with a copy of its arguments. */
typedef struct kernel_launch {
  const softcuda_kernel *kernel;
  bool in_fibres;
  launch_shape shape;
  unsigned char *arguments;
  pthread_mutex_t lock;
  CUresult error; /* of the first block that failed */
  void *params[];
} kernel_launch;

/* Only the text of one block is printed, because usually all blocks fail in the
 * same way. */
static void
note_failure (kernel_launch *launch, const sc_outcome *outcome)
{
  bool first;

  pthread_mutex_lock (&launch->lock);
  first = launch->error == CUDA_SUCCESS;
  if (first)
    launch->error = outcome->error;
  pthread_mutex_unlock (&launch->lock);
  if (first && outcome->text[0] != '\0')
    fprintf (stderr, "softcuda: %s\n", outcome->text);
}

static bool
run_one_block (void *data, uint64_t i)
{
  kernel_launch *launch = data;
  const launch_shape *shape = &launch->shape;
  softcuda_block block;
  sc_outcome outcome = { CUDA_ERROR_OUT_OF_MEMORY, "" };

  memset (&block, 0, sizeof block);
  memcpy (block.grid_dim, shape->grid, sizeof shape->grid);
  memcpy (block.block_dim, shape->block, sizeof shape->block);
  block.block_idx[0] = i % shape->grid[0];
  block.block_idx[1] = i / shape->grid[0] % shape->grid[1];
  block.block_idx[2] = i / shape->grid[0] / shape->grid[1];
  block.params = (void **) launch->params;
  if (shape->shared_bytes == 0
      || posix_memalign (
             &block.dynamic_shared, ARGUMENT_ALIGNMENT, shape->shared_bytes)
             == 0)
    sc_run_block (launch->kernel, launch->in_fibres, &block, &outcome);
  free (block.dynamic_shared);
  if (outcome.error != CUDA_SUCCESS)
    note_failure (launch, &outcome);
  return outcome.error == CUDA_SUCCESS;
}

static CUresult
run_launch (void *data)
{
  kernel_launch *launch = data;
  const launch_shape *shape = &launch->shape;
  uint64_t n = (uint64_t) shape->grid[0] * shape->grid[1] * shape->grid[2];

  sc_faults_begin ();
  sc_pool_run (run_one_block, launch, n);
  sc_faults_end ();
  return launch->error;
}

static void
free_launch (void *data)
{
  kernel_launch *launch = data;

  pthread_mutex_destroy (&launch->lock);
  free (launch->arguments);
  free (launch);
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

/* Sets `params` to the places of the arguments in the launch's buffer. Returns
 * the size of the buffer. May be called before the buffer is allocated, to get
 * the size. */
static size_t
place_arguments (kernel_launch *launch)
{
  const softcuda_kernel *kernel = launch->kernel;
  size_t total = 0;

  for (unsigned int i = 0; i < kernel->n_params; i++) {
    launch->params[i] = launch->arguments + total;
    total += (kernel->params[i].size + ARGUMENT_ALIGNMENT - 1)
             / ARGUMENT_ALIGNMENT * ARGUMENT_ALIGNMENT;
  }
  return total;
}

static CUresult
copy_arguments (kernel_launch *launch, const launch_arguments *arguments)
{
  const softcuda_kernel *kernel = launch->kernel;

  for (unsigned int i = 0; i < kernel->n_params; i++) {
    const void *argument = find_argument (arguments, kernel, i);

    if (argument == NULL)
      return CUDA_ERROR_INVALID_VALUE;
    memcpy (launch->params[i], argument, kernel->params[i].size);
  }
  return CUDA_SUCCESS;
}

static CUresult
check_shape (const launch_shape *shape)
{
  const unsigned int *grid = shape->grid;
  const unsigned int *block = shape->block;
  uint64_t threads = (uint64_t) block[0] * block[1] * block[2];

  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
    return CUDA_ERROR_INVALID_VALUE;
  if (block[0] > MAX_BLOCK_XY || block[1] > MAX_BLOCK_XY
      || block[2] > MAX_BLOCK_Z || threads > SC_MAX_BLOCK_THREADS)
    return CUDA_ERROR_INVALID_VALUE;
  if (shape->shared_bytes > SOFTCUDA_MAX_DYNAMIC_SHARED)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

/* Allocates a launch without arguments. */
static kernel_launch *
allocate (CUfunction function, const launch_shape *shape)
{
  const softcuda_kernel *kernel = function->kernel;
  kernel_launch *launch =
      calloc (1, sizeof *launch + kernel->n_params * sizeof *launch->params);
  void *memory;

  if (launch == NULL)
    return NULL;
  launch->kernel = kernel;
  if (posix_memalign (&memory, ARGUMENT_ALIGNMENT, place_arguments (launch) + 1)
      != 0) {
    free (launch);
    return NULL;
  }
  launch->arguments = memory;
  place_arguments (launch);
  launch->in_fibres = function->module->image->fibres != NULL;
  launch->shape = *shape;
  pthread_mutex_init (&launch->lock, NULL);
  return launch;
}

static CUresult
make_launch (CUfunction function, const launch_shape *shape, void **params,
    void **extra, kernel_launch **launch)
{
  launch_arguments arguments = { params, NULL, 0 };
  CUresult result = check_shape (shape);

  if (params != NULL && extra != NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS && extra != NULL)
    result = read_extra (extra, &arguments);
  if (result != CUDA_SUCCESS)
    return result;
  *launch = allocate (function, shape);
  if (*launch == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = copy_arguments (*launch, &arguments);
  if (result != CUDA_SUCCESS)
    free_launch (*launch);
  return result;
}

/* The stream and the function have to be of the calling thread's context. */
static CUresult
launch_locked (CUfunction function, const launch_shape *shape, CUstream handle,
    void **params, void **extra)
{
  CUcontext context;
  CUstream stream;
  sc_work work = { run_launch, free_launch, NULL, false };
  kernel_launch *launch;
  CUresult result = sc_current_usable_locked (&context);

  if (result == CUDA_SUCCESS)
    result = sc_stream_find_locked (handle, &stream);
  if (result != CUDA_SUCCESS)
    return result;
  if (stream->handle.context != context
      || !sc_handle_is_live_locked (function, SC_KIND_FUNCTION)
      || function->handle.context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  result = make_launch (function, shape, params, extra, &launch);
  if (result != CUDA_SUCCESS)
    return result;
  work.data = launch;
  return sc_submit_locked (stream, &work, NULL, NULL);
}

CUresult
cuLaunchKernel (CUfunction function, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
    unsigned int block_z, unsigned int shared_bytes, CUstream stream,
    void **params, void **extra)
{
  const launch_shape shape = { { grid_x, grid_y, grid_z },
    { block_x, block_y, block_z }, shared_bytes };
  CUresult result;

  SC_ENTER (cuLaunchKernel);
  sc_lock ();
  result = launch_locked (function, &shape, stream, params, extra);
  sc_unlock ();
  return result;
}

CUresult
cuLaunchKernelEx (const CUlaunchConfig *config, CUfunction function,
    void **params, void **extra)
{
  SC_ENTER (cuLaunchKernelEx);
  if (config == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (config->numAttrs > 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return cuLaunchKernel (function, config->gridDimX, config->gridDimY,
      config->gridDimZ, config->blockDimX, config->blockDimY, config->blockDimZ,
      config->sharedMemBytes, config->hStream, params, extra);
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
