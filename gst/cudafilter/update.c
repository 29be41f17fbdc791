/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/update.c: replaces the running pair by the requested one
 *
 * A setter passes a request to the worker and returns. The worker builds a pair
 * and publishes it, and the streaming thread uses it from the next frame on.
 * Signals are not emitted with a lock held: they are collected, and emitted
 * later. Knows nothing of caps and frames.
 */

#include "cudafilter/build.h"
#include "cudafilter/cudafilter.h"
#include "cudafilter/files.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* Used by the worker's thread only. */
typedef struct {
  GstCudaFilter *filter;
  GstCudaBuild build;
  GstCudaRequest *request; /* the last request */
  GstCudaFiles *files;
  gboolean file_changed;
} Work;

/* --- the object of parameters -------------------------------------------- */

/* Emits the signals of a change, without a lock. @changed (nullable, taken) is
 * the object whose values changed. */
static void
emit (GstCudaFilter *self, GstCudaParams *changed)
{
  gst_cuda_filter_announce_child (self);
  if (!changed)
    return;
  gst_cuda_params_notify (changed);
  gst_object_unref (changed);
}

/* Returns all parameters of @effect (nullable), or NULL if there are none. */
static GstStructure *
get_defaults (const GstEffect *effect)
{
  return effect ? gst_effect_complete_params (effect, NULL, NULL) : NULL;
}

static gboolean
has_list (
    GstCudaParams *params, const GstStructure *values, const GstEffect *effect)
{
  GstStructure *defaults = get_defaults (effect);
  gboolean has = gst_cuda_params_has_list (params, values, defaults);

  g_clear_pointer (&defaults, gst_structure_free);
  return has;
}

/* Sets a new child object with the parameters @values (nullable), unless the
 * child object already has this list of parameters. They belong to @effect, or
 * to a user's kernel if @effect is NULL. Returns TRUE if the object is new; it
 * then has the values. Must be called with the object lock held. */
static gboolean
show_list (
    GstCudaFilter *self, const GstStructure *values, const GstEffect *effect)
{
  GstStructure *defaults;
  GstCudaParams *child;

  if (has_list (self->child, values, effect))
    return FALSE;
  defaults = get_defaults (effect);
  child = gst_cuda_params_new (values, defaults);
  gst_cuda_filter_show (self, child);
  gst_object_unref (child);
  g_clear_pointer (&defaults, gst_structure_free);
  return TRUE;
}

/* Must be called with the object lock held. */
static GstCudaPair *
get_newest (GstCudaFilter *self)
{
  return self->next ? self->next : self->running;
}

/* Sets the child object for the requested kernel, if its parameters are known
 * before it is loaded, which is the case for an effect. If no kernel runs, the
 * child object gets the given parameters, which may be meant for a kernel that
 * is set later. Sets *@changed to the object whose values changed, which the
 * caller unrefs. Must be called with the object lock held. */
static void
show_requested (GstCudaFilter *self, GstCudaParams **changed)
{
  const GstCudaRequest *requested = &self->requested;
  const GstEffect *effect = gst_cuda_choice_get_effect (&requested->choice);
  GstStructure *values = NULL;
  GError *error = NULL;

  if (!effect && get_newest (self))
    return;
  if (effect)
    values = gst_effect_complete_params (effect, requested->params, &error);
  if (error)
    effect = NULL;
  if (!effect && requested->params)
    values = gst_structure_copy (requested->params);
  if ((!error || !get_newest (self)) && !show_list (self, values, effect)
      && requested->params_are_new && !self->worker) {
    gst_cuda_params_set_values (self->child, values, requested->serial);
    *changed = gst_object_ref (self->child);
  }
  g_clear_error (&error);
  g_clear_pointer (&values, gst_structure_free);
}

/* --- set properties ------------------------------------------------------- */

static void
replace_params (GstStructure **slot, const GstStructure *params)
{
  GstStructure *copy = params ? gst_structure_copy (params) : NULL;

  g_clear_pointer (slot, gst_structure_free);
  *slot = copy;
}

