/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuzz-server.c: the messages of a client, read by a frame server
 *
 * No message makes the server lose a frame or a file descriptor, or give a
 * client more frames than it may have.
 */

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame-peer.h"
#include "packets.h"

#define MAX_FRAMES 2

/* What happens before a packet is read. */
#define SEND_FRAME 1
#define SEND_EOS 2
#define FLUSH 4
#define HAS_FD 8
#define IS_LEAKY 16

static int n_used;

static void
on_release (void *user_data)
{
  n_used--;
}

static void
offer (vkgdr_peer *peer, uint64_t number, bool is_leaky, vkgdr_output **garbage)
{
  vkgdr_packet *const none[VKGDR_FRAMES_N_STATES] = { NULL };
  const vkgdr_wire_frame head = { { VKGDR_WIRE_FRAME, sizeof (head) }, number };
  vkgdr_output *output = vkgdr_output_new (none, number ? sizeof (head) : 0);

  if (number > 0) {
    memcpy (output->data, &head, sizeof (head));
    output->number = number;
    output->release = on_release;
    n_used++;
  }
  vkgdr_peer_offer (peer, output, is_leaky, garbage);
  vkgdr_output_unref (output, garbage);
}

static void
read_packet (vkgdr_peer *peer, const packet *next, int client)
{
  static uint64_t number;
  vkgdr_output *garbage = NULL;
  uint8_t answer[64];

  vkgdr_socket_send (client, next->data, next->size,
      next->flags & HAS_FD ? STDERR_FILENO : -1);
  vkgdr_peer_receive (peer, &garbage);
  if (next->flags & SEND_FRAME)
    offer (peer, ++number, next->flags & IS_LEAKY, &garbage);
  if (next->flags & SEND_EOS)
    offer (peer, 0, next->flags & IS_LEAKY, &garbage);
  if (next->flags & FLUSH)
    vkgdr_peer_flush (peer, &garbage);
  vkgdr_peer_send (peer, &garbage);
  vkgdr_peer_forget (peer);
  CHECK (peer->n_sent <= MAX_FRAMES && peer->n_sent <= peer->n);
  CHECK (peer->is_known || peer->n == 0);
  while (recv (client, answer, sizeof (answer), 0) > 0)
    ;
  vkgdr_output_free_all (garbage);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  vkgdr_output *garbage = NULL;
  vkgdr_peer *peer;
  packet next;
  int fds[2];

  CHECK (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) == 0);
  peer = vkgdr_peer_new (fds[0], MAX_FRAMES);
  while (!peer->is_broken && take_packet (&data, &size, &next))
    read_packet (peer, &next, fds[1]);
  vkgdr_peer_free (peer, &garbage);
  vkgdr_output_free_all (garbage);
  close (fds[1]);
  CHECK (n_used == 0);
  CHECK (fcntl (fds[0], F_GETFD) < 0);
  return 0;
}
