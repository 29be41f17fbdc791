/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-watch.c: tests of the files of cudafilter's kernel: the compiler's
 * options for them, and changes of the files
 */

#include <glib/gstdio.h>

#include "folder.h"
#include "rig.h"
#include "util.h"

typedef struct {
  gchar *folder;
  gchar *path;
} Source;

static void
source_init (Source *source, const gchar *text)
{
  source->folder = g_dir_make_tmp ("vkgdr-watch-XXXXXX", NULL);
  source->path = g_build_filename (source->folder, "kernel.cu", NULL);
  fail_unless (g_file_set_contents (source->path, text, -1, NULL));
}

static void
source_clear (Source *source)
{
  folder_remove (source->folder);
  g_free (source->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Source, source_clear)

/* Replaces the file by another one, as some editors do. */
static void
source_replace (Source *source, const gchar *text)
{
  g_autofree gchar *spare = g_build_filename (source->folder, "spare", NULL);

  fail_unless (g_file_set_contents (spare, text, -1, NULL));
  fail_unless_equals_int (g_rename (spare, source->path), 0);
}

/* Writes to the same file again, as other editors do. */
static void
source_rewrite (Source *source, const gchar *text)
{
  FILE *file = fopen (source->path, "w");

  fail_unless (file != NULL);
  fputs (text, file);
  fclose (file);
}

/* Pushes frames until the result changes from @from to @to. The change must be
 * announced. */
static void
assert_becomes (Rig *rig, Source *source, guint8 from, guint8 to)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;
  guint8 red;

  while ((red = rig_red (rig)) != to) {
    fail_unless_equals_int (red, from);
    fail_unless (g_get_monotonic_time () < deadline, "it does not change");
    g_usleep (5000);
  }
  rig_assert_message (rig, GST_MESSAGE_INFO, source->path, "frame", NULL);
}

static void
rig_init_watching (Rig *rig, Source *source)
{
  rig_init (rig, "watch=true");
  g_object_set (rig->filter, "location", source->path, NULL);
  rig_start (rig, RGBA_2X1);
}

TEST_PARALLEL (3);

TEST_LOOP (watch, 2)
{
  void (*write) (Source *, const gchar *) =
      __i__ ? source_rewrite : source_replace;
  g_auto (Source) source = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, SEVEN);
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  write (&source, KERNEL ("", "8"));
  assert_becomes (&rig, &source, 7, 8);
  rig_assert_quiet (&rig);

  write (&source, "\nnonsense\n");
  rig_assert_message (
      &rig, GST_MESSAGE_WARNING, source.path, "2", "nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 8);
  write (&source, KERNEL ("", "9"));
  assert_becomes (&rig, &source, 8, 9);

  /* The file is removed, and made again later. */
  g_unlink (source.path);
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 9);
  write (&source, KERNEL ("", "10"));
  assert_becomes (&rig, &source, 9, 10);
  rig_assert_quiet (&rig);
}

TEST (watch_and_params)
{
  g_auto (Source) source = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, ADD);
  rig_init (&rig, "watch=true");
  g_object_set (rig.filter, "location", source.path, NULL);
  rig_set_params (&rig, "params,n=1");
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 101);
  rig_set_params (&rig, "params,n=4");
  fail_unless_equals_int (rig_red (&rig), 104);
  source_replace (&source, KERNEL (", int n", "vkgdr_get (in, 0, x, y) - n"));
  assert_becomes (&rig, &source, 104, 96);

  /* The new kernel needs more parameters than are set. The last kernel runs
   * until they are set. */
  source_replace (&source, MIX);
  do {
    gchar *text = rig_wait_message (&rig, GST_MESSAGE_WARNING, 10);

    fail_unless_equals_int (rig_red (&rig), 96);
    if (text) {
      test_assert_contains (text, "2 parameters");
      g_free (text);
      break;
    }
  } while (rig.n < 2000);
  fail_unless (rig.n < 2000);
  rig_set_params (&rig, "params,n=5,f=3.0");
  fail_unless_equals_int (rig_red (&rig), 45);
}

/* The watch is switched on and off by properties, while frames pass. */
TEST (watch_is_switched)
{
  g_auto (Source) source = { 0 }, other = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, SEVEN);
  source_init (&other, KERNEL ("", "20"));
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (rig.filter, "watch", FALSE, NULL);
  source_replace (&source, KERNEL ("", "8"));
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (rig.filter, "watch", TRUE, NULL);
  assert_becomes (&rig, &source, 7, 8);
  source_replace (&source, KERNEL ("", "9"));
  assert_becomes (&rig, &source, 8, 9);

  g_object_set (rig.filter, "location", other.path, NULL);
  fail_unless_equals_int (rig_red (&rig), 20);
  source_replace (&source, KERNEL ("", "10"));
  source_replace (&other, KERNEL ("", "21"));
  assert_becomes (&rig, &other, 20, 21);
  g_object_set (rig.filter, "location", NULL, "kernel", "copy", NULL);
  source_replace (&other, KERNEL ("", "22"));
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 100);
  rig_assert_quiet (&rig);
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

