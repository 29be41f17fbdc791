/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sources.c: tests of what the library reads in sources, images, options, files
 * and cache entries, without a device or a compiler
 */

#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "case.h"
#include "folder.h"
#include "slow.h"
#include "kernel/cache.h"
#include "kernel/file.h"
#include "kernel/image.h"
#include "kernel/options.h"
#include "kernel/source.h"

/* The longest time in which the library has to answer, in microseconds. */
#define LIMIT (G_USEC_PER_SEC / 2)

/* --- the scanner --------------------------------------------------------- */

/* Returns what the scanner finds in @text: the included names, each after a
 * space; then E for extern "C", T for template, N for no-extern-c, P for
 * in-place, C for an include whose name is a macro, and X if it is PTX. */
static gchar *
describe (const gchar *text)
{
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  /* No zero byte follows the text. */
  g_autoptr (GBytes) image =
      g_bytes_new_take (g_memdup2 (text, strlen (text)), strlen (text));
  GString *found = g_string_new (NULL);
  guint i;

  for (i = 0; i < source->includes->len; i++) {
    const GstVkgdrSourceInclude *include = source->includes->pdata[i];

    g_string_append_printf (
        found, include->is_quoted ? " \"%s\"" : " <%s>", include->name);
  }
  g_string_append_printf (found, "%s%s%s%s%s%s",
      source->has_extern_c ? "E" : "", source->has_template ? "T" : "",
      source->no_extern_c ? "N" : "", source->is_in_place ? "P" : "",
      source->has_computed_include ? "C" : "",
      gst_vkgdr_image_get_kind (image) == GST_VKGDR_IMAGE_PTX ? "X" : "");
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
  { "#include_next \"x.h\"\n/* */ # /* */ include /* */ <y>", " \"x.h\" <y>" },
  { "#if defined X && __has_include(<x.h>) \\\n  && __has_include (NAME)",
      " <x.h>C" },
  { "#include NAME(x)\n", "C" },
  { "#include \"x.h\n#include <y.h\n", "C" },
  { "// #include <x.h>\n/* #include <y.h>\n#include <z.h> */", "" },
  { "a #include <x.h>\n\"\n#include <y.h>\n", " <y.h>" },
  { "char *s = \"\\\"/*\"; \n#include <x.h>\n", " <x.h>" },
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
  { "/*", "" },
  { "#", "" },
  { "#include", "C" },
  { ".version 8.0\n.target sm_90\n", "X" },
  { "\n  .version 8.0 .target sm_90\n", "X" },
  { "//\n// Generated\n//\n\n.version 8.0\n.target sm_90\n", "X" },
  { "/* one\n two */ .version 8.0\n.target sm_90\n", "X" },
  { "int f (P p) { return p.version + p.target; }\n", "" },
  { "// .version 8.0\n// .target sm_90\nint a;\n", "" },
  { "P p = {\n  .version = 1,\n  .target = 2 };\n", "" },
  { "/* .version .target", "" },
};

TEST_FIXTURE (folder_setup, folder_teardown);

TEST_LOOP (scanner_finds, G_N_ELEMENTS (scans))
{
  g_autofree gchar *found = describe (scans[__i__].text);

  fail_unless_equals_string (found, scans[__i__].found);
}

/* Sources, and what a compiler sees of them, without blanks at the ends of
 * lines: lines keep their numbers, and #pragma vkgdr is removed. */
static const struct {
  const gchar *text, *made;
} texts[] = {
  { "int a;\n#pragma vkgdr tile 4x2\n # pragma vkgdr x\n#pragma unroll\nint b;",
      "int a;\n\n\n#pragma unroll\nint b;" },
  { "#pragma vkgdr in-place\r\nint a;\n", "\nint a;\n" },
  { "#pragma vkgdr in-place // one\nint a;",
      "                       // one\nint a;" },
  /* A comment does not end with its line. */
  { "#pragma vkgdr in-place /* one\n two */\nint a;",
      "                       /* one\n two */\nint a;" },
  /* It is no directive. */
  { "/*\n#pragma vkgdr in-place\n*/ int a;",
      "/*\n#pragma vkgdr in-place\n*/ int a;" },
  { "int a; #pragma vkgdr x\n", "int a; #pragma vkgdr x\n" },
  { "#pragma vkgdr_2 x\n", "#pragma vkgdr_2 x\n" },
  { "#pragma vkgdr", "" },
};

