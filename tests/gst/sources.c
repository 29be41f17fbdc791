/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sources.c: tests of what the library reads in sources, and from files, before
 * a compiler gets them
 *
 * They need neither a device nor a compiler.
 */

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "case.h"
#include "folder.h"
#include "slow.h"
#include "kernel/compiler.h"
#include "kernel/file.h"
#include "kernel/image.h"
#include "kernel/options.h"
#include "kernel/source.h"

/* The size of a source, which is many times that of usual kernels, and the
 * longest time that the scanner may run for it, in microseconds. */
#define SCAN_SIZE (512 * 1024)
#define SCAN_LIMIT (G_USEC_PER_SEC / 4)
#define READ_LIMIT G_USEC_PER_SEC

/* The size is smaller under tools that make the test slow. The tools find wrong
 * accesses, and no time is checked under them. */
static gsize
scan_size (void)
{
  return test_limit (0) == 0 ? SCAN_SIZE : SCAN_SIZE / 8;
}

/* --- the scanner --------------------------------------------------------- */

/* Returns what the scanner finds in @text: the included names, each after a
 * space; then E for extern "C", T for template, N for no-extern-c, P for
 * in-place, and C for an include whose name is a macro. */
static gchar *
describe (const gchar *text)
{
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  GString *found = g_string_new (NULL);
  guint i;

  for (i = 0; i < source->includes->len; i++) {
    const GstVkgdrSourceInclude *include = source->includes->pdata[i];

    g_string_append_printf (
        found, include->is_quoted ? " \"%s\"" : " <%s>", include->name);
  }
  g_string_append_printf (found, "%s%s%s%s%s", source->has_extern_c ? "E" : "",
      source->has_template ? "T" : "", source->no_extern_c ? "N" : "",
      source->is_in_place ? "P" : "", source->has_computed_include ? "C" : "");
  if (source->tile_x != 1 || source->tile_y != 1)
    g_string_append_printf (found, "%ux%u", source->tile_x, source->tile_y);
  gst_vkgdr_source_free (source);
  return g_string_free (found, FALSE);
}

static const struct {
  const gchar *text, *found;
} scans[] = {
  { "", "" },
  { "int a;\n#include \"x.h\"\n  # include <y/z.h> // c\n",
      " \"x.h\" <y/z.h>" },
  { "%:include \"x.h\"", " \"x.h\"" },
  { "%: /* c */ inc\\\nlude /* \n */ <x.h>", " <x.h>" },
  { "/* \n\n */ #import <x.h>", " <x.h>" },
  { "#include_next \"x.h\"\n#embed \"y\"\n", " \"x.h\" \"y\"" },
  { "#if defined X && __has_include(<x.h>)", " <x.h>" },
  { "#include NAME(x)\n", "C" },
  { "#include \"x.h\n#include <y.h\n", "C" },
  { "// #include <x.h>\n/* #include <y.h>\n#include <z.h> */", "" },
  { "// goes on \\\n#include <x.h>\n", "" },
  { "a #include <x.h>\n\"\n#include <y.h>\n", " <y.h>" },
  { "char *s = \"\\\"/*\"; \n#include <x.h>\n", " <x.h>" },
  { "char *s = R\"a(\n#include <x.h>\n)\" )a\";\n#include <y.h>\n", " <y.h>" },
  { "auto s = u8R\"(\"\n#include <x.h>\n)\"; int n = 1'000'0;\n", "" },
  { "int n = 1'0; template <int i> void f ();", "T" },
  { "char c = '\"'; extern \"C\" void f ();", "E" },
  { "extern /* c */\n \"C\" {}", "E" },
  { "extern int a; char *s = \"C\";", "" },
  { "extern \"C++\" {}", "" },
  { "template_a my_template \"template\" // template", "" },
  { "#pragma vkgdr in-place\n", "P" },
  { "  # pragma   vkgdr no-extern-c // c\n", "N" },
  { "#pragma vkgdr in-place-2\n#pragma vkgdr_2 in-place\n", "" },
  { "#pragma vkgdr tile 4x2\n", "4x2" },
  { "#pragma vkgdr tile 99x99", "99x99" },
  { "#pragma vkgdr tile 100x2\n#pragma vkgdr tile 0x2", "" },
  { "#pragma vkgdr tile 2x3x\n#pragma vkgdr tile x", "" },
  { "'", "" },
  { "\"\\", "" },
  { "R\"(", "" },
  { "/*", "" },
  { "#", "" },
  { "#include", "C" },
};

TEST_FIXTURE (folder_setup, folder_teardown);

TEST_LOOP (scanner_finds, G_N_ELEMENTS (scans))
{
  g_autofree gchar *found = describe (scans[__i__].text);

  fail_unless_equals_string (found, scans[__i__].found);
}

/* Sources, and what a compiler sees of them: lines keep their numbers, and
 * #pragma vkgdr is removed. */
