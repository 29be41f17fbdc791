/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-server.c: see frame-server.h
 */

#include "frame-server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "frame-peer.h"
#include "thread.h"

/* The maximum number of clients. */
#define MAX_CLIENTS 256

/* The maximum number of clients that are accepted before the server reads
 * messages again. */
#define MAX_ACCEPTS 16

/* The maximum number of frames that wait until they are written. It is only
 * reached if the source is faster than the device. Then the oldest frame is
 * dropped, or the source waits. */
#define MAX_UNWRITTEN 16

/* Milliseconds until the next attempt if a client's socket is full, or if the
 * system lacks resources. Both may last long, and trying all the time would use
 * a whole processor. When a client reads again, it sends RELEASE, which wakes
 * the thread at once. */
#define RETRY_INTERVAL 50

struct vkgdr_server {
  vkgdr_server_params params;
  char *path;
  struct stat file; /* identifies the socket at @path */
  int listener;
  vkgdr_export_watcher watcher; /* its eventfd ends the wait of the io thread */
  pthread_t io, waiter; /* serves the socket; waits for unwritten frames */

  pthread_mutex_t lock; /* for the fields below */
  pthread_cond_t cond;  /* a client, the queue or a frame has changed */
  unsigned refs;
  vkgdr_peer *clients[MAX_CLIENTS]; /* changed by the io thread alone */
  uint32_t n_clients;
  vkgdr_output *first, *last; /* frames that are not written yet, and EOS */
  uint32_t n_unwritten;       /* frames among them */
  vkgdr_output *current; /* the waiter waits for it; NULL also after a flush */
  vkgdr_packet *states[VKGDR_FRAMES_N_STATES];
  uint64_t last_number;
  vkgdr_server_figures gone; /* figures without the present clients' */
  bool has_ended;            /* EOS is the last thing that was sent */
  bool is_flushed;           /* the next frame has DISCONT */
  bool is_unlocked, is_closing;
  int64_t end; /* when the io thread has to end; 0: not closing */
};

/* --- sending to the clients ---------------------------------------------- */

static void
wake_io (vkgdr_server *self)
{
  eventfd_write (self->watcher.wake, 1);
}

static void
distribute_locked (
    vkgdr_server *self, vkgdr_output *output, vkgdr_output **garbage)
{
  uint32_t i;

  self->has_ended = output->size == 0;
  for (i = 0; i < self->n_clients; i++) {
    vkgdr_peer *peer = self->clients[i];
    bool was_watched =
        peer->is_blocked || peer->is_broken || peer->deadline != 0;

    vkgdr_peer_offer (peer, output, self->params.is_leaky, garbage);
    if (!was_watched
        && (peer->is_blocked || peer->is_broken || peer->deadline != 0))
      wake_io (self);
  }
}

/* --- frames that are not written yet ------------------------------------- */

static vkgdr_output *
take_first_locked (vkgdr_server *self)
{
  vkgdr_output *output = self->first;

  self->first = output->next;
  if (!self->first)
    self->last = NULL;
  self->n_unwritten -= output->size > 0;
  return output;
}

static void
append_locked (vkgdr_server *self, vkgdr_output *output)
{
  output->next = NULL;
  *(self->last ? &self->last->next : &self->first) = output;
  self->last = output;
  self->n_unwritten += output->size > 0;
}

/* Drops the oldest frame if there are too many. Unless the server is leaky, the
 * source has waited instead. */
static void
limit_queue_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  vkgdr_output *output = self->first, *next;
  bool has_dropped = false;

  if (self->n_unwritten < MAX_UNWRITTEN || !self->params.is_leaky)
    return;
  self->first = self->last = NULL;
  self->n_unwritten = 0;
  for (; output; output = next) {
    next = output->next;
    if (!has_dropped && output->size > 0) {
      has_dropped = true;
      vkgdr_output_unref (output, garbage);
    } else {
      append_locked (self, output);
    }
  }
}

/* Takes over the reference to @output. Sends it now, or queues it. */
static void
submit_locked (vkgdr_server *self, vkgdr_output *output, bool is_written,
    vkgdr_output **garbage)
{
  if (is_written && !self->current && !self->first) {
    distribute_locked (self, output, garbage);
    vkgdr_output_unref (output, garbage);
    return;
  }
  if (output->size > 0)
    limit_queue_locked (self, garbage);
  append_locked (self, output);
  pthread_cond_broadcast (&self->cond);
}

