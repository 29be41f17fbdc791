/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * context.c: the primary context and other contexts
 *
 * Streams, events, modules and memory belong to a context, and are destroyed
 * with it. The functions that destroy them are in their own files.
 */

#include <string.h>

#include "private.h"

/* The limits of a GPU: of a thread's stack, the buffer of printf(), and the
 * heap of malloc(), in bytes. */
static const size_t default_limits[] = { 1024, 1 << 20, 8 << 20 };

typedef struct {
  CUcontext context;
  CUstream found; /* a stream of this context that has not been stopped */
} running_search;

/* The handle of the primary context stays the same, unless the context fails
 * and is then released. */
static struct CUctx_st first_primary = { .is_primary = true };
static CUcontext primary = &first_primary;
static unsigned int primary_refs;
static bool primary_stopping;

static CUresult
context_start_locked (CUcontext context)
{
  sc_handle_add_locked (&context->handle, SC_KIND_CONTEXT, context);
  context->error = CUDA_SUCCESS;
  memcpy (context->limits, default_limits, sizeof default_limits);
  context->attached = 0;
  context->null_stream = sc_stream_new_locked (context, false);
  if (context->null_stream == NULL) {
    sc_handle_remove_locked (&context->handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  context->alive = true;
  return CUDA_SUCCESS;
}

static void
find_running (sc_handle *handle, void *data)
{
  running_search *search = data;
  CUstream stream = (CUstream) handle;

  if (handle->context == search->context && !stream->quit)
    search->found = stream;
}

/* Waits until all streams have finished their work. */
static void
stop_streams_locked (CUcontext context)
{
  running_search search = { context, NULL };

  do {
    search.found = NULL;
    sc_handle_each_locked (SC_KIND_STREAM, find_running, &search);
    if (search.found != NULL)
      sc_stream_destroy_locked (search.found);
  } while (search.found != NULL);
  while (sc_handle_any_locked (SC_KIND_STREAM, context) != NULL)
    sc_wait_progress_locked ();
}

/* Removes the context first, so that no call finds it any more. Then destroys
 * its objects. Streams come first, because they may still be working. */
static void
context_stop_locked (CUcontext context)
{
  void *object;

  context->alive = false;
  sc_handle_remove_locked (&context->handle);
  stop_streams_locked (context);
  context->null_stream = context->joining = NULL;
  while ((object = sc_handle_any_locked (SC_KIND_EVENT, context)) != NULL)
    sc_event_destroy_locked (object);
  while ((object = sc_handle_any_locked (SC_KIND_TEXTURE, context)) != NULL)
    sc_texture_destroy_locked (object);
  while ((object = sc_handle_any_locked (SC_KIND_LINK, context)) != NULL)
    sc_link_destroy_locked (object);
  while ((object = sc_handle_any_locked (SC_KIND_ARRAY, context)) != NULL)
    sc_array_destroy_locked (object);
  while ((object = sc_handle_any_locked (SC_KIND_MODULE, context)) != NULL)
    sc_module_destroy_locked (object);
  while ((object = sc_handle_any_locked (SC_KIND_EXTERNAL, context)) != NULL)
    sc_external_destroy_locked (object);
  sc_memory_release_all_locked (context);
}

/* A context that failed is not started again after its release: as with
 * NVIDIA's driver, it stays lost until the process ends. */
static CUresult
start_primary_locked (void)
{
  return primary->error != CUDA_SUCCESS ? primary->error
                                        : context_start_locked (primary);
}

CUresult
cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice device)
{
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuDevicePrimaryCtxRetain);
  if (context == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  sc_lock ();
  while (primary_stopping)
    sc_wait_progress_locked ();
  if (primary_refs == 0)
    result = start_primary_locked ();
  if (result == CUDA_SUCCESS) {
    primary_refs++;
    *context = primary;
  }
  sc_unlock ();
  return result;
}

CUresult
cuDevicePrimaryCtxRelease_v2 (CUdevice device)
{
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuDevicePrimaryCtxRelease);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  sc_lock ();
  while (primary_stopping)
    sc_wait_progress_locked ();
  if (primary_refs == 0) {
    result = CUDA_ERROR_INVALID_CONTEXT;
  } else if (--primary_refs == 0) {
    primary_stopping = true;
    context_stop_locked (primary);
    primary_stopping = false;
    sc_signal_progress_locked ();
  }
  sc_unlock ();
  return result;
}

