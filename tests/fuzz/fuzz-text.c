/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuzz-text.c: the caps, segments and tags of a server
 *
 * The first byte of an input chooses which. What is accepted can be written
 * again. The sources are a part of this file, so that the names that were
 * learnt can be forgotten.
 */

#include "ipc/text.c"

#include "ipc/tags.c"
#include "gst-init.h"
#include "packets.h"

static void
read_caps (const gchar *text, gsize size)
{
  g_autofree gchar *copy = g_strndup (text, size);
  g_autoptr (GstCaps) caps = NULL;

  if (!gst_vkgdr_ipc_text_is_safe (text, size))
    return;
  caps = gst_caps_from_string (copy);
  if (caps)
    g_free (gst_caps_to_string (caps));
}

static void
read_tags (const guint8 *data, gsize size)
{
  g_autoptr (GstTagList) tags =
      gst_vkgdr_ipc_tags_read (data, size, GST_TAG_SCOPE_STREAM);
  gboolean are_complete;

  if (tags)
    g_byte_array_unref (gst_vkgdr_ipc_tags_write (tags, 60000, &are_complete));
}

static void
read_segment (const guint8 *data, gsize size)
{
  GByteArray *bytes;
  GstSegment segment;

  if (!gst_vkgdr_ipc_segment_read (data, size, &segment))
    return;
  gst_segment_to_running_time (&segment, segment.format, 12345);
  gst_segment_to_stream_time (&segment, segment.format, 12345);
  bytes = gst_vkgdr_ipc_segment_write (&segment);
  CHECK (bytes->len == size
         && gst_vkgdr_ipc_segment_read (bytes->data, bytes->len, &segment));
  g_byte_array_unref (bytes);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  if (data[0] % 3 == 0)
    read_caps ((const gchar *) data + 1, size - 1);
  else if (data[0] % 3 == 1)
    read_tags (data + 1, size - 1);
  else
    read_segment (data + 1, size - 1);
  if (names)
    g_hash_table_remove_all (names);
  return 0;
}
