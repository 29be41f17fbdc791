/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.c: tests of the search for NVRTC, and of what NVRTC is given
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

#include "bytes.h"
#include "case.h"
#include "folder.h"
#include "kernel/compiler.h"
#include "slow.h"

#define SOURCE \
  "__global__ void mine (VkgdrFrame in, VkgdrFrame out, float v)\n" \
  "{\n" \
  "}\n"

/* The longest processor time of a compilation whose image is in the cache, in
 * microseconds. */
#define WARM_LIMIT 5000

/* A current GPU and an old one. */
static const GstVkgdrCompilerTarget hopper = { FALSE, 13000, 90 };
static const GstVkgdrCompilerTarget pascal = { FALSE, 13000, 61 };

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

#define EXPORTED __attribute__ ((visibility ("default")))

typedef struct _nvrtcProgram *nvrtcProgram;

static guint n_compilations;
static gchar *given_text, *given_options;
/* The log of a source that contains "wrong". Its second line is Latin-1. */
static const gchar fake_log[] = "mine.cu(1): error: it is wrong\n// Gr\xfc\xdf"
                                "e";
static const gchar fake_ptx[] = ".version .target made\n";

EXPORTED int nvrtcVersion (int *major, int *minor);
EXPORTED const char *nvrtcGetErrorString (int result);
EXPORTED int nvrtcGetNumSupportedArchs (int *n);
EXPORTED int nvrtcGetSupportedArchs (int *archs);
EXPORTED int nvrtcCreateProgram (nvrtcProgram *program, const char *text,
    const char *name, int n_headers, const char *const *headers,
    const char *const *include_names);
EXPORTED int nvrtcDestroyProgram (nvrtcProgram *program);
EXPORTED int nvrtcCompileProgram (
    nvrtcProgram program, int n_options, const char *const *options);
EXPORTED int nvrtcGetProgramLogSize (nvrtcProgram program, size_t *size);
EXPORTED int nvrtcGetProgramLog (nvrtcProgram program, char *log);
EXPORTED int nvrtcGetPTXSize (nvrtcProgram program, size_t *size);
EXPORTED int nvrtcGetPTX (nvrtcProgram program, char *image);

int
nvrtcVersion (int *major, int *minor)
{
  *major = opened;
  *minor = 0;
  return 0;
}

const char *
nvrtcGetErrorString (int result)
{
  return "an error";
}

int
nvrtcGetNumSupportedArchs (int *n)
{
  *n = 1;
  return 0;
}

