/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/follow.c: see sync/follow.h
 */

#include "sync/follow.h"

void
gst_vkgdr_stream_allow_followers (GstVkgdrStream *stream)
{
  gst_vkgdr_clock_allow_followers (gst_vkgdr_stream_get_clock (stream));
}

/* The clock identifies a CUDA stream. */
static GstVkgdrClock *
choose_clock (
    GstVkgdrStream *own, GstVkgdrStream *current, GstVkgdrFence *written)
{
  GstVkgdrClock *clock;

  if (!written)
    return gst_vkgdr_stream_get_clock (current);
  clock = gst_vkgdr_fence_get_clock_of_thread (written);
  if (clock && gst_vkgdr_clock_allows_followers (clock)
      && gst_vkgdr_fence_get_context (written)
             == gst_vkgdr_stream_get_context (own))
    return clock;
  return gst_vkgdr_stream_get_clock (own);
}

/* Returns a reference to a stream on the CUDA stream of @clock, whose kernels
 * have the limit, the name and the signal of @own. Returns a reference to @own
 * if the CUDA stream is about to be destroyed. */
static GstVkgdrStream *
make_stream (GstVkgdrStream *own, GstVkgdrClock *clock)
{
  GstVkgdrStream *leader = NULL, *follower;

  if (clock != gst_vkgdr_stream_get_clock (own))
    leader = gst_vkgdr_clock_ref_stream (clock);
  if (!leader)
    return gst_object_ref (own);
  follower = gst_vkgdr_stream_new_follower (own, leader);
  gst_object_unref (leader);
  return follower;
}

/* A kernel may use data that it kept on the device from the previous frame. So
 * work on @after has to wait for the work on @before. */
static gboolean
keep_order (GstVkgdrStream *before, GstVkgdrStream *after, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_stream_record (before, error);
  gboolean ok = fence && gst_vkgdr_stream_wait (after, fence, error);

  if (fence)
    gst_vkgdr_fence_unref (fence);
  return ok;
}

gboolean
gst_vkgdr_stream_follow (GstVkgdrStream *own, GstVkgdrStream **current,
    GstVkgdrFence *written, GError **error)
{
  GstVkgdrClock *clock = choose_clock (own, *current, written);
  GstVkgdrStream *next;

  if (clock == gst_vkgdr_stream_get_clock (*current))
    return TRUE;
  next = make_stream (own, clock);
  if (!keep_order (*current, next, error)) {
    gst_object_unref (next);
    return FALSE;
  }
  gst_object_unref (*current);
  *current = next;
  return TRUE;
}
