/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel.c: tests of the errors of kernels, and of what the library reads in
 * their images
 */

#include <signal.h>
#include <sys/resource.h>

#include "folder.h"
#include "util.h"
#include "kernel/image.h"

TEST_FIXTURE (test_setup, test_teardown);

/* --- sources and images -------------------------------------------------- */

#define KERNEL(name, params) \
  "__global__ void " name " (VkgdrFrame in, VkgdrFrame out" params ") {}\n"
#define TWO KERNEL ("first", "") KERNEL ("second", "")

static const struct {
  const gchar *source, *entry;
  const gchar
      *found; /* the entry of the kernel, or NULL if there is an error */
  gint code;
  const gchar *parts;
} sources[] = {
  { KERNEL ("only", ""), NULL, "only" },
  { TWO, "second", "second" },
  { TWO, NULL, NULL, GST_VKGDR_ERROR_NOT_FOUND, "first|second|entry=" },
  { TWO, "third", NULL, GST_VKGDR_ERROR_NOT_FOUND, "third|first|second" },
  { "__device__ int f () { return 0; }\n", NULL, NULL,
      GST_VKGDR_ERROR_NOT_FOUND, "no kernel" },
  { "__global__ void k (int *p, int n) {}\n", NULL, NULL,
      GST_VKGDR_ERROR_ARGUMENT, "VkgdrFrame in|kernel.h" },
  { "__global__ void k (VkgdrFrame in) {}\n", NULL, NULL,
      GST_VKGDR_ERROR_ARGUMENT, "VkgdrFrame in|kernel.h" },
  /* the log */
  { "__global__ void\nk (VkgdrFrame in, VkgdrFrame out)\n"
    "{ undeclared_thing = 1; }\n",
      NULL, NULL, GST_VKGDR_ERROR_COMPILE, "test.cu|3|undeclared_thing" },
  /* extern "C" around each of these sources would be an error. */
  { "template <typename T> __device__ T same (T v) { return v; }\n"
    "__global__ void k (VkgdrFrame in, VkgdrFrame out) { same (1); }\n",
      "k", "k" },
  { "extern \"C\" " KERNEL ("k", ""), "k", "k" },
  { "#pragma vkgdr no-extern-c\n"
    "__device__ int f (int v) { return v; }\n"
    "__device__ int f (float v) { return (int) v; }\n"
    "__global__ void k (VkgdrFrame in, VkgdrFrame out) { f (1.0f); }\n",
      "k", "k" },
  { "/* template, in a comment */ // extern \"C\"\n" KERNEL ("k", ""), "k",
      "k" },
};

static GstVkgdrKernel *
from_source (const gchar *source, const gchar *entry, GError **error)
{
  return gst_vkgdr_kernel_new_from_source (
      test_context, source, "test.cu", entry, NULL, error);
}

TEST (sources)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sources); i++) {
    GError *error = NULL;
    g_autoptr (GstVkgdrKernel) kernel =
        from_source (sources[i].source, sources[i].entry, &error);

    if (sources[i].found)
      test_assert_contains (
          gst_vkgdr_kernel_get_entry (kernel), sources[i].found);
    else
      test_assert_error_says (&error, sources[i].code, sources[i].parts);
    g_assert_no_error (error);
  }
}

