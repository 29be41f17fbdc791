/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-peer.c: see frame-peer.h
 */

#include "frame-peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The maximum number of messages that are read in a row. So a client that sends
 * all the time does not block the others. */
#define MAX_ANSWERS 64

/* The maximum length of BYE's text in bytes. */
#define MAX_REASON 512

typedef struct item item;
struct item {
  item *next;
  vkgdr_output *output;
};

struct vkgdr_peer {
  int fd;
  item *first, *last;  /* queued frames and EOS */
  uint32_t n_waiting;  /* queued frames */
  uint32_t n_ends;     /* queued EOS */
  vkgdr_output **held; /* frames that the client has */
  uint32_t n_held, held_room;
  uint64_t *known; /* numbers of the memories that were sent to it */
  uint32_t n_known, known_room;
  unsigned generation;    /* of exports, when `known` was last checked */
  vkgdr_peer_state state; /* the last packets that were sent */
  uint64_t sent, lost;
  int64_t retry_time; /* monotonic; 0: as soon as the socket has room */
  bool is_known, is_broken, is_blocked, is_stopped;
};

/* --- packets, states, outputs -------------------------------------------- */

vkgdr_packet *
vkgdr_packet_new (size_t size)
{
  vkgdr_packet *self = calloc (1, sizeof (*self) + size);

  if (!self)
    return NULL;
  self->refs = 1;
  self->fd = -1;
  self->size = size;
  return self;
}

vkgdr_packet *
vkgdr_packet_ref (vkgdr_packet *self)
{
  if (self)
    self->refs++;
  return self;
}

void
vkgdr_packet_unref (vkgdr_packet *self)
{
  if (!self || --self->refs > 0)
    return;
  if (self->fd >= 0)
    close (self->fd);
  free (self);
}

void
vkgdr_peer_state_copy (vkgdr_peer_state *to, const vkgdr_peer_state *from)
{
  int i;

  for (i = 0; i < VKGDR_PEER_N_STATES; i++)
    to->packets[i] = vkgdr_packet_ref (from->packets[i]);
}

void
vkgdr_peer_state_clear (vkgdr_peer_state *self)
{
  int i;

  for (i = 0; i < VKGDR_PEER_N_STATES; i++) {
    vkgdr_packet_unref (self->packets[i]);
    self->packets[i] = NULL;
  }
}

/* The packets are unreferenced here, because their references are counted under
 * the lock. */
void
vkgdr_output_unref (vkgdr_output *self, vkgdr_output **garbage)
{
  if (--self->refs > 0)
    return;
  vkgdr_packet_unref (self->packet);
  vkgdr_peer_state_clear (&self->state);
  self->next = *garbage;
  *garbage = self;
}

/* The exports are unreferenced first. If a memory of the frame is the last one
 * of its allocation, its export then ends before the allocation does. */
void
vkgdr_output_free_all (vkgdr_output *garbage)
{
  while (garbage) {
    vkgdr_output *next = garbage->next;
    uint32_t i;

    for (i = 0; i < garbage->n_exports; i++)
      vkgdr_export_unref (garbage->exports[i]);
    if (garbage->release)
      garbage->release (garbage->user_data);
    free (garbage);
    garbage = next;
  }
}

/* --- the client ---------------------------------------------------------- */

vkgdr_peer *
vkgdr_peer_new (int fd)
{
  vkgdr_peer *self = calloc (1, sizeof (*self));

  if (!self)
    return NULL;
  self->fd = fd;
  self->generation = vkgdr_export_generation ();
  return self;
}

static vkgdr_output *
pop (vkgdr_peer *self)
{
  item *first = self->first;
  vkgdr_output *output = first->output;

  self->first = first->next;
  if (!self->first)
    self->last = NULL;
  *(output->packet ? &self->n_waiting : &self->n_ends) -= 1;
  free (first);
  return output;
}

void
vkgdr_peer_flush (vkgdr_peer *self, vkgdr_output **garbage)
{
  while (self->first)
    vkgdr_output_unref (pop (self), garbage);
}

