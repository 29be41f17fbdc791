/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel.c: tests of kernels on frames, and of the errors of kernels
 *
 * The tests run on an NVIDIA GPU and on the software device.
 */

#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utime.h>

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>
#include <vkgdr/kernel.h>

#include "bytes.h"
#include "case.h"
#include "effects-reference.h"
#include "frames.h"
#include "cudafilter/effects.h"
#include "kernel/image.h"

/* --- effects ------------------------------------------------------------- */

TEST_FIXTURE (frame_setup, frame_teardown);

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
    gsize end = i < 2 ? info.offset[i + 1] : info.size;

    gst_buffer_append_memory (
        in, frame_memory_new (
                frame_context, noise + info.offset[i], end - info.offset[i]));
    gst_buffer_append_memory (
        out, frame_memory_new (
                 frame_context, noise + info.offset[i], end - info.offset[i]));
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

TEST (effect_params)
{
  const GstEffect *gain = gst_effect_find ("gain");
  GstStructure *given, *params;
  GError *error = NULL;
  gfloat value;

  /* The parameters may have any order and number type. Missing ones have
   * defaults. */
  given = gst_structure_from_string ("params,offset=1", NULL);
  params = gst_effect_complete_params (gain, given, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (gst_structure_nth_field_name (params, 0), "gain");
  fail_unless (
      gst_structure_get (params, "offset", G_TYPE_FLOAT, &value, NULL));
  fail_unless_equals_float (value, 1.0f);
  gst_structure_free (params);
  gst_structure_free (given);

  given = gst_structure_from_string ("params,contrast=2.0", NULL);
  fail_unless (gst_effect_complete_params (gain, given, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
  g_clear_error (&error);
  gst_structure_free (given);

  given = gst_structure_from_string ("params,gain=(string)loud", NULL);
  fail_unless (gst_effect_complete_params (gain, given, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
  g_clear_error (&error);
  gst_structure_free (given);

  fail_unless (gst_effect_find ("no such effect") == NULL);
}

/* --- sources and images -------------------------------------------------- */

#define KERNEL(name, params) \
  "__global__ void " name " (VkgdrFrame in, VkgdrFrame out" params ") {}\n"

static GstVkgdrKernel *
from_source (const gchar *source, const gchar *entry, GError **error)
{
  return gst_vkgdr_kernel_new_from_source (
      frame_context, source, "test.cu", entry, NULL, error);
}

/* Fails unless the error has @code, and its message contains each of @words. */
static void
check_source_fails (const gchar *source, const gchar *entry, gint code,
    const gchar *const *words)
{
  g_autoptr (GError) error = NULL;
  guint i;

  fail_unless (from_source (source, entry, &error) == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, code);
  for (i = 0; words[i]; i++)
    fail_unless (strstr (error->message, words[i]) != NULL,
        "\"%s\" is not in: %s", words[i], error->message);
}

TEST (compile_error_shows_log)
{
  static const gchar *const words[] = { "test.cu", "3", "undeclared_thing",
    NULL };

  check_source_fails ("__global__ void\nk (VkgdrFrame in, VkgdrFrame out)\n"
                      "{ undeclared_thing = 1; }\n",
      NULL, GST_VKGDR_ERROR_COMPILE, words);
}

TEST (entries)
{
  static const gchar *const several[] = { "first", "second", "entry=", NULL };
  static const gchar *const missing[] = { "third", "first", "second", NULL };
  static const gchar *const none[] = { "no kernel", NULL };
  const gchar *two = KERNEL ("first", "") KERNEL ("second", "");
  GError *error = NULL;
  GstVkgdrKernel *kernel;

  check_source_fails (two, NULL, GST_VKGDR_ERROR_NOT_FOUND, several);
  check_source_fails (two, "third", GST_VKGDR_ERROR_NOT_FOUND, missing);
  check_source_fails ("__device__ int f () { return 0; }\n", NULL,
      GST_VKGDR_ERROR_NOT_FOUND, none);

  kernel = from_source (two, "second", &error);
  g_assert_no_error (error);
  fail_unless_equals_string (gst_vkgdr_kernel_get_entry (kernel), "second");
  gst_object_unref (kernel);

  kernel = from_source (KERNEL ("only", ""), NULL, &error);
  g_assert_no_error (error);
  fail_unless_equals_string (gst_vkgdr_kernel_get_entry (kernel), "only");
  gst_object_unref (kernel);
}

TEST (linkage)
{
  /* extern "C" around each of these sources would be an error. */
  static const gchar *const sources[] = {
    "template <typename T> __device__ T same (T v) { return v; }\n"
    "__global__ void k (VkgdrFrame in, VkgdrFrame out) { same (1); }\n",
    "extern \"C\" " KERNEL ("k", ""),
    "#pragma vkgdr no-extern-c\n"
    "__device__ int f (int v) { return v; }\n"
    "__device__ int f (float v) { return (int) v; }\n"
    "__global__ void k (VkgdrFrame in, VkgdrFrame out) { f (1.0f); }\n",
    "/* template, in a comment */ // extern \"C\"\n" KERNEL ("k", ""),
  };
  GError *error = NULL;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autoptr (GstVkgdrKernel) kernel = from_source (sources[i], "k", &error);

    g_assert_no_error (error);
  }
}

TEST (first_parameters_are_frames)
{
  static const gchar *const words[] = { "VkgdrFrame in", "kernel.h", NULL };

  check_source_fails ("__global__ void k (int *p, int n) {}\n", NULL,
      GST_VKGDR_ERROR_ARGUMENT, words);
  check_source_fails ("__global__ void k (VkgdrFrame in) {}\n", NULL,
      GST_VKGDR_ERROR_ARGUMENT, words);
}

static gchar *
write_temp (const gchar *name, const gchar *data, gssize size)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-kernel-XXXXXX", NULL);
  gchar *path = g_build_filename (folder, name, NULL);

  fail_unless (g_file_set_contents (path, data, size, NULL));
  return path;
}

static void
remove_temp (gchar *path)
{
  g_autofree gchar *folder = g_path_get_dirname (path);

  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
}

static void
check_file_fails (const gchar *data, gssize size, gint code, const gchar *word)
{
  gchar *path = write_temp ("kernel.bin", data, size);
  GError *error = NULL;

  fail_unless (
      gst_vkgdr_kernel_new_from_file (frame_context, path, NULL, NULL, &error)
      == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, code);
  fail_unless (strstr (error->message, word) != NULL, "\"%s\" is not in: %s",
      word, error->message);
  test_assert_contains (error->message, "kernel.bin");
  g_error_free (error);
  remove_temp (path);
}

TEST (files)
{
  const gchar ptx[] = ".version 8.0\n.target sm_200\n.address_size 64\n"
                      ".visible .entry k ()\n{\n ret;\n}\n";
  gchar noise[] = "\x93\xff\xfe not text at all \x81\x80";
  gchar elf[32] = "\177ELF\2\1\1";
  gchar fatbin[16] = "\x50\xed\x55\xba\1\0\x10\0\xff\xff";
  GError *error = NULL;
  GstVkgdrKernel *kernel;
  gchar *path;

  check_file_fails (ptx, -1, GST_VKGDR_ERROR_IMAGE, "compute capability");
  check_file_fails (noise, sizeof (noise), GST_VKGDR_ERROR_IMAGE,
      "neither CUDA source, PTX, cubin nor fatbin");
  check_file_fails ("", 0, GST_VKGDR_ERROR_IMAGE, "kernel.bin is empty");
  check_file_fails (elf, sizeof (elf), GST_VKGDR_ERROR_IMAGE, "truncated");
  check_file_fails (
      fatbin, sizeof (fatbin), GST_VKGDR_ERROR_IMAGE, "truncated");
  fail_unless (gst_vkgdr_kernel_new_from_file (
                   frame_context, "/no/such/kernel.cu", NULL, NULL, &error)
               == NULL);
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND);
  g_clear_error (&error);

  /* The kind of a file follows from its content, not from its name. */
  path = write_temp ("kernel.ptx", KERNEL ("k", ""), -1);
  kernel =
      gst_vkgdr_kernel_new_from_file (frame_context, path, NULL, NULL, &error);
  g_assert_no_error (error);
  gst_object_unref (kernel);
  remove_temp (path);
}

/* @word: a part of the error, or NULL: there must be none. */
static void
check_params (GstVkgdrKernel *kernel, const gchar *text, const gchar *word)
{
  GstStructure *params = text ? gst_structure_from_string (text, NULL) : NULL;
  GError *error = NULL;
  gboolean ok = gst_vkgdr_kernel_check_params (kernel, params, &error);

  fail_unless (ok == (error == NULL));
  if (!word) {
    g_assert_no_error (error);
  } else {
    g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
    fail_unless (strstr (error->message, word) != NULL, "\"%s\" is not in: %s",
        word, error->message);
  }
  g_clear_error (&error);
  g_clear_pointer (&params, gst_structure_free);
}

TEST (file_includes_its_neighbour)
{
  gchar *path =
      write_temp ("kernel.cu", "#include \"neighbour.h\"\nNEIGHBOUR (k)\n", -1);
  gchar *folder = g_path_get_dirname (path);
  gchar *header = g_build_filename (folder, "neighbour.h", NULL);
  GError *error = NULL;
  GstVkgdrKernel *kernel;
  guint i;

  /* A changed header is noticed, although images are cached. */
  for (i = 1; i <= 2; i++) {
    g_autofree gchar *text =
        g_strdup_printf ("#define NEIGHBOUR(name) __global__ void "
                         "name (VkgdrFrame in, VkgdrFrame out%s) {}\n",
            i == 2 ? ", int more" : "");

    fail_unless (g_file_set_contents (header, text, -1, NULL));
    kernel =
        gst_vkgdr_kernel_new_from_file (frame_context, path, "k", NULL, &error);
    g_assert_no_error (error);
    check_params (kernel, i == 2 ? "p,more=1" : NULL, NULL);
    gst_object_unref (kernel);
  }
  g_unlink (header);
  g_free (header);
  g_free (folder);
  remove_temp (path);
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

TEST (params_are_checked)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = NULL;

  kernel = from_source (
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
  g_autoptr (GstBuffer) in = NULL, out = NULL;
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = NULL;
  GstVideoInfo info;
  FrameLayout layout;
  g_autofree guint8 *got = NULL;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 8, 2);
  layout = frame_layout (&info, FALSE);
  in = frame_new (frame_context, &info, &layout, NULL);
  out = frame_new (frame_context, &info, &layout, NULL);
  GST_BUFFER_PTS (in) = 7;
  kernel = from_source (source, NULL, &error);
  g_assert_no_error (error);
  frame_run (kernel, frame_stream, in, &info, out, &info, params, &error);
  g_assert_no_error (error);
  got = frame_read (&info, &layout, out);
  for (i = 0; i < 8; i++)
    fail_unless (got[i] == 1, "value %u did not arrive", i);
}

/* --- frames that do not fit ---------------------------------------------- */

static void
check_run_fails (GstVkgdrKernel *kernel, GstBuffer *buffer,
    const GstVideoInfo *info, const gchar *word)
{
  g_autoptr (GError) error = NULL;

  fail_if (gst_vkgdr_kernel_run (
      kernel, frame_stream, buffer, info, buffer, info, 0, NULL, &error));
  g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (strstr (error->message, word) != NULL, "\"%s\" is not in: %s",
      word, error->message);
  gst_buffer_unref (buffer);
}

TEST (frames_are_checked)
{
  g_autoptr (GstVkgdrKernel) kernel =
      frame_effect (frame_context, gst_effect_find ("copy"));
  GstBuffer *buffer;
  GstVideoInfo info;
  FrameLayout layout;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 64, 48);
  check_run_fails (kernel, gst_buffer_new_allocate (NULL, info.size, NULL),
      &info, "put vkgdrupload before it");

  /* A plane that ends beyond its memory. */
  layout = frame_layout (&info, FALSE);
  layout.meta = TRUE;
  layout.offset[2] += info.stride[2];
  buffer = gst_buffer_new ();
  {
    guint8 *zero = g_malloc0 (layout.size);

    gst_buffer_append_memory (
        buffer, frame_memory_new (frame_context, zero, layout.size));
    g_free (zero);
  }
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_I420, 64, 48, 3, layout.offset, layout.stride);
  check_run_fails (kernel, gst_buffer_ref (buffer), &info, "plane 2");

  /* A frame that does not have the format of the caps. */
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 66, 48);
  check_run_fails (kernel, buffer, &info, "66x48");

  /* Formats with tiles and with a palette. */
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12_64Z32, 64, 48);
  layout = frame_layout (&info, FALSE);
  check_run_fails (kernel, frame_new (frame_context, &info, &layout, NULL),
      &info, "NV12_64Z32");
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGB8P, 48, 48);
  layout = frame_layout (&info, FALSE);
  check_run_fails (
      kernel, frame_new (frame_context, &info, &layout, NULL), &info, "RGB8P");
}

