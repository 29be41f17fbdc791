/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/peer.c: see ipc/peer.h
 */

#include "ipc/peer.h"

#include <unistd.h>

#include "ipc/channel.h"
#include "ipc/notifier.h"

/* The size in bytes of the buffer for a client's message. Valid messages are
 * smaller. */
#define MAX_ANSWER 64

/* The maximum number of messages that are read in a row. So a client that sends
 * all the time does not block the others. */
#define MAX_ANSWERS 64

/* A queued frame, or a queued message with the state that must be sent before
 * it. */
typedef struct {
  GstVkgdrIpcType type;
  GstVkgdrIpcOutput *frame; /* or NULL */
  GBytes *message;          /* or NULL */
  GstVkgdrIpcState *state;  /* or NULL */
} Item;

struct _GstVkgdrIpcPeer {
  gint fd;
  GstVkgdrIpcSender sender;
  gint notifier;     /* the server's end, for flushes */
  GHashTable *held;  /* frames that the client has, by number */
  GHashTable *known; /* numbers of the allocations that were sent to it */
  gint generation;   /* of exports, when `known` was last checked */
  GQueue waiting;    /* of Item */
  /* The last ones that were sent. */
  GBytes *caps, *segment, *tags[GST_VKGDR_IPC_N_SCOPES];
  guint64 sent;
  guint64 lost;
  gboolean is_broken;
  gboolean is_blocked;
  gint64 retry_time;   /* monotonic; 0: as soon as the socket has room */
  gboolean is_stopped; /* the client wants no more frames */
};

static void
item_free (Item *item)
{
  g_clear_pointer (&item->message, g_bytes_unref);
  g_clear_pointer (&item->state, gst_vkgdr_ipc_state_unref);
  g_free (item);
}

/* Sends the first messages. @receiver: the client's end of the notifier. */
static gboolean
greet (GstVkgdrIpcPeer *self, gint receiver)
{
  GBytes *hello = gst_vkgdr_ipc_write_hello ();
  GstVkgdrIpcResult result =
      gst_vkgdr_ipc_sender_send (&self->sender, hello, receiver);

  g_bytes_unref (hello);
  return result == GST_VKGDR_IPC_OK
         && gst_vkgdr_ipc_sender_add_ring (&self->sender) == GST_VKGDR_IPC_OK;
}

GstVkgdrIpcPeer *
gst_vkgdr_ipc_peer_new (gint fd)
{
  GstVkgdrIpcPeer *self;
  gint notifier, receiver;

  if (!gst_vkgdr_ipc_notifier_new (&notifier, &receiver))
    return NULL;
  self = g_new0 (GstVkgdrIpcPeer, 1);
  self->fd = fd;
  self->notifier = notifier;
  self->held = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->known =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->generation = gst_vkgdr_ipc_export_generation ();
  g_queue_init (&self->waiting);
  gst_vkgdr_ipc_sender_init (&self->sender, fd);
  self->is_broken = !greet (self, receiver);
  close (receiver);
  return self;
}

/* Drops all queued items. */
static void
clear_waiting (GstVkgdrIpcPeer *self, GPtrArray *garbage)
{
  Item *item;

  while ((item = g_queue_pop_head (&self->waiting))) {
    if (item->frame)
      g_ptr_array_add (garbage, item->frame);
    item_free (item);
  }
}

void
gst_vkgdr_ipc_peer_free (GstVkgdrIpcPeer *self, GPtrArray *garbage)
{
  GHashTableIter iter;
  gpointer frame;
  guint i;

  clear_waiting (self, garbage);
  g_hash_table_iter_init (&iter, self->held);
  while (g_hash_table_iter_next (&iter, NULL, &frame))
    g_ptr_array_add (garbage, frame);
  g_hash_table_unref (self->held);
  g_hash_table_unref (self->known);
  g_clear_pointer (&self->caps, g_bytes_unref);
  g_clear_pointer (&self->segment, g_bytes_unref);
  for (i = 0; i < GST_VKGDR_IPC_N_SCOPES; i++)
    g_clear_pointer (&self->tags[i], g_bytes_unref);
  gst_vkgdr_ipc_sender_clear (&self->sender);
  close (self->notifier);
  close (self->fd);
  g_free (self);
}