static gchar *
strip_lines (const gchar *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint i;

  for (i = 0; lines[i]; i++)
    g_strchomp (lines[i]);
  return g_strjoinv ("\n", lines);
}

TEST_LOOP (text_for_the_compiler, G_N_ELEMENTS (texts))
{
  GstVkgdrSource *source = gst_vkgdr_source_scan (texts[__i__].text);
  g_autofree gchar *made = gst_vkgdr_source_make_text (source, "a \"name\"");
  g_autofree gchar *stripped = strip_lines (made);
  g_autofree gchar *expected = g_strdup_printf ("#include \"vkgdr/nvcc.h\"\n"
                                                "#include \"vkgdr/kernel.h\"\n"
                                                "extern \"C\" {\n"
                                                "#line 1 \"a \\\"name\\\"\"\n"
                                                "%s\n}\n",
      texts[__i__].made);

  fail_unless_equals_string (stripped, expected);
  gst_vkgdr_source_free (source);
}

/* --- files --------------------------------------------------------------- */

static void
assert_is_not_read (const gchar *path, const gchar *why)
{
  g_autofree gchar *parts = g_strdup_printf ("%s|%s", why, path);
  gint64 start = test_cpu_time ();
  GError *error = NULL;

  fail_unless (gst_vkgdr_image_read (path, &error) == NULL);
  fail_unless (test_cpu_time () - start < test_limit (LIMIT));
  test_assert_error_says (&error, GST_VKGDR_ERROR_NOT_FOUND, parts);
  fail_unless (
      gst_vkgdr_kernel_list_include_files (path, NULL, &error) == NULL);
  test_assert_error (&error, GST_VKGDR_ERROR_NOT_FOUND);
}

TEST (files_are_refused)
{
  g_autofree gchar *pipe = g_build_filename (folder, "pipe", NULL);
  g_autofree gchar *large = folder_write ("large", "");

  fail_unless (mkfifo (pipe, 0600) == 0);
  fail_unless (truncate (large, 100 * 1024 * 1024) == 0);
  assert_is_not_read (pipe, "is not a regular file");
  assert_is_not_read ("/dev/zero", "is not a regular file");
  assert_is_not_read (folder, "Is a directory");
  assert_is_not_read ("/no/such/file", "No such file");
  assert_is_not_read (large, "is too large");
  /* The size is checked while the file is read, because files in /proc report
   * another size. */
  g_bytes_unref (gst_vkgdr_file_read ("/proc/self/stat", 4096, NULL));
  fail_unless (gst_vkgdr_file_read ("/proc/self/stat", 4, NULL) == NULL);
}

/* Headers are listed once, in the order in which a reader of the source meets
 * them. Those that include each other do no harm. */
TEST (include_files_are_listed_once)
{
  g_autofree gchar *source = folder_write ("a.cu",
      "#include \"a.h\"\n#include \"b/b.h\"\n#if 0\n#include \"c.h\"\n#endif\n"
      "#include \"a.h\"\n#include \"missing.h\"\n__global__ void k () {}\n");
  g_autofree gchar *a = folder_write ("a.h", "#include \"c.h\"\n");
  g_autofree gchar *b = folder_write ("b/b.h", "#include <a.h>\n");
  g_autofree gchar *c = folder_write ("c.h", "#include \"a.h\"\n");
  g_auto (GStrv) files = NULL;
  g_autofree gchar *found = NULL, *expected = NULL;
  GError *error = NULL;

  files = gst_vkgdr_kernel_list_include_files (source, NULL, &error);
  g_assert_no_error (error);
  found = g_strjoinv ("\n", files);
  expected = g_strjoin ("\n", a, b, c, NULL);
  fail_unless_equals_string (found, expected);
}

/* --- options ------------------------------------------------------------- */

/* Returns the words for NVRTC, and the folders of includes behind "|". If the
 * options are refused, returns NULL. */
static gchar *
spell (const gchar *text)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrCompileOptions) options =
      gst_vkgdr_compile_options_new_from_string (text, &error);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  if (!options) {
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
    return NULL;
  }
  g_assert_no_error (error);
  gst_vkgdr_options_append (options, words);
  g_ptr_array_add (words, g_strdup ("|"));
  gst_vkgdr_options_append_folders (options, words);
  g_ptr_array_add (words, NULL);
  return g_strjoinv (" ", (gchar **) words->pdata);
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
  /* Those for the host, for files and for another device have no effect. */
  { "-O3 -arch=sm_80 -Xcompiler -fPIC -Werror all-warnings -t4 -rdc=true -lm",
      "|" },
  { "-Xptxas -O3,-v --resource-usage -isystem /a -include b.h",
      "--ptxas-options=-O3 --ptxas-options=-v --ptxas-options=-v | /a" },
  { "-forward-unknown-to-host-compiler -fPIC", "|" },
  { "x" },
  { "-D" },
  { "--std=c++98" },
  { "--maxrregcount=" },
  { "--maxrregcount=1x" },
  { "-Xclang -load" },
  { "@file" },
  { "-" },
  { "-DA 'open" },
};