/* --- the cache ----------------------------------------------------------- */

/* Returns the names of all entries. The caller unrefs the table. */
static GHashTable *
list_entries (const gchar *folder)
{
  GHashTable *known =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  fail_unless (dir != NULL);
  while ((name = g_dir_read_name (dir)))
    g_hash_table_add (known, g_strdup (name));
  g_dir_close (dir);
  return known;
}

/* Returns the entry that is not in @known, and adds it to @known. */
static gchar *
find_new_entry (const gchar *folder, GHashTable *known)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  gchar *found = NULL;

  fail_unless (dir != NULL);
  while ((name = g_dir_read_name (dir)))
    if (!g_hash_table_contains (known, name)) {
      fail_unless (found == NULL, "two new entries");
      found = g_build_filename (folder, name, NULL);
      g_hash_table_add (known, g_strdup (name));
    }
  g_dir_close (dir);
  return found;
}

static void
make_and_drop (const gchar *source, const gchar *entry)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = from_source (source, NULL, &error);

  g_assert_no_error (error);
  fail_unless_equals_string (gst_vkgdr_kernel_get_entry (kernel), entry);
}

static void
copy_file (const gchar *from, const gchar *to)
{
  g_autofree gchar *data = NULL;
  gsize size;

  fail_unless (g_file_get_contents (from, &data, &size, NULL));
  fail_unless (g_file_set_contents (to, data, size, NULL));
}