static void
clear_queue_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  while (self->first)
    vkgdr_output_unref (take_first_locked (self), garbage);
}

/* Sends the frame when it is written, unless there is a flush before that.
 * Releases the lock while it waits. */
static void
handle_first_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  vkgdr_output *output = take_first_locked (self);
  bool is_written = true;

  self->current = output;
  if (output->size > 0) {
    pthread_mutex_unlock (&self->lock);
    is_written = output->check_written (output->user_data, true) > 0;
    pthread_mutex_lock (&self->lock);
  }
  if (is_written && self->current)
    distribute_locked (self, output, garbage);
  self->current = NULL;
  /* When the server is closed, the other frames are dropped, too, because the
   * device may not finish with them, either. */
  if (!is_written && self->is_closing)
    clear_queue_locked (self, garbage);
  vkgdr_output_unref (output, garbage);
  pthread_cond_broadcast (&self->cond);
}

static void *
run_waiter (void *data)
{
  vkgdr_server *self = data;
  vkgdr_output *garbage;

  pthread_mutex_lock (&self->lock);
  for (;;) {
    while (!self->is_closing && !self->first)
      pthread_cond_wait (&self->cond, &self->lock);
    if (!self->first)
      break;
    garbage = NULL;
    handle_first_locked (self, &garbage);
    pthread_mutex_unlock (&self->lock);
    vkgdr_output_free_all (garbage);
    pthread_mutex_lock (&self->lock);
  }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* --- clients ------------------------------------------------------------- */

/* Sends a client the reason why it is refused, and closes the connection. */
static void
refuse (int fd, const char *reason)
{
  vkgdr_peer_say_bye (fd, reason);
  close (fd);
}

static void
add_client (vkgdr_server *self, int fd)
{
  vkgdr_peer *peer;

  if (!vkgdr_socket_check_peer (fd, self->params.peers)) {
    refuse (fd, vkgdr_error_peek ());
  } else if (self->n_clients >= MAX_CLIENTS) {
    refuse (fd, "the server already has as many clients as it can serve");
  } else if (!(peer = vkgdr_peer_new (fd, self->params.max_buffers))) {
    refuse (fd, "the server has no memory left");
  } else {
    pthread_mutex_lock (&self->lock);
    self->clients[self->n_clients++] = peer;
    pthread_mutex_unlock (&self->lock);
  }
}

/* Whether the server has all clients that it can have, and will soon have room
 * because some have not said HELLO. A client that connects now waits for that,
 * and is not refused. */
static bool
has_room_soon (vkgdr_server *self)
{
  uint32_t i;

  for (i = 0; self->n_clients >= MAX_CLIENTS && i < self->n_clients; i++)
    if (!self->clients[i]->is_known)
      return true;
  return false;
}

/* Returns false if the system lacks resources, for example file descriptors. */
static bool
accept_clients (vkgdr_server *self)
{
  int i;

  for (i = 0; i < MAX_ACCEPTS && !has_room_soon (self); i++) {
    int fd = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
      return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    add_client (self, fd);
  }
  return true;
}

static void
remove_client_locked (vkgdr_server *self, uint32_t i, vkgdr_output **garbage)
{
  vkgdr_peer *peer = self->clients[i];

  self->clients[i] = self->clients[--self->n_clients];
  self->gone.sent += peer->sent;
  self->gone.lost += peer->lost;
  vkgdr_peer_free (peer, garbage);
}

/* Sends EOS to a client that came after it. */
static void
tell_end_locked (vkgdr_server *self, vkgdr_peer *peer, vkgdr_output **garbage)
{
  vkgdr_output *output = vkgdr_output_new (self->states, 0);

  if (!output)
    return;
  vkgdr_peer_offer (peer, output, self->params.is_leaky, garbage);
  vkgdr_output_unref (output, garbage);
}

/* @is_readable: whether the client has sent something. */
static void
serve_client_locked (vkgdr_server *self, vkgdr_peer *peer, bool is_readable,
    vkgdr_output **garbage)
{
  if (is_readable && vkgdr_peer_receive (peer, garbage) && self->has_ended)
    tell_end_locked (self, peer, garbage);
  vkgdr_peer_check_deadline (peer, garbage);
  vkgdr_peer_send (peer, garbage);
  if (!peer->is_blocked && !peer->is_broken)
    vkgdr_peer_forget (peer);
}

/* --- the io thread ------------------------------------------------------- */

/* What the io thread polls: its eventfd, the listener, and the clients. */
typedef struct {
  struct pollfd fds[2 + MAX_CLIENTS];
  bool can_accept;
  int64_t retry; /* when clients have to be served again; INT64_MAX: never */
} watch;

/* Milliseconds until @time, rounded up, or -1. */
static int
get_wait (int64_t time)
{
  int64_t left = time - vkgdr_socket_now ();

  if (time == INT64_MAX)
    return -1;
  return left > 0 ? (int) ((left + 999999) / 1000000) : 0;
}

static void
wait_for_events (vkgdr_server *self, watch *now)
{
  eventfd_t value;
  uint32_t i, n = self->n_clients;

  now->fds[0] = (struct pollfd){ self->watcher.wake, POLLIN, 0 };
  now->fds[1] = (struct pollfd){
    now->can_accept && !has_room_soon (self) ? self->listener : -1, POLLIN, 0
  };
  for (i = 0; i < n; i++)
    now->fds[2 + i] = (struct pollfd){ self->clients[i]->fd, POLLIN, 0 };
  if (poll (now->fds, 2 + n,
          now->can_accept ? get_wait (now->retry) : RETRY_INTERVAL)
      <= 0)
    for (i = 0; i < 2 + n; i++)
      now->fds[i].revents = 0;
  if (now->fds[0].revents)
    eventfd_read (self->watcher.wake, &value);
}

/* When the client has to be served again even if it sends nothing. */
static int64_t
get_retry (const vkgdr_peer *peer)
{
  int64_t retry = peer->deadline ? peer->deadline : INT64_MAX, soon;

  if (!peer->is_blocked)
    return retry;
  soon = vkgdr_socket_now () + RETRY_INTERVAL * INT64_C (1000000);
  return soon < retry ? soon : retry;
}

/* Returns whether the thread continues. When the server is closed, it continues
 * until all frames are sent or the time limit is reached. */
static bool
serve_clients (vkgdr_server *self, watch *now)
{
  vkgdr_output *garbage = NULL;
  uint32_t i = self->n_clients;
  bool is_waiting = false, goes_on;

  now->retry = INT64_MAX;
  pthread_mutex_lock (&self->lock);
  while (i-- > 0) {
    vkgdr_peer *peer = self->clients[i];

    serve_client_locked (self, peer, now->fds[2 + i].revents != 0, &garbage);
    is_waiting |= peer->n > peer->n_sent && !peer->is_broken;
    if (get_retry (peer) < now->retry)
      now->retry = get_retry (peer);
    if (peer->is_broken)
      remove_client_locked (self, i, &garbage);
  }
  if (self->end != 0 && self->end < now->retry)
    now->retry = self->end;
  goes_on = self->end == 0 || (is_waiting && vkgdr_socket_now () < self->end);
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
  return goes_on;
}

static void *
run_io (void *data)
{
  vkgdr_server *self = data;
  watch now = { .can_accept = true, .retry = INT64_MAX };

  do {
    wait_for_events (self, &now);
    now.can_accept = true;
    if (!serve_clients (self, &now))
      return NULL;
    if (now.fds[1].revents) {
      now.can_accept = accept_clients (self);
      now.retry = 0; /* they have deadlines */
    }
  } while (true);
}

/* --- start and end ------------------------------------------------------- */

static void
end_waiter (vkgdr_server *self)
{
  pthread_mutex_lock (&self->lock);
  self->is_closing = true;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  pthread_join (self->waiter, NULL);
}

/* The thread that accepts clients is started last, because it needs the other
 * one. */
static bool
start_threads (vkgdr_server *self)
{
  int result =
      vkgdr_thread_start (&self->waiter, "vkgdr-wait", run_waiter, self);

  if (result == 0) {
    result = vkgdr_thread_start (&self->io, "vkgdr-io", run_io, self);
    if (result == 0)
      return true;
    end_waiter (self);
  }
  vkgdr_error_set ("a thread that serves clients cannot be started (%s): see "
                   "whether the limit of threads is reached (ulimit -u)",
      strerror (result));
  return false;
}

/* Another server may have replaced the socket in the meantime. */
static void
close_descriptors (vkgdr_server *self)
{
  struct stat file;

  if (lstat (self->path, &file) == 0 && file.st_ino == self->file.st_ino
      && file.st_dev == self->file.st_dev)
    unlink (self->path);
  close (self->listener);
  if (self->watcher.wake < 0)
    return;
  vkgdr_export_unwatch (&self->watcher);
  close (self->watcher.wake);
}

static void
free_server (vkgdr_server *self)
{
  int i;

  for (i = 0; i < VKGDR_FRAMES_N_STATES; i++)
    vkgdr_packet_unref (self->states[i]);
  pthread_cond_destroy (&self->cond);
  pthread_mutex_destroy (&self->lock);
  free (self->path);
  free (self);
}

static bool
start (vkgdr_server *self)
{
  self->watcher.wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->watcher.wake >= 0) {
    vkgdr_export_watch (&self->watcher);
    return start_threads (self);
  }
  vkgdr_error_set ("'%s' cannot be served (%s): see whether the process has "
                   "reached its limit of open files (ulimit -n)",
      self->path, strerror (errno));
  return false;
}

