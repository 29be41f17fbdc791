/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/cache.c: compiled images on disk, under VKGDR_CACHE_DIR or the user's
 * cache folder
 *
 * An entry is a file of its own, named after the key's hash. It carries its
 * length and checksum, so that a broken one is found, removed and made anew.
 * Knows nothing of compilers: a key is a string, an image is bytes.
 */

#include <errno.h>
#include <string.h>
#include <utime.h>

#include <glib/gstdio.h>

#include "kernel/cache.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_cache_debug);
#define GST_CAT_DEFAULT gst_vkgdr_cache_debug

/* Bytes of all entries together, unless VKGDR_CACHE_SIZE says otherwise; an
 * image of a kernel is some 10 KiB. */
#define CACHE_DEFAULT_SIZE (256 * 1024 * 1024)
/* To be changed with the layout of an entry. */
#define CACHE_MAGIC "VKGDRIM1"
#define CACHE_SUFFIX ".image"
#define CACHE_CHECKSUM G_CHECKSUM_SHA256
#define CACHE_CHECKSUM_SIZE 32

typedef struct {
  gchar magic[8];
  guint64 length; /* of the image, little endian */
  guint8 checksum[CACHE_CHECKSUM_SIZE];
} CacheHeader;

typedef struct {
  gchar *path;
  gint64 mtime; /* nanoseconds */
  guint64 size;
} CacheFile;

static void
cache_init_debug (void)
{
  static gsize once;

  if (g_once_init_enter (&once)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_cache_debug, "vkgdrcache", 0, "vkgdr kernel cache");
    g_once_init_leave (&once, 1);
  }
}

static gchar *
cache_get_folder (void)
{
  const gchar *folder = g_getenv ("VKGDR_CACHE_DIR");

  if (folder && *folder)
    return g_strdup (folder);
  return g_build_filename (g_get_user_cache_dir (), "gst-vkgdr", NULL);
}

/* Of a number with K, M or G behind it, or none. */
static guint64
cache_get_max_size (void)
{
  const gchar *text = g_getenv ("VKGDR_CACHE_SIZE"), *units = "KMG", *unit;
  gchar *end;
  guint64 size;
  guint shift = 0;

  if (!text || !*text)
    return CACHE_DEFAULT_SIZE;
  size = g_ascii_strtoull (text, &end, 10);
  if (*end && (unit = strchr (units, g_ascii_toupper (*end)))) {
    shift = 10 * (unit - units + 1);
    end++;
  }
  if (end == text || *end || size > G_MAXUINT64 >> shift) {
    GST_WARNING ("VKGDR_CACHE_SIZE=%s is no size in bytes", text);
    return CACHE_DEFAULT_SIZE;
  }
  return size << shift;
}

static gchar *
cache_get_path (const gchar *folder, const gchar *key)
{
  gchar *hash = g_compute_checksum_for_string (CACHE_CHECKSUM, key, -1);
  gchar *file = g_strconcat (hash, CACHE_SUFFIX, NULL);
  gchar *path = g_build_filename (folder, file, NULL);

  g_free (file);
  g_free (hash);
  return path;
}

static void
cache_fill_header (CacheHeader *header, const guint8 *image, gsize length)
{
  GChecksum *sum = g_checksum_new (CACHE_CHECKSUM);
  gsize size = CACHE_CHECKSUM_SIZE;

  memcpy (header->magic, CACHE_MAGIC, sizeof (header->magic));
  header->length = GUINT64_TO_LE (length);
  g_checksum_update (sum, image, length);
  g_checksum_get_digest (sum, header->checksum, &size);
  g_checksum_free (sum);
}

static gboolean
cache_is_intact (const guint8 *data, gsize size)
{
  CacheHeader header;

  if (size <= sizeof (header))
    return FALSE;
  cache_fill_header (&header, data + sizeof (header), size - sizeof (header));
  return memcmp (&header, data, sizeof (header)) == 0;
}

