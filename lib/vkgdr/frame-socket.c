/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-socket.c: see frame-socket.h
 */

#include "frame-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "error.h"

/* The maximum number of clients that wait to be accepted. */
#define BACKLOG 32

/* The maximum number of groups of a process that are checked. */
#define MAX_GROUPS 1024

/* The maximum number of file descriptors that are taken out of a packet. One is
 * used; unexpected ones are closed. */
#define MAX_ATTACHED 8

/* How often a server tries to lock the folder of its socket, and the interval
 * in nanoseconds. Other servers keep the lock for much less than a millisecond.
 * But any user who can read the folder can keep it locked, so the server does
 * not wait for long. */
#define LOCK_TRIES 50
#define LOCK_INTERVAL 10000000

static bool
set_address (struct sockaddr_un *address, const char *path)
{
  size_t length = path ? strlen (path) : 0;

  memset (address, 0, sizeof (*address));
  address->sun_family = AF_UNIX;
  if (length > 0 && length < sizeof (address->sun_path)) {
    memcpy (address->sun_path, path, length);
    return true;
  }
  vkgdr_error_set ("'%s' cannot be the path of a socket: choose a path of 1 to "
                   "%u bytes",
      path ? path : "", (unsigned) sizeof (address->sun_path) - 1);
  errno = EINVAL;
  return false;
}

static int
new_socket (const char *path)
{
  int fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd < 0)
    vkgdr_error_set ("no socket can be made for '%s' (%s): see whether the "
                     "process has reached its limit of open files (ulimit -n)",
        path, strerror (errno));
  return fd;
}

/* --- the server's socket ------------------------------------------------- */

/* Whether a process listens at @address. */
static bool
is_in_use (const struct sockaddr_un *address)
{
  int fd = new_socket (address->sun_path);
  bool in_use =
      fd < 0
      || connect (fd, (const struct sockaddr *) address, sizeof (*address)) == 0
      || errno != ECONNREFUSED;

  if (fd >= 0)
    close (fd);
  return in_use;
}

/* Removes a socket of this user if no process listens on it any more. */
static void
remove_stale (const struct sockaddr_un *address)
{
  struct stat status;

  if (lstat (address->sun_path, &status) == 0 && S_ISSOCK (status.st_mode)
      && status.st_uid == geteuid () && !is_in_use (address))
    unlink (address->sun_path);
}

/* Locks the folder of the socket, so that no server removes the new socket of
 * another one as unused. Returns a file descriptor that keeps the lock, or -1.
 * The caller ignores failures. */
