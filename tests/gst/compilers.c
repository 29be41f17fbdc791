/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * compilers.c: tests of the compilation of CUDA sources to images
 *
 * No device is needed. Scripts replace the compilers that are programs, such as
 * clang. Further tests use the real compilers if they are installed.
 */

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vkgdr/kernel.h>

#include "folder.h"
#include "slow.h"
#include "cudafilter/effects.h"
#include "kernel/compiler.h"
#include "kernel/image.h"
#include "kernel/program.h"
#include "kernel/source.h"

#define SOURCE \
  "__global__ void mine (VkgdrFrame in, VkgdrFrame out, float v)\n" \
  "{\n" \
  "}\n"

/* Time limits of a compiler, in seconds. A busy machine needs the second one,
 * because the compiler has to start within the limit. */
static const gchar *const short_timeouts[] = { "1", "10" };
/* A time limit in seconds that is 2^32 * 1000000 / 64 microseconds: its lower
 * 32 bits are 0. */
#define LONG_TIMEOUT "67108864"
/* The longest processor time of a compilation whose image is in the cache, in
 * microseconds. */
#define WARM_LIMIT 5000

/* A current GPU and an old one. */
static const GstVkgdrCompilerTarget hopper = { FALSE, 13000, 90 };
static const GstVkgdrCompilerTarget pascal = { FALSE, 12000, 61 };

/* A script that replaces clang. It answers queries with the values of
 * environment variables, records its command lines, and compiles all sources
 * except those that contain "wrong". */
#define SCRIPT \
  "#!/bin/sh\n" \
  "echo \"$@\" >> \"$FAKE_RECORD\"\n" \
  "case \"$1\" in\n" \
  "--version) echo \"$FAKE_VERSION\"; exit ;;\n" \
  "--print-supported-cpus) echo \"$FAKE_ARCHS\"; exit ;;\n" \
  "esac\n" \
  "[ \"$FAKE_BROKEN\" != yes ] || { echo broken >&2; exit 3; }\n" \
  "for word; do\n" \
  "  [ \"$last\" != -o ] || image=$word\n" \
  "  last=$word\n" \
  "done\n" \
  "echo \"$TMPDIR\" > \"$FAKE_RECORD.folder\"\n" \
  "cat \"$last\" > \"$FAKE_RECORD.source\"\n" \
  "env > \"$FAKE_RECORD.environment\"\n" \
  "if grep -q hangs \"$last\"; then\n" \
  "  sleep 60 & echo $! > \"$FAKE_RECORD.pid\"\n" \
  "  wait\n" \
  "fi\n" \
  "if grep -q wrong \"$last\"; then\n" \
  "  echo \"$last:1: error: it is wrong\" >&2; exit 1\n" \
  "fi\n" \
  "! grep -q nothing.else \"$last\" || exit 0\n" \
  "echo .version .target made > \"$image\"\n"

static gchar *record;

static gchar *
read_record (const gchar *suffix)
{
  gchar *path = g_strconcat (record, suffix, NULL), *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    text = g_strdup ("");
  g_free (path);
  return text;
}

static guint
count_runs (void)
{
  gchar *text = read_record ("");
  guint i, n = 0;

  for (i = 0; text[i]; i++)
    n += text[i] == '\n';
  g_free (text);
  return n;
}

static gchar *
make_script (const gchar *name, const gchar *text)
{
  gchar *path = folder_write (name, text);

  fail_unless (g_chmod (path, 0700) == 0);
  return path;
}

static void
setup (void)
{
  gchar *cache;

  folder_setup ();
  record = g_build_filename (folder, "record", NULL);
  cache = g_build_filename (folder, "cache", NULL);
  g_setenv ("VKGDR_CACHE_DIR", cache, TRUE);
  g_setenv ("FAKE_RECORD", record, TRUE);
  g_setenv ("FAKE_VERSION", "Debian clang version 17.0.6", TRUE);
  g_setenv ("FAKE_ARCHS", "\tsm_52\n\tsm_80\n\tsm_90\n\tsm_120", TRUE);
  g_unsetenv ("FAKE_BROKEN");
  g_unsetenv ("VKGDR_COMPILER");
  g_unsetenv ("VKGDR_COMPILER_TIMEOUT");
  g_free (cache);
}