/* Sets new values of the running kernel's parameters, which apply from the next
 * frame on. Returns FALSE if a pair has to be built instead. Must be called
 * with the object lock held. */
static gboolean
set_values (GstCudaFilter *self, GstCudaParams **changed)
{
  GstCudaPair *pair = self->running;
  GstStructure *values = NULL;
  gboolean ok;

  if (self->requested.choice_is_new || self->requested.output_is_new || !pair
      || self->next || !self->is_settled
      || gst_cuda_worker_is_busy (self->worker)
      || !gst_cuda_loaded_fit (
          pair->loaded, self->requested.params, &values, NULL))
    return FALSE;
  ok = has_list (pair->params, values, pair->loaded->effect);
  if (ok && values) {
    gst_cuda_params_set_values (pair->params, values, G_MAXUINT);
    *changed = gst_object_ref (pair->params);
  }
  if (ok)
    replace_params (&pair->given, self->requested.params);
  g_clear_pointer (&values, gst_structure_free);
  return ok;
}

/* Must be called with the object lock held. */
static void
make_request (GstCudaFilter *self)
{
  GstCudaRequest *request = gst_cuda_request_copy (&self->requested);

  if (self->request) {
    gst_cuda_request_inherit (request, self->request);
    gst_cuda_request_free (self->request);
  }
  self->request = request;
  self->is_settled = FALSE;
}

void
gst_cuda_filter_commit (GstCudaFilter *self)
{
  GstCudaRequest *requested = &self->requested;
  GstCudaParams *changed = NULL;

  GST_OBJECT_LOCK (self);
  if (!gst_cuda_request_is_new (requested)) {
    GST_OBJECT_UNLOCK (self);
    return;
  }
  /* Values that were set on the child object after the property params are
   * also used for another kernel. The other values of the child object may be
   * older than params, which may still wait for their kernel. */
  if (requested->choice_is_new && !requested->params_are_new
      && requested->params)
    gst_cuda_params_update (self->child, requested->params, requested->serial);
  show_requested (self, &changed);
  if (self->worker && !set_values (self, &changed)) {
    make_request (self);
    gst_cuda_worker_wake (self->worker);
  }
  gst_cuda_request_set_old (requested);
  GST_OBJECT_UNLOCK (self);
  emit (self, changed);
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
gst_cuda_filter_get_params (GstCudaFilter *self)
{
  GstCudaPair *next;
  GstStructure *values;

  GST_OBJECT_LOCK (self);
  next = self->next;
  values = next && next->initial
               ? gst_structure_copy (next->initial)
               : gst_cuda_params_get_values (self->child, NULL);
  GST_OBJECT_UNLOCK (self);
  return values;
}

/* --- the worker ---------------------------------------------------------- */

void
gst_cuda_filter_warn (GstCudaFilter *self, const GError *error)
{
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
}

static void
on_file_changed (gpointer user_data)
{
  Work *work = user_data;

  GST_DEBUG_OBJECT (work->filter, "the kernel's file changed");
  work->file_changed = TRUE;
  gst_cuda_filter_wake (work->filter);
}

static gboolean
is_to_watch (GstCudaFilter *self)
{
  gboolean watch;

  GST_OBJECT_LOCK (self);
  watch = self->watch;
  GST_OBJECT_UNLOCK (self);
  return watch;
}

/* Starts or stops watching the kernel's files. */
static void
update_watch (Work *work)
{
  GError *error = NULL;

  if (gst_cuda_files_watch (work->files, is_to_watch (work->filter), &error))
    return;
  GST_ELEMENT_WARNING (
      work->filter, RESOURCE, OPEN_READ, ("%s", error->message), (NULL));
  g_error_free (error);
}

/* Returns an object with the parameters of @pair: the child object or that of
 * the newest pair if it has the same list of parameters, otherwise a new one.
 * The caller unrefs it. Must be called with the object lock held. */
static GstCudaParams *
find_params (GstCudaFilter *self, const GstCudaPair *pair, gboolean *is_new)
{
  const GstEffect *effect = pair->loaded->effect;
  GstCudaPair *newest = get_newest (self);
  GstStructure *defaults;
  GstCudaParams *params;

  *is_new = FALSE;
  if (has_list (self->child, pair->arguments, effect))
    return gst_object_ref (self->child);
  if (newest && has_list (newest->params, pair->arguments, effect))
    return gst_object_ref (newest->params);
  *is_new = TRUE;
  defaults = get_defaults (effect);
  params = gst_cuda_params_new (pair->arguments, defaults);
  g_clear_pointer (&defaults, gst_structure_free);
  return params;
}

/* Makes the parameters of @pair the child object, unless there is a newer
 * request. Must be called with the object lock held. */
static void
attach_params (
    GstCudaFilter *self, GstCudaPair *pair, const GstCudaRequest *request)
{
  gboolean is_new;
  GstCudaParams *params = find_params (self, pair, &is_new);
  /* The serial belongs to the child. Values of another object are older. */
  guint serial = params == self->child ? request->serial : G_MAXUINT;

  if (!self->request)
    gst_cuda_filter_show (self, params);
  gst_cuda_pair_attach (
      pair, params, request->params_are_new && !is_new, serial);
  gst_object_unref (params);
}

static void
publish (Work *work, GstCudaPair *pair)
{
  GstCudaFilter *self = work->filter;
  GstCudaPair *old;

  GST_OBJECT_LOCK (self);
  attach_params (self, pair, work->request);
  old = self->next;
  if (old)
    gst_cuda_pair_inherit (pair, old);
  g_atomic_pointer_set (&self->next, pair);
  self->is_settled = !self->request;
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&old, gst_cuda_pair_free);
  emit (self, NULL);
}

