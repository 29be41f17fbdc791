/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cache.c: tests of the cache of compiled images on disk
 *
 * Several processes share the cache. It uses only files that no other user can
 * have written.
 */

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"
#include "folder.h"
#include "kernel/cache.h"

/* The user ID of "nobody". */
#define NOBODY 65534

static gchar *cache;

static void
setup (void)
{
  /* Files that others can write to are not used. Tests that need such files
   * change the mode. */
  umask (022);
  folder_setup ();
  cache = g_build_filename (folder, "cache", NULL);
  g_setenv ("VKGDR_CACHE_DIR", cache, TRUE);
  g_unsetenv ("VKGDR_CACHE_SIZE");
}

static void
teardown (void)
{
  g_free (cache);
  folder_teardown ();
}

/* --- entries ------------------------------------------------------------- */

/* Makes entry number @i. Its size and its content depend only on @i. */
static GBytes *
make_entry (guint i)
{
  g_autofree gchar *data = g_strnfill (1000 + 100 * i, 'a' + i);

  return g_bytes_new (data, 1000 + 100 * i);
}

/* Stores "a key", and returns the path of its entry, which the caller frees. */
static gchar *
store_entry (void)
{
  g_autofree gchar *hash =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, "a key", -1);
  g_autoptr (GBytes) entry = make_entry (0);

  gst_vkgdr_cache_store ("a key", entry);
  return g_strdup_printf ("%s/%s.image", cache, hash);
}

static gboolean
cache_has (const gchar *key)
{
  g_autoptr (GBytes) image = gst_vkgdr_cache_lookup (key);

  return image != NULL;
}

#define N_ENTRIES 20
/* A cache of this size has room for about five of the entries. */
#define SMALL_CACHE "10K"
#define SMALL_CACHE_SIZE (10 * 1024)
#define LARGEST_ENTRY (1000 + 100 * N_ENTRIES + 64)

/* Cuts off some entry. It may be gone already. */
static void
damage (void)
{
  g_autoptr (GDir) dir = g_dir_open (cache, 0, NULL);
  const gchar *name = dir ? g_dir_read_name (dir) : NULL;
  g_autofree gchar *path = g_build_filename (cache, name, NULL);

  if (name && truncate (path, 500) != 0)
    GST_INFO ("%s is gone", path);
}

/* Stores, looks up and damages entries for one second. Returns how many lookups
 * found an entry, or -1 if an entry had the wrong content. */
static gint
use_cache (guint seed)
{
  gint64 end = g_get_monotonic_time () + G_USEC_PER_SEC;
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  gint n_found = 0;

  while (g_get_monotonic_time () < end) {
    guint i = g_rand_int_range (random, 0, N_ENTRIES);
    g_autofree gchar *key = g_strdup_printf ("entry %u", i);
    g_autoptr (GBytes) found = gst_vkgdr_cache_lookup (key);
    g_autoptr (GBytes) entry = make_entry (i);

    if (!found)
      gst_vkgdr_cache_store (key, entry);
    else if (g_bytes_equal (entry, found))
      n_found++;
    else
      return -1;
    if (g_rand_int_range (random, 0, 50) == 0)
      damage ();
  }
  return n_found;
}

static guint64
get_cache_size (void)
{
  g_autoptr (GDir) dir = g_dir_open (cache, 0, NULL);
  const gchar *name;
  guint64 size = 0;
  GStatBuf st;

  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *file = g_build_filename (cache, name, NULL);

    if (g_stat (file, &st) == 0)
      size += st.st_size;
  }
  return size;
}

TEST_FIXTURE (setup, teardown);

TEST (processes_share_a_small_cache)
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
  /* Each process can make room for its latest entry while the other one does
   * so, too. So the cache may exceed its limit by two entries. */
  fail_unless (get_cache_size () <= SMALL_CACHE_SIZE + 2 * LARGEST_ENTRY);
}

TEST (oldest_entries_go)
{
  g_autoptr (GBytes) entry = make_entry (0);

  g_setenv ("VKGDR_CACHE_SIZE", "2500", TRUE);
  gst_vkgdr_cache_store ("first one", entry);
  g_usleep (20 * 1000);
  gst_vkgdr_cache_store ("second one", entry);
  g_usleep (20 * 1000);
  /* The lookup makes this entry newer than the second one. */
  fail_unless (cache_has ("first one"));
  g_usleep (20 * 1000);
  gst_vkgdr_cache_store ("third one", entry);
  fail_unless (cache_has ("first one"));
  fail_if (cache_has ("second one"));
  fail_unless (cache_has ("third one"));
}

TEST (size_of_nothing_keeps_nothing)
{
  g_autoptr (GBytes) entry = make_entry (0);

  g_setenv ("VKGDR_CACHE_SIZE", "0", TRUE);
  gst_vkgdr_cache_store ("a key", entry);
  fail_if (cache_has ("a key"));
  /* A size that cannot be read is ignored, with a warning on stderr. */
  g_setenv ("VKGDR_CACHE_SIZE", "much", TRUE);
  g_test_expect_message (
      "GStreamer-Vkgdr", G_LOG_LEVEL_WARNING, "*VKGDR_CACHE_SIZE is \"much\"*");
  gst_vkgdr_cache_store ("a key", entry);
  g_test_assert_expected_messages ();
  fail_unless (cache_has ("a key"));
}

