/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames-raw.h: messages of a client without the client's code
 */

#ifndef TEST_FRAMES_RAW_H
#define TEST_FRAMES_RAW_H

#include <gst/check/internal-check.h>
#include <stdio.h>
#include <unistd.h>

#include "frame-socket.h"

#define SECOND INT64_C (1000000000)

static char path[64];

static inline void
set_up (void)
{
  snprintf (path, sizeof (path), "/tmp/vkgdr-frames-%d", (int) getpid ());
}

static inline void
tear_down (void)
{
  unlink (path);
}

static inline int
connect_raw (void)
{
  int fd;

  /* Other clients may still wait to be accepted. */
  while ((fd = vkgdr_socket_connect (path)) < 0)
    usleep (1000);
  return fd;
}

static inline void
say_hello (int fd, uint32_t min, uint32_t max)
{
  const vkgdr_wire_hello hello = { { VKGDR_WIRE_HELLO, sizeof (hello) },
    VKGDR_WIRE_MAGIC_BYTES, min, max };

  vkgdr_socket_send (fd, &hello, sizeof (hello), -1);
}

/* Returns the type of the next message, or 0 if the connection was closed. */
static inline uint32_t
next_type (int fd, void *data, size_t *size)
{
  vkgdr_wire_header *header = data;
  int attached;

  for (;;) {
    size_t room = *size;

    switch (vkgdr_socket_receive (fd, data, &room, &attached)) {
    case VKGDR_SOCKET_OK:
      if (attached >= 0)
        close (attached);
      *size = room;
      return header->type;
    case VKGDR_SOCKET_AGAIN:
      vkgdr_socket_wait (fd, SECOND);
      break;
    default:
      return 0;
    }
  }
}

static inline void
expect (int fd, uint32_t type)
{
  uint64_t data[VKGDR_WIRE_MAX_PACKET / 8];
  size_t size = sizeof (data);

  ck_assert_int_eq (next_type (fd, data, &size), type);
}

static inline void
send_number (int fd, uint32_t type, uint64_t number)
{
  const vkgdr_wire_number message = { { type, sizeof (message) }, number };

  vkgdr_socket_send (fd, &message, sizeof (message), -1);
}

#endif /* TEST_FRAMES_RAW_H */
