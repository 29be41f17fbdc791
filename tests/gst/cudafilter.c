/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter.c: tests of the kernels that cudafilter runs, and of their
 * parameters: expressions, and parameters that are set, controlled or wrong
 */

#include "rig.h"
#include "slow.h"

TEST_PARALLEL (2);
TEST_FIXTURE (folder_setup, folder_teardown);

/* --- pixels -------------------------------------------------------------- */

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

#define REFUSED(text, words) \
  { \
    SET ("params", "params," text), .red = 50, .warns = words "|expression" \
  }

TEST (pixel_refuses_names)
{
  RIG_PLAY ({ SET ("pixel", "rgba.r = 50 / 255.0f"), .red = 50 },
      REFUSED ("x=1", "\"x\""), REFUSED ("rgba=1.0", "\"rgba\""),
      REFUSED ("class=1", "\"class\""), REFUSED ("vkgdr_in=1", "\"vkgdr_in\""),
      REFUSED ("a-b=1", "letters"), REFUSED ("s=(string)a", "only numbers"),
      { .red = 50 });
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
  RIG_PLAY ({ SET ("pixel", "rgba.r += 0.0f", "output-caps",
                  "video/x-raw,format=GRAY8"),
                .red = 67 },
      { SET ("output-caps", "video/x-raw,width=4"),
          .fails = "output-caps|format|changes only" });
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
      { SET ("pixel", NULL, "location", "/proc/missing.cu"), .red = 60,
          .warns = "/proc/missing.cu" },
      { SET ("location", NULL, "kernel", "nosuch"), .red = 60,
          .warns = "nosuch|sobel" },
      { SET ("kernel", "copy"), .red = 100 });
}

/* Before the first frame, there is no kernel that could stay in use. */
TEST (kernel_fails_before_the_first_frame)
{
  RIG_PLAY ({ SET ("kernel", "copy") },
      { SET ("pixel", "rgba.r = 0", "location", "/none.cu"),
          .fails = "only one of|pixel|location" },
      { SET ("pixel", NULL, "location", NULL, "source", "nonsense"),
          .fails = "nonsense" },
      { SET ("source", ADD), .fails = "own|1 parameter|has 0" });
}

/* The parameters of an effect are known before the first frame, and are kept
 * when the element is stopped. */