TEST_LOOP (options_are_translated, G_N_ELEMENTS (spellings))
{
  g_autofree gchar *nvrtc = spell (spellings[__i__].text);

  fail_unless_equals_string (nvrtc, spellings[__i__].nvrtc);
}

/* --- any bytes ----------------------------------------------------------- */

typedef void (*Use) (const guint8 *data, gsize size);

static guint
count_lines (const gchar *text)
{
  guint n = 0;

  for (; *text; text++)
    n += *text == '\n';
  return n;
}

static void
use_as_source (const guint8 *data, gsize size)
{
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  g_autofree gchar *made = gst_vkgdr_source_make_text (source, "a name");
  guint added = count_lines (made) - count_lines (text);

  /* The lines keep their numbers. Lines are added only in front and at the
   * end. */
  fail_unless (added >= 4 && added <= 6);
  fail_unless (source->tile_x >= 1 && source->tile_x < 100);
  fail_unless (source->tile_y >= 1 && source->tile_y < 100);
  gst_vkgdr_source_free (source);
}

static void
use_as_image (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) image = g_bytes_new_static (data, size);
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);
  g_auto (GStrv) entries = gst_vkgdr_image_list_ptx_entries (text);
  guint i;

  gst_vkgdr_image_get_kind (image);
  gst_vkgdr_image_is_complete (image);
  fail_if (gst_vkgdr_image_read_ptx_params (text, "missing", NULL));
  for (i = 0; entries[i] && i < 3; i++) {
    g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (gsize));
    g_autoptr (GArray) sizes =
        gst_vkgdr_image_read_ptx_params (text, entries[i], offsets);

    fail_unless (sizes != NULL && sizes->len == offsets->len);
  }
}

static void
use_as_options (const guint8 *data, gsize size)
{
  g_autofree gchar *text = g_strndup ((const gchar *) data, size);

  g_free (spell (text));
}

static gchar *
cache_entry (void)
{
  g_autofree gchar *hash =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, "a key", -1);

  return g_strdup_printf ("%s/%s.image", folder, hash);
}

