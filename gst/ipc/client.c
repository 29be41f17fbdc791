/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/client.c: see ipc/client.h
 */

#include "ipc/client.h"

#include <unistd.h>

#include "ipc/channel.h"
#include "ipc/meta.h"
#include "ipc/notifier.h"
#include "ipc/pace.h"

/* The maximum number of allocations that a server may have sent and not
 * freed. */
#define MAX_IMPORTS 1024

/* While a thread does not sleep, it tries to read a message. It checks only
 * once in this many tries whether the wait is cancelled, because the check is a
 * second system call. This many tries take less than 100 microseconds. */
#define CANCEL_LOOKS 64

struct _GstVkgdrIpcClient {
  gint refcount; /* atomic: one for the owner, and one for each buffer */
  gint fd;
  gint notifier;   /* atomic; -1: not received yet */
  gint is_stopped; /* atomic */
  GstVkgdrAllocator *allocator;

  GMutex read_lock; /* for the fields below; held while waiting for a message */
  GstVkgdrIpcReceiver receiver;
  GHashTable *imports; /* of GstMemory, by the number of the allocation */
  GstVkgdrIpcChanges changes;
  GstVideoInfo info;    /* of the last caps; empty if not raw video */
  guint64 last_id;      /* of the last frame; 0: none yet */
  GstVkgdrIpcPace pace; /* interval of the frames */
  GstVkgdrIpcEvent end; /* the last event: BYE or ERROR; CANCELLED: none yet */
  GError *failure;      /* of the event ERROR */

  GMutex send_lock; /* for the fields below; no thread waits with it held */
  GQueue answers;   /* of GBytes that the socket had no room for */
  guint64 lost;
};

/* A frame in use. It is released when all its memories are freed. */
typedef struct {
  gint refcount; /* atomic */
  GstVkgdrIpcClient *client;
  guint64 id;
} Use;

static void
client_unref (GstVkgdrIpcClient *self)
{
  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  gst_vkgdr_ipc_receiver_clear (&self->receiver);
  close (self->fd);
  if (self->notifier >= 0)
    close (self->notifier);
  g_hash_table_unref (self->imports);
  gst_vkgdr_ipc_changes_clear (&self->changes);
  g_clear_error (&self->failure);
  g_queue_clear_full (&self->answers, (GDestroyNotify) g_bytes_unref);
  gst_object_unref (self->allocator);
  g_mutex_clear (&self->read_lock);
  g_mutex_clear (&self->send_lock);
  g_free (self);
}

/* --- answers ------------------------------------------------------------- */

/* Sends @message (taken) after the queued ones. The socket has room for the
 * answers to all frames that a client may have, so messages are not queued for
 * long. */
static void
answer (GstVkgdrIpcClient *self, GBytes *message)
{
  g_mutex_lock (&self->send_lock);
  g_queue_push_tail (&self->answers, message);
  while ((message = g_queue_peek_head (&self->answers))) {
    GstVkgdrIpcResult result = gst_vkgdr_ipc_send (self->fd, message, -1);

    if (result == GST_VKGDR_IPC_AGAIN || result == GST_VKGDR_IPC_NO_RESOURCES)
      break;
    g_bytes_unref (g_queue_pop_head (&self->answers));
  }
  g_mutex_unlock (&self->send_lock);
}

static void release_unread (GstVkgdrIpcClient *self);

/* Called in any thread when the device has finished with a memory. */
static void
use_unref (gpointer data)
{
  Use *use = data;
  GstVkgdrIpcClient *client = use->client;

  if (!g_atomic_int_dec_and_test (&use->refcount))
    return;
  answer (client, gst_vkgdr_ipc_write_number (GST_VKGDR_IPC_RELEASE, use->id));
  g_free (use);
  if (g_atomic_int_get (&client->is_stopped))
    release_unread (client);
  client_unref (client);
}

static Use *
use_new (GstVkgdrIpcClient *self, guint64 id)
{
  Use *use = g_new0 (Use, 1);

  use->refcount = 1;
  use->client = self;
  use->id = id;
  g_atomic_int_inc (&self->refcount);
  return use;
}

/* --- messages ------------------------------------------------------------ */

static gboolean
set_invalid (GError **error, const gchar *what)
{
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
      "the server has sent %s that is not valid", what);
  return FALSE;
}

