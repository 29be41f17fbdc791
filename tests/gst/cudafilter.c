/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter.c: tests of the kernels that cudafilter runs, and of their
 * parameters: expressions, and parameters that are set, controlled or wrong
 */

#include <glib/gstdio.h>

#include "picture.h"
#include "rig.h"
#include "slow.h"

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

/* --- steps --------------------------------------------------------------- */

TEST_FIXTURE (folder_setup, folder_teardown);

/* Each name in the scope of the expression has the right value. */
TEST (pixel_scope)
{
  const guint8 black[24] = { 0 };
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
    g_autofree guint8 *out = rig_push (&rig, black, sizeof (black));
    const guint8 first[] = { 30, 20, 101 * i, 255 }, last[] = { 32, 21 };

    fail_unless (memcmp (out, first, 4) == 0 && memcmp (out + 20, last, 2) == 0,
        "frame %u", i);
  }
}

TEST (pixel_params)
{
  RIG_PLAY (
      { SET ("params",
            "params,i=(int)-1,u=(uint)4000000000,l=(gint64)-5000000000,"
            "ul=(guint64)10000000000000000000,f=(float)0.5,d=(double)0.1,"
            "b=true",
            "pixel",
            "bool ok = i == -1 && u == 4000000000u && l == -5000000000ll\n"
            "    && ul == 10000000000000000000ull && f == 0.5f && d == 0.1\n"
            "    && b && sizeof (i) == 4 && sizeof (l) == 8\n"
            "    && sizeof (f) == 4 && sizeof (d) == 8 && sizeof (b) == 1;\n"
            "rgba.r = ok ? 200 / 255.0f : 0.0f"),
          .red = 200 });
}

static guint
count_files (void)
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
  static const struct {
    Step step;
    guint n_compilations; /* in this step */
  } rows[] = {
    { { SET ("params", "params,gain=(float)0.5", "pixel", "rgba.r *= gain"),
          .red = 50 },
        1 },
    { { SET ("params", "params,gain=(float)0.25"), .red = 25 }, 0 },
    { { SET ("params", "params,gain=(int)2"), .red = 200 }, 1 },
    { { SET ("params", "params,gain=(int)2,more=(int)2"), .red = 200 }, 1 },
    /* The expression does not have these names, so the last parameters stay in
     * use. */
    { { SET ("params", "params,other=(int)1,more=(int)3"), .red = 200,
          .warns = "pixel|gain" },
        0 },
    { { SET ("params", "params,gain=(int)1,more=(int)2"), .red = 100 }, 0 },
  };
  g_auto (Rig) rig = { 0 };
  guint i, n = 0;

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  rig_init (&rig, "name=f");
  for (i = 0; i < G_N_ELEMENTS (rows); i++) {
    rig_step (&rig, &rows[i].step);
    /* The first compilation also leaves what it needs itself. */
    if (i > 0)
      fail_unless_equals_int (count_files (), n + rows[i].n_compilations);
    n = count_files ();
  }
}

static const struct {
  const gchar *params, *words;
} bad_names[] = {
  { "params,x=1", "\"x\"|expression" },
  { "params,rgba=1.0", "\"rgba\"|expression" },
  { "params,class=1", "\"class\"|expression" },
  { "params,vkgdr_in=1", "\"vkgdr_in\"|expression" },
  { "params,a-b=1", "letters|expression" },
  { "params,s=(string)a", "only numbers|expression" },
};

TEST_LOOP (pixel_refuses_names, G_N_ELEMENTS (bad_names))
{
  const Step steps[] = {
    { SET ("pixel", "rgba.r = 50 / 255.0f"), .red = 50 },
    { SET ("params", bad_names[__i__].params), .red = 50,
        .warns = bad_names[__i__].words },
    { .red = 50 },
  };

  rig_play (steps, G_N_ELEMENTS (steps));
}

/* The message has the line of the user's text, and its column if the compiler
 * gives one. */
TEST (pixel_errors_have_lines)
{
  const Step column = { SET ("pixel", "\n\nrgba.g = nonsense"),
    .fails = test_is_software () ? "pixel:3:10" : "pixel(3)" };

  RIG_PLAY ({ SET ("pixel", "rgba.r = 0.0f;\nrgba.g = nonsense;\n"),
                .fails = "pixel|2|nonsense" },
      { SET ("pixel",
            "} __global__ void other (VkgdrFrame in, VkgdrFrame out) {"),
          .fails = "pixel" });
  rig_play (&column, 1);
}

/* An expression can convert to another format, but not to another size. */
TEST (pixel_converts)
{
  const guint8 data[8] = { 100, 100, 100, 255, 20, 20, 20, 255 };
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter pixel=rgba.r+=0.0f "
      "output-caps=video/x-raw,format=GRAY8,width=2 ! vkgdrdownload");
  g_autofree guint8 *gray = NULL;

  gst_harness_set_src_caps_str (h, RGBA_2X1);
  gray = test_push (h, data, sizeof (data), 4);
  fail_unless (gray[0] == 100 && gray[1] == 20);
  RIG_PLAY ({ SET ("pixel", "rgba.r += 0.0f") },
      { SET ("output-caps", "video/x-raw,width=4"),
          .fails = "output-caps|format|changes only" });
}

