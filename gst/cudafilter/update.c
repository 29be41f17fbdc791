/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/update.c: replaces the running pair by the requested one
 *
 * A setter stores its request and returns. The worker builds the pair for it,
 * and the streaming thread uses the pair from the next frame on. Also makes the
 * rules for caps of a pair.
 */

#include "cudafilter/cudafilter.h"
#include "cudafilter/files.h"
#include "cudafilter/pixel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* Microseconds between two checks of the kernel's files. A user who saves a
 * file does not notice such a delay, and the checks are cheap. */
#define POLL_INTERVAL (100 * G_TIME_SPAN_MILLISECOND)

/* The worker of an element that is started. */
struct _GstCudaWorker {
  GstCudaFilter *filter;
  GstVkgdrContext *context;
  GThread *thread;

  /* Under the filter's lock. */
  gboolean is_woken;
  gboolean is_running;

  /* Used by the worker's thread only. */
  GstCudaRequest request;   /* the last one */
  GstCudaLoaded *candidate; /* the requested kernel, even if its parameters are
                             * not set yet; NULL if it could not be loaded */
  GPtrArray *files;         /* of the kernel */
  gboolean file_changed;
};

/* --- set properties ------------------------------------------------------- */

static gboolean
is_pending_locked (GstCudaFilter *self)
{
  return self->worker && (self->worker->is_woken || self->worker->is_running);
}

/* Whether the ready pair is of the requested kernel. */
static gboolean
is_settled_locked (GstCudaFilter *self)
{
  return self->ready && self->worker && !is_pending_locked (self)
         && self->ready->loaded == self->worker->candidate;
}

static void
wake_locked (GstCudaFilter *self)
{
  if (self->worker)
    self->worker->is_woken = TRUE;
  g_cond_broadcast (&self->cond);
}

/* New values of the parameters apply from the next frame on, without the
 * worker. Returns FALSE if the worker has to build a pair. */
static gboolean
set_values_locked (GstCudaFilter *self, GstCudaPair **old)
{
  GstCudaPair *pair;

  if (self->requested.changes != GST_CUDA_CHANGED_PARAMS
      || !is_settled_locked (self))
    return FALSE;
  pair = gst_cuda_pair_new (
      self->ready->loaded, self->requested.params, &self->requested, NULL);
  if (!pair)
    return FALSE;
  *old = g_atomic_pointer_exchange (&self->ready, pair);
  self->requested.changes = 0;
  return TRUE;
}

void
gst_cuda_filter_commit (GstCudaFilter *self)
{
  GstCudaPair *old = NULL;
  guint changes;

  GST_OBJECT_LOCK (self);
  if (self->properties.changes != 0) {
    changes = self->properties.changes | self->requested.changes;
    gst_cuda_request_assign (&self->requested, &self->properties);
    self->requested.changes = changes;
    self->properties.changes = 0;
    if (self->worker && !set_values_locked (self, &old)) {
      self->is_decided = FALSE;
      wake_locked (self);
    }
  }
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
}

gboolean
gst_cuda_filter_is_pending (GstCudaFilter *self)
{
  gboolean is_pending;

  GST_OBJECT_LOCK (self);
  is_pending = is_pending_locked (self);
  GST_OBJECT_UNLOCK (self);
  return is_pending;
}

/* Returns the values of all parameters of a request, with defaults for those
 * that were not set, or NULL. The caller frees them. */
static GstStructure *
get_values (const GstCudaRequest *request)
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
    values = get_values (&self->properties);
  else if (self->ready->arguments)
    values = gst_structure_copy (self->ready->arguments);
  GST_OBJECT_UNLOCK (self);
  return values;
}

/* --- building a pair ------------------------------------------------------ */

/* Returns a pair for the request: the requested kernel with its parameters or,
 * if none are new and the old ones do not fit, with those of @running. If the
 * requested kernel is the same as before (@is_same) and still cannot be used,
 * the pair has the kernel of @running, with the new output and parameters.
 * Returns NULL if none fits, with @error set if parameters were the cause. */
static GstCudaPair *
build (
    GstCudaWorker *work, gboolean is_same, GstCudaPair *running, GError **error)
{
  const GstCudaRequest *request = &work->request;
  gboolean has_new_params = request->changes & GST_CUDA_CHANGED_PARAMS;
  GError *reason = NULL;
  GstCudaPair *pair = NULL;

  if (work->candidate)
    pair =
        gst_cuda_pair_new (work->candidate, request->params, request, &reason);
  if (!pair && work->candidate && running && !has_new_params)
    pair = gst_cuda_pair_new (work->candidate, running->given, request, NULL);
  if (!pair && running && is_same)
    pair = gst_cuda_pair_new (running->loaded,
        has_new_params ? request->params : running->given, request,
        reason ? NULL : &reason);
  if (pair)
    g_clear_error (&reason);
  else if (reason)
    g_propagate_error (error, reason);
  return pair;
}

