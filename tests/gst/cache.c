/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cache.c: images on disk, shared by processes, and the note about NVRTC there
 */

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/cache.h"
#include "kernel/nvrtcnote.h"

static gchar *folder, *cache;

static void
setup (void)
{
  folder = g_dir_make_tmp ("test-cache-XXXXXX", NULL);
  fail_unless (folder != NULL);
  cache = g_build_filename (folder, "cache", NULL);
  g_setenv ("VKGDR_CACHE_DIR", cache, TRUE);
  g_unsetenv ("VKGDR_CACHE_SIZE");
}

static void
teardown (void)
{
  gchar *quoted = g_shell_quote (folder);
  gchar *command = g_strconcat ("/bin/rm -rf ", quoted, NULL);

  fail_unless (g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL));
  g_free (command);
  g_free (quoted);
  g_free (cache);
  g_free (folder);
}

static gchar *
make_file (const gchar *name, const gchar *text)
{
  gchar *path = g_build_filename (folder, name, NULL);

  fail_unless (g_file_set_contents (path, text, -1, NULL));
  return path;
}

/* --- entries ------------------------------------------------------------- */

/* Entry number @i: its size and content follow from the number. */
static GBytes *
make_entry (guint i)
{
  gsize size = 1000 + 100 * i;
  guint8 *data = g_malloc (size);

  memset (data, (gint) ('a' + i), size);
  return g_bytes_new_take (data, size);
}

static gboolean
entry_is_right (guint i, GBytes *found)
{
  GBytes *expected = make_entry (i);
  gboolean right = g_bytes_equal (expected, found);

  g_bytes_unref (expected);
  return right;
}

#define N_ENTRIES 20
/* Some five of the entries. */
#define SMALL_CACHE "10K"
#define SMALL_CACHE_SIZE (10 * 1024)
#define LARGEST_ENTRY (1000 + 100 * N_ENTRIES + 64)

static void
damage (void)
{
  GDir *dir = g_dir_open (cache, 0, NULL);
  const gchar *name = dir ? g_dir_read_name (dir) : NULL;
  gchar *path;

  if (name) {
    path = g_build_filename (cache, name, NULL);
    if (truncate (path, 500) != 0)
      GST_INFO ("%s is gone", path);
    g_free (path);
  }
  if (dir)
    g_dir_close (dir);
}

/* Stores, looks up and damages entries for a second; returns how many lookups
 * found one, or -1 if one was wrong. */
static gint
use_cache (guint seed)
{
  gint64 end = g_get_monotonic_time () + G_USEC_PER_SEC;
  GRand *random = g_rand_new_with_seed (seed);
  gint n_found = 0;

  while (n_found >= 0 && g_get_monotonic_time () < end) {
    guint i = g_rand_int_range (random, 0, N_ENTRIES);
    gchar *key = g_strdup_printf ("entry %u", i);
    GBytes *entry = gst_vkgdr_cache_lookup (key);

    if (!entry) {
      entry = make_entry (i);
      gst_vkgdr_cache_store (key, entry);
    } else if (entry_is_right (i, entry)) {
      n_found++;
    } else {
      n_found = -1;
    }
    if (g_rand_int_range (random, 0, 50) == 0)
      damage ();
    g_bytes_unref (entry);
    g_free (key);
  }
  g_rand_free (random);
  return n_found;
}

static guint64
get_folder_size (const gchar *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const gchar *name;
  guint64 size = 0;
  GStatBuf st;

  fail_unless (dir != NULL);
  while ((name = g_dir_read_name (dir))) {
    gchar *file = g_build_filename (path, name, NULL);

    if (g_stat (file, &st) == 0)
      size += st.st_size;
    g_free (file);
  }
  g_dir_close (dir);
  return size;
}