int
nvrtcGetSupportedArchs (int *archs)
{
  *archs = supported_arch;
  return 0;
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
nvrtcDestroyProgram (nvrtcProgram *program)
{
  return 0;
}

int
nvrtcCompileProgram (
    nvrtcProgram program, int n_options, const char *const *options)
{
  GString *joined = g_string_new (NULL);
  gint i;

  for (i = 0; i < n_options; i++)
    g_string_append_printf (joined, " %s", options[i]);
  g_free (given_options);
  given_options = g_string_free (joined, FALSE);
  n_compilations++;
  return strstr (given_text, "wrong")   ? 6
         : strstr (given_text, "fails") ? 1
                                        : 0;
}

int
nvrtcGetProgramLogSize (nvrtcProgram program, size_t *size)
{
  *size = strstr (given_text, "wrong") ? sizeof (fake_log) : 1;
  return 0;
}

int
nvrtcGetProgramLog (nvrtcProgram program, char *log)
{
  strcpy (log, strstr (given_text, "wrong") ? fake_log : "");
  return 0;
}

int
nvrtcGetPTXSize (nvrtcProgram program, size_t *size)
{
  *size = strstr (given_text, "nothing") ? 0 : sizeof (fake_ptx);
  return 0;
}

int
nvrtcGetPTX (nvrtcProgram program, char *image)
{
  if (!strstr (given_text, "nothing"))
    strcpy (image, fake_ptx);
  return 0;
}

/* --- which version is used ------------------------------------------------ */

static const Library usual[MAX_LIBRARIES] = { { "libnvrtc.so.13", 13 } };

static void
setup (void)
{
  g_autofree gchar *cache = NULL;

  folder_setup ();
  cache = g_build_filename (folder, "cache", NULL);
  g_setenv ("VKGDR_CACHE_DIR", cache, TRUE);
  g_setenv ("CUDA_HOME", "/toolkit", TRUE);
  g_unsetenv ("CUDA_PATH");
  g_unsetenv ("VKGDR_NVRTC");
  libraries = usual;
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

TEST_FIXTURE (setup, folder_teardown);

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

/* --- an NVRTC that does not support the device ---------------------------- */

TEST (description_names_what_is_used)
{
  const GstVkgdrCompilerTarget turing = { FALSE, 13000, 75 };
  GError *error = NULL;
  g_autofree gchar *text = NULL;

  supported_arch = 75;
  fail_if (gst_vkgdr_compiler_describe (&pascal, &error));
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER);
  test_assert_contains (error->message, "compute capability 6.1");
  g_clear_error (&error);
  text = gst_vkgdr_compiler_describe (&turing, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (text, "NVRTC 13.0 (libnvrtc.so.13)");
}

static GBytes *
compile (const GstVkgdrCompilerTarget *target, const gchar *source,
    gboolean ptx, GError **error)
{
  const GstVkgdrCompilerInput input = { source, "mine.cu", NULL, NULL, ptx };

  return gst_vkgdr_compiler_run (target, &input, error);
}

static void
assert_compiles (
    const GstVkgdrCompilerTarget *target, const gchar *source, gboolean ptx)
{
  GError *error = NULL;
  g_autoptr (GBytes) image = compile (target, source, ptx, &error);

  fail_unless (image != NULL, "%s", error ? error->message : "");
  fail_unless (strstr (g_bytes_get_data (image, NULL), "made"));
}

/* Returns the message, which the caller frees. */
static gchar *
compile_fails (
    const GstVkgdrCompilerTarget *target, const gchar *source, gint code)
{
  g_autoptr (GError) error = NULL;
  GBytes *image = compile (target, source, TRUE, &error);
  gchar *message;

  fail_unless (image == NULL);
  fail_unless (error != NULL);
  fail_unless (g_error_matches (error, GST_VKGDR_ERROR, code), "%d: %s",
      error->code, error->message);
  message = g_strdup (error->message);
  return message;
}

static void
assert_fails_with (const GstVkgdrCompilerTarget *target, const gchar *source,
    gint code, const gchar *part)
{
  g_autofree gchar *message = compile_fails (target, source, code);

  test_assert_contains (message, part);
  fail_unless (g_utf8_validate (message, -1, NULL), "%s", message);
}

static void
assert_was_run_with (const gchar *part)
{
  test_assert_contains (given_options, part);
}

/* --- a compilation -------------------------------------------------------- */

TEST (compiler_gets_the_source)
{
  assert_compiles (&hopper, SOURCE, TRUE);
  assert_was_run_with ("--gpu-architecture=compute_52");
  assert_was_run_with ("--std=c++17");
  test_assert_contains (given_text, "#include \"vkgdr/kernel.h\"");
  test_assert_contains (given_text, "#line 1 \"mine.cu\"");
}

TEST (log_is_the_error)
{
  assert_fails_with (&hopper, "wrong", GST_VKGDR_ERROR_COMPILE,
      "mine.cu does not compile:\nmine.cu(1): error: it is wrong");
  assert_fails_with (
      &hopper, "fails", GST_VKGDR_ERROR_COMPILE, "the compiler failed");
  assert_fails_with (
      &hopper, "nothing", GST_VKGDR_ERROR_COMPILE, "gave no image");
}

TEST (missing_compiler_is_named_with_a_remedy)
{
  static const Library none[MAX_LIBRARIES] = { { NULL } };

  libraries = none;
  g_setenv ("VKGDR_NVRTC", "/nowhere/libnvrtc.so", TRUE);
  assert_fails_with (&hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER,
      "NVRTC was not found (tried /nowhere/libnvrtc.so). Install ");
}

/* --- the cache ------------------------------------------------------------ */

TEST (warm_start_compiles_nothing_and_is_fast)
{
  gint64 start, best = G_MAXINT64;
  guint i;

  assert_compiles (&hopper, SOURCE, TRUE);
  for (i = 0; i < 5; i++) {
    start = test_cpu_time ();
    assert_compiles (&hopper, SOURCE, TRUE);
    best = MIN (best, test_cpu_time () - start);
  }
  fail_unless_equals_int (n_compilations, 1);
  GST_INFO ("%" G_GINT64_FORMAT " us", best);
  fail_unless (best < test_limit (WARM_LIMIT), "%" G_GINT64_FORMAT " us", best);
}

/* --- included files and the cache ---------------------------------------- */

static void
write_header (const gchar *name, const gchar *text)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);

  fail_unless (g_file_set_contents (path, text, -1, NULL));
}