TEST (one_kernel_at_a_time)
{
  RIG_PLAY ({ SET ("pixel", "rgba.r = 0", "location", "/none.cu"),
      .fails = "only one of|pixel|location" });
}

/* --- changes of kernels and parameters ----------------------------------- */

/* If a kernel does not compile, there is one warning, and the last kernel stays
 * in use. If it compiles, it is used from the next frame on. */
TEST (kernel_changes_while_playing)
{
  RIG_PLAY ({ SET ("kernel", "invert"), .red = 155 },
      { SET ("source", "nonsense"), .red = 155, .warns = "source|1|nonsense" },
      { .red = 155 }, { SET ("source", SEVEN), .red = 7 },
      { SET ("source", NULL, "pixel", "rgba.r = nonsense"), .red = 7,
          .warns = "pixel|nonsense" },
      { SET ("pixel", "rgba.r = rgba.g"), .red = 60 },
      { SET ("pixel", NULL, "location", "/nonexistent.cu"), .red = 60,
          .warns = "/nonexistent.cu" },
      { SET ("location", NULL, "kernel", "nosuch"), .red = 60,
          .warns = "nosuch|sobel" },
      { SET ("kernel", "copy"), .red = 100 });
}

/* Before the first frame, there is no kernel that could stay in use. */
TEST (kernel_fails_before_the_first_frame)
{
  RIG_PLAY ({ SET ("kernel", "copy") },
      { SET ("source", "nonsense"), .fails = "nonsense" },
      { SET ("source", ADD), .fails = "own|1 parameter|has 0" });
}

