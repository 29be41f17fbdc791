/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/server.c: see ipc/server.h
 */

#include "ipc/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_ipc_server_debug);
#define GST_CAT_DEFAULT gst_vkgdr_ipc_server_debug

/* The maximum number of clients. */
#define MAX_CLIENTS 256

/* The maximum number of clients that are accepted before the server reads
 * messages again. */
#define MAX_ACCEPTS 16

/* The maximum number of queued frames. It is only reached if the source is
 * faster than the device. Then the oldest frame is dropped, or the source
 * waits. */
#define MAX_UNWRITTEN 16

/* How many milliseconds the server waits at its end until clients have read the
 * queued frames. A client that reads at all needs much less. */
#define MAX_END 2000

/* A frame or a message that is queued until the frames before it are
 * written. */
typedef struct {
  GstVkgdrIpcOutput *frame; /* or NULL */
  GstVkgdrIpcType type;     /* of the message */
  GBytes *message;
  GstVkgdrIpcState *state; /* of the message */
  guint epoch;
} Entry;

struct _GstVkgdrIpcServer {
  GstVkgdrIpcServerParams params;
  gchar *path;
  struct stat file; /* identifies the socket at @path */
  gint listener;
  gint wake;       /* an eventfd that wakes the io thread */
  GThread *io;     /* NULL only if it could not be started */
  GThread *waiter; /* NULL only if it could not be started */

  /* Used by the io thread only. */
  gint64 accept_time;  /* monotonic; before it, no client is accepted */
  gboolean has_warned; /* that the system lacks resources for a message */

  GMutex lock; /* for the fields below; the driver is not called with it held */
  GCond cond;  /* a client has connected, or the queue or frames have changed */
  GPtrArray *peers;
  GQueue queue;        /* of Entry */
  gboolean is_waiting; /* the waiter is handling an entry */
  guint epoch;         /* incremented by each flush */
  GstVkgdrIpcState *state;
  GstVkgdrIpcServerFigures gone; /* figures of clients that have disconnected */
  gboolean is_unlocked;
  gboolean is_closing;
  gint64 end; /* time limit of the io thread's end; 0: not ending */
};

static void
init_debug (void)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_ipc_server_debug, "vkgdripcserver", 0, "vkgdripcsink");
    g_once_init_leave (&done, 1);
  }
}

/* An array of frames, which are unreferenced without the lock. */
static GPtrArray *
garbage_new (void)
{
  return g_ptr_array_new_with_free_func (
      (GDestroyNotify) gst_vkgdr_ipc_output_unref);
}

static void
wake (GstVkgdrIpcServer *self)
{
  eventfd_write (self->wake, 1);
}

static GstVkgdrIpcPeer *
peer_at (GstVkgdrIpcServer *self, guint index)
{
  return g_ptr_array_index (self->peers, index);
}

/* Must be called with the lock held. Returns the maximum number of frames of
 * one client. There is no limit when the server ends, because the frames are
 * not recycled any more. */
static guint
max_buffers (GstVkgdrIpcServer *self)
{
  return self->end != 0 ? G_MAXUINT : self->params.max_buffers;
}

/* Must be called with the lock held. Wakes the io thread if a client is blocked
 * or broken. */
static void
wake_if_needed (GstVkgdrIpcServer *self)
{
  guint i;

  for (i = 0; i < self->peers->len; i++)
    if (gst_vkgdr_ipc_peer_is_blocked (peer_at (self, i))
        || gst_vkgdr_ipc_peer_is_broken (peer_at (self, i))) {
      wake (self);
      return;
    }
}

/* --- to the clients ------------------------------------------------------ */

static Entry *
entry_new (GstVkgdrIpcServer *self, GstVkgdrIpcOutput *frame,
    GstVkgdrIpcType type, GBytes *message)
{
  Entry *entry = g_new0 (Entry, 1);

  entry->frame = frame;
  entry->type = type;
  entry->message = message;
  entry->epoch = self->epoch;
  if (frame)
    frame->state = gst_vkgdr_ipc_state_ref (self->state);
  else
    entry->state = gst_vkgdr_ipc_state_ref (self->state);
  return entry;
}