static gboolean
read_hello (GstVkgdrIpcClient *self, GstByteReader *reader, gint *attached,
    GError **error)
{
  guint32 version;

  if (!gst_vkgdr_ipc_read_hello (reader, &version) || *attached < 0
      || self->notifier >= 0)
    return set_invalid (error, "a greeting");
  if (version != GST_VKGDR_IPC_VERSION) {
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
        "vkgdripcsink speaks version %u of the protocol, and vkgdripcsrc "
        "version %u: use the same version of gst-vkgdr in both processes",
        version, GST_VKGDR_IPC_VERSION);
    return FALSE;
  }
  if (!gst_vkgdr_ipc_notifier_is_receiver (*attached))
    return set_invalid (error, "a greeting");
  g_atomic_int_set (&self->notifier, *attached);
  *attached = -1;
  return TRUE;
}

static gboolean
read_caps (GstVkgdrIpcClient *self, GstByteReader *reader, GError **error)
{
  GstCaps *caps = gst_vkgdr_ipc_read_caps (reader);

  if (!caps)
    return set_invalid (error, "caps");
  if (!gst_vkgdr_caps_get_video_info (caps, &self->info))
    gst_video_info_init (&self->info);
  gst_caps_take (&self->changes.caps, caps);
  return TRUE;
}

static gboolean
read_tags (GstVkgdrIpcClient *self, GstByteReader *reader, GstTagScope scope,
    GError **error)
{
  GstTagList *tags = gst_vkgdr_ipc_read_tags (reader, scope);

  if (!tags)
    return set_invalid (error, "a list of tags");
  gst_tag_list_take (&self->changes.tags[scope], tags);
  return TRUE;
}

static gboolean
read_segment (GstVkgdrIpcClient *self, GstByteReader *reader, GError **error)
{
  GstSegment segment;

  if (!gst_vkgdr_ipc_read_segment (reader, &segment))
    return set_invalid (error, "a segment");
  self->changes.segment = segment;
  self->changes.has_segment = TRUE;
  return TRUE;
}

static gboolean
read_memory (GstVkgdrIpcClient *self, GstByteReader *reader, gint attached,
    GError **error)
{
  guint64 id = 0;
  GBytes *description = gst_vkgdr_ipc_read_memory (reader, &id);
  GstMemory *memory;

  if (!description || attached < 0
      || g_hash_table_size (self->imports) >= MAX_IMPORTS
      || g_hash_table_contains (self->imports, &id)) {
    g_clear_pointer (&description, g_bytes_unref);
    return set_invalid (error, "memory");
  }
  memory = gst_vkgdr_allocator_import (
      self->allocator, attached, description, error);
  g_bytes_unref (description);
  if (!memory)
    return FALSE;
  g_hash_table_insert (
      self->imports, g_memdup2 (&id, sizeof (guint64)), memory);
  return TRUE;
}

static gboolean
read_forget (GstVkgdrIpcClient *self, GstByteReader *reader, GError **error)
{
  guint64 id;

  if (!gst_vkgdr_ipc_read_number (reader, &id))
    return set_invalid (error, "a number");
  g_hash_table_remove (self->imports, &id);
  return TRUE;
}

static gboolean
read_ring (GstVkgdrIpcClient *self, GstByteReader *reader, gint attached,
    GError **error)
{
  return (gst_vkgdr_ipc_read_end (reader) && attached >= 0
             && gst_vkgdr_ipc_receiver_add_ring (&self->receiver, attached))
         || set_invalid (error, "a ring buffer");
}

/* Adds the memories of a frame. Each of them holds a reference to @use. */
static gboolean
add_memories (GstVkgdrIpcClient *self, const GstVkgdrIpcFrame *frame, Use *use,
    GstBuffer *buffer)
{
  guint i;

  for (i = 0; i < frame->n_ranges; i++) {
    const GstVkgdrIpcRange *range = &frame->ranges[i];
    GstMemory *whole = g_hash_table_lookup (self->imports, &range->id);
    GstMemory *part = NULL;

    g_atomic_int_inc (&use->refcount);
    if (whole)
      part = gst_vkgdr_memory_new_part (whole, range->offset, range->size,
          GST_MEMORY_FLAG_READONLY, use_unref, use);
    if (!part) {
      use_unref (use);
      return FALSE;
    }
    gst_buffer_append_memory (buffer, part);
  }
  return TRUE;
}

