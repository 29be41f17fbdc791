/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-server.c: see frame-server.h
 */

#include "frame-server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "frame-peer.h"

/* The maximum number of clients. */
#define MAX_CLIENTS 256

/* The maximum number of clients that are accepted before the server reads
 * messages again. */
#define MAX_ACCEPTS 16

/* The maximum number of frames that wait until they are written. It is only
 * reached if the source is faster than the device. Then the oldest frame is
 * dropped, or the source waits. */
#define MAX_UNWRITTEN 16

/* How many nanoseconds the server waits at its end until clients have read the
 * queued frames. A client that reads at all needs much less. */
#define MAX_END 2000000000

typedef struct {
  vkgdr_peer *peer;
  uint32_t events; /* that epoll waits for; 0: the connection was shut down */
} client;

struct vkgdr_server {
  vkgdr_server_params params;
  char *path;
  struct stat file; /* identifies the socket at @path */
  int listener;
  int epoll;
  pthread_t io, waiter;
  int64_t accept_time; /* of the io thread: no client is accepted before it */

  pthread_mutex_t lock; /* for the fields below */
  pthread_cond_t cond;  /* a client, the queue or a frame has changed */
  unsigned refs;
  client **clients;
  uint32_t n_clients;
  vkgdr_output *first, *last; /* frames that are not written yet, and EOS */
  uint32_t n_unwritten;       /* frames among them */
  vkgdr_output *current;      /* the waiter waits for it */
  bool is_current_dropped;
  vkgdr_peer_state state;
  uint64_t last_number;
  vkgdr_server_figures gone; /* figures of clients that have disconnected */
  bool has_ended;            /* EOS is the last thing that was sent */
  bool is_flushed;           /* the next frame has DISCONT */
  bool is_unlocked, is_closing;
  int64_t end; /* time limit of the io thread's end; 0: not ending */
};

size_t
vkgdr_server_max_metas (void)
{
  return VKGDR_WIRE_MAX_METAS;
}

/* Returns the maximum number of frames of one client. There is no limit when
 * the server ends, because the frames are not recycled any more. */
static uint32_t
max_buffers_locked (const vkgdr_server *self)
{
  return self->end != 0 ? UINT32_MAX : self->params.max_buffers;
}

/* --- to the clients ------------------------------------------------------ */

/* Makes the io thread look at the client when it has to. */
static void
watch_locked (vkgdr_server *self, client *one)
{
  bool is_blocked = vkgdr_peer_is_blocked (one->peer)
                    && vkgdr_peer_get_retry_time (one->peer) == 0;
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = one };
  int fd = vkgdr_peer_get_fd (one->peer);

  if (vkgdr_peer_is_broken (one->peer)) {
    if (one->events != 0)
      shutdown (fd, SHUT_RDWR);
    one->events = 0;
    return;
  }
  if (is_blocked)
    event.events |= EPOLLOUT;
  if (event.events == one->events)
    return;
  one->events = event.events;
  epoll_ctl (self->epoll, EPOLL_CTL_MOD, fd, &event);
}

static void
distribute_locked (
    vkgdr_server *self, vkgdr_output *output, vkgdr_output **garbage)
{
  uint32_t i;

  self->has_ended = output->packet == NULL;
  for (i = 0; i < self->n_clients; i++) {
    vkgdr_peer_offer (self->clients[i]->peer, output, self->params.max_buffers,
        self->params.leaky, garbage);
    watch_locked (self, self->clients[i]);
  }
}

/* --- frames that are not written yet ------------------------------------- */

static void
append_locked (vkgdr_server *self, vkgdr_output *output)
{
  output->next = NULL;
  *(self->last ? &self->last->next : &self->first) = output;
  self->last = output;
  self->n_unwritten += output->packet != NULL;
  pthread_cond_broadcast (&self->cond);
}

static vkgdr_output *
take_first_locked (vkgdr_server *self)
{
  vkgdr_output *output = self->first;

  self->first = output->next;
  if (!self->first)
    self->last = NULL;
  self->n_unwritten -= output->packet != NULL;
  return output;
}

