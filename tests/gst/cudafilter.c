/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter.c: tests of the kernels that cudafilter runs, and of their
 * parameters: expressions, and parameters that are set, controlled or wrong
 */

#include <glib/gstdio.h>
#include <unistd.h>
#include <gst/check/gstharness.h>

#include "picture.h"
#include "folder.h"
#include "rig.h"
#include "slow.h"
#include "util.h"

/* --- pixels -------------------------------------------------------------- */

#define FORMATS_WIDTH 18
#define FORMATS_HEIGHT 6

static const gchar *const formats[] = { "RGBA", "BGRA", "RGB", "xRGB", "GRAY8",
  "GRAY16_LE", "NV12", "I420", "YUY2", "AYUV", "Y444", "P010_10LE",
  "I420_10LE" };
static const gchar *const ranges[] = { "bt709", "1:4:0:0" };

/* Runs an expression on noise of a format. The caller frees *@noise and the
 * result. */
static guint8 *
shade_noise (
    const gchar *pixel, guint index, GstVideoInfo *info, guint8 **noise)
{
  const gchar *format = formats[index % G_N_ELEMENTS (formats)];
  GstVideoFormat id = gst_video_format_from_string (format);
  const GstVideoFormatInfo *about = gst_video_format_get_info (id);
  GstCaps *caps;
  Picture picture;
  guint8 *out;
  Rig rig;

  gst_video_info_set_format (info, id, FORMATS_WIDTH, FORMATS_HEIGHT);
  if (GST_VIDEO_FORMAT_INFO_IS_YUV (about))
    gst_video_colorimetry_from_string (
        &info->colorimetry, ranges[index / G_N_ELEMENTS (formats)]);
  caps = gst_video_info_to_caps (info);
  *noise = g_malloc (GST_VIDEO_INFO_SIZE (info));
  test_fill (*noise, GST_VIDEO_INFO_SIZE (info), index);
  /* Sets the bits that the samples do not use to 0. */
  picture_read (&picture, info, *noise);
  picture_write (&picture, info, *noise);
  picture_clear (&picture);

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "pixel", pixel, NULL);
  gst_element_set_state (rig.harness->element, GST_STATE_PLAYING);
  gst_harness_set_src_caps (rig.harness, caps);
  out = rig_push (&rig, *noise, GST_VIDEO_INFO_SIZE (info));
  rig_clear (&rig);
  return out;
}

static Colour
inverted (gint x, gint y, gpointer user_data)
{
  Colour c = picture_colour_at (user_data, x, y);

  c.r = 1.0 - c.r;
  c.g = 1.0 - c.g;
  c.b = 1.0 - c.b;
  return c;
}

TEST_PARALLEL (2);

/* Inverting red, green and blue inverts luma, and negates colour differences,
 * in any format. */
TEST_LOOP (pixel_inverts,
    G_N_ELEMENTS (formats) * (test_is_slow () ? 1 : G_N_ELEMENTS (ranges)))
{
  GstVideoInfo info;
  g_autofree guint8 *noise = NULL, *wanted = NULL;
  g_autofree guint8 *out =
      shade_noise ("rgba.r = 1.0f - rgba.r;\n"
                   "rgba.g = 1.0f - rgba.g;\n"
                   "rgba.b = 1.0f - rgba.b // and alpha stays",
          __i__, &info, &noise);
  Picture from, to;

  picture_read (&from, &info, noise);
  picture_init (&to, &info);
  picture_render (&to, inverted, &from);
  wanted = g_malloc0 (GST_VIDEO_INFO_SIZE (&info));
  picture_write (&to, &info, wanted);
  fail_unless_equals_int (picture_count_differences (&info, out, wanted, 1), 0);
  picture_clear (&to);
  picture_clear (&from);
}

