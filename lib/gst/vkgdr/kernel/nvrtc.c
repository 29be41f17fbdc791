/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/nvrtc.c: loads NVRTC, or softcuda's library of the same interface, and
 * runs it
 *
 * The prototypes follow the ABI of libnvrtc. They are here so that a build
 * needs no CUDA toolkit. Knows nothing of devices, caches and kernels.
 */

#include <dlfcn.h>
#include <glob.h>
#include <errno.h>
#include <sys/stat.h>

#include "kernel/nvrtc.h"
#include "kernel/shortage.h"
#include "memory/memory-private.h"
#include "nvcc.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_nvrtc_debug);
#define GST_CAT_DEFAULT gst_vkgdr_nvrtc_debug

typedef struct _nvrtcProgram *nvrtcProgram;

/* nvrtcResult: 0 is success, and this value means errors in the source. */
#define NVRTC_ERROR_COMPILATION 6

/* X (function, is_required, arguments) */
#define NVRTC_FUNCTIONS(X) \
  X (nvrtcVersion, TRUE, (int *major, int *minor)) \
  X (nvrtcCreateProgram, TRUE, \
      (nvrtcProgram * program, const char *text, const char *name, \
          int n_headers, const char *const *headers, \
          const char *const *include_names)) \
  X (nvrtcDestroyProgram, TRUE, (nvrtcProgram * program)) \
  X (nvrtcCompileProgram, TRUE, \
      (nvrtcProgram program, int n_options, const char *const *options)) \
  X (nvrtcGetProgramLogSize, TRUE, (nvrtcProgram program, size_t * size)) \
  X (nvrtcGetProgramLog, TRUE, (nvrtcProgram program, char *log)) \
  X (nvrtcGetPTXSize, TRUE, (nvrtcProgram program, size_t * size)) \
  X (nvrtcGetPTX, TRUE, (nvrtcProgram program, char *image)) \
  X (nvrtcGetCUBINSize, FALSE, (nvrtcProgram program, size_t * size)) \
  X (nvrtcGetCUBIN, FALSE, (nvrtcProgram program, char *image)) \
  X (nvrtcGetNumSupportedArchs, FALSE, (int *n_archs)) \
  X (nvrtcGetSupportedArchs, FALSE, (int *archs))

struct _GstVkgdrNvrtc {
  void *library; /* of dlopen () */
  gboolean software;
  gchar *name; /* by which the library was opened */
  gint major, minor;
  gboolean has_cubin;
  GArray *archs; /* of gint; empty if the library cannot list them */

  const char *(*nvrtcGetErrorString) (int result);
#define NVRTC_FIELD(name, need, args) int (*name) args;
  NVRTC_FUNCTIONS (NVRTC_FIELD)
#undef NVRTC_FIELD
};

static const struct {
  const gchar *name;
  gint major;
} nvrtc_sonames[] = {
  { "libnvrtc.so.13", 13 },
  { "libnvrtc.so.12", 12 },
  { "libnvrtc.so.11.2", 11 }, /* the soname of 11.2 to 11.8 */
  { "libnvrtc.so", 0 },
};

static GMutex nvrtc_lock;

static void
nvrtc_free (GstVkgdrNvrtc *self)
{
  dlclose (self->library);
  g_free (self->name);
  g_array_unref (self->archs);
  g_free (self);
}