static void
clear_queue_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  while (self->first)
    vkgdr_output_unref (take_first_locked (self), garbage);
}

/* Drops the oldest frame if there are too many. With `leaky=no`, the source has
 * waited instead. */
static void
limit_queue_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  vkgdr_output **link = &self->first, *before = NULL, *found;

  if (self->n_unwritten < MAX_UNWRITTEN
      || self->params.leaky == VKGDR_SERVER_LEAKY_NO)
    return;
  while (!(*link)->packet) {
    before = *link;
    link = &before->next;
  }
  found = *link;
  *link = found->next;
  if (self->last == found)
    self->last = before;
  self->n_unwritten--;
  self->gone.dropped++;
  vkgdr_output_unref (found, garbage);
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
  if (output->packet)
    limit_queue_locked (self, garbage);
  append_locked (self, output);
}

/* Releases the lock meanwhile. Sends the frame when it is written, unless there
 * is a flush before that. */
static void
handle_first_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  vkgdr_output *output = take_first_locked (self);
  bool is_written = true;

  self->current = output;
  self->is_current_dropped = false;
  if (output->packet) {
    pthread_mutex_unlock (&self->lock);
    is_written = output->is_written (output->user_data, true) > 0;
    pthread_mutex_lock (&self->lock);
  }
  self->current = NULL;
  if (is_written && !self->is_current_dropped)
    distribute_locked (self, output, garbage);
  /* At the end, the others are dropped, too: the device may not finish with
   * them either. */
  if (!is_written && self->is_closing)
    clear_queue_locked (self, garbage);
  vkgdr_output_unref (output, garbage);
  pthread_cond_broadcast (&self->cond);
}

static void *
run_waiter (void *data)
{
  vkgdr_server *self = data;

  pthread_mutex_lock (&self->lock);
  for (;;) {
    vkgdr_output *garbage = NULL;

    while (!self->is_closing && !self->first)
      pthread_cond_wait (&self->cond, &self->lock);
    if (!self->first)
      break;
    handle_first_locked (self, &garbage);
    pthread_mutex_unlock (&self->lock);
    vkgdr_output_free_all (garbage);
    pthread_mutex_lock (&self->lock);
  }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* --- clients ------------------------------------------------------------- */

/* Tells a client why it may not connect, and closes the connection. */
static void
refuse (vkgdr_server *self, int fd, const char *reason)
{
  /* Counted first, so that the figures include the client when it gets the
   * message. */
  pthread_mutex_lock (&self->lock);
  self->gone.refused++;
  pthread_mutex_unlock (&self->lock);
  vkgdr_peer_say_bye (fd, reason);
  close (fd);
}

static bool
add_client (vkgdr_server *self, int fd)
{
  client *one = calloc (1, sizeof (*one)), **clients;
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = one };

  if (!one)
    return false;
  one->events = EPOLLIN;
  one->peer = vkgdr_peer_new (fd);
  if (!one->peer) {
    free (one);
    return false;
  }
  pthread_mutex_lock (&self->lock);
  clients =
      realloc (self->clients, (self->n_clients + 1) * sizeof (*self->clients));
  if (clients) {
    self->clients = clients;
    clients[self->n_clients++] = one;
    epoll_ctl (self->epoll, EPOLL_CTL_ADD, fd, &event);
  }
  pthread_mutex_unlock (&self->lock);
  return clients != NULL;
}

/* Connections wait to be accepted, so that epoll_wait() would return at once.
 * So the listener is not polled for a while. */
static void
handle_accept_error (vkgdr_server *self, int number)
{
  if (number == EAGAIN || number == EINTR || number == ECONNABORTED
      || self->accept_time != 0)
    return;
  epoll_ctl (self->epoll, EPOLL_CTL_DEL, self->listener, NULL);
  self->accept_time = vkgdr_socket_now () + VKGDR_PEER_RETRY_INTERVAL;
}