/* --- trust --------------------------------------------------------------- */

static guint n_warnings;

static void
count_warnings (GstDebugCategory *category, GstDebugLevel level,
    const gchar *file, const gchar *function, gint line, GObject *object,
    GstDebugMessage *message, gpointer data)
{
  if (level == GST_LEVEL_WARNING
      && g_str_equal (gst_debug_category_get_name (category), "vkgdrcache"))
    n_warnings++;
}

TEST (folder_that_others_can_write_to_is_not_used)
{
  g_autofree gchar *path = store_entry ();

  fail_unless (cache_has ("a key"));
  fail_unless (g_chmod (cache, 0777) == 0);
  fail_if (cache_has ("a key"));
  fail_unless (g_unlink (path) == 0);
  g_free (store_entry ());
  fail_if (g_file_test (path, G_FILE_TEST_EXISTS));
  fail_unless (g_chmod (cache, 0755) == 0);
  g_free (store_entry ());
  fail_unless (cache_has ("a key"));
}

/* Only root can give a folder away. */
TEST_IF (folder_of_another_user_is_not_used, geteuid () == 0)
{
  g_free (store_entry ());
  fail_unless (cache_has ("a key"));
  fail_unless (chown (cache, NOBODY, NOBODY) == 0);
  fail_if (cache_has ("a key"));
}

TEST (folder_behind_a_link_is_not_used)
{
  g_autofree gchar *elsewhere = g_build_filename (folder, "elsewhere", NULL);

  fail_unless (g_mkdir (elsewhere, 0700) == 0);
  fail_unless (symlink (elsewhere, cache) == 0);
  g_free (store_entry ());
  fail_if (cache_has ("a key"));
  fail_unless (g_rmdir (elsewhere) == 0);
}

TEST (entry_that_others_can_write_to_is_not_used)
{
  g_autofree gchar *path = store_entry ();

  fail_unless (g_chmod (path, 0622) == 0);
  fail_if (cache_has ("a key"));
  fail_unless (g_chmod (path, 0644) == 0);
  fail_unless (cache_has ("a key"));
  if (geteuid () == 0) {
    fail_unless (chown (path, NOBODY, NOBODY) == 0);
    fail_if (cache_has ("a key"));
  }
  /* A new entry replaces it. */
  g_free (store_entry ());
  fail_unless (cache_has ("a key"));
}

TEST (entry_that_is_no_file_is_not_used)
{
  g_autofree gchar *path = store_entry ();
  g_autofree gchar *other = g_build_filename (folder, "other", NULL);

  fail_unless (rename (path, other) == 0);
  fail_unless (symlink (other, path) == 0);
  fail_if (cache_has ("a key"));
  fail_unless (g_unlink (path) == 0);
  fail_unless (mkfifo (path, 0600) == 0);
  fail_if (cache_has ("a key"));
  fail_unless (g_unlink (path) == 0);
  fail_unless (g_mkdir (path, 0700) == 0);
  fail_if (cache_has ("a key"));
}

TEST (warns_once_of_a_folder_that_is_not_used)
{
  guint i;

  gst_debug_set_active (TRUE);
  gst_debug_add_log_function (count_warnings, NULL, NULL);
  g_free (store_entry ());
  gst_debug_set_threshold_for_name ("vkgdrcache", GST_LEVEL_WARNING);
  fail_unless (g_chmod (cache, 0777) == 0);
  for (i = 0; i < 3; i++) {
    fail_if (cache_has ("a key"));
    g_free (store_entry ());
  }
  gst_debug_remove_log_function (count_warnings);
  fail_unless_equals_int (n_warnings, 1);
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

/* The cache does not remove files of the user, nor files whose names only
 * resemble the name of an entry. The last file is one of the cache: it is what
 * a writer that was killed has left. */
TEST (only_own_names_are_removed)
{
  static const gchar *const names[] = { "disk.image.qcow2", "mine.image",
    ".image", HASH "g.image",
    "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF.image",
    HASH "f.image2", HASH "f.image.", HASH "f.image.abcdefg",
    HASH "f.image.aB3dE6" };
  guint i, own = G_N_ELEMENTS (names) - 1;

  g_free (store_entry ());
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *name = g_build_filename ("cache", names[i], NULL);

    g_free (folder_write (name, "a text"));
  }
  /* There is room for one entry only. */
  g_setenv ("VKGDR_CACHE_SIZE", "1050", TRUE);
  g_free (store_entry ());
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *path = g_build_filename (cache, names[i], NULL);

    fail_unless_equals_int (g_file_test (path, G_FILE_TEST_EXISTS), i != own);
  }
  fail_unless (cache_has ("a key"));
}
