/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel.c: tests of kernels on frames, and of the errors of kernels
 *
 * The tests run on an NVIDIA GPU and on the software device.
 */

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <vkgdr/kernel.h>

#include "bytes.h"
#include "case.h"
#include "effects-reference.h"
#include "folder.h"
#include "frames.h"
#include "kernel/image.h"

static void
setup (void)
{
  folder_setup ();
  frame_setup ();
}

static void
teardown (void)
{
  frame_teardown ();
  folder_teardown ();
}

/* --- effects ------------------------------------------------------------- */

TEST_FIXTURE (setup, teardown);

TEST (planes_in_several_memories)
{
  g_autoptr (GstVkgdrKernel) kernel =
      frame_effect (frame_context, gst_effect_find ("invert"));
  g_autoptr (GstBuffer) in = gst_buffer_new (), out = gst_buffer_new ();
  g_autofree guint8 *noise = NULL, *wanted = NULL;
  GError *error = NULL;
  GstVideoInfo info;
  GstMapInfo map;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 64, 48);
  noise = frame_noise (&info);
  wanted = g_memdup2 (noise, info.size);
  effect_reference ("invert", &info, noise, wanted, NULL);
  for (i = 0; i < 3; i++) {
    const guint8 *plane = noise + info.offset[i];
    gsize size = (i < 2 ? info.offset[i + 1] : info.size) - info.offset[i];

    gst_buffer_append_memory (
        in, frame_memory_new (frame_context, plane, size));
    gst_buffer_append_memory (
        out, frame_memory_new (frame_context, plane, size));
  }
  frame_run (kernel, frame_stream, in, &info, out, &info, NULL, &error);
  g_assert_no_error (error);
  for (i = 0; i < 3; i++) {
    fail_unless (
        gst_memory_map (gst_buffer_peek_memory (out, i), &map, GST_MAP_READ));
    fail_unless (memcmp (map.data, wanted + info.offset[i], map.size) == 0);
    gst_memory_unmap (gst_buffer_peek_memory (out, i), &map);
  }
}

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
      frame_context, source, "test.cu", entry, NULL, error);
}