/* The parameters of an effect are known before the first frame. */
TEST (params_of_effects_are_checked)
{
  RIG_PLAY ({ SET ("kernel", "gain"),
                .params = "params,gain=(float)1.0,offset=(float)0.0" },
      { SET ("params", "params,gain=0.5"),
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { .red = 50 },
      { SET ("params", "params,contrast=2.0"), .red = 50,
          .warns = "gain|\"contrast\"|offset",
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { SET ("params", "params,gain=(string)loud"), .red = 50,
          .warns = "\"gain\"|float" },
      { SET ("params", "params,gain=2"), .red = 200 },
      { SET ("params", NULL), .red = 100 });
}

/* Before the first frame, wrong parameters are an error, either at the start or
 * with the frame. */
TEST (params_that_are_wrong_fail_the_start)
{
  RIG_PLAY ({ SET ("kernel", "gain", "params", "params,nosuch=1.0"),
                .fails = "gain|nosuch" },
      { SET ("params", NULL) },
      { SET ("params", "params,nosuch=1.0"), .fails = "gain|nosuch" });
}

/* The number and sizes of a kernel's parameters are known when it is loaded. */
TEST (params_of_own_kernels_are_checked)
{
  RIG_PLAY ({ SET ("params", "params,n=20", "source", ADD), .red = 120 },
      { SET ("params", "params,n=(gint64)30"), .warns = "1 (n)|own",
          .params = "params,n=20" },
      { SET ("params", "params,n=30,m=30"), .warns = "own|has 2" },
      { SET ("params", NULL), .warns = "own|has 0" }, { .red = 120 },
      { SET ("params", "params,n=40"), .red = 140 });
}

/* A kernel and its parameters in one g_object_set() are one change, in any
 * order. */
TEST (kernel_and_params_change_together)
{
  RIG_PLAY ({ SET ("kernel", "invert"), .red = 155 },
      { SET ("params", "params,gain=0.5", "kernel", "gain"), .red = 50 },
      { SET ("source", ADD, "params", "params,n=1"), .red = 101,
          .params = "params,n=1" },
      { SET ("params", "params,n=5,f=2.0", "source", MIX), .red = 30 },
      { SET ("params", "params,gain=0.5", "source", NULL, "kernel", "gain"),
          .red = 50 },
      { SET ("kernel", "invert", "params", NULL), .red = 155 });
}

/* The kernel and its parameters are set one after the other, with frames in
 * between. The last pair stays in use. */
TEST (kernel_waits_for_its_params)
{
  RIG_PLAY ({ SET ("params", "params,n=1", "source", ADD), .red = 101 },
      { SET ("source", MIX), .red = 101, .warns = "own|2 param" },
      /* These are for the kernel that runs, and then for the one that waits. */
      { SET ("params", "params,n=2"), .red = 102 },
      { SET ("params", "params,n=2,f=2.0"), .red = 24 });
}

TEST (params_wait_for_their_kernel)
{
  RIG_PLAY ({ SET ("kernel", "gain", "params", "params,gain=0.5"), .red = 50 },
      { SET ("params", "params,n=5"), .red = 50, .warns = "\"n\"" },
      { SET ("source", ADD), .red = 105 },
      /* A kernel runs although other parameters were wrong before. */
      { SET ("params", "params,n=5,more=7,and=8"), .warns = "has 3" },
      { SET ("source", KERNEL (", int n", "vkgdr_get (in, 0, x, y) - n")),
          .red = 95 });
}

/* A source may have comments that are not UTF-8. */
TEST (source_in_another_encoding)
{
  RIG_PLAY ({ WRITE ("kernel.cu", "// Gr\xfc\xdf"
                                  "e\n" SEVEN),
      SET ("location", "FOLDER/kernel.cu"), .red = 7 });
}

/* So may the name of a file, but messages are UTF-8. */
TEST (file_name_in_another_encoding)
{
  g_autofree gchar *path = g_strdup_printf ("/tmp/vkgdr-%d-Gr\xfc\xdf"
                                            "e.cu",
      getpid ());
  guint i;

  for (i = 0; i < 2; i++) {
    g_autoptr (GstElement) pipeline =
        test_launch ("fakesrc ! cudafilter location=none name=f ! fakesink");
    g_autoptr (GstElement) filter =
        gst_bin_get_by_name (GST_BIN (pipeline), "f");
    g_autoptr (GError) error = NULL;

    g_object_set (filter, "location", path, NULL);
    error = test_play_error (pipeline);
    test_assert_contains (
        error->message, i ? "does not compile" : "No such file");
    fail_unless (g_utf8_validate (error->message, -1, NULL));
    fail_unless (g_file_set_contents (path, "__global__ nonsense", -1, NULL));
  }
  g_unlink (path);
}

/* Parameters that were set with a kernel that does not compile are used with
 * the next kernel. */
TEST (kernel_and_params_that_fail_together)
{
  RIG_PLAY ({ SET ("kernel", "gain", "params", "params,gain=0.5"), .red = 50 },
      { SET ("source", "nonsense", "params", "params,n=5,f=2.0"), .red = 50,
          .warns = "nonsense",
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { SET ("source", MIX), .red = 30, .params = "params,n=5,f=2.0" });
}

/* Parameters are kept when the element is stopped. */
TEST (params_outlive_a_stop)
{
  RIG_PLAY ({ SET ("kernel", "gain", "params", "params,gain=0.25"), .red = 25 },
      { .stops = TRUE,
          .red = 25,
          .params = "params,gain=(float)0.25,offset=(float)0.0" });
}

typedef struct {
  Rig *rig;
  gint stop;  /* atomic */
  guint last; /* the last row of `changes` that was set */
} Setter;

static const Step changes[] = {
  { SET ("params", "params,gain=0.5", "kernel", "gain"), .red = 50 },
  { SET ("params", "params,gain=0.25"), .red = 25 },
  { SET ("kernel", "copy", "params", NULL), .red = 100 },
};

static gpointer
set_all_the_time (gpointer user_data)
{
  Setter *setter = user_data;
  guint i;

  for (i = 0; !g_atomic_int_get (&setter->stop); i++) {
    g_autoptr (GstStructure) params = NULL;

    setter->last = i % G_N_ELEMENTS (changes);
    rig_set (setter->rig, changes[setter->last].set);
    g_object_get (setter->rig->filter, "params", &params, NULL);
    g_usleep (500);
  }
  return NULL;
}

/* Each frame is processed by a kernel with the parameters that belong to it,
 * however often both change. The frames do not wait until a change has taken
 * effect: on a slow machine, the next change is made before that. */
TEST (params_from_another_thread)
{
  g_auto (Rig) rig = { 0 };
  Setter setter = { .rig = &rig };
  GThread *thread;
  guint i;

  rig_init (&rig, "kernel=copy");
  rig_step (&rig, &(const Step){ .red = 100 });
  thread = g_thread_new ("setter", set_all_the_time, &setter);
  for (i = 0; i < (test_is_slow () ? 50 : 200); i++) {
    guint8 red = rig_red_now (&rig);

    fail_unless (red == 100 || red == 50 || red == 25, "%u", red);
  }
  g_atomic_int_set (&setter.stop, TRUE);
  g_thread_join (thread);
  rig_step (&rig, &(const Step){ .red = changes[setter.last].red });
}

/* A busy processor must not fail kernels of the software device. */
TEST (kernel_timeout)
{
  guint timeout, wanted = test_is_software () ? 0 : 10000;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=copy");
  rig_start (&rig, RGBA_2X1);
  g_object_get (rig.filter, "kernel-timeout", &timeout, NULL);
  fail_unless_equals_int (timeout, wanted);
  rig_step (
      &rig, &(const Step){ .stops = TRUE, SET ("kernel-timeout", "5000") });
  g_object_get (rig.filter, "kernel-timeout", &timeout, NULL);
  fail_unless_equals_int (timeout, 5000);
}