static void
accept_clients (vkgdr_server *self)
{
  char *reason;
  int i;

  for (i = 0; i < MAX_ACCEPTS; i++) {
    int fd = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
      handle_accept_error (self, errno);
      return;
    }
    if (!vkgdr_socket_check_peer (fd, self->params.peers)) {
      reason = vkgdr_last_error ();
      refuse (self, fd, reason ? reason : "it may not connect");
      free (reason);
    } else if (self->n_clients >= MAX_CLIENTS) {
      refuse (self, fd, "the server has as many clients as it can serve");
    } else if (!add_client (self, fd)) {
      refuse (self, fd, "the server has no memory left");
    }
  }
}

static void
remove_client_locked (vkgdr_server *self, client *one, vkgdr_output **garbage)
{
  uint64_t sent, lost;
  uint32_t i;

  for (i = 0; self->clients[i] != one; i++)
    ;
  self->clients[i] = self->clients[--self->n_clients];
  vkgdr_peer_get_figures (one->peer, &sent, &lost);
  self->gone.sent += sent;
  self->gone.lost += lost;
  vkgdr_peer_free (one->peer, garbage);
  free (one);
}

/* Sends EOS to a client that came after it. */
static void
tell_end_locked (vkgdr_server *self, client *one, vkgdr_output **garbage)
{
  vkgdr_output *output = calloc (1, sizeof (*output));

  if (!output)
    return;
  output->refs = 1;
  vkgdr_peer_state_copy (&output->state, &self->state);
  vkgdr_peer_offer (
      one->peer, output, self->params.max_buffers, self->params.leaky, garbage);
  vkgdr_output_unref (output, garbage);
}

static void
serve_client_locked (vkgdr_server *self, client *one, vkgdr_output **garbage)
{
  if (vkgdr_peer_receive (one->peer, max_buffers_locked (self), garbage)
      && self->has_ended)
    tell_end_locked (self, one, garbage);
  if (vkgdr_peer_is_broken (one->peer))
    remove_client_locked (self, one, garbage);
  else
    watch_locked (self, one);
}

/* --- the io thread ------------------------------------------------------- */

/* Serves the clients that have waited long enough for resources, and tells all
 * clients about memory that was freed. */
static void
serve_all_locked (vkgdr_server *self, vkgdr_output **garbage)
{
  int64_t now = vkgdr_socket_now (), time;
  uint32_t i = self->n_clients;

  while (i-- > 0) {
    client *one = self->clients[i];

    vkgdr_peer_forget (one->peer);
    time = vkgdr_peer_get_retry_time (one->peer);
    if (vkgdr_peer_is_broken (one->peer) || (time != 0 && time <= now))
      serve_client_locked (self, one, garbage);
    else
      watch_locked (self, one);
  }
}

/* Returns how many nanoseconds the io thread may wait. -1: no limit; 0: it
 * ends, because everything is sent or the time is over. */
static int64_t
get_timeout_locked (vkgdr_server *self)
{
  int64_t now = vkgdr_socket_now ();
  int64_t next = self->end != 0 ? self->end : INT64_MAX, time;
  bool is_blocked = false;
  uint32_t i;

  for (i = 0; i < self->n_clients; i++) {
    is_blocked |= vkgdr_peer_is_blocked (self->clients[i]->peer);
    time = vkgdr_peer_get_retry_time (self->clients[i]->peer);
    if (time != 0 && time < next)
      next = time;
  }
  if (self->end != 0 && (!is_blocked || now >= self->end))
    return 0;
  if (self->accept_time != 0 && self->accept_time < next)
    next = self->accept_time;
  if (next == INT64_MAX)
    return -1;
  return next > now ? next - now : 1;
}

/* Called once at the end, when the listener was shut down. */
static void
begin_end_locked (vkgdr_server *self)
{
  uint32_t i;

  epoll_ctl (self->epoll, EPOLL_CTL_DEL, self->listener, NULL);
  for (i = 0; i < self->n_clients; i++)
    vkgdr_peer_send_waiting (self->clients[i]->peer, UINT32_MAX);
}

