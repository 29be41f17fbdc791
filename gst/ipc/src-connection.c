/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src-connection.c: the connection of vkgdripcsrc
 *
 * The streaming thread waits for the server and for its messages, until the
 * wait is cancelled.
 */

#include <errno.h>

#include "ipc/buffer.h"
#include "ipc/src.h"

/* Nanoseconds between the first two attempts to connect, and between later
 * ones. */
#define FIRST_PAUSE (10 * GST_MSECOND)
#define LAST_PAUSE GST_SECOND

/* Tries to connect once. Returns NULL with errno and the last error of libvkgdr
 * set on failure. */
static vkgdr_frames_t
try_connect (GstVkgdrIpcSrc *self)
{
  vkgdr_frames_params params = { .timeout = 0 };
  gchar *path = gst_vkgdr_ipc_endpoint_get_address (
      &self->endpoint, &params.allowed_peers);
  vkgdr_frames_t frames;
  int number;

  params.path = path;
  gst_vkgdr_ipc_set_import (&params, self->allocator);
  frames = vkgdr_frames_connect (&params);
  number = errno;
  g_free (path);
  errno = number;
  return frames;
}

static gint64
get_deadline (GstVkgdrIpcSrc *self)
{
  guint seconds;

  GST_OBJECT_LOCK (self);
  seconds = self->connection_timeout;
  GST_OBJECT_UNLOCK (self);
  return seconds == 0 ? G_MAXINT64
                      : g_get_monotonic_time () + seconds * G_TIME_SPAN_SECOND;
}

/* Waits, or until there is a message. Returns FALSE if the wait was
 * cancelled. */
static gboolean
pause_until (GstVkgdrIpcSrc *self, GstClockTime pause, gint64 deadline)
{
  gint64 left = (deadline - g_get_monotonic_time ()) * 1000;

  if (deadline != G_MAXINT64)
    pause = MIN (pause, (GstClockTime) MAX (left, 0));
  return gst_poll_wait (self->poll, pause) >= 0 || errno != EBUSY;
}

static void
set_frames (GstVkgdrIpcSrc *self, vkgdr_frames_t frames)
{
  self->poll_fd.fd = vkgdr_frames_get_fd (frames);
  gst_poll_add_fd (self->poll, &self->poll_fd);
  gst_poll_fd_ctl_read (self->poll, &self->poll_fd, TRUE);
  GST_OBJECT_LOCK (self);
  self->frames_in = frames;
  GST_OBJECT_UNLOCK (self);
}

/* Connects, and waits until the server has answered. Returns FALSE with errno
 * set, to EBUSY if the wait was cancelled. The pauses between attempts grow. */
static gboolean
connect_until (GstVkgdrIpcSrc *self, gint64 deadline)
{
  GstClockTime pause = FIRST_PAUSE;
  vkgdr_frames_t frames;

  while (!self->frames_in) {
    frames = try_connect (self);
    if (frames) {
      set_frames (self, frames);
      break;
    }
    if (errno != ENOENT || g_get_monotonic_time () >= deadline)
      return FALSE;
    if (!pause_until (self, pause, deadline)) {
      errno = EBUSY;
      return FALSE;
    }
    pause = MIN (pause * 2, LAST_PAUSE);
  }
  while (!vkgdr_frames_wait_accepted (self->frames_in, 0)) {
    if (errno != ETIMEDOUT || g_get_monotonic_time () >= deadline)
      return FALSE;
    if (!pause_until (self, LAST_PAUSE, deadline)) {
      errno = EBUSY;
      return FALSE;
    }
  }
  return TRUE;
}

gboolean
gst_vkgdr_ipc_src_connect (GstVkgdrIpcSrc *self, GError **error)
{
  gboolean is_late;

  if (connect_until (self, get_deadline (self)))
    return TRUE;
  if (errno == EBUSY)
    return FALSE;
  is_late = errno == ENOENT || errno == ETIMEDOUT;
  gst_vkgdr_ipc_take_error (
      error, is_late ? G_IO_ERROR_NOT_FOUND : G_IO_ERROR_FAILED);
  if (is_late)
    g_prefix_error (error, "After the connection-timeout, ");
  return FALSE;
}

/* Waits for a message. During the time of busy-poll, returns TRUE at once: the
 * caller polls the socket. Returns FALSE if the wait was cancelled. */
static gboolean
wait_for_message (GstVkgdrIpcSrc *self, gint64 start)
{
  guint busy_poll;

  if (g_atomic_int_get (&self->is_unlocked))
    return FALSE;
  GST_OBJECT_LOCK (self);
  busy_poll = self->busy_poll;
  GST_OBJECT_UNLOCK (self);
  if (busy_poll > 0 && g_get_monotonic_time () - start < busy_poll)
    return TRUE;
  return gst_poll_wait (self->poll, GST_CLOCK_TIME_NONE) >= 0 || errno != EBUSY;
}

vkgdr_frames_status
gst_vkgdr_ipc_src_receive (GstVkgdrIpcSrc *self, vkgdr_frame_t *frame)
{
  gint64 start = g_get_monotonic_time ();
  vkgdr_frames_status status;

  do {
    status = vkgdr_frames_receive (self->frames_in, 0, frame);
  } while (status == VKGDR_FRAMES_TIMEOUT && wait_for_message (self, start));
  return status;
}

void
gst_vkgdr_ipc_src_set_unlocked (GstVkgdrIpcSrc *self, gboolean is_unlocked)
{
  g_atomic_int_set (&self->is_unlocked, is_unlocked);
  GST_OBJECT_LOCK (self);
  if (self->poll)
    gst_poll_set_flushing (self->poll, is_unlocked);
  GST_OBJECT_UNLOCK (self);
}

void
gst_vkgdr_ipc_src_disconnect (GstVkgdrIpcSrc *self)
{
  vkgdr_frames_t frames;

  GST_OBJECT_LOCK (self);
  frames = g_steal_pointer (&self->frames_in);
  if (frames)
    self->last_lost = vkgdr_frames_get_lost (frames);
  GST_OBJECT_UNLOCK (self);
  vkgdr_frames_close (frames);
}

gboolean
gst_vkgdr_ipc_src_set_invalid (GError **error, const gchar *what)
{
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
      "the server has sent %s that this client cannot use", what);
  return FALSE;
}
