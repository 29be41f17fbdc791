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
  return gst_vkgdr_stream_get_n_launches (stream) < IN_FLIGHT_MAX;
}

static gboolean
make_room (GstVkgdrStream *stream, GError **error)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  gboolean ok = TRUE;

  while (ok && !has_room (stream)) {
    gst_vkgdr_reclaim_check_launches (gst_vkgdr_stream_get_context (stream));
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
  guint limit = gst_vkgdr_stream_get_kernel_timeout (stream);
  GstVkgdrFence *begin;

  *launch = NULL;
  if (!gst_vkgdr_stream_check (stream, error))
    return FALSE;
  if (limit == 0)
    return TRUE;
  if (!make_room (stream, error))
    return FALSE;
  begin = gst_vkgdr_stream_record (stream, error);
  if (!begin)
    return FALSE;
  *launch = g_new0 (GstVkgdrLaunch, 1);
  (*launch)->stream = gst_object_ref (stream);
  (*launch)->kernel = kernel;
  (*launch)->limit = limit;
  (*launch)->begin = begin;
  if (gst_vkgdr_reclaim_add_launch (*launch, error))
    return TRUE;
  gst_object_unref (stream);
  gst_vkgdr_fence_unref (begin);
  g_clear_pointer (launch, g_free);
  return FALSE;
}

void
gst_vkgdr_launch_end (GstVkgdrLaunch *launch, gboolean ok)
{
  if (!launch)
    return;
  if (ok)
    gst_vkgdr_stream_add_open (launch->stream, launch);
  else
    gst_vkgdr_reclaim_withdraw_launch (launch);
}
