/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/nvrtcnote.c: what is known of an NVRTC library without loading it
 *
 * NVRTC has a hundred megabytes and takes the linker several milliseconds, more
 * than all else that a start with cached images does; yet its version is part
 * of their keys. A note in the cache tells it. It holds while the library's
 * file is the same, and so are the places where another one would be found.
 * Knows nothing of how the library is found and used.
 */

#include <glib/gstdio.h>

#include "kernel/cache.h"
#include "kernel/nvrtcnote.h"

/* To be changed with the note's layout: name, file, the file's time and size,
 * major, minor, has_cubin, archs. */
#define NOTE_KEY "gst-vkgdr nvrtc 1"
#define NOTE_TYPE "(ssxtiibai)"

static gint64
note_get_time (const gchar *path, guint64 *size)
{
  GStatBuf st;

  if (g_stat (path, &st) != 0)
    return 0;
  if (size)
    *size = st.st_size;
  return st.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000)
         + st.st_mtim.tv_nsec;
}

static void
note_add_place (GString *key, const gchar *folder, const gchar *child)
{
  gchar *path = g_build_filename (folder, child, NULL);

  g_string_append_printf (
      key, "\n%s %" G_GINT64_FORMAT, path, note_get_time (path, NULL));
  g_free (path);
}

static void
note_add_toolkit (GString *key, const gchar *folder)
{
  if (!folder || !*folder)
    return;
  note_add_place (key, folder, "lib64");
  note_add_place (key, folder, "lib");
}

/* All that decides which library is found. */
static gchar *
note_make_key (gint driver_major)
{
  const gchar *named = g_getenv ("VKGDR_NVRTC");
  const gchar *path = g_getenv ("LD_LIBRARY_PATH");
  GString *key = g_string_new (NOTE_KEY);
  gchar **folders = g_strsplit_set (path ? path : "", ":;", -1);
  guint i;

  g_string_append_printf (key, "\n%d\n%s", driver_major, named ? named : "");
  for (i = 0; folders[i]; i++)
    note_add_place (key, folders[i], NULL);
  note_add_place (key, "/etc/ld.so.cache", NULL);
  note_add_toolkit (key, g_getenv ("CUDA_HOME"));
  note_add_toolkit (key, g_getenv ("CUDA_PATH"));
  note_add_toolkit (key, "/usr/local/cuda");
  g_strfreev (folders);
  return g_string_free (key, FALSE);
}

static GstVkgdrNvrtcNote *
note_unpack (GBytes *bytes)
{
  GstVkgdrNvrtcNote *note = g_new0 (GstVkgdrNvrtcNote, 1);
  GVariant *packed, *archs;
  const gint32 *values;
  gint64 time;
  guint64 size, now_size = 0;
  gsize n;

  packed = g_variant_ref_sink (
      g_variant_new_from_bytes (G_VARIANT_TYPE (NOTE_TYPE), bytes, FALSE));
  g_variant_get (packed, "(ssxtiib@ai)", &note->name, &note->file, &time, &size,
      &note->major, &note->minor, &note->has_cubin, &archs);
  values = g_variant_get_fixed_array (archs, &n, sizeof (gint32));
  note->archs = g_array_new (FALSE, FALSE, sizeof (gint));
  g_array_append_vals (note->archs, values, n);
  g_variant_unref (archs);
  g_variant_unref (packed);
  if (time != 0 && note_get_time (note->file, &now_size) == time
      && now_size == size)
    return note;
  gst_vkgdr_nvrtc_note_free (note);
  return NULL;
}

GstVkgdrNvrtcNote *
gst_vkgdr_nvrtc_note_read (gint driver_major)
{
  gchar *key = note_make_key (driver_major);
  GBytes *bytes = gst_vkgdr_cache_lookup (key);
  GstVkgdrNvrtcNote *note = bytes ? note_unpack (bytes) : NULL;

  g_clear_pointer (&bytes, g_bytes_unref);
  g_free (key);
  return note;
}

void
gst_vkgdr_nvrtc_note_write (gint driver_major, const GstVkgdrNvrtcNote *note)
{
  GVariant *packed;
  GBytes *bytes;
  guint64 size = 0;
  gint64 time;
  gchar *key;

  if (!note->file || !g_path_is_absolute (note->file))
    return;
  time = note_get_time (note->file, &size);
  packed = g_variant_ref_sink (g_variant_new ("(ssxtiib@ai)", note->name,
      note->file, time, size, note->major, note->minor, note->has_cubin,
      g_variant_new_fixed_array (G_VARIANT_TYPE_INT32, note->archs->data,
          note->archs->len, sizeof (gint32))));
  bytes = g_variant_get_data_as_bytes (packed);
  key = note_make_key (driver_major);
  gst_vkgdr_cache_store (key, bytes);
  g_free (key);
  g_bytes_unref (bytes);
  g_variant_unref (packed);
}

void
gst_vkgdr_nvrtc_note_free (GstVkgdrNvrtcNote *note)
{
  g_free (note->name);
  g_free (note->file);
  g_array_unref (note->archs);
  g_free (note);
}
