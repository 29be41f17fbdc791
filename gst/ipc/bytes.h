/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/bytes.h: numbers in messages, little-endian and at any address
 *
 * GStreamer has functions for this purpose, but they access numbers at
 * addresses that are not aligned, which C does not allow.
 */

#ifndef __GST_VKGDR_IPC_BYTES_H__
#define __GST_VKGDR_IPC_BYTES_H__

#include <gst/base/gstbytereader.h>
#include <gst/base/gstbytewriter.h>
#include <string.h>

G_BEGIN_DECLS

static inline void
gst_vkgdr_ipc_put_u32 (GstByteWriter *writer, guint32 value)
{
  value = GUINT32_TO_LE (value);
  gst_byte_writer_put_data (writer, (const guint8 *) &value, sizeof (value));
}

static inline void
gst_vkgdr_ipc_put_u64 (GstByteWriter *writer, guint64 value)
{
  value = GUINT64_TO_LE (value);
  gst_byte_writer_put_data (writer, (const guint8 *) &value, sizeof (value));
}

static inline void
gst_vkgdr_ipc_put_double (GstByteWriter *writer, gdouble value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof (bits));
  gst_vkgdr_ipc_put_u64 (writer, bits);
}

/* These functions return FALSE if the message is too short. */

static inline gboolean
gst_vkgdr_ipc_get_u32 (GstByteReader *reader, guint32 *value)
{
  const guint8 *data;

  if (!gst_byte_reader_get_data (reader, sizeof (*value), &data))
    return FALSE;
  memcpy (value, data, sizeof (*value));
  *value = GUINT32_FROM_LE (*value);
  return TRUE;
}

static inline gboolean
gst_vkgdr_ipc_get_u64 (GstByteReader *reader, guint64 *value)
{
  const guint8 *data;

  if (!gst_byte_reader_get_data (reader, sizeof (*value), &data))
    return FALSE;
  memcpy (value, data, sizeof (*value));
  *value = GUINT64_FROM_LE (*value);
  return TRUE;
}

static inline gboolean
gst_vkgdr_ipc_get_double (GstByteReader *reader, gdouble *value)
{
  guint64 bits;

  if (!gst_vkgdr_ipc_get_u64 (reader, &bits))
    return FALSE;
  memcpy (value, &bits, sizeof (*value));
  return TRUE;
}

G_END_DECLS

#endif /* __GST_VKGDR_IPC_BYTES_H__ */