static gboolean
nvrtc_resolve (GstVkgdrNvrtc *self)
{
#define NVRTC_RESOLVE(function, need, args) \
  *(void **) &self->function = dlsym (self->library, #function); \
  if (need && !self->function) { \
    GST_WARNING ("%s lacks %s", self->name, #function); \
    return FALSE; \
  }
  NVRTC_RESOLVE (nvrtcGetErrorString, TRUE, (int) )
  NVRTC_FUNCTIONS (NVRTC_RESOLVE)
#undef NVRTC_RESOLVE
  return TRUE;
}

static void
nvrtc_read_archs (GstVkgdrNvrtc *self)
{
  GArray *archs = self->archs;
  int n = 0;

  if (!self->nvrtcGetNumSupportedArchs || !self->nvrtcGetSupportedArchs
      || self->nvrtcGetNumSupportedArchs (&n) != 0 || n <= 0)
    return;
  g_array_set_size (archs, n);
  if (self->nvrtcGetSupportedArchs ((int *) archs->data) != 0)
    g_array_set_size (archs, 0);
}

static gboolean
nvrtc_initialise (GstVkgdrNvrtc *self)
{
  int result;

  if (!nvrtc_resolve (self))
    return FALSE;
  result = self->nvrtcVersion (&self->major, &self->minor);
  if (result != 0) {
    GST_WARNING (
        "%s: nvrtcVersion: %s", self->name, self->nvrtcGetErrorString (result));
    return FALSE;
  }
  vkgdr_nvcc_load_builtins (
      (const void *) self->nvrtcVersion, self->major, self->minor);
  self->has_cubin = self->nvrtcGetCUBINSize && self->nvrtcGetCUBIN;
  nvrtc_read_archs (self);
  return TRUE;
}

/* Adds the attempt to @tried, for the error. */
static GstVkgdrNvrtc *
nvrtc_open (const gchar *path, gboolean software, GPtrArray *tried)
{
  GstVkgdrNvrtc *self;
  void *library;

  g_ptr_array_add (tried, g_strdup (path));
  library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    GST_DEBUG ("%s", dlerror ());
    return NULL;
  }

  self = g_new0 (GstVkgdrNvrtc, 1);
  self->library = library;
  self->software = software;
  self->name = g_strdup (path);
  self->archs = g_array_new (FALSE, TRUE, sizeof (gint));
  if (!nvrtc_initialise (self)) {
    nvrtc_free (self);
    return NULL;
  }
  GST_INFO ("%s: NVRTC %d.%d", path, self->major, self->minor);
  return self;
}

static GstVkgdrNvrtc *
nvrtc_open_software (GPtrArray *tried)
{
  gchar *path =
      g_build_filename (vkgdr_driver_softcuda_dir (), "libnvrtc.so.13", NULL);
  GstVkgdrNvrtc *self = nvrtc_open (path, TRUE, tried);

  g_free (path);
  return self;
}

/* Adds the names that dlopen () searches: if @newer is TRUE, those of versions
 * that are newer than the driver, otherwise all other names. */
static void
nvrtc_add_sonames (GPtrArray *paths, gint driver_major, gboolean newer)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (nvrtc_sonames); i++)
    if ((nvrtc_sonames[i].major > driver_major) == newer)
      g_ptr_array_add (paths, g_strdup (nvrtc_sonames[i].name));
}

static void
nvrtc_add_toolkits (GPtrArray *paths)
{
  static const gchar *const libdirs[] = { "lib64", "lib" };
  const gchar *folders[] = { g_getenv ("CUDA_HOME"), g_getenv ("CUDA_PATH"),
    g_getenv ("CUDA_ROOT"), "/usr/local/cuda" };
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (folders); i++)
    for (k = 0; folders[i] && *folders[i] && k < G_N_ELEMENTS (libdirs); k++)
      g_ptr_array_add (paths,
          g_build_filename (folders[i], libdirs[k], "libnvrtc.so", NULL));
}

/* Adds the libraries of NVIDIA's packages of pip: those of the environment that
 * is active, of the user, and of the system. */
static void
nvrtc_add_packages (GPtrArray *paths)
{
  gchar *local = g_build_filename (g_get_home_dir (), ".local", NULL);
  const gchar *prefixes[] = { g_getenv ("VIRTUAL_ENV"),
    g_getenv ("CONDA_PREFIX"), local, "/usr/local" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (prefixes); i++) {
    gchar *pattern = g_strconcat (prefixes[i] ? prefixes[i] : "/nowhere",
        "/lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so.[0-9]*", NULL);
    glob_t found;
    gsize k;

    if (glob (pattern, 0, NULL, &found) == 0) {
      for (k = found.gl_pathc; k > 0; k--) /* new versions first */
        g_ptr_array_add (paths, g_strdup (found.gl_pathv[k - 1]));
      globfree (&found);
    }
    g_free (pattern);
  }
  g_free (local);
}

/* Opens the first library that is not newer than the driver. If there is none,
 * opens the first library that works. */
static GstVkgdrNvrtc *
nvrtc_open_first (const GPtrArray *paths, gint driver_major, GPtrArray *tried)
{
  GstVkgdrNvrtc *first = NULL, *self;
  guint i;

  for (i = 0; i < paths->len; i++) {
    self = nvrtc_open (paths->pdata[i], FALSE, tried);
    if (self && self->major <= driver_major) {
      g_clear_pointer (&first, nvrtc_free);
      return self;
    }
    if (self && first)
      nvrtc_free (self);
    else if (self)
      first = self;
  }
  return first;
}

