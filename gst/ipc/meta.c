/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/meta.c: see ipc/meta.h
 *
 * Each meta is written as its kind, the number of its bytes, and its bytes.
 */

#include "ipc/meta.h"

#include <gst/vkgdr/vkgdr.h>

#include "ipc/bytes.h"
#include "ipc/text.h"

#include <string.h>

typedef enum {
  KIND_VIDEO = 1,
  KIND_CROP,
  KIND_CUSTOM,
  KIND_SERIALISED, /* serialised by GStreamer */
  KIND_REFERENCE   /* GstReferenceTimestampMeta */
} Kind;

/* The maximum number of custom metas that are registered because a server sent
 * them. Types are never freed, so a server must not be able to create an
 * unlimited number. */
#define MAX_NEW_NAMES 64

/* The expected size in bytes of a meta, and of all metas of a frame. Memory of
 * this size rarely has to be enlarged while metas are written. */
#define EXPECTED_SIZE 128

/* --- writing ------------------------------------------------------------- */

static void
write_video (GstByteWriter *writer, const GstVideoMeta *meta)
{
  guint i;

  gst_vkgdr_ipc_put_u32 (writer, meta->id);
  gst_vkgdr_ipc_put_u32 (writer, meta->flags);
  gst_vkgdr_ipc_put_u32 (writer, meta->format);
  gst_vkgdr_ipc_put_u32 (writer, meta->width);
  gst_vkgdr_ipc_put_u32 (writer, meta->height);
  gst_vkgdr_ipc_put_u32 (writer, meta->n_planes);
  for (i = 0; i < meta->n_planes; i++) {
    gst_vkgdr_ipc_put_u64 (writer, meta->offset[i]);
    gst_vkgdr_ipc_put_u32 (writer, meta->stride[i]);
  }
  gst_vkgdr_ipc_put_u32 (writer, meta->alignment.padding_top);
  gst_vkgdr_ipc_put_u32 (writer, meta->alignment.padding_bottom);
  gst_vkgdr_ipc_put_u32 (writer, meta->alignment.padding_left);
  gst_vkgdr_ipc_put_u32 (writer, meta->alignment.padding_right);
}

static void
write_crop (GstByteWriter *writer, const GstVideoCropMeta *meta)
{
  gst_vkgdr_ipc_put_u32 (writer, meta->x);
  gst_vkgdr_ipc_put_u32 (writer, meta->y);
  gst_vkgdr_ipc_put_u32 (writer, meta->width);
  gst_vkgdr_ipc_put_u32 (writer, meta->height);
}

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

  if (info->api == GST_VIDEO_META_API_TYPE) {
    write_video (writer, (GstVideoMeta *) meta);
    return KIND_VIDEO;
  }
  if (info->api == GST_VIDEO_CROP_META_API_TYPE) {
    write_crop (writer, (GstVideoCropMeta *) meta);
    return KIND_CROP;
  }
  if (gst_meta_info_is_custom (info))
    return write_custom (writer, (GstCustomMeta *) meta) ? KIND_CUSTOM : 0;
  if (info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE)
    return write_reference (writer, (GstReferenceTimestampMeta *) meta)
               ? KIND_REFERENCE
               : 0;
  return write_serialised (writer, meta) ? KIND_SERIALISED : 0;
}

static void
write_meta (GByteArray *metas, GstMeta *meta, gsize max)
{
  GstByteWriter *content = gst_byte_writer_new_with_size (EXPECTED_SIZE, FALSE);
  guint32 head[2];
  guint size;

  head[0] = GUINT32_TO_LE (write_content (content, meta));
  size = gst_byte_writer_get_size (content);
  head[1] = GUINT32_TO_LE (size);
  if (head[0] != 0 && metas->len + sizeof (head) + size <= max) {
    g_byte_array_append (metas, (const guint8 *) head, sizeof (head));
    g_byte_array_append (metas, content->parent.data, size);
  } else {
    GST_LOG ("%s is left out", g_type_name (meta->info->type));
  }
  gst_byte_writer_free (content);
}

GByteArray *
gst_vkgdr_ipc_metas_write (GstBuffer *buffer, gsize max)
{
  GByteArray *metas = g_byte_array_sized_new (EXPECTED_SIZE);
  gpointer state = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta (buffer, &state)))
    write_meta (metas, meta, max);
  return metas;
}

/* --- reading ------------------------------------------------------------- */

static gboolean
read_alignment (GstByteReader *reader, GstVideoAlignment *alignment)
{
  gst_video_alignment_reset (alignment);
  return gst_vkgdr_ipc_get_u32 (reader, &alignment->padding_top)
         && gst_vkgdr_ipc_get_u32 (reader, &alignment->padding_bottom)
         && gst_vkgdr_ipc_get_u32 (reader, &alignment->padding_left)
         && gst_vkgdr_ipc_get_u32 (reader, &alignment->padding_right);
}

