/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudaupdate.c: cudafilter brings what runs up to what is asked for
 *
 * A kernel and its params are taken together: until both fit, the last ones
 * that did go on. Properties are judged when they are set, as far as that can
 * be told then, and loaded by the streaming thread. Knows nothing of caps and
 * frames.
 */

#include "gstcudafilter.h"
#include "gstcudapixel.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* --- what is told once the lock is free ---------------------------------- */

typedef struct {
  GstCudaParams *removed; /* the child that was */
  GstCudaParams *added;   /* the one that is */
  GstCudaParams *changed; /* one whose values are others */
} News;

static void
complain (GstCudaFilter *self, GError *error)
{
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
  g_error_free (error);
}

static void
news_tell (News *news, GstCudaFilter *self)
{
  if (news->removed) {
    gst_object_unparent (GST_OBJECT (news->removed));
    gst_child_proxy_child_removed (GST_CHILD_PROXY (self),
        G_OBJECT (news->removed), GST_OBJECT_NAME (news->removed));
    gst_object_unref (news->removed);
  }
  if (news->added) {
    gst_object_set_parent (GST_OBJECT (news->added), GST_OBJECT (self));
    gst_child_proxy_child_added (GST_CHILD_PROXY (self), G_OBJECT (news->added),
        GST_OBJECT_NAME (news->added));
    gst_object_unref (news->added);
  }
  if (news->changed) {
    gst_cuda_params_notify (news->changed);
    gst_object_unref (news->changed);
  }
}

/* --- params; all under the object lock ----------------------------------- */

static GstStructure *
copy_params (const GstStructure *params)
{
  return params ? gst_structure_copy (params) : NULL;
}

static void
replace_params (GstStructure **slot, GstStructure *params)
{
  g_clear_pointer (slot, gst_structure_free);
  *slot = params;
}

/* What was set through the child counts as if it were set in params. */
static void
absorb_child (GstCudaFilter *self)
{
  if (self->child_is_current && self->params)
    gst_cuda_params_update (self->child, self->params);
}

/* Lets the child have the parameters @values (nullable), of @effect or, where
 * that is NULL, of a user's kernel. A child of the same list stays, with what
 * is bound to it, and has its values replaced where they are new. */
static void
show (GstCudaFilter *self, const GstStructure *values, const GstEffect *effect,
    gboolean values_are_new, News *news)
{
  GstStructure *defaults =
      effect ? gst_effect_complete_params (effect, NULL, NULL) : NULL;

  if (!gst_cuda_params_has_list (self->child, values, defaults)) {
    news->removed = self->child;
    self->child = gst_cuda_params_new (values, defaults);
    news->added = gst_object_ref (self->child);
  } else if (values_are_new) {
    gst_cuda_params_set_values (self->child, values);
    news->changed = gst_object_ref (self->child);
  }
  self->child_is_current = TRUE;
  g_clear_pointer (&defaults, gst_structure_free);
}

typedef enum { REJECTED, UNKNOWN, FITS } Verdict;

/* Where a kernel is still to be loaded, only an effect's parameters are
 * known. */
static Verdict
judge_for_choice (GstCudaFilter *self, const GstStructure *given,
    GstStructure **values, GError **error)
{
  const GstEffect *effect = gst_cuda_choice_get_effect (&self->choice);
  GError *reason = NULL;

  if (!effect)
    return UNKNOWN;
  *values = gst_effect_complete_params (effect, given, &reason);
  if (!reason)
    return FITS;
  /* Nobody chose it: another is going to be. */
  if (!self->choice_is_made) {
    g_error_free (reason);
    return UNKNOWN;
  }
  g_propagate_error (error, reason);
  return REJECTED;
}

/* An expression is compiled for names and types. */
static Verdict
judge_for_pixel (GstCudaFilter *self, const GstStructure *given, GError **error)
{
  if (!gst_cuda_pixel_check_params (given, error))
    return REJECTED;
  if (!self->kernel_changed && !self->kernel_is_coming && self->running.is_pixel
      && gst_cuda_pixel_same_params (self->running.pixel_params, given))
    return FITS;
  self->kernel_changed = TRUE;
  return UNKNOWN;
}

