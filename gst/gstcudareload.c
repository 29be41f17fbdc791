/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudareload.c: cudafilter compiles its file again when that changes
 *
 * What is compiled here, in the watch's thread, is handed to the streaming
 * thread, which takes it with the next frame and never waits for a compiler.
 * Knows nothing of whether params fit.
 */

#include "gstcudafilter.h"

GST_DEBUG_CATEGORY_EXTERN (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* FALSE where there is nothing to do any more. */
static gboolean
begin (GstCudaFilter *self, GstCudaChoice *choice, GstVkgdrContext **context,
    guint *number)
{
  gboolean ok;

  GST_OBJECT_LOCK (self);
  ok = self->is_open && gst_cuda_choice_get_file (&self->choice) != NULL;
  if (ok) {
    gst_cuda_choice_copy (choice, &self->choice);
    *context = gst_object_ref (
        gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self)));
    *number = self->n_choices;
  }
  GST_OBJECT_UNLOCK (self);
  return ok;
}

/* Another file, or another kernel, may have been chosen meanwhile. */
static void
hand_over (GstCudaFilter *self, GstCudaLoaded *loaded, guint number)
{
  GstCudaLoaded old = { NULL };

  GST_OBJECT_LOCK (self);
  if (self->is_open && number == self->n_choices) {
    gst_cuda_loaded_take (&old, &self->next);
    gst_cuda_loaded_take (&self->next, loaded);
    self->next_is_fresh = TRUE;
    /* The choice is loaded with this, whatever it was when it failed. */
    self->params_changed = TRUE;
  }
  GST_OBJECT_UNLOCK (self);
  gst_cuda_loaded_clear (&old);
}

static void
on_file_changed (gpointer user_data)
{
  GstCudaFilter *self = gst_object_ref (user_data);
  GstCudaChoice choice = { NULL };
  GstCudaLoaded loaded = { NULL };
  GstVkgdrContext *context = NULL;
  GError *error = NULL;
  guint number = 0;

  if (begin (self, &choice, &context, &number)) {
    GST_DEBUG_OBJECT (self, "%s changed", choice.location);
    if (gst_cuda_choice_load (&choice, context, NULL, &loaded, &error))
      hand_over (self, &loaded, number);
    else
      GST_ELEMENT_WARNING (
          self, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
  }
  g_clear_error (&error);
  gst_cuda_loaded_clear (&loaded);
  gst_cuda_choice_clear (&choice);
  gst_clear_object (&context);
  gst_object_unref (self);
}

/* The path to watch, or NULL; under the object lock. */
static const gchar *
wanted_path (GstCudaFilter *self)
{
  return self->is_open && self->watch ? gst_cuda_choice_get_file (&self->choice)
                                      : NULL;
}

static void
start_watch (GstCudaFilter *self, const gchar *path)
{
  GError *error = NULL;
  GstCudaWatch *new = gst_cuda_watch_new (path, on_file_changed, self, &error);

  if (!new) {
    GST_ELEMENT_WARNING (
        self, RESOURCE, OPEN_READ, ("%s", error->message), (NULL));
    g_error_free (error);
    return;
  }
  GST_OBJECT_LOCK (self);
  if (!self->file_watch && g_strcmp0 (path, wanted_path (self)) == 0)
    self->file_watch = g_steal_pointer (&new);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&new, gst_cuda_watch_stop);
}

/* Starting and ending take other threads, so no lock is held: who comes second
 * finds it done, or drops his own. */
void
gst_cuda_filter_sync_watch (GstCudaFilter *self)
{
  GstCudaWatch *old = NULL;
  gchar *path;
  gboolean same;

  GST_OBJECT_LOCK (self);
  path = g_strdup (wanted_path (self));
  same =
      g_strcmp0 (path,
          self->file_watch ? gst_cuda_watch_get_path (self->file_watch) : NULL)
      == 0;
  if (!same)
    old = g_steal_pointer (&self->file_watch);
  GST_OBJECT_UNLOCK (self);

  g_clear_pointer (&old, gst_cuda_watch_stop);
  if (!same && path)
    start_watch (self, path);
  g_free (path);
}