static void
teardown (void)
{
  g_free (record);
  folder_teardown ();
}

static void
use_script (const gchar *name)
{
  gchar *path = make_script (name, SCRIPT);

  g_setenv ("VKGDR_COMPILER", path, TRUE);
  g_free (path);
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
  GBytes *image = compile (target, source, ptx, &error);

  fail_unless (image != NULL, "%s", error ? error->message : "");
  fail_unless (strstr (g_bytes_get_data (image, NULL), "made"));
  g_bytes_unref (image);
}

/* Returns the message, which the caller frees. */
static gchar *
compile_fails (
    const GstVkgdrCompilerTarget *target, const gchar *source, gint code)
{
  GError *error = NULL;
  GBytes *image = compile (target, source, TRUE, &error);
  gchar *message;

  fail_unless (image == NULL);
  fail_unless (error != NULL);
  fail_unless (g_error_matches (error, GST_VKGDR_ERROR, code), "%d: %s",
      error->code, error->message);
  message = g_strdup (error->message);
  g_error_free (error);
  return message;
}

static void
assert_contains (const gchar *text, const gchar *part)
{
  fail_unless (strstr (text, part), "\"%s\" is not in: %s", part, text);
}

static void
assert_fails_with (const GstVkgdrCompilerTarget *target, const gchar *source,
    gint code, const gchar *part)
{
  gchar *message = compile_fails (target, source, code);

  assert_contains (message, part);
  fail_if (strstr (message, "/gst-vkgdr-"), "%s", message);
  g_free (message);
}

static void
assert_was_run_with (const gchar *part)
{
  gchar *text = read_record ("");

  assert_contains (text, part);
  g_free (text);
}

/* --- command lines ------------------------------------------------------- */

GST_START_TEST (test_compiler_gets_the_source)
{
  gchar *text;

  use_script ("clang");
  assert_compiles (&hopper, SOURCE, TRUE);
  assert_was_run_with ("--cuda-gpu-arch=sm_90 ");
  assert_was_run_with ("-std=c++17");
  text = read_record (".source");
  assert_contains (text, "#include \"vkgdr/kernel.h\"");
  assert_contains (text, "#line 1 \"mine.cu\"");
  g_free (text);
}
GST_END_TEST;

GST_START_TEST (test_clang_gets_what_it_knows)
{
  use_script ("clang-17");
  g_setenv ("FAKE_ARCHS", "\tsm_52\n\tsm_80\n\tsm_86\n", TRUE);
  assert_compiles (&hopper, SOURCE, FALSE);
  assert_was_run_with ("--cuda-gpu-arch=sm_86 -Xclang -target-feature -Xclang "
                       "+ptx71");
  assert_was_run_with ("-nocudainc -nocudalib");
  assert_was_run_with ("/vkgdr/clang.h");
  assert_compiles (&pascal, SOURCE, FALSE);
  assert_was_run_with ("--cuda-gpu-arch=sm_52 ");
}
GST_END_TEST;

GST_START_TEST (test_nothing_is_left_behind)
{
  gchar *text;

  use_script ("clang");
  assert_compiles (&hopper, SOURCE, TRUE);
  text = g_strchomp (read_record (".folder"));
  assert_contains (text, "gst-vkgdr-");
  fail_if (g_file_test (text, G_FILE_TEST_EXISTS));
  g_free (text);
}
GST_END_TEST;

/* --- errors -------------------------------------------------------------- */

GST_START_TEST (test_log_is_the_error)
{
  use_script ("clang");
  assert_fails_with (&hopper, "wrong", GST_VKGDR_ERROR_COMPILE,
      "mine.cu does not compile:\nsource.cu:1: error: it is wrong");
}
GST_END_TEST;

/* The file for the output may then have the number of the standard input. */
GST_START_TEST (test_log_without_standard_input)
{
  gint input = dup (STDIN_FILENO);
  gchar *message;

  use_script ("clang");
  close (STDIN_FILENO);
  message = compile_fails (&hopper, "wrong", GST_VKGDR_ERROR_COMPILE);
  if (input >= 0) {
    fail_unless_equals_int (dup2 (input, STDIN_FILENO), STDIN_FILENO);
    close (input);
  }
  assert_contains (message, "error: it is wrong");
  g_free (message);
}
GST_END_TEST;