vkgdr_server *
vkgdr_server_new (const vkgdr_server_params *params)
{
  int listener = vkgdr_socket_listen (params->path, params->peers);
  vkgdr_server *self;

  if (listener < 0)
    return NULL;
  self = calloc (1, sizeof (*self));
  if (self)
    self->path = strdup (params->path);
  if (!self || !self->path) {
    vkgdr_error_set ("no memory is left: end other programs");
    free (self);
    unlink (params->path);
    close (listener);
    return NULL;
  }
  self->params = *params;
  self->refs = 1;
  self->listener = listener;
  lstat (self->path, &self->file);
  pthread_mutex_init (&self->lock, NULL);
  pthread_cond_init (&self->cond, NULL);
  if (start (self))
    return self;
  close_descriptors (self);
  free_server (self);
  return NULL;
}

/* The io thread sends all accepted frames before it ends, unless a client does
 * not read, or keeps its frames. */
static void
end_io (vkgdr_server *self)
{
  pthread_mutex_lock (&self->lock);
  self->end = vkgdr_socket_now () + VKGDR_WIRE_PATIENCE;
  pthread_mutex_unlock (&self->lock);
  wake_io (self);
  pthread_join (self->io, NULL);
}

void
vkgdr_server_close (vkgdr_server *self)
{
  vkgdr_output *garbage = NULL;

  end_waiter (self);
  end_io (self);
  close_descriptors (self);
  pthread_mutex_lock (&self->lock);
  while (self->n_clients > 0) {
    vkgdr_peer_say_bye (self->clients[0]->fd, "");
    remove_client_locked (self, 0, &garbage);
  }
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
}

