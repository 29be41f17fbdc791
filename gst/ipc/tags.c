/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/tags.c: see ipc/tags.h
 */

#include "ipc/tags.h"

#include <stdio.h>
#include <string.h>

#include "ipc/bytes.h"
#include "ipc/text.h"

typedef enum {
  KIND_STRING = 1,
  KIND_UINT,
  KIND_UINT64,
  KIND_DOUBLE,
  KIND_DATE,
  KIND_DATE_TIME,
  KIND_SAMPLE
} Kind;

/* The size in bytes of a list of tags without pictures. */
#define EXPECTED_SIZE 512

/* The maximum size in bytes of a date or a time. */
#define MAX_DATE 64

static Kind
kind_of (GType type)
{
  if (type == G_TYPE_STRING)
    return KIND_STRING;
  if (type == G_TYPE_UINT)
    return KIND_UINT;
  if (type == G_TYPE_UINT64)
    return KIND_UINT64;
  if (type == G_TYPE_DOUBLE)
    return KIND_DOUBLE;
  if (type == G_TYPE_DATE)
    return KIND_DATE;
  if (type == GST_TYPE_DATE_TIME)
    return KIND_DATE_TIME;
  return type == GST_TYPE_SAMPLE ? KIND_SAMPLE : 0;
}

/* --- writing ------------------------------------------------------------- */

/* Takes ownership of @text (nullable). */
static gboolean
put_text (GstByteWriter *writer, gchar *text)
{
  gsize size = text ? strlen (text) : 0;

  if (size > 0 && size <= G_MAXUINT32)
    gst_byte_writer_put_data (writer, (const guint8 *) text, size);
  g_free (text);
  return size > 0;
}

static gchar *
date_to_text (const GDate *date)
{
  if (!date || !g_date_valid (date))
    return NULL;
  return g_strdup_printf ("%04u-%02u-%02u", g_date_get_year (date),
      (guint) g_date_get_month (date), (guint) g_date_get_day (date));
}