/* The running pair continues. Before the first frame there is none, and the
 * streaming thread posts the error. */
static void
reject (Work *work, GError *error)
{
  GstCudaFilter *self = work->filter;
  gboolean is_fatal;

  GST_OBJECT_LOCK (self);
  is_fatal = !self->has_run && !work->file_changed;
  if (is_fatal) {
    g_clear_error (&self->failure);
    self->failure = g_error_copy (error);
  }
  if (get_newest (self) && !self->request)
    gst_cuda_filter_show (self, get_newest (self)->params);
  GST_OBJECT_UNLOCK (self);
  if (!is_fatal)
    gst_cuda_filter_warn (self, error);
  g_error_free (error);
  emit (self, NULL);
}

static void
build (Work *work)
{
  GstCudaFilter *self = work->filter;
  GstCudaLoaded *running = NULL;
  GstStructure *given = NULL;
  GstCudaPair *newest, *pair;
  GError *error = NULL;

  GST_OBJECT_LOCK (self);
  newest = get_newest (self);
  if (newest) {
    running = gst_cuda_loaded_ref (newest->loaded);
    given = newest->given ? gst_structure_copy (newest->given) : NULL;
  }
  GST_OBJECT_UNLOCK (self);

  pair = gst_cuda_build (
      &work->build, work->request, work->file_changed, running, given, &error);
  if (pair)
    pair->is_reload = work->file_changed;
  if (pair)
    publish (work, pair);
  else
    reject (work, error);
  g_clear_pointer (&given, gst_structure_free);
  g_clear_pointer (&running, gst_cuda_loaded_unref);
}

/* The worker's job. */
static void
work_do (gpointer user_data)
{
  Work *work = user_data;
  GstCudaFilter *self = work->filter;
  GstCudaRequest *request;
  gboolean is_new;
  GSList *retired;

  GST_OBJECT_LOCK (self);
  request = g_steal_pointer (&self->request);
  retired = g_steal_pointer (&self->retired);
  GST_OBJECT_UNLOCK (self);
  g_slist_free_full (retired, (GDestroyNotify) gst_cuda_pair_free);

  if (request) {
    g_clear_pointer (&work->request, gst_cuda_request_free);
    work->request = request;
  }
  is_new = request && request->choice_is_new;
  if (is_new || work->file_changed)
    gst_cuda_files_note (work->files, &work->request->choice);
  update_watch (work);
  if (request || work->file_changed)
    build (work);
  gst_cuda_request_set_old (work->request);
  work->file_changed = FALSE;
}