/* Whether the compiler was run for @source in the test's folder. */
static gboolean
is_compiled_anew (const gchar *source, const GstVkgdrCompileOptions *options)
{
  const GstVkgdrCompilerInput input = { source, "mine.cu", folder, options,
    TRUE };
  guint n = n_compilations;
  GError *error = NULL;
  g_autoptr (GBytes) image = gst_vkgdr_compiler_run (&hopper, &input, &error);

  g_assert_no_error (error);
  return n_compilations > n;
}

/* The test runs once for each of these spellings of an include. */
static const gchar *const includes[] = { "#include \"one.h\"\n",
  "%:include \"one.h\"\n", "  #  include /* here */ <one.h>\n",
  "/* a */ # /* b */ include \"one.h\"\n", "#inc\\\nlude \"one.h\"\n",
  "#include_next <one.h>\n", "#import \"one.h\"\n",
  "#if __has_include (\"one.h\")\n#endif\n" };

TEST_LOOP (changed_include_is_compiled, G_N_ELEMENTS (includes))
{
  g_autofree gchar *source = g_strconcat (includes[__i__], SOURCE, NULL);

  write_header ("one.h", "#include \"two.h\"\n");
  write_header ("two.h", "// 2\n");
  fail_unless (is_compiled_anew (source, NULL));
  fail_if (is_compiled_anew (source, NULL));
  write_header ("two.h", "// 3\n");
  fail_unless (is_compiled_anew (source, NULL));
  fail_if (is_compiled_anew (source, NULL));
  write_header ("one.h", "// 1\n");
  fail_unless (is_compiled_anew (source, NULL));
  write_header ("two.h", "// 4\n");
  fail_if (is_compiled_anew (source, NULL));
}

/* The source is compiled again if a header appears where none was found before,
 * or in a folder that is searched earlier. */
TEST (new_include_is_compiled)
{
  g_autofree gchar *below = g_build_filename (folder, "below", NULL);
  const gchar *folders[] = { below, NULL };
  g_autoptr (GstVkgdrCompileOptions) options =
      gst_vkgdr_compile_options_new (NULL, folders, NULL);

  fail_unless (g_mkdir (below, 0700) == 0);
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  fail_if (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  write_header ("below/one.h", "");
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  fail_if (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  write_header ("one.h", "");
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
}

/* The name of the included file is a macro, so only the compiler knows which
 * file it is. */
TEST (computed_include_is_not_cached)
{
  fail_unless (is_compiled_anew ("#include NAME\n" SOURCE, NULL));
  fail_unless (is_compiled_anew ("#include NAME\n" SOURCE, NULL));
}

TEST (include_of_a_fifo_is_an_error)
{
  const GstVkgdrCompilerInput input = { "#include \"pipe.h\"\n", "mine.cu",
    folder, NULL, TRUE };
  g_autofree gchar *path = g_build_filename (folder, "pipe.h", NULL);
  g_autoptr (GError) error = NULL;

  fail_unless (mkfifo (path, 0600) == 0);
  fail_unless (gst_vkgdr_compiler_run (&hopper, &input, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND);
  test_assert_contains (error->message, "is not a regular file");
}

/* --- the user's options -------------------------------------------------- */

TEST (options_reach_the_compiler)
{
  const gchar *folders[] = { "/some where", NULL };
  const gchar *words[] = { "-DSIZE=3", "-U", "NOT", "-I/else", "--std=c++20",
    "--use_fast_math", "-maxrregcount=32", NULL };
  GError *error = NULL;
  g_autoptr (GstVkgdrCompileOptions) options =
      gst_vkgdr_compile_options_new (words, folders, &error);

  g_assert_no_error (error);
  fail_unless (is_compiled_anew (SOURCE, NULL));
  fail_unless (is_compiled_anew (SOURCE, options));
  fail_if (is_compiled_anew (SOURCE, options));
  assert_was_run_with (
      " -DSIZE=3 -UNOT --std=c++20 --use_fast_math --maxrregcount=32");
  fail_unless (is_compiled_anew ("#include <x.h>\n" SOURCE, options));
  assert_was_run_with ("--include-path=");
}

TEST (no_cache_is_no_harm)
{
  static const gchar *const places[] = { "file", "file/below", "/proc/vkgdr" };
  guint i, n;

  g_free (folder_write ("file", ""));
  for (i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree gchar *place = g_path_is_absolute (places[i])
                                  ? g_strdup (places[i])
                                  : g_build_filename (folder, places[i], NULL);

    g_setenv ("VKGDR_CACHE_DIR", place, TRUE);
    n = n_compilations;
    assert_compiles (&hopper, SOURCE, TRUE);
    assert_compiles (&hopper, SOURCE, TRUE);
    fail_unless_equals_int (n_compilations, n + 2);
  }
}