/* Colours that RGB cannot represent are not changed either. */
TEST_LOOP (pixel_leaves_what_it_does_not_change,
    G_N_ELEMENTS (formats) * (test_is_slow () ? 1 : G_N_ELEMENTS (ranges)))
{
  const gchar *nothing[] = { "", ";", "/* nothing */", "rgba.r += 0.0f;" };
  GstVideoInfo info;
  g_autofree guint8 *noise = NULL;
  g_autofree guint8 *out =
      shade_noise (nothing[__i__ % 4], __i__, &info, &noise);
  gsize i, size = GST_VIDEO_INFO_SIZE (&info);

  /* Only the padding of xRGB is changed: it is set to 255. */
  if (GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_xRGB)
    for (i = 0; i < size; i += 4)
      noise[i] = 255;
  fail_unless_equals_int (picture_count_differences (&info, out, noise, 0), 0);
}

/* Each name in the scope of the expression has the right value. */
TEST (pixel_scope)
{
  const guint8 black[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0 };
  guint8 *out;
  g_auto (Rig) rig = { 0 };
  guint i;

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "pixel",
      "rgba.r = (x + 10 * width) / 255.0f;\n"
      "rgba.g = (y + 10 * height) / 255.0f;\n"
      "rgba.b = (frame + 100.0f * time) / 255.0f;\n"
      "rgba.a = 1.0f",
      NULL);
  rig_start (&rig, "video/x-raw,format=RGBA,width=3,height=2,framerate=1/1");
  for (i = 0; i < 3; i++) {
    out = rig_push (&rig, black, sizeof (black));
    fail_unless_equals_int (out[0], 30);
    fail_unless_equals_int (out[1], 20);
    fail_unless_equals_int (out[20], 32);
    fail_unless_equals_int (out[21], 21);
    fail_unless_equals_int (out[2], 101 * i);
    fail_unless_equals_int (out[3], 255);
    g_free (out);
  }
}

TEST (pixel_params)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f");
  rig_set_params (&rig,
      "params,i=(int)-1,u=(uint)4000000000,l=(gint64)-5000000000,"
      "ul=(guint64)10000000000000000000,f=(float)0.5,d=(double)0.1,b=true");
  g_object_set (rig.filter, "pixel",
      "bool ok = i == -1 && u == 4000000000u && l == -5000000000ll\n"
      "    && ul == 10000000000000000000ull && f == 0.5f && d == 0.1 && b\n"
      "    && sizeof (i) == 4 && sizeof (l) == 8 && sizeof (f) == 4\n"
      "    && sizeof (d) == 8 && sizeof (b) == 1;\n"
      "rgba.r = ok ? 200 / 255.0f : 0.0f",
      NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 200);
  rig_assert_quiet (&rig);
}

static guint
count_files (const gchar *folder)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir))
    n++;
  g_dir_close (dir);
  return n;
}

/* New values need no compilation, but new names and types do. */
TEST (pixel_compiles_for_names_and_types)
{
  gchar *folder = g_dir_make_tmp ("vkgdr-cache-XXXXXX", NULL);
  Rig rig;
  guint n;

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  rig_init (&rig, "name=f");
  rig_set_params (&rig, "params,gain=(float)0.5");
  g_object_set (rig.filter, "pixel", "rgba.r *= gain", NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 50);
  n = count_files (folder);
  rig_set_params (&rig, "params,gain=(float)0.25");
  fail_unless_equals_int (rig_red (&rig), 25);
  fail_unless_equals_int (count_files (folder), n);
  rig_set_params (&rig, "params,gain=(int)2");
  fail_unless_equals_int (rig_red (&rig), 200);
  fail_unless_equals_int (count_files (folder), n + 1);
  rig_set_params (&rig, "params,gain=(int)2,more=(int)2");
  fail_unless_equals_int (rig_red (&rig), 200);
  fail_unless_equals_int (count_files (folder), n + 2);
  rig_assert_quiet (&rig);

  /* The expression does not have these names, so the last parameters stay in
   * use. */
  rig_set_params (&rig, "params,other=(int)1,more=(int)3");
  fail_unless_equals_int (rig_red (&rig), 200);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "pixel", "gain", NULL);
  rig_set_params (&rig, "params,gain=(int)1,more=(int)2");
  fail_unless_equals_int (rig_red (&rig), 100);
  rig_assert_quiet (&rig);
  rig_clear (&rig);
  folder_remove (folder);
}