/* Adds the frame to @garbage. */
static void
entry_free (Entry *entry, GPtrArray *garbage)
{
  if (entry->frame)
    g_ptr_array_add (garbage, entry->frame);
  g_clear_pointer (&entry->message, g_bytes_unref);
  g_clear_pointer (&entry->state, gst_vkgdr_ipc_state_unref);
  g_free (entry);
}

/* Must be called with the lock held. */
static void
distribute (GstVkgdrIpcServer *self, const Entry *entry, GPtrArray *garbage)
{
  const GstVkgdrIpcServerParams *params = &self->params;
  guint i;

  for (i = 0; i < self->peers->len; i++) {
    if (entry->frame)
      gst_vkgdr_ipc_peer_offer (peer_at (self, i), entry->frame,
          params->max_buffers, params->leaky, garbage);
    else
      gst_vkgdr_ipc_peer_mark (peer_at (self, i), entry->type, entry->message,
          entry->state, params->max_buffers);
  }
  wake_if_needed (self);
}

/* --- frames that are not written yet ------------------------------------- */

/* Must be called with the lock held. Waits for the next entry. Returns NULL
 * when the server ends and the queue is empty. */
static Entry *
take_entry (GstVkgdrIpcServer *self)
{
  while (!self->is_closing && g_queue_is_empty (&self->queue))
    g_cond_wait (&self->cond, &self->lock);
  return g_queue_pop_head (&self->queue);
}

/* Must be called with the lock held. */
static void
clear_queue (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  Entry *entry;

  while ((entry = g_queue_pop_head (&self->queue)))
    entry_free (entry, garbage);
}

/* Must be called with the lock held, which is released meanwhile. Waits until a
 * frame is written. Returns FALSE if that fails. */
static gboolean
wait_for_entry (GstVkgdrIpcServer *self, Entry *entry)
{
  GError *error = NULL;
  gboolean ok;

  if (!entry->frame)
    return TRUE;
  g_mutex_unlock (&self->lock);
  ok = gst_vkgdr_ipc_output_wait_written (entry->frame, &error);
  if (!ok)
    self->params.on_error (self->params.user_data, error);
  g_clear_error (&error);
  g_mutex_lock (&self->lock);
  return ok;
}

/* Must be called with the lock held, which is released meanwhile. Sends the
 * entry as soon as it is written, unless there is a flush before that. */
static void
handle_entry (GstVkgdrIpcServer *self, Entry *entry, GPtrArray *garbage)
{
  if (!wait_for_entry (self, entry)) {
    /* At the end, the other entries are dropped, too: the device may not finish
     * with their frames either. */
    if (self->is_closing)
      clear_queue (self, garbage);
  } else if (entry->epoch == self->epoch) {
    distribute (self, entry, garbage);
  }
}

static gpointer
run_waiter (gpointer data)
{
  GstVkgdrIpcServer *self = data;
  Entry *entry;

  g_mutex_lock (&self->lock);
  while ((entry = take_entry (self))) {
    GPtrArray *garbage = garbage_new ();

    self->is_waiting = TRUE;
    handle_entry (self, entry, garbage);
    self->is_waiting = FALSE;
    entry_free (entry, garbage);
    g_cond_broadcast (&self->cond);
    g_mutex_unlock (&self->lock);
    g_ptr_array_unref (garbage);
    g_mutex_lock (&self->lock);
  }
  g_mutex_unlock (&self->lock);
  return NULL;
}

/* Must be called with the lock held. Drops the oldest frame if the queue is
 * full. */
static void
limit_queue (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  GList *link;

  if (self->queue.length < MAX_UNWRITTEN)
    return;
  for (link = self->queue.head; link; link = link->next) {
    Entry *entry = link->data;

    if (!entry->frame)
      continue;
    entry_free (entry, garbage);
    g_queue_delete_link (&self->queue, link);
    self->gone.unwritten++;
    return;
  }
}

/* Must be called with the lock held. Sends the entry (taken) now, or queues
 * it. */
