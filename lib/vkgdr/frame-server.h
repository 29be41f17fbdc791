/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-server.h: sends frames in exported memory to all clients of a socket
 *
 * Used by vkgdripcsink and by the server of vkgdr/frames.h. Exported for the
 * plugin only: the symbols are not public API, and the header is not installed.
 *
 * The server has two threads. One accepts clients, reads their messages, and
 * sends what waits for them. The other one waits for frames that are not
 * written yet. A frame that is already written is sent by the caller's thread.
 * Thread-safe. No callback is called with a lock held.
 */

#ifndef VKGDR_FRAME_SERVER_H
#define VKGDR_FRAME_SERVER_H

#include <vkgdr/frames.h>

/* --- exported memory ----------------------------------------------------- */

/* An allocation that is sent to each client once, with a number that is unique
 * in this process. Its key is its device pointer. When the last reference is
 * dropped, clients are told to release it. */
typedef struct vkgdr_export vkgdr_export;

/* Returns the export with the @key, which must not be 0, or makes one, and sets
 * @is_new (may be NULL) to whether it did. Takes ownership of @fd. Returns NULL
 * if no memory is left; then the caller still owns @fd. */
VKGDR_API vkgdr_export *vkgdr_export_new (
    uint64_t key, int fd, const vkgdr_fd_info *info, bool *is_new);
VKGDR_API vkgdr_export *vkgdr_export_ref (vkgdr_export *self);
VKGDR_API void vkgdr_export_unref (vkgdr_export *self);

/* --- the server ---------------------------------------------------------- */

typedef struct vkgdr_server vkgdr_server;

typedef struct {
  const char *path; /* of the socket */
  vkgdr_frame_peers peers;
  uint32_t max_buffers;  /* frames that one client may have */
  bool is_leaky;         /* a client that has these loses frames; otherwise, the
                          * source waits */
  bool waits_for_client; /* whether frames wait until there is a client */
} vkgdr_server_params;

typedef struct {
  uint32_t clients; /* at present */
  uint64_t sent;    /* frames, to all clients */
  uint64_t lost;    /* frames, by all clients */
} vkgdr_server_figures;

typedef struct {
  vkgdr_export *memory;
  uint64_t offset;
  uint64_t size;
} vkgdr_server_range;

typedef struct {
  uint64_t offset; /* in the range */
  int32_t stride;
  uint32_t range;
} vkgdr_server_plane;

/* A frame to be sent. The server takes references to the memories, and copies
 * everything else. */
typedef struct {
  uint64_t pts, dts, duration;
  int64_t time;
  uint32_t flags;
  uint32_t n_ranges, n_planes;
  vkgdr_server_range ranges[VKGDR_FRAME_MAX_MEMORIES];
  vkgdr_server_plane planes[VKGDR_FRAME_MAX_PLANES];
  const void *metas;
  size_t metas_size;

  /* Returns 1 if the content is written, 0 if not yet, and -1 if writing has
   * failed. With @wait, it waits, and does not return 0. */
  int (*check_written) (void *user_data, bool wait);
  /* Called once, in any thread, when neither the server nor a client uses the
   * frame. */
  void (*release) (void *user_data);
  void *user_data;
} vkgdr_server_frame;

/* The largest width and height of a picture or a plane. */
#define VKGDR_FRAME_MAX_SIZE 524272

/* Describes a picture of a format in the list of vkgdr_frame_server_params. The
 * colorimetry is unknown, and pixels are square. Returns false if the name or
 * the size is wrong. */
bool vkgdr_frame_format_init (vkgdr_frame_format *format, const char *name,
    uint32_t width, uint32_t height);

/* Whether a format that another process has sent can be used. */
VKGDR_API bool vkgdr_frame_format_is_valid (const vkgdr_frame_format *format);

/* Whether all rows of a plane at @offset are inside @size bytes, and do not
 * overlap. */
VKGDR_API bool vkgdr_frame_plane_fits (const vkgdr_frame_plane_format *format,
    uint64_t offset, int64_t stride, uint64_t size);

/* Returns the number of bytes from the first element of a tensor to the last
 * one, or 0 if it cannot be used. */
size_t vkgdr_frame_tensor_get_size (const vkgdr_frame_tensor *tensor);

/* Starts to listen. Returns NULL on failure (vkgdr_last_error()). */
VKGDR_API vkgdr_server *vkgdr_server_new (const vkgdr_server_params *params);

/* Sends the queued frames and then BYE to all clients. Takes at most
 * VKGDR_WIRE_PATIENCE longer than the device needs for these frames. After
 * that, the other functions do nothing. */
VKGDR_API void vkgdr_server_close (vkgdr_server *self);

VKGDR_API vkgdr_server *vkgdr_server_ref (vkgdr_server *self);
VKGDR_API void vkgdr_server_unref (vkgdr_server *self);

/* Sets a state, which clients receive before the next frame. @data is copied. A
 * @size of 0 means that the server has no such state. Returns false if it is
 * too large, or if no memory is left. */
VKGDR_API bool vkgdr_server_set_state (vkgdr_server *self,
    vkgdr_frames_state state, const void *data, size_t size);

typedef enum {
  VKGDR_SERVER_SENT,     /* the server will release the frame */
  VKGDR_SERVER_UNLOCKED, /* the wait was ended; the caller still owns it */
  VKGDR_SERVER_FAILED    /* no memory left; the caller still owns it */
} vkgdr_server_result;

/* Sends @frame as soon as it is written. Blocks only if the parameters require
 * it. The frame may be released before the call returns. */
VKGDR_API vkgdr_server_result vkgdr_server_send (
    vkgdr_server *self, const vkgdr_server_frame *frame);

/* Sends EOS after all frames, also to clients that come later. */
VKGDR_API void vkgdr_server_end (vkgdr_server *self);

/* Drops all frames that were not sent yet, and EOS. The next frame has
 * VKGDR_FRAME_DISCONT. */
VKGDR_API void vkgdr_server_flush (vkgdr_server *self);

/* Sets whether vkgdr_server_send() must not wait. */
VKGDR_API void vkgdr_server_set_unlocked (vkgdr_server *self, bool is_unlocked);

VKGDR_API void vkgdr_server_get_figures (
    vkgdr_server *self, vkgdr_server_figures *figures);

#endif /* VKGDR_FRAME_SERVER_H */