static const struct {
  const gchar *params;
  const gchar *word;
} bad_names[] = {
  { "params,x=1", "\"x\"" },
  { "params,rgba=1.0", "\"rgba\"" },
  { "params,class=1", "\"class\"" },
  { "params,vkgdr_in=1", "\"vkgdr_in\"" },
  { "params,a-b=1", "letters" },
  { "params,s=(string)a", "only numbers" },
};

TEST_LOOP (pixel_refuses_names, G_N_ELEMENTS (bad_names))
{
  g_auto (Rig) rig = { 0 };
  gchar *params;

  rig_init (&rig, "name=f");
  rig_start (&rig, RGBA_2X1);
  g_object_set (rig.filter, "pixel", "rgba.r = 50 / 255.0f", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  rig_set_params (&rig, bad_names[__i__].params);
  rig_assert_message (
      &rig, GST_MESSAGE_WARNING, bad_names[__i__].word, "expression", NULL);
  params = rig_get_params (&rig);
  fail_unless (params == NULL, "%s", params);
  fail_unless_equals_int (rig_red (&rig), 50);
  rig_assert_quiet (&rig);
}

/* The message has the line of the user's text, and its column if the compiler
 * gives one. */
TEST (pixel_errors_have_lines)
{
  Rig rig;

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "pixel",
      "rgba.r = 0.0f;\n"
      "rgba.g = nonsense;\n",
      NULL);
  rig_assert_fails (&rig, "pixel", "2", "nonsense");
  rig_clear (&rig);

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "pixel", "\n\nrgba.g = nonsense", NULL);
  rig_assert_fails (&rig, test_is_software () ? "pixel:3:10" : "pixel(3)");
  rig_clear (&rig);

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "pixel",
      "} __global__ void other (VkgdrFrame in, VkgdrFrame out) {", NULL);
  rig_assert_fails (&rig, "pixel");
  rig_clear (&rig);
}

/* An expression can convert to another format, but not to another size. */
TEST (pixel_converts)
{
  const guint8 data[8] = { 100, 100, 100, 255, 20, 20, 20, 255 };
  guint8 gray[2];
  GstBuffer *buffer;
  Rig rig;

  rig_init (
      &rig, "pixel=rgba.r+=0.0f output-caps=video/x-raw,format=GRAY8,width=2");
  rig_start (&rig, RGBA_2X1);
  buffer = gst_harness_push_and_pull (
      rig.harness, gst_buffer_new_memdup (data, sizeof (data)));
  fail_unless (buffer != NULL);
  gst_buffer_extract (buffer, 0, gray, 2);
  fail_unless_equals_int (gray[0], 100);
  fail_unless_equals_int (gray[1], 20);
  gst_buffer_unref (buffer);
  rig_clear (&rig);

  rig_init (&rig, "pixel=rgba.r+=0.0f output-caps=video/x-raw,width=4");
  rig_start (&rig, RGBA_2X1);
  rig_assert_message (
      &rig, GST_MESSAGE_ERROR, "output-caps", "format", "changes only", NULL);
  rig_clear (&rig);
}

TEST (one_kernel_at_a_time)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f");
  g_object_set (
      rig.filter, "pixel", "rgba.r = 0", "location", "/none.cu", NULL);
  rig_assert_fails (&rig, "only one of", "pixel", "location");
}

/* --- changes of kernels and parameters ----------------------------------- */

/* If a kernel does not compile, there is a warning, and the last kernel stays
 * in use. If it compiles, it is used from the next frame on. */
