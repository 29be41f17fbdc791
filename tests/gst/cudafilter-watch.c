/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-watch.c: tests of the files of cudafilter's kernel: the compiler's
 * options for them, and changes of the files
 */

#include <unistd.h>

#include "rig.h"

#define NINE KERNEL ("", "9")
#define TENTH KERNEL ("", "10")

/* The filter tells that it has read a file again. */
#define TELLS .tells = "kernel.cu|frame"
#define WATCH SET ("location", "kernel.cu", "watch", "true")

/* Longer than the filter takes to notice a change, in milliseconds. */
#define A_WHILE .rest = 300

/* The folder is the current one, because the path of a source is a part of its
 * key in the cache of images. */
static void
setup (void)
{
  folder_setup ();
  fail_unless_equals_int (chdir (folder), 0);
}

static void
teardown (void)
{
  fail_unless_equals_int (chdir ("/"), 0);
  folder_teardown ();
}

TEST_PARALLEL (3);
TEST_FIXTURE (setup, teardown);

/* A file may be replaced by another one, or be written to, as editors do. */
TEST_LOOP (watch, 2)
{
  folder_rewrites = __i__;
  RIG_PLAY ({ WRITE ("kernel.cu", SEVEN), WATCH, .red = 7 },
      { WRITE ("kernel.cu", EIGHT), .becomes = 8, TELLS },
      { WRITE ("kernel.cu", "\nnonsense\n"), .warns = "kernel.cu|2|nonsense" },
      { .red = 8 }, { WRITE ("kernel.cu", NINE), .becomes = 9, TELLS },
      /* The file is removed, and made again later. */
      { WRITE ("kernel.cu", NULL), A_WHILE, .red = 9 },
      { WRITE ("kernel.cu", TENTH), .becomes = 10, TELLS });
}

/* The watch is switched on and off by properties, while frames pass. */
TEST (watch_is_switched)
{
  RIG_PLAY ({ WRITE ("kernel.cu", SEVEN, "other.cu", KERNEL ("", "20")), WATCH,
                .red = 7 },
      { SET ("watch", "false") },
      { WRITE ("kernel.cu", EIGHT), A_WHILE, .red = 7 },
      { SET ("watch", "true"), .becomes = 8, TELLS },
      { WRITE ("kernel.cu", NINE), .becomes = 9, TELLS },
      { SET ("location", "other.cu"), .red = 20 },
      { WRITE ("kernel.cu", TENTH, "other.cu", KERNEL ("", "21")),
          .becomes = 21, .tells = "other.cu|frame" },
      { SET ("location", NULL, "kernel", "copy") },
      { WRITE ("other.cu", KERNEL ("", "22")), A_WHILE, .red = 100 });
}

static GstBusSyncReply
stop_watching (GstBus *bus, GstMessage *message, gpointer user_data)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
    g_object_set (user_data, "watch", FALSE, NULL);
  return GST_BUS_PASS;
}

/* How long a file has to be unchanged before it is read, in microseconds. */
#define REST (100 * G_TIME_SPAN_MILLISECOND)

/* A file that is written in two steps is not read in between, even if a
 * property is set then. In the second round, the watch is off until the file is
 * empty. If the machine is so busy that the empty file may have been read, the
 * test is repeated. */
TEST_LOOP (half_a_file_is_not_read, 2)
{
  gboolean is_in_time = FALSE;

  while (!is_in_time) {
    g_auto (Rig) rig = { 0 };
    gint64 start;

    rig_init (&rig, "name=f");
    rig_step (
        &rig, &(const Step){ WRITE ("kernel.cu", SEVEN), WATCH, .red = 7 });
    g_object_set (rig.filter, "watch", !__i__, NULL);
    test_settle (rig.filter);
    start = g_get_monotonic_time ();
    g_free (folder_write ("kernel.cu", ""));
    g_object_set (rig.filter, "watch", TRUE, NULL);
    test_settle (rig.filter);
    g_free (folder_write ("kernel.cu", EIGHT));
    is_in_time = g_get_monotonic_time () - start < REST;
    if (is_in_time)
      rig_step (&rig, &(const Step){ .becomes = 8, TELLS });
  }
}

/* The watch can be switched off by a handler of the warning that it causes, and
 * the element can be stopped right after the file has changed. */
