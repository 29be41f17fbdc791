/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.c: tests of the search for NVRTC, of what NVRTC is given, and of the
 * cache of its images on disk
 *
 * The program replaces dlopen() and the functions of NVRTC, so the test chooses
 * which versions are found where, and sees each compilation. No device is
 * needed.
 */

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "case.h"
#include "folder.h"
#include "kernel/compiler.h"

#define SOURCE \
  "__global__ void mine (VkgdrFrame in, VkgdrFrame out, float v)\n" \
  "{\n" \
  "}\n"

#define MAX_LIBRARIES 4

/* A library that dlopen() finds. */
typedef struct {
  const gchar *path;
  gint major;
} Library;

static const Library *libraries; /* MAX_LIBRARIES; unused ones have no path */
static gint opened;              /* the version of the last one */
static gint supported_arch = 52; /* by all versions */

__attribute__ ((visibility ("default"))) void *
dlopen (const char *name, int flags)
{
  static void *(*real) (const char *name, int flags);
  guint i;

  if (!g_atomic_pointer_get (&real))
    *(void **) &real = dlsym (RTLD_NEXT, "dlopen");
  if (!name || !strstr (name, "libnvrtc"))
    return real (name, flags);
  for (i = 0; i < MAX_LIBRARIES && libraries[i].path; i++)
    if (g_str_equal (libraries[i].path, name)) {
      opened = libraries[i].major;
      return real (NULL, flags);
    }
  return real ("/nowhere/libnvrtc.so", flags);
}

/* --- the functions of NVRTC ----------------------------------------------- */

/* No header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

typedef struct _nvrtcProgram *nvrtcProgram;

static guint n_compilations;
static gchar *given_text, *given_options;
/* A function that always succeeds. */
#define SUCCEEDS(name, params, ...) \
  int name params \
  { \
    __VA_ARGS__; \
    return 0; \
  }

SUCCEEDS (nvrtcVersion, (int *major, int *minor), *major = opened, *minor = 0)
SUCCEEDS (nvrtcGetNumSupportedArchs, (int *n), *n = 1)
SUCCEEDS (nvrtcGetSupportedArchs, (int *archs), *archs = supported_arch)
SUCCEEDS (nvrtcDestroyProgram, (nvrtcProgram * program), *program = NULL)
SUCCEEDS (
    nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *size), *size = 1)
SUCCEEDS (nvrtcGetProgramLog, (nvrtcProgram program, char *log), *log = '\0')
/* The image is the text, so that an image tells of which source it is. */
SUCCEEDS (nvrtcGetPTXSize, (nvrtcProgram program, size_t *size),
    *size = strstr (given_text, "nothing") ? 0 : strlen (given_text) + 1)
SUCCEEDS (nvrtcGetPTX, (nvrtcProgram program, char *image),
    strstr (given_text, "nothing") ? NULL : strcpy (image, given_text))

const char *
nvrtcGetErrorString (int result)
{
  return "an error";
}

int
nvrtcCreateProgram (nvrtcProgram *program, const char *text, const char *name,
    int n_headers, const char *const *headers, const char *const *include_names)
{
  g_free (given_text);
  given_text = g_strdup (text);
  *program = NULL;
  return 0;
}

int
nvrtcCompileProgram (
    nvrtcProgram program, int n_options, const char *const *options)
{
  g_autofree gchar *joined = g_strjoinv (" ", (gchar **) options);

  g_free (given_options);
  given_options = g_strconcat (" ", joined, NULL);
  n_compilations++;
  return strstr (given_text, "fails") != NULL;
}

#pragma GCC visibility pop

/* --- which version is used ------------------------------------------------ */

static const Library usual[MAX_LIBRARIES] = { { "libnvrtc.so.13", 13 } };

static gchar *cache;

