/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * texture.c: texture objects on linear memory and on arrays
 *
 * Checks the caller's description of a texture, and makes a description for
 * kernels from it. The handle is the address of the description for kernels.
 * Kernels sample textures with the functions of softcuda_texture.h.
 */

#include <string.h>

#include "../device/softcuda_texture.h"
#include "private.h"

/* The same values as the device's attributes. */
#define ALIGNMENT 512
#define PITCH_ALIGNMENT 32

#define KNOWN_FLAGS (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES)

typedef struct {
  softcuda_texture seen; /* read by kernels; must be first, because its address
                            is the handle */
  sc_handle handle;
} texture;

static CUresult
set_resource (softcuda_texture *t, const CUDA_RESOURCE_DESC *resource)
{
  CUresult result;
  bool is_live;

  switch (resource->resType) {
  case CU_RESOURCE_TYPE_ARRAY:
    sc_lock ();
    is_live = sc_array_get_locked (resource->res.array.hArray, t);
    sc_unlock ();
    return is_live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  case CU_RESOURCE_TYPE_LINEAR:
    result = sc_array_set_format (
        t, resource->res.linear.format, resource->res.linear.numChannels);
    if (result != CUDA_SUCCESS)
      return result;
    t->data = (const void *) (uintptr_t) resource->res.linear.devPtr;
    t->width = resource->res.linear.sizeInBytes / t->texel_size;
    t->height = 1;
    t->pitch = resource->res.linear.sizeInBytes;
    return CUDA_SUCCESS;
  case CU_RESOURCE_TYPE_PITCH2D:
    t->data = (const void *) (uintptr_t) resource->res.pitch2D.devPtr;
    t->width = resource->res.pitch2D.width;
    t->height = resource->res.pitch2D.height;
    t->pitch = resource->res.pitch2D.pitchInBytes;
    if (t->pitch % PITCH_ALIGNMENT != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return sc_array_set_format (
        t, resource->res.pitch2D.format, resource->res.pitch2D.numChannels);
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

static bool
is_floating (softcuda_texel_format format)
{
  return format == SOFTCUDA_TEXEL_F32;
}

/* Integers are read as integers, or as fractions of the largest value. 32-bit
 * integers cannot be read as fractions. */
static CUresult
set_sampling (softcuda_texture *t, const CUDA_TEXTURE_DESC *desc)
{
  bool wide =
      t->format == SOFTCUDA_TEXEL_U32 || t->format == SOFTCUDA_TEXEL_S32;

  if ((desc->flags & ~KNOWN_FLAGS) != 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (desc->filterMode != CU_TR_FILTER_MODE_POINT
      && desc->filterMode != CU_TR_FILTER_MODE_LINEAR)
    return CUDA_ERROR_INVALID_VALUE;
  t->linear = desc->filterMode == CU_TR_FILTER_MODE_LINEAR;
  t->normalized = (desc->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  if (t->linear && !is_floating (t->format)
      && (wide || (desc->flags & CU_TRSF_READ_AS_INTEGER) != 0))
    return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < 2; i++) {
    if ((unsigned int) desc->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
      return CUDA_ERROR_INVALID_VALUE;
    t->address[i] = (softcuda_address) desc->addressMode[i];
  }
  memcpy (t->border, desc->borderColor, sizeof t->border);
  return CUDA_SUCCESS;
}

static CUresult
check_memory_locked (const softcuda_texture *t)
{
  size_t row;
  size_t size;

  if (t->width == 0 || t->height == 0 || (uintptr_t) t->data % ALIGNMENT != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_mul_overflow (t->width, t->texel_size, &row) || t->pitch < row
      || __builtin_mul_overflow (t->height - 1, t->pitch, &size)
      || __builtin_add_overflow (size, row, &size))
    return CUDA_ERROR_INVALID_VALUE;
  return sc_range_covers_locked ((uintptr_t) t->data, size)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

static CUresult
publish (texture *made)
{
  CUcontext context;
  CUresult result;

  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    result = check_memory_locked (&made->seen);
  if (result == CUDA_SUCCESS)
    sc_handle_add_locked (&made->handle, SC_KIND_TEXTURE, context);
  sc_unlock ();
  return result;
}

CUresult
cuTexObjectCreate (CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
    const CUDA_TEXTURE_DESC *desc, const CUDA_RESOURCE_VIEW_DESC *view)
{
  texture *made;
  CUresult result;

  SC_ENTER (cuTexObjectCreate);
  if (object == NULL || resource == NULL || desc == NULL || view != NULL)
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = set_resource (&made->seen, resource);
  if (result == CUDA_SUCCESS)
    result = set_sampling (&made->seen, desc);
  if (result == CUDA_SUCCESS)
    result = publish (made);
  if (result != CUDA_SUCCESS)
    free (made);
  else
    *object = (uintptr_t) &made->seen;
  return result;
}

static CUresult
run_nothing (void *data)
{
  return CUDA_SUCCESS;
}

/* Running kernels may still sample the texture, and this call does not wait for
 * them. So the description is freed later, by an item of a stream. When a
 * context ends, its streams have stopped before this call, which then frees the
 * description at once. */
void
sc_texture_destroy_locked (sc_handle *handle)
{
  CUcontext context = handle->context;
  sc_work work = { run_nothing, free,
    (char *) handle - offsetof (texture, handle), true };
  CUstream joining = context->alive ? sc_stream_joining_locked (context) : NULL;

  sc_handle_remove_locked (handle);
  if (joining != NULL)
    sc_submit_locked (joining, &work, NULL, NULL);
  else if (!context->alive)
    free (work.data);
}

CUresult
cuTexObjectDestroy (CUtexObject object)
{
  texture *gone = (texture *) (uintptr_t) object;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  bool is_live;

  SC_ENTER (cuTexObjectDestroy);
  if (gone == NULL)
    return result;
  sc_lock ();
  is_live = sc_handle_is_live_locked (&gone->handle, SC_KIND_TEXTURE);
  if (is_live && !gone->handle.context->alive) {
    /* Another thread destroys the context, and waits for its kernels. Then it
     * frees the description. */
    result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  } else if (is_live) {
    sc_texture_destroy_locked (&gone->handle);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}
