/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/socket.c: see ipc/socket.h
 */

#include "ipc/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The maximum number of clients that wait to be accepted. */
#define BACKLOG 32

/* The maximum number of groups of a process that are checked. */
#define MAX_GROUPS 1024

/* The maximum number of file descriptors that are taken out of a packet. One is
 * used; unexpected ones are closed. */
#define MAX_ATTACHED 8

/* How often a server tries to lock the folder of its socket, and the interval
 * in microseconds. Other servers keep the lock for much less than a
 * millisecond. But each user who can read the folder can keep it locked. */
#define LOCK_TRIES 50
#define LOCK_INTERVAL 10000

GType
gst_vkgdr_ipc_peers_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_VKGDR_IPC_PEERS_USER, "Processes of the same user", "user" },
    { GST_VKGDR_IPC_PEERS_GROUP, "Processes of the same user or group",
        "group" },
    { GST_VKGDR_IPC_PEERS_ALL, "All processes that can reach the socket",
        "all" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrIpcPeers", values));
  return type;
}

static void
set_errno (GError **error, const gchar *what, const gchar *path, gint number)
{
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (number), "%s '%s': %s",
      what, path, g_strerror (number));
}

static gboolean
set_address (struct sockaddr_un *address, const gchar *path, GError **error)
{
  memset (address, 0, sizeof (*address));
  address->sun_family = AF_UNIX;
  if (path && *path
      && g_strlcpy (address->sun_path, path, sizeof (address->sun_path))
             < sizeof (address->sun_path))
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_FILENAME,
      "'%s' cannot be the path of a socket: it has to have 1 to %u bytes. Set "
      "the property socket-path",
      path ? path : "", (guint) sizeof (address->sun_path) - 1);
  return FALSE;
}

static gint
new_socket (const gchar *path, gint flags, GError **error)
{
  gint fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

  if (fd < 0)
    set_errno (error, "no socket can be made for", path, errno);
  return fd;
}

/* --- the server's socket ------------------------------------------------- */

