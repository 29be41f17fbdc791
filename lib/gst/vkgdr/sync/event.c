/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/event.c: CUDA events with timing
 *
 * For programs that measure times, or that record one object repeatedly.
 * Accesses to memory are ordered by fences (sync/fence.c), which cost less.
 * Knows nothing of memory.
 */

#include <math.h>

#include <gst/vkgdr/gstvkgdrevent.h>

#include "sync/fence.h"

/**
 * SECTION:gstvkgdrevent
 * @title: GstVkgdrEvent
 * @short_description: a point in time of a stream
 *
 * A #GstVkgdrEvent marks a point of a stream as a #GstVkgdrFence does. Unlike a
 * fence, it can be recorded repeatedly, and the time between two events can be
 * read as the device measured it.
 *
 * It may be used from any thread.
 *
 * Since: 0.1
 */

struct _GstVkgdrEvent {
  GstObject parent;

  GstVkgdrContext *context; /* NULL if a binding called g_object_new () */
  CUevent handle;
};

G_DEFINE_TYPE (GstVkgdrEvent, gst_vkgdr_event, GST_TYPE_OBJECT)

#define EVENT_IS_MADE(event) \
  (GST_IS_VKGDR_EVENT (event) && (event)->context != NULL)

static void
gst_vkgdr_event_finalize (GObject *object)
{
  GstVkgdrEvent *self = GST_VKGDR_EVENT (object);

  if (self->handle && gst_vkgdr_context_push (self->context, NULL)) {
    gst_vkgdr_context_get_driver (self->context)->cuEventDestroy (self->handle);
    gst_vkgdr_context_pop (self->context);
  }
  gst_clear_object (&self->context);

  G_OBJECT_CLASS (gst_vkgdr_event_parent_class)->finalize (object);
}

static void
gst_vkgdr_event_class_init (GstVkgdrEventClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_event_finalize;
}

static void
gst_vkgdr_event_init (GstVkgdrEvent *self)
{
}

/**
 * gst_vkgdr_event_new:
 * @context: a context
 * @error: return location for a #GError
 *
 * Makes an event with timing. An event that was never recorded counts as
 * reached.
 *
 * Returns: (transfer full) (nullable): the event, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrEvent *
gst_vkgdr_event_new (GstVkgdrContext *context, GError **error)
{
  CUevent handle = NULL;
  GstVkgdrEvent *self;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  ok = gst_vkgdr_context_check (context,
      gst_vkgdr_context_get_driver (context)->cuEventCreate (
          &handle, CU_EVENT_DEFAULT),
      "cuEventCreate", error);
  gst_vkgdr_context_pop (context);
  if (!ok)
    return NULL;

  self = g_object_new (GST_TYPE_VKGDR_EVENT, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->handle = handle;
  return self;
}

/**
 * gst_vkgdr_event_record:
 * @event: an event
 * @stream: a stream of its context
 * @error: return location for a #GError
 *
 * Marks the point of @stream behind all work that is queued on it. The event
 * stands only for this point from now on. A stream that already waits for an
 * earlier recording still waits for that one.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_event_record (
    GstVkgdrEvent *event, GstVkgdrStream *stream, GError **error)
{
  gboolean ok;

  g_return_val_if_fail (EVENT_IS_MADE (event), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!gst_vkgdr_context_push (event->context, error))
    return FALSE;
  ok = gst_vkgdr_context_check (event->context,
      gst_vkgdr_context_get_driver (event->context)
          ->cuEventRecord (event->handle, gst_vkgdr_stream_get_handle (stream)),
      "cuEventRecord", error);
  gst_vkgdr_context_pop (event->context);
  return ok;
}

/**
 * gst_vkgdr_event_is_done:
 * @event: an event
 *
 * Does not block.
 *
 * Returns: whether the event is reached, or never will be because the device
 *   failed
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_event_is_done (GstVkgdrEvent *event)
{
  CUresult result;

  g_return_val_if_fail (EVENT_IS_MADE (event), TRUE);

  if (!gst_vkgdr_context_push (event->context, NULL))
    return TRUE;
  result = gst_vkgdr_context_get_driver (event->context)
               ->cuEventQuery (event->handle);
  gst_vkgdr_context_pop (event->context);
  return result != CUDA_ERROR_NOT_READY;
}

/**
 * gst_vkgdr_event_synchronize:
 * @event: an event
 * @error: return location for a #GError
 *
 * Waits on the CPU until the event is reached.
 *
 * Returns: %FALSE with @error set if the work before it, or the wait, failed
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_event_synchronize (GstVkgdrEvent *event, GError **error)
{
  g_return_val_if_fail (EVENT_IS_MADE (event), FALSE);

  return gst_vkgdr_context_wait (event->context, event->handle, error);
}

/**
 * gst_vkgdr_event_get_elapsed:
 * @event: a reached event
 * @start: another reached event of the same context
 * @error: return location for a #GError
 *
 * Returns the time from @start to @event, with a resolution of about half a
 * microsecond. Both must have been recorded and reached; call
 * gst_vkgdr_event_synchronize() before.
 *
 * Returns: milliseconds, negative if @start came later; NaN with @error set if
 *   one of them is not reached or was never recorded
 *
 * Since: 0.1
 */
gdouble
gst_vkgdr_event_get_elapsed (
    GstVkgdrEvent *event, GstVkgdrEvent *start, GError **error)
{
  CUresult result;
  float ms = 0;

  g_return_val_if_fail (EVENT_IS_MADE (event), NAN);
  g_return_val_if_fail (EVENT_IS_MADE (start), NAN);

  if (!gst_vkgdr_context_push (event->context, error))
    return NAN;
  result = gst_vkgdr_context_get_driver (event->context)
               ->cuEventElapsedTime (&ms, start->handle, event->handle);
  gst_vkgdr_context_pop (event->context);
  if (!gst_vkgdr_context_check (
          event->context, result, "cuEventElapsedTime", error))
    return NAN;
  return ms;
}

/**
 * gst_vkgdr_stream_wait_event:
 * @stream: a stream
 * @event: an event, of this or another context
 * @error: return location for a #GError
 *
 * Makes all work that is queued on @stream from now on wait until @event is
 * reached. Does not block the CPU.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_wait_event (
    GstVkgdrStream *stream, GstVkgdrEvent *event, GError **error)
{
  GstVkgdrContext *context;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (EVENT_IS_MADE (event), FALSE);

  context = gst_vkgdr_stream_get_context (stream);
  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = gst_vkgdr_context_check (context,
      gst_vkgdr_context_get_driver (context)->cuStreamWaitEvent (
          gst_vkgdr_stream_get_handle (stream), event->handle, 0),
      "cuStreamWaitEvent", error);
  gst_vkgdr_context_pop (context);
  return ok;
}
