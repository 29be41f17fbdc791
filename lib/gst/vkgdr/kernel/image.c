/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/image.c: the kind of a file of kernel code, and the kernels in PTX
 * text
 *
 * Reads bytes only. Knows neither driver nor compiler.
 */

#include <elf.h>
#include <string.h>

#include "kernel/file.h"
#include "kernel/image.h"
#include <gst/vkgdr/gstvkgdrerror.h>

/* The largest size of a file in bytes, many times that of the largest kernels.
 */
#define IMAGE_MAX_FILE (64 * 1024 * 1024)

#define FATBIN_MAGIC 0xba55ed50u

typedef struct {
  guint32 magic;
  guint16 version;
  guint16 header_size;
  guint64 size; /* of the data after the header */
} FatbinHeader;

/* --- words of PTX -------------------------------------------------------- */

static gboolean
ptx_is_name (gchar c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '$' || c == '%';
}

/* Skips blanks, ends of lines and comments. */
static const gchar *
ptx_skip (const gchar *p)
{
  const gchar *end;

  for (;;) {
    p += strspn (p, " \t\r\n\f\v");
    if (p[0] != '/' || (p[1] != '/' && p[1] != '*'))
      return p;
    end = p[1] == '/' ? strchr (p, '\n') : strstr (p + 2, "*/");
    if (!end)
      return p + strlen (p);
    p = end + (p[1] == '/' ? 1 : 2);
  }
}

/* Returns the length of the word at @p: a name, a number, a directive with its
 * dot, a string with its quotes, or else one character. */
static gsize
ptx_measure (const gchar *p)
{
  gsize n = *p == '.';

  if (*p == '"') {
    n = 1 + strcspn (p + 1, "\"\n");
    return n + (p[n] == '"');
  }
  while (ptx_is_name (p[n]))
    n++;
  return MAX (n, *p != '\0');
}

static gboolean
ptx_is (const gchar *p, gsize length, const gchar *word)
{
  return strlen (word) == length && strncmp (p, word, length) == 0;
}

/* --- the kind of a file -------------------------------------------------- */

/* Comments of a source may have any encoding. */
static gboolean
image_is_source (const gchar *data, gsize size)
{
  return memchr (data, '\0', size) == NULL
         && g_strstr_len (data, size, "__global__") != NULL;
}

static gboolean
image_is_text (const gchar *data, gsize size)
{
  /* A terminating zero does not belong to the text. */
  while (size > 0 && data[size - 1] == '\0')
    size--;
  return size > 0
         && (g_utf8_validate (data, size, NULL)
             || image_is_source (data, size));
}

/* PTX begins with the directive .version after blanks and comments. CUDA C may
 * have this word elsewhere, for example to access the field of a structure. */
static gboolean
image_is_ptx (const gchar *data, gsize size)
{
  gchar *text = g_strndup (data, size);
  const gchar *p = ptx_skip (text);
  gboolean is_ptx = ptx_is (p, ptx_measure (p), ".version");

  g_free (text);
  return is_ptx;
}

GBytes *
gst_vkgdr_image_read (const gchar *path, GError **error)
{
  return gst_vkgdr_file_read (path, IMAGE_MAX_FILE, error);
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
  return image_is_ptx (data, size) ? GST_VKGDR_IMAGE_PTX
                                   : GST_VKGDR_IMAGE_SOURCE;
}

gboolean
gst_vkgdr_image_check_kind (GBytes *image, const gchar *name, GError **error)
{
  if (gst_vkgdr_image_get_kind (image) != GST_VKGDR_IMAGE_UNKNOWN)
    return TRUE;
  if (g_bytes_get_size (image) == 0)
    g_set_error (
        error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE, "%s is empty", name);
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
        "%s is neither CUDA source, PTX, cubin nor fatbin", name);
  return FALSE;
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

/* --- kernels in PTX ------------------------------------------------------ */

/* Returns the name that follows the next .entry at or after @p, or NULL. Sets
 * @length to its length.
 */
static const gchar *
ptx_find_entry (const gchar *p, gsize *length)
{
  gboolean found = FALSE;

  for (p = ptx_skip (p); *p; p = ptx_skip (p + *length)) {
    *length = ptx_measure (p);
    if (found && ptx_is_name (*p))
      return p;
    found = ptx_is (p, *length, ".entry");
  }
  return NULL;
}

gchar **
gst_vkgdr_image_list_ptx_entries (const gchar *ptx)
{
  GPtrArray *names = g_ptr_array_new ();
  gsize length;

  while ((ptx = ptx_find_entry (ptx, &length))) {
    g_ptr_array_add (names, g_strndup (ptx, length));
    ptx += length;
  }
  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
}

/* Returns the size of a type such as .f32 in bytes, or 0 for another word. */
static gsize
ptx_measure_type (const gchar *p, gsize length)
{
  static const gchar *const bits[] = { "8", "16", "32", "64" };
  guint i;

  if (length < 3 || !strchr ("busf", p[1]))
    return 0;
  for (i = 0; i < G_N_ELEMENTS (bits); i++)
    if (ptx_is (p + 2, length - 2, bits[i]))
      return (gsize) 1 << i;
  return 0;
}

/* Reads the number at the next word of @p, and sets @p to this word. */
static gsize
ptx_read_number (const gchar **p, gsize *length)
{
  *p = ptx_skip (*p + *length);
  *length = ptx_measure (*p);
  return g_ascii_strtoull (*p, NULL, 10);
}

/* Reads a parameter, such as .param .align 8 .b8 name[264] or .param .f32 name,
 * up to a comma or the end of the list. Returns its end. Without .align before
 * the type, the type's size is the alignment. An .align after .ptr is for the
 * memory that a pointer refers to. */
static const gchar *
ptx_read_param (const gchar *p, gsize *size, gsize *align)
{
  gboolean is_first_bracket = TRUE;
  gsize length;

  *size = *align = 0;
  for (p = ptx_skip (p); *p && *p != ',' && *p != ')';
       p = ptx_skip (p + length)) {
    length = ptx_measure (p);
    if (*size == 0 && ptx_is (p, length, ".align")) {
      *align = ptx_read_number (&p, &length);
    } else if (*size == 0 && *p == '.') {
      *size = ptx_measure_type (p, length);
      *align = *align ? *align : *size;
    } else if (*p == '[' && is_first_bracket) {
      *size *= ptx_read_number (&p, &length);
      is_first_bracket = FALSE;
    }
  }
  return p;
}

GArray *
gst_vkgdr_image_read_ptx_params (
    const gchar *ptx, const gchar *entry, GArray *offsets)
{
  GArray *sizes;
  gsize length, size, align, offset = 0;

  do {
    ptx = ptx_find_entry (ptx, &length);
    if (!ptx)
      return NULL;
    ptx += length;
  } while (!ptx_is (ptx - length, length, entry));

  sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  ptx = ptx_skip (ptx);
  while (*ptx == '(' || *ptx == ',') {
    ptx = ptx_read_param (ptx + 1, &size, &align);
    if (size == 0)
      continue;
    g_array_append_val (sizes, size);
    offset = (offset + align - 1) / align * align;
    if (offsets)
      g_array_append_val (offsets, offset);
    offset += size;
  }
  return sizes;
}