/* Whether a process listens at @address. */
static gboolean
is_in_use (const struct sockaddr_un *address)
{
  gint fd = new_socket (address->sun_path, SOCK_NONBLOCK, NULL);
  gboolean in_use =
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

/* Locks the folder of @path, so that no server removes the new socket of
 * another one as unused. Returns a file descriptor that keeps the lock, or -1.
 * The caller ignores failures. */
static gint
lock_folder (const gchar *path)
{
  gchar *folder = g_path_get_dirname (path);
  gint fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  guint i;

  g_free (folder);
  for (i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
    if (flock (fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
      break;
    g_usleep (LOCK_INTERVAL);
  }
  return fd;
}

static gboolean
bind_socket (gint fd, const struct sockaddr_un *address, GstVkgdrIpcPeers peers,
    GError **error)
{
  static const mode_t modes[] = { 0600, 0660, 0666 };
  gint result, number;

  /* The file is created with the mode of the socket without the bits of the
   * umask. So it is never accessible to users that @peers does not allow. */
  if (fchmod (fd, modes[peers]) != 0) {
    set_errno (error, "no mode can be set for", address->sun_path, errno);
    return FALSE;
  }
  result = bind (fd, (const struct sockaddr *) address, sizeof (*address));
  number = errno;
  /* The umask may have removed bits. */
  if (result == 0 && peers != GST_VKGDR_IPC_PEERS_USER)
    chmod (address->sun_path, modes[peers]);
  if (result == 0 && listen (fd, BACKLOG) == 0)
    return TRUE;
  if (result != 0 && number == EADDRINUSE)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
        "'%s' exists, and another process listens there, or it is not a socket "
        "of this user: choose another socket-path",
        address->sun_path);
  else
    set_errno (error, "no socket can be made at", address->sun_path,
        result != 0 ? number : errno);
  return FALSE;
}

gint
gst_vkgdr_ipc_listen (const gchar *path, GstVkgdrIpcPeers peers, GError **error)
{
  struct sockaddr_un address;
  gint fd, folder;

  if (!set_address (&address, path, error))
    return -1;
  fd = new_socket (path, SOCK_NONBLOCK, error);
  if (fd < 0)
    return -1;
  folder = lock_folder (path);
  remove_stale (&address);
  if (!bind_socket (fd, &address, peers, error)) {
    close (fd);
    fd = -1;
  }
  if (folder >= 0)
    close (folder);
  return fd;
}

gint
gst_vkgdr_ipc_accept (gint listener)
{
  return accept4 (listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* --- the client's socket ------------------------------------------------- */

gint
gst_vkgdr_ipc_connect (const gchar *path, gboolean *is_absent, GError **error)
{
  struct sockaddr_un address;
  gint fd, number;

  *is_absent = FALSE;
  if (!set_address (&address, path, error))
    return -1;
  fd = new_socket (path, SOCK_NONBLOCK, error);
  if (fd < 0)
    return -1;
  if (connect (fd, (const struct sockaddr *) &address, sizeof (address)) == 0)
    return fd;
  number = errno;
  close (fd);
  /* EAGAIN: too many clients wait to be accepted. */
  *is_absent = number == ENOENT || number == ECONNREFUSED || number == EAGAIN;
  if (*is_absent)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
        "no vkgdripcsink serves '%s' (%s)", path, g_strerror (number));
  else
    set_errno (error, "no connection to", path, number);
  return -1;
}

/* --- the process at the other end ---------------------------------------- */

static gboolean
has_group (gint fd, const struct ucred *peer, gid_t group)
{
  gid_t groups[MAX_GROUPS];
  socklen_t size = sizeof (groups);
  guint i;

  if (peer->gid == group)
    return TRUE;
  if (getsockopt (fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0)
    return FALSE;
  for (i = 0; i < size / sizeof (groups[0]); i++)
    if (groups[i] == group)
      return TRUE;
  return FALSE;
}

gboolean
gst_vkgdr_ipc_check_peer (gint fd, GstVkgdrIpcPeers peers, GError **error)
{
  struct ucred peer;
  socklen_t size = sizeof (peer);

  if (peers == GST_VKGDR_IPC_PEERS_ALL)
    return TRUE;
  if (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    set_errno (error, "the other process cannot be identified at", "", errno);
    return FALSE;
  }
  if (peer.uid == geteuid ()
      || (peers == GST_VKGDR_IPC_PEERS_GROUP
          && has_group (fd, &peer, getegid ())))
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
      "process %d of user %u is not of user %u%s: set the property "
      "allowed-peers of vkgdripcsink and of vkgdripcsrc if it may take part",
      (gint) peer.pid, (guint) peer.uid, (guint) geteuid (),
      peers == GST_VKGDR_IPC_PEERS_GROUP ? ", nor of its group" : "");
  return FALSE;
}

/* --- packets ------------------------------------------------------------- */

typedef union {
  struct cmsghdr header; /* for the alignment */
  gchar room[CMSG_SPACE (MAX_ATTACHED * sizeof (gint))];
} Control;

static void
attach (struct msghdr *message, Control *control, gint attached)
{
  struct cmsghdr *header;

  message->msg_control = control->room;
  message->msg_controllen = CMSG_SPACE (sizeof (attached));
  header = CMSG_FIRSTHDR (message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN (sizeof (attached));
  memcpy (CMSG_DATA (header), &attached, sizeof (attached));
}

GstVkgdrIpcResult
gst_vkgdr_ipc_send (gint fd, GBytes *packet, gint attached)
{
  gsize size = 0;
  struct iovec vector = { (gpointer) g_bytes_get_data (packet, &size), 0 };
  struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
  Control control = { 0 };
  gssize sent;

  vector.iov_len = size;
  if (attached >= 0)
    attach (&message, &control, attached);
  do {
    sent = sendmsg (fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0)
    return GST_VKGDR_IPC_OK;
  if (errno == EAGAIN)
    return GST_VKGDR_IPC_AGAIN;
  /* ETOOMANYREFS: too many file descriptors are on their way to receivers. */
  return errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS
             ? GST_VKGDR_IPC_NO_RESOURCES
             : GST_VKGDR_IPC_CLOSED;
}

/* Returns the first file descriptor of a packet, and closes the others. */
static gint
detach (struct msghdr *message)
{
  gint first = -1, fds[MAX_ATTACHED];
  struct cmsghdr *header;
  guint i, n;

  for (header = CMSG_FIRSTHDR (message); header;
       header = CMSG_NXTHDR (message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
      continue;
    n = (header->cmsg_len - CMSG_LEN (0)) / sizeof (fds[0]);
    memcpy (fds, CMSG_DATA (header), MIN (n, MAX_ATTACHED) * sizeof (fds[0]));
    for (i = 0; i < MIN (n, MAX_ATTACHED); i++) {
      if (first < 0)
        first = fds[i];
      else
        close (fds[i]);
    }
  }
  return first;
}

GstVkgdrIpcResult
gst_vkgdr_ipc_receive (gint fd, gpointer data, gsize *size, gint *attached)
{
  struct iovec vector = { data, *size };
  struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
  Control control;
  gssize received;

  if (attached) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof (control.room);
    *attached = -1;
  }
  /* ECONNRESET: the other end has closed the socket before it read all
   * messages. The error comes once, before the messages of the other end. */
  do {
    received = recvmsg (fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && (errno == EINTR || errno == ECONNRESET));
  if (received < 0)
    return errno == EAGAIN ? GST_VKGDR_IPC_AGAIN : GST_VKGDR_IPC_CLOSED;
  if (attached)
    *attached = detach (&message);
  *size = received;
  if (received > 0 && !(message.msg_flags & MSG_TRUNC))
    return GST_VKGDR_IPC_OK;
  if (attached && *attached >= 0) {
    close (*attached);
    *attached = -1;
  }
  return GST_VKGDR_IPC_CLOSED;
}

gboolean
gst_vkgdr_ipc_wait (gint fd, gint cancel_fd, gint64 timeout)
{
  struct timespec limit = { .tv_sec = timeout / G_USEC_PER_SEC,
    .tv_nsec = timeout % G_USEC_PER_SEC * 1000 };
  struct pollfd polls[2] = {
    { .fd = cancel_fd, .events = POLLIN },
    { .fd = fd, .events = POLLIN },
  };

  while (
      ppoll (polls, G_N_ELEMENTS (polls), timeout < 0 ? NULL : &limit, NULL) < 0
      && errno == EINTR)
    ;
  return polls[0].revents == 0;
}
