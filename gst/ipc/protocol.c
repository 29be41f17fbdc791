/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/protocol.c: see ipc/protocol.h
 */

#include "ipc/protocol.h"

#include "ipc/bytes.h"

#include <string.h>

#define MAGIC "VkgdrIpc"
#define MAGIC_SIZE 8

/* The expected sizes in bytes of a small message, and of a frame with one range
 * and no metas. Memory of this size rarely has to be enlarged while a message
 * is written. */
#define SMALL_SIZE 32
#define FRAME_SIZE 104

/* --- writing ------------------------------------------------------------- */

/* @size: the expected size in bytes; the message may be larger */
static GstByteWriter *
begin (GstVkgdrIpcType type, gsize size)
{
  GstByteWriter *writer = gst_byte_writer_new_with_size (size, FALSE);

  gst_vkgdr_ipc_put_u32 (writer, type);
  return writer;
}

/* Takes ownership of @writer. */
static GBytes *
end (GstByteWriter *writer)
{
  guint size = gst_byte_writer_get_size (writer);
  guint8 *data = gst_byte_writer_free_and_get_data (writer);

  if (size <= GST_VKGDR_IPC_MAX_MESSAGE)
    return g_bytes_new_take (data, size);
  g_free (data);
  return NULL;
}

/* Writes the rest of a message, which has no length field. */
static void
put_rest (GstByteWriter *writer, gconstpointer data, gsize size)
{
  if (size > 0)
    gst_byte_writer_put_data (writer, data, size);
}

/* Takes ownership of @text. */
static GBytes *
write_text (GstVkgdrIpcType type, gchar *text)
{
  GstByteWriter *writer = begin (type, SMALL_SIZE);
  gsize size = text ? strlen (text) : 0;

  /* The size argument of gst_byte_writer_put_data () has 32 bits. */
  if (size < GST_VKGDR_IPC_MAX_MESSAGE)
    put_rest (writer, text, size);
  g_free (text);
  if (size < GST_VKGDR_IPC_MAX_MESSAGE)
    return end (writer);
  gst_byte_writer_free (writer);
  return NULL;
}

GBytes *
gst_vkgdr_ipc_write_plain (GstVkgdrIpcType type)
{
  return end (begin (type, SMALL_SIZE));
}

GBytes *
gst_vkgdr_ipc_write_number (GstVkgdrIpcType type, guint64 number)
{
  GstByteWriter *writer = begin (type, SMALL_SIZE);

  gst_vkgdr_ipc_put_u64 (writer, number);
  return end (writer);
}

GBytes *
gst_vkgdr_ipc_write_hello (void)
{
  GstByteWriter *writer = begin (GST_VKGDR_IPC_HELLO, SMALL_SIZE);

  gst_byte_writer_put_data (writer, (const guint8 *) MAGIC, MAGIC_SIZE);
  gst_vkgdr_ipc_put_u32 (writer, GST_VKGDR_IPC_VERSION);
  return end (writer);
}

GBytes *
gst_vkgdr_ipc_write_bye (const gchar *reason)
{
  return write_text (GST_VKGDR_IPC_BYE, g_strdup (reason));
}

GBytes *
gst_vkgdr_ipc_write_caps (const GstCaps *caps)
{
  return write_text (GST_VKGDR_IPC_CAPS, gst_caps_to_string (caps));
}

GBytes *
gst_vkgdr_ipc_write_tags (const GstTagList *tags)
{
  return write_text (gst_vkgdr_ipc_tags_type (gst_tag_list_get_scope (tags)),
      gst_tag_list_to_string (tags));
}

GBytes *
gst_vkgdr_ipc_write_segment (const GstSegment *segment)
{
  GstByteWriter *writer = begin (GST_VKGDR_IPC_SEGMENT, SMALL_SIZE);

  gst_vkgdr_ipc_put_u32 (writer, segment->flags);
  gst_vkgdr_ipc_put_u32 (writer, segment->format);
  gst_vkgdr_ipc_put_double (writer, segment->rate);
  gst_vkgdr_ipc_put_double (writer, segment->applied_rate);
  gst_vkgdr_ipc_put_u64 (writer, segment->base);
  gst_vkgdr_ipc_put_u64 (writer, segment->offset);
  gst_vkgdr_ipc_put_u64 (writer, segment->start);
  gst_vkgdr_ipc_put_u64 (writer, segment->stop);
  gst_vkgdr_ipc_put_u64 (writer, segment->time);
  gst_vkgdr_ipc_put_u64 (writer, segment->position);
  gst_vkgdr_ipc_put_u64 (writer, segment->duration);
  return end (writer);
}