GST_START_TEST (test_no_image_is_an_error)
{
  use_script ("clang");
  assert_fails_with (
      &hopper, "nothing else", GST_VKGDR_ERROR_COMPILE, "gave no image");
}
GST_END_TEST;

GST_START_TEST (test_broken_compiler_is_no_compiler)
{
  use_script ("clang");
  g_setenv ("FAKE_BROKEN", "yes", TRUE);
  assert_fails_with (
      &hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER, "clang does not work: ");
  /* A compiler that does not support the architecture of the device is not used
   * either. */
  g_unsetenv ("FAKE_BROKEN");
  g_setenv ("FAKE_ARCHS", "sm_100", TRUE);
  assert_fails_with (&hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER,
      "does not compile for a device of compute capability 9.0");
}
GST_END_TEST;

static gboolean
process_runs (gint pid)
{
  gchar *path = g_strdup_printf ("/proc/%d/stat", pid), *text = NULL;
  gboolean runs =
      g_file_get_contents (path, &text, NULL, NULL) && !strstr (text, ") Z ");

  g_free (text);
  g_free (path);
  return runs;
}

/* A process that has been killed runs for a moment. */
static void
assert_process_ends (gint pid)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (process_runs (pid)) {
    fail_unless (g_get_monotonic_time () < deadline, "process %d runs", pid);
    g_usleep (1000);
  }
}

/* Compiles with a compiler that hangs. Returns the process id of its child,
 * which the caller frees. It is "" if the compiler has not reached its child
 * within @timeout. */
static gchar *
run_hanging_compiler (const gchar *timeout, GError **error)
{
  g_setenv ("VKGDR_COMPILER_TIMEOUT", timeout, TRUE);
  fail_unless (compile (&hopper, "hangs", TRUE, error) == NULL);
  return read_record (".pid");
}

GST_START_TEST (test_compiler_that_hangs_is_killed)
{
  gint64 start = g_get_monotonic_time ();
  const gchar *timeout = short_timeouts[0];
  GError *error = NULL;
  gchar *pid, *message;

  use_script ("clang");
  pid = run_hanging_compiler (timeout, &error);
  if (!*pid) {
    g_clear_error (&error);
    g_free (pid);
    timeout = short_timeouts[1];
    pid = run_hanging_compiler (timeout, &error);
  }
  fail_unless (*pid);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE);
  message =
      g_strdup_printf ("was not done within %s s, and was killed", timeout);
  assert_contains (error->message, message);
  fail_unless (g_get_monotonic_time () - start < 40 * G_USEC_PER_SEC);
  /* The child processes of the compiler are killed as well. */
  assert_process_ends (atoi (pid));
  g_error_free (error);
  g_free (message);
  g_free (pid);
}
GST_END_TEST;

GST_START_TEST (test_long_timeout_is_long)
{
  use_script ("clang");
  g_setenv ("VKGDR_COMPILER_TIMEOUT", LONG_TIMEOUT, TRUE);
  assert_compiles (&hopper, SOURCE, TRUE);
}
GST_END_TEST;

/* --- the choice of the compiler ------------------------------------------ */

GST_START_TEST (test_none_is_named_with_a_remedy)
{
  g_setenv ("VKGDR_COMPILER", "none", TRUE);
  assert_fails_with (
      &hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER, "VKGDR_COMPILER=none");
  g_setenv ("VKGDR_COMPILER", "/nowhere/clang", TRUE);
  assert_fails_with (&hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER,
      "There is no program /nowhere/clang. Install ");
  g_setenv ("VKGDR_COMPILER", "nvcc", TRUE);
  assert_fails_with (&hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER,
      "nvcc is not a supported compiler");
  g_setenv ("VKGDR_COMPILER", "clang", TRUE);
  g_setenv ("PATH", folder, TRUE);
  assert_fails_with (
      &hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER, "clang was not found");
  g_setenv ("VKGDR_COMPILER", "nvrtc", TRUE);
  g_setenv ("VKGDR_NVRTC", "/nowhere/libnvrtc.so", TRUE);
  assert_fails_with (&hopper, SOURCE, GST_VKGDR_ERROR_NO_DRIVER,
      "NVRTC was not found (tried /nowhere/libnvrtc.so)");
}
GST_END_TEST;

