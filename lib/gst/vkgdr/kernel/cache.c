/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/cache.c: compiled images on disk, under VKGDR_CACHE_DIR or the user's
 * cache folder
 *
 * An image is code that runs with the user's rights. The folder and each entry
 * are therefore used only if they belong to this user and nobody else can write
 * to them. Then no other user can exchange an entry between the check and its
 * use.
 *
 * An entry is a file of its own, named after the key's hash: the checksum of
 * the image, and the image. A damaged entry is compiled again. Nothing is ever
 * removed: images are small, and the user may delete the folder. Knows nothing
 * of compilers: a key is a string, an image is bytes.
 */

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "kernel/cache.h"
#include "kernel/file.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_cache_debug);
#define GST_CAT_DEFAULT gst_vkgdr_cache_debug

/* The largest size of an entry in bytes. */
#define CACHE_MAX_ENTRY (64 * 1024 * 1024)
#define CACHE_CHECKSUM G_CHECKSUM_SHA256
#define CACHE_CHECKSUM_SIZE 32

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

static gchar *
cache_make_path (const gchar *folder, const gchar *key)
{
  gchar *hash = g_compute_checksum_for_string (CACHE_CHECKSUM, key, -1);
  gchar *path = g_strdup_printf ("%s/%s.image", folder, hash);

  g_free (hash);
  return path;
}

/* Returns the reason why a file or folder cannot be trusted, or NULL if it can.
 */
static const gchar *
cache_find_fault (const GStatBuf *st, mode_t type)
{
  if ((st->st_mode & S_IFMT) != type)
    return type == S_IFDIR ? "it is not a folder" : "it is not a regular file";
  if (st->st_uid != geteuid ())
    return "it belongs to another user";
  if (st->st_mode & (S_IWGRP | S_IWOTH))
    return "other users can write to it";
  return NULL;
}

/* What does not exist is not trusted either, but is nothing to warn of. */
static gboolean
cache_is_trusted (const gchar *path, mode_t type)
{
  const gchar *fault;
  GStatBuf st;

  if (g_lstat (path, &st) == 0)
    fault = cache_find_fault (&st, type);
  else if (errno != ENOENT)
    fault = g_strerror (errno);
  else
    return FALSE;
  if (fault)
    GST_WARNING (
        "%s is not used, and kernels are compiled instead: %s", path, fault);
  return fault == NULL;
}

static void
cache_compute_checksum (GBytes *image, guint8 *checksum)
{
  GChecksum *sum = g_checksum_new (CACHE_CHECKSUM);
  gsize size = CACHE_CHECKSUM_SIZE, length;
  const guint8 *data = g_bytes_get_data (image, &length);

  g_checksum_update (sum, data, length);
  g_checksum_get_digest (sum, checksum, &size);
  g_checksum_free (sum);
}

/* Takes ownership of @entry. Returns its image, or NULL if it is damaged. */
static GBytes *
cache_take_image (GBytes *entry)
{
  guint8 checksum[CACHE_CHECKSUM_SIZE];
  GBytes *image = NULL;
  gsize size;
  const guint8 *data = g_bytes_get_data (entry, &size);

  if (size > sizeof (checksum)) {
    image = g_bytes_new_from_bytes (
        entry, sizeof (checksum), size - sizeof (checksum));
    cache_compute_checksum (image, checksum);
    if (memcmp (checksum, data, sizeof (checksum)) != 0)
      g_clear_pointer (&image, g_bytes_unref);
  }
  g_bytes_unref (entry);
  return image;
}

GBytes *
gst_vkgdr_cache_lookup (const gchar *key)
{
  gchar *folder = cache_get_folder (), *path = cache_make_path (folder, key);
  GBytes *entry = NULL, *image = NULL;

  cache_init_debug ();
  if (cache_is_trusted (folder, S_IFDIR) && cache_is_trusted (path, S_IFREG))
    entry = gst_vkgdr_file_read (path, CACHE_MAX_ENTRY, NULL);
  if (entry)
    image = cache_take_image (entry);
  GST_DEBUG ("%s is %s", path, image ? "used" : "compiled");
  g_free (path);
  g_free (folder);
  return image;
}

/* Another process sees the whole entry or none. */
static gboolean
cache_write (const gchar *folder, const gchar *path, const GByteArray *entry)
{
  GError *error = NULL;

  if (g_mkdir_with_parents (folder, 0700) != 0) {
    GST_WARNING ("%s cannot be made: %s", folder, g_strerror (errno));
    return FALSE;
  }
  if (!cache_is_trusted (folder, S_IFDIR))
    return FALSE;
  g_unlink (path); /* newer GLib keeps the mode of a file that exists */
  if (g_file_set_contents_full (path, (gchar *) entry->data, entry->len,
          G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error))
    return TRUE;
  GST_WARNING ("a compiled kernel is not kept: %s", error->message);
  g_error_free (error);
  return FALSE;
}

void
gst_vkgdr_cache_store (const gchar *key, GBytes *image)
{
  gchar *folder = cache_get_folder (), *path = cache_make_path (folder, key);
  GByteArray *entry = g_byte_array_new ();

  cache_init_debug ();
  g_byte_array_set_size (entry, CACHE_CHECKSUM_SIZE);
  cache_compute_checksum (image, entry->data);
  g_byte_array_append (
      entry, g_bytes_get_data (image, NULL), g_bytes_get_size (image));
  if (cache_write (folder, path, entry))
    GST_DEBUG ("%s is stored", path);
  g_byte_array_unref (entry);
  g_free (path);
  g_free (folder);
}
