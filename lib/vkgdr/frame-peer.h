/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-peer.h: one client, as a frame server sees it
 *
 * Not thread-safe: the server's lock must be held. No function blocks, and none
 * releases a frame: frames without a reference go to a list, and the caller
 * frees them without the lock. Private.
 */

#ifndef VKGDR_FRAME_PEER_H
#define VKGDR_FRAME_PEER_H

#include <stdatomic.h>

#include "frame-server.h"
#include "frame-socket.h"

/* --- exports ------------------------------------------------------------- */

struct vkgdr_export {
  vkgdr_export *next; /* of all exports */
  unsigned refs;
  uint64_t key;
  uint64_t id;
  int fd;
  vkgdr_fd_info info;
};

/* Returns a number that changes whenever an export is freed. */
unsigned vkgdr_export_generation (void);
bool vkgdr_export_lives (uint64_t id);

/* Between these two calls, the eventfd @wake is written to whenever an export
 * is freed. */
typedef struct vkgdr_export_watcher vkgdr_export_watcher;
struct vkgdr_export_watcher {
  vkgdr_export_watcher *next;
  int wake;
};

void vkgdr_export_watch (vkgdr_export_watcher *watcher);
void vkgdr_export_unwatch (vkgdr_export_watcher *watcher);

/* --- what is sent -------------------------------------------------------- */

/* A STATE. */
typedef struct {
  atomic_uint refs;
  uint64_t serial; /* not 0; another one for each message */
  size_t size;
  uint8_t data[];
} vkgdr_packet;

vkgdr_packet *vkgdr_packet_new (size_t size);
void vkgdr_packet_unref (vkgdr_packet *self); /* NULL is allowed */

/* A frame, or EOS (without data), on its way to clients. A client must have
 * received its states before; NULL: there is none. */
typedef struct vkgdr_output vkgdr_output;
struct vkgdr_output {
  vkgdr_output *next; /* in a list */
  unsigned refs;
  uint64_t number;
  vkgdr_packet *states[VKGDR_FRAMES_N_STATES];
  vkgdr_export *exports[VKGDR_FRAME_MAX_MEMORIES];
  uint32_t n_exports;
  int (*check_written) (void *user_data, bool wait);
  void (*release) (void *user_data);
  void *user_data;
  size_t size;
  uint8_t data[];
};

/* Returns an output with references to the states, or NULL if no memory is
 * left. */
vkgdr_output *vkgdr_output_new (vkgdr_packet *const *states, size_t size);

/* Adds the output to @garbage if this was the last reference. */
void vkgdr_output_unref (vkgdr_output *self, vkgdr_output **garbage);

/* Releases the frames. Must be called without the lock. */
void vkgdr_output_free_all (vkgdr_output *garbage);

/* --- the client ---------------------------------------------------------- */

typedef struct {
  int fd;
  uint32_t max;     /* frames that the client may have */
  int64_t deadline; /* when HELLO has to be there, or EOS does not wait any
                     * longer; 0: none */
  vkgdr_output *
      *outputs; /* the client has the first @n_sent, the others wait */
  uint32_t n, n_sent, room;
  uint64_t *known; /* numbers of the memories that were sent to it */
  uint32_t n_known, known_room;
  unsigned generation; /* of exports, at the last vkgdr_peer_forget() */
  uint64_t
      states[VKGDR_FRAMES_N_STATES]; /* serials of the last sent messages */
  uint64_t sent, lost;               /* frames */
  bool is_known;                     /* it has sent HELLO */
  bool is_stopped; /* it has sent STOP: it accepts no more frames, but may still
                    * use some
                    */
  bool is_broken;  /* it is gone, or has sent an invalid message */
  bool is_blocked; /* its socket is full, or the system lacks resources */
} vkgdr_peer;

/* A client that may have @max frames. Takes ownership of @fd. Returns NULL if
 * no memory is left; then the caller still owns @fd.
 */
vkgdr_peer *vkgdr_peer_new (int fd, uint32_t max);

/* Closes the connection. */
void vkgdr_peer_free (vkgdr_peer *self, vkgdr_output **garbage);

/* Whether the client accepts frames. */
bool vkgdr_peer_is_active (const vkgdr_peer *self);

/* Sends @output if the client has room for it. Otherwise it waits; if
 * @is_leaky, it replaces a frame that waits. */
void vkgdr_peer_offer (vkgdr_peer *self, vkgdr_output *output, bool is_leaky,
    vkgdr_output **garbage);

/* Sends as many of the waiting frames as possible. */
void vkgdr_peer_send (vkgdr_peer *self, vkgdr_output **garbage);

/* Ends what the client's deadline ends, if that time has come. */
void vkgdr_peer_check_deadline (vkgdr_peer *self, vkgdr_output **garbage);

/* Drops all waiting frames. */
void vkgdr_peer_flush (vkgdr_peer *self, vkgdr_output **garbage);

/* Sends BYE, if the socket has room. */
void vkgdr_peer_say_bye (int fd, const char *reason);

/* Reads the client's messages. Returns whether it has just sent HELLO. */
bool vkgdr_peer_receive (vkgdr_peer *self, vkgdr_output **garbage);

/* Tells the client about memory that was freed. */
void vkgdr_peer_forget (vkgdr_peer *self);

#endif /* VKGDR_FRAME_PEER_H */
