/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/cache.c: compiled images on disk, under VKGDR_CACHE_DIR or the user's
 * cache folder
 *
 * An image is code that runs with the user's rights. The folder and each entry
 * are therefore used only if they belong to this user and nobody else can write
 * to them. Everything is opened first and checked on the open descriptor, so
 * that no other process can exchange a file between the check and its use.
 *
 * An entry is a file of its own, named after the key's hash. It contains the
 * length and the checksum of the image, so that a damaged entry is detected and
 * the image is compiled again. Files with other names are neither read nor
 * removed. Knows nothing of compilers: a key is a string, an image is bytes.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/cache.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_cache_debug);
#define GST_CAT_DEFAULT gst_vkgdr_cache_debug

/* Bytes of all entries together, unless VKGDR_CACHE_SIZE says otherwise; an
 * image of a kernel has some 10 KiB. */
#define CACHE_DEFAULT_SIZE (256 * 1024 * 1024)
/* The largest size of an entry in bytes; larger ones are not read. */
#define CACHE_MAX_ENTRY (64 * 1024 * 1024)
/* The first bytes of an entry. Must be changed when the layout of entries
 * changes. */
#define CACHE_MAGIC "VKGDRIM1"
#define CACHE_CHECKSUM G_CHECKSUM_SHA256
#define CACHE_CHECKSUM_SIZE 32

/* The name of an entry is its hash in hexadecimal digits and a suffix. While it
 * is written, a dot and random letters and digits follow. */
#define CACHE_SUFFIX ".image"
#define CACHE_HASH_DIGITS (2 * CACHE_CHECKSUM_SIZE)
#define CACHE_RANDOM_LENGTH 6
#define CACHE_RANDOM_TRIES 16

typedef struct {
  gchar magic[8];
  guint64 length; /* of the image, little endian */
  guint8 checksum[CACHE_CHECKSUM_SIZE];
} CacheHeader;

typedef struct {
  gchar *name;
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

/* --- settings ------------------------------------------------------------ */

static gchar *
cache_get_folder (void)
{
  const gchar *folder = g_getenv ("VKGDR_CACHE_DIR");

  if (folder && *folder)
    return g_strdup (folder);
  return g_build_filename (g_get_user_cache_dir (), "gst-vkgdr", NULL);
}

/* Returns the bytes that VKGDR_CACHE_SIZE allows: a number with the suffix K, M
 * or G, or without a suffix. */
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
    g_warning (
        "VKGDR_CACHE_SIZE is \"%s\", which is not a size in bytes", text);
    return CACHE_DEFAULT_SIZE;
  }
  return size << shift;
}

/* --- names --------------------------------------------------------------- */

static gchar *
cache_make_name (const gchar *key)
{
  gchar *hash = g_compute_checksum_for_string (CACHE_CHECKSUM, key, -1);
  gchar *name = g_strconcat (hash, CACHE_SUFFIX, NULL);

  g_free (hash);
  return name;
}

/* Whether @name is the name of an entry, or the temporary name of an entry that
 * is being written. */
