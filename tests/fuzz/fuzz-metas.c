/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuzz-metas.c: the metas of a frame of a server
 *
 * What is accepted can be written again. Metas that GStreamer serialises itself
 * (from 1.24 on) are left out: its own functions read them.
 */

#include "ipc/text.c"

#include "ipc/meta.c"
#include "gst-init.h"
#include "packets.h"

/* Whether one of the metas is of the kind that GStreamer reads. */
static gboolean
has_serialised (const uint8_t *data, size_t size)
{
  guint32 head[2];

  for (; size >= sizeof (head); data += head[1], size -= head[1]) {
    memcpy (head, data, sizeof (head));
    data += sizeof (head);
    size -= sizeof (head);
    if (head[0] == KIND_SERIALISED)
      return TRUE;
    if (head[1] > size)
      break;
  }
  return FALSE;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GstBuffer) buffer = NULL;
  GstByteReader reader;

  if (has_serialised (data, size))
    return 0;
  buffer = gst_buffer_new ();
  gst_byte_reader_init (&reader, data, size);
  if (gst_vkgdr_ipc_metas_read (buffer, &reader))
    g_byte_array_unref (gst_vkgdr_ipc_metas_write (buffer, 60000));
  if (names)
    g_hash_table_remove_all (names);
  return 0;
}