static gboolean
put_sample (GstByteWriter *writer, GstSample *sample)
{
  GstCaps *caps = gst_sample_get_caps (sample);
  const GstStructure *info = gst_sample_get_info (sample);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  gchar *caps_text = caps ? gst_caps_to_string (caps) : g_strdup ("");
  gchar *info_text = info ? gst_structure_to_string (info) : g_strdup ("");
  GstMapInfo map;
  gboolean ok = buffer && gst_buffer_map (buffer, &map, GST_MAP_READ);

  if (ok) {
    gst_vkgdr_ipc_put_u32 (writer, strlen (caps_text));
    gst_vkgdr_ipc_put_u32 (writer, strlen (info_text));
    gst_byte_writer_put_data (
        writer, (const guint8 *) caps_text, strlen (caps_text));
    gst_byte_writer_put_data (
        writer, (const guint8 *) info_text, strlen (info_text));
    gst_byte_writer_put_data (writer, map.data, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  g_free (caps_text);
  g_free (info_text);
  return ok;
}

static gboolean
put_value (GstByteWriter *writer, Kind kind, const GValue *value)
{
  switch (kind) {
  case KIND_STRING:
    return put_text (writer, g_value_dup_string (value));
  case KIND_UINT:
    gst_vkgdr_ipc_put_u32 (writer, g_value_get_uint (value));
    return TRUE;
  case KIND_UINT64:
    gst_vkgdr_ipc_put_u64 (writer, g_value_get_uint64 (value));
    return TRUE;
  case KIND_DOUBLE:
    gst_vkgdr_ipc_put_double (writer, g_value_get_double (value));
    return TRUE;
  case KIND_DATE:
    return put_text (writer, date_to_text (g_value_get_boxed (value)));
  case KIND_DATE_TIME:
    return put_text (
        writer, gst_date_time_to_iso8601_string (g_value_get_boxed (value)));
  case KIND_SAMPLE:
    return put_sample (writer, gst_value_get_sample (value));
  default:
    return FALSE;
  }
}

/* Where tags are written to. */
typedef struct {
  GByteArray *bytes;
  gsize max;
  gboolean are_pictures; /* only pictures are written; otherwise, all others */
  gboolean are_complete;
} Target;

static void
put_tag (Target *target, const gchar *name, const GValue *value)
{
  GstByteWriter *writer = gst_byte_writer_new ();
  Kind kind = kind_of (G_VALUE_TYPE (value));
  guint32 head[3];

  if (!put_value (writer, kind, value)) {
    GST_WARNING ("the tag %s is left out", name);
  } else if (target->bytes->len + sizeof (head) + strlen (name)
                 + gst_byte_writer_get_size (writer)
             > target->max) {
    target->are_complete = FALSE;
  } else {
    head[0] = GUINT32_TO_LE (strlen (name));
    head[1] = GUINT32_TO_LE (kind);
    head[2] = GUINT32_TO_LE (gst_byte_writer_get_size (writer));
    g_byte_array_append (target->bytes, (const guint8 *) head, sizeof (head));
    g_byte_array_append (target->bytes, (const guint8 *) name, strlen (name));
    g_byte_array_append (
        target->bytes, writer->parent.data, gst_byte_writer_get_size (writer));
  }
  gst_byte_writer_free (writer);
}

static void
put_values (const GstTagList *list, const gchar *name, gpointer user_data)
{
  Target *target = user_data;
  guint i, n = gst_tag_list_get_tag_size (list, name);

  if ((gst_tag_get_type (name) == GST_TYPE_SAMPLE) != target->are_pictures)
    return;
  for (i = 0; i < n; i++)
    put_tag (target, name, gst_tag_list_get_value_index (list, name, i));
}

GByteArray *
gst_vkgdr_ipc_tags_write (
    const GstTagList *tags, gsize max, gboolean *are_complete)
{
  Target target = { g_byte_array_sized_new (EXPECTED_SIZE), max, FALSE, TRUE };

  gst_tag_list_foreach (tags, put_values, &target);
  target.are_pictures = TRUE;
  gst_tag_list_foreach (tags, put_values, &target);
  *are_complete = target.are_complete;
  return target.bytes;
}

/* --- reading ------------------------------------------------------------- */

/* Returns the next @size bytes as a string, which the caller frees, or NULL if
 * they are not UTF-8. */
static gchar *
get_text (GstByteReader *reader, guint size)
{
  const guint8 *data = NULL;

  if (size == 0)
    return g_strdup ("");
  if (!gst_byte_reader_get_data (reader, size, &data)
      || !g_utf8_validate_len ((const gchar *) data, size, NULL))
    return NULL;
  return g_strndup ((const gchar *) data, size);
}

static gboolean
get_date (GstByteReader *reader, Kind kind, guint size, GValue *value)
{
  gchar *text = size <= MAX_DATE ? get_text (reader, size) : NULL;
  guint year, month, day;
  GstDateTime *time = NULL;
  GDate *date = NULL;

  if (text && kind == KIND_DATE_TIME)
    time = gst_date_time_new_from_iso8601_string (text);
  else if (text && sscanf (text, "%4u-%2u-%2u", &year, &month, &day) == 3
           && g_date_valid_dmy (day, month, year))
    date = g_date_new_dmy (day, month, year);
  g_free (text);
  if (time)
    g_value_take_boxed (value, time);
  else if (date)
    g_value_take_boxed (value, date);
  return time || date;
}

/* Returns the text if GStreamer may parse it, or NULL. */
static gchar *
get_safe_text (GstByteReader *reader, guint32 size)
{
  gchar *text = get_text (reader, size);

  if (text && !gst_vkgdr_ipc_text_is_safe (text, strlen (text)))
    g_clear_pointer (&text, g_free);
  return text;
}

static gboolean
get_sample (GstByteReader *reader, GValue *value)
{
  guint32 caps_size, info_size;
  gchar *caps_text = NULL, *info_text = NULL;
  gboolean ok = gst_vkgdr_ipc_get_u32 (reader, &caps_size)
                && gst_vkgdr_ipc_get_u32 (reader, &info_size)
                && (caps_text = get_safe_text (reader, caps_size))
                && (info_text = get_safe_text (reader, info_size));
  guint size = gst_byte_reader_get_remaining (reader);
  const guint8 *data = NULL;

  if (ok && size > 0 && gst_byte_reader_get_data (reader, size, &data)) {
    GstBuffer *buffer = gst_buffer_new_memdup (data, size);
    GstCaps *caps = *caps_text ? gst_caps_from_string (caps_text) : NULL;
    GstStructure *info =
        *info_text ? gst_structure_from_string (info_text, NULL) : NULL;

    g_value_take_boxed (value, gst_sample_new (buffer, caps, NULL, info));
    gst_buffer_unref (buffer);
    gst_clear_caps (&caps);
  } else {
    ok = FALSE;
  }
  g_free (caps_text);
  g_free (info_text);
  return ok;
}

static gboolean
get_value (GstByteReader *reader, Kind kind, guint size, GValue *value)
{
  guint32 number;
  guint64 large;
  gdouble real;
  gchar *text;

  switch (kind) {
  case KIND_STRING:
    text = size > 0 ? get_text (reader, size) : NULL;
    g_value_take_string (value, text);
    return text != NULL;
  case KIND_UINT:
    if (!gst_vkgdr_ipc_get_u32 (reader, &number))
      return FALSE;
    g_value_set_uint (value, number);
    return TRUE;
  case KIND_UINT64:
    if (!gst_vkgdr_ipc_get_u64 (reader, &large))
      return FALSE;
    g_value_set_uint64 (value, large);
    return TRUE;
  case KIND_DOUBLE:
    if (!gst_vkgdr_ipc_get_double (reader, &real))
      return FALSE;
    g_value_set_double (value, real);
    return TRUE;
  case KIND_DATE:
  case KIND_DATE_TIME:
    return get_date (reader, kind, size, value);
  case KIND_SAMPLE:
    return get_sample (reader, value);
  default:
    return FALSE;
  }
}

/* A tag that this process does not know is skipped. */
static gboolean
get_tag (GstByteReader *reader, GstTagList *tags)
{
  guint32 name_size, kind, size;
  GstByteReader content;
  GValue value = G_VALUE_INIT;
  gchar *name;
  gboolean ok = TRUE;

  if (!gst_vkgdr_ipc_get_u32 (reader, &name_size)
      || !gst_vkgdr_ipc_get_u32 (reader, &kind)
      || !gst_vkgdr_ipc_get_u32 (reader, &size))
    return FALSE;
  name = get_text (reader, name_size);
  if (name && gst_byte_reader_get_sub_reader (reader, &content, size)) {
    if (gst_tag_exists (name) && kind_of (gst_tag_get_type (name)) == kind
        && kind != 0) {
      g_value_init (&value, gst_tag_get_type (name));
      ok = get_value (&content, kind, size, &value);
      if (ok)
        gst_tag_list_add_value (tags, GST_TAG_MERGE_APPEND, name, &value);
      g_value_unset (&value);
    }
  } else {
    ok = FALSE;
  }
  g_free (name);
  return ok;
}

GstTagList *
gst_vkgdr_ipc_tags_read (gconstpointer data, gsize size, GstTagScope scope)
{
  GstTagList *tags = gst_tag_list_new_empty ();
  GstByteReader reader;

  gst_tag_list_set_scope (tags, scope);
  gst_byte_reader_init (&reader, data, size);
  while (gst_byte_reader_get_remaining (&reader) > 0)
    if (!get_tag (&reader, tags)) {
      gst_tag_list_unref (tags);
      return NULL;
    }
  return tags;
}

/* --- segments ------------------------------------------------------------ */

/* The numbers of a segment that are sent. */
static void
list_numbers (GstSegment *segment, guint64 *numbers[6])
{
  numbers[0] = &segment->base;
  numbers[1] = &segment->offset;
  numbers[2] = &segment->start;
  numbers[3] = &segment->stop;
  numbers[4] = &segment->time;
  numbers[5] = &segment->duration;
}

GByteArray *
gst_vkgdr_ipc_segment_write (const GstSegment *segment)
{
  GstSegment copy = *segment;
  guint64 *numbers[6];
  GstByteWriter writer;
  guint i, size;

  list_numbers (&copy, numbers);
  gst_byte_writer_init (&writer);
  gst_vkgdr_ipc_put_u32 (&writer, segment->format);
  gst_vkgdr_ipc_put_u32 (&writer, 0);
  gst_vkgdr_ipc_put_double (&writer, segment->rate);
  gst_vkgdr_ipc_put_double (&writer, segment->applied_rate);
  for (i = 0; i < G_N_ELEMENTS (numbers); i++)
    gst_vkgdr_ipc_put_u64 (&writer, *numbers[i]);
  size = gst_byte_writer_get_size (&writer);
  return g_byte_array_new_take (
      gst_byte_writer_reset_and_get_data (&writer), size);
}

/* GStreamer's functions for segments abort the program if a rate is 0. The
 * comparisons are also FALSE for NaN. */
static gboolean
are_valid_rates (const GstSegment *segment)
{
  return segment->rate > 1e-6 && segment->rate < 1e6
         && segment->applied_rate > -1e6 && segment->applied_rate < 1e6
         && segment->applied_rate != 0.0;
}

static gboolean
is_valid_segment (const GstSegment *segment)
{
  if (segment->format != GST_FORMAT_TIME && segment->format != GST_FORMAT_BYTES
      && segment->format != GST_FORMAT_DEFAULT)
    return FALSE;
  return are_valid_rates (segment) && segment->start <= G_MAXINT64
         && segment->base <= G_MAXINT64 && segment->offset <= G_MAXINT64
         && segment->start <= segment->stop;
}

/* Returns FALSE if the number is neither unknown nor one that elements can add
 * to another one. */
static gboolean
is_valid_number (guint64 number)
{
  return number == GST_CLOCK_TIME_NONE || number <= G_MAXINT64;
}

gboolean
gst_vkgdr_ipc_segment_read (gconstpointer data, gsize size, GstSegment *segment)
{
  guint32 format, reserved;
  guint64 *numbers[6];
  GstByteReader reader;
  guint i;

  gst_byte_reader_init (&reader, data, size);
  gst_segment_init (segment, GST_FORMAT_UNDEFINED);
  list_numbers (segment, numbers);
  if (!gst_vkgdr_ipc_get_u32 (&reader, &format)
      || !gst_vkgdr_ipc_get_u32 (&reader, &reserved)
      || !gst_vkgdr_ipc_get_double (&reader, &segment->rate)
      || !gst_vkgdr_ipc_get_double (&reader, &segment->applied_rate))
    return FALSE;
  for (i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (!gst_vkgdr_ipc_get_u64 (&reader, numbers[i])
        || !is_valid_number (*numbers[i]))
      return FALSE;
  segment->format = format;
  segment->position = segment->start;
  return gst_byte_reader_get_remaining (&reader) == 0
         && is_valid_segment (segment);
}