void
vkgdr_peer_free (vkgdr_peer *self, vkgdr_output **garbage)
{
  vkgdr_peer_flush (self, garbage);
  while (self->n_held > 0)
    vkgdr_output_unref (self->held[--self->n_held], garbage);
  vkgdr_peer_state_clear (&self->state);
  free (self->held);
  free (self->known);
  close (self->fd);
  free (self);
}

int
vkgdr_peer_get_fd (const vkgdr_peer *self)
{
  return self->fd;
}

bool
vkgdr_peer_is_broken (const vkgdr_peer *self)
{
  return self->is_broken;
}

bool
vkgdr_peer_is_blocked (const vkgdr_peer *self)
{
  return self->is_blocked;
}

int64_t
vkgdr_peer_get_retry_time (const vkgdr_peer *self)
{
  return self->retry_time;
}

bool
vkgdr_peer_is_known (const vkgdr_peer *self)
{
  return self->is_known;
}

bool
vkgdr_peer_is_active (const vkgdr_peer *self)
{
  return self->is_known && !self->is_stopped && !self->is_broken;
}

uint32_t
vkgdr_peer_count (const vkgdr_peer *self)
{
  return self->n_held + self->n_waiting;
}

void
vkgdr_peer_get_figures (const vkgdr_peer *self, uint64_t *sent, uint64_t *lost)
{
  *sent = self->sent;
  *lost = self->lost;
}

/* --- sending ------------------------------------------------------------- */

static bool
send_bytes (vkgdr_peer *self, const void *data, size_t size, int fd)
{
  switch (vkgdr_socket_send (self->fd, data, size, fd)) {
  case VKGDR_SOCKET_OK:
    return true;
  case VKGDR_SOCKET_AGAIN:
    self->is_blocked = true;
    return false;
  case VKGDR_SOCKET_NO_RESOURCES:
    self->is_blocked = true;
    self->retry_time = vkgdr_socket_now () + VKGDR_PEER_RETRY_INTERVAL;
    return false;
  default:
    self->is_broken = true;
    return false;
  }
}

static bool
send_state (vkgdr_peer *self, const vkgdr_peer_state *state)
{
  int i;

  for (i = 0; i < VKGDR_PEER_N_STATES; i++) {
    vkgdr_packet *packet = state->packets[i];

    if (!packet || packet == self->state.packets[i])
      continue;
    if (!send_bytes (self, packet->data, packet->size, packet->fd))
      return false;
    vkgdr_packet_unref (self->state.packets[i]);
    self->state.packets[i] = vkgdr_packet_ref (packet);
  }
  return true;
}

static bool
knows (const vkgdr_peer *self, uint64_t id)
{
  uint32_t i;

  for (i = 0; i < self->n_known; i++)
    if (self->known[i] == id)
      return true;
  return false;
}

/* Makes room for one more element in an array. */
static bool
grow (void **array, uint32_t n, uint32_t *room, size_t size)
{
  void *larger;

  if (n < *room)
    return true;
  larger = realloc (*array, (n + 16) * 2 * size);
  if (!larger)
    return false;
  *array = larger;
  *room = (n + 16) * 2;
  return true;
}

static bool
send_exports (vkgdr_peer *self, const vkgdr_output *output)
{
  uint32_t i;

  for (i = 0; i < output->n_exports; i++) {
    vkgdr_export *export = output->exports[i];
    vkgdr_wire_memory message;

    if (knows (self, vkgdr_export_get_id (export)))
      continue;
    if (!grow ((void **) &self->known, self->n_known, &self->known_room,
            sizeof (self->known[0])))
      return false;
    vkgdr_export_write (export, &message);
    if (!send_bytes (
            self, &message, sizeof (message), vkgdr_export_get_fd (export)))
      return false;
    self->known[self->n_known++] = vkgdr_export_get_id (export);
  }
  return true;
}