static void
listen_again (vkgdr_server *self)
{
  struct epoll_event event = { .events = EPOLLIN };

  if (self->accept_time == 0 || vkgdr_socket_now () < self->accept_time)
    return;
  self->accept_time = 0;
  epoll_ctl (self->epoll, EPOLL_CTL_ADD, self->listener, &event);
}

/* @timeout: in nanoseconds; -1: no limit. */
static void
work (vkgdr_server *self, int64_t timeout, bool *is_ending)
{
  struct epoll_event events[32];
  vkgdr_output *garbage = NULL;
  int milliseconds = timeout < 0 ? -1 : (int) (timeout / 1000000 + 1);
  int i, n = epoll_wait (self->epoll, events,
             sizeof (events) / sizeof (events[0]), milliseconds);
  bool has_connection = false;

  pthread_mutex_lock (&self->lock);
  for (i = 0; i < n; i++) {
    if (events[i].data.ptr)
      serve_client_locked (self, events[i].data.ptr, &garbage);
    else
      has_connection = true;
  }
  if (self->end != 0 && !*is_ending) {
    begin_end_locked (self);
    *is_ending = true;
  }
  serve_all_locked (self, &garbage);
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  vkgdr_output_free_all (garbage);
  if (has_connection && !*is_ending)
    accept_clients (self);
  if (!*is_ending)
    listen_again (self);
}

static void *
run_io (void *data)
{
  vkgdr_server *self = data;
  bool is_ending = false;

  for (;;) {
    int64_t timeout;

    pthread_mutex_lock (&self->lock);
    timeout = self->end != 0 && !is_ending ? 1 : get_timeout_locked (self);
    pthread_mutex_unlock (&self->lock);
    if (timeout == 0)
      return NULL;
    work (self, timeout, &is_ending);
  }
}

/* --- start and end ------------------------------------------------------- */

/* The program's signals are not for these threads. */
static int
start_thread (
    pthread_t *thread, const char *name, void *(*run) (void *), void *data)
{
  sigset_t all, old;
  int result;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  result = pthread_create (thread, NULL, run, data);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (result == 0)
    pthread_setname_np (*thread, name);
  return result;
}

/* The thread that accepts clients is started last, because it needs the other
 * one. */
static bool
start_threads (vkgdr_server *self)
{
  int result = start_thread (&self->waiter, "vkgdr-wait", run_waiter, self);

  if (result == 0) {
    result = start_thread (&self->io, "vkgdr-io", run_io, self);
    if (result == 0)
      return true;
    pthread_mutex_lock (&self->lock);
    self->is_closing = true;
    pthread_cond_broadcast (&self->cond);
    pthread_mutex_unlock (&self->lock);
    pthread_join (self->waiter, NULL);
  }
  vkgdr_error_set ("a thread that serves clients cannot be started (%s): see "
                   "how many the process may have (ulimit -u)",
      strerror (result));
  return false;
}

/* Another server may have replaced the socket in the meantime. */
static void
remove_socket (vkgdr_server *self)
{
  struct stat file;

  if (lstat (self->path, &file) == 0 && file.st_ino == self->file.st_ino
      && file.st_dev == self->file.st_dev)
    unlink (self->path);
}

static void
close_descriptors (vkgdr_server *self)
{
  remove_socket (self);
  close (self->listener);
  if (self->epoll >= 0)
    close (self->epoll);
}

static void
free_server (vkgdr_server *self)
{
  vkgdr_peer_state_clear (&self->state);
  pthread_cond_destroy (&self->cond);
  pthread_mutex_destroy (&self->lock);
  free (self->clients);
  free (self->path);
  free (self);
}