/* Whether params can be used. Where they FIT, @values are all of them. */
static Verdict
judge (GstCudaFilter *self, const GstStructure *given, GstStructure **values,
    GError **error)
{
  if (gst_cuda_choice_is_pixel (&self->choice)) {
    Verdict verdict = judge_for_pixel (self, given, error);

    if (verdict != FITS)
      return verdict;
  }
  if (self->kernel_changed || self->kernel_is_coming || !self->running.kernel)
    return judge_for_choice (self, given, values, error);
  if (self->next.kernel
      && gst_cuda_loaded_fit (&self->next, given, values, NULL)) {
    g_clear_pointer (values, gst_structure_free);
    return UNKNOWN; /* that one's turn comes with the next frame */
  }
  return gst_cuda_loaded_fit (&self->running, given, values, error) ? FITS
                                                                    : REJECTED;
}

static void
reject (GstCudaFilter *self, GstStructure *given)
{
  replace_params (&self->rejected, given);
  self->params_are_rejected = TRUE;
}

/* Takes @given if it can be used; FALSE with @error where not. */
static gboolean
offer_params (
    GstCudaFilter *self, GstStructure *given, News *news, GError **error)
{
  const GstEffect *effect = gst_cuda_choice_get_effect (&self->choice);
  gboolean waits = self->kernel_changed || self->kernel_is_coming;
  GstStructure *values = NULL;
  Verdict verdict = judge (self, given, &values, error);

  if (verdict == REJECTED) {
    reject (self, given);
    return FALSE;
  }
  replace_params (&self->params, given);
  self->params_are_retried = FALSE;
  self->params_are_rejected = FALSE;
  g_clear_pointer (&self->rejected, gst_structure_free);
  self->params_are_judged = verdict == FITS;
  self->params_changed = TRUE;
  self->child_is_current = FALSE;
  if (verdict == FITS)
    show (self, values,
        waits || !self->running.kernel ? effect : self->running.effect, TRUE,
        news);
  else if (!self->running.kernel)
    show (self, given, NULL, TRUE, news);
  g_clear_pointer (&values, gst_structure_free);
  return TRUE;
}

/* --- properties that are set --------------------------------------------- */

/* The child has the parameters of what was chosen, as far as they are known:
 * those of a user's kernel are what params say, once it is loaded. */
static void
show_choice (GstCudaFilter *self, News *news)
{
  const GstEffect *effect = gst_cuda_choice_get_effect (&self->choice);
  GstStructure *values;
  GError *reason = NULL;

  if (!effect) {
    if (!self->running.kernel)
      show (self, self->params, NULL, !self->child_is_current, news);
    return;
  }
  values = gst_effect_complete_params (effect, self->params, &reason);
  if (!reason)
    show (self, values, effect, !self->child_is_current, news);
  g_clear_error (&reason);
  g_clear_pointer (&values, gst_structure_free);
}

static void
commit_choice (GstCudaFilter *self, GstCudaLoaded *dropped)
{
  absorb_child (self);
  self->choice_is_new = FALSE;
  self->choice_is_made = TRUE;
  self->kernel_changed = TRUE;
  self->n_choices++;
  gst_cuda_loaded_take (dropped, &self->next);
  self->next_is_fresh = FALSE;
}

/* After another choice: params that could not be judged now perhaps can, and
 * those that did not fit the kernel before may fit this one. */
static void
commit_old_params (GstCudaFilter *self, News *news, GError **error)
{
  if (self->params_are_rejected
      && offer_params (self, copy_params (self->rejected), news, NULL)) {
    self->params_are_retried = TRUE;
    return;
  }
  if (!self->params_are_judged
      && !offer_params (self, copy_params (self->params), news, error)) {
    replace_params (&self->params, copy_params (self->good));
    self->params_are_judged = TRUE;
  }
  if (!news->added)
    show_choice (self, news);
}

void
gst_cuda_filter_commit (GstCudaFilter *self)
{
  GstCudaLoaded dropped = { NULL };
  News news = { NULL };
  GError *reason = NULL;
  gboolean is_new;

  GST_OBJECT_LOCK (self);
  is_new = self->choice_is_new;
  if (is_new)
    commit_choice (self, &dropped);
  if (self->params_are_noted) {
    self->params_are_noted = FALSE;
    if (!offer_params (self, g_steal_pointer (&self->noted), &news, &reason)
        && is_new)
      show_choice (self, &news);
  } else if (is_new) {
    commit_old_params (self, &news, &reason);
  }
  GST_OBJECT_UNLOCK (self);

  gst_cuda_loaded_clear (&dropped);
  news_tell (&news, self);
  if (reason)
    complain (self, reason);
  if (is_new)
    gst_cuda_filter_sync_watch (self);
}