GBytes *
gst_vkgdr_ipc_write_memory (guint64 id, GBytes *description)
{
  GstByteWriter *writer = begin (GST_VKGDR_IPC_MEMORY, SMALL_SIZE);
  gsize size = 0;
  gconstpointer data = g_bytes_get_data (description, &size);

  gst_vkgdr_ipc_put_u64 (writer, id);
  put_rest (writer, data, size);
  return end (writer);
}

GBytes *
gst_vkgdr_ipc_write_frame (
    const GstVkgdrIpcFrame *frame, const GByteArray *metas)
{
  GstByteWriter *writer =
      begin (GST_VKGDR_IPC_FRAME, FRAME_SIZE + (metas ? metas->len : 0));
  guint i;

  gst_vkgdr_ipc_put_u64 (writer, frame->id);
  gst_vkgdr_ipc_put_u64 (writer, frame->pts);
  gst_vkgdr_ipc_put_u64 (writer, frame->dts);
  gst_vkgdr_ipc_put_u64 (writer, frame->duration);
  gst_vkgdr_ipc_put_u64 (writer, frame->offset);
  gst_vkgdr_ipc_put_u64 (writer, frame->offset_end);
  gst_vkgdr_ipc_put_u32 (writer, frame->flags);
  gst_vkgdr_ipc_put_u64 (writer, frame->base);
  gst_vkgdr_ipc_put_u64 (writer, frame->latency);
  gst_vkgdr_ipc_put_u32 (writer, frame->n_ranges);
  for (i = 0; i < frame->n_ranges; i++) {
    gst_vkgdr_ipc_put_u64 (writer, frame->ranges[i].id);
    gst_vkgdr_ipc_put_u64 (writer, frame->ranges[i].offset);
    gst_vkgdr_ipc_put_u64 (writer, frame->ranges[i].size);
  }
  if (metas)
    put_rest (writer, metas->data, metas->len);
  return end (writer);
}

/* --- reading ------------------------------------------------------------- */

gboolean
gst_vkgdr_ipc_read_type (
    gconstpointer data, gsize size, GstByteReader *reader, guint32 *type)
{
  if (size > GST_VKGDR_IPC_MAX_MESSAGE)
    return FALSE;
  gst_byte_reader_init (reader, data, size);
  return gst_vkgdr_ipc_get_u32 (reader, type);
}

gboolean
gst_vkgdr_ipc_read_end (const GstByteReader *reader)
{
  return gst_byte_reader_get_remaining (reader) == 0;
}

gboolean
gst_vkgdr_ipc_read_number (GstByteReader *reader, guint64 *number)
{
  return gst_vkgdr_ipc_get_u64 (reader, number)
         && gst_vkgdr_ipc_read_end (reader);
}

gboolean
gst_vkgdr_ipc_read_hello (GstByteReader *reader, guint32 *version)
{
  const guint8 *magic;

  return gst_byte_reader_get_data (reader, MAGIC_SIZE, &magic)
         && memcmp (magic, MAGIC, MAGIC_SIZE) == 0
         && gst_vkgdr_ipc_get_u32 (reader, version)
         && gst_vkgdr_ipc_read_end (reader);
}

/* Returns the rest of the message as a string, which the caller must free, or
 * NULL if it is not a string. */
static gchar *
read_text (GstByteReader *reader)
{
  guint size = gst_byte_reader_get_remaining (reader);
  const guint8 *data;

  if (size == 0)
    return g_strdup ("");
  if (!gst_byte_reader_get_data (reader, size, &data)
      || !g_utf8_validate_len ((const gchar *) data, size, NULL))
    return NULL;
  return g_strndup ((const gchar *) data, size);
}

