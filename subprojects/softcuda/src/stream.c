/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * stream.c: streams, their threads, and the order of work
 *
 * A stream is a queue of items and a thread that runs them. An item has a list
 * of points of other streams, for which it waits. The list is made when the
 * item is submitted, and has only points of earlier items, so there is no
 * deadlock. Knows nothing of what the items do.
 */

#include <signal.h>

#include "private.h"

/* CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: the default stream by name. */
#define STREAM_LEGACY ((CUstream) 1)
#define STREAM_PER_THREAD ((CUstream) 2)

typedef struct sc_item {
  struct sc_item *next;
  sc_work work;
  uint64_t seq;
  int n_after;
  sc_point after[];
} sc_item;

typedef struct {
  CUstream stream;
  CUcontext context;
  int n;
  sc_point *points; /* NULL while the points are counted */
} gather;

/* One counter for all streams. An item with a greater number was submitted
 * later. */
static uint64_t last_seq;

/* Of all streams: the items that are running. */
static unsigned int n_running;

/* The calls that wait until no item is running. Meanwhile, no item begins. */
static unsigned int n_pausing;

static void
stream_unref_locked (CUstream stream)
{
  if (--stream->handle.refs != 0)
    return;
  pthread_cond_destroy (&stream->wake);
  sc_handle_free (stream);
}

sc_point
sc_point_copy_locked (const sc_point *point)
{
  if (point->stream != NULL)
    point->stream->handle.refs++;
  return *point;
}

void
sc_point_clear_locked (sc_point *point)
{
  if (point->stream != NULL)
    stream_unref_locked (point->stream);
  point->stream = NULL;
}

bool
sc_point_is_reached_locked (const sc_point *point)
{
  return point->stream == NULL || point->stream->completed >= point->seq;
}

void
sc_wait_point_locked (const sc_point *point)
{
  sc_point held = sc_point_copy_locked (point);

  while (!sc_point_is_reached_locked (&held))
    sc_wait_progress_locked ();
  sc_point_clear_locked (&held);
}

/* ---- the thread ---- */

static void
remove_locked (CUstream stream)
{
  sc_handle_remove_locked (&stream->handle);
  stream_unref_locked (stream);
  sc_signal_progress_locked ();
}

static void
run_item_locked (CUstream stream, sc_item *item)
{
  CUcontext context = stream->handle.context;
  CUresult result = CUDA_SUCCESS;
  bool run;

  for (int i = 0; i < item->n_after; i++)
    sc_wait_point_locked (&item->after[i]);
  while (n_pausing > 0)
    sc_wait_progress_locked ();
  n_running++;
  run = context->error == CUDA_SUCCESS || item->work.even_after_error;
  sc_unlock ();
  if (run)
    result = item->work.run (item->work.data);
  if (item->work.drop != NULL)
    item->work.drop (item->work.data);
  sc_lock ();
  n_running--;
  if (context->error == CUDA_SUCCESS)
    context->error = result;
}

static void *
stream_thread (void *data)
{
  CUstream stream = data;

  pthread_setname_np (pthread_self (), "softcuda-stream");
  sc_lock ();
  for (;;) {
    sc_item *item = stream->head;

    if (item == NULL && stream->quit)
      break;
    if (item == NULL) {
      sc_wait_wake_locked (&stream->wake);
      continue;
    }
    run_item_locked (stream, item);
    stream->head = item->next;
    if (stream->head == NULL)
      stream->tail = &stream->head;
    stream->completed = item->seq;
    sc_signal_progress_locked ();
    for (int i = 0; i < item->n_after; i++)
      sc_point_clear_locked (&item->after[i]);
    free (item);
  }
  remove_locked (stream);
  sc_unlock ();
  return NULL;
}

/* These threads block all signals, which are for the threads of the program.
 * They are detached, because a kernel may run for ever, and the process must be
 * able to end. */
static CUresult
start_thread_locked (CUstream stream)
{
  sigset_t all, before;
  pthread_t thread;
  int failed;

  if (stream->started)
    return CUDA_SUCCESS;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  failed = pthread_create (&thread, NULL, stream_thread, stream);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (failed)
    return CUDA_ERROR_OUT_OF_MEMORY;
  pthread_detach (thread);
  stream->started = true;
  return CUDA_SUCCESS;
}

/* ---- submission ---- */

static void
gather_one (gather *g, CUstream other)
{
  sc_point point = { other, other->submitted };

  if (other == g->stream || sc_point_is_reached_locked (&point))
    return;
  if (g->points != NULL)
    g->points[g->n] = sc_point_copy_locked (&point);
  g->n++;
}

static void
gather_each (sc_handle *handle, void *data)
{
  CUstream other = (CUstream) handle;
  gather *g = data;

  if (handle->context == g->context
      && (g->stream->joins || !other->non_blocking))
    gather_one (g, other);
}

