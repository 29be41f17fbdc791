/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * current.c: references to contexts, and each thread's stack of contexts
 *
 * Knows nothing of how a context begins and ends.
 */

#include "private.h"

/* The maximum number of contexts on a thread's stack. A program that pushes
 * more has a leak. */
#define STACK_MAX 64

typedef struct {
  CUcontext item[STACK_MAX]; /* with references */
  int n;
} context_stack;

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

CUresult
sc_current_push_locked (CUcontext context)
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

void
sc_current_drop_locked (CUcontext context)
{
  context_stack *stack = get_stack ();

  if (stack == NULL || stack->n == 0 || stack->item[stack->n - 1] != context)
    return;
  stack->n--;
  sc_context_unref_locked (context);
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
    result = sc_current_push_locked (context);
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
      result = sc_current_push_locked (context);
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
