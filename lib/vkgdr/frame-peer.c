/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-peer.c: see frame-peer.h
 */

#include "frame-peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The maximum number of messages of a client that are read before those of
 * other clients, so that a client that sends all the time does not block the
 * others. */
#define MAX_ANSWERS 64

/* --- what is sent -------------------------------------------------------- */

vkgdr_packet *
vkgdr_packet_new (size_t size)
{
  static atomic_uint_fast64_t last_serial;
  vkgdr_packet *self = calloc (1, sizeof (*self) + size);

  if (!self)
    return NULL;
  atomic_init (&self->refs, 1);
  self->serial = atomic_fetch_add (&last_serial, 1) + 1;
  self->size = size;
  return self;
}

void
vkgdr_packet_unref (vkgdr_packet *self)
{
  if (self && atomic_fetch_sub (&self->refs, 1) == 1)
    free (self);
}

vkgdr_output *
vkgdr_output_new (vkgdr_packet *const *states, size_t size)
{
  vkgdr_output *self = calloc (1, sizeof (*self) + size);
  int i;

  if (!self)
    return NULL;
  self->refs = 1;
  self->size = size;
  for (i = 0; i < VKGDR_FRAMES_N_STATES; i++) {
    self->states[i] = states[i];
    if (states[i])
      atomic_fetch_add (&states[i]->refs, 1);
  }
  return self;
}

void
vkgdr_output_unref (vkgdr_output *self, vkgdr_output **garbage)
{
  if (--self->refs > 0)
    return;
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
    for (i = 0; i < VKGDR_FRAMES_N_STATES; i++)
      vkgdr_packet_unref (garbage->states[i]);
    if (garbage->release)
      garbage->release (garbage->user_data);
    free (garbage);
    garbage = next;
  }
}

/* --- the client ---------------------------------------------------------- */

vkgdr_peer *
vkgdr_peer_new (int fd, uint32_t max)
{
  vkgdr_peer *self = calloc (1, sizeof (*self));

  if (!self)
    return NULL;
  self->fd = fd;
  self->max = max;
  self->deadline = vkgdr_socket_now () + VKGDR_WIRE_PATIENCE;
  self->generation = vkgdr_export_generation ();
  return self;
}

/* Removes an output that was sent or that waits. */
static void
drop (vkgdr_peer *self, uint32_t i, vkgdr_output **garbage)
{
  vkgdr_output_unref (self->outputs[i], garbage);
  self->n--;
  if (i < self->n_sent)
    self->n_sent--;
  memmove (self->outputs + i, self->outputs + i + 1,
      (self->n - i) * sizeof (self->outputs[0]));
}

void
vkgdr_peer_flush (vkgdr_peer *self, vkgdr_output **garbage)
{
  while (self->n > self->n_sent)
    drop (self, self->n - 1, garbage);
}

void
vkgdr_peer_free (vkgdr_peer *self, vkgdr_output **garbage)
{
  while (self->n > 0)
    drop (self, self->n - 1, garbage);
  free (self->outputs);
  free (self->known);
  close (self->fd);
  free (self);
}