/* Callers keep their references. Afterwards, the context has neither an error
 * nor objects, like a new one. */
CUresult
cuDevicePrimaryCtxReset_v2 (CUdevice device)
{
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuDevicePrimaryCtxReset);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  sc_lock ();
  while (primary_stopping)
    sc_wait_progress_locked ();
  if (primary_refs != 0) {
    primary_stopping = true;
    context_stop_locked (primary);
    result = context_start_locked (primary);
    primary_stopping = false;
    sc_signal_progress_locked ();
  }
  sc_unlock ();
  return result;
}

CUresult
cuDevicePrimaryCtxGetState (CUdevice device, unsigned int *flags, int *active)
{
  SC_ENTER (cuDevicePrimaryCtxGetState);
  if (flags == NULL || active == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  sc_lock ();
  *flags = 0;
  *active = primary_refs != 0;
  sc_unlock ();
  return CUDA_SUCCESS;
}

static CUresult
create (CUcontext *context, CUdevice device)
{
  CUcontext made;
  CUresult result;

  if (context == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sc_lock ();
  result = context_start_locked (made);
  if (result != CUDA_SUCCESS) {
    free (made);
  } else if ((result = sc_current_push_locked (made)) != CUDA_SUCCESS) {
    context_stop_locked (made);
    sc_context_unref_locked (made);
  } else {
    *context = made;
  }
  sc_unlock ();
  return result;
}

CUresult
cuCtxCreate_v2 (CUcontext *context, unsigned int flags, CUdevice device)
{
  SC_ENTER (cuCtxCreate);
  return create (context, device);
}

CUresult
cuCtxCreate_v3 (CUcontext *context, const void *affinities, int n_affinities,
    unsigned int flags, CUdevice device)
{
  SC_ENTER (cuCtxCreate_v3);
  return n_affinities != 0 ? CUDA_ERROR_NOT_SUPPORTED
                           : create (context, device);
}

CUresult
cuCtxCreate_v4 (CUcontext *context, const CUctxCreateParams *params,
    unsigned int flags, CUdevice device)
{
  SC_ENTER (cuCtxCreate_v4);
  if (params != NULL
      && (params->numExecAffinityParams != 0 || params->cigParams != NULL))
    return CUDA_ERROR_NOT_SUPPORTED;
  return create (context, device);
}

CUresult
cuCtxDestroy_v2 (CUcontext context)
{
  SC_ENTER (cuCtxDestroy);
  sc_lock ();
  if (!sc_handle_is_live_locked (context, SC_KIND_CONTEXT)
      || context->is_primary) {
    sc_unlock ();
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  context_stop_locked (context);
  sc_current_drop_locked (context);
  sc_context_unref_locked (context);
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuCtxAttach (CUcontext *context, unsigned int flags)
{
  CUresult result;

  SC_ENTER (cuCtxAttach);
  if (context == NULL || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_locked (context);
  if (result == CUDA_SUCCESS)
    (*context)->attached++;
  sc_unlock ();
  return result;
}

/* Without a cuCtxAttach() before, this destroys the context. */
CUresult
cuCtxDetach (CUcontext context)
{
  bool attached;

  SC_ENTER (cuCtxDetach);
  sc_lock ();
  attached = sc_handle_is_live_locked (context, SC_KIND_CONTEXT)
             && context->attached > 0;
  if (attached)
    context->attached--;
  sc_unlock ();
  return attached ? CUDA_SUCCESS : cuCtxDestroy_v2 (context);
}

CUresult
cuCtxSynchronize (void)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuCtxSynchronize);
  sc_lock ();
  result = sc_current_locked (&context);
  if (result == CUDA_SUCCESS) {
    sc_context_ref_locked (context);
    sc_wait_idle_locked (context);
    result = sc_context_unref_locked (context);
  }
  sc_unlock ();
  return result;
}
