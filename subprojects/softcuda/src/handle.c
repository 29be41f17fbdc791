/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * handle.c: the lock, and the table of live handles
 *
 * A hash table of the objects whose handles callers have, by address. The
 * memory of a freed object is not reused for a while, so that a stale handle
 * does not become the handle of a new object. Knows nothing of the kinds of
 * objects.
 */

#include "private.h"

/* Must be a power of 2. Pools create two events for each buffer, so there may
 * be thousands. */
#define N_BUCKETS 1024

/* The number of freed objects whose memory is not reused yet. */
#define N_RESTING 256

static pthread_mutex_t rest_lock = PTHREAD_MUTEX_INITIALIZER;
static void *resting[N_RESTING];
static unsigned int next_resting; /* index of the oldest one */

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static sc_handle *buckets[N_BUCKETS];

void
sc_lock (void)
{
  pthread_mutex_lock (&state_lock);
}

void
sc_unlock (void)
{
  pthread_mutex_unlock (&state_lock);
}

void
sc_wait_progress_locked (void)
{
  pthread_cond_wait (&progress, &state_lock);
}

void
sc_wait_wake_locked (pthread_cond_t *wake)
{
  pthread_cond_wait (wake, &state_lock);
}

void
sc_signal_progress_locked (void)
{
  pthread_cond_broadcast (&progress);
}

static sc_handle **
bucket_of (const void *handle)
{
  uintptr_t h = (uintptr_t) handle >> 4;

  return &buckets[(h ^ (h >> 10)) & (N_BUCKETS - 1)];
}

void
sc_handle_add_locked (sc_handle *handle, sc_kind kind, CUcontext context)
{
  sc_handle **bucket = bucket_of (handle);

  handle->kind = kind;
  handle->refs = 1;
  handle->context = context;
  handle->chain = *bucket;
  *bucket = handle;
}

bool
sc_handle_is_live_locked (const void *handle, sc_kind kind)
{
  for (sc_handle *h = *bucket_of (handle); h != NULL; h = h->chain)
    if (h == handle)
      return h->kind == kind;
  return false;
}

void
sc_handle_remove_locked (sc_handle *handle)
{
  for (sc_handle **p = bucket_of (handle); *p != NULL; p = &(*p)->chain) {
    if (*p == handle) {
      *p = handle->chain;
      handle->chain = NULL;
      return;
    }
  }
}

void
sc_handle_free (void *object)
{
  void *oldest;

  pthread_mutex_lock (&rest_lock);
  oldest = resting[next_resting];
  resting[next_resting] = object;
  next_resting = (next_resting + 1) % N_RESTING;
  pthread_mutex_unlock (&rest_lock);
  free (oldest);
}

void *
sc_handle_any_locked (sc_kind kind, CUcontext context)
{
  for (int i = 0; i < N_BUCKETS; i++)
    for (sc_handle *h = buckets[i]; h != NULL; h = h->chain)
      if (h->kind == kind && h->context == context)
        return h;
  return NULL;
}

void
sc_handle_each_locked (
    sc_kind kind, void (*each) (sc_handle *handle, void *data), void *data)
{
  for (int i = 0; i < N_BUCKETS; i++)
    for (sc_handle *h = buckets[i]; h != NULL; h = h->chain)
      if (h->kind == kind)
        each (h, data);
}
