/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/cudalib.c: see device/cudalib.h
 */

#include "device/device-private.h"

#include <dlfcn.h>
#include <link.h>

#define LIBRARY "libgstcuda-1.0.so.0"
#define DRIVER "libcuda.so.1"

static GMutex lock;
static GstVkgdrCudaLib found;
static gboolean is_found;
static guint64 n_searched; /* libraries of the process at the last search */

static gboolean
resolve (void *library, GstVkgdrCudaLib *lib)
{
#define RESOLVE(field, symbol) \
  (*(void **) &lib->field = dlsym (library, "gst_" symbol))
  (void) RESOLVE (memory_set_pooled, "cuda_memory_set_from_fixed_pool");
  return RESOLVE (load_library, "cuda_load_library")
         && RESOLVE (context_get_type, "cuda_context_get_type")
         && RESOLVE (context_new_wrapped, "cuda_context_new_wrapped")
         && RESOLVE (context_get_handle, "cuda_context_get_handle")
         && RESOLVE (allocator_alloc, "cuda_allocator_alloc")
         && RESOLVE (allocator_alloc_wrapped, "cuda_allocator_alloc_wrapped")
         && RESOLVE (is_memory, "is_cuda_memory")
         && RESOLVE (memory_sync, "cuda_memory_sync")
         && RESOLVE (memory_get_stream, "cuda_memory_get_stream")
         && RESOLVE (stream_new, "cuda_stream_new")
         && RESOLVE (stream_unref, "cuda_stream_unref")
         && RESOLVE (stream_get_handle, "cuda_stream_get_handle")
         && RESOLVE (buffer_pool_get_type, "cuda_buffer_pool_get_type")
         && RESOLVE (buffer_pool_new, "cuda_buffer_pool_new")
         && RESOLVE (config_get_stream, "buffer_pool_config_get_cuda_stream")
         && RESOLVE (config_set_stream, "buffer_pool_config_set_cuda_stream");
#undef RESOLVE
}

/* dl_iterate_phdr () calls this for the first library only, because it returns
 * 1. Gets the number of libraries that the process has loaded until now. */
static int
get_n_loaded (struct dl_phdr_info *info, size_t size, void *data)
{
  *(guint64 *) data = info->dlpi_adds;
  return 1;
}

/* The library is never unloaded, because its types cannot be unregistered. As
 * long as it was not found, it is searched again only after the process has
 * loaded another library: dlopen () reads a file and takes some 50
 * microseconds, and this function is called many times while caps are
 * negotiated. */
static gboolean
find_locked (void)
{
  guint64 n_loaded = 0;
  GstVkgdrCudaLib lib;
  void *library;

  if (is_found)
    return TRUE;
  dl_iterate_phdr (get_n_loaded, &n_loaded);
  if (n_loaded == n_searched)
    return FALSE;
  n_searched = n_loaded;
  library = dlopen (LIBRARY, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (!library)
    return FALSE;
  is_found = resolve (library, &lib);
  if (is_found)
    found = lib;
  dlclose (library);
  return is_found;
}

const GstVkgdrCudaLib *
gst_vkgdr_cuda_lib_get (void)
{
  gboolean ok;

  g_mutex_lock (&lock);
  ok = find_locked ();
  g_mutex_unlock (&lock);
  return ok ? &found : NULL;
}

/* The library loads the driver by name, so it gets the first driver of that
 * name in the process. */
gboolean
gst_vkgdr_cuda_lib_uses (const GstVkgdrCudaLib *lib, const vkgdr_cuda *cuda)
{
  static gconstpointer known; /* atomic; its driver is never unloaded */
  gboolean same;
  void *driver;

  if (g_atomic_pointer_get (&known) == cuda)
    return TRUE;
  driver = dlopen (DRIVER, RTLD_LAZY | RTLD_NOLOAD);
  if (!driver)
    return FALSE;
  same = dlsym (driver, "cuInit") == (void *) cuda->cuInit;
  dlclose (driver);
  same = same && lib->load_library ();
  if (same)
    g_atomic_pointer_set (&known, cuda);
  return same;
}
