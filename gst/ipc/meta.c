/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/meta.c: see ipc/meta.h
 *
 * Each meta is written as its kind, the number of its bytes, and its bytes.
 */

#include "ipc/meta.h"

#include <gst/video/video.h>

#include "ipc/bytes.h"
#include "ipc/text.h"

#include <string.h>

typedef enum {
  KIND_CUSTOM = 1,
  KIND_SERIALISED, /* serialised by GStreamer */
  KIND_REFERENCE,  /* GstReferenceTimestampMeta */
  KIND_OFFSETS     /* the offsets of the buffer, which are no meta */
} Kind;

/* The maximum number of custom metas that are registered because a server sent
 * them. Types are never freed, so a server must not be able to create an
 * unlimited number. */
#define MAX_NEW_NAMES 64

/* The expected size in bytes of a meta, and of all metas of a frame. Memory of
 * this size rarely has to be enlarged while metas are written. */
#define EXPECTED_SIZE 128

/* --- writing ------------------------------------------------------------- */

static gboolean
write_custom (GstByteWriter *writer, GstCustomMeta *meta)
{
  gchar *text = gst_structure_serialize (
      gst_custom_meta_get_structure (meta), GST_SERIALIZE_FLAG_NONE);

  gboolean ok = text && gst_vkgdr_ipc_text_is_safe (text, strlen (text));

  if (ok)
    gst_byte_writer_put_data (writer, (const guint8 *) text, strlen (text));
  g_free (text);
  return ok;
}

static gboolean
write_reference (GstByteWriter *writer, const GstReferenceTimestampMeta *meta)
{
  gchar *text = gst_caps_to_string (meta->reference);
  gboolean ok = gst_vkgdr_ipc_text_is_safe (text, strlen (text));

  if (ok) {
    gst_vkgdr_ipc_put_u64 (writer, meta->timestamp);
    gst_vkgdr_ipc_put_u64 (writer, meta->duration);
    gst_byte_writer_put_data (writer, (const guint8 *) text, strlen (text));
  }
  g_free (text);
  return ok;
}

/* Whether the meta describes the picture. The planes of a frame do that. */
static gboolean
is_of_picture (const GstMetaInfo *info)
{
  return info->api == GST_VIDEO_META_API_TYPE
         || info->api == GST_VIDEO_CROP_META_API_TYPE;
}

static gboolean
write_serialised (GstByteWriter *writer, const GstMeta *meta)
{
#if GST_CHECK_VERSION(1, 24, 0)
  GByteArray *bytes = g_byte_array_new ();
  gboolean ok = gst_meta_serialize_simple (meta, bytes);

  if (ok)
    gst_byte_writer_put_data (writer, bytes->data, bytes->len);
  g_byte_array_unref (bytes);
  return ok;
#else
  return FALSE;
#endif
}

/* Returns the kind of the meta that was written, or 0 if the meta cannot be
 * serialised. */
static guint32
write_content (GstByteWriter *writer, GstMeta *meta)
{
  const GstMetaInfo *info = meta->info;

  if (is_of_picture (info))
    return 0;
  if (gst_meta_info_is_custom (info))
    return write_custom (writer, (GstCustomMeta *) meta) ? KIND_CUSTOM : 0;
  if (info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE)
    return write_reference (writer, (GstReferenceTimestampMeta *) meta)
               ? KIND_REFERENCE
               : 0;
  return write_serialised (writer, meta) ? KIND_SERIALISED : 0;
}

/* Adds the content of @writer, which it frees, if it has this kind and is not
 * too large. */
static gboolean
put (GByteArray *metas, guint32 kind, GstByteWriter *writer, gsize max)
{
  guint size = gst_byte_writer_get_size (writer);
  const guint32 head[2] = { GUINT32_TO_LE (kind), GUINT32_TO_LE (size) };
  gboolean ok = kind != 0 && metas->len + sizeof (head) + size <= max;

  if (ok) {
    g_byte_array_append (metas, (const guint8 *) head, sizeof (head));
    g_byte_array_append (metas, writer->parent.data, size);
  }
  gst_byte_writer_free (writer);
  return ok;
}

