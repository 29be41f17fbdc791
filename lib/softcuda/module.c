/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * module.c: loads what softcuda's own compiler made
 *
 * An image is a shared object of the host, which the dynamic linker loads from
 * a memfd. Everything else is refused, with a reason. Knows nothing of how a
 * kernel runs.
 */

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "module.h"

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_WRAPPER_MAGIC 0x466243B1u
#define MACHINE_CUDA 190 /* EM_CUDA */

#if defined(__x86_64__)
#define MACHINE_HOST EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_HOST EM_AARCH64
#elif defined(__riscv)
#define MACHINE_HOST EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE_HOST EM_PPC64
#elif defined(__s390__)
#define MACHINE_HOST EM_S390
#else
#error "softcuda: a 64-bit machine whose ELF number is not known here"
#endif

/* How far a text is searched for what makes it PTX. */
#define PTX_SEARCH 65536

static const char only_own_images[] =
    "the software device runs only images that its own compiler "
    "(softcuda's libnvrtc) made from CUDA C";

/* Reads byte by byte: nothing says how long the image is. */
static bool
begins_with (const void *image, const void *bytes, size_t n)
{
  const unsigned char *a = image;
  const unsigned char *b = bytes;

  for (size_t i = 0; i < n; i++)
    if (a[i] != b[i])
      return false;
  return true;
}

static bool
begins_with_word (const void *image, uint32_t word)
{
  return begins_with (image, &word, sizeof word);
}

/* PTX has a .version and a .target near its beginning; a text ends with NUL. */
static bool
is_ptx (const char *text)
{
  for (int i = 0; i < PTX_SEARCH; i++) {
    if (text[i] == '\0'
        || (text[i] < ' ' && strchr ("\t\r\n\f\v", text[i]) == NULL))
      return false;
    if (begins_with (text + i, ".version", 8)
        || begins_with (text + i, ".target", 7))
      return true;
  }
  return false;
}

/* Of an image of ours: the linker puts the section headers last. */
static CUresult
find_size (const void *image, size_t *size)
{
  const Elf64_Ehdr *header = image;
  static const unsigned char cubin_class = ELFCLASS64;

  if (begins_with_word (image, FATBIN_MAGIC)
      || begins_with_word (image, FATBIN_WRAPPER_MAGIC))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!begins_with (image, ELFMAG, SELFMAG))
    return is_ptx (image) ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
  if (header->e_ident[EI_CLASS] != cubin_class)
    return CUDA_ERROR_INVALID_IMAGE;
  if (header->e_machine == MACHINE_CUDA)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (header->e_machine != MACHINE_HOST || header->e_type != ET_DYN
      || header->e_shoff < sizeof *header)
    return CUDA_ERROR_INVALID_IMAGE;
  *size = header->e_shoff + (size_t) header->e_shnum * header->e_shentsize;
  return CUDA_SUCCESS;
}

static CUresult
write_image (const char *image, size_t size, int *fd)
{
  *fd = memfd_create ("softcuda-module", MFD_CLOEXEC);
  if (*fd < 0)
    return CUDA_ERROR_OPERATING_SYSTEM;
  while (size > 0) {
    ssize_t n = write (*fd, image, size);

    if (n <= 0) {
      close (*fd);
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    image += n;
    size -= n;
  }
  return CUDA_SUCCESS;
}

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

/* The linker takes a file name that it knows for the same library, so the
 * descriptor keeps its number while the library is loaded. */
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
load (CUmodule module, const void *image, char *log, size_t log_size)
{
  size_t size;
  CUresult result = find_size (image, &size);

  if (result != CUDA_SUCCESS) {
    snprintf (log, log_size, "%s", only_own_images);
    return result;
  }
  result = write_image (image, size, &module->fd);
  if (result != CUDA_SUCCESS)
    return result;
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
  free (module->functions);
  free (module);
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

static CUresult
load_module (CUmodule *module, const void *image, char *log, size_t log_size)
{
  CUmodule made;
  CUresult result;

  if (module == NULL || image == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = load (made, image, log, log_size);
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
  return load_module (module, image, log, sizeof log);
}

static int
find_option (const CUjit_option *options, unsigned int n, CUjit_option option)
{
  for (unsigned int i = 0; i < n; i++)
    if (options[i] == option)
      return (int) i;
  return -1;
}

/* Puts a log into the caller's buffer, if there is one, and its length where
 * the buffer's size was. */
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
  result = load_module (module, image, log, sizeof log);
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
    *value = 0; /* the host's compiler has none of them */
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = SOFTCUDA_MAX_DYNAMIC_SHARED;
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
