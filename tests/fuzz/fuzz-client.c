/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fuzz-client.c: the messages of a server, read by the client of libvkgdr
 *
 * No message makes the client use memory that it does not have, or lose a file
 * descriptor. The source of the client is a part of this file, so that a
 * connection can be made of a pair of sockets.
 */

#include "frame-client.c"

#include <fcntl.h>
#include <sys/socket.h>

#include "packets.h"

/* A packet with this flag has a file descriptor. */
#define HAS_FD 1

static int n_imports;

static void *
fake_import (void *user_data, int fd, const vkgdr_fd_info *info, char *message,
    size_t message_size)
{
  uint64_t *size = malloc (sizeof (*size));

  CHECK (fcntl (fd, F_GETFD) >= 0);
  n_imports++;
  *size = info->size;
  return size;
}

static void
fake_forget (void *user_data, void *object)
{
  n_imports--;
  free (object);
}

/* The frame is inside its memories, and each plane is inside a range. */
static void
check_frame (vkgdr_frame_t frame)
{
  const vkgdr_frame_info *info = vkgdr_frame_get_info (frame);
  uint32_t i;

  for (i = 0; i < info->n_memories; i++) {
    const vkgdr_frame_memory *memory = &info->memories[i];

    CHECK (memory->offset + memory->size <= *(uint64_t *) memory->object);
  }
  for (i = 0; i < info->n_planes; i++) {
    const vkgdr_frame_plane *plane = &info->planes[i];

    CHECK (plane->memory < info->n_memories);
    CHECK (vkgdr_frame_plane_fits (&info->format->planes[i], plane->offset,
        plane->stride, info->memories[plane->memory].size));
  }
}

/* Reads all that the server has sent. Keeps every second frame in @kept. */
static bool
receive_all (vkgdr_frames_t frames, vkgdr_frame_t *kept)
{
  vkgdr_frames_status status;
  vkgdr_frame_t frame;

  while (
      (status = vkgdr_frames_receive (frames, 0, &frame)) == VKGDR_FRAMES_FRAME
      || status == VKGDR_FRAMES_EOS) {
    if (status == VKGDR_FRAMES_EOS)
      continue;
    check_frame (frame);
    if (*kept)
      vkgdr_frame_release (*kept);
    *kept = vkgdr_frame_get_info (frame)->number % 2 ? frame : NULL;
    if (!*kept)
      vkgdr_frame_release (frame);
  }
  CHECK (status == VKGDR_FRAMES_TIMEOUT || status == VKGDR_FRAMES_BYE
         || *vkgdr_error_peek ());
  return status == VKGDR_FRAMES_TIMEOUT;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const vkgdr_frames_params params = { .import = fake_import,
    .forget = fake_forget };
  vkgdr_frame_t kept = NULL;
  vkgdr_frames_t frames;
  packet next;
  int fds[2];

  CHECK (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) == 0);
  frames = new_frames (&params);
  frames->fd = fds[0];
  while (take_packet (&data, &size, &next)) {
    vkgdr_socket_send (
        fds[1], next.data, next.size, next.flags & HAS_FD ? STDERR_FILENO : -1);
    if (!receive_all (frames, &kept))
      break;
  }
  vkgdr_frames_close (frames);
  if (kept)
    vkgdr_frame_release (kept);
  close (fds[1]);
  CHECK (n_imports == 0);
  CHECK (fcntl (fds[0], F_GETFD) < 0);
  return 0;
}
