/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * driver.c: loads a CUDA driver; no other file does
 *
 * It is NVIDIA's driver or softcuda, depending on VKGDR_DRIVER. Must not know
 * what the driver is used for.
 */

#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

#define DRIVER "libcuda.so.1"

/* A function that only softcuda has. */
#define SOFTCUDA_FUNCTION "softcudaFail"

/* A driver that is loaded or tried. */
typedef struct driver {
  void *handle;
  bool is_software;
  vkgdr_cuda cu;
} driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static driver loaded;
static char why_software[1024];

static pthread_once_t dir_once = PTHREAD_ONCE_INIT;
static char softcuda_dir[4096];

/* softcuda is in a folder next to this library. */
static void
find_softcuda_dir (void)
{
  const char *dir = secure_getenv ("VKGDR_SOFTCUDA_DIR");
  char *path = NULL;
  char *slash;
  Dl_info info;

  if (dir && *dir) {
    snprintf (softcuda_dir, sizeof (softcuda_dir), "%s", dir);
    return;
  }
  if (dladdr ((void *) vkgdr_driver_load, &info) && info.dli_fname)
    path = realpath (info.dli_fname, NULL);
  slash = path ? strrchr (path, '/') : NULL;
  if (slash)
    *slash = '\0';
  snprintf (
      softcuda_dir, sizeof (softcuda_dir), "%s/softcuda", slash ? path : ".");
  free (path);
}

const char *
vkgdr_driver_softcuda_dir (void)
{
  pthread_once (&dir_once, find_softcuda_dir);
  return softcuda_dir;
}

static bool
resolve_functions (driver *d, const char *path)
{
#define REQUIRED true
#define OPTIONAL false
#define RESOLVE(name, symbol, need, args) \
  d->cu.name = (CUresult (*) args) dlsym (d->handle, #symbol); \
  if (!d->cu.name && need) { \
    vkgdr_error_set ( \
        "%s has no %s: it is too old; install a newer driver", path, #symbol); \
    return false; \
  }
  VKGDR_CUDA_FUNCTIONS (RESOLVE)
  VKGDR_CUDA_VMM_FUNCTIONS (RESOLVE)
#undef RESOLVE
#undef OPTIONAL
#undef REQUIRED
  return true;
}

static const char *
init_remedy (CUresult result)
{
  switch (result) {
  case CUDA_ERROR_STUB_LIBRARY:
    return "it is the CUDA toolkit's stub, with which programs are linked, but "
           "cannot run; take it off the library path";
  case CUDA_ERROR_NO_DEVICE:
    return "see whether nvidia-smi lists a GPU, and CUDA_VISIBLE_DEVICES "
           "hides none";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "NVIDIA's kernel module has another version than this library; load "
           "the module of the same version, or reboot";
  default:
    return "see whether nvidia-smi works";
  }
}

static bool
init_driver (driver *d, const char *path)
{
  CUresult result;
  int n = 0;

  result = d->cu.cuInit (0);
  if (result == CUDA_SUCCESS)
    result = d->cu.cuDeviceGetCount (&n);
  if (result == CUDA_SUCCESS && n == 0)
    result = CUDA_ERROR_NO_DEVICE;
  if (result == CUDA_SUCCESS)
    return true;
  vkgdr_error_set ("%s cannot be used (cuInit: %s, %d): %s", path,
      vkgdr_cuda_result_name (result), result, init_remedy (result));
  return false;
}

/* The system's driver, or softcuda's libcuda.so.1. */
static bool
try_driver (driver *d, bool software)
{
  char path[sizeof (softcuda_dir) + sizeof (DRIVER) + 1] = DRIVER;
  const char *why;

  memset (d, 0, sizeof (*d));
  if (software)
    snprintf (
        path, sizeof (path), "%s/%s", vkgdr_driver_softcuda_dir (), DRIVER);
  d->handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (!d->handle) {
    why = dlerror ();
    vkgdr_error_set ("%s cannot be loaded (%s): %s",
        software ? "softcuda" : path, why ? why : "no reason given",
        software
            ? "install it with gst-vkgdr, or set VKGDR_SOFTCUDA_DIR to its "
              "folder"
            : "install NVIDIA's driver");
    return false;
  }
  d->is_software = dlsym (d->handle, SOFTCUDA_FUNCTION) != NULL;
  if (d->is_software == software && resolve_functions (d, path)
      && init_driver (d, path))
    return true;
  if (software && !d->is_software)
    vkgdr_error_set ("%s is not softcuda: set VKGDR_SOFTCUDA_DIR to softcuda's "
                     "folder",
        path);
  else if (d->is_software && !software)
    vkgdr_error_set ("the %s on the library path is softcuda: install NVIDIA's "
                     "driver, or take softcuda off the path",
        path);
  /* Otherwise its libcuda.so.1 would be found first by all code that loads that
   * name. */
  dlclose (d->handle);
  return false;
}

static bool
try_auto (driver *d)
{
  char why[sizeof (why_software)];

  if (try_driver (d, false))
    return true;
  snprintf (why, sizeof (why), "%s", vkgdr_error_peek ());
  if (!try_driver (d, true)) {
    vkgdr_error_set ("no CUDA driver: %s; and %s", why, vkgdr_error_peek ());
    return false;
  }
  memcpy (why_software, why, sizeof (why));
  return true;
}

static bool
try_choice (driver *d)
{
  const char *value = getenv ("VKGDR_DRIVER");

  if (!value || !*value || strcmp (value, "auto") == 0)
    return try_auto (d);
  if (strcmp (value, "nvidia") == 0 || strcmp (value, "software") == 0)
    return try_driver (d, *value == 's');
  vkgdr_error_set ("VKGDR_DRIVER is \"%s\", which is unknown: set it to "
                   "auto, nvidia or software",
      value);
  return false;
}

const vkgdr_cuda *
vkgdr_driver_load (void)
{
  driver d;
  bool ok;

  pthread_mutex_lock (&lock);
  ok = loaded.handle || try_choice (&d);
  if (ok && !loaded.handle)
    loaded = d;
  pthread_mutex_unlock (&lock);
  if (!ok)
    return NULL;
  vkgdr_error_clear ();
  return &loaded.cu;
}

bool
vkgdr_driver_is_software (void)
{
  bool software;

  pthread_mutex_lock (&lock);
  software = loaded.is_software;
  pthread_mutex_unlock (&lock);
  return software;
}

const char *
vkgdr_driver_why_software (void)
{
  bool known;

  pthread_mutex_lock (&lock);
  known = why_software[0] != '\0';
  pthread_mutex_unlock (&lock);
  return known ? why_software : NULL;
}

bool
vkgdr_driver_has_ended (const vkgdr_cuda *cu)
{
  CUcontext current;

  return cu && cu->cuCtxGetCurrent (&current) == CUDA_ERROR_DEINITIALIZED;
}