/* The kind of a file follows from its content, not from its name. */
static const struct {
  const gchar *data;
  gssize size;
  const gchar *parts; /* of the error, or NULL if the file has a kernel */
} files[] = {
  { KERNEL ("k", ""), -1, NULL },
  { ".version 8.0\n.target sm_200\n.address_size 64\n"
    ".visible .entry k ()\n{\n ret;\n}\n",
      -1, "kernel.bin|compute capability" },
  { "\x93\xff\xfe not text at all \x81\x80", -1,
      "kernel.bin|neither CUDA source, PTX, cubin nor fatbin" },
  { "", 0, "kernel.bin is empty" },
  { "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, "kernel.bin|truncated" },
  { "\x50\xed\x55\xba\1\0\x10\0\xff\xff\0\0\0\0\0\0", 16,
      "kernel.bin|truncated" },
};

TEST (files)
{
  g_autofree gchar *path = NULL;
  GError *error = NULL;
  guint i;

  folder_setup ();
  path = g_build_filename (folder, "kernel.bin", NULL);
  fail_if (
      gst_vkgdr_kernel_new_from_file (test_context, path, NULL, NULL, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_NOT_FOUND, "");
  for (i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (GstVkgdrKernel) kernel = NULL;

    g_file_set_contents (path, files[i].data, files[i].size, NULL);
    kernel =
        gst_vkgdr_kernel_new_from_file (test_context, path, NULL, NULL, &error);
    if (files[i].parts)
      test_assert_error_says (&error, GST_VKGDR_ERROR_IMAGE, files[i].parts);
    g_assert_no_error (error);
  }
  folder_teardown ();
}

/* Returns the entries, each with the offsets and sizes of its parameters. */
static gchar *
describe_ptx (const gchar *ptx)
{
  g_auto (GStrv) names = gst_vkgdr_image_list_ptx_entries (ptx);
  GString *text = g_string_new (NULL);
  guint i, k;

  for (i = 0; names[i]; i++) {
    g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (gsize));
    g_autoptr (GArray) sizes =
        gst_vkgdr_image_read_ptx_params (ptx, names[i], offsets);

    g_string_append_printf (text, "%s%s:", i ? ", " : "", names[i]);
    for (k = 0; k < sizes->len; k++)
      g_string_append_printf (text, " %zu+%zu",
          g_array_index (offsets, gsize, k), g_array_index (sizes, gsize, k));
  }
  return g_string_free (text, FALSE);
}

/* The size of a structure does not tell its alignment, and the alignment of
 * what a pointer refers to is not that of the pointer. */
TEST (ptx_text)
{
  const gchar *ptx =
      "// .entry not_this_one(\n.version 8.0\n.target sm_90\n"
      ".visible .entry first(\n\t.param .align 8 .b8 first_param_0[264],\n"
      "\t.param .align 8 .b8 first_param_1[264],\n"
      "\t.param .f32 first_param_2,\n\t.param .u64 .ptr .align 1 "
      "first_param_3,\n\t.param .u8 first_param_4\n)\n{\n\tret;\n}\n"
      ".pragma \"nounroll\"; .entry second()\n{\n\tret;\n}\n"
      ".visible .entry k(\n"
      "\t.param .u64 .ptr .global .align 16 pointer,\n"
      "\t.param .align 8 .b8 frame[272],\n\t.param .u8 byte,\n"
      "\t.param .align 16 .b8 vector[16],\n\t.param .u8 other,\n"
      "\t.param .b16 shorts[4],\n\t.param .align 0 .b8 wrong[3],\n"
      "\t.param .align 1 .b8 packed[8]\n)\n{\n\tret;\n}\n";
  g_autofree gchar *found = describe_ptx (ptx);

  fail_unless_equals_string (found,
      "first: 0+264 264+264 528+4 536+8 544+1, second:, "
      "k: 0+8 8+272 280+1 288+16 304+1 306+8 314+3 317+8");
  fail_unless (gst_vkgdr_image_read_ptx_params (ptx, "third", NULL) == NULL);
}

/* --- the cause of a failure ---------------------------------------------- */

/* A resource is limited to nothing: file descriptors, or the size of files, as
 * on a full disk. A check of the test writes a file, so nothing is checked
 * while the limit holds. */
static const struct {
  int resource;
  const gchar *source, *explained, *by_compiler;
} shortages[] = {
  { RLIMIT_NOFILE, KERNEL ("no_descriptor", ""), "no file descriptors left",
      "Too many open files" },
  { RLIMIT_FSIZE, KERNEL ("no_space", ""), "no space left", "File too large" },
};

TEST_LOOP (shortage_is_named, G_N_ELEMENTS (shortages))
{
  gchar elf[64] = "\177ELF\2\1\1";
  g_autoptr (GError) compiling = NULL, loading = NULL;
  g_autoptr (GBytes) image = g_bytes_new_static (elf, sizeof (elf));
  g_autoptr (GstVkgdrKernel) kernel = NULL;
  struct rlimit before, none = { 0, 0 };
  int resource = shortages[__i__].resource;
  gboolean ok;

  signal (SIGXFSZ, SIG_IGN);
  fail_unless_equals_int (getrlimit (resource, &before), 0);
  none.rlim_max = before.rlim_max;
  ok = setrlimit (resource, &none) == 0;
  kernel = from_source (shortages[__i__].source, NULL, &compiling);
  gst_vkgdr_module_new_from_image (test_context, image, NULL, &loading);
  ok = setrlimit (resource, &before) == 0 && ok;
  fail_unless (ok);
  if (resource == RLIMIT_NOFILE)
    test_assert_contains (loading->message, shortages[__i__].explained);
  /* NVRTC needs no file, and a kernel can run without a cache. */
  if (!kernel)
    fail_unless (
        strstr (compiling->message, shortages[__i__].explained)
            || strstr (compiling->message, shortages[__i__].by_compiler),
        "%s", compiling->message);
  else
    fail_if (gst_vkgdr_context_is_software (test_context));
}