static void
write_meta (GByteArray *metas, GstMeta *meta, gsize max)
{
  GstByteWriter *writer = gst_byte_writer_new_with_size (EXPECTED_SIZE, FALSE);
  guint32 kind = write_content (writer, meta);

  if (!put (metas, kind, writer, max))
    GST_LOG ("%s is left out", g_type_name (meta->info->type));
}

static void
write_offsets (GByteArray *metas, GstBuffer *buffer, gsize max)
{
  GstByteWriter *writer;

  if (!GST_BUFFER_OFFSET_IS_VALID (buffer)
      && !GST_BUFFER_OFFSET_END_IS_VALID (buffer))
    return;
  writer = gst_byte_writer_new_with_size (16, FALSE);
  gst_vkgdr_ipc_put_u64 (writer, GST_BUFFER_OFFSET (buffer));
  gst_vkgdr_ipc_put_u64 (writer, GST_BUFFER_OFFSET_END (buffer));
  put (metas, KIND_OFFSETS, writer, max);
}

GByteArray *
gst_vkgdr_ipc_metas_write (GstBuffer *buffer, gsize max)
{
  GByteArray *metas = g_byte_array_sized_new (EXPECTED_SIZE);
  gpointer state = NULL;
  GstMeta *meta;

  write_offsets (metas, buffer, max);
  while ((meta = gst_buffer_iterate_meta (buffer, &state)))
    write_meta (metas, meta, max);
  return metas;
}

/* --- reading ------------------------------------------------------------- */

/* Whether a custom meta of this name can be added. If this process does not
 * know the name, it is registered without tags. */
static gboolean
is_registered (const gchar *name)
{
  static const gchar *no_tags[] = { NULL };
  static gint n_new = 0;
  const GstMetaInfo *info = gst_meta_get_info (name);

  if (info)
    return gst_meta_info_is_custom (info);
  /* GStreamer registers some of its own types when they are needed first. */
  if (g_str_has_prefix (name, "Gst") || g_type_from_name (name) != 0)
    return FALSE;
  if (g_atomic_int_add (&n_new, 1) >= MAX_NEW_NAMES)
    return FALSE;
  return gst_meta_register_custom (name, no_tags, NULL, NULL, NULL) != NULL;
}

static gboolean
copy_field (GQuark field, const GValue *value, gpointer user_data)
{
  gst_structure_id_set_value (user_data, field, value);
  return TRUE;
}

/* Whether @text begins with a name that is valid both for a structure and for a
 * type. The name of a custom meta is used for both. GStreamer and GLib log
 * critical warnings for other names. */
