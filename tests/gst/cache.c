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

static void
store (const gchar *key)
{
  g_autoptr (GBytes) entry = make_entry (0);

  gst_vkgdr_cache_store (key, entry);
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

/* Stores, looks up and damages entries for a while. Returns how many lookups
 * found an entry, or -1 if an entry had the wrong content. */
static gint
use_cache (guint seed)
{
  gint64 end = g_get_monotonic_time () + G_USEC_PER_SEC / 2;
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

/* Returns the size of all entries, and sets *@n to their number. */
static guint64
get_cache_size (guint *n)
{
  g_autoptr (GDir) dir = g_dir_open (cache, 0, NULL);
  const gchar *name;
  guint64 size = 0;
  GStatBuf st;

  for (*n = 0; dir && (name = g_dir_read_name (dir)); ++*n) {
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
  guint i, n;

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
  fail_unless (get_cache_size (&n) <= SMALL_CACHE_SIZE + 2 * LARGEST_ENTRY);
}

TEST (oldest_entries_go)
{
  g_setenv ("VKGDR_CACHE_SIZE", "2500", TRUE);
  store ("first one");
  g_usleep (20 * 1000);
  store ("second one");
  g_usleep (20 * 1000);
  /* The lookup makes this entry newer than the second one. */
  fail_unless (cache_has ("first one"));
  g_usleep (20 * 1000);
  store ("third one");
  fail_unless (cache_has ("first one"));
  fail_if (cache_has ("second one"));
  fail_unless (cache_has ("third one"));
}

TEST (size_of_nothing_keeps_nothing)
{
  g_setenv ("VKGDR_CACHE_SIZE", "0", TRUE);
  store ("a key");
  fail_if (cache_has ("a key"));
  /* A size that cannot be read is ignored, with a warning on stderr. */
  g_setenv ("VKGDR_CACHE_SIZE", "much", TRUE);
  g_test_expect_message (
      "GStreamer-Vkgdr", G_LOG_LEVEL_WARNING, "*VKGDR_CACHE_SIZE is \"much\"*");
  store ("a key");
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

/* What happens to the cache, as a command in the folder around it. Its only
 * entry is then not used. */
static const struct {
  const gchar *command;
  gboolean is_replaced; /* Storing the entry again mends this. */
} spoils[] = {
  { "chmod 777 cache", FALSE },
  { "mv cache elsewhere; ln -s elsewhere cache", FALSE },
  { "chown 65534 cache", FALSE },
  { "chmod 622 cache/*", TRUE },
  { "f=$(echo cache/*); mv $f other; ln -s ../other $f", TRUE },
  { "f=$(echo cache/*); rm $f; mkfifo -m 600 $f", TRUE },
  { "f=$(echo cache/*); rm $f; mkdir -m 700 $f", FALSE },
  { "chown 65534 cache/*", TRUE },
};

static void
run (const gchar *command)
{
  g_autofree gchar *line = g_strdup_printf ("cd '%s'; %s", folder, command);

  fail_unless_equals_int (system (line), 0);
}

/* Folders and entries that others can write to, or that are not what they seem
 * to be, are not used. Nothing is stored in such a folder, and one warning says
 * so. */
TEST (only_own_files_are_used)
{
  guint i, n;

  gst_debug_set_active (TRUE);
  gst_debug_add_log_function (count_warnings, NULL, NULL);
  gst_debug_set_threshold_for_name ("vkgdrcache", GST_LEVEL_WARNING);
  for (i = 0; i < G_N_ELEMENTS (spoils); i++) {
    /* Only root can give a file away. */
    if (strstr (spoils[i].command, "chown") && geteuid () != 0)
      continue;
    store ("a key");
    fail_unless (cache_has ("a key"));
    run (spoils[i].command);
    fail_if (cache_has ("a key"), "%s", spoils[i].command);
    if (i == 0)
      fail_unless (!cache_has ("a key") && n_warnings == 1);
    if (!spoils[i].is_replaced)
      run ("rm -rf cache/*.image");
    store ("a key");
    get_cache_size (&n);
    fail_unless (
        (n > 0) == spoils[i].is_replaced || strstr (spoils[i].command, "dir"),
        "%s", spoils[i].command);
    fail_unless (!spoils[i].is_replaced || cache_has ("a key"));
    run ("rm -rf *");
  }
  gst_debug_remove_log_function (count_warnings);
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

  store ("a key");
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *name = g_build_filename ("cache", names[i], NULL);

    g_free (folder_write (name, "a text"));
  }
  /* There is room for one entry only. */
  g_setenv ("VKGDR_CACHE_SIZE", "1050", TRUE);
  store ("a key");
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *path = g_build_filename (cache, names[i], NULL);

    fail_unless_equals_int (g_file_test (path, G_FILE_TEST_EXISTS), i != own);
  }
  fail_unless (cache_has ("a key"));
}