static void
check_broken_entry (const gchar *path, gsize at, gboolean truncate)
{
  gchar *good, *data;
  gsize good_size, size;

  fail_unless (g_file_get_contents (path, &good, &good_size, NULL));
  data = g_memdup2 (good, good_size);
  data[at] ^= 0x55;
  fail_unless (
      g_file_set_contents (path, data, truncate ? at : good_size, NULL));
  g_free (data);
  make_and_drop (KERNEL ("one", ""), "one");
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  fail_if (size == at && truncate, "a broken entry was not replaced");
  fail_unless (
      truncate || data[at] == good[at], "a broken entry was not replaced");
  g_free (data);
  g_free (good);
}

/* A new entry replaces an old one if both together are too large. */
static void
check_bound (const gchar *folder)
{
  struct utimbuf long_ago = { 1000000000, 1000000000 };
  g_autofree gchar *hash =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, "old", -1);
  g_autofree gchar *old = g_strdup_printf ("%s/%s.image", folder, hash);
  g_autoptr (GHashTable) known = NULL;
  g_autofree gchar *new = NULL;

  /* An empty file takes no room on the disk. */
  fail_unless (g_file_set_contents (old, "", 0, NULL));
  fail_unless_equals_int (truncate (old, 256 * 1024 * 1024), 0);
  fail_unless_equals_int (g_utime (old, &long_ago), 0);

  known = list_entries (folder);
  make_and_drop (KERNEL ("three", ""), "three");
  new = find_new_entry (folder, known);
  fail_unless (new != NULL);
  fail_if (g_file_test (old, G_FILE_TEST_EXISTS), "the cache has no bound");

  g_unlink (new);
}