static void
submit (GstVkgdrIpcServer *self, Entry *entry, gboolean is_written,
    GPtrArray *garbage)
{
  if (is_written && !self->is_waiting && g_queue_is_empty (&self->queue)) {
    distribute (self, entry, garbage);
    entry_free (entry, garbage);
    return;
  }
  limit_queue (self, garbage);
  g_queue_push_tail (&self->queue, entry);
  g_cond_broadcast (&self->cond);
}

/* --- clients ------------------------------------------------------------- */

/* Must be called without the lock. Tells a client why it may not connect, and
 * closes the connection. */
static void
refuse (GstVkgdrIpcServer *self, gint fd, const gchar *reason)
{
  GBytes *bye = gst_vkgdr_ipc_write_bye (reason);

  GST_WARNING ("a client of '%s' is refused: %s", self->path, reason);
  /* Counted first, so that `stats` includes the client when the client gets the
   * message. */
  g_mutex_lock (&self->lock);
  self->gone.refused++;
  g_mutex_unlock (&self->lock);
  gst_vkgdr_ipc_send (fd, bye, -1);
  g_bytes_unref (bye);
  close (fd);
}

static void
add_client (GstVkgdrIpcServer *self, gint fd)
{
  GstVkgdrIpcPeer *peer = gst_vkgdr_ipc_peer_new (fd);

  if (!peer) {
    refuse (self, fd,
        "the process of vkgdripcsink has as many files open as "
        "it may (ulimit -n)");
    return;
  }
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->peers, peer);
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  GST_INFO ("a client of '%s' has come", self->path);
}

static guint
count_clients (GstVkgdrIpcServer *self)
{
  guint n;

  g_mutex_lock (&self->lock);
  n = self->peers->len;
  g_mutex_unlock (&self->lock);
  return n;
}

/* The connection waits to be accepted, so that poll () would return at once. So
 * the io thread does not poll the listener for a while. */
static void
handle_accept_error (GstVkgdrIpcServer *self, gint number)
{
  if (number == EAGAIN || number == EINTR || number == ECONNABORTED)
    return;
  /* The time stays set until a client is accepted, so this is logged once. */
  if (self->accept_time == 0)
    GST_WARNING ("'%s' cannot accept clients at present: %s", self->path,
        g_strerror (number));
  self->accept_time = g_get_monotonic_time () + GST_VKGDR_IPC_RETRY_INTERVAL;
}

static void
accept_clients (GstVkgdrIpcServer *self)
{
  guint n;
  gint fd;

  for (n = 0; n < MAX_ACCEPTS; n++) {
    GError *error = NULL;

    fd = gst_vkgdr_ipc_accept (self->listener);
    if (fd < 0) {
      handle_accept_error (self, errno);
      return;
    }
    self->accept_time = 0;
    if (!gst_vkgdr_ipc_check_peer (fd, self->params.peers, &error))
      refuse (self, fd, error->message);
    else if (count_clients (self) >= MAX_CLIENTS)
      refuse (self, fd, "vkgdripcsink has as many clients as it can serve");
    else
      add_client (self, fd);
    g_clear_error (&error);
  }
}

/* Must be called with the lock held. */
static void
remove_client (GstVkgdrIpcServer *self, guint index, GPtrArray *garbage)
{
  GstVkgdrIpcPeer *peer = g_ptr_array_remove_index_fast (self->peers, index);
  guint64 sent, lost;

  gst_vkgdr_ipc_peer_get_figures (peer, &sent, &lost);
  self->gone.sent += sent;
  self->gone.lost += lost;
  gst_vkgdr_ipc_peer_free (peer, garbage);
  GST_INFO ("a client of '%s' has gone", self->path);
}

static void
warn_of_shortage (GstVkgdrIpcServer *self)
{
  if (self->has_warned)
    return;
  GST_WARNING ("'%s' cannot send messages at present: the system lacks "
               "memory, or too many file descriptors are on their way",
      self->path);
  self->has_warned = TRUE;
}

/* Must be called with the lock held. Reads the clients' messages, and sends
 * queued ones. */