gint
gst_vkgdr_ipc_peer_get_fd (GstVkgdrIpcPeer *self)
{
  return self->fd;
}

gboolean
gst_vkgdr_ipc_peer_is_broken (GstVkgdrIpcPeer *self)
{
  return self->is_broken;
}

gboolean
gst_vkgdr_ipc_peer_is_blocked (GstVkgdrIpcPeer *self)
{
  return self->is_blocked;
}

gint64
gst_vkgdr_ipc_peer_get_retry_time (GstVkgdrIpcPeer *self)
{
  return self->retry_time;
}

gboolean
gst_vkgdr_ipc_peer_is_active (GstVkgdrIpcPeer *self)
{
  return !self->is_stopped && !self->is_broken;
}

static guint
count_waiting (GstVkgdrIpcPeer *self)
{
  GList *link;
  guint n = 0;

  for (link = self->waiting.head; link; link = link->next)
    n += ((Item *) link->data)->frame != NULL;
  return n;
}

guint
gst_vkgdr_ipc_peer_count (GstVkgdrIpcPeer *self)
{
  return g_hash_table_size (self->held) + count_waiting (self);
}

void
gst_vkgdr_ipc_peer_get_figures (
    GstVkgdrIpcPeer *self, guint64 *sent, guint64 *lost)
{
  *sent = self->sent;
  *lost = self->lost;
}

/* --- sending ------------------------------------------------------------- */

/* Returns whether the message was sent. */
static gboolean
send_message (GstVkgdrIpcPeer *self, GBytes *message, gint attached)
{
  switch (gst_vkgdr_ipc_sender_send (&self->sender, message, attached)) {
  case GST_VKGDR_IPC_OK:
    return TRUE;
  case GST_VKGDR_IPC_AGAIN:
    self->is_blocked = TRUE;
    return FALSE;
  case GST_VKGDR_IPC_NO_RESOURCES:
    self->is_blocked = TRUE;
    self->retry_time = g_get_monotonic_time () + GST_VKGDR_IPC_RETRY_INTERVAL;
    return FALSE;
  default:
    self->is_broken = TRUE;
    return FALSE;
  }
}

/* Sends @message unless it was the last one that was sent. */
static gboolean
send_change (GstVkgdrIpcPeer *self, GBytes **last, GBytes *message)
{
  if (!message || message == *last)
    return TRUE;
  if (!send_message (self, message, -1))
    return FALSE;
  g_clear_pointer (last, g_bytes_unref);
  *last = g_bytes_ref (message);
  return TRUE;
}

static gboolean
send_state (GstVkgdrIpcPeer *self, const GstVkgdrIpcState *state)
{
  guint i;

  if (!state)
    return TRUE;
  if (!send_change (self, &self->caps, state->caps)
      || !send_change (self, &self->segment, state->segment))
    return FALSE;
  for (i = 0; i < GST_VKGDR_IPC_N_SCOPES; i++)
    if (!send_change (self, &self->tags[i], state->tags[i]))
      return FALSE;
  return TRUE;
}

static gboolean
send_exports (GstVkgdrIpcPeer *self, const GPtrArray *exports)
{
  guint i;

  for (i = 0; i < exports->len; i++) {
    const GstVkgdrIpcExport *export = g_ptr_array_index (exports, i);

    if (g_hash_table_contains (self->known, &export->id))
      continue;
    if (!send_message (self, export->message, export->fd))
      return FALSE;
    g_hash_table_add (self->known, g_memdup2 (&export->id, sizeof (guint64)));
  }
  return TRUE;
}

/* Takes ownership of @frame if it was sent. */
static gboolean
send_frame (GstVkgdrIpcPeer *self, GstVkgdrIpcOutput *frame)
{
  if (!send_state (self, frame->state) || !send_exports (self, frame->exports)
      || !send_message (self, frame->message, -1))
    return FALSE;
  g_hash_table_insert (self->held, &frame->id, frame);
  self->sent++;
  return TRUE;
}

