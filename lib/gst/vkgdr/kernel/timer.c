/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/timer.c: see kernel/timer.h
 */

#include <stdlib.h>
#include <string.h>

#include "kernel/timer.h"

/* The result is that of the last N_LAST measurements. The first N_LAST ones are
 * made one after the other, so that there is a result soon. After that, at most
 * one is made in INTERVAL microseconds, because the events cost as much as a
 * small kernel. */
#define N_LAST 16
#define INTERVAL (100 * G_TIME_SPAN_MILLISECOND)

struct _GstVkgdrTimer {
  GstVkgdrContext *context;
  CUevent begin, end;  /* NULL if they could not be created */
  gboolean is_pending; /* both are recorded, and were not reached yet */
  gint64 last;         /* time of the last measurement */

  GMutex lock;          /* for the fields below */
  gfloat times[N_LAST]; /* milliseconds */
  guint64 n;            /* measurements since the start */
};

GstVkgdrTimer *
gst_vkgdr_timer_new (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrTimer *timer = g_new0 (GstVkgdrTimer, 1);

  timer->context = gst_object_ref (context);
  g_mutex_init (&timer->lock);
  if (gst_vkgdr_context_push (context, NULL)) {
    cuda->cuEventCreate (&timer->begin, CU_EVENT_DEFAULT);
    cuda->cuEventCreate (&timer->end, CU_EVENT_DEFAULT);
    gst_vkgdr_context_pop (context);
  }
  return timer;
}

void
gst_vkgdr_timer_free (GstVkgdrTimer *timer)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (timer->context);

  if (gst_vkgdr_context_push (timer->context, NULL)) {
    if (timer->begin)
      cuda->cuEventDestroy (timer->begin);
    if (timer->end)
      cuda->cuEventDestroy (timer->end);
    gst_vkgdr_context_pop (timer->context);
  }
  gst_object_unref (timer->context);
  g_mutex_clear (&timer->lock);
  g_free (timer);
}

/* Fetches the result of the last measurement. FALSE while it is not available.
 */
static gboolean
fetch (GstVkgdrTimer *timer, const vkgdr_cuda *cuda)
{
  float ms = 0;

  if (!timer->is_pending)
    return TRUE;
  if (cuda->cuEventQuery (timer->end) != CUDA_SUCCESS)
    return FALSE;
  timer->is_pending = FALSE;
  if (cuda->cuEventElapsedTime (&ms, timer->begin, timer->end)
      == CUDA_SUCCESS) {
    g_mutex_lock (&timer->lock);
    timer->times[timer->n++ % N_LAST] = ms;
    g_mutex_unlock (&timer->lock);
  }
  return TRUE;
}

gboolean
gst_vkgdr_timer_begin (GstVkgdrTimer *timer, GstVkgdrStream *stream)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (timer->context);
  gint64 now = g_get_monotonic_time ();
  gboolean ok;

  if (!timer->begin || !timer->end
      || (timer->n >= N_LAST && now - timer->last < INTERVAL)
      || !gst_vkgdr_context_push (timer->context, NULL))
    return FALSE;
  timer->last = now;
  ok = fetch (timer, cuda)
       && cuda->cuEventRecord (
              timer->begin, gst_vkgdr_stream_peek_handle (stream))
              == CUDA_SUCCESS;
  gst_vkgdr_context_pop (timer->context);
  return ok;
}

void
gst_vkgdr_timer_end (GstVkgdrTimer *timer, GstVkgdrStream *stream)
{
  if (!gst_vkgdr_context_push (timer->context, NULL))
    return;
  timer->is_pending =
      gst_vkgdr_context_get_driver (timer->context)
          ->cuEventRecord (timer->end, gst_vkgdr_stream_peek_handle (stream))
      == CUDA_SUCCESS;
  gst_vkgdr_context_pop (timer->context);
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  gfloat x = *(const gfloat *) a, y = *(const gfloat *) b;

  return (x > y) - (x < y);
}

/* The median, because the first launch of a kernel takes much longer. */
GstClockTime
gst_vkgdr_timer_get (GstVkgdrTimer *timer)
{
  gfloat times[N_LAST];
  guint n;

  g_mutex_lock (&timer->lock);
  n = (guint) MIN (timer->n, N_LAST);
  memcpy (times, timer->times, sizeof (times));
  g_mutex_unlock (&timer->lock);
  if (n == 0)
    return GST_CLOCK_TIME_NONE;
  qsort (times, n, sizeof (gfloat), compare);
  return (GstClockTime) (times[n / 2] * GST_MSECOND);
}
