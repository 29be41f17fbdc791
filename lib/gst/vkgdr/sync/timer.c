/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/timer.c: see sync/timer.h
 */

#include "sync/timer.h"

/* Measurements that may be pending at once: more frames than a queue holds
 * between an element and the device. */
#define PAIRS 16

/* The first measurements are made for every frame, so that there is a result
 * soon. Later only one of INTERVAL frames is measured, and at most one in
 * INTERVAL_TIME microseconds: an event costs as much as a small kernel. */
#define FIRST 16
#define INTERVAL 64
#define INTERVAL_TIME (10 * G_TIME_SPAN_MILLISECOND)

typedef struct {
  CUevent begin;
  CUevent end;
  gboolean pending;
} Pair;

struct _GstVkgdrTimer {
  GstVkgdrContext *context;
  Pair pairs[PAIRS];
  Pair *current; /* begun, but not ended */
  guint next;
  guint64 n_begun; /* including those that were skipped */
  gint64 last;     /* time of the last one that was not skipped */

  GMutex lock; /* for the fields below */
  gdouble total_ms;
  guint64 n;
};

GstVkgdrTimer *
gst_vkgdr_timer_new (GstVkgdrContext *context)
{
  GstVkgdrTimer *timer = g_new0 (GstVkgdrTimer, 1);

  timer->context = gst_object_ref (context);
  g_mutex_init (&timer->lock);
  return timer;
}

void
gst_vkgdr_timer_free (GstVkgdrTimer *timer)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (timer->context);
  guint i;

  if (gst_vkgdr_context_push (timer->context, NULL)) {
    for (i = 0; i < PAIRS; i++) {
      if (timer->pairs[i].begin)
        cuda->cuEventDestroy (timer->pairs[i].begin);
      if (timer->pairs[i].end)
        cuda->cuEventDestroy (timer->pairs[i].end);
    }
    gst_vkgdr_context_pop (timer->context);
  }
  gst_object_unref (timer->context);
  g_mutex_clear (&timer->lock);
  g_free (timer);
}

/* Fetches the result of a pair. FALSE while it is not available. */
static gboolean
fetch (GstVkgdrTimer *timer, const vkgdr_cuda *cuda, Pair *pair)
{
  float ms = 0;

  if (!pair->pending)
    return TRUE;
  if (cuda->cuEventQuery (pair->end) != CUDA_SUCCESS)
    return FALSE;
  pair->pending = FALSE;
  if (cuda->cuEventElapsedTime (&ms, pair->begin, pair->end) == CUDA_SUCCESS) {
    g_mutex_lock (&timer->lock);
    timer->total_ms += ms;
    timer->n++;
    g_mutex_unlock (&timer->lock);
  }
  return TRUE;
}

/* Fetches the results that are available, oldest first. */
static void
fetch_all (GstVkgdrTimer *timer, const vkgdr_cuda *cuda)
{
  guint i;

  for (i = 0; i < PAIRS; i++)
    if (!fetch (timer, cuda, &timer->pairs[(timer->next + i) % PAIRS]))
      return;
}

static gboolean
make_events (const vkgdr_cuda *cuda, Pair *pair)
{
  if (!pair->begin
      && cuda->cuEventCreate (&pair->begin, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
    return FALSE;
  return pair->end
         || cuda->cuEventCreate (&pair->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
}

static gboolean
is_due (GstVkgdrTimer *timer)
{
  guint64 n = timer->n_begun++;
  gint64 now;

  if (n < FIRST)
    return TRUE;
  if (n % INTERVAL != 0)
    return FALSE;
  now = g_get_monotonic_time ();
  if (now - timer->last < INTERVAL_TIME)
    return FALSE;
  timer->last = now;
  return TRUE;
}

/* Records an event behind all work of @stream. Must be called with the CUDA
 * context current. */
static gboolean
record (const vkgdr_cuda *cuda, GstVkgdrStream *stream, CUevent event)
{
  return cuda->cuEventRecord (event, gst_vkgdr_stream_get_handle (stream))
         == CUDA_SUCCESS;
}

void
gst_vkgdr_timer_begin (GstVkgdrTimer *timer, GstVkgdrStream *stream)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (timer->context);
  Pair *pair = &timer->pairs[timer->next];

  timer->current = NULL;
  if (!is_due (timer) || !gst_vkgdr_context_push (timer->context, NULL))
    return;
  fetch_all (timer, cuda);
  if (!pair->pending && make_events (cuda, pair)
      && record (cuda, stream, pair->begin)) {
    timer->current = pair;
    timer->next = (timer->next + 1) % PAIRS;
  }
  gst_vkgdr_context_pop (timer->context);
}

void
gst_vkgdr_timer_end (GstVkgdrTimer *timer, GstVkgdrStream *stream)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (timer->context);
  Pair *pair = timer->current;

  if (!pair || !gst_vkgdr_context_push (timer->context, NULL))
    return;
  pair->pending = record (cuda, stream, pair->end);
  gst_vkgdr_context_pop (timer->context);
}

GstClockTime
gst_vkgdr_timer_get (GstVkgdrTimer *timer)
{
  GstClockTime mean = GST_CLOCK_TIME_NONE;

  g_mutex_lock (&timer->lock);
  if (timer->n > 0)
    mean = (GstClockTime) (timer->total_ms * GST_MSECOND / timer->n);
  g_mutex_unlock (&timer->lock);
  return mean;
}