static gboolean
waits_for (GstVkgdrIpcPeer *self, GstVkgdrIpcType type)
{
  GList *link;

  for (link = self->waiting.head; link; link = link->next)
    if (((Item *) link->data)->type == type)
      return TRUE;
  return FALSE;
}

/* Whether the client may have one more frame. There is no limit if EOS is
 * queued: the client may keep its frames until EOS arrives, and EOS comes after
 * all frames. */
static gboolean
has_room (GstVkgdrIpcPeer *self, guint max)
{
  return g_hash_table_size (self->held) < max
         || waits_for (self, GST_VKGDR_IPC_EOS);
}

static gboolean
send_item (GstVkgdrIpcPeer *self, Item *item, guint max)
{
  if (item->frame)
    return has_room (self, max) && send_frame (self, item->frame);
  return send_state (self, item->state)
         && send_message (self, item->message, -1);
}

void
gst_vkgdr_ipc_peer_send_waiting (GstVkgdrIpcPeer *self, guint max)
{
  Item *item;

  self->is_blocked = FALSE;
  self->retry_time = 0;
  while (!self->is_broken && (item = g_queue_peek_head (&self->waiting))
         && send_item (self, item, max)) {
    g_queue_pop_head (&self->waiting);
    item_free (item);
  }
}

static void
push (GstVkgdrIpcPeer *self, GstVkgdrIpcType type, GstVkgdrIpcOutput *frame,
    GBytes *message, GstVkgdrIpcState *state)
{
  Item *item = g_new0 (Item, 1);

  item->type = type;
  item->frame = frame ? gst_vkgdr_ipc_output_ref (frame) : NULL;
  item->message = message ? g_bytes_ref (message) : NULL;
  item->state = state ? gst_vkgdr_ipc_state_ref (state) : NULL;
  g_queue_push_tail (&self->waiting, item);
}

/* Drops the oldest queued frame. */
static void
drop_oldest (GstVkgdrIpcPeer *self, GPtrArray *garbage)
{
  GList *link;

  for (link = self->waiting.head; link; link = link->next) {
    Item *item = link->data;

    if (!item->frame)
      continue;
    g_ptr_array_add (garbage, item->frame);
    item_free (item);
    g_queue_delete_link (&self->waiting, link);
    self->lost++;
    return;
  }
}

void
gst_vkgdr_ipc_peer_offer (GstVkgdrIpcPeer *self, GstVkgdrIpcOutput *frame,
    guint max, GstVkgdrIpcLeaky leaky, GPtrArray *garbage)
{
  gboolean is_full = g_hash_table_size (self->held) >= max;

  if (self->is_broken || self->is_stopped)
    return;
  if (leaky == GST_VKGDR_IPC_LEAKY_UPSTREAM
      && (is_full || count_waiting (self) > 0)) {
    self->lost++;
    return;
  }
  if (leaky == GST_VKGDR_IPC_LEAKY_DOWNSTREAM)
    drop_oldest (self, garbage);
  push (self, GST_VKGDR_IPC_FRAME, frame, NULL, NULL);
  gst_vkgdr_ipc_peer_send_waiting (self, max);
}

void
gst_vkgdr_ipc_peer_mark (GstVkgdrIpcPeer *self, GstVkgdrIpcType type,
    GBytes *message, GstVkgdrIpcState *state, guint max)
{
  const Item *last = g_queue_peek_tail (&self->waiting);

  /* If the client does not read, one queued message of a type is enough. */
  if (self->is_broken || self->is_stopped || (last && last->type == type))
    return;
  push (self, type, NULL, message, state);
  gst_vkgdr_ipc_peer_send_waiting (self, max);
}

/* --- flushes -------------------------------------------------------------
 *
 * The client must get as many FLUSH_START as notices, and a FLUSH_STOP for
 * each. So a flush, which drops all queued messages, has to consider whether
 * FLUSH_START or FLUSH_STOP were among them.
 */

static void
push_plain (GstVkgdrIpcPeer *self, GstVkgdrIpcType type)
{
  GBytes *message = gst_vkgdr_ipc_write_plain (type);

  push (self, type, NULL, message, NULL);
  g_bytes_unref (message);
}