static void
setup (void)
{
  /* Files that others can write to are not used. Tests that need such files
   * change the mode. */
  umask (022);
  folder_setup ();
  cache = g_build_filename (folder, "cache", NULL);
  g_setenv ("VKGDR_CACHE_DIR", cache, TRUE);
  g_setenv ("CUDA_HOME", "/toolkit", TRUE);
  g_unsetenv ("CUDA_PATH");
  g_unsetenv ("VKGDR_NVRTC");
  libraries = usual;
}

static void
teardown (void)
{
  g_free (cache);
  folder_teardown ();
}

#define TOOLKIT "/toolkit/lib64/libnvrtc.so"
#define SYSTEM "/usr/local/cuda/lib64/libnvrtc.so"

/* The driver supports version 12. */
static const struct {
  Library libraries[MAX_LIBRARIES];
  const gchar *found;
} searches[] = {
  { { { "libnvrtc.so.12", 12 }, { TOOLKIT, 12 } },
      "NVRTC 12.0 (libnvrtc.so.12)" },
  { { { "libnvrtc.so.11.2", 11 }, { TOOLKIT, 12 } },
      "NVRTC 11.0 (libnvrtc.so.11.2)" },
  /* A version that is newer than the driver is used only if there is no other
   * one. */
  { { { "libnvrtc.so.13", 13 }, { TOOLKIT, 12 } }, "NVRTC 12.0 (" TOOLKIT ")" },
  { { { "libnvrtc.so", 13 }, { TOOLKIT, 12 } }, "NVRTC 12.0 (" TOOLKIT ")" },
  { { { TOOLKIT, 13 }, { SYSTEM, 12 } }, "NVRTC 12.0 (" SYSTEM ")" },
  { { { "libnvrtc.so.13", 13 }, { "libnvrtc.so.11.2", 11 } },
      "NVRTC 11.0 (libnvrtc.so.11.2)" },
  { { { "libnvrtc.so.13", 13 } }, "NVRTC 13.0 (libnvrtc.so.13)" },
  { { { TOOLKIT, 13 }, { SYSTEM, 13 } }, "NVRTC 13.0 (" TOOLKIT ")" },
};

TEST_FIXTURE (setup, teardown);

TEST_LOOP (search, G_N_ELEMENTS (searches))
{
  const GstVkgdrCompilerTarget target = { FALSE, 12040, 90 };
  GError *error = NULL;
  g_autofree gchar *text = NULL;

  libraries = searches[__i__].libraries;
  text = gst_vkgdr_compiler_describe (&target, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (text, searches[__i__].found);
}

/* Packages of pip have no libnvrtc.so. */
TEST (search_in_packages_of_pip)
{
  static const gchar *const names[] = { "cuda_nvrtc/lib/libnvrtc.so.12",
    "cu13/lib/libnvrtc.so.13" };
  const GstVkgdrCompilerTarget target = { FALSE, 12040, 90 };
  Library found[MAX_LIBRARIES] = { { NULL } };
  GError *error = NULL;
  g_autofree gchar *text = NULL, *expected = NULL;
  guint i;

  g_setenv ("VIRTUAL_ENV", folder, TRUE);
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    gchar *path = g_build_filename (
        folder, "lib/python3.11/site-packages/nvidia", names[i], NULL);
    g_autofree gchar *parent = g_path_get_dirname (path);

    fail_unless (g_mkdir_with_parents (parent, 0700) == 0);
    fail_unless (g_file_set_contents (path, "", 0, NULL));
    found[i] = (Library){ path, 12 + i };
  }
  libraries = found;
  text = gst_vkgdr_compiler_describe (&target, &error);
  g_assert_no_error (error);
  expected = g_strdup_printf ("NVRTC 12.0 (%s)", found[0].path);
  fail_unless_equals_string (text, expected);
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    g_free ((gchar *) found[i].path);
}

