/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/includes.c: the files that a source includes, directly or indirectly
 *
 * An image depends on the content of these files, so this content is a part of
 * the key of the cache, and a filter watches the files. Knows no compiler.
 */

#include <sys/stat.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/file.h"
#include "kernel/includes.h"

/* Limits: bytes of one included file, bytes of all of them, and their number.
 * All headers of a CUDA toolkit together stay below these limits. */
#define INCLUDES_MAX_FILE (16 * 1024 * 1024)
#define INCLUDES_MAX_TOTAL (64 * 1024 * 1024)
#define INCLUDES_MAX_FILES 4096

typedef struct {
  GstVkgdrIncludes *found;
  GHashTable *seen; /* paths, which found->paths owns */
  const gchar *const *folders;
  guint64 total; /* bytes */
} Search;

/* Takes ownership of @path. Sets *@exists if the file exists. */
static void
search_path (Search *search, gchar *path, gboolean *exists)
{
  struct stat st;

  /* Compilers ignore folders of that name. */
  if (stat (path, &st) != 0 || S_ISDIR (st.st_mode)) {
    g_free (path);
    return;
  }
  *exists = TRUE;
  if (g_hash_table_contains (search->seen, path)) {
    g_free (path);
  } else {
    g_hash_table_add (search->seen, path);
    g_ptr_array_add (search->found->paths, path);
  }
}

static void
search_name (
    Search *search, const GstVkgdrSourceInclude *include, const gchar *folder)
{
  gboolean exists = FALSE;
  guint i;

  if (g_path_is_absolute (include->name)) {
    search_path (search, g_strdup (include->name), &exists);
  } else {
    if (include->is_quoted && folder)
      search_path (
          search, g_build_filename (folder, include->name, NULL), &exists);
    for (i = 0; search->folders[i]; i++)
      search_path (search,
          g_build_filename (search->folders[i], include->name, NULL), &exists);
  }
  if (!exists && !g_str_equal (include->name, GST_VKGDR_SOURCE_HEADER)) {
    g_string_append_printf (
        search->found->digest, "\n%s is missing", include->name);
  }
}

static void
search_source (
    Search *search, const GstVkgdrSource *source, const gchar *folder)
{
  guint i;

  if (source->has_computed_include)
    search->found->is_unknown = TRUE;
  for (i = 0; i < source->includes->len; i++)
    search_name (search, source->includes->pdata[i], folder);
}

/* Adds the files that a file includes itself. */
static void
search_content (Search *search, const gchar *path, GBytes *content)
{
  gsize size;
  const gchar *data = g_bytes_get_data (content, &size);
  /* The data may be NULL if the file is empty. */
  gchar *text = g_strndup (data ? data : "", size);
  gchar *folder = g_path_get_dirname (path);
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);

  search_source (search, source, folder);
  gst_vkgdr_source_free (source);
  g_free (folder);
  g_free (text);
}

static gboolean
search_file (Search *search, const gchar *path, GError **error)
{
  GBytes *content = gst_vkgdr_file_read (path, INCLUDES_MAX_FILE, error);
  gchar *checksum;

  if (!content)
    return FALSE;
  checksum = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, content);
  g_string_append_printf (search->found->digest, "\n%s %s", path, checksum);
  g_free (checksum);
  search->total += g_bytes_get_size (content);
  search_content (search, path, content);
  g_bytes_unref (content);
  return TRUE;
}

/* Files that are found are added at the end, so the loop reads them later. */
static gboolean
search_files (Search *search, GError **error)
{
  GstVkgdrIncludes *found = search->found;
  guint i;

  for (i = 0; i < found->paths->len; i++) {
    if (i >= INCLUDES_MAX_FILES || search->total > INCLUDES_MAX_TOTAL) {
      found->is_unknown = TRUE;
      break;
    }
    if (!search_file (search, found->paths->pdata[i], error))
      return FALSE;
  }
  return TRUE;
}

GstVkgdrIncludes *
gst_vkgdr_includes_find (const GstVkgdrSource *source, const gchar *folder,
    const gchar *const *folders, GError **error)
{
  GstVkgdrIncludes *found = g_new0 (GstVkgdrIncludes, 1);
  Search search = { found, NULL, folders, 0 };
  gboolean ok;

  found->paths = g_ptr_array_new_with_free_func (g_free);
  found->digest = g_string_new (NULL);
  search.seen = g_hash_table_new (g_str_hash, g_str_equal);
  search_source (&search, source, folder);
  ok = search_files (&search, error);
  g_hash_table_unref (search.seen);
  if (ok)
    return found;
  gst_vkgdr_includes_free (found);
  return NULL;
}

void
gst_vkgdr_includes_free (GstVkgdrIncludes *includes)
{
  g_ptr_array_unref (includes->paths);
  g_string_free (includes->digest, TRUE);
  g_free (includes);
}