static gboolean
begins_with_name (const gchar *text)
{
  gsize length = strspn (text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_+");

  return g_ascii_isalpha (text[0])
         && (text[length] == ',' || text[length] == ';');
}

/* Returns NULL unless the @size bytes at @data are the text of one
 * structure. */
static GstStructure *
parse_structure (const gchar *data, gsize size)
{
  gchar *text = g_strndup (data, size), *end = text;
  GstStructure *structure = NULL;

  if (strlen (text) == size && begins_with_name (text)
      && gst_vkgdr_ipc_text_is_safe (text, size))
    structure = gst_structure_from_string (text, &end);
  if (structure && *end != '\0')
    g_clear_pointer (&structure, gst_structure_free);
  g_free (text);
  return structure;
}

static gboolean
read_custom (GstBuffer *buffer, GstByteReader *reader)
{
  guint size = gst_byte_reader_get_remaining (reader);
  const guint8 *data = NULL;
  GstStructure *structure;
  GstCustomMeta *meta;

  if (size == 0 || !gst_byte_reader_get_data (reader, size, &data))
    return FALSE;
  structure = parse_structure ((const gchar *) data, size);
  if (!structure)
    return FALSE;
  if (is_registered (gst_structure_get_name (structure))) {
    meta =
        gst_buffer_add_custom_meta (buffer, gst_structure_get_name (structure));
    gst_structure_foreach (
        structure, copy_field, gst_custom_meta_get_structure (meta));
  }
  gst_structure_free (structure);
  return TRUE;
}

#if GST_CHECK_VERSION(1, 24, 0)
/* Whether the meta must not come in this form: GStreamer would parse texts to
 * read it (KIND_CUSTOM, KIND_REFERENCE), or it describes the picture. The name
 * of the meta is about eight bytes from the start, and ends with 0. */
static gboolean
is_refused (const guint8 *data, guint size)
{
  guint start;

  for (start = 8; start <= 9 && start < size; start++) {
    gchar *name = g_strndup ((const gchar *) data + start, size - start);
    const GstMetaInfo *info = gst_meta_get_info (name);
    gboolean has_kind =
        info
        && (gst_meta_info_is_custom (info) || is_of_picture (info)
            || info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE);

    g_free (name);
    if (has_kind)
      return TRUE;
  }
  return FALSE;
}
#endif

static gboolean
read_serialised (GstBuffer *buffer, GstByteReader *reader)
{
#if GST_CHECK_VERSION(1, 24, 0)
  guint size = gst_byte_reader_get_remaining (reader);
  const guint8 *data = NULL;
  guint32 consumed = 0;

  if (size == 0 || !gst_byte_reader_get_data (reader, size, &data))
    return FALSE;
  if (is_refused (data, size))
    return FALSE;
  if (!gst_meta_deserialize (buffer, data, size, &consumed))
    GST_LOG ("a meta is not known here");
#endif
  return TRUE;
}

static gboolean
read_reference (GstBuffer *buffer, GstByteReader *reader)
{
  guint64 timestamp, duration;
  const guint8 *data = NULL;
  GstCaps *reference = NULL;
  gchar *text;
  guint size;

  if (!gst_vkgdr_ipc_get_u64 (reader, &timestamp)
      || !gst_vkgdr_ipc_get_u64 (reader, &duration)
      || timestamp == GST_CLOCK_TIME_NONE)
    return FALSE;
  size = gst_byte_reader_get_remaining (reader);
  if (size == 0 || !gst_byte_reader_get_data (reader, size, &data)
      || !gst_vkgdr_ipc_text_is_safe ((const gchar *) data, size))
    return FALSE;
  text = g_strndup ((const gchar *) data, size);
  reference = gst_caps_from_string (text);
  g_free (text);
  if (!reference)
    return FALSE;
  gst_buffer_add_reference_timestamp_meta (
      buffer, reference, timestamp, duration);
  gst_caps_unref (reference);
  return TRUE;
}

static gboolean
read_offsets (GstBuffer *buffer, GstByteReader *reader)
{
  return gst_vkgdr_ipc_get_u64 (reader, &GST_BUFFER_OFFSET (buffer))
         && gst_vkgdr_ipc_get_u64 (reader, &GST_BUFFER_OFFSET_END (buffer));
}

static gboolean
read_content (GstBuffer *buffer, guint32 kind, GstByteReader *content)
{
  switch (kind) {
  case KIND_CUSTOM:
    return read_custom (buffer, content);
  case KIND_SERIALISED:
    return read_serialised (buffer, content);
  case KIND_REFERENCE:
    return read_reference (buffer, content);
  case KIND_OFFSETS:
    return read_offsets (buffer, content);
  default:
    return TRUE;
  }
}

gboolean
gst_vkgdr_ipc_metas_read (GstBuffer *buffer, GstByteReader *reader)
{
  while (gst_byte_reader_get_remaining (reader) > 0) {
    GstByteReader content;
    guint32 kind, size;

    if (!gst_vkgdr_ipc_get_u32 (reader, &kind)
        || !gst_vkgdr_ipc_get_u32 (reader, &size)
        || !gst_byte_reader_get_sub_reader (reader, &content, size)
        || !read_content (buffer, kind, &content))
      return FALSE;
  }
  return TRUE;
}
