/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/file.c: reads regular files of a bounded size
 *
 * A path comes from a user, or from an #include of a source. A FIFO would block
 * forever, and a device may have no end. Knows nothing of what is in a file.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/file.h"

/* Bytes that are read at a time. */
#define FILE_CHUNK (64 * 1024)

static void
file_set_errno (GError **error, const gchar *name, gint number)
{
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
      "%s cannot be read: %s", name, g_strerror (number));
}

static void
file_set_too_large (GError **error, const gchar *name, gsize max_size)
{
  gchar *size = g_format_size_full (max_size, G_FORMAT_SIZE_IEC_UNITS);

  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
      "%s is too large: at most %s are read", name, size);
  g_free (size);
}

/* Without O_NONBLOCK, opening a FIFO would block. */
static gint
file_open (const gchar *path, const gchar *name, gsize max_size, GError **error)
{
  gint fd = open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat st;

  if (fd < 0) {
    file_set_errno (error, name, errno);
    return -1;
  }
  if (fstat (fd, &st) != 0)
    file_set_errno (error, name, errno);
  else if (S_ISDIR (st.st_mode))
    file_set_errno (error, name, EISDIR);
  else if (!S_ISREG (st.st_mode))
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s is not a regular file", name);
  else if ((guint64) st.st_size > max_size)
    file_set_too_large (error, name, max_size);
  else
    return fd;
  close (fd);
  return -1;
}

/* Reads to the end, because files in /proc have no size, and other files may
 * grow. */
static gboolean
file_read_all (gint fd, GByteArray *content, const gchar *name, gsize max_size,
    GError **error)
{
  gssize n;

  do {
    guint filled = content->len;

    g_byte_array_set_size (content, filled + FILE_CHUNK);
    n = read (fd, content->data + filled, FILE_CHUNK);
    g_byte_array_set_size (content, filled + MAX (n, 0));
    if (n < 0 && errno != EINTR) {
      file_set_errno (error, name, errno);
      return FALSE;
    }
    if (content->len > max_size) {
      file_set_too_large (error, name, max_size);
      return FALSE;
    }
  } while (n != 0);
  return TRUE;
}

GBytes *
gst_vkgdr_file_read (const gchar *path, gsize max_size, GError **error)
{
  /* Messages have to be valid text, which a path need not be. */
  gchar *name = g_filename_display_name (path);
  gint fd = file_open (path, name, max_size, error);
  GByteArray *content = g_byte_array_new ();
  gboolean ok = fd >= 0 && file_read_all (fd, content, name, max_size, error);

  if (fd >= 0)
    close (fd);
  g_free (name);
  if (ok)
    return g_byte_array_free_to_bytes (content);
  g_byte_array_unref (content);
  return NULL;
}