/* Empties the file, sets the property "watch" of the element, and writes the
 * file. Returns FALSE if this took so long that the element may have read the
 * empty file. */
static gboolean
write_in_two_steps (Rig *rig, Source *source)
{
  gint64 start = g_get_monotonic_time ();
  FILE *file = fopen (source->path, "w");

  fail_unless (file != NULL);
  g_object_set (rig->filter, "watch", TRUE, NULL);
  test_settle (rig->filter);
  fputs (KERNEL ("", "8"), file);
  fclose (file);
  return g_get_monotonic_time () - start < REST;
}

/* Returns FALSE if the machine is too busy for the test. If @switched, the
 * watch is off until the file is empty. */
static gboolean
half_a_file_is_not_read (gboolean switched)
{
  gboolean in_time;
  Source source;
  Rig rig;

  source_init (&source, SEVEN);
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  if (switched)
    g_object_set (rig.filter, "watch", FALSE, NULL);
  test_settle (rig.filter);
  in_time = write_in_two_steps (&rig, &source);
  if (in_time) {
    assert_becomes (&rig, &source, 7, 8);
    rig_assert_quiet (&rig);
  }
  rig_clear (&rig);
  source_clear (&source);
  return in_time;
}

/* A file that is written in two steps is not read in between, even if a
 * property is set then. */
TEST_LOOP (half_a_file_is_not_read, 2)
{
  while (!half_a_file_is_not_read (__i__))
    g_print ("repeated: the machine is busy\n");
}

/* The watch can be switched off by a handler of the warning that it causes, and
 * the element can be stopped right after the file has changed. */
TEST (watch_ends)
{
  gint64 start;
  g_auto (Source) source = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, SEVEN);
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  gst_bus_set_sync_handler (rig.bus, stop_watching, rig.filter, NULL);
  source_replace (&source, "nonsense");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "nonsense", NULL);
  gst_bus_set_sync_handler (rig.bus, NULL, NULL, NULL);
  source_replace (&source, KERNEL ("", "8"));
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 7);
  rig_assert_quiet (&rig);

  g_object_set (rig.filter, "watch", TRUE, NULL);
  source_replace (&source, KERNEL ("", "9"));
  start = g_get_monotonic_time ();
  gst_element_set_state (rig.harness->element, GST_STATE_NULL);
  fail_unless (g_get_monotonic_time () - start < 10 * G_TIME_SPAN_SECOND);
}

/* The file is a link, and the file that it points to changes. */
TEST (watch_follows_links)
{
  g_auto (Source) source = { 0 }, link = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, SEVEN);
  source_init (&link, "");
  g_unlink (link.path);
  fail_unless_equals_int (symlink (source.path, link.path), 0);
  rig_init_watching (&rig, &link);
  fail_unless_equals_int (rig_red (&rig), 7);
  source_replace (&source, KERNEL ("", "8"));
  assert_becomes (&rig, &link, 7, 8);
}

static void
replace_link (const gchar *target, const gchar *path)
{
  g_autofree gchar *spare = g_strconcat (path, ".new", NULL);

  fail_unless_equals_int (symlink (target, spare), 0);
  fail_unless_equals_int (g_rename (spare, path), 0);
}

/* The link is replaced by a link to another file. From then on, changes of that
 * file count. */
TEST (watch_follows_replaced_links)
{
  g_auto (Source) first = { 0 }, second = { 0 }, link = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&first, SEVEN);
  source_init (&second, KERNEL ("", "8"));
  source_init (&link, "");
  replace_link (first.path, link.path);
  rig_init_watching (&rig, &link);
  fail_unless_equals_int (rig_red (&rig), 7);
  replace_link (second.path, link.path);
  assert_becomes (&rig, &link, 7, 8);
  source_replace (&second, KERNEL ("", "9"));
  assert_becomes (&rig, &link, 8, 9);
}

/* The file stays the same in its folder, and a link to the folder is replaced,
 * as in "releases/now/kernel.cu". */
TEST (watch_follows_a_replaced_folder)
{
  g_auto (Source) first = { 0 }, second = { 0 }, link = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&first, SEVEN);
  source_init (&second, KERNEL ("", "8"));
  source_init (&link, "");
  g_free (link.path);
  link.path = g_build_filename (link.folder, "now", NULL);
  replace_link (first.folder, link.path);
  g_free (link.path);
  link.path = g_build_filename (link.folder, "now", "kernel.cu", NULL);
  rig_init_watching (&rig, &link);
  fail_unless_equals_int (rig_red (&rig), 7);
  *strrchr (link.path, '/') = '\0';
  replace_link (second.folder, link.path);
  link.path[strlen (link.path)] = '/';
  assert_becomes (&rig, &link, 7, 8);
  source_replace (&second, KERNEL ("", "9"));
  assert_becomes (&rig, &link, 8, 9);
}

/* --- included files ------------------------------------------------------ */

#define INCLUDES(name, red) "#include \"" name "\"\n" KERNEL ("", red)

