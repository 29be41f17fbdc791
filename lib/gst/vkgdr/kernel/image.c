/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/image.c: what a file of kernel code is, and what PTX says of itself
 *
 * Looks at bytes alone; knows neither driver nor compiler.
 */

#include <elf.h>
#include <string.h>

#include "kernel/image.h"
#include <gst/vkgdr/gstvkgdrerror.h>

#define FATBIN_MAGIC 0xba55ed50u

typedef struct {
  guint32 magic;
  guint16 version;
  guint16 header_size;
  guint64 size; /* of what follows the header */
} FatbinHeader;

static gboolean
image_is_text (const gchar *data, gsize size)
{
  /* A terminating zero is no part of the text. */
  while (size > 0 && data[size - 1] == '\0')
    size--;
  return size > 0 && g_utf8_validate (data, size, NULL);
}

GBytes *
gst_vkgdr_image_read (const gchar *path, GError **error)
{
  GError *reason = NULL;
  gchar *data;
  gsize size;

  if (g_file_get_contents (path, &data, &size, &reason))
    return g_bytes_new_take (data, size);
  g_set_error_literal (
      error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND, reason->message);
  g_error_free (reason);
  return NULL;
}

GstVkgdrImageKind
gst_vkgdr_image_get_kind (GBytes *image)
{
  gsize size;
  const gchar *data = g_bytes_get_data (image, &size);
  guint32 magic;

  if (size >= SELFMAG && memcmp (data, ELFMAG, SELFMAG) == 0)
    return GST_VKGDR_IMAGE_CUBIN;
  if (size >= sizeof (magic)) {
    memcpy (&magic, data, sizeof (magic));
    if (magic == FATBIN_MAGIC)
      return GST_VKGDR_IMAGE_FATBIN;
  }
  if (!image_is_text (data, size))
    return GST_VKGDR_IMAGE_UNKNOWN;
  if (g_strstr_len (data, size, ".version")
      && g_strstr_len (data, size, ".target"))
    return GST_VKGDR_IMAGE_PTX;
  return GST_VKGDR_IMAGE_SOURCE;
}

static gboolean
image_range_is_inside (guint64 offset, guint64 length, guint64 size)
{
  return offset <= size && length <= size - offset;
}

static gboolean
image_elf_is_complete (const guint8 *data, gsize size)
{
  Elf64_Ehdr header;
  Elf64_Shdr section;
  guint i;

  if (size < sizeof (header) || data[EI_CLASS] != ELFCLASS64)
    return FALSE;
  memcpy (&header, data, sizeof (header));
  if (header.e_shnum && header.e_shentsize != sizeof (section))
    return FALSE;
  if (!image_range_is_inside (
          header.e_shoff, (guint64) header.e_shnum * sizeof (section), size)
      || !image_range_is_inside (
          header.e_phoff, (guint64) header.e_phnum * header.e_phentsize, size))
    return FALSE;
  for (i = 0; i < header.e_shnum; i++) {
    memcpy (&section, data + header.e_shoff + i * sizeof (section),
        sizeof (section));
    if (section.sh_type != SHT_NOBITS
        && !image_range_is_inside (section.sh_offset, section.sh_size, size))
      return FALSE;
  }
  return TRUE;
}

static gboolean
image_fatbin_is_complete (const guint8 *data, gsize size)
{
  FatbinHeader header;

  if (size < sizeof (header))
    return FALSE;
  memcpy (&header, data, sizeof (header));
  return image_range_is_inside (header.header_size, header.size, size);
}

gboolean
gst_vkgdr_image_is_complete (GBytes *image)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (image, &size);

  switch (gst_vkgdr_image_get_kind (image)) {
  case GST_VKGDR_IMAGE_CUBIN:
    return image_elf_is_complete (data, size);
  case GST_VKGDR_IMAGE_FATBIN:
    return image_fatbin_is_complete (data, size);
  default:
    return TRUE;
  }
}

gchar **
gst_vkgdr_image_list_ptx_entries (const gchar *ptx)
{
  GPtrArray *names = g_ptr_array_new ();
  GMatchInfo *match = NULL;
  GRegex *regex;

  regex = g_regex_new (
      "^[^/\\n]*\\.entry\\s+([\\w$%]+)", G_REGEX_MULTILINE, 0, NULL);
  g_regex_match (regex, ptx, 0, &match);
  while (g_match_info_matches (match)) {
    g_ptr_array_add (names, g_match_info_fetch (match, 1));
    g_match_info_next (match, NULL);
  }
  g_match_info_free (match);
  g_regex_unref (regex);

  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
}

/* What stands between the parentheses behind the name. */
static gchar *
image_get_ptx_param_list (const gchar *ptx, const gchar *entry)
{
  gchar *escaped = g_regex_escape_string (entry, -1);
  gchar *pattern = g_strdup_printf (
      "^[^/\\n]*\\.entry\\s+%s\\s*(?:\\(([^)]*)\\))?", escaped);
  GMatchInfo *match = NULL;
  gchar *list = NULL;
  GRegex *regex;

  regex = g_regex_new (pattern, G_REGEX_MULTILINE, 0, NULL);
  if (g_regex_match (regex, ptx, 0, &match))
    list = g_match_info_fetch (match, 1);
  g_match_info_free (match);
  g_regex_unref (regex);
  g_free (pattern);
  g_free (escaped);
  return list;
}

GArray *
gst_vkgdr_image_read_ptx_params (const gchar *ptx, const gchar *entry)
{
  gchar *list = image_get_ptx_param_list (ptx, entry);
  GMatchInfo *match = NULL;
  GRegex *regex;
  GArray *sizes;

  if (!list)
    return NULL;
  /* .param .align 8 .b8 name[264], and .param .f32 name */
  regex = g_regex_new (
      "\\.param\\b[^,]*?\\.[busf](8|16|32|64)\\s+[^,\\[]*(?:\\[(\\d+)\\])?", 0,
      0, NULL);
  sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  g_regex_match (regex, list, 0, &match);
  while (g_match_info_matches (match)) {
    gchar *bits = g_match_info_fetch (match, 1);
    gchar *count = g_match_info_fetch (match, 2);
    gsize size = g_ascii_strtoull (bits, NULL, 10) / 8;

    if (count && *count)
      size *= g_ascii_strtoull (count, NULL, 10);
    g_array_append_val (sizes, size);
    g_free (count);
    g_free (bits);
    g_match_info_next (match, NULL);
  }
  g_match_info_free (match);
  g_regex_unref (regex);
  g_free (list);
  return sizes;
}