TEST_LOOP (sources, G_N_ELEMENTS (sources))
{
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel =
      from_source (sources[__i__].source, sources[__i__].entry, &error);

  if (!sources[__i__].found) {
    test_assert_error_says (&error, sources[__i__].code, sources[__i__].parts);
    return;
  }
  g_assert_no_error (error);
  test_assert_contains (
      gst_vkgdr_kernel_get_entry (kernel), sources[__i__].found);
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

TEST_LOOP (files, G_N_ELEMENTS (files))
{
  g_autofree gchar *path = g_build_filename (folder, "kernel.bin", NULL);
  g_autoptr (GstVkgdrKernel) kernel = NULL;
  GError *error = NULL;

  fail_unless (
      g_file_set_contents (path, files[__i__].data, files[__i__].size, NULL));
  kernel =
      gst_vkgdr_kernel_new_from_file (frame_context, path, NULL, NULL, &error);
  if (files[__i__].parts)
    test_assert_error_says (&error, GST_VKGDR_ERROR_IMAGE, files[__i__].parts);
  g_assert_no_error (error);
  fail_if (gst_vkgdr_kernel_new_from_file (
      frame_context, "/no/such/kernel.cu", NULL, NULL, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_NOT_FOUND, "");
}

TEST (ptx_text)
{
  const gchar *ptx =
      "// .entry not_this_one(\n.version 8.0\n.target sm_90\n"
      ".visible .entry first(\n\t.param .align 8 .b8 first_param_0[264],\n"
      "\t.param .align 8 .b8 first_param_1[264],\n"
      "\t.param .f32 first_param_2,\n\t.param .u64 .ptr .align 1 "
      "first_param_3,\n\t.param .u8 first_param_4\n)\n{\n\tret;\n}\n"
      ".pragma \"nounroll\"; .entry second()\n{\n\tret;\n}\n";
  const gsize wanted[] = { 264, 264, 4, 8, 1 };
  gchar **names = gst_vkgdr_image_list_ptx_entries (ptx);
  GArray *got = gst_vkgdr_image_read_ptx_params (ptx, "first", NULL);

  fail_unless_equals_int (g_strv_length (names), 2);
  fail_unless_equals_string (names[0], "first");
  fail_unless_equals_string (names[1], "second");
  fail_unless_equals_int (got->len, G_N_ELEMENTS (wanted));
  fail_unless (memcmp (got->data, wanted, sizeof (wanted)) == 0);
  g_array_unref (got);
  got = gst_vkgdr_image_read_ptx_params (ptx, "second", NULL);
  fail_unless_equals_int (got->len, 0);
  g_array_unref (got);
  fail_unless (gst_vkgdr_image_read_ptx_params (ptx, "third", NULL) == NULL);
  g_strfreev (names);
}

/* The size of a structure does not tell its alignment, and the alignment of
 * what a pointer refers to is not that of the pointer. */
TEST (ptx_offsets)
{
  const gchar *ptx =
      ".version 8.0\n.target sm_90\n.visible .entry k(\n"
      "\t.param .u64 .ptr .global .align 16 pointer,\n"
      "\t.param .align 8 .b8 frame[272],\n\t.param .u8 byte,\n"
      "\t.param .align 16 .b8 vector[16],\n\t.param .u8 other,\n"
      "\t.param .b16 shorts[4],\n\t.param .align 0 .b8 wrong[3],\n"
      "\t.param .align 1 .b8 packed[8]\n)\n{\n\tret;\n}\n";
  const gsize wanted[] = { 0, 8, 280, 288, 304, 306, 314, 317 };
  g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (gsize));
  g_autoptr (GArray) sizes =
      gst_vkgdr_image_read_ptx_params (ptx, "k", offsets);
  guint i;

  fail_unless_equals_int (sizes->len, G_N_ELEMENTS (wanted));
  fail_unless_equals_int (offsets->len, G_N_ELEMENTS (wanted));
  for (i = 0; i < offsets->len; i++)
    fail_unless_equals_uint64 (g_array_index (offsets, gsize, i), wanted[i]);
}

/* --- parameters ---------------------------------------------------------- */

/* @parts: of the error, or NULL: there must be none. */
static void
check_params (GstVkgdrKernel *kernel, const gchar *text, const gchar *parts)
{
  GstStructure *params = text ? gst_structure_from_string (text, NULL) : NULL;
  GError *error = NULL;
  gboolean ok = gst_vkgdr_kernel_check_params (kernel, params, &error);

  fail_unless (ok == !parts);
  if (parts)
    test_assert_error_says (&error, GST_VKGDR_ERROR_ARGUMENT, parts);
  g_assert_no_error (error);
  g_clear_pointer (&params, gst_structure_free);
}

TEST (params_are_checked)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = from_source (
      KERNEL ("k", ", float f, double d, int i, bool b, long long l"), NULL,
      &error);

  g_assert_no_error (error);
  check_params (kernel, "p,f=1.5,d=1.5,i=1,b=true,l=1", NULL);
  check_params (kernel,
      "p,f=(float)1.5,d=(float)1.5,i=(uint)1,b=(int)1,l=(gint64)1", NULL);
  check_params (kernel, NULL, "5 parameters");
  check_params (kernel, "p,f=1.5", "5 parameters");
  check_params (kernel, "p,f=1.5,d=1.5,i=1,b=true,l=1,more=1", "6");
  check_params (kernel, "p,f=(gint64)1,d=1.5,i=1,b=true,l=1", "1 (f)");
  check_params (kernel, "p,f=1.5,d=1.5,i=(string)one,b=true,l=1", "3 (i)");
  check_params (kernel, "p,f=1.5,d=1.5,i=1,b=1000,l=1", "4 (b)");
  check_params (kernel, "p,f=1.5,d=1.5,i=1,b=1.5,l=1", "4 (b)");
}

TEST (params_arrive)
{
  const gchar *source =
      "__global__ void k (VkgdrFrame in, VkgdrFrame out, float f, double d,\n"
      "    int i, bool b, long long l, unsigned char u)\n"
      "{\n"
      "  if (blockIdx.x || blockIdx.y || threadIdx.x || threadIdx.y) return;\n"
      "  vkgdr_put (out, 0, 0, 0, f == 1.5f);\n"
      "  vkgdr_put (out, 0, 1, 0, d == 2.5);\n"
      "  vkgdr_put (out, 0, 2, 0, i == -3);\n"
      "  vkgdr_put (out, 0, 3, 0, b);\n"
      "  vkgdr_put (out, 0, 4, 0, l == -4);\n"
      "  vkgdr_put (out, 0, 5, 0, u == 200);\n"
      "  vkgdr_put (out, 0, 6, 0, in.frame == 0 && in.time == 7);\n"
      "  vkgdr_put (out, 0, 7, 0, in.width == 8 && out.height == 2);\n"
      "}\n";
  g_autoptr (GstStructure) params = gst_structure_from_string (
      "p,f=1.5,d=(float)2.5,i=-3,b=true,l=-4,u=200", NULL);
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = from_source (source, NULL, &error);
  guint8 plain[16] = { 0 };
  g_autofree guint8 *got = NULL;
  GstVideoInfo info;
  guint i;

  g_assert_no_error (error);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 8, 2);
  got =
      frame_through (kernel, &info, plain, FALSE, &info, FALSE, FALSE, params);
  for (i = 0; i < 8; i++)
    fail_unless (got[i] == 1, "value %u did not arrive", i);
}

/* --- frames that do not fit ---------------------------------------------- */

