/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/background.c: see sync/background.h
 */

#include "sync/background.h"

#include <stdlib.h>
#include <unistd.h>

/* Microseconds for which the end waits for threads that were asked to return.
 * It waits that long even if a thread is in a driver call, because the call
 * must not race with driver teardown. */
#define MAX_WAIT (20 * G_TIME_SPAN_SECOND)

/* Microseconds after which the end checks again whether a thread is stuck. */
#define LOOK (50 * G_TIME_SPAN_MILLISECOND)

typedef struct {
  const GstVkgdrBackground *type;
  gpointer data;             /* NULL once the thread's function has returned */
  gboolean is_end_requested; /* was asked to return */
} Thread;

/* Process-wide: all threads, for the end. */
static GMutex lock;
static GCond changed;
static GPtrArray *threads; /* of Thread, in no order */
static gint owner;         /* the process that they belong to; atomic */
static gint is_over;       /* the end has begun; atomic; written locked */

/* --- the end ---------------------------------------------------------------
 */

/* Must be called with the lock held. */
static Thread *
find (gboolean (*is_wanted) (Thread *))
{
  guint i;

  for (i = 0; i < threads->len; i++) {
    Thread *thread = g_ptr_array_index (threads, i);

    if (is_wanted (thread))
      return thread;
  }
  return NULL;
}

static gboolean
has_no_end_request (Thread *thread)
{
  return !thread->is_end_requested;
}

static gboolean
is_ending (Thread *thread)
{
  return !thread->data || !thread->type->is_stuck (thread->data);
}

/* Must be called with the lock held, which is released meanwhile. */
static void
request_end (Thread *thread)
{
  const GstVkgdrBackground *type = thread->type;
  gpointer data;

  thread->is_end_requested = TRUE;
  if (!thread->data)
    return;
  data = type->ref (thread->data);
  g_mutex_unlock (&lock);
  type->end (data);
  type->unref (data);
  g_mutex_lock (&lock);
}

static void
end_all (void)
{
  gint64 deadline = g_get_monotonic_time () + MAX_WAIT;
  Thread *thread;

  /* Without the lock, which another thread may have held during fork (). */
  if (getpid () != g_atomic_int_get (&owner))
    return;
  g_mutex_lock (&lock);
  g_atomic_int_set (&is_over, TRUE);
  while ((thread = find (has_no_end_request)))
    request_end (thread);
  while (find (is_ending) && g_get_monotonic_time () < deadline)
    g_cond_wait_until (&changed, &lock, g_get_monotonic_time () + LOOK);
  g_mutex_unlock (&lock);
}

static void
end_with_registry (gpointer data, GObject *registry)
{
  end_all ();
}

/* --- threads ---------------------------------------------------------------
 */

/* Must be called with the lock held. */
static void
prepare (void)
{
  if (!threads) {
    threads = g_ptr_array_new ();
    atexit (end_all);
    g_object_weak_ref (G_OBJECT (gst_registry_get ()), end_with_registry, NULL);
  } else if (g_atomic_int_get (&owner) != getpid ()) {
    g_ptr_array_set_size (threads, 0); /* fork () has copied no thread */
  }
  g_atomic_int_set (&owner, getpid ());
}

/* Must be the last call of a thread. Releases the thread's data before it
 * removes the thread. */
static void
remove_thread (Thread *thread)
{
  gpointer data = thread->data;

  g_mutex_lock (&lock);
  thread->data = NULL;
  g_mutex_unlock (&lock);
  thread->type->unref (data);
  g_mutex_lock (&lock);
  g_ptr_array_remove_fast (threads, thread);
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
  g_free (thread);
}

static gpointer
run (gpointer data)
{
  Thread *thread = data;

  g_mutex_lock (&lock); /* waits until start () has set all fields */
  g_mutex_unlock (&lock);
  thread->type->run (thread->data);
  remove_thread (thread);
  return NULL;
}

/* Must be called with the lock held. */
static gboolean
start (const GstVkgdrBackground *type, gpointer data, GError **error)
{
  Thread *thread = g_new0 (Thread, 1);
  GThread *handle = g_thread_try_new (type->name, run, thread, error);

  if (!handle) {
    g_free (thread);
    return FALSE;
  }
  g_thread_unref (handle);
  thread->type = type;
  thread->data = type->ref (data);
  g_ptr_array_add (threads, thread);
  return TRUE;
}

gboolean
gst_vkgdr_background_start (
    const GstVkgdrBackground *type, gpointer data, GError **error)
{
  gboolean ok = FALSE;

  g_mutex_lock (&lock);
  prepare ();
  if (gst_vkgdr_background_is_over ())
    g_set_error_literal (error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN,
        "GStreamer or the process is shutting down");
  else
    ok = start (type, data, error);
  g_mutex_unlock (&lock);
  return ok;
}

gboolean
gst_vkgdr_background_is_over (void)
{
  return g_atomic_int_get (&is_over);
}
