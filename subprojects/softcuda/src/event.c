/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * event.c: events
 *
 * An event has the point of a stream at which it was last recorded, and the
 * time at which the stream reached this point. Knows only the points of
 * streams.
 */

#include <time.h>

#include "private.h"

typedef struct {
  CUevent event; /* a reference */
  uint64_t seq;
  uint32_t number; /* of event->shared, if there is one */
} event_record;

static void
event_unref_locked (CUevent event)
{
  if (--event->handle.refs != 0)
    return;
  sc_point_clear_locked (&event->recorded);
  sc_shared_event_free (event->shared);
  sc_handle_free (event);
}

void
sc_event_destroy_locked (CUevent event)
{
  sc_handle_remove_locked (&event->handle);
  event_unref_locked (event);
}

static CUresult
event_find_locked (CUevent event)
{
  return sc_handle_is_live_locked (event, SC_KIND_EVENT)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
sc_event_new (CUevent *event, bool timed, sc_shared_event *shared)
{
  CUevent made = calloc (1, sizeof *made);
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  CUcontext context;

  if (made != NULL) {
    made->timed = timed;
    made->shared = shared;
    sc_lock ();
    result = sc_current_usable_locked (&context);
    if (result == CUDA_SUCCESS) {
      sc_handle_add_locked (&made->handle, SC_KIND_EVENT, context);
      *event = made;
    }
    sc_unlock ();
  }
  if (result != CUDA_SUCCESS) {
    sc_shared_event_free (shared);
    free (made);
  }
  return result;
}

CUresult
cuEventCreate (CUevent *event, unsigned int flags)
{
  const unsigned int known =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  sc_shared_event *shared = NULL;

  SC_ENTER (cuEventCreate);
  if (event == NULL || (flags & ~known) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    if (timed)
      return CUDA_ERROR_INVALID_VALUE;
    shared = sc_shared_event_create ();
    if (shared == NULL)
      return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return sc_event_new (event, timed, shared);
}

CUresult
cuEventDestroy_v2 (CUevent event)
{
  CUresult result;

  SC_ENTER (cuEventDestroy);
  sc_lock ();
  result = event_find_locked (event);
  if (result == CUDA_SUCCESS)
    sc_event_destroy_locked (event);
  sc_unlock ();
  return result;
}

/* If the event was recorded again in the meantime, this time does not belong to
 * it any more. */
static CUresult
run_record (void *data)
{
  event_record *record = data;
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  sc_lock ();
  if (record->event->n_records == record->seq)
    record->event->time = now.tv_sec * 1000000000ull + now.tv_nsec;
  if (record->event->shared != NULL)
    sc_shared_event_reach (record->event->shared, record->number);
  event_unref_locked (record->event);
  sc_unlock ();
  return CUDA_SUCCESS;
}

static CUresult
record_locked (CUevent event, CUstream stream)
{
  event_record *record = malloc (sizeof *record);
  sc_work work = { run_record, free, record, true };
  uint32_t number = 0;
  sc_point point;
  CUresult result;

  if (record == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  event->handle.refs++;
  *record = (event_record){ event, event->n_records + 1, 0 };
  if (event->shared != NULL)
    record->number = number = sc_shared_event_record (event->shared);
  result = sc_submit_locked (stream, &work, NULL, &point);
  if (result != CUDA_SUCCESS) {
    if (event->shared != NULL)
      sc_shared_event_reach (event->shared, number);
    event_unref_locked (event);
    return result;
  }
  event->n_records++;
  sc_point_clear_locked (&event->recorded);
  event->recorded = sc_point_copy_locked (&point);
  return CUDA_SUCCESS;
}

CUresult
cuEventRecord (CUevent event, CUstream stream)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuEventRecord);
  sc_lock ();
  result = event_find_locked (event);
  if (result == CUDA_SUCCESS)
    result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS && found->handle.context != event->handle.context)
    result = CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS)
    result = event->handle.context->error;
  if (result == CUDA_SUCCESS)
    result = record_locked (event, found);
  sc_unlock ();
  return result;
}