vkgdr_server *
vkgdr_server_ref (vkgdr_server *self)
{
  pthread_mutex_lock (&self->lock);
  self->refs++;
  pthread_mutex_unlock (&self->lock);
  return self;
}

void
vkgdr_server_unref (vkgdr_server *self)
{
  unsigned refs;

  pthread_mutex_lock (&self->lock);
  refs = --self->refs;
  pthread_mutex_unlock (&self->lock);
  if (refs == 0)
    free_server (self);
}

/* --- the states of the stream -------------------------------------------- */

static uint8_t *
append (uint8_t *to, const void *data, size_t size)
{
  if (size > 0)
    memcpy (to, data, size);
  return to + size;
}

bool
vkgdr_server_set_state (
    vkgdr_server *self, vkgdr_frames_state state, const void *data, size_t size)
{
  const vkgdr_wire_state head = {
    { VKGDR_WIRE_STATE, (uint32_t) (sizeof (head) + size) }, state, 0
  };
  vkgdr_packet *packet = NULL;

  if (size <= VKGDR_WIRE_MAX_CONTENT)
    packet = vkgdr_packet_new (sizeof (head) + size);
  if (!packet)
    return false;
  append (append (packet->data, &head, sizeof (head)), data, size);
  pthread_mutex_lock (&self->lock);
  vkgdr_packet_unref (self->states[state]);
  self->states[state] = packet;
  pthread_mutex_unlock (&self->lock);
  return true;
}

/* --- frames -------------------------------------------------------------- */