static void
work_free (gpointer user_data)
{
  Work *work = user_data;

  gst_cuda_files_free (work->files);
  g_clear_pointer (&work->request, gst_cuda_request_free);
  gst_cuda_build_clear (&work->build);
  gst_object_unref (work->build.context);
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
  work->build.context = gst_object_ref (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)));
  worker = gst_cuda_worker_new (work_do, work, work_free, error);
  if (!worker) {
    g_prefix_error (error, "The thread that loads kernels cannot be started: ");
    return FALSE;
  }
  GST_OBJECT_LOCK (self);
  self->has_run = FALSE;
  self->worker = worker;
  /* Values that were set on the child object later are the newest ones. */
  if (self->requested.params)
    gst_cuda_params_update (
        self->child, self->requested.params, self->requested.serial);
  make_request (self);
  self->request->choice_is_new = TRUE;
  GST_OBJECT_UNLOCK (self);
  gst_cuda_worker_wake (worker);
  gst_cuda_worker_wait (worker);
  if (!take_failure (self, error))
    return TRUE;
  gst_cuda_filter_stop_worker (self);
  return FALSE;
}

/* Whether params were set that have not reached the child object yet. Must be
 * called with the object lock held. */
static gboolean
has_unused_params (GstCudaFilter *self)
{
  return (self->request && self->request->params_are_new)
         || (self->next && self->next->initial);
}

void
gst_cuda_filter_stop_worker (GstCudaFilter *self)
{
  GstCudaPair *running, *next;
  GstCudaWorker *worker;
  GSList *retired;

  GST_OBJECT_LOCK (self);
  worker = g_steal_pointer (&self->worker);
  GST_OBJECT_UNLOCK (self);
  if (worker)
    gst_cuda_worker_stop (worker);

  GST_OBJECT_LOCK (self);
  self->requested.params_are_new |= has_unused_params (self);
  running = g_steal_pointer (&self->running);
  next = g_steal_pointer (&self->next);
  retired = g_steal_pointer (&self->retired);
  g_clear_pointer (&self->request, gst_cuda_request_free);
  g_clear_error (&self->failure);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&running, gst_cuda_pair_free);
  g_clear_pointer (&next, gst_cuda_pair_free);
  g_slist_free_full (retired, (GDestroyNotify) gst_cuda_pair_free);
  gst_cuda_filter_commit (self);
}

/* --- a frame ------------------------------------------------------------- */

/* Unloading a kernel may wait for the device, so the worker unloads it. */
static gboolean
take_next (GstCudaFilter *self)
{
  GST_OBJECT_LOCK (self);
  if (self->running) {
    self->retired = g_slist_prepend (self->retired, self->running);
    if (self->worker)
      gst_cuda_worker_wake (self->worker);
  }
  self->running = self->next;
  g_atomic_pointer_set (&self->next, NULL);
  GST_OBJECT_UNLOCK (self);
  return self->running != NULL;
}

gboolean
gst_cuda_filter_swap (GstCudaFilter *self, gboolean *swapped, GError **error)
{
  *swapped = FALSE;
  if (!self->has_run) {
    gst_cuda_worker_wait (self->worker);
    if (take_failure (self, error))
      return FALSE;
  }
  if (!g_atomic_pointer_get (&self->next))
    return TRUE;
  *swapped = take_next (self);
  if (gst_cuda_pair_enter (self->running))
    gst_cuda_params_notify (self->running->params);
  if (self->running->is_reload)
    GST_ELEMENT_INFO (self, LIBRARY, SETTINGS,
        ("%s, or what it includes, changed: its new kernel is used from frame "
         "%" G_GUINT64_FORMAT " on",
            self->running->loaded->file, self->frame),
        (NULL));
  return TRUE;
}
