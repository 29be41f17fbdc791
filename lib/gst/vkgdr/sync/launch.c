/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.c: see sync/launch.h
 */

#include "sync/launch.h"
#include "sync/reclaim.h"
#include "sync/wait.h"

/* Kernels of a stream that may be in flight. The driver's queue takes about a
 * thousand entries, and a frame takes a handful of them. A thread that finds
 * the queue full is blocked inside the driver, where nothing can wake it. */
#define IN_FLIGHT_MAX 64

static gboolean
has_room (GstVkgdrStream *stream)
{
  return g_atomic_int_get (&stream->n_launches) < IN_FLIGHT_MAX;
}

static gboolean
make_room (GstVkgdrStream *stream, GError **error)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  gboolean ok = TRUE;

  while (ok && !has_room (stream)) {
    gst_vkgdr_reclaim_check_launches (stream->context);
    ok = gst_vkgdr_stream_check (stream, error);
    if (ok && !has_room (stream))
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  return ok;
}

gboolean
gst_vkgdr_launch_begin (GstVkgdrStream *stream, const gchar *kernel,
    GstVkgdrLaunch **launch, GError **error)
{
  guint limit = g_atomic_int_get (&stream->limit);
  GstVkgdrFence *begin = NULL;

  *launch = NULL;
  if (!gst_vkgdr_stream_check (stream, error))
    return FALSE;
  if (limit > 0 && !has_room (stream) && !make_room (stream, error))
    return FALSE;
  if (limit > 0 && !(begin = gst_vkgdr_stream_record (stream, error)))
    return FALSE;
  *launch = g_new0 (GstVkgdrLaunch, 1);
  **launch = (GstVkgdrLaunch){ .stream = gst_object_ref (stream),
    .kernel = kernel,
    .limit = limit,
    .begin = begin };
  if (gst_vkgdr_reclaim_add_launch (*launch, limit > 0 ? error : NULL))
    return TRUE;
  gst_object_unref (stream);
  g_clear_pointer (&begin, gst_vkgdr_fence_unref);
  g_clear_pointer (launch, g_free);
  return limit == 0;
}

void
gst_vkgdr_launch_end (GstVkgdrLaunch *launch, gboolean ok)
{
  if (!launch)
    return;
  if (!ok) {
    gst_vkgdr_reclaim_withdraw_launch (launch);
    return;
  }
  GST_OBJECT_LOCK (launch->stream);
  launch->next = launch->stream->open;
  launch->stream->open = launch;
  GST_OBJECT_UNLOCK (launch->stream);
}