void
gst_vkgdr_ipc_peer_flush_start (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage)
{
  gboolean was_starting = waits_for (self, GST_VKGDR_IPC_FLUSH_START);
  gboolean was_stopping = waits_for (self, GST_VKGDR_IPC_FLUSH_STOP);

  if (self->is_broken || self->is_stopped)
    return;
  clear_waiting (self, garbage);
  /* The client has received FLUSH_START, and FLUSH_STOP was still queued. So
   * its flush continues until the FLUSH_STOP of this one. */
  if (was_stopping && !was_starting)
    return;
  /* This fails only if the client has closed its end, if it reads messages but
   * no notices, or if the system lacks resources. In each case, the client
   * would not handle this flush. */
  if (!was_starting
      && gst_vkgdr_ipc_notifier_send (self->notifier) != GST_VKGDR_IPC_OK) {
    self->is_broken = TRUE;
    return;
  }
  push_plain (self, GST_VKGDR_IPC_FLUSH_START);
  gst_vkgdr_ipc_peer_send_waiting (self, max);
}

void
gst_vkgdr_ipc_peer_send_now (GstVkgdrIpcPeer *self, GBytes *message)
{
  if (!self->is_broken)
    gst_vkgdr_ipc_sender_send (&self->sender, message, -1);
}

/* --- messages of the client ---------------------------------------------- */

static gboolean
release (GstVkgdrIpcPeer *self, guint64 id, GPtrArray *garbage)
{
  GstVkgdrIpcOutput *frame = g_hash_table_lookup (self->held, &id);

  if (!frame)
    return FALSE;
  g_hash_table_remove (self->held, &id);
  g_ptr_array_add (garbage, frame);
  return TRUE;
}

static gboolean
stop (GstVkgdrIpcPeer *self, GPtrArray *garbage)
{
  self->is_stopped = TRUE;
  clear_waiting (self, garbage);
  return TRUE;
}

/* Returns FALSE if the message is invalid. */
static gboolean
handle (
    GstVkgdrIpcPeer *self, gconstpointer data, gsize size, GPtrArray *garbage)
{
  GstByteReader reader;
  guint32 type;
  guint64 id;

  if (!gst_vkgdr_ipc_read_type (data, size, &reader, &type))
    return FALSE;
  switch (type) {
  case GST_VKGDR_IPC_RELEASE:
    return gst_vkgdr_ipc_read_number (&reader, &id)
           && release (self, id, garbage);
  case GST_VKGDR_IPC_STOP:
    return gst_vkgdr_ipc_read_end (&reader) && stop (self, garbage);
  default:
    return FALSE;
  }
}

void
gst_vkgdr_ipc_peer_receive (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage)
{
  guint8 data[MAX_ANSWER];
  guint n;

  for (n = 0; n < MAX_ANSWERS && !self->is_broken; n++) {
    gsize size = sizeof (data);
    GstVkgdrIpcResult result =
        gst_vkgdr_ipc_receive (self->fd, data, &size, NULL);

    if (result == GST_VKGDR_IPC_AGAIN)
      break;
    self->is_broken =
        result != GST_VKGDR_IPC_OK || !handle (self, data, size, garbage);
  }
  gst_vkgdr_ipc_peer_send_waiting (self, max);
}

static gboolean
is_gone (gpointer key, gpointer value, gpointer user_data)
{
  GstVkgdrIpcPeer *self = user_data;
  const guint64 *id = key;
  gboolean sent;
  GBytes *message;

  if (gst_vkgdr_ipc_export_lives (*id))
    return FALSE;
  message = gst_vkgdr_ipc_write_number (GST_VKGDR_IPC_FORGET, *id);
  sent = send_message (self, message, -1);
  g_bytes_unref (message);
  return sent;
}

void
gst_vkgdr_ipc_peer_forget (GstVkgdrIpcPeer *self)
{
  gint generation = gst_vkgdr_ipc_export_generation ();

  if (self->is_broken || self->generation == generation)
    return;
  g_hash_table_foreach_remove (self->known, is_gone, self);
  /* If a message could not be sent, the next call tries again. */
  if (!self->is_blocked)
    self->generation = generation;
}