static const struct {
  const gchar *text, *made;
} texts[] = {
  { "int a;\n#pragma vkgdr tile 4x2\n%:pragma vkgdr x\n#pragma unroll\nint b;",
      "int a;\n\n\n#pragma unroll\nint b;" },
  { "#pragma vkgdr in-place // a comment\nint a;", "\nint a;" },
  { "#pragma vkgdr in-place\r\nint a;\r\n", "\nint a;\r\n" },
  /* A comment does not end with its line. */
  { "#pragma vkgdr in-place /* one\n two */\nint a;", "\n\nint a;" },
  { "/* one\n two */ # /* three */ pragma vkgdr in-place\nint a;",
      "/* one\n two */ \nint a;" },
  /* It is no directive. */
  { "/*\n#pragma vkgdr in-place\n*/ int a;",
      "/*\n#pragma vkgdr in-place\n*/ int a;" },
  { "// one \\\n#pragma vkgdr in-place\nint a;",
      "// one \\\n#pragma vkgdr in-place\nint a;" },
  { "char *a = R\"(\n#pragma vkgdr in-place\n)\";",
      "char *a = R\"(\n#pragma vkgdr in-place\n)\";" },
  { "int a; #pragma vkgdr x\n", "int a; #pragma vkgdr x\n" },
  { "#pragma vkgdr_2 x\n", "#pragma vkgdr_2 x\n" },
  /* Lines that go on. */
  { "#pragma \\\n vkgdr \\\r\n tile 4x2\\\n\nint a;", "\n\n\n\nint a;" },
  { "#prag\\\nma vkgdr in-place\nint a \\\n;", "\n\nint a \\\n;" },
  { "int a;\\\n\n#pragma vkgdr in-place\\\nint b;\nint c;\\\n",
      "int a;\\\n\n\n\nint c;\\\n" },
  { "#pragma vkgdr in-place\\\n", "\n" },
  { "#pragma vkgdr", "" },
};

TEST_LOOP (text_for_the_compiler, G_N_ELEMENTS (texts))
{
  const gchar *text = texts[__i__].text;
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  g_autofree gchar *made =
      gst_vkgdr_source_make_text (source, text, "a \"name\"");
  g_autofree gchar *expected = g_strdup_printf ("#include \"vkgdr/kernel.h\"\n"
                                                "extern \"C\" {\n"
                                                "#line 1 \"a \\\"name\\\"\"\n"
                                                "%s\n}\n",
      texts[__i__].made);

  fail_unless_equals_string (made, expected);
  gst_vkgdr_source_free (source);
}

/* --- the kind of a file -------------------------------------------------- */

static const struct {
  const gchar *text;
  GstVkgdrImageKind kind;
} kinds[] = {
  { ".version 8.0\n.target sm_90\n", GST_VKGDR_IMAGE_PTX },
  { "\n  .version 8.0 .target sm_90\n", GST_VKGDR_IMAGE_PTX },
  { "//\n// Generated\n//\n\n.version 8.0\n.target sm_90\n",
      GST_VKGDR_IMAGE_PTX },
  { "/* one\n two */ .version 8.0\n.target sm_90\n", GST_VKGDR_IMAGE_PTX },
  { "int f (P p) { return p.version + p.target; }\n", GST_VKGDR_IMAGE_SOURCE },
  { "// .version 8.0\n// .target sm_90\nint a;\n", GST_VKGDR_IMAGE_SOURCE },
  { "P p = {\n  .version = 1,\n  .target = 2 };\n", GST_VKGDR_IMAGE_SOURCE },
  { "/* .version .target", GST_VKGDR_IMAGE_SOURCE },
};

TEST_LOOP (kind_of_a_text, G_N_ELEMENTS (kinds))
{
  const gchar *text = kinds[__i__].text;
  /* No zero byte follows the text. */
  g_autoptr (GBytes) image =
      g_bytes_new_take (g_memdup2 (text, strlen (text)), strlen (text));

  fail_unless_equals_int (gst_vkgdr_image_get_kind (image), kinds[__i__].kind);
}

/* If one of these strings is repeated, a scanner that reads text again would be
 * slow. */
static const gchar *const repeated[] = { "\n", " \n", " ", "\t#", "/", "/*",
  "\"", "'", "\\\n", "\\", "R\"(", "R\"a(b)", "extern ", "extern /**/", "# ",
  "#include", "#include <", "#include \"", "#pragma vkgdr ", "#pragma vkgdr",
  "%:", "__has_include", "__has_include (", "1'", "template\n", "(", "\xc3\xa4",
  ".entry ", ".entry k (", ".entry k (.param ", ".param .align", "//\n" };

TEST_LOOP (scanner_is_linear, G_N_ELEMENTS (repeated))
{
  const gchar *unit = repeated[__i__];
  GString *text = g_string_new (".version .target ");
  gint64 start;
  gchar *found;

  while (text->len + strlen (unit) < scan_size ())
    g_string_append (text, unit);
  start = test_cpu_time ();
  found = describe (text->str);
  start = test_cpu_time () - start;
  fail_unless (
      start < test_limit (SCAN_LIMIT), "%" G_GINT64_FORMAT " us", start);
  g_free (found);

  start = test_cpu_time ();
  g_strfreev (gst_vkgdr_image_list_ptx_entries (text->str));
  fail_unless (
      gst_vkgdr_image_read_ptx_params (text->str, "missing", NULL) == NULL);
  start = test_cpu_time () - start;
  fail_unless (
      start < test_limit (SCAN_LIMIT), "%" G_GINT64_FORMAT " us", start);
  g_string_free (text, TRUE);
}