static int
lock_folder (const struct sockaddr_un *address)
{
  const struct timespec interval = { .tv_nsec = LOCK_INTERVAL };
  char folder[sizeof (address->sun_path)];
  char *end;
  int fd, i;

  memcpy (folder, address->sun_path, sizeof (folder));
  end = strrchr (folder, '/');
  if (end)
    end[end == folder ? 1 : 0] = '\0';
  fd = open (end ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock (fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
      break;
    nanosleep (&interval, NULL);
  }
  return fd;
}

static void
report_bind (const char *path, int number)
{
  struct stat status;

  if (number != EADDRINUSE) {
    vkgdr_error_set ("no socket can be made at '%s' (%s): choose a path in a "
                     "folder that exists and that this user can write to",
        path, strerror (number));
  } else if (lstat (path, &status) != 0 || !S_ISSOCK (status.st_mode)) {
    vkgdr_error_set ("'%s' exists and is not a socket: choose another path, or "
                     "remove the file",
        path);
  } else if (status.st_uid != geteuid ()) {
    vkgdr_error_set ("'%s' is a socket of user %u, which this user may not "
                     "replace: choose another path",
        path, (unsigned) status.st_uid);
  } else {
    vkgdr_error_set (
        "another process listens at '%s': choose another path", path);
  }
}

static bool
bind_socket (int fd, const struct sockaddr_un *address, vkgdr_frame_peers peers)
{
  static const mode_t modes[] = { 0600, 0660, 0666 };

  /* The file is created with the mode of the socket without the bits of the
   * umask. So it is never accessible to users that @peers does not allow. */
  if (fchmod (fd, modes[peers]) != 0
      || bind (fd, (const struct sockaddr *) address, sizeof (*address)) != 0) {
    report_bind (address->sun_path, errno);
    return false;
  }
  /* The umask may have removed bits. */
  if (peers != VKGDR_FRAME_PEERS_USER)
    chmod (address->sun_path, modes[peers]);
  if (listen (fd, BACKLOG) == 0)
    return true;
  report_bind (address->sun_path, errno);
  return false;
}

int
vkgdr_socket_listen (const char *path, vkgdr_frame_peers peers)
{
  struct sockaddr_un address;
  int fd, folder;

  if (!set_address (&address, path))
    return -1;
  fd = new_socket (path);
  if (fd < 0)
    return -1;
  folder = lock_folder (&address);
  remove_stale (&address);
  if (!bind_socket (fd, &address, peers)) {
    close (fd);
    fd = -1;
  }
  if (folder >= 0)
    close (folder);
  return fd;
}

/* --- the client's socket ------------------------------------------------- */

int
vkgdr_socket_connect (const char *path)
{
  struct sockaddr_un address;
  int fd, number;

  if (!set_address (&address, path))
    return -1;
  fd = new_socket (path);
  if (fd < 0)
    return -1;
  if (connect (fd, (const struct sockaddr *) &address, sizeof (address)) == 0)
    return fd;
  number = errno;
  close (fd);
  /* EAGAIN: too many clients wait to be accepted. */
  if (number == ENOENT || number == ECONNREFUSED || number == EAGAIN) {
    vkgdr_error_set ("no process serves '%s' (%s): start the server, or wait "
                     "for it longer",
        path, strerror (number));
    number = ENOENT;
  } else if (number == EACCES) {
    vkgdr_error_set ("this user (%u) may not open '%s': to allow it, set "
                     "allowed-peers of the server to 'group' or 'all', and "
                     "check the permissions of the folder",
        (unsigned) geteuid (), path);
  } else {
    vkgdr_error_set ("there is no connection to '%s' (%s): check that it is "
                     "the socket of a frame server",
        path, strerror (number));
  }
  errno = number;
  return -1;
}

/* --- the process at the other end ---------------------------------------- */

static bool
has_group (int fd, const struct ucred *peer, gid_t group)
{
  gid_t groups[MAX_GROUPS];
  socklen_t size = sizeof (groups);
  unsigned i;

  if (peer->gid == group)
    return true;
  if (getsockopt (fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0)
    return false;
  for (i = 0; i < size / sizeof (groups[0]); i++)
    if (groups[i] == group)
      return true;
  return false;
}

bool
vkgdr_socket_check_peer (int fd, vkgdr_frame_peers peers)
{
  struct ucred peer = { .pid = 0 };
  socklen_t size = sizeof (peer);

  if (peers == VKGDR_FRAME_PEERS_ALL)
    return true;
  if (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    vkgdr_error_set ("the other process cannot be identified (%s): check that "
                     "the socket is a Unix socket",
        strerror (errno));
    return false;
  }
  if (peer.uid == geteuid ()
      || (peers == VKGDR_FRAME_PEERS_GROUP
          && has_group (fd, &peer, getegid ())))
    return true;
  vkgdr_error_set (
      "process %d of user %u is not of user %u%s: to allow the connection, set "
      "allowed-peers of the server and of the client to 'group' or 'all'",
      (int) peer.pid, (unsigned) peer.uid, (unsigned) geteuid (),
      peers == VKGDR_FRAME_PEERS_GROUP ? ", nor of its group" : "");
  errno = EACCES;
  return false;
}

/* --- packets ------------------------------------------------------------- */

typedef union {
  struct cmsghdr header; /* for the alignment */
  char room[CMSG_SPACE (MAX_ATTACHED * sizeof (int))];
} control;

static void
attach (struct msghdr *message, control *space, int attached)
{
  struct cmsghdr *header;

  message->msg_control = space->room;
  message->msg_controllen = CMSG_SPACE (sizeof (attached));
  header = CMSG_FIRSTHDR (message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN (sizeof (attached));
  memcpy (CMSG_DATA (header), &attached, sizeof (attached));
}

vkgdr_socket_result
vkgdr_socket_send (int fd, const void *data, size_t size, int attached)
{
  struct iovec vector = { (void *) data, size };
  struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
  control space = { .room = { 0 } };
  ssize_t sent;

  if (attached >= 0)
    attach (&message, &space, attached);
  do {
    sent = sendmsg (fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0)
    return VKGDR_SOCKET_OK;
  /* ETOOMANYREFS: too many file descriptors are on their way to receivers. */
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM
                 || errno == ETOOMANYREFS
             ? VKGDR_SOCKET_AGAIN
             : VKGDR_SOCKET_CLOSED;
}

/* Returns the first file descriptor of a packet, and closes the others. */
static int
detach (struct msghdr *message)
{
  int first = -1, fds[MAX_ATTACHED];
  struct cmsghdr *header;
  size_t i, n;

  for (header = CMSG_FIRSTHDR (message); header;
       header = CMSG_NXTHDR (message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
      continue;
    n = (header->cmsg_len - CMSG_LEN (0)) / sizeof (fds[0]);
    n = n < MAX_ATTACHED ? n : MAX_ATTACHED;
    memcpy (fds, CMSG_DATA (header), n * sizeof (fds[0]));
    for (i = 0; i < n; i++) {
      if (first < 0)
        first = fds[i];
      else
        close (fds[i]);
    }
  }
  return first;
}

vkgdr_socket_result
vkgdr_socket_receive (int fd, void *data, size_t *size, int *attached)
{
  struct iovec vector = { data, *size };
  control space;
  struct msghdr message = { .msg_iov = &vector,
    .msg_iovlen = 1,
    .msg_control = space.room,
    .msg_controllen = sizeof (space.room) };
  ssize_t received;

  *attached = -1;
  /* ECONNRESET: the other end has closed the socket before it read all
   * messages. The error comes once, before the messages of the other end. */
  do {
    received = recvmsg (fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && (errno == EINTR || errno == ECONNRESET));
  if (received < 0)
    return errno == EAGAIN ? VKGDR_SOCKET_AGAIN : VKGDR_SOCKET_CLOSED;
  *attached = detach (&message);
  *size = received;
  if (received > 0 && !(message.msg_flags & MSG_TRUNC))
    return VKGDR_SOCKET_OK;
  if (*attached >= 0)
    close (*attached);
  *attached = -1;
  return VKGDR_SOCKET_CLOSED;
}

void
vkgdr_socket_wait (int fd, int64_t timeout)
{
  const struct timespec limit = { .tv_sec = timeout / 1000000000,
    .tv_nsec = timeout % 1000000000 };
  struct pollfd entry = { .fd = fd, .events = POLLIN };

  ppoll (&entry, 1, timeout < 0 ? NULL : &limit, NULL);
}

int64_t
vkgdr_socket_now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}