/* Takes over the reference to @output if it was sent. */
static bool
send_frame (vkgdr_peer *self, vkgdr_output *output)
{
  if (!grow ((void **) &self->held, self->n_held, &self->held_room,
          sizeof (self->held[0]))
      || !send_state (self, &output->state) || !send_exports (self, output)
      || !send_bytes (self, output->packet->data, output->packet->size, -1))
    return false;
  self->held[self->n_held++] = output;
  self->sent++;
  return true;
}

static bool
send_end (vkgdr_peer *self, vkgdr_output *output)
{
  const vkgdr_wire_header eos = { VKGDR_WIRE_EOS, sizeof (eos) };

  return send_state (self, &output->state)
         && send_bytes (self, &eos, sizeof (eos), -1);
}

void
vkgdr_peer_send_waiting (vkgdr_peer *self, uint32_t max)
{
  vkgdr_output *garbage = NULL;

  self->is_blocked = false;
  self->retry_time = 0;
  while (!self->is_broken && self->first) {
    vkgdr_output *output = self->first->output;

    if (output->packet) {
      /* There is no limit if EOS is queued: the client may keep its frames
       * until EOS arrives, and EOS comes after all frames. */
      if ((self->n_held >= max && self->n_ends == 0)
          || !send_frame (self, output))
        break;
      pop (self);
    } else {
      if (!send_end (self, output))
        break;
      vkgdr_output_unref (pop (self), &garbage);
    }
  }
  /* An EOS has nothing to release. */
  vkgdr_output_free_all (garbage);
}

static void
push (vkgdr_peer *self, vkgdr_output *output)
{
  item *last = calloc (1, sizeof (*last));

  if (!last) { /* the client loses the frame */
    self->lost++;
    return;
  }
  output->refs++;
  last->output = output;
  *(self->last ? &self->last->next : &self->first) = last;
  self->last = last;
  *(output->packet ? &self->n_waiting : &self->n_ends) += 1;
}

static void
drop_oldest (vkgdr_peer *self, vkgdr_output **garbage)
{
  item **link = &self->first, *before = NULL, *found;

  while (*link && !(*link)->output->packet) {
    before = *link;
    link = &before->next;
  }
  found = *link;
  if (!found)
    return;
  *link = found->next;
  if (self->last == found)
    self->last = before;
  self->n_waiting--;
  self->lost++;
  vkgdr_output_unref (found->output, garbage);
  free (found);
}

void
vkgdr_peer_offer (vkgdr_peer *self, vkgdr_output *output, uint32_t max,
    vkgdr_server_leaky leaky, vkgdr_output **garbage)
{
  bool is_frame = output->packet != NULL;

  if (!vkgdr_peer_is_active (self))
    return;
  /* If the client does not read, one EOS after the last frame is enough. */
  if (!is_frame && self->last && !self->last->output->packet)
    return;
  if (is_frame && leaky == VKGDR_SERVER_LEAKY_UPSTREAM
      && (self->n_held >= max || self->n_waiting > 0)) {
    self->lost++;
    return;
  }
  if (is_frame && leaky == VKGDR_SERVER_LEAKY_DOWNSTREAM && self->n_ends == 0)
    drop_oldest (self, garbage);
  push (self, output);
  vkgdr_peer_send_waiting (self, max);
}

void
vkgdr_peer_say_bye (int fd, const char *reason)
{
  struct {
    vkgdr_wire_content head;
    char text[MAX_REASON];
  } bye = { .head = { .header = { .type = VKGDR_WIRE_BYE } } };
  size_t length;

  snprintf (bye.text, sizeof (bye.text), "%s", reason);
  length = strlen (bye.text);
  bye.head.content_size = length;
  bye.head.header.size = (uint32_t) (sizeof (bye.head) + length);
  vkgdr_socket_send (fd, &bye, bye.head.header.size, -1);
}

/* --- receiving ----------------------------------------------------------- */