static GstVkgdrNvrtc *
nvrtc_find (gint driver_major, GPtrArray *tried)
{
  const gchar *named = g_getenv ("VKGDR_NVRTC");
  GPtrArray *paths;
  GstVkgdrNvrtc *self;

  if (named && *named)
    return nvrtc_open (named, FALSE, tried);

  paths = g_ptr_array_new_with_free_func (g_free);
  nvrtc_add_sonames (paths, driver_major, FALSE);
  nvrtc_add_toolkits (paths);
  nvrtc_add_packages (paths);
  self = nvrtc_open_first (paths, driver_major, tried);
  if (!self) {
    g_ptr_array_set_size (paths, 0);
    nvrtc_add_sonames (paths, driver_major, TRUE);
    self = nvrtc_open_first (paths, driver_major, tried);
  }
  g_ptr_array_unref (paths);
  return self;
}

static void
nvrtc_set_not_found (GError **error, gboolean software, GPtrArray *tried)
{
  gchar *shortage = gst_vkgdr_shortage_explain (), *list;

  g_ptr_array_add (tried, NULL);
  list = g_strjoinv (", ", (gchar **) tried->pdata);
  if (software)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "The software device's compiler was not found (tried %s): name its "
        "folder in VKGDR_SOFTCUDA_DIR.%s",
        list, shortage);
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "CUDA sources cannot be compiled: NVRTC was not found (tried %s).%s "
        "Install it (Debian: libnvrtc12 or libnvrtc11.2 of non-free; pip: "
        "nvidia-cuda-nvrtc), or name its library in VKGDR_NVRTC, or use a "
        "compiled kernel (.ptx or .cubin by location=)",
        list, shortage);
  g_free (shortage);
  g_free (list);
}

const GstVkgdrNvrtc *
gst_vkgdr_nvrtc_get (gboolean software, gint driver_version, GError **error)
{
  static GstVkgdrNvrtc *known[2];
  static gsize once;
  GstVkgdrNvrtc *self;
  GPtrArray *tried;

  if (g_once_init_enter (&once)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_nvrtc_debug, "vkgdrnvrtc", 0, "vkgdr run-time compiler");
    g_once_init_leave (&once, 1);
  }

  software = !!software;
  g_mutex_lock (&nvrtc_lock);
  self = known[software];
  if (!self) {
    tried = g_ptr_array_new_with_free_func (g_free);
    self = known[software] = software
                                 ? nvrtc_open_software (tried)
                                 : nvrtc_find (driver_version / 1000, tried);
    if (!self)
      nvrtc_set_not_found (error, software, tried);
    g_ptr_array_unref (tried);
  }
  g_mutex_unlock (&nvrtc_lock);
  return self;
}

gchar *
gst_vkgdr_nvrtc_describe (const GstVkgdrNvrtc *self)
{
  const gchar *cxx = g_getenv ("SOFTCUDA_CXX");

  if (!self->software)
    return g_strdup_printf (
        "NVRTC %d.%d (%s)", self->major, self->minor, self->name);
  return g_strdup_printf ("softcuda, by the host's C++ compiler%s%s (%s)",
      cxx && *cxx ? " " : "", cxx ? cxx : "", self->name);
}

static void
nvrtc_identify_file (GString *identity, const gchar *path)
{
  struct stat st = { 0 };

  if (stat (path, &st) != 0)
    GST_INFO ("%s: %s", path, g_strerror (errno));
  g_string_append_printf (identity,
      " %" G_GINT64_FORMAT ".%ld:%" G_GINT64_FORMAT, (gint64) st.st_mtim.tv_sec,
      (glong) st.st_mtim.tv_nsec, (gint64) st.st_size);
}

gchar *
gst_vkgdr_nvrtc_identify (const GstVkgdrNvrtc *self)
{
  const gchar *cxx = g_getenv ("SOFTCUDA_CXX");
  GString *identity = g_string_new (NULL);
  gchar *folder, *runtime;

  g_string_append_printf (identity, "%s %d.%d",
      self->software ? "softcuda" : "nvrtc", self->major, self->minor);
  if (!self->software)
    return g_string_free (identity, FALSE);

  /* The version stays the same when softcuda or the host's compiler change. */
  folder = g_path_get_dirname (self->name);
  runtime = g_build_filename (folder, "softcuda_runtime.h", NULL);
  nvrtc_identify_file (identity, self->name);
  nvrtc_identify_file (identity, runtime);
  g_string_append_printf (identity, " %s", cxx ? cxx : "");
  g_free (runtime);
  g_free (folder);
  return g_string_free (identity, FALSE);
}