static void
remove_entries (const gchar *folder)
{
  GHashTable *known = list_entries (folder);
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, known);
  while (g_hash_table_iter_next (&iter, &name, NULL)) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);

    g_unlink (path);
  }
  g_hash_table_unref (known);
  fail_unless_equals_int (g_rmdir (folder), 0);
}

TEST (cache)
{
  g_autofree gchar *folder = g_dir_make_tmp ("vkgdr-cache-XXXXXX", NULL);
  g_autoptr (GHashTable) known = NULL;
  g_autofree gchar *one = NULL, *two = NULL,
                   *spare = g_build_filename (folder, "spare", NULL);

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  make_and_drop (KERNEL ("zero", ""), "zero");
  known = list_entries (folder);
  make_and_drop (KERNEL ("one", ""), "one");
  one = find_new_entry (folder, known);
  fail_unless (one != NULL);
  make_and_drop (KERNEL ("two", ""), "two");
  two = find_new_entry (folder, known);
  fail_unless (two != NULL);

  /* The file of kernel one gets the image of kernel two: if this image is
   * loaded, the compiler was not used. */
  copy_file (one, spare);
  copy_file (two, one);
  make_and_drop (KERNEL ("one", ""), "two");
  copy_file (spare, one);
  make_and_drop (KERNEL ("one", ""), "one");

  check_broken_entry (one, 0, FALSE);
  check_broken_entry (one, 10, FALSE);
  check_broken_entry (one, 20, FALSE);
  check_broken_entry (one, 300, FALSE);
  check_broken_entry (one, 300, TRUE);
  check_broken_entry (one, 5, TRUE);
  check_broken_entry (one, 0, TRUE);

  check_bound (folder);

  /* A folder that cannot be created is not an error. */
  g_setenv ("VKGDR_CACHE_DIR", "/dev/null/cache", TRUE);
  make_and_drop (KERNEL ("one", ""), "one");

  g_unlink (spare);
  remove_entries (folder);
}

/* --- the cause of a failure ---------------------------------------------- */

TEST_FIXTURE (NULL, NULL);

/* cuInit () of the software driver reads SOFTCUDA_FAIL, so the variable is set
 * before frame_setup (). */
TEST (failed_driver_call_is_named)
{
  static const gchar *const words[] = { "cuFuncGetParamInfo",
    "CUDA_ERROR_OUT_OF_MEMORY", NULL };

  g_setenv (
      "SOFTCUDA_FAIL", "cuFuncGetParamInfo:2:CUDA_ERROR_OUT_OF_MEMORY", TRUE);
  frame_setup ();
  if (gst_vkgdr_context_is_software (frame_context))
    check_source_fails (
        KERNEL ("k", ""), NULL, GST_VKGDR_ERROR_NO_MEMORY, words);
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