static void
write_frame (const vkgdr_server_frame *frame, vkgdr_output *output, bool is_new)
{
  const vkgdr_wire_frame head = {
    .header = { VKGDR_WIRE_FRAME, (uint32_t) output->size },
    .number = output->number,
    .time = frame->time,
    .pts = frame->pts,
    .dts = frame->dts,
    .duration = frame->duration,
    .flags = frame->flags | (is_new ? VKGDR_FRAME_DISCONT : 0),
    .n_ranges = (uint16_t) frame->n_ranges,
    .n_planes = (uint16_t) frame->n_planes,
    .metas_size = (uint32_t) frame->metas_size,
  };
  uint8_t *to = append (output->data, &head, sizeof (head));
  uint32_t i;

  for (i = 0; i < frame->n_ranges; i++) {
    const vkgdr_wire_range range = { frame->ranges[i].memory->id,
      frame->ranges[i].offset, frame->ranges[i].size };

    to = append (to, &range, sizeof (range));
  }
  for (i = 0; i < frame->n_planes; i++) {
    const vkgdr_wire_plane plane = { frame->planes[i].offset,
      frame->planes[i].stride, frame->planes[i].range };

    to = append (to, &plane, sizeof (plane));
  }
  append (to, frame->metas, frame->metas_size);
}

static vkgdr_output *
new_frame_locked (vkgdr_server *self, const vkgdr_server_frame *frame)
{
  vkgdr_output *output = vkgdr_output_new (self->states,
      sizeof (vkgdr_wire_frame) + frame->n_ranges * sizeof (vkgdr_wire_range)
          + frame->n_planes * sizeof (vkgdr_wire_plane) + frame->metas_size);
  uint32_t i;

  if (!output)
    return NULL;
  output->number = ++self->last_number;
  write_frame (frame, output, self->is_flushed);
  self->is_flushed = false;
  for (i = 0; i < frame->n_ranges; i++)
    output->exports[i] = vkgdr_export_ref (frame->ranges[i].memory);
  output->n_exports = frame->n_ranges;
  output->check_written = frame->check_written;
  output->release = frame->release;
  output->user_data = frame->user_data;
  return output;
}

/* Returns whether the source has to wait. */
static bool
must_wait_locked (vkgdr_server *self)
{
  uint32_t queued = self->n_unwritten + (self->current != NULL);
  bool is_full = queued >= MAX_UNWRITTEN, has_client = false;
  uint32_t i;

  for (i = 0; i < self->n_clients; i++) {
    const vkgdr_peer *peer = self->clients[i];

    if (!vkgdr_peer_is_active (peer))
      continue;
    has_client = true;
    is_full |= peer->n + queued >= self->params.max_buffers;
  }
  return (self->params.waits_for_client && !has_client)
         || (!self->params.is_leaky && is_full);
}

vkgdr_server_result
vkgdr_server_send (vkgdr_server *self, const vkgdr_server_frame *frame)
{
  bool is_written = frame->check_written (frame->user_data, false) > 0;
  vkgdr_server_result result = VKGDR_SERVER_UNLOCKED;
  vkgdr_output *garbage = NULL, *output = NULL;

  pthread_mutex_lock (&self->lock);
  while (!self->is_unlocked && !self->is_closing && must_wait_locked (self))
    pthread_cond_wait (&self->cond, &self->lock);
  if (!self->is_closing && !must_wait_locked (self)) {
    output = new_frame_locked (self, frame);
    result = output ? VKGDR_SERVER_SENT : VKGDR_SERVER_FAILED;
  }
  if (output)
    submit_locked (self, output, is_written, &garbage);
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
  return result;
}

void
vkgdr_server_end (vkgdr_server *self)
{
  vkgdr_output *output, *garbage = NULL;

  pthread_mutex_lock (&self->lock);
  output = self->is_closing ? NULL : vkgdr_output_new (self->states, 0);
  if (output)
    submit_locked (self, output, true, &garbage);
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
}

void
vkgdr_server_flush (vkgdr_server *self)
{
  vkgdr_output *garbage = NULL;
  uint32_t i;

  pthread_mutex_lock (&self->lock);
  clear_queue_locked (self, &garbage);
  self->current = NULL;
  self->is_flushed = true;
  self->has_ended = false;
  for (i = 0; i < self->n_clients; i++)
    vkgdr_peer_flush (self->clients[i], &garbage);
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
}

void
vkgdr_server_set_unlocked (vkgdr_server *self, bool is_unlocked)
{
  pthread_mutex_lock (&self->lock);
  self->is_unlocked = is_unlocked;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
}

void
vkgdr_server_get_figures (vkgdr_server *self, vkgdr_server_figures *figures)
{
  uint32_t i;

  pthread_mutex_lock (&self->lock);
  *figures = self->gone;
  for (i = 0; i < self->n_clients; i++) {
    figures->sent += self->clients[i]->sent;
    figures->lost += self->clients[i]->lost;
    figures->clients += self->clients[i]->is_known;
  }
  pthread_mutex_unlock (&self->lock);
}