static void
publish (GstCudaWorker *work, GstCudaPair *pair)
{
  GstCudaFilter *self = work->filter;
  GstCudaPair *old;

  GST_OBJECT_LOCK (self);
  old = g_atomic_pointer_exchange (&self->ready, pair);
  self->is_decided = self->requested.changes == 0;
  self->is_reloaded |= work->file_changed;
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
}

/* Keeps the pair that is in use, and warns. Before the first frame, the error
 * is kept for wait_for_worker () instead. Takes ownership of @error. */
static void
reject (GstCudaWorker *work, GError *error)
{
  GstCudaFilter *self = work->filter;

  GST_OBJECT_LOCK (self);
  self->is_decided = self->requested.changes == 0;
  if (self->frame == 0 && !work->file_changed) {
    g_clear_error (&self->failure);
    self->failure = g_steal_pointer (&error);
  }
  GST_OBJECT_UNLOCK (self);
  if (error)
    GST_ELEMENT_WARNING (
        self, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
  g_clear_error (&error);
}

/* --- the worker ---------------------------------------------------------- */

/* Copies the request. Returns whether the kernel has to be loaded, also because
 * a pixel's expression is compiled for its parameters' names and types. */
static gboolean
take_request (GstCudaWorker *work, gboolean *is_same, GstCudaPair **running)
{
  GstCudaFilter *self = work->filter;
  gboolean has_new_names;

  GST_OBJECT_LOCK (self);
  has_new_names = gst_cuda_choice_is_pixel (&self->requested.choice)
                  && !gst_cuda_pixel_same_params (
                      work->request.params, self->requested.params);
  gst_cuda_request_assign (&work->request, &self->requested);
  self->requested.changes = 0;
  *running = self->ready ? gst_cuda_pair_ref (self->ready) : NULL;
  GST_OBJECT_UNLOCK (self);
  *is_same =
      !work->file_changed && !(work->request.changes & GST_CUDA_CHANGED_CHOICE);
  return has_new_names || !*is_same;
}

static void
load (GstCudaWorker *work, GError **error)
{
  g_clear_pointer (&work->files, g_ptr_array_unref);
  work->files = gst_cuda_files_new (&work->request.choice);
  g_clear_pointer (&work->candidate, gst_cuda_loaded_unref);
  work->candidate = gst_cuda_choice_load (
      &work->request.choice, work->context, work->request.params, error);
}

static void
work_do (GstCudaWorker *work)
{
  GstCudaPair *running, *pair = NULL;
  gboolean is_same;
  GError *error = NULL;

  if (take_request (work, &is_same, &running))
    load (work, &error);
  if (work->request.changes || !is_same)
    pair = build (work, is_same, running, error ? NULL : &error);
  if (pair) {
    publish (work, pair);
    g_clear_error (&error);
  } else if (error) {
    reject (work, error);
  }
  work->file_changed = FALSE;
  g_clear_pointer (&running, gst_cuda_pair_unref);
}

static void
worker_free (GstCudaWorker *work)
{
  g_clear_pointer (&work->files, g_ptr_array_unref);
  gst_cuda_request_clear (&work->request);
  g_clear_pointer (&work->candidate, gst_cuda_loaded_unref);
  gst_object_unref (work->context);
  gst_object_unref (work->filter);
  g_free (work);
}

/* Runs until the filter has no worker, or another one. */
static gpointer
worker_run (gpointer user_data)
{
  GstCudaWorker *work = user_data;
  GstCudaFilter *self = work->filter;
  GMutex *lock = GST_OBJECT_GET_LOCK (self);

  g_mutex_lock (lock);
  while (self->worker == work) {
    if (work->is_woken) {
      work->is_woken = FALSE;
      work->is_running = TRUE;
      g_mutex_unlock (lock);
      work_do (work);
      g_mutex_lock (lock);
      work->is_running = FALSE;
      g_cond_broadcast (&self->cond);
    } else if (!self->watch || work->files->len == 0) {
      g_cond_wait (&self->cond, lock);
    } else if (!g_cond_wait_until (&self->cond, lock,
                   g_get_monotonic_time () + POLL_INTERVAL)) {
      g_mutex_unlock (lock);
      work->file_changed = gst_cuda_files_poll (work->files);
      g_mutex_lock (lock);
      work->is_woken |= work->file_changed;
    }
  }
  g_mutex_unlock (lock);
  worker_free (work);
  return NULL;
}

/* --- start and stop ------------------------------------------------------ */

/* Waits until the worker has no work, except in its own thread. Returns FALSE
 * with @error set if a pair could not be built before the first frame. */
static gboolean
wait_for_worker (GstCudaFilter *self, GError **error)
{
  GError *failure;

  GST_OBJECT_LOCK (self);
  while (is_pending_locked (self) && self->worker->thread != g_thread_self ())
    g_cond_wait (&self->cond, GST_OBJECT_GET_LOCK (self));
  failure = g_steal_pointer (&self->failure);
  GST_OBJECT_UNLOCK (self);
  if (!failure)
    return TRUE;
  g_propagate_error (error, failure);
  return FALSE;
}

gboolean
gst_cuda_filter_start_worker (GstCudaFilter *self, GError **error)
{
  GstCudaWorker *work = g_new0 (GstCudaWorker, 1);

  work->filter = gst_object_ref (self);
  work->context = gst_object_ref (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)));
  GST_OBJECT_LOCK (self);
  work->thread = g_thread_try_new ("cudafilter", worker_run, work, error);
  if (work->thread)
    self->worker = work;
  self->frame = 0;
  self->is_reloaded = FALSE;
  self->requested.changes |= GST_CUDA_CHANGED_CHOICE;
  wake_locked (self);
  GST_OBJECT_UNLOCK (self);
  if (!work->thread) {
    worker_free (work);
    g_prefix_error (error, "The thread that loads kernels cannot be started: ");
    return FALSE;
  }
  if (wait_for_worker (self, error))
    return TRUE;
  gst_cuda_filter_stop_worker (self);
  return FALSE;
}