GstStructure *
gst_cuda_filter_get_params (GstCudaFilter *self)
{
  GstStructure *params;

  GST_OBJECT_LOCK (self);
  params = self->child_is_current
               ? gst_cuda_params_get_values (self->child, NULL)
               : copy_params (self->params);
  GST_OBJECT_UNLOCK (self);
  return params;
}

/* --- a frame ------------------------------------------------------------- */

/* What is to be done before a frame, and what came of it. */
typedef struct {
  gboolean has_to_load;
  GstCudaChoice choice;
  GstStructure *params;

  GstCudaLoaded loaded;
  gboolean is_fresh; /* from a file that changed */
  GstCudaLoaded dropped;
  GstCudaParams *child; /* of what runs, or NULL where it is another's */
} Work;

/* FALSE where all is as it is asked for. */
static gboolean
work_take (Work *work, GstCudaFilter *self)
{
  gboolean any;

  GST_OBJECT_LOCK (self);
  if (!self->running.kernel)
    self->kernel_changed = TRUE;
  any = self->kernel_changed || self->params_changed;
  if (any) {
    absorb_child (self);
    work->has_to_load = self->kernel_changed;
    gst_cuda_choice_copy (&work->choice, &self->choice);
    work->params = copy_params (self->params);
    self->kernel_is_coming = self->kernel_changed;
    self->kernel_changed = FALSE;
  } else {
    work->child = gst_object_ref (self->child);
  }
  GST_OBJECT_UNLOCK (self);
  return any;
}

static void
work_clear (Work *work)
{
  gst_cuda_choice_clear (&work->choice);
  g_clear_pointer (&work->params, gst_structure_free);
  gst_cuda_loaded_clear (&work->loaded);
  gst_cuda_loaded_clear (&work->dropped);
  gst_clear_object (&work->child);
}

/* @values (nullable, taken) are all that the running kernel is given. */
static void
use_values (GstCudaFilter *self, GstStructure *values, News *news)
{
  replace_params (&self->good, copy_params (self->params));
  self->params_are_judged = TRUE;
  show (self, values, self->running.effect, !self->child_is_current, news);
  g_clear_pointer (&values, gst_structure_free);
  replace_params (&self->arguments,
      gst_cuda_params_get_values (self->child, &self->arguments_serial));
}

/* Params that are tried again, nobody having asked for it, give way to the last
 * good ones where only these fit what was loaded. */
static void
give_way (GstCudaFilter *self, const GstCudaLoaded *loaded)
{
  GstStructure *values = NULL;

  if (!self->params_are_retried
      || gst_cuda_loaded_fit (loaded, self->params, &values, NULL)
      || !gst_cuda_loaded_fit (loaded, self->good, &values, NULL)) {
    g_clear_pointer (&values, gst_structure_free);
    return;
  }
  g_clear_pointer (&values, gst_structure_free);
  reject (self, g_steal_pointer (&self->params));
  self->params = copy_params (self->good);
}

/* What was loaded runs if the params fit it. Else it waits for some that do,
 * and where it is new, @error tells why. */
static gboolean
settle_loaded (GstCudaFilter *self, Work *work, News *news, GError **error)
{
  gboolean is_new = work->has_to_load || work->is_fresh;
  GstStructure *values = NULL;

  if (!work->loaded.kernel)
    return FALSE;
  give_way (self, &work->loaded);
  if (gst_cuda_loaded_fit (
          &work->loaded, self->params, &values, is_new ? error : NULL)) {
    gst_cuda_loaded_take (&work->dropped, &self->running);
    gst_cuda_loaded_take (&self->running, &work->loaded);
    use_values (self, values, news);
    return TRUE;
  }
  if (!self->next.kernel)
    gst_cuda_loaded_take (&self->next, &work->loaded);
  return FALSE;
}

/* What runs goes on, with the params if they fit it, else with the last ones
 * that did. */
static void
settle_running (GstCudaFilter *self, News *news, GError **error)
{
  GstStructure *values = NULL;

  if (gst_cuda_loaded_fit (
          &self->running, self->params, &values, *error ? NULL : error)) {
    use_values (self, values, news);
    return;
  }
  reject (self, g_steal_pointer (&self->params));
  self->params = copy_params (self->good);
  self->params_are_judged = TRUE;
  show (self, self->arguments, self->running.effect, FALSE, news);
}

/* Another choice came meanwhile, and the params are that one's. What was loaded
 * runs with its own until the next frame. */