static bool
handle_hello (vkgdr_peer *self, const vkgdr_wire_hello *hello)
{
  const vkgdr_wire_welcome welcome = {
    .header = { VKGDR_WIRE_WELCOME, sizeof (welcome) },
    .magic = VKGDR_WIRE_MAGIC_BYTES,
    .version = VKGDR_WIRE_VERSION,
  };
  char reason[MAX_REASON];

  if (self->is_known
      || memcmp (hello->magic, VKGDR_WIRE_MAGIC, sizeof (hello->magic)) != 0)
    return false;
  if (hello->min_version > VKGDR_WIRE_VERSION
      || hello->max_version < VKGDR_WIRE_VERSION) {
    snprintf (reason, sizeof (reason),
        "the server speaks version %d of the protocol, and the client versions "
        "%u to %u: use the same version of gst-vkgdr in both processes",
        VKGDR_WIRE_VERSION, hello->min_version, hello->max_version);
    vkgdr_peer_say_bye (self->fd, reason);
    return false;
  }
  if (!send_bytes (self, &welcome, sizeof (welcome), -1))
    return false;
  self->is_known = true;
  return true;
}

static bool
handle_release (vkgdr_peer *self, uint64_t number, vkgdr_output **garbage)
{
  uint32_t i;

  for (i = 0; i < self->n_held; i++) {
    if (self->held[i]->number != number)
      continue;
    vkgdr_output_unref (self->held[i], garbage);
    self->held[i] = self->held[--self->n_held];
    return true;
  }
  return false;
}

/* The client has not read the frames after @last, and will not. */
static bool
handle_stop (vkgdr_peer *self, uint64_t last, vkgdr_output **garbage)
{
  uint32_t i = 0;

  if (self->is_stopped)
    return false;
  self->is_stopped = true;
  self->is_blocked = false;
  vkgdr_peer_flush (self, garbage);
  while (i < self->n_held) {
    if (self->held[i]->number <= last) {
      i++;
      continue;
    }
    vkgdr_output_unref (self->held[i], garbage);
    self->held[i] = self->held[--self->n_held];
  }
  return true;
}

static bool
handle (vkgdr_peer *self, const void *data, size_t size, bool *has_come,
    vkgdr_output **garbage)
{
  const vkgdr_wire_header *header = data;
  const vkgdr_wire_number *message = data;

  if (size < sizeof (*header) || header->size != size)
    return false;
  if (header->type == VKGDR_WIRE_HELLO && size == sizeof (vkgdr_wire_hello)) {
    *has_come = handle_hello (self, data);
    return *has_come;
  }
  if (!self->is_known || size != sizeof (*message))
    return false;
  switch (header->type) {
  case VKGDR_WIRE_RELEASE:
    return handle_release (self, message->number, garbage);
  case VKGDR_WIRE_STOP:
    return handle_stop (self, message->number, garbage);
  default:
    return false;
  }
}

bool
vkgdr_peer_receive (vkgdr_peer *self, uint32_t max, vkgdr_output **garbage)
{
  union { /* for the alignment */
    vkgdr_wire_hello hello;
    vkgdr_wire_number number;
  } buffer;
  bool has_come = false;
  int i, attached;

  for (i = 0; i < MAX_ANSWERS && !self->is_broken; i++) {
    size_t size = sizeof (buffer);
    vkgdr_socket_result result =
        vkgdr_socket_receive (self->fd, &buffer, &size, &attached);

    if (attached >= 0)
      close (attached);
    if (result == VKGDR_SOCKET_AGAIN)
      break;
    if (result != VKGDR_SOCKET_OK
        || !handle (self, &buffer, size, &has_come, garbage))
      self->is_broken = true;
  }
  vkgdr_peer_send_waiting (self, max);
  return has_come && !self->is_broken;
}

void
vkgdr_peer_forget (vkgdr_peer *self)
{
  unsigned generation = vkgdr_export_generation ();
  uint32_t i = 0;

  if (generation == self->generation || self->is_stopped)
    return;
  while (i < self->n_known) {
    const vkgdr_wire_number forget = {
      .header = { VKGDR_WIRE_FORGET, sizeof (forget) },
      .number = self->known[i],
    };

    if (vkgdr_export_lives (forget.number)) {
      i++;
      continue;
    }
    if (!send_bytes (self, &forget, sizeof (forget), -1))
      return;
    self->known[i] = self->known[--self->n_known];
  }
  self->generation = generation;
}
