/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src.h: declarations for the files of vkgdripcsrc
 *
 * src.c has the class, the properties, start and stop, and makes buffers.
 * src-connection.c waits for messages, src-events.c applies what the server
 * says about the stream, and src-times.c its times.
 */

#ifndef __GST_VKGDR_IPC_SRC_H__
#define __GST_VKGDR_IPC_SRC_H__

#include <gst/base/gstpushsrc.h>

#include "ipc/copy.h"
#include "ipc/endpoint.h"

G_BEGIN_DECLS

/* Nanoseconds. A frame that is due later than this after now is refused,
 * because a sink would wait for it. */
#define GST_VKGDR_IPC_MAX_WAIT (GST_SECOND * 60 * 60 * 24 * 365)

#define GST_TYPE_VKGDR_IPC_SRC (gst_vkgdr_ipc_src_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrIpcSrc, gst_vkgdr_ipc_src, GST, VKGDR_IPC_SRC, GstPushSrc)

struct _GstVkgdrIpcSrc {
  GstPushSrc parent;

  GstVkgdrIpcEndpoint endpoint;

  /* Properties, protected by the object lock. */
  guint connection_timeout; /* seconds */
  guint busy_poll;          /* microseconds */

  /* Exist between start and stop. */
  GstVkgdrAllocator *allocator;
  /* The streaming thread waits with it. Set under the object lock: the
   * application may send a flush while the element starts or stops. */
  GstPoll *poll;
  GstPollFD poll_fd;
  gint is_unlocked; /* atomic: the streaming thread must not wait */

  /* Set by the streaming thread, and cleared by stop, under the object lock. */
  vkgdr_frames_t frames_in;

  /* Used by the streaming thread. */
  guint64 serials[VKGDR_FRAMES_N_STATES]; /* of what was applied */
  GstVkgdrIpcCopier *copier;              /* or NULL: nothing was copied yet */
  GstVideoInfo info;     /* of the caps; empty if they are not raw video */
  GstCaps *caps;         /* of the server, or NULL */
  gboolean needs_caps;   /* caps have to be pushed before the next frame */
  gboolean needs_offset; /* a segment arrived, but no frame after it */
  GstSegment segment;
  gboolean follows_clock; /* the timestamps come from a clock */

  /* Statistics, protected by the object lock. */
  guint64 frames;
  guint64 last_lost;    /* of the last connection */
  GstClockTime latency; /* of the server's pipeline */
};

/* --- src-connection.c --- */

/* Connects, unless there is a connection. Returns FALSE with @error set on
 * failure, and FALSE without an error if the wait was cancelled. */
gboolean gst_vkgdr_ipc_src_connect (GstVkgdrIpcSrc *self, GError **error);

/* Returns VKGDR_FRAMES_TIMEOUT if the wait was cancelled. */
vkgdr_frames_status gst_vkgdr_ipc_src_receive (
    GstVkgdrIpcSrc *self, vkgdr_frame_t *frame);

/* Cancels the waits of the streaming thread, or permits them again.
 * Thread-safe. */
void gst_vkgdr_ipc_src_set_unlocked (
    GstVkgdrIpcSrc *self, gboolean is_unlocked);

void gst_vkgdr_ipc_src_disconnect (GstVkgdrIpcSrc *self);

/* Sets the error for a message whose content is not valid. Returns FALSE. */
gboolean gst_vkgdr_ipc_src_set_invalid (GError **error, const gchar *what);

/* --- src-events.c --- */

/* Applies what changed before @frame (nullable). A segment needs a frame:
 * without one, it is applied later. */
GstFlowReturn gst_vkgdr_ipc_src_apply_changes (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error);

/* --- src-times.c --- */

/* Applies the segment, and its shift to this pipeline. Returns FALSE with
 * @error set if the frame would be due years later. */
gboolean gst_vkgdr_ipc_src_apply_times (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_SRC_H__ */