TEST (too_old_devices_are_refused)
{
  static const GstVkgdrCompilerTarget pascal = { FALSE, 13000, 61 };
  GError *error = NULL;

  supported_arch = 75;
  fail_if (gst_vkgdr_compiler_describe (&pascal, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_NO_DRIVER, "compute capability 6.1");
}

/* --- a compilation -------------------------------------------------------- */

static GBytes *
compile (
    const gchar *source, const GstVkgdrCompileOptions *options, GError **error)
{
  static const GstVkgdrCompilerTarget hopper = { FALSE, 13000, 90 };
  const GstVkgdrCompilerInput input = { source, "mine.cu", folder, options,
    TRUE };

  return gst_vkgdr_compiler_run (&hopper, &input, error);
}

/* Whether the compiler was run for @source. */
static gboolean
is_compiled (const gchar *source, const GstVkgdrCompileOptions *options)
{
  guint n = n_compilations;
  GError *error = NULL;
  g_autoptr (GBytes) image = compile (source, options, &error);

  g_assert_no_error (error);
  test_assert_contains (g_bytes_get_data (image, NULL), source);
  return n_compilations > n;
}

/* kernel.c tests errors in a source, with the log of a real compiler. */
TEST (compiler_without_log_or_image)
{
  GError *error = NULL;

  fail_if (compile ("fails", NULL, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_COMPILE, "the compiler failed");
  fail_if (compile ("nothing", NULL, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_COMPILE, "gave no image");
}

TEST (missing_compiler_is_named_with_a_remedy)
{
  static const Library none[MAX_LIBRARIES] = { { NULL } };
  GError *error = NULL;

  libraries = none;
  g_setenv ("VKGDR_NVRTC", "/nowhere/libnvrtc.so", TRUE);
  fail_unless (compile (SOURCE, NULL, &error) == NULL);
  test_assert_error_says (&error, GST_VKGDR_ERROR_NO_DRIVER,
      "NVRTC was not found (tried /nowhere/libnvrtc.so). Install ");
}

/* --- included files ------------------------------------------------------ */

/* Runs a command in the folder of the test. */
static void
run (const gchar *command)
{
  g_autofree gchar *line = g_strdup_printf ("cd '%s'; %s", folder, command);

  fail_unless_equals_int (system (line), 0);
}

#define ONE "#include \"one.h\"\n" SOURCE
#define NEW "#include <new.h>\n" SOURCE
#define COMPUTED "#include NAME\n" SOURCE

/* The scanner finds other spellings, too: see sources.c. */
static const struct {
  const gchar *command, *source;
  gboolean is_compiled;
} includes[] = {
  { "echo '#include \"two.h\"' > one.h; echo '#include \"one.h\"' > two.h", ONE,
      TRUE },
  { "", ONE, FALSE },
  { "echo > two.h", ONE, TRUE },
  { "", ONE, FALSE },
  { "echo > one.h", ONE, TRUE },
  { "echo '// 4' > two.h", ONE, FALSE },
  /* A header appears where none was found before, or in a folder that is
   * searched earlier. */
  { "mkdir below", NEW, TRUE },
  { "", NEW, FALSE },
  { "echo > below/new.h", NEW, TRUE },
  { "", NEW, FALSE },
  { "echo > new.h", NEW, TRUE },
  /* The name of the included file is a macro, so only the compiler knows which
   * file it is. */
  { "", COMPUTED, TRUE },
  { "", COMPUTED, TRUE },
};

TEST (included_files)
{
  g_autofree gchar *below = g_build_filename (folder, "below", NULL);
  const gchar *folders[] = { below, NULL };
  g_autoptr (GstVkgdrCompileOptions) options =
      gst_vkgdr_compile_options_new (NULL, folders, NULL);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (includes); i++) {
    run (includes[i].command);
    fail_unless (
        is_compiled (includes[i].source, options) == includes[i].is_compiled,
        "row %u", i);
  }
}

TEST (include_of_a_fifo_is_an_error)
{
  g_autofree gchar *path = g_build_filename (folder, "pipe.h", NULL);
  GError *error = NULL;

  fail_unless (mkfifo (path, 0600) == 0);
  fail_unless (compile ("#include \"pipe.h\"\n", NULL, &error) == NULL);
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_NOT_FOUND, "is not a regular file");
}

/* --- the source and the options ------------------------------------------ */

/* cudafilter-watch.c tests the user's options. */
TEST (compiler_gets_source_and_options)
{
  fail_unless (is_compiled (SOURCE, NULL));
  test_assert_contains (
      given_options, "--gpu-architecture=compute_52|--std=c++17");
  test_assert_contains (
      given_text, "#include \"vkgdr/kernel.h\"|#line 1 \"mine.cu\"");
}

/* --- the cache on disk --------------------------------------------------- */

static gboolean
cache_has_files (void)
{
  g_autoptr (GDir) dir = g_dir_open (cache, 0, NULL);

  return dir && g_dir_read_name (dir);
}

/* Two processes store and read the same twenty images. */
TEST (processes_share_a_cache)
{
  gboolean is_found = FALSE;
  gint status = 0;
  GRand *random;
  pid_t child;
  guint i;

  child = fork ();
  random = g_rand_new_with_seed (child == 0);
  for (i = 0; i < 500; i++) {
    g_autofree gchar *source =
        g_strdup_printf (SOURCE "// %d", g_rand_int_range (random, 0, 20));

    if (i % 20 == 19)
      run ("rm -f cache/*.image");
    is_found |= !is_compiled (source, NULL);
  }
  g_rand_free (random);
  if (child == 0)
    _exit (!is_found);
  fail_unless (is_found && waitpid (child, &status, 0) == child);
  fail_unless_equals_int (status, 0);
}

static guint n_warnings;

static void
count_warnings (GstDebugCategory *category, GstDebugLevel level,
    const gchar *file, const gchar *function, gint line, GObject *object,
    GstDebugMessage *message, gpointer data)
{
  if (level == GST_LEVEL_WARNING
      && g_str_equal (gst_debug_category_get_name (category), "vkgdrcache"))
    n_warnings++;
}

/* What happens to the cache, as a command in the folder around it. Its only
 * entry is then not used. */
static const struct {
  const gchar *command;
  gboolean is_replaced; /* Storing the entry again mends this. */
} spoils[] = {
  { "chmod 777 cache", FALSE },
  { "mv cache elsewhere; ln -s elsewhere cache", FALSE },
  { "chown 65534 cache", FALSE },
  { "rm -r cache; touch cache", FALSE },
  { "chmod 622 cache/*", TRUE },
  { "f=$(echo cache/*); mv $f other; ln -s ../other $f", TRUE },
  { "f=$(echo cache/*); rm $f; mkfifo -m 600 $f", TRUE },
  { "f=$(echo cache/*); rm $f; mkdir -m 700 $f", FALSE },
  { "chown 65534 cache/*", TRUE },
};

/* Folders and entries that others can write to, or that are not what they seem
 * to be, are not used. Nothing is stored in such a folder, and warnings say
 * so. */
TEST (only_own_files_are_used)
{
  guint i;

  gst_debug_set_active (TRUE);
  gst_debug_add_log_function (count_warnings, NULL, NULL);
  gst_debug_set_threshold_for_name ("vkgdrcache", GST_LEVEL_WARNING);
  for (i = 0; i < G_N_ELEMENTS (spoils); i++) {
    /* Only root can give a file away. */
    if (strstr (spoils[i].command, "chown") && geteuid () != 0)
      continue;
    fail_unless (is_compiled (SOURCE, NULL));
    fail_if (is_compiled (SOURCE, NULL));
    run (spoils[i].command);
    fail_unless (is_compiled (SOURCE, NULL), "%s", spoils[i].command);
    fail_unless (is_compiled (SOURCE, NULL) != spoils[i].is_replaced, "%s",
        spoils[i].command);
    fail_unless (n_warnings > 0);
    n_warnings = 0;
    run ("rm -rf cache/*.image");
    fail_unless (is_compiled (SOURCE, NULL));
    fail_unless (cache_has_files () == spoils[i].is_replaced
                     || strstr (spoils[i].command, "dir"),
        "%s", spoils[i].command);
    run ("rm -rf *");
  }
  gst_debug_remove_log_function (count_warnings);
}