/* A lookup finds the entry as it was stored, or does not find it. */
static void
use_as_cache_entry (const guint8 *data, gsize size)
{
  g_autofree gchar *path = cache_entry ();
  g_autoptr (GBytes) image = NULL;

  fail_unless (g_file_set_contents_full (
      path, (const gchar *) data, size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  image = gst_vkgdr_cache_lookup ("a key");
  if (image)
    fail_unless_equals_string (g_bytes_get_data (image, NULL), "an image");
}

static void
use_in_time (Use use, gconstpointer data, gsize size)
{
  gint64 start = test_cpu_time ();

  use (data, size);
  fail_unless (test_cpu_time () - start < test_limit (LIMIT));
}

/* If one of these strings is repeated, a scanner that reads text again would be
 * slow. */
static const gchar *const repeated[] = { "\n", " \n", " ", "\t#", "/", "/*",
  "\"", "'", "\\\n", "\\", "R\"(", "R\"a(b)", "extern ", "extern /**/", "# ",
  "#include", "#include <", "#include \"", "#pragma vkgdr ", "#pragma vkgdr",
  "__has_include", "__has_include (", "1'", "template\n", "(", "\xc3\xa4",
  ".entry ", ".entry k (", ".entry k (.param ", ".param .align", "//\n" };

/* The size is many times that of usual kernels. No time is checked under tools
 * that make the test slow. */
TEST_LOOP (scanner_is_linear, G_N_ELEMENTS (repeated))
{
  const gchar *unit = repeated[__i__];
  gsize size = test_limit (0) == 0 ? 512 * 1024 : 64 * 1024;
  g_autoptr (GString) text = g_string_new (".version .target ");

  while (text->len + strlen (unit) < size)
    g_string_append (text, unit);
  use_in_time (use_as_source, text->str, text->len);
  use_in_time (use_as_image, text->str, text->len);
}

/* Text that the parsers look for. */
static const gchar *const words[] = { "#include \"", "#include <", "/*", "*/",
  "//", "\"", "'", "R\"(", ")\"", "\\\n", "\n", "#pragma vkgdr tile 4x2\n",
  "#pragma vkgdr in-place", "extern \"C\"", "template", "__has_include (",
  ".entry ", ".param .align 8 .b8 a[264]", ",", "(", ")", "[", "]", ".version",
  ".target", "\177ELF", "\xc3", "\xff\xff\xff\xff", "-D", "-I", "=", " " };

static void
change (GRand *random, GString *data)
{
  static const guint64 numbers[] = { 0, 1, 0x7fff, 0xffff, 0x7fffffff,
    0xffffffff, G_MAXUINT64, 0x8000000000000000, 0xfffffffffffffff0 };
  gsize at = g_rand_int_range (random, 0, data->len + 1);
  guint which = g_rand_int (random);
  gsize size = MIN (which % 256, data->len - at);
  g_autofree gchar *part = g_memdup2 (data->str + at, size);

  switch (g_rand_int_range (random, 0, 5)) {
  case 0:
    if (size)
      data->str[at] ^= 1 << which % 8;
    break;
  case 1:
    memcpy (data->str + at, &numbers[which % G_N_ELEMENTS (numbers)],
        MIN (size, sizeof (guint64)));
    break;
  case 2:
    g_string_insert (data, at, words[which % G_N_ELEMENTS (words)]);
    break;
  case 3:
    g_string_erase (data, at, which & 256 ? (gssize) size : -1);
    break;
  default:
    g_string_insert_len (data, at, part, size);
  }
}

#define PTX \
  "// a comment .entry no (\n.version 8.0\n.target sm_90\n" \
  ".visible .entry first(\n\t.param .align 8 .b8 p0[264],\n" \
  "\t.param .u64 .ptr .global .align 1 p1,\n\t.param .f32 p2\n)\n" \
  "{\n\tret;\n}\n.entry second ()\n{\n\tret;\n}\n"
#define FATBIN "\x50\xed\x55\xba\1\0\x10\0\x20"

#define OPTIONS \
  "-DA=1 -U B --define-macro=C --std=c++17 -I/a --use_fast_math " \
  "--maxrregcount=32 -lineinfo 'D=\\'e'"

/* Good examples: texts, or without a size files. Any ELF file is good enough.
 * The last one is the file of the cache. */
static const struct {
  Use use;
  const gchar *text;
  gsize size;
} examples[] = {
  { use_as_source, "\n", 1 },
  { use_as_source, DOCS_FOLDER "/cudafilter.md" },
  { use_as_image, PTX, sizeof (PTX) },
  { use_as_image, FATBIN, sizeof (FATBIN) },
  { use_as_image, "/proc/self/exe" },
  { use_as_options, OPTIONS, sizeof (OPTIONS) - 1 },
  { use_as_cache_entry },
};

/* The random numbers are the same in each run. A slow machine tries fewer
 * changes. scripts/test --asan finds the most errors. */
TEST_LOOP (random_changes_do_no_harm, G_N_ELEMENTS (examples))
{
  gint64 end = g_get_monotonic_time () + 2 * G_TIME_SPAN_SECOND;
  g_autoptr (GBytes) image = g_bytes_new ("an image", sizeof ("an image"));
  g_autofree gchar *entry = cache_entry (), *file = NULL;
  const gchar *text = examples[__i__].text;
  gsize size = examples[__i__].size;
  guint i, n;

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  gst_vkgdr_cache_store ("a key", image);
  TEST_NEEDS (!text || size > 0 || g_file_test (text, G_FILE_TEST_EXISTS),
      "the source folder");
  if (size == 0) {
    fail_unless (g_file_get_contents (text ? text : entry, &file, &size, NULL));
    text = file;
  }
  for (i = 0; i < 4000 && g_get_monotonic_time () < end; i++) {
    g_autoptr (GRand) random = g_rand_new_with_seed (1000000 * __i__ + i);
    g_autoptr (GString) data = g_string_new_len (text, MIN (size, 65536));
    g_autofree guint8 *exact = NULL;

    for (n = g_rand_int_range (random, 1, 12); n > 0; n--)
      change (random, data);
    /* No byte follows, so that a sanitizer sees an access beyond the end. */
    exact = g_memdup2 (data->str, data->len);
    use_in_time (examples[__i__].use, exact ? exact : (guint8 *) "", data->len);
  }
  fail_unless (i > 20, "only %u changes in time", i);
}