/* Counts the frames that this client did not receive between the last received
 * frame and the frame @id. */
static void
count_lost (GstVkgdrIpcClient *self, guint64 id, GstBuffer *buffer)
{
  if (self->last_id != 0 && id > self->last_id + 1) {
    g_mutex_lock (&self->send_lock);
    self->lost += id - self->last_id - 1;
    g_mutex_unlock (&self->send_lock);
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  }
  self->last_id = id;
}

static gboolean
read_frame (GstVkgdrIpcClient *self, GstByteReader *reader,
    GstVkgdrIpcContent *content, GError **error)
{
  GstVkgdrIpcFrame *frame = &content->frame;
  GstBuffer *buffer;
  gboolean ok;
  Use *use;

  if (!gst_vkgdr_ipc_read_frame (reader, frame))
    return set_invalid (error, "a frame");
  buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = frame->pts;
  GST_BUFFER_DTS (buffer) = frame->dts;
  GST_BUFFER_DURATION (buffer) = frame->duration;
  GST_BUFFER_OFFSET (buffer) = frame->offset;
  GST_BUFFER_OFFSET_END (buffer) = frame->offset_end;
  GST_BUFFER_FLAG_SET (buffer, frame->flags & GST_VKGDR_IPC_BUFFER_FLAGS);
  use = use_new (self, frame->id);
  ok = add_memories (self, frame, use, buffer)
       && gst_vkgdr_ipc_metas_read (buffer, &self->info, reader);
  use_unref (use);
  if (!ok) {
    gst_buffer_unref (buffer);
    return set_invalid (error, "a frame");
  }
  GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  count_lost (self, frame->id, buffer);
  gst_vkgdr_ipc_pace_add (&self->pace, g_get_monotonic_time ());
  content->buffer = buffer;
  return TRUE;
}

static GstVkgdrIpcEvent
read_bye (GstByteReader *reader, GError **error)
{
  gchar *reason = gst_vkgdr_ipc_read_bye (reader);
  gboolean is_regular = reason && !*reason;

  if (!is_regular)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED,
        "vkgdripcsink refuses: %s", reason ? reason : "it does not say why");
  g_free (reason);
  return is_regular ? GST_VKGDR_IPC_EVENT_BYE : GST_VKGDR_IPC_EVENT_ERROR;
}

/* Handles messages that cause no event for the caller. */
static gboolean
handle_silent_message (GstVkgdrIpcClient *self, guint32 type,
    GstByteReader *reader, gint *attached, GError **error)
{
  switch (type) {
  case GST_VKGDR_IPC_HELLO:
    return read_hello (self, reader, attached, error);
  case GST_VKGDR_IPC_CAPS:
    return read_caps (self, reader, error);
  case GST_VKGDR_IPC_SEGMENT:
    return read_segment (self, reader, error);
  case GST_VKGDR_IPC_TAGS:
    return read_tags (self, reader, GST_TAG_SCOPE_STREAM, error);
  case GST_VKGDR_IPC_GLOBAL_TAGS:
    return read_tags (self, reader, GST_TAG_SCOPE_GLOBAL, error);
  case GST_VKGDR_IPC_MEMORY:
    return read_memory (self, reader, *attached, error);
  case GST_VKGDR_IPC_FORGET:
    return read_forget (self, reader, error);
  case GST_VKGDR_IPC_RING:
    return read_ring (self, reader, *attached, error);
  case GST_VKGDR_IPC_WAKE:
    return gst_vkgdr_ipc_read_end (reader) || set_invalid (error, "a message");
  default:
    return set_invalid (error, "a message");
  }
}

/* Handles a message. Returns TRUE with @event set if it causes an event, and
 * otherwise leaves @event undefined. */