static gboolean
cache_is_own_name (const gchar *name)
{
  gsize i;

  for (i = 0; i < CACHE_HASH_DIGITS; i++)
    if (!g_ascii_isdigit (name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
      return FALSE;
  name += CACHE_HASH_DIGITS;
  if (!g_str_has_prefix (name, CACHE_SUFFIX))
    return FALSE;
  name += strlen (CACHE_SUFFIX);
  if (*name == '\0')
    return TRUE;
  if (*name++ != '.')
    return FALSE;
  for (i = 0; i < CACHE_RANDOM_LENGTH; i++)
    if (!g_ascii_isalnum (name[i]))
      return FALSE;
  return name[i] == '\0';
}

/* --- trust --------------------------------------------------------------- */

/* Returns the reason why a file or folder cannot be trusted, or NULL if it can.
 */
static const gchar *
cache_find_fault (const struct stat *st, mode_t type)
{
  if ((st->st_mode & S_IFMT) != type)
    return type == S_IFDIR ? "is not a folder" : "is not a regular file";
  if (st->st_uid != geteuid ())
    return "belongs to another user";
  if (st->st_mode & (S_IWGRP | S_IWOTH))
    return "can be written to by other users";
  return NULL;
}

/* Logs once for each path why it is not used. */
static void
cache_warn_once (const gchar *path, const gchar *fault)
{
  static GMutex lock;
  static GHashTable *logged;
  gboolean is_new;

  g_mutex_lock (&lock);
  if (!logged)
    logged = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  is_new = g_hash_table_add (logged, g_strdup (path));
  g_mutex_unlock (&lock);
  if (is_new)
    GST_WARNING (
        "%s %s, so it is not used: kernels are compiled instead", path, fault);
  else
    GST_INFO ("%s %s", path, fault);
}

/* The same as cache_warn_once (), for a system call that failed. */
static void
cache_warn_errno_once (const gchar *path, gint number)
{
  gchar *fault = g_strdup_printf ("cannot be used (%s)", g_strerror (number));

  cache_warn_once (path, fault);
  g_free (fault);
}

/* Opens the folder. Returns its descriptor, or -1. A folder that does not exist
 * is created if @create is TRUE; otherwise, no error is logged for it. */
static gint
cache_open_folder (const gchar *folder, gboolean create)
{
  const gchar *fault;
  struct stat st;
  gint fd;

  if (create && g_mkdir_with_parents (folder, 0700) != 0) {
    cache_warn_errno_once (folder, errno);
    return -1;
  }
  fd = open (folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT)
      cache_warn_errno_once (folder, errno);
    return -1;
  }
  fault = fstat (fd, &st) == 0 ? cache_find_fault (&st, S_IFDIR)
                               : "cannot be examined";
  if (!fault)
    return fd;
  cache_warn_once (folder, fault);
  close (fd);
  return -1;
}

/* Opens an entry for reading. Returns its descriptor, or -1. */
static gint
cache_open_entry (gint dir, const gchar *name, const gchar *path, gsize *size)
{
  const gchar *fault;
  struct stat st;
  gint fd;

  /* Without O_NONBLOCK, a FIFO would block. */
  fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT)
      cache_warn_errno_once (path, errno);
    return -1;
  }
  fault = fstat (fd, &st) == 0 ? cache_find_fault (&st, S_IFREG)
                               : "cannot be examined";
  if (!fault && st.st_size > CACHE_MAX_ENTRY)
    fault = "is too large";
  if (!fault) {
    *size = st.st_size;
    return fd;
  }
  cache_warn_once (path, fault);
  close (fd);
  return -1;
}

/* --- entries ------------------------------------------------------------- */

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

static gboolean
cache_read_all (gint fd, guint8 *data, gsize size)
{
  while (size > 0) {
    gssize n = read (fd, data, size);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    data += n;
    size -= n;
  }
  return TRUE;
}

static gboolean
cache_write_all (gint fd, const guint8 *data, gsize size)
{
  while (size > 0) {
    gssize n = write (fd, data, size);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return FALSE;
    data += n;
    size -= n;
  }
  return TRUE;
}

static GBytes *
cache_read_entry (gint dir, const gchar *name, const gchar *path)
{
  GBytes *image = NULL;
  guint8 *data;
  gsize size;
  gint fd = cache_open_entry (dir, name, path, &size);

  if (fd < 0)
    return NULL;
  data = g_malloc (size + 1);
  if (!cache_read_all (fd, data, size) || !cache_is_intact (data, size)) {
    GST_INFO ("%s is damaged, and removed", path);
    unlinkat (dir, name, 0);
  } else {
    image =
        g_bytes_new (data + sizeof (CacheHeader), size - sizeof (CacheHeader));
    /* The age of an entry is counted from its last use. */
    futimens (fd, NULL);
    GST_DEBUG ("%s is used", path);
  }
  close (fd);
  g_free (data);
  return image;
}

GBytes *
gst_vkgdr_cache_lookup (const gchar *key)
{
  gchar *folder, *name, *path;
  GBytes *image = NULL;
  gint dir;

  cache_init_debug ();
  folder = cache_get_folder ();
  name = cache_make_name (key);
  path = g_build_filename (folder, name, NULL);
  dir = cache_open_folder (folder, FALSE);
  if (dir >= 0) {
    image = cache_read_entry (dir, name, path);
    close (dir);
  }
  g_free (path);
  g_free (name);
  g_free (folder);
  return image;
}

/* --- removing ------------------------------------------------------------ */

static void
cache_file_clear (gpointer data)
{
  g_free (((CacheFile *) data)->name);
}

static gint
cache_file_compare (gconstpointer a, gconstpointer b)
{
  gint64 x = ((const CacheFile *) a)->mtime, y = ((const CacheFile *) b)->mtime;

  return (x > y) - (x < y);
}

