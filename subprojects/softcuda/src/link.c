/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * link.c: the linker of the driver API, for a single image
 *
 * Programs that compile with NVRTC at run time often pass the result through
 * the linker. Here it already is the image of a module, so it comes out as it
 * went in. Several images cannot be linked.
 */

#include <string.h>
#include <unistd.h>

#include "image.h"
#include "private.h"

struct CUlinkState_st {
  sc_handle handle;
  void *image; /* NULL until it was added */
  size_t size;
};

void
sc_link_destroy_locked (CUlinkState state)
{
  sc_handle_remove_locked (&state->handle);
  free (state->image);
  sc_handle_free (state);
}

CUresult
cuLinkCreate_v2 (unsigned int n_options, CUjit_option *options, void **values,
    CUlinkState *state)
{
  CUcontext context;
  CUlinkState made;
  CUresult result;

  SC_ENTER (cuLinkCreate);
  if (state == NULL || (n_options != 0 && (options == NULL || values == NULL)))
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    sc_handle_add_locked (&made->handle, SC_KIND_LINK, context);
  sc_unlock ();
  if (result == CUDA_SUCCESS)
    *state = made;
  else
    free (made);
  return result;
}

/* Takes ownership of @image. */
static CUresult
take_locked (CUlinkState state, void *image, size_t size)
{
  CUresult result = CUDA_SUCCESS;

  if (!sc_handle_is_live_locked (state, SC_KIND_LINK))
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (state->image != NULL)
    result = CUDA_ERROR_NOT_SUPPORTED;
  if (result != CUDA_SUCCESS) {
    free (image);
    return result;
  }
  state->image = image;
  state->size = size;
  return result;
}

/* Takes ownership of @image. */
static CUresult
add (CUlinkState state, void *image, size_t size)
{
  int fd;
  CUresult result = sc_image_open (image, size, &fd);

  if (result != CUDA_SUCCESS) {
    free (image);
    return result;
  }
  close (fd);
  sc_lock ();
  result = take_locked (state, image, size);
  sc_unlock ();
  return result;
}

CUresult
cuLinkAddData_v2 (CUlinkState state, CUjitInputType type, void *data,
    size_t size, const char *name, unsigned int n_options,
    CUjit_option *options, void **values)
{
  void *image;

  SC_ENTER (cuLinkAddData);
  if (state == NULL || data == NULL || size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  image = malloc (size);
  if (image == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy (image, data, size);
  return add (state, image, size);
}

CUresult
cuLinkAddFile_v2 (CUlinkState state, CUjitInputType type, const char *path,
    unsigned int n_options, CUjit_option *options, void **values)
{
  void *image;
  size_t size;
  CUresult result;

  SC_ENTER (cuLinkAddFile);
  if (state == NULL || path == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = sc_image_read_file (path, &image, &size);
  return result == CUDA_SUCCESS ? add (state, image, size) : result;
}

/* The image belongs to @state. */
CUresult
cuLinkComplete (CUlinkState state, void **image, size_t *size)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuLinkComplete);
  if (image == NULL || size == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (state, SC_KIND_LINK)) {
    *image = state->image;
    *size = state->size;
    result = state->image != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  sc_unlock ();
  return result;
}

CUresult
cuLinkDestroy (CUlinkState state)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuLinkDestroy);
  sc_lock ();
  if (sc_handle_is_live_locked (state, SC_KIND_LINK)) {
    sc_link_destroy_locked (state);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}