gchar *
gst_vkgdr_ipc_read_bye (GstByteReader *reader)
{
  return read_text (reader);
}

GstCaps *
gst_vkgdr_ipc_read_caps (GstByteReader *reader)
{
  gchar *text = read_text (reader);
  GstCaps *caps = text ? gst_caps_from_string (text) : NULL;

  g_free (text);
  if (caps && !gst_caps_is_fixed (caps))
    gst_clear_caps (&caps);
  return caps;
}

GstTagList *
gst_vkgdr_ipc_read_tags (GstByteReader *reader, GstTagScope scope)
{
  gchar *text = read_text (reader);
  GstTagList *tags = text ? gst_tag_list_new_from_string (text) : NULL;

  g_free (text);
  if (tags)
    gst_tag_list_set_scope (tags, scope);
  return tags;
}

/* GStreamer's functions for segments abort the program if these values are
 * invalid. */
static gboolean
is_valid_segment (const GstSegment *segment)
{
  if (segment->format != GST_FORMAT_TIME && segment->format != GST_FORMAT_BYTES
      && segment->format != GST_FORMAT_DEFAULT)
    return FALSE;
  /* The comparisons are also FALSE for NaN. */
  if (!(segment->rate > -1e6 && segment->rate < 1e6 && segment->rate != 0.0)
      || !(segment->applied_rate > -1e6 && segment->applied_rate < 1e6
           && segment->applied_rate != 0.0))
    return FALSE;
  return segment->start != GST_CLOCK_TIME_NONE
         && (segment->stop == GST_CLOCK_TIME_NONE
             || segment->start <= segment->stop);
}

gboolean
gst_vkgdr_ipc_read_segment (GstByteReader *reader, GstSegment *segment)
{
  guint32 flags, format;

  gst_segment_init (segment, GST_FORMAT_UNDEFINED);
  if (!gst_vkgdr_ipc_get_u32 (reader, &flags)
      || !gst_vkgdr_ipc_get_u32 (reader, &format)
      || !gst_vkgdr_ipc_get_double (reader, &segment->rate)
      || !gst_vkgdr_ipc_get_double (reader, &segment->applied_rate)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->base)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->offset)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->start)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->stop)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->time)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->position)
      || !gst_vkgdr_ipc_get_u64 (reader, &segment->duration))
    return FALSE;
  segment->flags = flags;
  segment->format = format;
  return is_valid_segment (segment) && gst_vkgdr_ipc_read_end (reader);
}

GBytes *
gst_vkgdr_ipc_read_memory (GstByteReader *reader, guint64 *id)
{
  const guint8 *data = NULL;
  guint size;

  if (!gst_vkgdr_ipc_get_u64 (reader, id))
    return NULL;
  size = gst_byte_reader_get_remaining (reader);
  if (size == 0 || !gst_byte_reader_get_data (reader, size, &data))
    return NULL;
  return g_bytes_new (data, size);
}

static gboolean
read_range (GstByteReader *reader, GstVkgdrIpcRange *range)
{
  return gst_vkgdr_ipc_get_u64 (reader, &range->id)
         && gst_vkgdr_ipc_get_u64 (reader, &range->offset)
         && gst_vkgdr_ipc_get_u64 (reader, &range->size) && range->size > 0;
}

gboolean
gst_vkgdr_ipc_read_frame (GstByteReader *reader, GstVkgdrIpcFrame *frame)
{
  guint i;

  if (!gst_vkgdr_ipc_get_u64 (reader, &frame->id)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->pts)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->dts)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->duration)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->offset)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->offset_end)
      || !gst_vkgdr_ipc_get_u32 (reader, &frame->flags)
      || !gst_vkgdr_ipc_get_u64 (reader, (guint64 *) &frame->base)
      || !gst_vkgdr_ipc_get_u64 (reader, &frame->latency)
      || !gst_vkgdr_ipc_get_u32 (reader, &frame->n_ranges)
      || frame->n_ranges > GST_VKGDR_IPC_MAX_MEMORIES)
    return FALSE;
  for (i = 0; i < frame->n_ranges; i++)
    if (!read_range (reader, &frame->ranges[i]))
      return FALSE;
  return TRUE;
}