GST_START_TEST (test_next_one_is_tried)
{
  gchar *path = g_strconcat (folder, ":", g_getenv ("PATH"), NULL);
  gchar *message;

  g_free (make_script ("clang", "#!/bin/sh\necho no target >&2\nexit 1\n"));
  g_free (make_script ("clang-19", SCRIPT));
  g_setenv ("PATH", path, TRUE);
  g_setenv ("VKGDR_COMPILER", "clang", TRUE);
  g_setenv ("FAKE_ARCHS", "sm_80", TRUE);
  assert_compiles (&hopper, SOURCE, TRUE);
  /* After an error in the source, no other compiler is tried. */
  message = compile_fails (&hopper, "wrong", GST_VKGDR_ERROR_COMPILE);
  assert_contains (message, "it is wrong");
  g_free (message);
  g_free (path);
}
GST_END_TEST;

GST_START_TEST (test_compiler_is_described)
{
  GError *error = NULL;
  gchar *text, *expected;

  use_script ("clang");
  text = gst_vkgdr_compiler_describe (&hopper, &error);
  fail_unless (text != NULL, "%s", error ? error->message : "");
  expected = g_strdup_printf ("clang 17.0 (%s/clang)", folder);
  fail_unless_equals_string (text, expected);
  g_free (expected);
  g_free (text);

  g_setenv ("FAKE_BROKEN", "yes", TRUE);
  fail_unless (gst_vkgdr_compiler_describe (&hopper, &error) == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER));
  g_error_free (error);
}
GST_END_TEST;

/* --- the cache, and compilers -------------------------------------------- */

GST_START_TEST (test_warm_start_runs_nothing_and_is_fast)
{
  gint64 start, best = G_MAXINT64;
  guint i, n;

  use_script ("clang");
  assert_compiles (&hopper, SOURCE, TRUE);
  n = count_runs ();
  fail_unless (n > 0);
  for (i = 0; i < 5; i++) {
    start = test_cpu_time ();
    assert_compiles (&hopper, SOURCE, TRUE);
    best = MIN (best, test_cpu_time () - start);
  }
  fail_unless_equals_int (count_runs (), n);
  GST_INFO ("%" G_GINT64_FORMAT " us", best);
  fail_unless (best < test_limit (WARM_LIMIT), "%" G_GINT64_FORMAT " us", best);
}
GST_END_TEST;

/* Returns how many compilations the script has recorded. */
static guint
count_compilations (void)
{
  gchar *text = read_record ("");
  guint n = 0;
  const gchar *p;

  for (p = text; (p = strstr (p, "-nocudainc")); p++)
    n++;
  g_free (text);
  return n;
}

GST_START_TEST (test_other_compiler_or_device_is_another_image)
{
  use_script ("clang");
  assert_compiles (&hopper, SOURCE, TRUE);
  assert_compiles (&hopper, SOURCE, TRUE);
  fail_unless_equals_int (count_compilations (), 1);
  assert_compiles (&pascal, SOURCE, TRUE);
  fail_unless_equals_int (count_compilations (), 2);
  g_free (make_script ("clang", SCRIPT "# newer\n"));
  assert_compiles (&hopper, SOURCE, TRUE);
  fail_unless_equals_int (count_compilations (), 3);
}
GST_END_TEST;

/* --- included files and the cache ---------------------------------------- */

static void
write_header (const gchar *name, const gchar *text)
{
  gchar *path = g_build_filename (folder, name, NULL);

  fail_unless (g_file_set_contents (path, text, -1, NULL));
  g_free (path);
}

/* Whether the compiler was run for @source in the test's folder. */
static gboolean
is_compiled_anew (const gchar *source, const GstVkgdrCompileOptions *options)
{
  const GstVkgdrCompilerInput input = { source, "mine.cu", folder, options,
    TRUE };
  guint n = count_compilations ();
  GError *error = NULL;
  GBytes *image = gst_vkgdr_compiler_run (&hopper, &input, &error);

  g_assert_no_error (error);
  g_bytes_unref (image);
  return count_compilations () > n;
}

