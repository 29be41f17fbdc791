/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * module.c: loads images of softcuda's own compiler
 *
 * An image is a shared object for the host. image.c checks it and writes it to
 * a file, which the dynamic linker loads. Other images are refused with a
 * reason. Knows nothing of how a kernel runs.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "module.h"

static const char only_own_images[] =
    "the software device runs only images that its own compiler "
    "(softcuda's libnvrtc) made from CUDA C";

static bool
processor_has (unsigned int needs)
{
#if defined(__x86_64__)
  if ((needs & SOFTCUDA_NEEDS_FMA) != 0 && !__builtin_cpu_supports ("fma"))
    return false;
  needs &= ~(unsigned int) SOFTCUDA_NEEDS_FMA;
#endif
  return needs == 0;
}

/* The dynamic linker takes two files with the same name for the same library.
 * So the file descriptor, whose number is in the name, stays open while the
 * library is loaded. */
static CUresult
open_library (CUmodule module, char *log, size_t log_size)
{
  char path[32];

  snprintf (path, sizeof path, "/proc/self/fd/%d", module->fd);
  module->library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (module->library == NULL) {
    snprintf (
        log, log_size, "%s; the linker says: %s", only_own_images, dlerror ());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  module->image = dlsym (module->library, "softcuda_image");
  if (module->image != NULL && module->image->abi == SOFTCUDA_IMAGE_ABI
      && processor_has (module->image->needs))
    return CUDA_SUCCESS;
  snprintf (log, log_size, "%s, of the same version and for this processor",
      only_own_images);
  dlclose (module->library);
  return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult
load (
    CUmodule module, const void *image, size_t size, char *log, size_t log_size)
{
  CUresult result = sc_image_open (image, size, &module->fd);

  if (result != CUDA_SUCCESS) {
    snprintf (log, log_size, "%s", only_own_images);
    return result;
  }
  result = open_library (module, log, log_size);
  if (result != CUDA_SUCCESS)
    close (module->fd);
  return result;
}

static void
unload (CUmodule module)
{
  dlclose (module->library);
  close (module->fd);
  sc_handle_free (module->functions);
  sc_handle_free (module);
}

static CUresult
publish (CUmodule module)
{
  unsigned int n = module->image->n_kernels;
  CUcontext context;
  CUresult result;

  module->functions = calloc (n + 1, sizeof *module->functions);
  if (module->functions == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS) {
    sc_handle_add_locked (&module->handle, SC_KIND_MODULE, context);
    for (unsigned int i = 0; i < n; i++) {
      struct CUfunc_st *function = &module->functions[i];

      function->module = module;
      function->kernel = &module->image->kernels[i];
      sc_handle_add_locked (&function->handle, SC_KIND_FUNCTION, context);
    }
  }
  sc_unlock ();
  return result;
}

/* size: SIZE_MAX if it is not known. */
static CUresult
load_module (CUmodule *module, const void *image, size_t size, char *log,
    size_t log_size)
{
  CUmodule made;
  CUresult result;

  if (module == NULL || image == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = load (made, image, size, log, log_size);
  if (result != CUDA_SUCCESS) {
    free (made);
    return result;
  }
  result = publish (made);
  if (result != CUDA_SUCCESS)
    unload (made);
  else
    *module = made;
  return result;
}

CUresult
cuModuleLoadData (CUmodule *module, const void *image)
{
  char log[512];

  SC_ENTER (cuModuleLoadData);
  return load_module (module, image, SIZE_MAX, log, sizeof log);
}

CUresult
cuModuleLoad (CUmodule *module, const char *path)
{
  void *image;
  size_t size;
  char log[512];
  CUresult result;

  SC_ENTER (cuModuleLoad);
  if (module == NULL || path == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = sc_image_read_file (path, &image, &size);
  if (result != CUDA_SUCCESS)
    return result;
  result = load_module (module, image, size, log, sizeof log);
  free (image);
  return result;
}

static int
find_option (const CUjit_option *options, unsigned int n, CUjit_option option)
{
  for (unsigned int i = 0; i < n; i++)
    if (options[i] == option)
      return (int) i;
  return -1;
}

/* Copies a log into the caller's buffer, if there is one, and replaces the
 * buffer's size by the length of the log. */
static void
hand_out_log (const CUjit_option *options, void **values, unsigned int n,
    CUjit_option buffer_option, CUjit_option size_option, const char *log)
{
  int buffer = find_option (options, n, buffer_option);
  int size = find_option (options, n, size_option);
  size_t room;
  size_t length = strlen (log);

  if (buffer < 0 || size < 0)
    return;
  room = (unsigned int) (uintptr_t) values[size];
  if (values[buffer] == NULL || room == 0)
    return;
  if (length > room - 1)
    length = room - 1;
  memcpy (values[buffer], log, length);
  ((char *) values[buffer])[length] = '\0';
  values[size] = (void *) (uintptr_t) length;
}

CUresult
cuModuleLoadDataEx (CUmodule *module, const void *image, unsigned int n_options,
    CUjit_option *options, void **values)
{
  char log[512] = "";
  CUresult result;

  SC_ENTER (cuModuleLoadDataEx);
  if (n_options != 0 && (options == NULL || values == NULL))
    return CUDA_ERROR_INVALID_VALUE;
  result = load_module (module, image, SIZE_MAX, log, sizeof log);
  hand_out_log (options, values, n_options, CU_JIT_ERROR_LOG_BUFFER,
      CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, log);
  hand_out_log (options, values, n_options, CU_JIT_INFO_LOG_BUFFER,
      CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
  return result;
}

void
sc_module_destroy_locked (CUmodule module)
{
  for (unsigned int i = 0; i < module->image->n_kernels; i++)
    sc_handle_remove_locked (&module->functions[i].handle);
  sc_handle_remove_locked (&module->handle);
  sc_module_forget_globals_locked (module);
  sc_wait_idle_locked (NULL);
  unload (module);
}

CUresult
cuModuleUnload (CUmodule module)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuModuleUnload);
  sc_lock ();
  if (sc_handle_is_live_locked (module, SC_KIND_MODULE)) {
    sc_module_destroy_locked (module);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

static CUresult
find_function_locked (CUmodule module, const char *name, CUfunction *function)
{
  if (!sc_handle_is_live_locked (module, SC_KIND_MODULE))
    return CUDA_ERROR_INVALID_HANDLE;
  for (unsigned int i = 0; i < module->image->n_kernels; i++) {
    if (strcmp (module->image->kernels[i].name, name) == 0) {
      *function = &module->functions[i];
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult
cuModuleGetFunction (CUfunction *function, CUmodule module, const char *name)
{
  CUresult result;

  SC_ENTER (cuModuleGetFunction);
  if (function == NULL || name == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = find_function_locked (module, name, function);
  sc_unlock ();
  return result;
}

CUresult
cuModuleGetFunctionCount (unsigned int *count, CUmodule module)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuModuleGetFunctionCount);
  if (count == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (module, SC_KIND_MODULE)) {
    *count = module->image->n_kernels;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuModuleEnumerateFunctions (
    CUfunction *functions, unsigned int count, CUmodule module)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuModuleEnumerateFunctions);
  if (functions == NULL || count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (module, SC_KIND_MODULE)) {
    for (unsigned int i = 0; i < count && i < module->image->n_kernels; i++)
      functions[i] = &module->functions[i];
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuFuncGetName (const char **name, CUfunction function)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuFuncGetName);
  if (name == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (function, SC_KIND_FUNCTION)) {
    *name = function->kernel->name;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuFuncGetParamInfo (
    CUfunction function, size_t index, size_t *offset, size_t *size)
{
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuFuncGetParamInfo);
  if (offset == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (!sc_handle_is_live_locked (function, SC_KIND_FUNCTION)) {
    result = CUDA_ERROR_INVALID_HANDLE;
  } else if (index < function->kernel->n_params) {
    *offset = function->kernel->params[index].offset;
    if (size != NULL)
      *size = function->kernel->params[index].size;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

static CUresult
get_function_attribute (CUfunction_attribute attribute, int *value)
{
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = SC_MAX_BLOCK_THREADS;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    *value = 0; /* these do not exist with the host's compiler */
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = SOFTCUDA_MAX_DYNAMIC_SHARED;
    break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = 90;
    break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = -1; /* the driver decides */
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult
cuFuncGetAttribute (
    int *value, CUfunction_attribute attribute, CUfunction function)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuFuncGetAttribute);
  if (value == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (function, SC_KIND_FUNCTION))
    result = get_function_attribute (attribute, value);
  sc_unlock ();
  return result;
}