static gboolean
handle (GstVkgdrIpcClient *self, const guint8 *data, gsize size, gint *attached,
    GstVkgdrIpcEvent *event, GstVkgdrIpcContent *content, GError **error)
{
  GstByteReader reader;
  guint32 type = 0;

  *event = GST_VKGDR_IPC_EVENT_ERROR;
  if (!gst_vkgdr_ipc_read_type (data, size, &reader, &type)) {
    set_invalid (error, "a message");
    return TRUE;
  }
  switch (type) {
  case GST_VKGDR_IPC_FRAME:
    if (read_frame (self, &reader, content, error))
      *event = GST_VKGDR_IPC_EVENT_FRAME;
    return TRUE;
  case GST_VKGDR_IPC_EOS:
    *event = GST_VKGDR_IPC_EVENT_EOS;
    return TRUE;
  case GST_VKGDR_IPC_FLUSH_START:
    *event = GST_VKGDR_IPC_EVENT_FLUSH_START;
    return TRUE;
  case GST_VKGDR_IPC_FLUSH_STOP:
    if (gst_vkgdr_ipc_read_number (&reader, &content->number))
      *event = GST_VKGDR_IPC_EVENT_FLUSH_STOP;
    else
      set_invalid (error, "the end of a flush");
    return TRUE;
  case GST_VKGDR_IPC_BYE:
    *event = read_bye (&reader, error);
    return TRUE;
  default:
    return !handle_silent_message (self, type, &reader, attached, error);
  }
}

/* --- reading ------------------------------------------------------------- */

typedef enum {
  READ_NOTHING, /* there is no message yet */
  READ_MESSAGE, /* a message that causes no event, such as CAPS */
  READ_EVENT
} ReadResult;

/* Must be called with the read lock held. Reads one message. Sets @event if the
 * result is READ_EVENT. */
static ReadResult
read_message (GstVkgdrIpcClient *self, GstVkgdrIpcEvent *event,
    GstVkgdrIpcContent *content, GError **error)
{
  const guint8 *data = NULL;
  GstVkgdrIpcEvent found;
  gsize size = 0;
  gboolean is_event;
  gint attached = -1;

  switch (
      gst_vkgdr_ipc_receiver_next (&self->receiver, &data, &size, &attached)) {
  case GST_VKGDR_IPC_AGAIN:
    return READ_NOTHING;
  case GST_VKGDR_IPC_CLOSED:
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED,
        "the process of vkgdripcsink has ended, or has closed the connection, "
        "before the end of the stream");
    *event = GST_VKGDR_IPC_EVENT_ERROR;
    return READ_EVENT;
  default:
    is_event = handle (self, data, size, &attached, &found, content, error);
    if (attached >= 0)
      close (attached);
    if (!is_event)
      return READ_MESSAGE;
    *event = found;
    return READ_EVENT;
  }
}

/* Must be called with the read lock held. Returns microseconds, 0 or -1: see
 * gst_vkgdr_ipc_pace_get_sleep (). */
static gint64
get_sleep (GstVkgdrIpcClient *self, guint busy_poll)
{
  return gst_vkgdr_ipc_pace_get_sleep (
      &self->pace, g_get_monotonic_time (), busy_poll);
}

/* Must be called with the read lock held. Waits until there may be a message.
 * Returns FALSE if the wait was cancelled. @n_looks counts the calls. */
static gboolean
wait_for_message (
    GstVkgdrIpcClient *self, gint cancel_fd, guint busy_poll, guint *n_looks)
{
  gint64 sleep = get_sleep (self, busy_poll);

  gst_vkgdr_ipc_receiver_set_awake (&self->receiver, sleep == 0);
  if (sleep == 0 && ++*n_looks % CANCEL_LOOKS != 0)
    return TRUE;
  /* This check must come after the server was told that this thread sleeps: the
   * server may have written a message to the ring before. */
  if (gst_vkgdr_ipc_receiver_has_message (&self->receiver))
    sleep = 0;
  return gst_vkgdr_ipc_wait (self->fd, cancel_fd, sleep);
}

/* Must be called with the read lock held. */
static GstVkgdrIpcEvent
wait_for_event (GstVkgdrIpcClient *self, gint cancel_fd, guint busy_poll,
    GstVkgdrIpcContent *content)
{
  GstVkgdrIpcEvent event = GST_VKGDR_IPC_EVENT_CANCELLED;
  gboolean is_waiting = TRUE;
  guint n_looks = 0;

  while (is_waiting && wait_for_message (self, cancel_fd, busy_poll, &n_looks))
    is_waiting =
        read_message (self, &event, content, &self->failure) != READ_EVENT;
  if (is_waiting)
    return GST_VKGDR_IPC_EVENT_CANCELLED;
  if (event == GST_VKGDR_IPC_EVENT_BYE || event == GST_VKGDR_IPC_EVENT_ERROR)
    self->end = event;
  return event;
}