/* The test runs once for each of these spellings of an include. */
static const gchar *const includes[] = { "#include \"one.h\"\n",
  "%:include \"one.h\"\n", "  #  include /* here */ <one.h>\n",
  "/* a */ # /* b */ include \"one.h\"\n", "#inc\\\nlude \"one.h\"\n",
  "#include_next <one.h>\n", "#import \"one.h\"\n",
  "#if __has_include (\"one.h\")\n#endif\n" };

GST_START_TEST (test_changed_include_is_compiled)
{
  gchar *source = g_strconcat (includes[__i__], SOURCE, NULL);

  use_script ("clang");
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
  g_free (source);
}
GST_END_TEST;

/* The source is compiled again if a header appears where none was found before,
 * or in a folder that is searched earlier. */
GST_START_TEST (test_new_include_is_compiled)
{
  gchar *below = g_build_filename (folder, "below", NULL);
  const gchar *folders[] = { below, NULL };
  GstVkgdrCompileOptions *options =
      gst_vkgdr_compile_options_new (NULL, folders, NULL);

  use_script ("clang");
  fail_unless (g_mkdir (below, 0700) == 0);
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  fail_if (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  write_header ("below/one.h", "");
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  fail_if (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  write_header ("one.h", "");
  fail_unless (is_compiled_anew ("#include <one.h>\n" SOURCE, options));
  gst_vkgdr_compile_options_unref (options);
  g_free (below);
}
GST_END_TEST;

/* The search for included files does not know folders in the environment, so
 * clang must not search in them either. */
GST_START_TEST (test_folders_in_the_environment_are_not_searched)
{
  static const gchar *const names[] = { "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH" };
  gchar *text;
  guint i;

  use_script ("clang");
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    g_setenv (names[i], "/some/where", TRUE);
  assert_compiles (&hopper, "#include <one.h>\n" SOURCE, TRUE);
  text = read_record (".environment");
  assert_contains (text, "FAKE_RECORD=");
  fail_if (strstr (text, "/some/where"), "%s", text);
  g_free (text);
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    g_unsetenv (names[i]);
}
GST_END_TEST;

/* The name of the included file is a macro, so only the compiler knows which
 * file it is. */
GST_START_TEST (test_computed_include_is_not_cached)
{
  use_script ("clang");
  fail_unless (is_compiled_anew ("#include NAME\n" SOURCE, NULL));
  fail_unless (is_compiled_anew ("#include NAME\n" SOURCE, NULL));
}
GST_END_TEST;

GST_START_TEST (test_include_of_a_fifo_is_an_error)
{
  const GstVkgdrCompilerInput input = { "#include \"pipe.h\"\n", "mine.cu",
    folder, NULL, TRUE };
  gchar *path = g_build_filename (folder, "pipe.h", NULL);
  GError *error = NULL;

  use_script ("clang");
  fail_unless (mkfifo (path, 0600) == 0);
  fail_unless (gst_vkgdr_compiler_run (&hopper, &input, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND);
  assert_contains (error->message, "is not a regular file");
  g_error_free (error);
  g_free (path);
}
GST_END_TEST;

/* --- the user's options -------------------------------------------------- */

GST_START_TEST (test_options_reach_the_compiler)
{
  const gchar *folders[] = { "/some where", NULL };
  const gchar *words[] = { "-DSIZE=3", "-U", "NOT", "-I/else", "--std=c++20",
    "--use_fast_math", "-maxrregcount=32", NULL };
  GError *error = NULL;
  GstVkgdrCompileOptions *options =
      gst_vkgdr_compile_options_new (words, folders, &error);

  g_assert_no_error (error);
  use_script ("clang");
  fail_unless (is_compiled_anew (SOURCE, NULL));
  fail_unless (is_compiled_anew (SOURCE, options));
  fail_if (is_compiled_anew (SOURCE, options));
  assert_was_run_with ("-DSIZE=3 -UNOT -std=c++20 -ffast-math -I");
  fail_unless (is_compiled_anew ("#include <x.h>\n" SOURCE, options));
  assert_was_run_with (" -I/some where -I/else");
  gst_vkgdr_compile_options_unref (options);
}
GST_END_TEST;

/* No command line is run by a shell. */
GST_START_TEST (test_folder_with_backticks_is_only_a_folder)
{
  gchar *odd = g_build_filename (folder, "a `touch $FAKE_RECORD.ran` b", NULL);
  const gchar *folders[] = { odd, NULL };
  GstVkgdrCompileOptions *options =
      gst_vkgdr_compile_options_new (NULL, folders, NULL);
  gchar *ran = g_strconcat (record, ".ran", NULL);

  use_script ("clang");
  fail_unless (g_mkdir (odd, 0700) == 0);
  g_setenv ("TMPDIR", odd, TRUE);
  fail_unless (is_compiled_anew ("#include <x.h>\n" SOURCE, options));
  fail_if (g_file_test (ran, G_FILE_TEST_EXISTS));
  g_unsetenv ("TMPDIR");
  gst_vkgdr_compile_options_unref (options);
  g_free (ran);
  g_free (odd);
}
GST_END_TEST;

GST_START_TEST (test_no_cache_is_no_harm)
{
  static const gchar *const places[] = { "clang", "clang/below",
    "/proc/vkgdr" };
  guint i, n;

  use_script ("clang");
  for (i = 0; i < G_N_ELEMENTS (places); i++) {
    gchar *place = g_path_is_absolute (places[i])
                       ? g_strdup (places[i])
                       : g_build_filename (folder, places[i], NULL);

    g_setenv ("VKGDR_CACHE_DIR", place, TRUE);
    n = count_runs ();
    assert_compiles (&hopper, SOURCE, TRUE);
    assert_compiles (&hopper, SOURCE, TRUE);
    fail_unless (count_runs () > n + 2);
    g_free (place);
  }
}
GST_END_TEST;

/* --- real compilers ------------------------------------------------------ */

/* A source that uses many features of CUDA C++. The first function has no
 * __device__. */
static const gchar rich_source[] =
    " float helper (float v) { return fmaf (v, 2.0f, sqrtf (v)); }\n"
    "__device__ int counter;\n"
    "__constant__ float table[2];\n"
    "template <typename F> __device__ static void twice (F f) { f (0); f (1);"
    " }\n"
    "__global__ void rich (VkgdrFrame in, VkgdrFrame out, float v)\n"
    "{\n"
    "  __shared__ float shared[64];\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n"
    "  shared[threadIdx.x] = helper (v) + gridDim.x + table[x & 1];\n"
    "  __syncthreads ();\n"
    "  atomicAdd (&counter, 1);\n"
    "  uchar4 p = make_uchar4 (1, 2, 3, max (4, x));\n"
    "  float4 q = make_float4 (powf (v, 2.2f), expf (v), logf (v), sinf "
    "(v));\n"
    "  twice ([&] (int i) { shared[i] += cosf (q.x) + fminf (q.y, q.z)\n"
    "    + fabsf (q.w) + floorf (v) + rintf (v) + p.w + min (x, 3); });\n"
    "  vkgdr_shade (in, out, x, y, [&] (VkgdrRgba &c, int px, int py) {\n"
    "    c.r += helper (c.g) * shared[px & 1] + fmaxf (v, 0.5f); });\n"
    "}\n";

static void
check_image (GBytes *image, const gchar *name)
{
  const gchar *ptx = g_bytes_get_data (image, NULL);
  gchar **entries = gst_vkgdr_image_list_ptx_entries (ptx);
  GArray *sizes;
  guint i;

  fail_unless_equals_int (g_strv_length (entries), 1);
  assert_contains (entries[0], name);
  sizes = gst_vkgdr_image_read_ptx_params (ptx, entries[0], NULL);
  fail_unless (sizes != NULL && sizes->len >= 2);
  for (i = 0; i < 2; i++)
    fail_unless (g_array_index (sizes, gsize, i) == sizeof (VkgdrFrame));
  g_array_unref (sizes);
  g_strfreev (entries);
}

static void
check_source (const GstVkgdrCompilerTarget *target, const gchar *source,
    const gchar *name)
{
  GError *error = NULL;
  GBytes *image = compile (target, source, TRUE, &error);

  fail_unless (image != NULL, "%s: %s", name, error ? error->message : "");
  check_image (image, name);
  g_bytes_unref (image);
}

/* Whether the compiler @which is installed. */
static gboolean
find_compiler (const GstVkgdrCompilerTarget *target, const gchar *which)
{
  GError *error = NULL;
  gchar *text;

  g_setenv ("VKGDR_COMPILER", which, TRUE);
  text = gst_vkgdr_compiler_describe (target, &error);
  if (!text)
    g_printerr ("skipped: %s\n", error->message);
  g_clear_error (&error);
  g_free (text);
  return text != NULL;
}

/* Compiles the rich source, and checks that messages name the lines of the
 * source. */
static void
check_rich_source (const gchar *which, const gchar *place)
{
  gchar *message;

  if (!find_compiler (&hopper, which))
    return;
  check_source (&hopper, rich_source, "rich");
  message =
      compile_fails (&hopper, "// one line\n__global__ void f () { wrong (); }",
          GST_VKGDR_ERROR_COMPILE);
  assert_contains (message, place);
  g_free (message);
}

GST_START_TEST (test_nvrtc_compiles_all)
{
  check_rich_source ("nvrtc", "mine.cu(2)");
}
GST_END_TEST;

GST_START_TEST (test_clang_compiles_all)
{
  check_rich_source ("clang", "mine.cu:2:");
}
GST_END_TEST;

GST_START_TEST (test_nvrtc_compiles_effects)
{
  const GstEffect *effect;

  if (!find_compiler (&hopper, "nvrtc"))
    return;
  for (effect = gst_effects_list (); effect->name; effect++) {
    gchar *source = gst_effect_get_source (effect);

    check_source (&hopper, source, effect->name);
    g_free (source);
  }
}
GST_END_TEST;

static void
check_quiet (const GstVkgdrProgram *program, const gchar *header,
    const GstEffect *effect)
{
  gchar *source = gst_effect_get_source (effect), *log = NULL;
  GstVkgdrSource *scanned = gst_vkgdr_source_scan (source);
  gchar *text = gst_vkgdr_source_make_text (scanned, source, effect->name);
  const gchar *folders[] = { NULL };
  GstVkgdrProgramInput input = { text, effect->name, header, folders, NULL,
    hopper.capability };
  GError *error = NULL;
  GBytes *image = gst_vkgdr_program_compile (program, &input, &log, &error);

  fail_unless (image != NULL, "%s", error ? error->message : "");
  fail_unless_equals_string (log, "");
  check_image (image, effect->name);
  g_bytes_unref (image);
  gst_vkgdr_source_free (scanned);
  g_free (log);
  g_free (text);
  g_free (source);
}

/* Compiles all effects with the first program that works. There must be no
 * warning. */
static void
check_quiet_effects (void)
{
  GPtrArray *list = gst_vkgdr_program_list ();
  GBytes *header = g_resources_lookup_data (
      "/org/gst-vkgdr/kernel.h", G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  const GstEffect *effect;
  guint i = 0;

  while (i < list->len
         && !gst_vkgdr_program_check (list->pdata[i], hopper.capability, NULL))
    i++;
  for (effect = gst_effects_list (); i < list->len && effect->name; effect++)
    check_quiet (list->pdata[i], g_bytes_get_data (header, NULL), effect);
  if (i == list->len)
    g_printerr ("skipped: there is no such compiler\n");
  g_bytes_unref (header);
  g_ptr_array_unref (list);
}

GST_START_TEST (test_clang_compiles_effects)
{
  check_quiet_effects ();
}
GST_END_TEST;

/* --- NVRTC --------------------------------------------------------------- */

/* Compiles in a process of its own, because a process loads NVRTC only once. */
static gboolean
compile_apart (void)
{
  pid_t child = fork ();
  gint status;

  if (child == 0)
    _exit (compile (&hopper, SOURCE, TRUE, NULL) ? 0 : 1);
  fail_unless (child > 0 && waitpid (child, &status, 0) == child);
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

/* Returns the sum of the inode numbers of the files in the cache. It changes
 * when an image is stored, even if the image replaces an equal one. */
static guint64
sum_cache (void)
{
  const gchar *cache = g_getenv ("VKGDR_CACHE_DIR"), *name;
  GDir *dir = g_dir_open (cache, 0, NULL);
  guint64 sum = 0;

  fail_unless (dir != NULL);
  while ((name = g_dir_read_name (dir))) {
    gchar *path = g_build_filename (cache, name, NULL);
    GStatBuf info;

    fail_unless (g_stat (path, &info) == 0);
    sum += info.st_ino;
    g_free (path);
  }
  g_dir_close (dir);
  return sum;
}

GST_START_TEST (test_warm_start_with_nvrtc_does_not_compile)
{
  guint64 sum;

  g_setenv ("VKGDR_COMPILER", "nvrtc", TRUE);
  if (!compile_apart ()) {
    g_printerr ("skipped: NVRTC is not installed\n");
    return;
  }
  sum = sum_cache ();
  fail_unless (sum != 0);
  fail_unless (compile_apart ());
  fail_unless_equals_uint64 (sum_cache (), sum);
}
GST_END_TEST;

GST_START_TEST (test_built_images_have_the_kernels)
{
  const GstEffect *effect;

  for (effect = gst_effects_list (); effect->name; effect++) {
    GBytes *image = gst_effect_get_image (effect);

    if (!image)
      continue;
    fail_unless_equals_int (
        gst_vkgdr_image_get_kind (image), GST_VKGDR_IMAGE_PTX);
    check_image (image, effect->name);
    g_bytes_unref (image);
  }
}
GST_END_TEST;

static Suite *
compilers_suite (void)
{
  Suite *s = suite_create ("compilers");
  TCase *fake = tcase_create ("fake"), *real = tcase_create ("real");

  suite_add_tcase (s, fake);
  tcase_add_checked_fixture (fake, setup, teardown);
  tcase_add_test (fake, test_none_is_named_with_a_remedy);
  tcase_add_test (fake, test_compiler_gets_the_source);
  tcase_add_test (fake, test_clang_gets_what_it_knows);
  tcase_add_test (fake, test_nothing_is_left_behind);
  tcase_add_test (fake, test_log_is_the_error);
  tcase_add_test (fake, test_log_without_standard_input);
  tcase_add_test (fake, test_no_image_is_an_error);
  tcase_add_test (fake, test_broken_compiler_is_no_compiler);
  tcase_add_test (fake, test_compiler_that_hangs_is_killed);
  tcase_add_test (fake, test_long_timeout_is_long);
  tcase_add_test (fake, test_next_one_is_tried);
  tcase_add_test (fake, test_compiler_is_described);
  tcase_add_test (fake, test_warm_start_runs_nothing_and_is_fast);
  tcase_add_test (fake, test_other_compiler_or_device_is_another_image);
  tcase_add_test (fake, test_no_cache_is_no_harm);
  tcase_add_loop_test (
      fake, test_changed_include_is_compiled, 0, G_N_ELEMENTS (includes));
  tcase_add_test (fake, test_new_include_is_compiled);
  tcase_add_test (fake, test_folders_in_the_environment_are_not_searched);
  tcase_add_test (fake, test_computed_include_is_not_cached);
  tcase_add_test (fake, test_include_of_a_fifo_is_an_error);
  tcase_add_test (fake, test_options_reach_the_compiler);
  tcase_add_test (fake, test_folder_with_backticks_is_only_a_folder);

  suite_add_tcase (s, real);
  tcase_add_checked_fixture (real, setup, teardown);
  tcase_set_timeout (real, 100);
  tcase_add_test (real, test_nvrtc_compiles_all);
  tcase_add_test (real, test_clang_compiles_all);
  tcase_add_test (real, test_nvrtc_compiles_effects);
  tcase_add_test (real, test_clang_compiles_effects);
  tcase_add_test (real, test_warm_start_with_nvrtc_does_not_compile);
  tcase_add_test (real, test_built_images_have_the_kernels);
  return s;
}

GST_CHECK_MAIN (compilers);