static bool
open_epoll (vkgdr_server *self)
{
  struct epoll_event event = { .events = EPOLLIN };

  self->epoll = epoll_create1 (EPOLL_CLOEXEC);
  if (self->epoll >= 0
      && epoll_ctl (self->epoll, EPOLL_CTL_ADD, self->listener, &event) == 0)
    return true;
  vkgdr_error_set ("'%s' cannot be served (%s): see how many files the process "
                   "has open (ulimit -n)",
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
  if (open_epoll (self) && start_threads (self))
    return self;
  close_descriptors (self);
  free_server (self);
  return NULL;
}

/* Ends the threads. Sends all accepted frames before that, unless a client does
 * not read. */
static void
end_threads (vkgdr_server *self)
{
  pthread_join (self->waiter, NULL);
  pthread_mutex_lock (&self->lock);
  self->end = vkgdr_socket_now () + MAX_END;
  pthread_mutex_unlock (&self->lock);
  /* This wakes the io thread. */
  shutdown (self->listener, SHUT_RDWR);
  pthread_join (self->io, NULL);
}

void
vkgdr_server_close (vkgdr_server *self)
{
  vkgdr_output *garbage = NULL;
  bool was_closing;

  pthread_mutex_lock (&self->lock);
  was_closing = self->is_closing;
  self->is_closing = true;
  pthread_cond_broadcast (&self->cond);
  pthread_mutex_unlock (&self->lock);
  if (was_closing)
    return;
  end_threads (self);
  close_descriptors (self);
  pthread_mutex_lock (&self->lock);
  while (self->n_clients > 0) {
    client *one = self->clients[0];

    if (!vkgdr_peer_is_broken (one->peer))
      vkgdr_peer_say_bye (vkgdr_peer_get_fd (one->peer), "");
    remove_client_locked (self, one, &garbage);
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

/* --- what comes before frames -------------------------------------------- */

/* Takes over the reference to @packet. */
static void
set_packet (vkgdr_server *self, int index, vkgdr_packet *packet)
{
  pthread_mutex_lock (&self->lock);
  vkgdr_packet_unref (self->state.packets[index]);
  self->state.packets[index] = packet;
  pthread_mutex_unlock (&self->lock);
}

bool
vkgdr_server_set_format (vkgdr_server *self, const vkgdr_frame_format *format)
{
  vkgdr_wire_format message = {
    .header = { VKGDR_WIRE_FORMAT, sizeof (message) },
  };
  vkgdr_packet *packet = vkgdr_packet_new (sizeof (message));

  if (!packet)
    return false;
  message.format = *format;
  memcpy (packet->data, &message, sizeof (message));
  set_packet (self, 0, packet);
  return true;
}

bool
vkgdr_server_set_state (
    vkgdr_server *self, vkgdr_frames_state state, const void *data, size_t size)
{
  bool is_large = size > VKGDR_WIRE_MAX_INLINE;
  vkgdr_wire_content head = { .content_size = size };
  size_t inside = is_large ? 0 : size;
  vkgdr_packet *packet = NULL;

  if (size > VKGDR_WIRE_MAX_CONTENT)
    return false;
  if (data) {
    packet = vkgdr_packet_new (sizeof (head) + inside);
    if (!packet)
      return false;
    head.header.type = VKGDR_WIRE_CAPS + state;
    head.header.size = (uint32_t) packet->size;
    memcpy (packet->data, &head, sizeof (head));
    memcpy (packet->data + sizeof (head), data, inside);
    if (is_large)
      packet->fd = vkgdr_socket_new_memfd (data, size);
    if (is_large && packet->fd < 0) {
      vkgdr_packet_unref (packet);
      return false;
    }
  }
  set_packet (self, 1 + state, packet);
  return true;
}

/* --- frames -------------------------------------------------------------- */

static void
write_frame (
    const vkgdr_server_frame *frame, uint8_t *to, uint64_t number, size_t size)
{
  const vkgdr_wire_frame head = {
    .header = { VKGDR_WIRE_FRAME, (uint32_t) size },
    .number = number,
    .pts = frame->pts,
    .dts = frame->dts,
    .duration = frame->duration,
    .offset = frame->offset,
    .offset_end = frame->offset_end,
    .base = frame->base,
    .time = frame->time,
    .latency = frame->latency,
    .flags = frame->flags,
    .n_ranges = (uint16_t) frame->n_ranges,
    .n_planes = (uint16_t) frame->n_planes,
    .metas_size = (uint32_t) frame->metas_size,
  };
  uint32_t i;

  memcpy (to, &head, sizeof (head));
  to += sizeof (head);
  for (i = 0; i < frame->n_ranges; i++) {
    const vkgdr_wire_range range = {
      vkgdr_export_get_id (frame->ranges[i].memory),
      frame->ranges[i].offset,
      frame->ranges[i].size,
    };

    memcpy (to, &range, sizeof (range));
    to += sizeof (range);
  }
  for (i = 0; i < frame->n_planes; i++) {
    const vkgdr_wire_plane plane = { frame->planes[i].offset,
      frame->planes[i].stride, frame->planes[i].range };

    memcpy (to, &plane, sizeof (plane));
    to += sizeof (plane);
  }
  if (frame->metas_size > 0)
    memcpy (to, frame->metas, frame->metas_size);
}

static vkgdr_output *
new_frame_locked (vkgdr_server *self, const vkgdr_server_frame *frame)
{
  size_t size =
      sizeof (vkgdr_wire_frame) + frame->n_ranges * sizeof (vkgdr_wire_range)
      + frame->n_planes * sizeof (vkgdr_wire_plane) + frame->metas_size;
  vkgdr_output *output = calloc (1, sizeof (*output));
  vkgdr_packet *packet = vkgdr_packet_new (size);
  vkgdr_server_frame copy = *frame;
  uint32_t i;

  if (!output || !packet) {
    free (output);
    free (packet);
    return NULL;
  }
  if (self->is_flushed)
    copy.flags |= VKGDR_FRAME_DISCONT;
  self->is_flushed = false;
  output->refs = 1;
  output->number = ++self->last_number;
  write_frame (&copy, packet->data, output->number, size);
  output->packet = packet;
  vkgdr_peer_state_copy (&output->state, &self->state);
  for (i = 0; i < frame->n_ranges; i++)
    output->exports[i] = vkgdr_export_ref (frame->ranges[i].memory);
  output->n_exports = frame->n_ranges;
  output->is_written = frame->is_written;
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
    const vkgdr_peer *peer = self->clients[i]->peer;

    if (!vkgdr_peer_is_active (peer))
      continue;
    has_client = true;
    if (vkgdr_peer_count (peer) + queued >= self->params.max_buffers)
      is_full = true;
  }
  return (self->params.waits_for_client && !has_client)
         || (self->params.leaky == VKGDR_SERVER_LEAKY_NO && is_full);
}

vkgdr_server_result
vkgdr_server_send (vkgdr_server *self, const vkgdr_server_frame *frame)
{
  bool is_written = frame->is_written (frame->user_data, false) > 0;
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
  vkgdr_output *output = calloc (1, sizeof (*output)), *garbage = NULL;

  if (!output)
    return;
  output->refs = 1;
  pthread_mutex_lock (&self->lock);
  vkgdr_peer_state_copy (&output->state, &self->state);
  if (self->is_closing)
    vkgdr_output_unref (output, &garbage);
  else
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
  self->is_current_dropped = true;
  self->is_flushed = true;
  self->has_ended = false;
  for (i = 0; i < self->n_clients; i++)
    vkgdr_peer_flush (self->clients[i]->peer, &garbage);
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
  uint64_t sent, lost;
  uint32_t i;

  pthread_mutex_lock (&self->lock);
  *figures = self->gone;
  for (i = 0; i < self->n_clients; i++) {
    vkgdr_peer_get_figures (self->clients[i]->peer, &sent, &lost);
    figures->sent += sent;
    figures->lost += lost;
    figures->clients += vkgdr_peer_is_known (self->clients[i]->peer);
  }
  pthread_mutex_unlock (&self->lock);
}