void
gst_cuda_filter_stop_worker (GstCudaFilter *self)
{
  GstCudaPair *ready, *running;
  GThread *thread;

  GST_OBJECT_LOCK (self);
  thread = self->worker ? self->worker->thread : NULL;
  self->worker = NULL;
  g_cond_broadcast (&self->cond);
  GST_OBJECT_UNLOCK (self);
  if (thread == g_thread_self ())
    g_thread_unref (thread);
  else if (thread)
    g_thread_join (thread);

  GST_OBJECT_LOCK (self);
  ready = g_steal_pointer (&self->ready);
  running = g_steal_pointer (&self->running);
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&ready, gst_cuda_pair_unref);
  g_clear_pointer (&running, gst_cuda_pair_unref);
}

/* --- a frame ------------------------------------------------------------- */

gboolean
gst_cuda_filter_swap (GstCudaFilter *self, GError **error)
{
  gboolean is_reloaded;
  GstCudaPair *old;

  if (self->frame == 0 && !wait_for_worker (self, error))
    return FALSE;
  if (g_atomic_pointer_get (&self->ready) == self->running)
    return TRUE;
  GST_OBJECT_LOCK (self);
  old = self->running;
  self->running = gst_cuda_pair_ref (self->ready);
  is_reloaded = self->is_reloaded;
  self->is_reloaded = FALSE;
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_unref);
  if (is_reloaded)
    GST_ELEMENT_INFO (self, LIBRARY, SETTINGS,
        ("%s, or what it includes, changed: its new kernel is used from frame "
         "%" G_GUINT64_FORMAT " on",
            self->running->loaded->file, self->frame),
        (NULL));
  return TRUE;
}

/* --- rules --------------------------------------------------------------- */

/* Adds what depends on the kernel. @loaded is NULL if it has not been loaded
 * yet. @params are those of the effect. */
static void
set_kernel (GstCudaRules *rules, const GstCudaLoaded *loaded,
    const GstEffect *effect, gboolean is_pixel, const GstStructure *params)
{
  gboolean is_own = !effect && !is_pixel;
  const GstEffectTurn *turn;

  rules->takes_video =
      !is_own || !loaded || gst_vkgdr_kernel_takes_frames (loaded->kernel);
  rules->takes_others =
      is_own && (!loaded || gst_vkgdr_kernel_takes_samples (loaded->kernel));
  if (effect)
    rules->converts = effect->converts;
  else if (is_pixel)
    rules->converts = GST_EFFECT_CONVERTS_FORMAT;
  else
    rules->converts = GST_EFFECT_CONVERTS_FORMAT | GST_EFFECT_CONVERTS_SIZE;
  turn = gst_effect_get_turn (effect, params);
  rules->swaps_sides = turn && turn->swaps_sides;
}

GstCudaRules
gst_cuda_pair_get_rules (const GstCudaPair *pair)
{
  const GstCudaLoaded *loaded = pair->loaded;
  GstCudaRules rules = { .output = pair->output };

  set_kernel (
      &rules, loaded, loaded->effect, loaded->is_pixel, pair->arguments);
  return rules;
}

static GstCudaRules
get_request_rules (const GstCudaRequest *request)
{
  GstStructure *params = get_values (request);
  GstCudaRules rules = { .output = request->output };

  set_kernel (&rules, NULL, gst_cuda_choice_get_effect (&request->choice),
      gst_cuda_choice_is_pixel (&request->choice), params);
  g_clear_pointer (&params, gst_structure_free);
  return rules;
}

/* The running pair determines the caps, so that they do not change while the
 * streaming thread negotiates. Before there is one, the requested pair does, or
 * the request itself while its kernel is not loaded. */
void
gst_cuda_filter_take_rules (GstCudaFilter *self, GstCudaRules *rules)
{
  const GstCudaPair *pair;

  GST_OBJECT_LOCK (self);
  pair =
      self->running || !is_settled_locked (self) ? self->running : self->ready;
  *rules = pair ? gst_cuda_pair_get_rules (pair)
                : get_request_rules (&self->requested);
  if (rules->output)
    gst_caps_ref (rules->output);
  GST_OBJECT_UNLOCK (self);
}