TEST (kernel_changes_while_playing)
{
  gchar *source = NULL;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=invert");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 155);

  g_object_set (rig.filter, "source", "nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 155);
  rig_assert_message (
      &rig, GST_MESSAGE_WARNING, "source", "1", "nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 155);
  rig_assert_quiet (&rig); /* the warning comes only once */
  g_object_get (rig.filter, "source", &source, NULL);
  fail_unless_equals_string (source, "nonsense");
  g_free (source);

  g_object_set (rig.filter, "source", SEVEN, NULL);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (rig.filter, "source", NULL, "pixel", "rgba.r = nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 7);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "pixel", "nonsense", NULL);
  g_object_set (rig.filter, "pixel", "rgba.r = rgba.g", NULL);
  fail_unless_equals_int (rig_red (&rig), 60);
  g_object_set (rig.filter, "pixel", NULL, "location", "/nonexistent.cu", NULL);
  fail_unless_equals_int (rig_red (&rig), 60);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "/nonexistent.cu", NULL);
  g_object_set (rig.filter, "location", NULL, "kernel", "nosuch", NULL);
  fail_unless_equals_int (rig_red (&rig), 60);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "nosuch", "sobel", NULL);
  g_object_set (rig.filter, "kernel", "copy", NULL);
  fail_unless_equals_int (rig_red (&rig), 100);
  rig_assert_quiet (&rig);
}

/* Before the first frame, there is no kernel that could stay in use. */
TEST (kernel_fails_before_the_first_frame)
{
  Rig rig;

  rig_init (&rig, "kernel=copy");
  rig_start (&rig, RGBA_2X1);
  g_object_set (rig.filter, "source", "nonsense", NULL);
  fail_unless_equals_int (
      gst_harness_push (rig.harness, gst_buffer_new_allocate (NULL, 8, NULL)),
      GST_FLOW_ERROR);
  rig_assert_message (&rig, GST_MESSAGE_ERROR, "nonsense", NULL);
  rig_clear (&rig);

  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "source", ADD, NULL);
  rig_assert_fails (&rig, "own", "1 parameter", "has 0");
  rig_clear (&rig);
}

static void
assert_params (Rig *rig, const gchar *text)
{
  g_autoptr (GstStructure) wanted = gst_structure_from_string (text, NULL);
  g_autoptr (GstStructure) got = NULL;
  g_autofree gchar *params = NULL;

  test_settle (rig->filter);
  params = rig_get_params (rig);
  got = gst_structure_from_string (params, NULL);
  fail_unless (
      gst_structure_is_equal (got, wanted), "%s, not %s", params, text);
}

/* The parameters of an effect are known before the first frame. */
TEST (params_of_effects_are_checked)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=gain");
  rig_start (&rig, RGBA_2X1);
  assert_params (&rig, "params,gain=(float)1.0,offset=(float)0.0");
  rig_set_params (&rig, "params,gain=0.5");
  assert_params (&rig, "params,gain=(float)0.5,offset=(float)0.0");
  rig_assert_quiet (&rig);
  fail_unless_equals_int (rig_red (&rig), 50);
  rig_set_params (&rig, "params,contrast=2.0");
  rig_assert_message (
      &rig, GST_MESSAGE_WARNING, "gain", "\"contrast\"", "offset", NULL);
  assert_params (&rig, "params,gain=(float)0.5,offset=(float)0.0");
  fail_unless_equals_int (rig_red (&rig), 50);

  rig_set_params (&rig, "params,gain=(string)loud");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "\"gain\"", "float", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  rig_set_params (&rig, "params,gain=2");
  fail_unless_equals_int (rig_red (&rig), 200);
  rig_set_params (&rig, NULL);
  fail_unless_equals_int (rig_red (&rig), 100);
  rig_assert_quiet (&rig);
}

/* Before the first frame, wrong parameters are an error, either at the start or
 * with the frame. */
TEST (params_that_are_wrong_fail_the_start)
{
  Rig rig;

  rig_init (&rig, "kernel=gain");
  rig_set_params (&rig, "params,nosuch=1.0");
  rig_assert_fails (&rig, "gain", "nosuch");
  rig_clear (&rig);

  rig_init (&rig, "kernel=gain");
  rig_start (&rig, RGBA_2X1);
  rig_set_params (&rig, "params,nosuch=1.0");
  fail_unless_equals_int (
      gst_harness_push (rig.harness, gst_buffer_new_allocate (NULL, 8, NULL)),
      GST_FLOW_ERROR);
  rig_assert_message (&rig, GST_MESSAGE_ERROR, "gain", "nosuch", NULL);
  rig_clear (&rig);
}