GBytes *
gst_vkgdr_cache_lookup (const gchar *key)
{
  gchar *folder = cache_get_folder (), *path = cache_get_path (folder, key);
  GBytes *image = NULL;
  gchar *data = NULL;
  gsize size = 0;

  cache_init_debug ();
  if (!g_file_get_contents (path, &data, &size, NULL)) {
    GST_DEBUG ("%s is not there", path);
  } else if (!cache_is_intact ((guint8 *) data, size)) {
    GST_INFO ("%s is broken, and removed", path);
    g_unlink (path);
  } else {
    image =
        g_bytes_new (data + sizeof (CacheHeader), size - sizeof (CacheHeader));
    /* Its age is that of its last use. */
    g_utime (path, NULL);
    GST_DEBUG ("%s is used", path);
  }

  g_free (data);
  g_free (path);
  g_free (folder);
  return image;
}

static void
cache_file_clear (gpointer data)
{
  g_free (((CacheFile *) data)->path);
}

static gint
cache_file_compare (gconstpointer a, gconstpointer b)
{
  gint64 x = ((const CacheFile *) a)->mtime, y = ((const CacheFile *) b)->mtime;

  return (x > y) - (x < y);
}

/* Entries, and what a writer that was killed has left of one; nothing else that
 * lies in the folder. */
static GArray *
cache_list (const gchar *folder)
{
  GArray *files = g_array_new (FALSE, FALSE, sizeof (CacheFile));
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  GStatBuf st;

  g_array_set_clear_func (files, cache_file_clear);
  while (dir && (name = g_dir_read_name (dir))) {
    CacheFile file;

    if (!strstr (name, CACHE_SUFFIX))
      continue;
    file.path = g_build_filename (folder, name, NULL);
    if (g_stat (file.path, &st) != 0 || !S_ISREG (st.st_mode)) {
      g_free (file.path);
      continue;
    }
    file.mtime =
        st.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000) + st.st_mtim.tv_nsec;
    file.size = st.st_size;
    g_array_append_val (files, file);
  }
  if (dir)
    g_dir_close (dir);
  return files;
}

/* Another process may remove the same files meanwhile; that is no harm. */
static void
cache_make_room (const gchar *folder, guint64 needed, guint64 max_size)
{
  GArray *files = cache_list (folder);
  guint64 total = needed;
  guint i;

  for (i = 0; i < files->len; i++)
    total += g_array_index (files, CacheFile, i).size;
  g_array_sort (files, cache_file_compare);
  for (i = 0; i < files->len && total > max_size; i++) {
    CacheFile *file = &g_array_index (files, CacheFile, i);

    GST_DEBUG ("%s goes: the cache is full", file->path);
    g_unlink (file->path);
    total -= file->size;
  }
  g_array_unref (files);
}

void
gst_vkgdr_cache_store (const gchar *key, GBytes *image)
{
  gchar *folder = cache_get_folder (), *path = cache_get_path (folder, key);
  GByteArray *entry = g_byte_array_new ();
  GError *error = NULL;
  CacheHeader header;
  guint64 max_size;
  gconstpointer data;
  gsize length;

  cache_init_debug ();
  max_size = cache_get_max_size ();
  data = g_bytes_get_data (image, &length);
  if (length + sizeof (header) > max_size)
    goto done;
  cache_fill_header (&header, data, length);
  g_byte_array_append (entry, (guint8 *) &header, sizeof (header));
  g_byte_array_append (entry, data, length);

  if (g_mkdir_with_parents (folder, 0700) != 0) {
    GST_INFO ("%s: %s", folder, g_strerror (errno));
    goto done;
  }
  cache_make_room (folder, entry->len, max_size);
  /* Writes a file beside it, and renames that: a reader sees all or nothing. */
  if (!g_file_set_contents_full (path, (gchar *) entry->data, entry->len,
          G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error)) {
    GST_INFO ("not kept: %s", error->message);
    g_clear_error (&error);
  }

done:
  g_byte_array_unref (entry);
  g_free (path);
  g_free (folder);
}
