/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/update.c: replaces the running pair by the requested one
 *
 * A setter stores its request and returns. The worker builds the pair for it,
 * and the streaming thread uses the pair from the next frame on. Knows nothing
 * of caps and frames.
 */

#include "cudafilter/cudafilter.h"
#include "cudafilter/files.h"
#include "cudafilter/pixel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* Used by the worker's thread only. */
typedef struct {
  GstCudaFilter *filter;
  GstVkgdrContext *context;
  GstCudaRequest request;   /* the last one */
  GstCudaLoaded *candidate; /* the requested kernel, even if its parameters are
                             * not set yet; NULL if it could not be loaded */
  GstStructure *tried_params; /* params at the last load, or NULL */
  GstCudaFiles *files;
  gboolean file_changed;
} Work;

/* --- set properties ------------------------------------------------------- */

/* Makes @pair (transfer full) the pair of the next frame. Returns the former
 * one, which the caller unrefs without the lock. */
static GstCudaPair *
publish_locked (GstCudaFilter *self, GstCudaPair *pair)
{
  GstCudaPair *old = self->ready;

  /* No frame has used the former pair yet. */
  if (old && old != self->running && old->is_reload)
    pair->is_reload = TRUE;
  g_atomic_pointer_set (&self->ready, pair);
  return old;
}

/* New values of the parameters apply from the next frame on, without the
 * worker. Returns FALSE if the worker has to build a pair. */
static gboolean
set_values_locked (GstCudaFilter *self, GstCudaPair **old)
{
  GstCudaPair *pair;

  if (self->requested.news != GST_CUDA_NEWS_PARAMS || !self->is_settled
      || gst_cuda_worker_is_busy (self->worker))
    return FALSE;
  pair = gst_cuda_pair_new (
      self->ready->loaded, self->requested.params, &self->requested, NULL);
  if (!pair)
    return FALSE;
  *old = publish_locked (self, pair);
  self->requested.news = 0;
  return TRUE;
}

void
gst_cuda_filter_commit (GstCudaFilter *self)
{
  GstCudaPair *old = NULL;
  guint news;

  GST_OBJECT_LOCK (self);
  if (self->properties.news != 0) {
    news = self->properties.news | self->requested.news;
    gst_cuda_request_assign (&self->requested, &self->properties);
    self->requested.news = news;
    self->properties.news = 0;
    if (self->worker && !set_values_locked (self, &old)) {
      self->is_settled = self->is_decided = FALSE;
      gst_cuda_worker_wake (self->worker);
    }
  }
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
}

