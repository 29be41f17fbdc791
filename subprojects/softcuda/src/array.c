/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * array.c: CUDA arrays of one or two dimensions
 *
 * An array is device memory with rows of texels, whose address callers do not
 * get. Copies (copy.c) and textures (texture.c) use it. There are no arrays of
 * three dimensions, layers, cubes or mipmaps.
 */

#include "../device/softcuda_texture.h"
#include "private.h"

struct CUarray_st {
  sc_handle handle;
  softcuda_texture texels; /* how the texels lie in memory */
  CUDA_ARRAY_DESCRIPTOR descriptor;
};

/* Returns false if the array does not exist. */
bool
sc_array_get_locked (CUarray array, softcuda_texture *texels)
{
  if (array == NULL || !sc_handle_is_live_locked (array, SC_KIND_ARRAY))
    return false;
  *texels = array->texels;
  return true;
}

static const struct {
  CUarray_format format;
  int texel;
  unsigned int size; /* bytes of a channel */
} formats[] = {
  { CU_AD_FORMAT_UNSIGNED_INT8, SOFTCUDA_TEXEL_U8, 1 },
  { CU_AD_FORMAT_SIGNED_INT8, SOFTCUDA_TEXEL_S8, 1 },
  { CU_AD_FORMAT_UNSIGNED_INT16, SOFTCUDA_TEXEL_U16, 2 },
  { CU_AD_FORMAT_SIGNED_INT16, SOFTCUDA_TEXEL_S16, 2 },
  { CU_AD_FORMAT_UNSIGNED_INT32, SOFTCUDA_TEXEL_U32, 4 },
  { CU_AD_FORMAT_SIGNED_INT32, SOFTCUDA_TEXEL_S32, 4 },
  { CU_AD_FORMAT_FLOAT, SOFTCUDA_TEXEL_F32, 4 },
};

CUresult
sc_array_set_format (
    softcuda_texture *t, CUarray_format format, unsigned int channels)
{
  if (channels != 1 && channels != 2 && channels != 4)
    return CUDA_ERROR_INVALID_VALUE;
  t->channels = channels;
  for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
    if (formats[i].format == format) {
      t->format = formats[i].texel;
      t->texel_size = formats[i].size * channels;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_SUPPORTED;
}

/* The memory of an array belongs to its context, which frees it. */
void
sc_array_destroy_locked (CUarray array)
{
  sc_handle_remove_locked (&array->handle);
  sc_handle_free (array);
}

static CUresult
allocate (CUarray array)
{
  const CUDA_ARRAY_DESCRIPTOR *d = &array->descriptor;
  softcuda_texture *t = &array->texels;
  CUresult result = sc_array_set_format (t, d->Format, d->NumChannels);
  CUdeviceptr memory;
  size_t row;

  if (result != CUDA_SUCCESS)
    return result;
  t->width = d->Width;
  t->height = d->Height > 0 ? d->Height : 1;
  if (__builtin_mul_overflow (t->width, t->texel_size, &row))
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = cuMemAllocPitch_v2 (&memory, &t->pitch, row, t->height, 4);
  t->data = (const void *) (uintptr_t) memory;
  return result;
}

CUresult
cuArrayCreate_v2 (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
  CUarray made;
  CUcontext context;
  CUresult result;

  SC_ENTER (cuArrayCreate);
  if (array == NULL || descriptor == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  made->descriptor = *descriptor;
  result = allocate (made);
  if (result != CUDA_SUCCESS) {
    free (made);
    return result;
  }
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    sc_handle_add_locked (&made->handle, SC_KIND_ARRAY, context);
  sc_unlock ();
  if (result == CUDA_SUCCESS)
    *array = made;
  else
    free (made);
  return result;
}

CUresult
cuArray3DCreate_v2 (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
  CUDA_ARRAY_DESCRIPTOR flat;

  SC_ENTER (cuArray3DCreate);
  if (descriptor == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (descriptor->Depth != 0 || descriptor->Flags != 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  flat = (CUDA_ARRAY_DESCRIPTOR){ descriptor->Width, descriptor->Height,
    descriptor->Format, descriptor->NumChannels };
  return cuArrayCreate_v2 (array, &flat);
}

CUresult
cuArrayGetDescriptor_v2 (CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray array)
{
  softcuda_texture texels;
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuArrayGetDescriptor);
  if (descriptor == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_array_get_locked (array, &texels)) {
    *descriptor = array->descriptor;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuArray3DGetDescriptor_v2 (CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray array)
{
  CUDA_ARRAY_DESCRIPTOR flat;
  CUresult result;

  SC_ENTER (cuArray3DGetDescriptor);
  if (descriptor == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = cuArrayGetDescriptor_v2 (&flat, array);
  if (result == CUDA_SUCCESS)
    *descriptor = (CUDA_ARRAY3D_DESCRIPTOR){ flat.Width, flat.Height, 0,
      flat.Format, flat.NumChannels, 0 };
  return result;
}

CUresult
cuArrayDestroy (CUarray array)
{
  softcuda_texture texels;
  bool is_live;

  SC_ENTER (cuArrayDestroy);
  sc_lock ();
  is_live = sc_array_get_locked (array, &texels);
  if (is_live)
    sc_array_destroy_locked (array);
  sc_unlock ();
  return is_live ? cuMemFree_v2 ((uintptr_t) texels.data)
                 : CUDA_ERROR_INVALID_HANDLE;
}
