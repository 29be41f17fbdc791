/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/watch.c: see sync/watch.h
 *
 * One thread for the whole process, and an exit handler that lets it finish.
 */

#include "sync/watch.h"

#include <stdlib.h>

/* Microseconds that the end of the process waits for the device to be through
 * with memory of others: much more than a frame takes, and bearable where it
 * hangs. Once it is, giving the memory back may take the device along, whose
 * end must not be met half-way by that of the driver. */
#define END_PATIENCE (2 * G_TIME_SPAN_SECOND)
#define GIVING_PATIENCE (20 * G_TIME_SPAN_SECOND)

typedef struct {
  GPtrArray *fences;
  GObject *object;
  void (*reached) (GObject *object);
} Watch;

/* Of the process. */
static struct {
  GMutex lock;
  GCond ended;       /* one of them has, or begins to give back */
  GThreadPool *pool; /* NULL: there was none yet */
  guint n;           /* that have not ended */
  gboolean giving;   /* one of them gives memory back */
  gboolean closed;   /* the process ends: none begins */
} watches;

/* Under the lock. */
static gint64
end_deadline (gint64 begun)
{
  return begun + (watches.giving ? GIVING_PATIENCE : END_PATIENCE);
}

/* An exit handler. A watch may be the last that has the device, and give it
 * back while the drivers' handlers run, which come later: theirs were
 * registered first. A device that does not finish must not keep the process. */
static void
end_watches (void)
{
  gint64 begun = g_get_monotonic_time ();

  g_mutex_lock (&watches.lock);
  watches.closed = TRUE;
  while (watches.n > 0 && g_get_monotonic_time () < end_deadline (begun))
    g_cond_wait_until (&watches.ended, &watches.lock, end_deadline (begun));
  g_mutex_unlock (&watches.lock);
}

/* In a thread of the pool below. */
static void
watch (gpointer data, gpointer unused)
{
  Watch *self = data;
  guint i;

  for (i = 0; i < self->fences->len; i++)
    gst_vkgdr_fence_wait (g_ptr_array_index (self->fences, i), NULL);
  g_ptr_array_unref (self->fences);
  g_mutex_lock (&watches.lock);
  watches.giving = TRUE;
  g_cond_signal (&watches.ended);
  g_mutex_unlock (&watches.lock);
  self->reached (self->object);
  g_object_unref (self->object);
  g_free (self);
  g_mutex_lock (&watches.lock);
  watches.giving = FALSE;
  watches.n--;
  g_cond_signal (&watches.ended);
  g_mutex_unlock (&watches.lock);
}

/* Under the lock: whether there may be one more. */
static gboolean
open_watches (void)
{
  if (watches.closed)
    return FALSE;
  if (!watches.pool) {
    watches.pool = g_thread_pool_new (watch, NULL, 1, FALSE, NULL);
    atexit (end_watches);
  }
  return TRUE;
}

void
gst_vkgdr_watch_fences (
    GPtrArray *fences, GObject *object, void (*reached) (GObject *object))
{
  Watch *data;

  g_mutex_lock (&watches.lock);
  if (open_watches ()) {
    data = g_new0 (Watch, 1);
    data->fences = g_ptr_array_ref (fences);
    data->object = g_object_ref (object);
    data->reached = reached;
    watches.n++;
    g_thread_pool_push (watches.pool, data, NULL);
  }
  g_mutex_unlock (&watches.lock);
}