void
gst_cuda_filter_wake (GstCudaFilter *self)
{
  GST_OBJECT_LOCK (self);
  if (self->worker)
    gst_cuda_worker_wake (self->worker);
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_cuda_filter_is_pending (GstCudaFilter *self)
{
  gboolean is_pending;

  GST_OBJECT_LOCK (self);
  is_pending = self->worker && gst_cuda_worker_is_busy (self->worker);
  GST_OBJECT_UNLOCK (self);
  return is_pending;
}

GstStructure *
gst_cuda_request_get_values (const GstCudaRequest *request)
{
  const GstEffect *effect = gst_cuda_choice_get_effect (&request->choice);
  GstStructure *values = NULL;
  GError *error = NULL;

  if (effect)
    values = gst_effect_complete_params (effect, request->params, &error);
  if ((!effect || error) && request->params)
    values = gst_structure_copy (request->params);
  g_clear_error (&error);
  return values;
}

GstStructure *
gst_cuda_filter_get_params (GstCudaFilter *self)
{
  GstStructure *values = NULL;

  GST_OBJECT_LOCK (self);
  if (!self->ready || !self->is_decided)
    values = gst_cuda_request_get_values (&self->properties);
  else if (self->ready->arguments)
    values = gst_structure_copy (self->ready->arguments);
  GST_OBJECT_UNLOCK (self);
  return values;
}

/* --- building a pair ------------------------------------------------------ */

/* An expression is compiled for the names and types of its parameters. */
static gboolean
has_to_load (const Work *work)
{
  const GstCudaRequest *request = &work->request;

  return work->file_changed || (request->news & GST_CUDA_NEWS_CHOICE)
         || (gst_cuda_choice_is_pixel (&request->choice)
             && !gst_cuda_pixel_same_params (
                 work->tried_params, request->params));
}

static void
load (Work *work, GError **error)
{
  const GstCudaRequest *request = &work->request;

  g_clear_pointer (&work->candidate, gst_cuda_loaded_unref);
  g_clear_pointer (&work->tried_params, gst_structure_free);
  if (request->params)
    work->tried_params = gst_structure_copy (request->params);
  work->candidate = gst_cuda_choice_load (
      &request->choice, work->context, request->params, error);
}

/* Returns a pair of the requested kernel, or NULL with @error set. Requested
 * parameters that are old may belong to another kernel: if they do not fit, the
 * parameters of the running kernel are used. */
static GstCudaPair *
build_requested (Work *work, GstCudaPair *running, GError **error)
{
  const GstCudaRequest *request = &work->request;
  GError *reason = NULL;
  GstCudaPair *pair = NULL;

  if (has_to_load (work))
    load (work, &reason);
  else if (!work->candidate)
    g_set_error_literal (&reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The parameters do not fit the kernel that runs, and the one that was "
        "asked for could not be loaded");
  if (work->candidate)
    pair =
        gst_cuda_pair_new (work->candidate, request->params, request, &reason);
  if (!pair && work->candidate && running
      && !(request->news & GST_CUDA_NEWS_PARAMS))
    pair = gst_cuda_pair_new (work->candidate, running->given, request, NULL);
  if (pair)
    g_clear_error (&reason);
  else
    g_propagate_error (error, reason);
  return pair;
}

/* If the requested kernel is not usable yet, new parameters that fit the
 * running kernel, and a new output, are meant for that one. */
static GstCudaPair *
build_running (Work *work, GstCudaPair *running)
{
  const GstCudaRequest *request = &work->request;

  if (!running || (request->news & GST_CUDA_NEWS_CHOICE) || work->file_changed)
    return NULL;
  return gst_cuda_pair_new (running->loaded,
      request->news & GST_CUDA_NEWS_PARAMS ? request->params : running->given,
      request, NULL);
}

static void
publish (Work *work, GstCudaPair *pair)
{
  GstCudaFilter *self = work->filter;
  GstCudaPair *old;

  pair->is_reload = work->file_changed;
  GST_OBJECT_LOCK (self);
  old = publish_locked (self, pair);
  self->is_decided = self->requested.news == 0;
  self->is_settled = self->is_decided && pair->loaded == work->candidate;
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
}

/* The running pair continues. Before the first frame there is none, and the
 * streaming thread posts the error. Takes ownership of @error. */
static void
reject (Work *work, GError *error)
{
  GstCudaFilter *self = work->filter;
  gboolean is_fatal;

  GST_OBJECT_LOCK (self);
  self->is_decided = self->requested.news == 0;
  is_fatal = !self->has_run && !work->file_changed;
  if (is_fatal) {
    g_clear_error (&self->failure);
    self->failure = g_error_copy (error);
  }
  GST_OBJECT_UNLOCK (self);
  if (!is_fatal)
    GST_ELEMENT_WARNING (
        self, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
  g_error_free (error);
}

static void
build (Work *work, GstCudaPair *running)
{
  GError *error = NULL;
  GstCudaPair *pair = build_requested (work, running, &error);

  if (!pair && (pair = build_running (work, running)))
    g_clear_error (&error);
  if (pair)
    publish (work, pair);
  else
    reject (work, error);
}

/* --- the worker ---------------------------------------------------------- */

static void
on_file_changed (gpointer user_data)
{
  Work *work = user_data;

  GST_DEBUG_OBJECT (work->filter, "the kernel's file changed");
  work->file_changed = TRUE;
  gst_cuda_filter_wake (work->filter);
}

/* Starts or stops watching the kernel's files. */
static void
update_watch (Work *work, gboolean watch)
{
  GError *error = NULL;

  if (gst_cuda_files_watch (work->files, watch, &error))
    return;
  GST_ELEMENT_WARNING (
      work->filter, RESOURCE, OPEN_READ, ("%s", error->message), (NULL));
  g_error_free (error);
}

/* The worker's job. */
static void
work_do (gpointer user_data)
{
  Work *work = user_data;
  GstCudaFilter *self = work->filter;
  GstCudaPair *running;
  gboolean watch;

  GST_OBJECT_LOCK (self);
  gst_cuda_request_assign (&work->request, &self->requested);
  self->requested.news = 0;
  running = self->ready ? gst_cuda_pair_ref (self->ready) : NULL;
  watch = self->watch;
  GST_OBJECT_UNLOCK (self);

  if ((work->request.news & GST_CUDA_NEWS_CHOICE) || work->file_changed)
    gst_cuda_files_note (work->files, &work->request.choice);
  update_watch (work, watch);
  if (work->request.news || work->file_changed)
    build (work, running);
  work->file_changed = FALSE;
  g_clear_pointer (&running, gst_cuda_pair_unref);
}

static void
work_free (gpointer user_data)
{
  Work *work = user_data;

  gst_cuda_files_free (work->files);
  gst_cuda_request_clear (&work->request);
  g_clear_pointer (&work->candidate, gst_cuda_loaded_unref);
  g_clear_pointer (&work->tried_params, gst_structure_free);
  gst_object_unref (work->context);
  gst_object_unref (work->filter);
  g_free (work);
}

/* --- start and stop ------------------------------------------------------ */

static gboolean
take_failure (GstCudaFilter *self, GError **error)
{
  GError *failure;

  GST_OBJECT_LOCK (self);
  failure = g_steal_pointer (&self->failure);
  GST_OBJECT_UNLOCK (self);
  if (!failure)
    return FALSE;
  g_propagate_error (error, failure);
  return TRUE;
}

gboolean
gst_cuda_filter_start_worker (GstCudaFilter *self, GError **error)
{
  Work *work = g_new0 (Work, 1);
  GstCudaWorker *worker;

  work->filter = gst_object_ref (self);
  work->files = gst_cuda_files_new (on_file_changed, work);
  work->context = gst_object_ref (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)));
  worker = gst_cuda_worker_new (work_do, work, work_free, error);
  if (!worker) {
    g_prefix_error (error, "The thread that loads kernels cannot be started: ");
    return FALSE;
  }
  GST_OBJECT_LOCK (self);
  self->has_run = FALSE;
  self->worker = worker;
  self->requested.news |= GST_CUDA_NEWS_CHOICE;
  GST_OBJECT_UNLOCK (self);
  gst_cuda_worker_wake (worker);
  gst_cuda_worker_wait (worker);
  if (!take_failure (self, error))
    return TRUE;
  gst_cuda_filter_stop_worker (self);
  return FALSE;
}