/* Writes @text to the file @name in the folder of the source. */
static void
source_write (Source *source, const gchar *name, const gchar *text)
{
  g_autofree gchar *path = g_build_filename (source->folder, name, NULL);

  fail_unless (g_file_set_contents (path, text, -1, NULL));
}

/* The files are a header, another header that it includes, and a header that
 * the source includes only later. */
TEST (watch_sees_included_files)
{
  g_auto (Source) source = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, INCLUDES ("one.h", "VALUE"));
  source_write (&source, "one.h", "#include \"two.h\"\n");
  source_write (&source, "two.h", "#define VALUE 7\n");
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  source_write (&source, "two.h", "#define VALUE 8\n");
  assert_becomes (&rig, &source, 7, 8);
  source_write (&source, "one.h", "#define VALUE 9\n");
  assert_becomes (&rig, &source, 8, 9);

  source_write (&source, "other.h", "#define OTHER 10\n");
  source_replace (&source, INCLUDES ("other.h", "OTHER"));
  assert_becomes (&rig, &source, 9, 10);
  source_write (&source, "other.h", "#define OTHER nonsense\n");
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 10);
  source_write (&source, "other.h", "#define OTHER 11\n");
  assert_becomes (&rig, &source, 10, 11);

  /* This header is not included any more. */
  source_write (&source, "one.h", "#define VALUE 12\n");
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 11);
  fail_unless (rig_wait_message (&rig, GST_MESSAGE_INFO, 0) == NULL);
  rig_assert_quiet (&rig);
}

/* A header changes while the watch is off. The change is noticed when the watch
 * is switched on again. */
TEST (included_files_change_unwatched)
{
  g_auto (Source) source = { 0 };
  g_auto (Rig) rig = { 0 };

  source_init (&source, INCLUDES ("one.h", "VALUE"));
  source_write (&source, "one.h", "#define VALUE 7\n");
  rig_init_watching (&rig, &source);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (rig.filter, "watch", FALSE, NULL);
  source_write (&source, "one.h", "#define VALUE 8\n");
  g_usleep (300000);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (rig.filter, "watch", TRUE, NULL);
  assert_becomes (&rig, &source, 7, 8);
  rig_assert_quiet (&rig);
}

/* --- options of the compiler --------------------------------------------- */

/* The options belong to the kernel, and change while frames pass. */
TEST (options_define_macros)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f compiler-options=-DVALUE=7");
  g_object_set (rig.filter, "source", KERNEL ("", "VALUE"), NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 7);
  g_object_set (
      rig.filter, "compiler-options", "-D 'VALUE=(3 + 5)' -DMORE", NULL);
  fail_unless_equals_int (rig_red (&rig), 8);
  g_object_set (rig.filter, "source", NULL, "pixel", "rgba.r = VALUE / 255.0f",
      "compiler-options", "-DVALUE=9", NULL);
  fail_unless_equals_int (rig_red (&rig), 9);
  rig_assert_quiet (&rig);

  g_object_set (rig.filter, "compiler-options", "--output=/tmp/x", NULL);
  fail_unless_equals_int (rig_red (&rig), 9);
  rig_assert_message (
      &rig, GST_MESSAGE_WARNING, "compiler-options", "--output=/tmp/x", NULL);
  g_object_set (rig.filter, "compiler-options", NULL, NULL);
  fail_unless_equals_int (rig_red (&rig), 9);
  rig_assert_message (&rig, GST_MESSAGE_WARNING, "VALUE", NULL);

  /* An effect ignores the options. */
  g_object_set (rig.filter, "pixel", NULL, "kernel", "invert",
      "compiler-options", "-Din=nonsense", NULL);
  fail_unless_equals_int (rig_red (&rig), 155);
  rig_assert_quiet (&rig);
}

TEST (options_that_are_wrong_fail_the_start)
{
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "name=f compiler-options=\"'-DVALUE=7\"");
  g_object_set (rig.filter, "source", KERNEL ("", "VALUE"), NULL);
  rig_assert_fails (&rig, "compiler-options", "-DVALUE=7");
}

/* The headers in another folder are watched like those in the folder of the
 * source. */
TEST (options_name_folders)
{
  g_auto (Source) source = { 0 }, headers = { 0 };
  g_autofree gchar *options = NULL;
  Rig rig;

  source_init (&source, INCLUDES ("value.h", "VALUE"));
  source_init (&headers, "");
  source_write (&headers, "value.h", "#define VALUE 7\n");
  options = g_strdup_printf ("-I%s", headers.folder);
  rig_init (&rig, "watch=true");
  g_object_set (rig.filter, "location", source.path, NULL);
  rig_assert_fails (&rig, "value.h");
  gst_element_set_state (rig.harness->element, GST_STATE_NULL);
  g_object_set (rig.filter, "compiler-options", options, NULL);
  rig_start (&rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&rig), 7);
  source_write (&headers, "value.h", "#define VALUE 8\n");
  assert_becomes (&rig, &source, 7, 8);
  rig_assert_quiet (&rig);
  rig_clear (&rig);
}