TEST (source_that_is_too_long_is_refused)
{
  const GstVkgdrCompilerTarget target = { FALSE, 12000, 90 };
  GstVkgdrCompilerInput input = { NULL, "mine.cu", NULL, NULL, TRUE };
  gsize size = 100 * 1024 * 1024;
  g_autofree gchar *text = g_malloc (size + 1);
  gint64 start = test_cpu_time ();
  g_autoptr (GError) error = NULL;

  memset (text, '\n', size);
  text[size] = '\0';
  input.text = text;
  fail_unless (gst_vkgdr_compiler_run (&target, &input, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (test_cpu_time () - start < test_limit (READ_LIMIT));
}

/* --- files --------------------------------------------------------------- */

static void
assert_is_not_read (const gchar *path, const gchar *why)
{
  g_autofree gchar *parts = g_strdup_printf ("%s|%s", why, path);
  gint64 start = test_cpu_time ();
  GError *error = NULL;

  fail_unless (gst_vkgdr_image_read (path, &error) == NULL);
  fail_unless (test_cpu_time () - start < test_limit (READ_LIMIT));
  test_assert_error_says (&error, GST_VKGDR_ERROR_NOT_FOUND, parts);
  fail_unless (
      gst_vkgdr_kernel_list_include_files (path, NULL, &error) == NULL);
  test_assert_error_says (&error, GST_VKGDR_ERROR_NOT_FOUND, "");
}

TEST (only_regular_files_are_read)
{
  g_autofree gchar *path = g_build_filename (folder, "pipe", NULL);

  fail_unless (mkfifo (path, 0600) == 0);
  assert_is_not_read (path, "is not a regular file");
  assert_is_not_read ("/dev/zero", "is not a regular file");
  assert_is_not_read (folder, "Is a directory");
  assert_is_not_read ("/no/such/file", "No such file");
}

TEST (large_file_is_refused)
{
  g_autofree gchar *path = folder_write ("large", "");

  fail_unless (truncate (path, 100 * 1024 * 1024) == 0);
  assert_is_not_read (path, "is too large");
  /* The size is checked while the file is read, because files in /proc report
   * another size. */
  fail_unless (truncate (path, 8) == 0);
  fail_unless (gst_vkgdr_file_read (path, 7, NULL) == NULL);
  g_bytes_unref (gst_vkgdr_file_read (path, 8, NULL));
  g_bytes_unref (gst_vkgdr_file_read ("/proc/self/stat", 4096, NULL));
  fail_unless (gst_vkgdr_file_read ("/proc/self/stat", 4, NULL) == NULL);
}

/* --- options ------------------------------------------------------------- */

static gchar *
spell (const gchar *text)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrCompileOptions) options =
      gst_vkgdr_compile_options_new_from_string (text, &error);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  gchar *joined;

  g_assert_no_error (error);
  gst_vkgdr_options_append (options, words);
  g_ptr_array_add (words, g_strdup ("|"));
  gst_vkgdr_options_append_folders (options, words);
  g_ptr_array_add (words, NULL);
  joined = g_strjoinv (" ", (gchar **) words->pdata);
  return joined;
}

static const struct {
  const gchar *text, *nvrtc;
} spellings[] = {
  { "", "|" },
  { "  ", "|" },
  { "-DA=1 -D B --define-macro=C=2 --define-macro D -DE='x y'",
      "-DA=1 -DB -DC=2 -DD -DE=x y |" },
  { "-UA -I/a -I /b --include-path=/c -I=/d", "-UA | /a /b /c /d" },
  { "-use_fast_math --fmad=false -O2", "--use_fast_math --fmad=false |" },
  { "-lineinfo -w --maxrregcount=32 -std=c++20",
      "-lineinfo -w --maxrregcount=32 --std=c++20 |" },
  { "--fmad=false -w -fmad=true", "-w --fmad=true |" },
  { "--fmad=true --fmad=false", "--fmad=false |" },
  { "--std=c++20 --maxrregcount=32 -std=c++14 -maxrregcount=64",
      "--std=c++14 --maxrregcount=64 |" },
};

TEST (options_are_translated)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (spellings); i++) {
    g_autofree gchar *nvrtc = spell (spellings[i].text);

    fail_unless_equals_string (nvrtc, spellings[i].nvrtc);
  }
}

TEST (unknown_options_are_refused)
{
  static const gchar *const wrong[] = { "-o x", "x", "-D", "--std=c++03",
    "--maxrregcount=", "--maxrregcount=1x", "-include x.h", "-Xclang -load",
    "@file", "-", "--", "-DA 'open", "-fplugin=x.so" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (GError) error = NULL;

    fail_unless (
        gst_vkgdr_compile_options_new_from_string (wrong[i], &error) == NULL,
        "%s", wrong[i]);
    g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
  }
}
