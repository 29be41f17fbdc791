/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-peer.h: one client, as a frame server sees it
 *
 * Stores which messages were sent to the client, which frames the client has,
 * and which ones are queued for it. Not thread-safe: the server's lock must be
 * held. No function blocks, and none releases a frame: frames without a
 * reference go to a list, and the caller frees them without the lock. Private.
 */

#ifndef VKGDR_FRAME_PEER_H
#define VKGDR_FRAME_PEER_H

#include "frame-server.h"
#include "frame-socket.h"

/* Nanoseconds: when to try again if the system lacks resources. Such a lack
 * often lasts, and a thread that tried all the time would need a processor. */
#define VKGDR_PEER_RETRY_INTERVAL 100000000

/* A packet with the file descriptor that it carries. */
typedef struct {
  unsigned refs;
  int fd; /* owned, or -1 */
  size_t size;
  uint8_t data[];
} vkgdr_packet;

vkgdr_packet *vkgdr_packet_new (size_t size);
vkgdr_packet *vkgdr_packet_ref (vkgdr_packet *self);
void vkgdr_packet_unref (vkgdr_packet *self); /* NULL is allowed */

/* What a client must have received before a frame: the format, and one entry
 * for each vkgdr_frames_state. NULL: nothing. */
#define VKGDR_PEER_N_STATES (VKGDR_FRAMES_N_STATES + 1)

typedef struct {
  vkgdr_packet *packets[VKGDR_PEER_N_STATES];
} vkgdr_peer_state;

void vkgdr_peer_state_copy (vkgdr_peer_state *to, const vkgdr_peer_state *from);
void vkgdr_peer_state_clear (vkgdr_peer_state *self);

/* A frame, or EOS (without a packet), on its way to clients. */
typedef struct vkgdr_output vkgdr_output;
struct vkgdr_output {
  vkgdr_output *next; /* in a list of frames to be freed */
  unsigned refs;
  uint64_t number;
  vkgdr_packet *packet;
  vkgdr_peer_state state;
  vkgdr_export *exports[VKGDR_FRAME_MAX_MEMORIES];
  uint32_t n_exports;
  int (*is_written) (void *user_data, bool wait);
  void (*release) (void *user_data);
  void *user_data;
};

/* Adds the frame to @garbage if this was the last reference. */
void vkgdr_output_unref (vkgdr_output *self, vkgdr_output **garbage);

/* Releases the frames. Must be called without the lock. */
void vkgdr_output_free_all (vkgdr_output *garbage);

typedef struct vkgdr_peer vkgdr_peer;

/* Takes ownership of @fd. NULL without memory; then the caller still owns it.
 */
vkgdr_peer *vkgdr_peer_new (int fd);

/* Closes the connection. */
void vkgdr_peer_free (vkgdr_peer *self, vkgdr_output **garbage);

int vkgdr_peer_get_fd (const vkgdr_peer *self);

/* Whether the connection is broken, or the client sent an invalid message. */
bool vkgdr_peer_is_broken (const vkgdr_peer *self);

/* Whether a message is queued because the socket's buffer is full, or because
 * the system lacks resources. */
bool vkgdr_peer_is_blocked (const vkgdr_peer *self);

/* The monotonic time before which it is useless to try again, or 0. */
int64_t vkgdr_peer_get_retry_time (const vkgdr_peer *self);

/* Whether the client has sent HELLO. */
bool vkgdr_peer_is_known (const vkgdr_peer *self);

/* Whether the client accepts frames. If not, it may still have some. */
bool vkgdr_peer_is_active (const vkgdr_peer *self);

/* The number of frames that the client has or that are queued for it. */
uint32_t vkgdr_peer_count (const vkgdr_peer *self);

void vkgdr_peer_get_figures (
    const vkgdr_peer *self, uint64_t *sent, uint64_t *lost);

/* Sends @output if the client has fewer than @max frames. Otherwise @leaky
 * decides; with VKGDR_SERVER_LEAKY_NO it is queued. EOS is always queued. */
void vkgdr_peer_offer (vkgdr_peer *self, vkgdr_output *output, uint32_t max,
    vkgdr_server_leaky leaky, vkgdr_output **garbage);

/* Drops all queued frames, and EOS. */
void vkgdr_peer_flush (vkgdr_peer *self, vkgdr_output **garbage);

/* Sends as many queued messages as possible. */
void vkgdr_peer_send_waiting (vkgdr_peer *self, uint32_t max);

/* Sends BYE before all queued frames, if the socket has room. */
void vkgdr_peer_say_bye (int fd, const char *reason);

/* Reads the client's messages. Returns whether it has just sent HELLO. */
bool vkgdr_peer_receive (
    vkgdr_peer *self, uint32_t max, vkgdr_output **garbage);

/* Tells the client about memory that was freed. */
void vkgdr_peer_forget (vkgdr_peer *self);

/* Of exports. */
uint64_t vkgdr_export_get_id (const vkgdr_export *self);
void vkgdr_export_write (const vkgdr_export *self, vkgdr_wire_memory *message);
int vkgdr_export_get_fd (const vkgdr_export *self);
/* A number that changes whenever an export is freed. */
unsigned vkgdr_export_generation (void);
bool vkgdr_export_lives (uint64_t id);

#endif /* VKGDR_FRAME_PEER_H */