void
gst_cuda_filter_stop_worker (GstCudaFilter *self)
{
  GstCudaPair *ready, *running;
  GstCudaWorker *worker;

  GST_OBJECT_LOCK (self);
  worker = g_steal_pointer (&self->worker);
  GST_OBJECT_UNLOCK (self);
  if (worker)
    gst_cuda_worker_stop (worker);

  GST_OBJECT_LOCK (self);
  ready = g_steal_pointer (&self->ready);
  running = g_steal_pointer (&self->running);
  self->is_settled = FALSE;
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&ready, gst_cuda_pair_unref);
  g_clear_pointer (&running, gst_cuda_pair_unref);
}

/* --- a frame ------------------------------------------------------------- */

gboolean
gst_cuda_filter_swap (GstCudaFilter *self, gboolean *swapped, GError **error)
{
  GstCudaPair *old;

  *swapped = FALSE;
  if (!self->has_run) {
    gst_cuda_worker_wait (self->worker);
    if (take_failure (self, error))
      return FALSE;
  }
  if (g_atomic_pointer_get (&self->ready) == self->running)
    return TRUE;
  *swapped = TRUE;
  GST_OBJECT_LOCK (self);
  old = self->running;
  self->running = gst_cuda_pair_ref (self->ready);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
  if (self->running->is_reload)
    GST_ELEMENT_INFO (self, LIBRARY, SETTINGS,
        ("%s, or what it includes, changed: its new kernel is used from frame "
         "%" G_GUINT64_FORMAT " on",
            self->running->loaded->file, self->frame),
        (NULL));
  return TRUE;
}