GST_START_TEST (test_processes_share_a_small_cache)
{
  pid_t child[2];
  gint status;
  guint i;

  g_setenv ("VKGDR_CACHE_SIZE", SMALL_CACHE, TRUE);
  for (i = 0; i < G_N_ELEMENTS (child); i++) {
    child[i] = fork ();
    fail_unless (child[i] >= 0);
    if (child[i] == 0)
      _exit (use_cache (i + 1) > 0 ? 0 : 1);
  }
  for (i = 0; i < G_N_ELEMENTS (child); i++) {
    fail_unless (waitpid (child[i], &status, 0) == child[i]);
    fail_unless (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  }
  /* Both may have made room for their own last one at the same time. */
  fail_unless (get_folder_size (cache) <= SMALL_CACHE_SIZE + 2 * LARGEST_ENTRY);
}
GST_END_TEST;

static gboolean
cache_has (const gchar *key)
{
  GBytes *image = gst_vkgdr_cache_lookup (key);
  gboolean found = image != NULL;

  g_clear_pointer (&image, g_bytes_unref);
  return found;
}

GST_START_TEST (test_oldest_entries_go)
{
  GBytes *entry = make_entry (0);

  g_setenv ("VKGDR_CACHE_SIZE", "2500", TRUE);
  gst_vkgdr_cache_store ("first one", entry);
  g_usleep (20 * 1000);
  gst_vkgdr_cache_store ("second one", entry);
  g_usleep (20 * 1000);
  /* Used, and so the younger one. */
  fail_unless (cache_has ("first one"));
  g_usleep (20 * 1000);
  gst_vkgdr_cache_store ("third one", entry);
  fail_unless (cache_has ("first one"));
  fail_if (cache_has ("second one"));
  fail_unless (cache_has ("third one"));
  g_bytes_unref (entry);
}
GST_END_TEST;

GST_START_TEST (test_size_of_nothing_keeps_nothing)
{
  GBytes *entry = make_entry (0);

  g_setenv ("VKGDR_CACHE_SIZE", "0", TRUE);
  gst_vkgdr_cache_store ("a key", entry);
  fail_if (cache_has ("a key"));
  /* What is no size counts as none given. */
  g_setenv ("VKGDR_CACHE_SIZE", "much", TRUE);
  gst_vkgdr_cache_store ("a key", entry);
  fail_unless (cache_has ("a key"));
  g_bytes_unref (entry);
}
GST_END_TEST;

/* --- the note ------------------------------------------------------------ */

static gboolean
note_is_there (gint major)
{
  GstVkgdrNvrtcNote *note = gst_vkgdr_nvrtc_note_read (major);
  gboolean right = note && note->minor == 4 && note->archs->len == 2
                   && g_array_index (note->archs, gint, 1) == 90;

  g_clear_pointer (&note, gst_vkgdr_nvrtc_note_free);
  return right;
}

GST_START_TEST (test_note_holds_while_nothing_changes)
{
  const gint archs[] = { 75, 90 };
  GstVkgdrNvrtcNote note = { (gchar *) "a name", NULL, 12, 4, TRUE, NULL };
  gchar *lib = g_build_filename (folder, "lib", NULL);

  fail_unless (g_mkdir (lib, 0700) == 0);
  g_setenv ("CUDA_HOME", folder, TRUE);
  note.file = make_file ("library", "content");
  note.archs = g_array_new (FALSE, FALSE, sizeof (gint));
  g_array_append_vals (note.archs, archs, 2);

  fail_if (note_is_there (12));
  gst_vkgdr_nvrtc_note_write (12, &note);
  fail_unless (note_is_there (12));
  fail_if (note_is_there (13));
  g_setenv ("VKGDR_NVRTC", "another", TRUE);
  fail_if (note_is_there (12));
  g_unsetenv ("VKGDR_NVRTC");
  /* Another library may be found, now. */
  g_free (make_file ("lib/libnvrtc.so", "new"));
  fail_if (note_is_there (12));
  gst_vkgdr_nvrtc_note_write (12, &note);
  fail_unless (note_is_there (12));
  g_free (make_file ("library", "other content"));
  fail_if (note_is_there (12));

  g_array_unref (note.archs);
  g_free (note.file);
  g_free (lib);
}
GST_END_TEST;

static Suite *
cache_suite (void)
{
  Suite *s = suite_create ("cache");
  TCase *general = tcase_create ("general");

  suite_add_tcase (s, general);
  tcase_add_checked_fixture (general, setup, teardown);
  tcase_add_test (general, test_processes_share_a_small_cache);
  tcase_add_test (general, test_oldest_entries_go);
  tcase_add_test (general, test_size_of_nothing_keeps_nothing);
  tcase_add_test (general, test_note_holds_while_nothing_changes);
  return s;
}

GST_CHECK_MAIN (cache);