static gboolean
settle_outdated (GstCudaFilter *self, Work *work, GError **error)
{
  GstStructure *values = NULL;

  if (!work->loaded.kernel
      || !gst_cuda_loaded_fit (&work->loaded, work->params, &values,
          self->running.kernel ? NULL : error))
    return FALSE;
  gst_cuda_loaded_take (&work->dropped, &self->running);
  gst_cuda_loaded_take (&self->running, &work->loaded);
  replace_params (&self->good, copy_params (work->params));
  replace_params (&self->arguments, values);
  return TRUE;
}

/* Under the lock, after loading; @error may be set by that. Whether the loaded
 * kernel is what runs now. */
static gboolean
settle (GstCudaFilter *self, Work *work, News *news, GError **error)
{
  gboolean is_taken;

  self->kernel_is_coming = FALSE;
  if (self->kernel_changed)
    return settle_outdated (self, work, error);
  self->params_changed = FALSE;
  if (!work->has_to_load && self->next.kernel) {
    gst_cuda_loaded_take (&work->loaded, &self->next);
    work->is_fresh = self->next_is_fresh;
    self->next_is_fresh = FALSE;
  } else if (self->next_is_fresh) {
    self->params_changed = TRUE; /* it came while this was loaded */
  }
  is_taken = settle_loaded (self, work, news, error);
  if (!is_taken && self->running.kernel)
    settle_running (self, news, error);
  work->child = gst_object_ref (self->child);
  return is_taken;
}

static gboolean
work_do (Work *work, GstCudaFilter *self, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  News news = { NULL };
  GError *reason = NULL;
  gboolean is_taken;

  if (work->has_to_load)
    gst_cuda_choice_load (
        &work->choice, context, work->params, &work->loaded, &reason);
  GST_OBJECT_LOCK (self);
  is_taken = settle (self, work, &news, &reason);
  GST_OBJECT_UNLOCK (self);
  news_tell (&news, self);

  if (is_taken && work->is_fresh)
    GST_ELEMENT_INFO (self, LIBRARY, SETTINGS,
        ("%s changed: its new kernel is used from frame %" G_GUINT64_FORMAT
         " on",
            self->running.file, self->frame),
        (NULL));
  if (!reason)
    return TRUE;
  /* Nobody has seen a frame yet who could go on with it. */
  if (!self->running.kernel || (work->has_to_load && self->frame == 0)) {
    g_propagate_error (error, reason);
    return FALSE;
  }
  complain (self, reason);
  return TRUE;
}

/* The values that the child has at @time. */
static void
refresh (GstCudaFilter *self, GstCudaParams *child, GstClockTime time)
{
  GstStructure *values;
  GError *reason = NULL;

  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT (child), time);
  if (gst_cuda_params_get_serial (child) == self->arguments_serial)
    return;
  values = gst_cuda_params_get_values (child, &self->arguments_serial);
  if (gst_vkgdr_kernel_check_params (self->running.kernel, values, &reason)) {
    GST_OBJECT_LOCK (self);
    replace_params (&self->arguments, values);
    GST_OBJECT_UNLOCK (self);
    return;
  }
  g_clear_pointer (&values, gst_structure_free);
  complain (self, reason);
}

gboolean
gst_cuda_filter_update (GstCudaFilter *self, GstClockTime time, GError **error)
{
  Work work = { 0 };
  gboolean ok = !work_take (&work, self) || work_do (&work, self, error);

  if (ok && work.child)
    refresh (self, work.child, time);
  work_clear (&work);
  return ok;
}

void
gst_cuda_filter_remind (GstCudaFilter *self)
{
  GstStructure *rejected, *values = NULL;
  GError *reason = NULL;
  gboolean is_rejected;

  GST_OBJECT_LOCK (self);
  is_rejected = self->params_are_rejected;
  rejected = copy_params (self->rejected);
  GST_OBJECT_UNLOCK (self);
  if (is_rejected
      && !gst_cuda_loaded_fit (&self->running, rejected, &values, &reason))
    complain (self, reason);
  g_clear_pointer (&values, gst_structure_free);
  g_clear_pointer (&rejected, gst_structure_free);
}

void
gst_cuda_filter_unload (GstCudaFilter *self)
{
  GstCudaLoaded running = { NULL }, next = { NULL };

  GST_OBJECT_LOCK (self);
  gst_cuda_loaded_take (&running, &self->running);
  gst_cuda_loaded_take (&next, &self->next);
  self->next_is_fresh = FALSE;
  self->kernel_changed = TRUE;
  g_clear_pointer (&self->arguments, gst_structure_free);
  GST_OBJECT_UNLOCK (self);
  gst_cuda_loaded_clear (&running);
  gst_cuda_loaded_clear (&next);
}