static void
serve_clients (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  guint i = 0;

  while (i < self->peers->len) {
    GstVkgdrIpcPeer *peer = peer_at (self, i);

    gst_vkgdr_ipc_peer_receive (peer, max_buffers (self), garbage);
    if (gst_vkgdr_ipc_peer_get_retry_time (peer) != 0)
      warn_of_shortage (self);
    if (gst_vkgdr_ipc_peer_is_broken (peer))
      remove_client (self, i, garbage);
    else
      i++;
  }
  g_cond_broadcast (&self->cond);
}

/* Must be called with the lock held. Tells the clients about allocations that
 * were freed. */
static void
forget_exports (GstVkgdrIpcServer *self)
{
  guint i;

  for (i = 0; i < self->peers->len; i++)
    gst_vkgdr_ipc_peer_forget (peer_at (self, i));
}

/* Must be called with the lock held. Returns the events that the io thread
 * polls for a client at the time @now. */
static gshort
get_events (GstVkgdrIpcPeer *peer, gint64 now)
{
  return gst_vkgdr_ipc_peer_is_blocked (peer)
                 && gst_vkgdr_ipc_peer_get_retry_time (peer) <= now
             ? POLLIN | POLLOUT
             : POLLIN;
}

/* Must be called with the lock held. Returns the file descriptors that the io
 * thread polls at the time @now. */
static GArray *
list_polls (GstVkgdrIpcServer *self, gint64 now)
{
  GArray *polls = g_array_new (FALSE, FALSE, sizeof (struct pollfd));
  struct pollfd poll = { .fd = self->wake, .events = POLLIN };
  guint i;

  g_array_append_val (polls, poll);
  /* poll () ignores -1. */
  poll.fd = self->accept_time <= now ? self->listener : -1;
  g_array_append_val (polls, poll);
  for (i = 0; i < self->peers->len; i++) {
    poll.fd = gst_vkgdr_ipc_peer_get_fd (peer_at (self, i));
    poll.events = get_events (peer_at (self, i), now);
    g_array_append_val (polls, poll);
  }
  return polls;
}

/* Must be called with the lock held. Returns @timeout (milliseconds; -1: no
 * limit), or less if list_polls () has left something out for a while. */
static gint
shorten_timeout (GstVkgdrIpcServer *self, gint timeout, gint64 now)
{
  gint64 next = self->accept_time > now ? self->accept_time : G_MAXINT64, time;
  guint i;

  for (i = 0; i < self->peers->len; i++) {
    time = gst_vkgdr_ipc_peer_get_retry_time (peer_at (self, i));
    if (time > now)
      next = MIN (next, time);
  }
  if (next == G_MAXINT64)
    return timeout;
  time = (next - now) / 1000 + 1;
  return timeout < 0 ? time : MIN (timeout, time);
}

/* @timeout: in milliseconds; -1: no limit. */
static void
wait_for_clients (GstVkgdrIpcServer *self, GArray *polls, gint timeout)
{
  const struct pollfd *first = (struct pollfd *) polls->data;
  eventfd_t count;

  poll ((struct pollfd *) polls->data, polls->len, timeout);
  if (first[0].revents)
    eventfd_read (self->wake, &count);
  if (first[1].revents)
    accept_clients (self);
}

/* Must be called with the lock held. Returns how many milliseconds the io
 * thread may wait. -1: no limit; 0: it ends, because everything is sent or the
 * time is over. */
static gint
get_timeout (GstVkgdrIpcServer *self)
{
  gint64 left = self->end - g_get_monotonic_time ();
  guint i;

  if (self->end == 0)
    return -1;
  for (i = 0; i < self->peers->len; i++)
    if (gst_vkgdr_ipc_peer_is_blocked (peer_at (self, i)))
      return MAX (left / 1000, 0);
  return 0;
}

