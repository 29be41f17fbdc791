/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/protocol.h: the messages between vkgdripcsink and vkgdripcsrc
 *
 * A message is one packet of a Unix socket of type SOCK_SEQPACKET, so that it
 * arrives whole or not at all, or it is in a ring buffer (ipc/channel.h). It
 * begins with its type; the rest depends on the type. Both processes are on one
 * machine, but all numbers are little-endian, and nothing in a message is used
 * before it was checked.
 *
 *     server                                    client
 *     HELLO, with a socket               ->     the client's end of a notifier
 *     RING, with a file descriptor       ->     the memory of the ring buffer
 *     WAKE                               ->     there is a message in the ring
 *     CAPS, SEGMENT, TAGS, GLOBAL_TAGS   ->     what changed before a frame
 *     MEMORY, with a file descriptor     ->     once for each allocation
 *     FRAME                              ->
 *                                        <-     RELEASE, when it was used
 *     FORGET                             ->     an allocation is not used again
 *     EOS, FLUSH_START, FLUSH_STOP       ->
 *                                        <-     STOP: no more frames
 *     BYE, with a reason                 ->     the last message
 *
 * The server sends a notice of each flush (ipc/notifier.h) before FLUSH_START,
 * so that a client notices a flush while it works on a frame.
 */

#ifndef __GST_VKGDR_IPC_PROTOCOL_H__
#define __GST_VKGDR_IPC_PROTOCOL_H__

#include <gst/base/gstbytereader.h>
#include <gst/base/gstbytewriter.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/* The maximum size in bytes of a message. The default buffer of a socket is
 * much larger. */
#define GST_VKGDR_IPC_MAX_MESSAGE (64 * 1024)

/* The maximum number of memories of a frame. GstBuffer merges further ones. */
#define GST_VKGDR_IPC_MAX_MEMORIES 16

/* The flags of a buffer that are sent. The flags of its memory and of its
 * object are not. */
#define GST_VKGDR_IPC_BUFFER_FLAGS \
  (~(guint32) (GST_BUFFER_FLAG_TAG_MEMORY | (GST_MINI_OBJECT_FLAG_LAST - 1)))

/* The number of scopes of tags, which are indices of arrays. */
#define GST_VKGDR_IPC_N_SCOPES (GST_TAG_SCOPE_GLOBAL + 1)

/* Must be increased when the format of a message changes. */
#define GST_VKGDR_IPC_VERSION 4

typedef enum {
  GST_VKGDR_IPC_HELLO = 1,
  GST_VKGDR_IPC_BYE,
  GST_VKGDR_IPC_CAPS,
  GST_VKGDR_IPC_SEGMENT,
  GST_VKGDR_IPC_TAGS, /* of the stream */
  GST_VKGDR_IPC_MEMORY,
  GST_VKGDR_IPC_FORGET,
  GST_VKGDR_IPC_FRAME,
  GST_VKGDR_IPC_EOS,
  GST_VKGDR_IPC_FLUSH_START,
  GST_VKGDR_IPC_FLUSH_STOP,
  GST_VKGDR_IPC_RELEASE,
  GST_VKGDR_IPC_STOP,
  GST_VKGDR_IPC_RING,
  GST_VKGDR_IPC_WAKE,
  GST_VKGDR_IPC_GLOBAL_TAGS
} GstVkgdrIpcType;

/* The message with the tags of this scope. */
static inline GstVkgdrIpcType
gst_vkgdr_ipc_tags_type (GstTagScope scope)
{
  return scope == GST_TAG_SCOPE_GLOBAL ? GST_VKGDR_IPC_GLOBAL_TAGS
                                       : GST_VKGDR_IPC_TAGS;
}

/* A range of bytes in an allocation. */
typedef struct {
  guint64 id; /* the number of the allocation */
  guint64 offset;
  guint64 size;
} GstVkgdrIpcRange;

/* A frame without its metas. */
typedef struct {
  guint64 id;
  GstClockTime pts;
  GstClockTime dts;
  GstClockTime duration;
  guint64 offset;
  guint64 offset_end;
  guint32 flags; /* of GstBufferFlags */
  gint64 base;   /* monotonic time at which running time was 0; -1: none */
  GstClockTime latency; /* of the server's pipeline */
  guint32 n_ranges;
  GstVkgdrIpcRange ranges[GST_VKGDR_IPC_MAX_MEMORIES];
} GstVkgdrIpcFrame;

/* --- writing: each returns a message, or NULL if it would be too large --- */

/* Messages that consist of their type, or of their type and a number. */
GBytes *gst_vkgdr_ipc_write_plain (GstVkgdrIpcType type);
GBytes *gst_vkgdr_ipc_write_number (GstVkgdrIpcType type, guint64 number);

GBytes *gst_vkgdr_ipc_write_hello (void);
GBytes *gst_vkgdr_ipc_write_bye (const gchar *reason);
GBytes *gst_vkgdr_ipc_write_caps (const GstCaps *caps);
GBytes *gst_vkgdr_ipc_write_segment (const GstSegment *segment);
/* The message type is that of the scope of @tags. */
GBytes *gst_vkgdr_ipc_write_tags (const GstTagList *tags);
GBytes *gst_vkgdr_ipc_write_memory (guint64 id, GBytes *description);
GBytes *gst_vkgdr_ipc_write_frame (
    const GstVkgdrIpcFrame *frame, const GByteArray *metas);

/* --- reading: each returns FALSE or NULL if the message does not have this
 * form --- */

/* Reads the type. @reader is then at the rest of the message. */
gboolean gst_vkgdr_ipc_read_type (
    gconstpointer data, gsize size, GstByteReader *reader, guint32 *type);

/* These functions expect @reader after the type. They return an error if there
 * is data after what they read. */
gboolean gst_vkgdr_ipc_read_end (const GstByteReader *reader);
gboolean gst_vkgdr_ipc_read_number (GstByteReader *reader, guint64 *number);
gboolean gst_vkgdr_ipc_read_hello (GstByteReader *reader, guint32 *version);
gchar *gst_vkgdr_ipc_read_bye (GstByteReader *reader);
GstCaps *gst_vkgdr_ipc_read_caps (GstByteReader *reader);
gboolean gst_vkgdr_ipc_read_segment (
    GstByteReader *reader, GstSegment *segment);
GstTagList *gst_vkgdr_ipc_read_tags (GstByteReader *reader, GstTagScope scope);
GBytes *gst_vkgdr_ipc_read_memory (GstByteReader *reader, guint64 *id);

/* @reader is then at the metas. */
gboolean gst_vkgdr_ipc_read_frame (
    GstByteReader *reader, GstVkgdrIpcFrame *frame);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_PROTOCOL_H__ */
