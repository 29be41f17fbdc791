/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * context.c: the primary context, other contexts, and each thread's stack of
 * contexts
 *
 * Streams, events, modules and memory belong to a context, and are destroyed
 * with it. The functions that destroy them are in their own files.
 */

#include "private.h"

/* The maximum number of contexts on a thread's stack. A program that pushes
 * more has a leak. */
#define STACK_MAX 64

/* The default stack size in bytes of a kernel's thread on a GPU. */
#define DEFAULT_STACK_SIZE 1024

typedef struct {
  CUcontext item[STACK_MAX]; /* with references */
  int n;
} context_stack;

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

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

CUcontext
sc_context_ref_locked (CUcontext context)
{
  if (!context->is_primary)
    context->handle.refs++;
  return context;
}

CUresult
sc_context_unref_locked (CUcontext context)
{
  CUresult error = context->error;

  if (!context->is_primary && --context->handle.refs == 0)
    sc_handle_free (context);
  return error;
}

static void
stack_free (void *data)
{
  context_stack *stack = data;

  sc_lock ();
  while (stack->n > 0)
    sc_context_unref_locked (stack->item[--stack->n]);
  sc_unlock ();
  free (stack);
}

static void
make_key (void)
{
  pthread_key_create (&key, stack_free);
}

static context_stack *
get_stack (void)
{
  context_stack *stack;

  pthread_once (&key_once, make_key);
  stack = pthread_getspecific (key);
  if (stack != NULL)
    return stack;
  stack = calloc (1, sizeof *stack);
  if (stack != NULL && pthread_setspecific (key, stack) != 0) {
    free (stack);
    return NULL;
  }
  return stack;
}

static CUcontext
stack_top (void)
{
  context_stack *stack = get_stack ();

  return stack != NULL && stack->n > 0 ? stack->item[stack->n - 1] : NULL;
}

static CUresult
stack_push_locked (CUcontext context)
{
  context_stack *stack = get_stack ();

  if (stack == NULL || stack->n == STACK_MAX)
    return CUDA_ERROR_OUT_OF_MEMORY;
  stack->item[stack->n++] = sc_context_ref_locked (context);
  return CUDA_SUCCESS;
}

CUresult
sc_current_locked (CUcontext *context)
{
  CUcontext top = stack_top ();

  if (top == NULL || !top->alive)
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = top;
  return CUDA_SUCCESS;
}

CUresult
sc_current_usable_locked (CUcontext *context)
{
  CUresult result = sc_current_locked (context);

  return result != CUDA_SUCCESS ? result : (*context)->error;
}

static CUresult
context_start_locked (CUcontext context)
{
  sc_handle_add_locked (&context->handle, SC_KIND_CONTEXT, context);
  context->error = CUDA_SUCCESS;
  context->stack_size = DEFAULT_STACK_SIZE;
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
  } else if ((result = stack_push_locked (made)) != CUDA_SUCCESS) {
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
  context_stack *stack;

  SC_ENTER (cuCtxDestroy);
  sc_lock ();
  if (!sc_handle_is_live_locked (context, SC_KIND_CONTEXT)
      || context->is_primary) {
    sc_unlock ();
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  context_stop_locked (context);
  stack = get_stack ();
  if (stack != NULL && stack->n > 0 && stack->item[stack->n - 1] == context) {
    stack->n--;
    context->handle
        .refs--; /* never the last reference: the next call drops another */
  }
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
cuCtxGetCurrent (CUcontext *context)
{
  SC_ENTER (cuCtxGetCurrent);
  if (context == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *context = stack_top ();
  return CUDA_SUCCESS;
}

CUresult
cuCtxPushCurrent_v2 (CUcontext context)
{
  CUresult result = CUDA_ERROR_INVALID_CONTEXT;

  SC_ENTER (cuCtxPushCurrent);
  sc_lock ();
  if (sc_handle_is_live_locked (context, SC_KIND_CONTEXT))
    result = stack_push_locked (context);
  sc_unlock ();
  return result;
}

/* Replaces the context on top of the stack. NULL removes it. */
CUresult
cuCtxSetCurrent (CUcontext context)
{
  context_stack *stack;
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuCtxSetCurrent);
  stack = get_stack ();
  if (stack == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sc_lock ();
  if (context != NULL && !sc_handle_is_live_locked (context, SC_KIND_CONTEXT)) {
    result = CUDA_ERROR_INVALID_CONTEXT;
  } else {
    if (stack->n > 0)
      sc_context_unref_locked (stack->item[--stack->n]);
    if (context != NULL)
      result = stack_push_locked (context);
  }
  sc_unlock ();
  return result;
}

CUresult
cuCtxPopCurrent_v2 (CUcontext *context)
{
  context_stack *stack;

  SC_ENTER (cuCtxPopCurrent);
  stack = get_stack ();
  if (stack == NULL || stack->n == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  sc_lock ();
  stack->n--;
  if (context != NULL)
    *context = stack->item[stack->n];
  sc_context_unref_locked (stack->item[stack->n]);
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetDevice (CUdevice *device)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuCtxGetDevice);
  if (device == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_locked (&context);
  sc_unlock ();
  if (result == CUDA_SUCCESS)
    *device = 0;
  return result;
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