static gpointer
run_io (gpointer data)
{
  GstVkgdrIpcServer *self = data;
  gint timeout;

  g_mutex_lock (&self->lock);
  while ((timeout = get_timeout (self)) != 0) {
    gint64 now = g_get_monotonic_time ();
    GArray *polls = list_polls (self, now);
    GPtrArray *garbage = garbage_new ();

    timeout = shorten_timeout (self, timeout, now);
    g_mutex_unlock (&self->lock);
    wait_for_clients (self, polls, timeout);
    g_array_unref (polls);
    g_mutex_lock (&self->lock);
    serve_clients (self, garbage);
    g_mutex_unlock (&self->lock);
    g_ptr_array_unref (garbage);
    g_mutex_lock (&self->lock);
    forget_exports (self);
  }
  g_mutex_unlock (&self->lock);
  return NULL;
}

/* --- from the element ---------------------------------------------------- */

/* The thread that accepts clients is started last, because it needs the other
 * one. */
static gboolean
start_threads (GstVkgdrIpcServer *self, GError **error)
{
  self->waiter = g_thread_try_new ("vkgdripc-wait", run_waiter, self, error);
  if (self->waiter)
    self->io = g_thread_try_new ("vkgdripc-io", run_io, self, error);
  if (self->io)
    return TRUE;
  g_prefix_error (error, "A thread that serves clients cannot be started: ");
  return FALSE;
}

GstVkgdrIpcServer *
gst_vkgdr_ipc_server_new (const GstVkgdrIpcServerParams *params, GError **error)
{
  GstVkgdrIpcServer *self;
  gint listener, wake_fd;

  init_debug ();
  listener = gst_vkgdr_ipc_listen (params->path, params->peers, error);
  if (listener < 0)
    return NULL;
  wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES,
        "the process has as many files open as it may (ulimit -n)");
    unlink (params->path);
    close (listener);
    return NULL;
  }
  self = g_new0 (GstVkgdrIpcServer, 1);
  self->params = *params;
  self->path = g_strdup (params->path);
  lstat (self->path, &self->file);
  self->listener = listener;
  self->wake = wake_fd;
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->peers = g_ptr_array_new ();
  g_queue_init (&self->queue);
  self->state = gst_vkgdr_ipc_state_new ();
  if (start_threads (self, error))
    return self;
  gst_vkgdr_ipc_server_free (self, NULL);
  return NULL;
}

/* Another server may have replaced the socket in the meantime. */
static void
remove_socket (GstVkgdrIpcServer *self)
{
  struct stat file;

  if (lstat (self->path, &file) == 0 && file.st_ino == self->file.st_ino
      && file.st_dev == self->file.st_dev)
    unlink (self->path);
}

static void
say_bye (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  GBytes *bye = gst_vkgdr_ipc_write_bye ("");

  while (self->peers->len > 0) {
    gst_vkgdr_ipc_peer_send_now (peer_at (self, 0), bye);
    remove_client (self, 0, garbage);
  }
  g_bytes_unref (bye);
}

/* Ends the threads. Sends all accepted frames before that, unless a client does
 * not read. */
static void
end_threads (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  g_mutex_lock (&self->lock);
  self->is_closing = TRUE;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&self->waiter, g_thread_join);
  g_mutex_lock (&self->lock);
  self->end = g_get_monotonic_time () + MAX_END * 1000;
  serve_clients (self, garbage);
  g_mutex_unlock (&self->lock);
  wake (self);
  g_clear_pointer (&self->io, g_thread_join);
}

void
gst_vkgdr_ipc_server_free (
    GstVkgdrIpcServer *self, GstVkgdrIpcServerFigures *figures)
{
  GPtrArray *garbage = garbage_new ();

  end_threads (self, garbage);
  remove_socket (self);
  close (self->listener);
  close (self->wake);
  say_bye (self, garbage);
  if (figures)
    *figures = self->gone;
  g_ptr_array_unref (garbage);
  g_ptr_array_unref (self->peers);
  gst_vkgdr_ipc_state_unref (self->state);
  g_cond_clear (&self->cond);
  g_mutex_clear (&self->lock);
  g_free (self->path);
  g_free (self);
}