static void
check_run_fails (
    GstBuffer *buffer, const GstVideoInfo *info, const gchar *parts)
{
  g_autoptr (GstVkgdrKernel) kernel =
      frame_effect (frame_context, gst_effect_find ("copy"));
  GError *error = NULL;

  fail_if (gst_vkgdr_kernel_run (
      kernel, frame_stream, buffer, info, buffer, info, 0, NULL, &error));
  test_assert_error_says (&error, GST_VKGDR_ERROR_ARGUMENT, parts);
  gst_buffer_unref (buffer);
}

/* A frame in ordinary memory, a plane that ends beyond its memory, and a size
 * that is not that of the caps. */
static const struct {
  gint width;
  gboolean is_short;
  const gchar *parts;
} bad_frames[] = {
  { 64, FALSE, "put vkgdrupload before it" },
  { 64, TRUE, "plane 2" },
  { 66, TRUE, "66x48" },
};

TEST_LOOP (frames_are_checked, G_N_ELEMENTS (bad_frames))
{
  GstVideoInfo info, caps;
  FrameLayout layout;
  GstBuffer *buffer;

  gst_video_info_set_format (
      &caps, GST_VIDEO_FORMAT_I420, bad_frames[__i__].width, 48);
  info = caps;
  if (bad_frames[__i__].is_short)
    gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 64, 48);
  layout = frame_layout (&info, FALSE);
  buffer = __i__ == 0 ? gst_buffer_new_allocate (NULL, info.size, NULL)
                      : frame_new (frame_context, &info, &layout, NULL);
  if (bad_frames[__i__].is_short) {
    layout.offset[2] += info.stride[2];
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_I420, 64, 48, 3, layout.offset, layout.stride);
  }
  check_run_fails (buffer, &caps, bad_frames[__i__].parts);
}

/* --- the cause of a failure ---------------------------------------------- */

TEST_FIXTURE (NULL, NULL);

/* cuInit () of the software driver reads SOFTCUDA_FAIL, so the variable is set
 * before frame_setup (). */
TEST (failed_driver_call_is_named)
{
  GError *error = NULL;

  g_setenv (
      "SOFTCUDA_FAIL", "cuFuncGetParamInfo:2:CUDA_ERROR_OUT_OF_MEMORY", TRUE);
  frame_setup ();
  if (gst_vkgdr_context_is_software (frame_context)) {
    fail_if (from_source (KERNEL ("k", ""), NULL, &error));
    test_assert_error_says (&error, GST_VKGDR_ERROR_NO_MEMORY,
        "cuFuncGetParamInfo|CUDA_ERROR_OUT_OF_MEMORY");
  }
  frame_teardown ();
}

TEST_FIXTURE (frame_setup, frame_teardown);

TEST (lack_of_descriptors_is_named)
{
  gchar elf[64] = "\177ELF\2\1\1";
  struct rlimit before, few = { 0, 0 };
  g_autoptr (GError) compiling = NULL, loading = NULL;
  g_autoptr (GBytes) image = g_bytes_new_static (elf, sizeof (elf));
  GstVkgdrKernel *kernel;
  GstVkgdrModule *module;

  fail_unless_equals_int (getrlimit (RLIMIT_NOFILE, &before), 0);
  few.rlim_max = before.rlim_max;
  fail_unless_equals_int (setrlimit (RLIMIT_NOFILE, &few), 0);
  kernel = from_source (KERNEL ("not_in_any_cache", ""), NULL, &compiling);
  module =
      gst_vkgdr_module_new_from_image (frame_context, image, NULL, &loading);
  fail_unless_equals_int (setrlimit (RLIMIT_NOFILE, &before), 0);
  fail_unless (kernel == NULL && module == NULL);
  fail_unless (strstr (compiling->message, "no file descriptors left")
                   || strstr (compiling->message, "Too many open files"),
      "%s", compiling->message);
  test_assert_contains (loading->message, "no file descriptors left");
}

/* No file can grow, as on a full disk. A check of the test writes a file, so
 * nothing is checked while the limit holds. */
TEST (full_disk_is_named)
{
  struct rlimit before, none = { 0, 0 };
  g_autoptr (GError) error = NULL;
  GstVkgdrKernel *kernel;
  gboolean ok;

  signal (SIGXFSZ, SIG_IGN);
  fail_unless_equals_int (getrlimit (RLIMIT_FSIZE, &before), 0);
  none.rlim_max = before.rlim_max;
  ok = setrlimit (RLIMIT_FSIZE, &none) == 0;
  kernel = from_source (KERNEL ("nowhere_to_write", ""), NULL, &error);
  ok = setrlimit (RLIMIT_FSIZE, &before) == 0 && ok;
  fail_unless (ok);
  if (kernel) { /* NVRTC needs no file, and a kernel can run without a cache */
    fail_if (gst_vkgdr_context_is_software (frame_context));
    gst_object_unref (kernel);
    return;
  }
  fail_unless (strstr (error->message, "no space left")
                   || strstr (error->message, "File too large"),
      "%s", error->message);
}