/* Does not take ownership of @dir. */
static DIR *
cache_open_list (gint dir)
{
  gint copy = openat (dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy >= 0 ? fdopendir (copy) : NULL;

  if (!list && copy >= 0)
    close (copy);
  return list;
}

/* Lists the entries, and incomplete entries of processes that were killed, but
 * no other files of the folder. */
static GArray *
cache_list (gint dir)
{
  GArray *files = g_array_new (FALSE, FALSE, sizeof (CacheFile));
  DIR *list = cache_open_list (dir);
  struct dirent *item;
  struct stat st;

  g_array_set_clear_func (files, cache_file_clear);
  while (list && (item = readdir (list))) {
    CacheFile file;

    if (!cache_is_own_name (item->d_name)
        || fstatat (dir, item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0
        || cache_find_fault (&st, S_IFREG))
      continue;
    file.name = g_strdup (item->d_name);
    file.mtime =
        st.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000) + st.st_mtim.tv_nsec;
    file.size = st.st_size;
    g_array_append_val (files, file);
  }
  if (list)
    closedir (list);
  return files;
}

/* Another process may remove the same files at the same time, which is
 * harmless. */
static void
cache_make_room (gint dir, guint64 needed, guint64 max_size)
{
  GArray *files = cache_list (dir);
  guint64 total = needed;
  guint i;

  for (i = 0; i < files->len; i++)
    total += g_array_index (files, CacheFile, i).size;
  g_array_sort (files, cache_file_compare);
  for (i = 0; i < files->len && total > max_size; i++) {
    CacheFile *file = &g_array_index (files, CacheFile, i);

    GST_DEBUG ("%s is removed: the cache is full", file->name);
    unlinkat (dir, file->name, 0);
    total -= file->size;
  }
  g_array_unref (files);
}

/* --- storing ------------------------------------------------------------- */

/* Creates a new file, and sets *@temporary to its name, which the caller frees.
 */
static gint
cache_create_temporary (gint dir, const gchar *name, gchar **temporary)
{
  static const gchar letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  gchar random[CACHE_RANDOM_LENGTH + 1] = "";
  guint try, i;
  gint fd = -1;

  *temporary = NULL;
  for (try = 0; fd < 0 && try < CACHE_RANDOM_TRIES; try++) {
    for (i = 0; i < CACHE_RANDOM_LENGTH; i++)
      random[i] = letters[g_random_int_range (0, strlen (letters))];
    g_free (*temporary);
    *temporary = g_strconcat (name, ".", random, NULL);
    fd = openat (dir, *temporary,
        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  return fd;
}

/* Returns 0 or an errno. The entry gets its name when it is complete, so a
 * reader never sees a part of it. */
static gint
cache_write_entry (gint dir, const gchar *name, const GByteArray *entry)
{
  gchar *temporary;
  gint result = 0, fd = cache_create_temporary (dir, name, &temporary);

  if (fd < 0) {
    result = errno;
    g_free (temporary);
    return result;
  }
  if (!cache_write_all (fd, entry->data, entry->len))
    result = errno;
  if (close (fd) != 0 && result == 0)
    result = errno;
  if (result == 0 && renameat (dir, temporary, dir, name) != 0)
    result = errno;
  if (result != 0)
    unlinkat (dir, temporary, 0);
  g_free (temporary);
  return result;
}

static void
cache_store_entry (const gchar *key, const GByteArray *entry, guint64 max_size)
{
  gchar *folder = cache_get_folder (), *name;
  gint result, dir = cache_open_folder (folder, TRUE);

  if (dir >= 0) {
    name = cache_make_name (key);
    cache_make_room (dir, entry->len, max_size);
    result = cache_write_entry (dir, name, entry);
    if (result != 0)
      cache_warn_errno_once (folder, result);
    close (dir);
    g_free (name);
  }
  g_free (folder);
}

void
gst_vkgdr_cache_store (const gchar *key, GBytes *image)
{
  GByteArray *entry;
  CacheHeader header;
  guint64 max_size;
  gconstpointer data;
  gsize length;

  cache_init_debug ();
  max_size = MIN (cache_get_max_size (), CACHE_MAX_ENTRY);
  data = g_bytes_get_data (image, &length);
  if (length + sizeof (header) > max_size)
    return;
  cache_fill_header (&header, data, length);
  entry = g_byte_array_new ();
  g_byte_array_append (entry, (guint8 *) &header, sizeof (header));
  g_byte_array_append (entry, data, length);
  cache_store_entry (key, entry, cache_get_max_size ());
  g_byte_array_unref (entry);
}