static gboolean
read_video (GstBuffer *buffer, GstByteReader *reader)
{
  guint32 id, flags, format, width, height, n_planes, i;
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  GstVideoAlignment alignment;
  GstVideoMeta *meta;
  guint64 number;

  if (!gst_vkgdr_ipc_get_u32 (reader, &id)
      || !gst_vkgdr_ipc_get_u32 (reader, &flags)
      || !gst_vkgdr_ipc_get_u32 (reader, &format)
      || !gst_vkgdr_ipc_get_u32 (reader, &width)
      || !gst_vkgdr_ipc_get_u32 (reader, &height)
      || !gst_vkgdr_ipc_get_u32 (reader, &n_planes)
      || n_planes > GST_VIDEO_MAX_PLANES)
    return FALSE;
  for (i = 0; i < n_planes; i++) {
    if (!gst_vkgdr_ipc_get_u64 (reader, &number)
        || !gst_vkgdr_ipc_get_u32 (reader, (guint32 *) &stride[i]))
      return FALSE;
    offset[i] = number;
  }
  if (!read_alignment (reader, &alignment))
    return FALSE;
  meta = gst_buffer_add_video_meta_full (
      buffer, flags, format, width, height, n_planes, offset, stride);
  if (!meta)
    return FALSE;
  meta->id = (gint) id;
  meta->alignment = alignment;
  return TRUE;
}

static gboolean
read_crop (GstBuffer *buffer, GstByteReader *reader)
{
  GstVideoCropMeta content, *meta;

  if (!gst_vkgdr_ipc_get_u32 (reader, &content.x)
      || !gst_vkgdr_ipc_get_u32 (reader, &content.y)
      || !gst_vkgdr_ipc_get_u32 (reader, &content.width)
      || !gst_vkgdr_ipc_get_u32 (reader, &content.height))
    return FALSE;
  meta = gst_buffer_add_video_crop_meta (buffer);
  meta->x = content.x;
  meta->y = content.y;
  meta->width = content.width;
  meta->height = content.height;
  return TRUE;
}

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
/* Whether GStreamer would parse texts to read the meta. Such metas are sent in
 * another way (KIND_CUSTOM, KIND_REFERENCE). The name of the meta is about
 * eight bytes from the start, and ends with 0. */
static gboolean
has_text (const guint8 *data, guint size)
{
  guint start;

  for (start = 8; start <= 9 && start < size; start++) {
    gchar *name = g_strndup ((const gchar *) data + start, size - start);
    const GstMetaInfo *info = gst_meta_get_info (name);
    gboolean is_parsed =
        info
        && (gst_meta_info_is_custom (info)
            || info->api == GST_REFERENCE_TIMESTAMP_META_API_TYPE);

    g_free (name);
    if (is_parsed)
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
  if (has_text (data, size))
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
      || !gst_vkgdr_ipc_get_u64 (reader, &duration))
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
read_content (GstBuffer *buffer, guint32 kind, GstByteReader *content)
{
  switch (kind) {
  case KIND_VIDEO:
    return read_video (buffer, content);
  case KIND_CROP:
    return read_crop (buffer, content);
  case KIND_CUSTOM:
    return read_custom (buffer, content);
  case KIND_SERIALISED:
    return read_serialised (buffer, content);
  case KIND_REFERENCE:
    return read_reference (buffer, content);
  default:
    return TRUE;
  }
}

/* Sets @info to the format of @meta. Returns FALSE if there is no such format:
 * the number comes from another process. */
static gboolean
get_own_info (const GstVideoMeta *meta, GstVideoInfo *info)
{
  GEnumClass *formats = g_type_class_ref (GST_TYPE_VIDEO_FORMAT);
  gboolean exists = g_enum_get_value (formats, meta->format) != NULL;

  g_type_class_unref (formats);
  return exists && meta->width > 0 && meta->height > 0
         && gst_video_info_set_interlaced_format (info, meta->format,
             GST_VIDEO_INFO_INTERLACE_MODE (info), meta->width, meta->height);
}

/* This is called after all metas were read, because a serialised one may be a
 * GstVideoMeta, too. If the caps are not raw video, they name no format. */
static gboolean
check_video_metas (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstVideoInfo own = *info;

  if (!meta || gst_buffer_get_size (buffer) == 0)
    return TRUE;
  if (GST_VIDEO_INFO_FORMAT (info) != GST_VIDEO_FORMAT_UNKNOWN)
    return gst_vkgdr_buffer_check_video (buffer, info, NULL);
  return get_own_info (meta, &own)
         && gst_vkgdr_buffer_check_video (buffer, &own, NULL);
}

/* The size of a picture. */
typedef struct {
  guint width, height;
} Size;

static gboolean
is_crop_inside (const GstVideoCropMeta *crop, const Size *picture)
{
  return crop->x <= picture->width && crop->y <= picture->height
         && crop->width <= picture->width - crop->x
         && crop->height <= picture->height - crop->y;
}

static gboolean
remove_crop_outside (GstBuffer *buffer, GstMeta **meta, gpointer user_data)
{
  const Size *picture = user_data;

  if ((*meta)->info->api == GST_VIDEO_CROP_META_API_TYPE
      && !is_crop_inside ((GstVideoCropMeta *) *meta, picture)) {
    GST_LOG ("a crop meta is not in the picture");
    *meta = NULL;
  }
  return TRUE;
}

/* Elements do not check a crop meta, either. So this function removes a crop
 * that is not in the picture. Without a GstVideoMeta, the picture has the size
 * of the caps. */
static void
remove_crops_outside (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  Size picture = { GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info) };

  if (meta) {
    picture.width = meta->width;
    picture.height = meta->height;
  }
  gst_buffer_foreach_meta (buffer, remove_crop_outside, &picture);
}

gboolean
gst_vkgdr_ipc_metas_read (
    GstBuffer *buffer, const GstVideoInfo *info, GstByteReader *reader)
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
  remove_crops_outside (buffer, info);
  return check_video_metas (buffer, info);
}