TEST (params_of_effects_are_checked)
{
  RIG_PLAY ({ SET ("kernel", "gain", "params", "params,nosuch=1.0"),
                .fails = "gain|nosuch" },
      { SET ("params", NULL) },
      { SET ("params", "params,nosuch=1.0"), .fails = "gain|nosuch" },
      { SET ("params", NULL),
          .params = "params,gain=(float)1.0,offset=(float)0.0" },
      { SET ("params", "params,gain=0.5"),
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { .red = 50 },
      { .stops = TRUE,
          .red = 50,
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { SET ("params", "params,contrast=2.0"), .red = 50,
          .warns = "gain|\"contrast\"|offset",
          .params = "params,gain=(float)0.5,offset=(float)0.0" },
      { SET ("params", "params,gain=(string)loud"), .red = 50,
          .warns = "\"gain\"|float" },
      { SET ("params", "params,gain=2"), .red = 200 },
      { SET ("params", NULL), .red = 100 });
}

/* The number and sizes of a kernel's parameters are known when it is loaded.
 * Numbers of the same size are converted. */
TEST (params_of_own_kernels_are_checked)
{
#define REFUSED_OWN(text, words) \
  { SET ("params", "params," text), .warns = words }
  RIG_PLAY (
      { SET ("params",
            "params,f=1.5,d=(float)2.5,i=(uint)3,b=(int)1,l=-4,"
            "u=200",
            "source",
            KERNEL (", float f, double d, int i, bool b, long long l, "
                    "unsigned char u",
                "f == 1.5f && d == 2.5 && i == 3 && b && l == -4 ? u : 0")),
          .red = 200 },
      REFUSED_OWN ("f=1.5", "own|6 parameters|has 1"),
      REFUSED_OWN ("f=1.5,d=1.5,i=1,b=true,l=1,u=1,more=1", "has 7"),
      REFUSED_OWN ("f=(gint64)1,d=1.5,i=1,b=true,l=1,u=1", "1 (f)|own"),
      REFUSED_OWN ("f=1.5,d=1.5,i=(string)one,b=true,l=1,u=1", "3 (i)"),
      REFUSED_OWN ("f=1.5,d=1.5,i=1,b=1000,l=1,u=1", "4 (b)"),
      REFUSED_OWN ("f=1.5,d=1.5,i=1,b=1.5,l=1,u=1", "4 (b)"),
      { SET ("params", NULL), .warns = "own|has 0", .red = 200 },
      { SET (
            "params", "params,f=1.5,d=2.5,i=3,b=true,l=(gint64)-4,u=(uint)100"),
          .red = 100 });
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

#define LATIN_1 "Gr\xfc\xdf"

/* A file may have a name, and its source comments, that are not UTF-8. All
 * messages are UTF-8. */
TEST (file_in_another_encoding)
{
  RIG_PLAY ({ SET ("location", "FOLDER/" LATIN_1), .fails = "No such file" },
      { WRITE (LATIN_1, "// " LATIN_1 "\n__global__ nonsense"),
          .fails = "does not compile" },
      { WRITE (LATIN_1, "// " LATIN_1 "\n" SEVEN), .red = 7 });
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

#define TEN KERNEL (", int n", "10 + n")
#define ONE_OF_TEN SET ("source", TEN, "params", "params,n=(int)1")

/* Parameters that wait for the next frame are not lost if another property is
 * set then, or if the element is stopped. Newer parameters replace them. */
TEST (params_wait_for_the_frame)
{
#define TWO_WAIT \
  SET ("params", "params,n=(int)2", "output-caps", "video/x-raw,format=RGBA"), \
      .params = "params,n=(int)2"
  RIG_PLAY ({ ONE_OF_TEN, .red = 11 }, { TWO_WAIT },
      { SET ("output-caps", NULL), .red = 12 }, { ONE_OF_TEN, .red = 11 },
      { TWO_WAIT }, { SET ("params", "params,n=3") },
      { SET ("output-caps", NULL), .red = 13 }, { ONE_OF_TEN, .red = 11 },
      { TWO_WAIT }, { .stops = TRUE, .red = 12 });
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
  { SET ("kernel", "convert", "output-caps", "video/x-raw,format=RGBA"),
      .red = 100 },
  { SET ("output-caps", "video/x-raw,width=4;video/x-raw,width=[1,8]"),
      .red = 100 },
  { SET ("output-caps", "ANY", "params", "params,method=0"), .red = 100 },
  { SET ("kernel", "copy", "params", NULL, "output-caps", NULL), .red = 100 },
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
 * however often both change. All caps that are negotiated beside frames are
 * subsets of what the queries ask for: otherwise GStreamer logs a warning,
 * which fails this test. The frames do not wait until a change has taken
 * effect: on a slow machine, the next change is made before that. The last
 * change counts in the end. */
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

/* --- large sources ------------------------------------------------------- */

#define LARGE (20 * 1000 * 1000)

static const gchar *const large[][2] = { { "source", "bytes" },
  { "pixel", "bytes" }, { "location", "cannot be read" } };

/* They are refused at once. A function whose time grows with the square of the
 * size would take hours. */
TEST (large_sources)
{
  g_autofree gchar *text = g_strnfill (LARGE, '/');
  guint i;

  for (i = 0; i < G_N_ELEMENTS (large); i++) {
    g_auto (Rig) rig = { 0 };

    rig_init (&rig, "name=f");
    g_object_set (rig.filter, large[i][0], text, NULL);
    rig_step (&rig, &(const Step){ .fails = large[i][1] });
  }
}
