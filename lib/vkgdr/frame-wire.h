/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-wire.h: the messages between a frame server and its clients
 *
 * docs/ipc-protocol.md describes them, and what each side has to check. A
 * message is one packet of a socket of type SOCK_SEQPACKET. All numbers are
 * little-endian, and each field is at a multiple of its size. Private.
 */

#ifndef VKGDR_FRAME_WIRE_H
#define VKGDR_FRAME_WIRE_H

#include <vkgdr/frames.h>

/* CUDA runs on little-endian processors only. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the messages are little-endian"
#endif

/* The start of HELLO shows that the client speaks this protocol. */
#define VKGDR_WIRE_MAGIC "VkgdrFrm"
#define VKGDR_WIRE_MAGIC_BYTES \
  { \
    'V', 'k', 'g', 'd', 'r', 'F', 'r', 'm' \
  }
#define VKGDR_WIRE_VERSION 6

/* The maximum size in bytes of a packet, and of the content of a STATE. The
 * default buffer of a socket is much larger. */
#define VKGDR_WIRE_MAX_PACKET (64 * 1024)
#define VKGDR_WIRE_MAX_CONTENT (60 * 1024)

/* The maximum length of BYE's text in bytes. */
#define VKGDR_WIRE_MAX_REASON 512

/* The maximum number of allocations that a client knows at a time. */
#define VKGDR_WIRE_MAX_MEMORIES 1024

/* Nanoseconds for which a server waits for HELLO, and for a client that has to
 * give back a frame, or to read, before the end of the stream. */
#define VKGDR_WIRE_PATIENCE INT64_C (2000000000)

typedef enum {
  /* client to server */
  VKGDR_WIRE_HELLO = 1,
  VKGDR_WIRE_RELEASE,
  VKGDR_WIRE_STOP,
  /* server to client */
  VKGDR_WIRE_WELCOME = 16,
  VKGDR_WIRE_STATE,
  VKGDR_WIRE_MEMORY,
  VKGDR_WIRE_FORGET,
  VKGDR_WIRE_FRAME
} vkgdr_wire_type;

/* The kinds of STATE that vkgdr_frames_get_state() does not return. */
enum { VKGDR_WIRE_EOS = 16, VKGDR_WIRE_BYE };

/* The start of each message. */
typedef struct {
  uint32_t type;
  uint32_t size; /* of the message in bytes, with this header */
} vkgdr_wire_header;

typedef struct {
  vkgdr_wire_header header;
  char magic[8];
  uint32_t min_version;
  uint32_t max_version;
} vkgdr_wire_hello;

typedef struct {
  vkgdr_wire_header header;
  uint32_t version;
  uint32_t max_frames; /* that the client may have at a time */
} vkgdr_wire_welcome;

/* RELEASE: the number of the frame. STOP: the number of the last frame that the
 * client has read. FORGET: the number of the memory. */
typedef struct {
  vkgdr_wire_header header;
  uint64_t number;
} vkgdr_wire_number;

/* The content follows. */
typedef struct {
  vkgdr_wire_header header;
  uint32_t kind; /* a vkgdr_frames_state, or one of the two above */
  uint32_t reserved;
} vkgdr_wire_state;

/* Attached: the file descriptor of the memory. */
typedef struct {
  vkgdr_wire_header header;
  uint64_t id;
  vkgdr_fd_info info;
} vkgdr_wire_memory;

/* The ranges, the planes and the metas follow. */
typedef struct {
  vkgdr_wire_header header;
  uint64_t number;
  int64_t time;
  uint64_t pts;
  uint64_t dts;
  uint64_t duration;
  uint32_t flags;
  uint16_t n_ranges;
  uint16_t n_planes;
  uint32_t metas_size;
  uint32_t reserved;
} vkgdr_wire_frame;

typedef struct {
  uint64_t memory;
  uint64_t offset;
  uint64_t size;
} vkgdr_wire_range;

typedef struct {
  uint64_t offset; /* in the range */
  int32_t stride;
  uint32_t range; /* index */
} vkgdr_wire_plane;

_Static_assert(sizeof (vkgdr_frame_format) == 128, "FORMAT");
_Static_assert(sizeof (vkgdr_frame_tensor) == 136, "TENSOR");
_Static_assert(sizeof (vkgdr_wire_hello) == 24, "HELLO");
_Static_assert(sizeof (vkgdr_wire_memory) == 64, "MEMORY");
_Static_assert(sizeof (vkgdr_wire_frame) == 64, "FRAME");

/* The largest number of bytes of a frame's metas that always fits. */
#define VKGDR_WIRE_MAX_METAS \
  (VKGDR_WIRE_MAX_PACKET - sizeof (vkgdr_wire_frame) \
      - VKGDR_FRAME_MAX_MEMORIES * sizeof (vkgdr_wire_range) \
      - VKGDR_FRAME_MAX_PLANES * sizeof (vkgdr_wire_plane))

#endif /* VKGDR_FRAME_WIRE_H */