static CUresult
record_all_locked (CUcontext context, CUevent event)
{
  CUstream stream;

  if (!sc_handle_is_live_locked (context, SC_KIND_CONTEXT))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (event_find_locked (event) != CUDA_SUCCESS
      || event->handle.context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (context->error != CUDA_SUCCESS)
    return context->error;
  stream = sc_stream_joining_locked (context);
  return stream != NULL ? record_locked (event, stream)
                        : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult
cuCtxRecordEvent (CUcontext context, CUevent event)
{
  CUresult result;

  SC_ENTER (cuCtxRecordEvent);
  sc_lock ();
  result = record_all_locked (context, event);
  sc_unlock ();
  return result;
}

static bool
is_reached_locked (CUevent event)
{
  return event->shared != NULL ? sc_shared_event_is_reached (
             event->shared, sc_shared_event_last (event->shared))
                               : sc_point_is_reached_locked (&event->recorded);
}

CUresult
cuEventQuery (CUevent event)
{
  CUresult result;

  SC_ENTER (cuEventQuery);
  sc_lock ();
  result = event_find_locked (event);
  if (result == CUDA_SUCCESS)
    result = event->handle.context->error;
  if (result == CUDA_SUCCESS && !is_reached_locked (event))
    result = CUDA_ERROR_NOT_READY;
  sc_unlock ();
  return result;
}

static void
wait_locked (CUevent event)
{
  uint32_t number;

  if (event->shared == NULL) {
    sc_wait_point_locked (&event->recorded);
    return;
  }
  event->handle.refs++;
  number = sc_shared_event_last (event->shared);
  sc_unlock ();
  sc_shared_event_wait (event->shared, number);
  sc_lock ();
  event_unref_locked (event);
}

static CUresult
run_nothing (void *data)
{
  return CUDA_SUCCESS;
}

/* Waits for another process, in the thread of a stream. */
static CUresult
run_wait (void *data)
{
  event_record *record = data;

  sc_shared_event_wait (record->event->shared, record->number);
  sc_lock ();
  event_unref_locked (record->event);
  sc_unlock ();
  return CUDA_SUCCESS;
}

/* Makes later work of the stream wait for the latest record. */
static CUresult
wait_in_stream_locked (CUevent event, CUstream stream)
{
  sc_work work = { run_nothing, NULL, NULL, true };
  event_record *record;
  CUresult result;

  if (event_find_locked (event) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_HANDLE;
  if (is_reached_locked (event))
    return CUDA_SUCCESS;
  if (event->shared == NULL)
    return sc_submit_locked (stream, &work, &event->recorded, NULL);
  record = malloc (sizeof *record);
  if (record == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *record = (event_record){ event, 0, sc_shared_event_last (event->shared) };
  work = (sc_work){ run_wait, free, record, true };
  event->handle.refs++;
  result = sc_submit_locked (stream, &work, NULL, NULL);
  if (result != CUDA_SUCCESS)
    event_unref_locked (event);
  return result;
}

CUresult
cuStreamWaitEvent (CUstream stream, CUevent event, unsigned int flags)
{
  CUstream found;
  CUresult result;

  SC_ENTER (cuStreamWaitEvent);
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_stream_find_locked (stream, &found);
  if (result == CUDA_SUCCESS)
    result = wait_in_stream_locked (event, found);
  sc_unlock ();
  return result;
}

CUresult
cuEventSynchronize (CUevent event)
{
  CUresult result;

  SC_ENTER (cuEventSynchronize);
  sc_lock ();
  result = event_find_locked (event);
  if (result == CUDA_SUCCESS) {
    CUcontext context = sc_context_ref_locked (event->handle.context);

    wait_locked (event);
    result = sc_context_unref_locked (context);
  }
  sc_unlock ();
  return result;
}

static CUresult
elapsed_locked (CUevent start, CUevent end, float *ms)
{
  if (event_find_locked (start) != CUDA_SUCCESS
      || event_find_locked (end) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->timed || !end->timed || start->n_records == 0
      || end->n_records == 0)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!sc_point_is_reached_locked (&start->recorded)
      || !sc_point_is_reached_locked (&end->recorded))
    return CUDA_ERROR_NOT_READY;
  *ms = (float) ((double) (int64_t) (end->time - start->time) / 1e6);
  return CUDA_SUCCESS;
}

CUresult
cuEventElapsedTime (float *ms, CUevent start, CUevent end)
{
  CUresult result;

  SC_ENTER (cuEventElapsedTime);
  if (ms == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = elapsed_locked (start, end, ms);
  sc_unlock ();
  return result;
}