gint
gst_vkgdr_nvrtc_choose_arch (const GstVkgdrNvrtc *self, gint capability)
{
  GArray *archs = self->archs;
  gint best = 0;
  guint i;

  /* A compiler that cannot list its architectures is old. It is assumed to
   * support the device. */
  if (archs->len == 0)
    return capability;
  for (i = 0; i < archs->len; i++) {
    gint arch = g_array_index (archs, gint, i);

    if (arch <= capability && arch > best)
      best = arch;
  }
  return best;
}

gchar **
gst_vkgdr_nvrtc_find_folders (const GstVkgdrNvrtc *self)
{
  return vkgdr_nvcc_find_folders ((const void *) self->nvrtcVersion);
}

const gchar *const *
gst_vkgdr_nvrtc_get_options (const GstVkgdrNvrtc *self)
{
  return vkgdr_nvcc_get_options (1000 * self->major + 10 * self->minor);
}

gboolean
gst_vkgdr_nvrtc_has_cubin (const GstVkgdrNvrtc *self)
{
  return self->has_cubin;
}

static gchar *
nvrtc_get_log (const GstVkgdrNvrtc *self, nvrtcProgram program)
{
  size_t size = 0;
  gchar *log, *valid;

  if (self->nvrtcGetProgramLogSize (program, &size) != 0 || size < 2)
    return g_strdup ("");
  log = g_malloc0 (size + 1);
  if (self->nvrtcGetProgramLog (program, log) != 0)
    *log = '\0';
  /* The log repeats lines of the source, which may have any encoding. */
  valid = g_utf8_make_valid (g_strchomp (log), -1);
  g_free (log);
  return valid;
}

static GBytes *
nvrtc_get_image (const GstVkgdrNvrtc *self, nvrtcProgram program,
    const gchar *name, gboolean cubin, GError **error)
{
  size_t size = 0;
  gchar *image;
  int result;

  result = cubin ? self->nvrtcGetCUBINSize (program, &size)
                 : self->nvrtcGetPTXSize (program, &size);
  if (result == 0) {
    image = g_malloc0 (size + 1);
    result = cubin ? self->nvrtcGetCUBIN (program, image)
                   : self->nvrtcGetPTX (program, image);
    if (result == 0 && size > 0)
      return g_bytes_new_take (image, size);
    g_free (image);
  }
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
      "%s: the compiler gave no image: %s", name,
      self->nvrtcGetErrorString (result));
  return NULL;
}

/* The compiler failed, but the source is not the cause. */
static void
nvrtc_set_failed (const GstVkgdrNvrtc *self, GError **error, const gchar *name,
    int result, const gchar *log)
{
  gchar *shortage = gst_vkgdr_shortage_explain ();

  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
      "%s: the compiler failed (nvrtcCompileProgram: %s).%s%s%s", name,
      self->nvrtcGetErrorString (result), shortage, *log ? "\n" : "", log);
  g_free (shortage);
}

/* The source has errors. */
static void
nvrtc_set_refused (GError **error, const gchar *name, const gchar *log)
{
  const gchar *advice = vkgdr_nvcc_explain (log);

  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
      "%s does not compile:\n%s%s%s%s", name, log, advice ? "\n" : "",
      advice ? advice : "", advice ? "." : "");
}

GBytes *
gst_vkgdr_nvrtc_compile (const GstVkgdrNvrtc *self, const gchar *text,
    const gchar *name, const gchar *const *headers,
    const gchar *const *include_names, const gchar *const *options,
    gboolean cubin, GError **error)
{
  nvrtcProgram program = NULL;
  GBytes *image = NULL;
  gchar *log;
  int result;

  result = self->nvrtcCreateProgram (&program, text, name,
      (int) g_strv_length ((gchar **) headers), headers, include_names);
  if (result != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
        "%s: nvrtcCreateProgram: %s", name, self->nvrtcGetErrorString (result));
    return NULL;
  }

  result = self->nvrtcCompileProgram (
      program, (int) g_strv_length ((gchar **) options), options);
  log = nvrtc_get_log (self, program);
  if (result == NVRTC_ERROR_COMPILATION && *log)
    nvrtc_set_refused (error, name, log);
  else if (result != 0)
    nvrtc_set_failed (self, error, name, result, log);
  else
    image = nvrtc_get_image (self, program, name, cubin, error);
  if (image && *log)
    GST_INFO ("%s: %s", name, log);

  g_free (log);
  self->nvrtcDestroyProgram (&program);
  return image;
}