/* The default stream waits for all blocking streams, and these wait for the
 * default stream. */
static void
gather_points_locked (gather *g, const sc_point *after)
{
  CUstream stream = g->stream;
  CUstream null_stream = g->context->null_stream;

  g->n = 0;
  if (stream == null_stream || stream->joins)
    sc_handle_each_locked (SC_KIND_STREAM, gather_each, g);
  else if (!stream->non_blocking)
    gather_one (g, null_stream);
  if (after == NULL || sc_point_is_reached_locked (after))
    return;
  if (g->points != NULL)
    g->points[g->n] = sc_point_copy_locked (after);
  g->n++;
}

static sc_item *
item_new_locked (CUstream stream, const sc_work *work, const sc_point *after)
{
  gather g = { stream, stream->handle.context, 0, NULL };
  sc_item *item;

  gather_points_locked (&g, after);
  item = calloc (1, sizeof *item + g.n * sizeof *g.points);
  if (item == NULL)
    return NULL;
  g.points = item->after;
  gather_points_locked (&g, after);
  item->n_after = g.n;
  item->work = *work;
  item->seq = ++last_seq;
  return item;
}

CUresult
sc_submit_locked (CUstream stream, const sc_work *work, const sc_point *after,
    sc_point *point)
{
  CUresult result = start_thread_locked (stream);
  sc_item *item = NULL;

  if (result == CUDA_SUCCESS) {
    item = item_new_locked (stream, work, after);
    if (item == NULL)
      result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) {
    if (work->drop != NULL)
      work->drop (work->data);
    return result;
  }
  stream->submitted = item->seq;
  *stream->tail = item;
  stream->tail = &item->next;
  pthread_cond_signal (&stream->wake);
  if (point != NULL)
    *point = (sc_point){ stream, item->seq };
  return CUDA_SUCCESS;
}

CUresult
sc_submit_and_wait_locked (CUstream stream, const sc_work *work)
{
  CUcontext context;
  sc_point point;
  CUresult result = sc_submit_locked (stream, work, NULL, &point);

  if (result != CUDA_SUCCESS)
    return result;
  context = sc_context_ref_locked (stream->handle.context);
  sc_wait_point_locked (&point);
  return sc_context_unref_locked (context);
}

/* ---- waiting for several streams ---- */

typedef struct {
  CUcontext context; /* NULL: all */
  bool blocking_only;
  uint64_t until;
  bool busy;
} busy_search;

static void
search_busy (sc_handle *handle, void *data)
{
  CUstream stream = (CUstream) handle;
  busy_search *search = data;

  if (search->context != NULL && handle->context != search->context)
    return;
  if (search->blocking_only && stream->non_blocking)
    return;
  if (stream->head != NULL && stream->head->seq <= search->until)
    search->busy = true;
}

static bool
is_busy_locked (busy_search *search)
{
  search->busy = false;
  sc_handle_each_locked (SC_KIND_STREAM, search_busy, search);
  return search->busy;
}

void
sc_wait_idle_locked (CUcontext context)
{
  busy_search search = { context, false, last_seq, false };

  while (is_busy_locked (&search))
    sc_wait_progress_locked ();
}

/* While the first wait releases the lock, other threads may submit more work. A
 * busy program does so all the time, so waiting until nothing is pending might
 * never end. Instead, the second wait lets no item begin, and waits for those
 * that are running. It comes second, because the items of the first wait may
 * need items that have not begun. */
void
sc_wait_until_paused_locked (void)
{
  sc_wait_idle_locked (NULL);
  n_pausing++;
  while (n_running > 0)
    sc_wait_progress_locked ();
  n_pausing--;
  sc_signal_progress_locked ();
}

/* Returns a search for the work before the current end of the default stream.
 * This includes the work of all blocking streams of the context. */
static busy_search
search_of_stream (CUstream stream)
{
  return (busy_search){ stream->handle.context, true, last_seq, false };
}

static bool
is_null_stream (CUstream stream)
{
  return stream == stream->handle.context->null_stream;
}

static bool
stream_is_idle_locked (CUstream stream)
{
  busy_search search = search_of_stream (stream);

  return is_null_stream (stream) ? !is_busy_locked (&search)
                                 : stream->head == NULL;
}

static void
wait_stream_locked (CUstream stream)
{
  busy_search search = search_of_stream (stream);
  sc_point point = { stream, stream->submitted };

  if (!is_null_stream (stream))
    sc_wait_point_locked (&point);
  else
    while (is_busy_locked (&search))
      sc_wait_progress_locked ();
}

/* ---- streams ---- */