void
gst_vkgdr_ipc_server_set (
    GstVkgdrIpcServer *self, GstVkgdrIpcType type, GBytes *message)
{
  g_mutex_lock (&self->lock);
  self->state = gst_vkgdr_ipc_state_change (self->state, type, message);
  g_mutex_unlock (&self->lock);
}

/* Must be called with the lock held. Returns whether the source has to wait. */
static gboolean
must_wait (GstVkgdrIpcServer *self)
{
  guint queued = self->queue.length + (self->is_waiting ? 1 : 0);
  gboolean is_full = queued >= MAX_UNWRITTEN, has_client = FALSE;
  guint i;

  for (i = 0; i < self->peers->len; i++) {
    GstVkgdrIpcPeer *peer = peer_at (self, i);

    if (!gst_vkgdr_ipc_peer_is_active (peer))
      continue;
    has_client = TRUE;
    if (gst_vkgdr_ipc_peer_count (peer) + queued >= self->params.max_buffers)
      is_full = TRUE;
  }
  return (self->params.waits_for_client && !has_client)
         || (self->params.leaky == GST_VKGDR_IPC_LEAKY_NO && is_full);
}

gboolean
gst_vkgdr_ipc_server_send (GstVkgdrIpcServer *self, GstVkgdrIpcOutput **frame)
{
  gboolean is_written = gst_vkgdr_ipc_output_is_written (*frame), can_send;
  GPtrArray *garbage = garbage_new ();

  g_mutex_lock (&self->lock);
  while (!self->is_unlocked && must_wait (self))
    g_cond_wait (&self->cond, &self->lock);
  can_send = !self->is_unlocked || !must_wait (self);
  if (can_send)
    submit (self,
        entry_new (self, g_steal_pointer (frame), GST_VKGDR_IPC_FRAME, NULL),
        is_written, garbage);
  g_mutex_unlock (&self->lock);
  g_ptr_array_unref (garbage);
  return can_send;
}

void
gst_vkgdr_ipc_server_mark (
    GstVkgdrIpcServer *self, GstVkgdrIpcType type, GBytes *message)
{
  GPtrArray *garbage = garbage_new ();

  g_mutex_lock (&self->lock);
  submit (self, entry_new (self, NULL, type, message), TRUE, garbage);
  g_mutex_unlock (&self->lock);
  g_ptr_array_unref (garbage);
}

/* Must be called with the lock held. Sends the FLUSH_STOP that is in the queue.
 * The clients have got its FLUSH_START, and must get both. */
static void
end_last_flush (GstVkgdrIpcServer *self, GPtrArray *garbage)
{
  GList *link;

  for (link = self->queue.head; link; link = link->next) {
    const Entry *entry = link->data;

    if (entry->type == GST_VKGDR_IPC_FLUSH_STOP)
      distribute (self, entry, garbage);
  }
}

void
gst_vkgdr_ipc_server_flush_start (GstVkgdrIpcServer *self)
{
  GPtrArray *garbage = garbage_new ();
  guint i;

  g_mutex_lock (&self->lock);
  self->epoch++;
  end_last_flush (self, garbage);
  clear_queue (self, garbage);
  for (i = 0; i < self->peers->len; i++)
    gst_vkgdr_ipc_peer_flush_start (
        peer_at (self, i), self->params.max_buffers, garbage);
  wake_if_needed (self);
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  g_ptr_array_unref (garbage);
}

void
gst_vkgdr_ipc_server_set_unlocked (
    GstVkgdrIpcServer *self, gboolean is_unlocked)
{
  g_mutex_lock (&self->lock);
  self->is_unlocked = is_unlocked;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_ipc_server_get_figures (
    GstVkgdrIpcServer *self, GstVkgdrIpcServerFigures *figures)
{
  guint64 sent, lost;
  guint i;

  g_mutex_lock (&self->lock);
  *figures = self->gone;
  figures->clients = self->peers->len;
  for (i = 0; i < self->peers->len; i++) {
    gst_vkgdr_ipc_peer_get_figures (peer_at (self, i), &sent, &lost);
    figures->sent += sent;
    figures->lost += lost;
  }
  g_mutex_unlock (&self->lock);
}