TEST (watch_ends)
{
  gint64 start;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f");
  rig_step (&rig, &(const Step){ WRITE ("kernel.cu", SEVEN), WATCH, .red = 7 });
  gst_bus_set_sync_handler (rig.bus, stop_watching, rig.filter, NULL);
  rig_step (&rig,
      &(const Step){ WRITE ("kernel.cu", "nonsense"), .warns = "nonsense" });
  gst_bus_set_sync_handler (rig.bus, NULL, NULL, NULL);
  rig_step (
      &rig, &(const Step){ WRITE ("kernel.cu", EIGHT), A_WHILE, .red = 7 });
  g_object_set (rig.filter, "watch", TRUE, NULL);
  g_free (folder_write ("kernel.cu", NINE));
  start = g_get_monotonic_time ();
  gst_element_set_state (rig.harness->element, GST_STATE_NULL);
  fail_unless (g_get_monotonic_time () - start < 10 * G_TIME_SPAN_SECOND);
}

/* The path may have links, to the file or to its folder, as in
 * "releases/now/kernel.cu". It is watched which file the links lead to, and
 * that file. */
TEST (watch_follows_links)
{
  RIG_PLAY ({ WRITE ("first.cu", SEVEN, "one/kernel.cu", TENTH),
                .link = { "two", "." } },
      { .link = { "kernel.cu", "first.cu" },
          SET ("location", "two/kernel.cu", "watch", "true"),
          .red = 7 },
      { WRITE ("first.cu", NINE), .becomes = 9, TELLS },
      { .link = { "two", "one" }, .becomes = 10, TELLS },
      { WRITE ("one/kernel.cu", EIGHT), .becomes = 8, TELLS },
      { WRITE ("one/other.cu", SEVEN), .link = { "one/kernel.cu", "other.cu" },
          .becomes = 7, TELLS });
}

/* --- included files ------------------------------------------------------ */

#define INCLUDES(name, red) "#include \"" name "\"\n" KERNEL ("", red)

/* The files are a header, another header that it includes, and a header that
 * the source includes only later. */
TEST (watch_sees_included_files)
{
  RIG_PLAY ({ WRITE ("kernel.cu", INCLUDES ("one.h", "VALUE"), "one.h",
                  "#include \"two.h\"\n", "two.h", "#define VALUE 7\n"),
                WATCH, .red = 7 },
      { WRITE ("two.h", "#define VALUE 8\n"), .becomes = 8, TELLS },
      { WRITE ("one.h", "#define VALUE 9\n"), .becomes = 9, TELLS },
      { WRITE ("other.h", "#define OTHER 10\n", "kernel.cu",
            INCLUDES ("other.h", "OTHER")),
          .becomes = 10, TELLS },
      { WRITE ("other.h", "#define OTHER nonsense\n"), .warns = "nonsense" },
      { .red = 10 },
      { WRITE ("other.h", "#define OTHER 11\n"), .becomes = 11, TELLS },
      /* This header is not included any more. */
      { WRITE ("one.h", "#define VALUE 12\n"), A_WHILE, .red = 11 });
}

/* --- options of the compiler --------------------------------------------- */

/* The options belong to the kernel, and change while frames pass. Wrong ones
 * fail the start. */
TEST (options_define_macros)
{
  RIG_PLAY (
      { SET ("compiler-options", "'-DVALUE=7", "source", KERNEL ("", "VALUE")),
          .fails = "compiler-options|-DVALUE=7" },
      { SET ("compiler-options", "-DVALUE=7"), .red = 7 },
      { SET ("compiler-options", "-D 'VALUE=(3 + 5)' -DMORE"), .red = 8 },
      { SET ("source", NULL, "pixel", "rgba.r = VALUE / 255.0f",
            "compiler-options", "-DVALUE=9"),
          .red = 9 },
      { SET ("compiler-options", "--output=/tmp/x"), .red = 9,
          .warns = "compiler-options|--output=/tmp/x" },
      { SET ("compiler-options", NULL), .red = 9, .warns = "VALUE" },
      /* An effect ignores the options. */
      { SET ("pixel", NULL, "kernel", "invert", "compiler-options",
            "-Din=nonsense"),
          .red = 155 });
}

/* The headers in another folder are watched like those in the folder of the
 * source. */
TEST (options_name_folders)
{
  RIG_PLAY ({ WRITE ("kernel.cu", INCLUDES ("value.h", "VALUE"),
                  "headers/value.h", "#define VALUE 7\n"),
                WATCH, .fails = "value.h" },
      { SET ("compiler-options", "-Iheaders"), .red = 7 },
      { WRITE ("headers/value.h", "#define VALUE 8\n"), .becomes = 8, TELLS });
}
