/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-socket.h: the Unix sockets of frame servers and their clients
 *
 * Knows packets and file descriptors, not what a message means. No function
 * blocks, except vkgdr_socket_listen() for half a second at most and
 * vkgdr_socket_wait(). Private.
 */

#ifndef VKGDR_FRAME_SOCKET_H
#define VKGDR_FRAME_SOCKET_H

#include "frame-wire.h"

typedef enum {
  VKGDR_SOCKET_OK,
  VKGDR_SOCKET_AGAIN, /* there is no packet, or no room for one at present */
  VKGDR_SOCKET_CLOSED /* no more packets, or an invalid one */
} vkgdr_socket_result;

/* These functions return a file descriptor, or -1 (vkgdr_error_set()). If no
 * process listens at @path, vkgdr_socket_connect() sets errno to ENOENT. */
int vkgdr_socket_listen (const char *path, vkgdr_frame_peers peers);
int vkgdr_socket_connect (const char *path);

/* Whether the process at the other end is one of @peers; sets the error if
 * not. */
bool vkgdr_socket_check_peer (int fd, vkgdr_frame_peers peers);

/* @attached: a file descriptor that is sent with the packet, or -1. */
vkgdr_socket_result vkgdr_socket_send (
    int fd, const void *data, size_t size, int attached);

/* @size: in: the room at @data; out: the size of the packet. @attached is set
 * to a file descriptor that the caller closes, or to -1. */
vkgdr_socket_result vkgdr_socket_receive (
    int fd, void *data, size_t *size, int *attached);

/* Waits until @fd is readable. @timeout: in nanoseconds; -1: no limit. */
void vkgdr_socket_wait (int fd, int64_t timeout);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t vkgdr_socket_now (void);

#endif /* VKGDR_FRAME_SOCKET_H */