CUstream
sc_stream_new_locked (CUcontext context, bool non_blocking)
{
  CUstream stream = calloc (1, sizeof *stream);

  if (stream == NULL)
    return NULL;
  stream->non_blocking = non_blocking;
  stream->tail = &stream->head;
  pthread_cond_init (&stream->wake, NULL);
  sc_handle_add_locked (&stream->handle, SC_KIND_STREAM, context);
  return stream;
}

CUstream
sc_stream_joining_locked (CUcontext context)
{
  if (context->joining == NULL) {
    context->joining = sc_stream_new_locked (context, true);
    if (context->joining != NULL)
      context->joining->joins = true;
  }
  return context->joining;
}

void
sc_stream_destroy_locked (CUstream stream)
{
  if (stream->quit)
    return;
  stream->quit = true;
  if (stream->started)
    pthread_cond_signal (&stream->wake);
  else
    remove_locked (stream);
}

static bool
is_usable_locked (CUstream handle)
{
  return sc_handle_is_live_locked (handle, SC_KIND_STREAM) && !handle->quit;
}

CUresult
sc_stream_find_locked (CUstream handle, CUstream *stream)
{
  CUcontext context;
  CUresult result;

  if (handle != NULL && handle != STREAM_LEGACY
      && handle != STREAM_PER_THREAD) {
    if (!is_usable_locked (handle))
      return CUDA_ERROR_INVALID_HANDLE;
    *stream = handle;
    return CUDA_SUCCESS;
  }
  result = sc_current_locked (&context);
  if (result == CUDA_SUCCESS)
    *stream = context->null_stream;
  return result;
}

CUresult
cuStreamCreate (CUstream *stream, unsigned int flags)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuStreamCreate);
  if (stream == NULL || (flags & ~CU_STREAM_NON_BLOCKING) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS) {
    *stream = sc_stream_new_locked (context, flags != 0);
    if (*stream == NULL)
      result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  sc_unlock ();
  return result;
}

/* All streams have the same priority. */
CUresult
cuStreamCreateWithPriority (CUstream *stream, unsigned int flags, int priority)
{
  SC_ENTER (cuStreamCreateWithPriority);
  return cuStreamCreate (stream, flags);
}

CUresult
cuStreamGetPriority (CUstream stream, int *priority)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuStreamGetPriority);
  if (priority == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  sc_unlock ();
  if (result == CUDA_SUCCESS)
    *priority = 0;
  return result;
}

CUresult
cuStreamGetFlags (CUstream stream, unsigned int *flags)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuStreamGetFlags);
  if (flags == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS)
    *flags = found->non_blocking ? CU_STREAM_NON_BLOCKING : 0;
  sc_unlock ();
  return result;
}

CUresult
cuStreamDestroy_v2 (CUstream stream)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuStreamDestroy);
  sc_lock ();
  if (is_usable_locked (stream)
      && stream != stream->handle.context->null_stream) {
    sc_stream_destroy_locked (stream);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

/* The device cannot capture streams. The mode is only kept. */
CUresult
cuThreadExchangeStreamCaptureMode (CUstreamCaptureMode *mode)
{
  static __thread CUstreamCaptureMode current;
  CUstreamCaptureMode wanted;

  SC_ENTER (cuThreadExchangeStreamCaptureMode);
  if (mode == NULL || (unsigned int) *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  wanted = *mode;
  *mode = current;
  current = wanted;
  return CUDA_SUCCESS;
}

CUresult
cuStreamQuery (CUstream stream)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuStreamQuery);
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS)
    result = found->handle.context->error;
  if (result == CUDA_SUCCESS && !stream_is_idle_locked (found))
    result = CUDA_ERROR_NOT_READY;
  sc_unlock ();
  return result;
}

CUresult
cuStreamSynchronize (CUstream stream)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuStreamSynchronize);
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS) {
    CUcontext context = sc_context_ref_locked (found->handle.context);

    wait_stream_locked (found);
    result = sc_context_unref_locked (context);
  }
  sc_unlock ();
  return result;
}

/* ---- host functions ---- */

typedef struct {
  CUhostFn function;
  void *user_data;
} host_call;

static CUresult
run_host_call (void *data)
{
  host_call *call = data;

  sc_host_function_begin ();
  call->function (call->user_data);
  sc_host_function_end ();
  return CUDA_SUCCESS;
}

CUresult
cuLaunchHostFunc (CUstream stream, CUhostFn function, void *user_data)
{
  host_call *call;
  CUstream found;
  CUresult result;

  SC_ENTER (cuLaunchHostFunc);
  if (function == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  call = malloc (sizeof *call);
  if (call == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *call = (host_call){ function, user_data };
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS)
    result = found->handle.context->error;
  if (result == CUDA_SUCCESS) {
    sc_work work = { run_host_call, free, call, false };

    result = sc_submit_locked (found, &work, NULL, NULL);
  } else {
    free (call);
  }
  sc_unlock ();
  return result;
}