/* The number and sizes of a kernel's parameters are known when it is loaded. */
TEST (params_of_own_kernels_are_checked)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f");
  rig_set_params (&rig, "params,n=20");
  g_object_set (rig.filter, "source", ADD, NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 120);
  rig_set_params (&rig, "params,n=(gint64)30");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "1 (n)", "own", NULL);
  assert_params (&rig, "params,n=20");
  rig_set_params (&rig, "params,n=30,m=30");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "own", "has 2", NULL);
  rig_set_params (&rig, NULL);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "own", "has 0", NULL);
  fail_unless_equals_int (rig_red (&rig), 120);
  rig_set_params (&rig, "params,n=40");
  fail_unless_equals_int (rig_red (&rig), 140);
  rig_assert_quiet (&rig);
}

/* A kernel and its parameters in one g_object_set() are one change, in any
 * order. */
TEST (kernel_and_params_change_together)
{
  g_autoptr (GstStructure) one = gst_structure_from_string ("params,n=1", NULL);
  g_autoptr (GstStructure) mix =
      gst_structure_from_string ("params,n=5,f=2.0", NULL);
  g_autoptr (GstStructure) gain =
      gst_structure_from_string ("params,gain=0.5", NULL);
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=invert");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 155);
  g_object_set (rig.filter, "params", gain, "kernel", "gain", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  g_object_set (rig.filter, "source", ADD, "params", one, NULL);
  assert_params (&rig, "params,n=1");
  fail_unless_equals_int (rig_red (&rig), 101);
  g_object_set (rig.filter, "params", mix, "source", MIX, NULL);
  fail_unless_equals_int (rig_red (&rig), 30);
  g_object_set (
      rig.filter, "params", gain, "source", NULL, "kernel", "gain", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  g_object_set (rig.filter, "kernel", "invert", "params", NULL, NULL);
  fail_unless_equals_int (rig_red (&rig), 155);
  rig_assert_quiet (&rig);
}

/* The kernel and its parameters are set one after the other, with frames in
 * between. The last pair stays in use. */
TEST (kernel_waits_for_its_params)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f");
  rig_set_params (&rig, "params,n=1");
  g_object_set (rig.filter, "source", ADD, NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 101);

  g_object_set (rig.filter, "source", MIX, NULL);
  fail_unless_equals_int (rig_red (&rig), 101);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "own", "2 param", NULL);
  rig_set_params (&rig, "params,n=2"); /* for the kernel that runs */
  fail_unless_equals_int (rig_red (&rig), 102);
  rig_assert_quiet (&rig);
  rig_set_params (&rig, "params,n=2,f=2.0"); /* for the kernel that waits */
  fail_unless_equals_int (rig_red (&rig), 24);
  rig_assert_quiet (&rig);
}

TEST (params_wait_for_their_kernel)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=gain params=params,gain=0.5");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 50);
  rig_set_params (&rig, "params,n=5");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "\"n\"", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  g_object_set (rig.filter, "source", ADD, NULL);
  fail_unless_equals_int (rig_red (&rig), 105);
  rig_assert_quiet (&rig);

  /* A kernel runs although other parameters were wrong before. */
  rig_set_params (&rig, "params,n=5,more=7,and=8");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "has 3", NULL);
  g_object_set (rig.filter, "source",
      KERNEL (", int n", "vkgdr_get (in, 0, x, y) - n"), NULL);
  fail_unless_equals_int (rig_red (&rig), 95);
  rig_assert_quiet (&rig);
}

/* A source may have comments that are not UTF-8. */
TEST (source_in_another_encoding)
{
  g_autofree gchar *path = NULL;
  gint fd = g_file_open_tmp ("vkgdr-XXXXXX.cu", &path, NULL);
  Rig rig;

  fail_unless (fd >= 0);
  close (fd);
  fail_unless (g_file_set_contents (path,
      "// Gr\xfc\xdf"
      "e\n" SEVEN,
      -1, NULL));
  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "location", path, NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 7);
  rig_clear (&rig);
  g_unlink (path);
}