GstVkgdrIpcEvent
gst_vkgdr_ipc_client_read (GstVkgdrIpcClient *self, gint cancel_fd,
    guint busy_poll, GstVkgdrIpcContent *content, GError **error)
{
  GstVkgdrIpcEvent event;

  content->buffer = NULL;
  g_mutex_lock (&self->read_lock);
  event = self->end;
  if (event == GST_VKGDR_IPC_EVENT_CANCELLED)
    event = wait_for_event (self, cancel_fd, busy_poll, content);
  if (event == GST_VKGDR_IPC_EVENT_ERROR)
    g_propagate_error (error, g_error_copy (self->failure));
  g_mutex_unlock (&self->read_lock);
  return event;
}

/* Releases the frames that the server sent before it received STOP. Does
 * nothing if a thread is reading already; this may be the calling thread,
 * because freeing a frame calls this function again. */
static void
release_unread (GstVkgdrIpcClient *self)
{
  GstVkgdrIpcContent content = { .buffer = NULL };
  GstVkgdrIpcEvent event = GST_VKGDR_IPC_EVENT_CANCELLED;

  if (!g_mutex_trylock (&self->read_lock))
    return;
  do {
    gst_clear_buffer (&content.buffer);
    event = GST_VKGDR_IPC_EVENT_CANCELLED;
  } while (read_message (self, &event, &content, NULL) != READ_NOTHING
           && event != GST_VKGDR_IPC_EVENT_ERROR);
  g_mutex_unlock (&self->read_lock);
}

/* --- from the element ---------------------------------------------------- */

static GstVkgdrIpcClient *
client_new (gint fd, GstVkgdrAllocator *allocator)
{
  GstVkgdrIpcClient *self = g_new0 (GstVkgdrIpcClient, 1);

  self->refcount = 1;
  self->fd = fd;
  self->notifier = -1;
  self->end = GST_VKGDR_IPC_EVENT_CANCELLED;
  gst_video_info_init (&self->info);
  self->allocator = gst_object_ref (allocator);
  gst_vkgdr_ipc_receiver_init (&self->receiver, fd);
  self->imports = g_hash_table_new_full (
      g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) gst_memory_unref);
  g_mutex_init (&self->read_lock);
  g_mutex_init (&self->send_lock);
  g_queue_init (&self->answers);
  return self;
}

GstVkgdrIpcClient *
gst_vkgdr_ipc_client_new (const gchar *path, GstVkgdrIpcPeers peers,
    GstVkgdrAllocator *allocator, gboolean *is_absent, GError **error)
{
  gint fd = gst_vkgdr_ipc_connect (path, is_absent, error);

  if (fd < 0)
    return NULL;
  if (gst_vkgdr_ipc_check_peer (fd, peers, error))
    return client_new (fd, allocator);
  close (fd);
  return NULL;
}

void
gst_vkgdr_ipc_client_stop (GstVkgdrIpcClient *self)
{
  answer (self, gst_vkgdr_ipc_write_plain (GST_VKGDR_IPC_STOP));
  g_atomic_int_set (&self->is_stopped, TRUE);
  release_unread (self);
  client_unref (self);
}

void
gst_vkgdr_ipc_client_take_changes (
    GstVkgdrIpcClient *self, GstVkgdrIpcChanges *changes)
{
  g_mutex_lock (&self->read_lock);
  *changes = self->changes;
  self->changes = (GstVkgdrIpcChanges){ .caps = NULL };
  g_mutex_unlock (&self->read_lock);
}

void
gst_vkgdr_ipc_changes_clear (GstVkgdrIpcChanges *changes)
{
  guint i;

  gst_clear_caps (&changes->caps);
  for (i = 0; i < GST_VKGDR_IPC_N_SCOPES; i++)
    gst_clear_tag_list (&changes->tags[i]);
  changes->has_segment = FALSE;
}

gint
gst_vkgdr_ipc_client_get_notifier (GstVkgdrIpcClient *self)
{
  return g_atomic_int_get (&self->notifier);
}

guint64
gst_vkgdr_ipc_client_get_lost (GstVkgdrIpcClient *self)
{
  guint64 lost;

  g_mutex_lock (&self->send_lock);
  lost = self->lost;
  g_mutex_unlock (&self->send_lock);
  return lost;
}