bool
vkgdr_peer_is_active (const vkgdr_peer *self)
{
  return self->is_known && !self->is_stopped && !self->is_broken;
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

/* --- sending ------------------------------------------------------------- */

static bool
send_bytes (vkgdr_peer *self, const void *data, size_t size, int fd)
{
  vkgdr_socket_result result = vkgdr_socket_send (self->fd, data, size, fd);

  self->is_blocked = result == VKGDR_SOCKET_AGAIN;
  self->is_broken |= result == VKGDR_SOCKET_CLOSED;
  return result == VKGDR_SOCKET_OK;
}

static bool
send_states (vkgdr_peer *self, const vkgdr_output *output)
{
  int i;

  for (i = 0; i < VKGDR_FRAMES_N_STATES; i++) {
    const vkgdr_packet *packet = output->states[i];

    if (!packet || packet->serial == self->states[i])
      continue;
    if (!send_bytes (self, packet->data, packet->size, -1))
      return false;
    self->states[i] = packet->serial;
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

static bool
send_exports (vkgdr_peer *self, const vkgdr_output *output)
{
  uint32_t i;

  for (i = 0; i < output->n_exports; i++) {
    const vkgdr_export *export = output->exports[i];
    const vkgdr_wire_memory message = { { VKGDR_WIRE_MEMORY, sizeof (message) },
      export->id, export->info };

    if (knows (self, export->id))
      continue;
    if (!grow ((void **) &self->known, self->n_known, &self->known_room,
            sizeof (self->known[0]))
        || !send_bytes (self, &message, sizeof (message), export->fd))
      return false;
    self->known[self->n_known++] = export->id;
  }
  return true;
}

static bool
is_end (const vkgdr_output *output)
{
  return output->size == 0;
}

static bool
send_output (vkgdr_peer *self, const vkgdr_output *output)
{
  const vkgdr_wire_state eos = { { VKGDR_WIRE_STATE, sizeof (eos) },
    VKGDR_WIRE_EOS, 0 };

  if (!send_states (self, output))
    return false;
  if (is_end (output))
    return send_bytes (self, &eos, sizeof (eos), -1);
  return send_exports (self, output)
         && send_bytes (self, output->data, output->size, -1);
}

static bool
has_waiting_end (const vkgdr_peer *self)
{
  uint32_t i;

  for (i = self->n_sent; i < self->n; i++)
    if (is_end (self->outputs[i]))
      return true;
  return false;
}

void
vkgdr_peer_send (vkgdr_peer *self, vkgdr_output **garbage)
{
  self->is_blocked = false;
  while (!self->is_broken && self->n_sent < self->n) {
    vkgdr_output *output = self->outputs[self->n_sent];

    if ((!is_end (output) && self->n_sent >= self->max)
        || !send_output (self, output))
      break;
    if (is_end (output)) {
      drop (self, self->n_sent, garbage);
      self->deadline = 0;
    } else {
      self->n_sent++;
      self->sent++;
    }
  }
}

/* Adds @output to those that wait. */
static void
append (vkgdr_peer *self, vkgdr_output *output)
{
  if (!grow ((void **) &self->outputs, self->n, &self->room,
          sizeof (self->outputs[0]))) {
    self->lost += !is_end (output);
    return;
  }
  output->refs++;
  self->outputs[self->n++] = output;
}

/* Replaces the frame that waits, or waits behind the end of the last stream. */
static void
offer_frame (vkgdr_peer *self, vkgdr_output *output, bool is_leaky,
    vkgdr_output **garbage)
{
  bool is_waiting = self->n > self->n_sent;

  if (is_leaky && is_waiting && !is_end (self->outputs[self->n - 1])) {
    self->lost++;
    drop (self, self->n - 1, garbage);
  }
  append (self, output);
}

/* A client that does not read gets only one EOS after its last frame. If it has
 * not read the end of the last stream yet, it loses this one, or else the
 * frames of all streams would wait. */
static void
offer_end (vkgdr_peer *self, vkgdr_output *output, bool is_leaky,
    vkgdr_output **garbage)
{
  bool is_waiting = self->n > self->n_sent;

  if (is_waiting && is_end (self->outputs[self->n - 1]))
    return;
  if (is_leaky && has_waiting_end (self)) {
    self->lost++;
    drop (self, self->n - 1, garbage);
    return;
  }
  append (self, output);
  self->deadline = vkgdr_socket_now () + VKGDR_WIRE_PATIENCE;
}

void
vkgdr_peer_offer (vkgdr_peer *self, vkgdr_output *output, bool is_leaky,
    vkgdr_output **garbage)
{
  if (!vkgdr_peer_is_active (self))
    return;
  if (is_end (output))
    offer_end (self, output, is_leaky, garbage);
  else
    offer_frame (self, output, is_leaky, garbage);
  vkgdr_peer_send (self, garbage);
}

/* A client may keep all its frames until it gets EOS, as some encoders do. So
 * the frames before EOS do not wait for ever. */
static void
drop_before_end (vkgdr_peer *self, vkgdr_output **garbage)
{
  while (self->n_sent < self->n && !is_end (self->outputs[self->n_sent])) {
    self->lost++;
    drop (self, self->n_sent, garbage);
  }
}

void
vkgdr_peer_check_deadline (vkgdr_peer *self, vkgdr_output **garbage)
{
  if (self->deadline == 0 || vkgdr_socket_now () < self->deadline)
    return;
  self->deadline = 0;
  if (!self->is_known)
    self->is_broken = true;
  else if (has_waiting_end (self))
    drop_before_end (self, garbage);
}

/* A reason is printable ASCII. */
void
vkgdr_peer_say_bye (int fd, const char *reason)
{
  struct {
    vkgdr_wire_state head;
    char text[VKGDR_WIRE_MAX_REASON];
  } bye = { .head = { { VKGDR_WIRE_STATE, 0 }, VKGDR_WIRE_BYE, 0 } };
  uint32_t length = 0;

  for (; reason[length] && length < sizeof (bye.text); length++)
    bye.text[length] =
        reason[length] >= ' ' && reason[length] <= '~' ? reason[length] : '?';
  bye.head.header.size = (uint32_t) sizeof (bye.head) + length;
  vkgdr_socket_send (fd, &bye, bye.head.header.size, -1);
}

void
vkgdr_peer_forget (vkgdr_peer *self)
{
  unsigned generation = vkgdr_export_generation ();
  uint32_t i = 0;

  if (generation == self->generation || self->is_stopped)
    return;
  while (i < self->n_known) {
    const vkgdr_wire_number forget = { { VKGDR_WIRE_FORGET, sizeof (forget) },
      self->known[i] };

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

/* --- receiving ----------------------------------------------------------- */

static bool
handle_hello (vkgdr_peer *self, const vkgdr_wire_hello *hello)
{
  const vkgdr_wire_welcome welcome = {
    .header = { VKGDR_WIRE_WELCOME, sizeof (welcome) },
    .version = VKGDR_WIRE_VERSION,
    .max_frames = self->max,
  };
  char reason[VKGDR_WIRE_MAX_REASON];

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
  self->is_known = send_bytes (self, &welcome, sizeof (welcome), -1);
  self->deadline = 0;
  return self->is_known;
}

static bool
handle_release (vkgdr_peer *self, uint64_t number, vkgdr_output **garbage)
{
  uint32_t i;

  for (i = 0; i < self->n_sent; i++)
    if (self->outputs[i]->number == number) {
      drop (self, i, garbage);
      return true;
    }
  return false;
}

/* The client has not read the frames after @last, and will not. */
static bool
handle_stop (vkgdr_peer *self, uint64_t last, vkgdr_output **garbage)
{
  if (self->is_stopped)
    return false;
  self->is_stopped = true;
  self->is_blocked = false;
  vkgdr_peer_flush (self, garbage);
  while (self->n > 0 && self->outputs[self->n - 1]->number > last)
    drop (self, self->n - 1, garbage);
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
vkgdr_peer_receive (vkgdr_peer *self, vkgdr_output **garbage)
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
  return has_come && !self->is_broken;
}