/* Parameters that were set with a kernel that does not compile are used with
 * the next kernel. */
TEST (kernel_and_params_that_fail_together)
{
  g_autoptr (GstStructure) mix =
      gst_structure_from_string ("params,n=5,f=2.0", NULL);
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=gain params=params,gain=0.5");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 50);
  g_object_set (rig.filter, "source", "nonsense", "params", mix, NULL);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 50);
  assert_params (&rig, "params,gain=(float)0.5,offset=(float)0.0");
  g_object_set (rig.filter, "source", MIX, NULL);
  fail_unless_equals_int (rig_red (&rig), 30);
  assert_params (&rig, "params,n=5,f=2.0");
  rig_assert_quiet (&rig);
}

/* Parameters are kept when the element is stopped. */
TEST (params_outlive_a_stop)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=gain params=params,gain=0.5");
  rig_set_params (&rig, "params,gain=0.25");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 25);
  gst_element_set_state (rig.harness->element, GST_STATE_NULL);
  assert_params (&rig, "params,gain=(float)0.25,offset=(float)0.0");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 25);
}

typedef struct {
  GstElement *filter;
  gint stop;  /* atomic */
  guint8 red; /* the result with the last kernel and parameters */
} Setter;

static gpointer
set_all_the_time (gpointer user_data)
{
  const guint8 results[] = { 50, 25, 100 };
  Setter *setter = user_data;
  g_autoptr (GstStructure) gain =
      gst_structure_from_string ("params,gain=0.5", NULL);
  g_autoptr (GstStructure) less =
      gst_structure_from_string ("params,gain=0.25", NULL);
  guint i;

  for (i = 0; !g_atomic_int_get (&setter->stop); i++) {
    GstStructure *params = NULL;

    if (i % 3 == 0)
      g_object_set (setter->filter, "params", gain, "kernel", "gain", NULL);
    else if (i % 3 == 1)
      g_object_set (setter->filter, "params", less, NULL);
    else
      g_object_set (setter->filter, "kernel", "copy", "params", NULL, NULL);
    setter->red = results[i % 3];
    g_object_get (setter->filter, "params", &params, NULL);
    g_clear_pointer (&params, gst_structure_free);
    g_usleep (500);
  }
  return NULL;
}

/* Each frame is processed by a kernel with the parameters that belong to it,
 * however often both change. The frames do not wait until a change has taken
 * effect: on a slow machine, the next change is made before that. */
TEST (params_from_another_thread)
{
  Setter setter = { .red = 100 };
  GThread *thread;
  g_auto (Rig) rig = { 0 };
  guint i;

  rig_init (&rig, "kernel=copy");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 100);
  setter.filter = rig.filter;
  thread = g_thread_new ("setter", set_all_the_time, &setter);
  for (i = 0; i < (test_is_slow () ? 50 : 200); i++) {
    guint8 red = rig_red_now (&rig);

    fail_unless (red == 100 || red == 50 || red == 25, "%u", red);
  }
  g_atomic_int_set (&setter.stop, TRUE);
  g_thread_join (thread);
  fail_unless_equals_int (rig_red (&rig), setter.red);
  rig_assert_quiet (&rig);
}

/* A busy processor must not fail kernels of the software device. */
TEST (kernel_timeout)
{
  guint timeout;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=copy");
  rig_start (&rig, RGBA_2X1);
  g_object_get (rig.filter, "kernel-timeout", &timeout, NULL);
  fail_unless_equals_int (timeout, test_is_software () ? 0 : 10000);
  gst_element_set_state (rig.harness->element, GST_STATE_NULL);
  g_object_set (rig.filter, "kernel-timeout", 5000, NULL);
  rig_start (&rig, RGBA_2X1);
  g_object_get (rig.filter, "kernel-timeout", &timeout, NULL);
  fail_unless_equals_int (timeout, 5000);
}
