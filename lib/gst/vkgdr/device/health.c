/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/health.c: see device/health.h
 */

#include "device/device-private.h"

#include <sys/prctl.h>

/* Microseconds for which a wait may continue while a kernel of the CUDA context
 * does not end. By then, work of other streams is done, unless it is queued
 * behind that kernel: such work will never be done. */
#define GRACE G_TIME_SPAN_SECOND

/* A waiting thread yields for this number of microseconds before it sleeps,
 * because a sleep's delay would be noticeable. The driver's waits do so. */
#define SPIN 200

/* Then a pause lasts 1 / PART of the time waited so far, and at most PAUSE_MAX
 * microseconds, a delay that is not noticeable. */
#define PART 64
#define PAUSE_MAX 1000

/* Nanoseconds. By default, Linux lets a thread sleep 50 microseconds longer
 * than requested. */
#define SLACK 1000

struct _GstVkgdrHealth {
  guint refcount; /* under the registry's lock */
  const vkgdr_cuda *cuda;
  CUcontext context;

  gint lost; /* atomic; written under the lock */
  gint hung; /* atomic; kernels that do not end; written under hang_lock */

  GMutex lock;   /* for the next field */
  GError *error; /* why the context is lost, or NULL */

  GMutex hang_lock; /* for the next fields; taken under the launches' lock */
  GError *hang;     /* names the kernel that does not end, or NULL */
  gint64 hung_from; /* monotonic time */
};

static GMutex registry_lock;
static GHashTable *registry; /* CUcontext -> GstVkgdrHealth */

static GstVkgdrSuspectsFunc add_suspects; /* atomic */

GstVkgdrHealth *
gst_vkgdr_health_get (const vkgdr_cuda *cuda, CUcontext context)
{
  GstVkgdrHealth *self;

  g_mutex_lock (&registry_lock);
  if (!registry)
    registry = g_hash_table_new (NULL, NULL);
  self = g_hash_table_lookup (registry, context);
  if (!self) {
    self = g_new0 (GstVkgdrHealth, 1);
    self->cuda = cuda;
    self->context = context;
    g_mutex_init (&self->lock);
    g_mutex_init (&self->hang_lock);
    g_hash_table_insert (registry, context, self);
  }
  self->refcount++;
  g_mutex_unlock (&registry_lock);
  return self;
}

void
gst_vkgdr_health_unref (GstVkgdrHealth *self)
{
  gboolean last;

  g_mutex_lock (&registry_lock);
  last = --self->refcount == 0;
  if (last)
    g_hash_table_remove (registry, self->context);
  g_mutex_unlock (&registry_lock);
  if (!last)
    return;
  g_clear_error (&self->error);
  g_clear_error (&self->hang);
  g_mutex_clear (&self->lock);
  g_mutex_clear (&self->hang_lock);
  g_free (self);
}

/* --- lost ------------------------------------------------------------------
 */

void
gst_vkgdr_health_set_suspects_func (GstVkgdrSuspectsFunc func)
{
  g_atomic_pointer_set (&add_suspects, func);
}

/* Must be called with the lock held. Returns "kernel "a" of x or kernel "b" of
 * y", which the caller frees; NULL if no kernel is known to run. */
static gchar *
name_suspects (GstVkgdrHealth *self)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  GstVkgdrSuspectsFunc func = g_atomic_pointer_get (&add_suspects);
  gchar *text = NULL;

  if (func)
    func (self->context, names);
  if (names->len > 0) {
    g_ptr_array_add (names, NULL);
    text = g_strjoinv (" or ", (gchar **) names->pdata);
  }
  g_ptr_array_unref (names);
  return text;
}

/* Must be called with the lock held. */
static void
set_lost (GstVkgdrHealth *self, CUresult result, const gchar *what)
{
  gchar *suspects;

  if (self->error)
    return;
  suspects = name_suspects (self);
  gst_vkgdr_set_cuda_error (self->cuda, result, what, &self->error);
  if (suspects)
    g_prefix_error (&self->error, "%s failed on the device: ", suspects);
  g_free (suspects);
  g_atomic_int_set (&self->lost, TRUE);
}

/* Whether the driver reports no error for the context now. */
static gboolean
is_driver_usable (GstVkgdrHealth *self)
{
  CUcontext popped;
  CUresult result;

  if (self->cuda->cuCtxPushCurrent (self->context) != CUDA_SUCCESS)
    return FALSE;
  result = self->cuda->cuStreamQuery (NULL);
  self->cuda->cuCtxPopCurrent (&popped);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
}

gboolean
gst_vkgdr_health_try_recover (GstVkgdrHealth *self)
{
  if (!g_atomic_int_get (&self->lost))
    return TRUE;
  if (!is_driver_usable (self))
    return FALSE;
  g_mutex_lock (&self->lock);
  g_clear_error (&self->error);
  g_atomic_int_set (&self->lost, FALSE);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

gboolean
gst_vkgdr_health_check (GstVkgdrHealth *self, GError **error)
{
  gboolean lost;

  if (!g_atomic_int_get (&self->lost))
    return TRUE;
  g_mutex_lock (&self->lock);
  lost = self->error != NULL;
  if (lost && error)
    *error = g_error_copy (self->error);
  g_mutex_unlock (&self->lock);
  return !lost;
}

gboolean
gst_vkgdr_health_check_result (
    GstVkgdrHealth *self, CUresult result, const gchar *what, GError **error)
{
  if (result == CUDA_SUCCESS)
    return TRUE;
  if (!gst_vkgdr_is_lost (result)) {
    gst_vkgdr_set_cuda_error (self->cuda, result, what, error);
    return FALSE;
  }
  gst_vkgdr_health_try_recover (self);
  g_mutex_lock (&self->lock);
  set_lost (self, result, what);
  if (error)
    *error = g_error_copy (self->error);
  g_mutex_unlock (&self->lock);
  return FALSE;
}

/* FALSE if the current CUDA context is not known here; then no error is set. */
static gboolean
check_current (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error)
{
  GstVkgdrHealth *self = NULL;
  CUcontext context = NULL;

  cuda->cuCtxGetCurrent (&context);
  g_mutex_lock (&registry_lock);
  if (context && registry)
    self = g_hash_table_lookup (registry, context);
  if (self)
    self->refcount++;
  g_mutex_unlock (&registry_lock);
  if (!self)
    return FALSE;
  gst_vkgdr_health_check_result (self, result, what, error);
  gst_vkgdr_health_unref (self);
  return TRUE;
}

gboolean
gst_vkgdr_check (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error)
{
  if (result == CUDA_SUCCESS)
    return TRUE;
  if (error
      && !(gst_vkgdr_is_lost (result)
           && check_current (cuda, result, what, error)))
    gst_vkgdr_set_cuda_error (cuda, result, what, error);
  return FALSE;
}

/* --- hung ------------------------------------------------------------------
 */

void
gst_vkgdr_health_begin_hang (GstVkgdrHealth *self, const GError *error)
{
  g_mutex_lock (&self->hang_lock);
  if (!self->hang) {
    self->hang = g_error_copy (error);
    self->hung_from = g_get_monotonic_time ();
  }
  g_atomic_int_inc (&self->hung);
  g_mutex_unlock (&self->hang_lock);
}

void
gst_vkgdr_health_end_hang (GstVkgdrHealth *self)
{
  g_mutex_lock (&self->hang_lock);
  if (g_atomic_int_dec_and_test (&self->hung))
    g_clear_error (&self->hang);
  g_mutex_unlock (&self->hang_lock);
}

gboolean
gst_vkgdr_health_is_hung (GstVkgdrHealth *self)
{
  return g_atomic_int_get (&self->hung) > 0;
}

gboolean
gst_vkgdr_health_check_hang (GstVkgdrHealth *self, GError **error)
{
  gboolean ok;

  if (!gst_vkgdr_health_is_hung (self))
    return TRUE;
  g_mutex_lock (&self->hang_lock);
  ok = self->hang == NULL;
  if (!ok && error)
    *error = g_error_copy (self->hang);
  g_mutex_unlock (&self->hang_lock);
  return ok;
}

static gboolean
check_wait (GstVkgdrHealth *self, gint64 since, GError **error)
{
  gint64 now;
  gboolean ok = TRUE;

  if (!gst_vkgdr_health_is_hung (self))
    return TRUE;
  now = g_get_monotonic_time ();
  g_mutex_lock (&self->hang_lock);
  if (self->hang && now - MAX (since, self->hung_from) > GRACE) {
    ok = FALSE;
    if (error)
      *error = g_error_copy (self->hang);
  }
  g_mutex_unlock (&self->hang_lock);
  return ok;
}

static void
pause_for (gint64 waited)
{
  int slack;

  if (waited < SPIN) {
    g_thread_yield ();
    return;
  }
  slack = prctl (PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl (PR_SET_TIMERSLACK, SLACK, 0, 0, 0);
  g_usleep (MIN (waited / PART, PAUSE_MAX));
  prctl (PR_SET_TIMERSLACK, MAX (slack, 0), 0, 0, 0);
}

gboolean
gst_vkgdr_health_pause (GstVkgdrHealth *self, gint64 since, GError **error)
{
  if (!check_wait (self, since, error))
    return FALSE;
  pause_for (g_get_monotonic_time () - since);
  return TRUE;
}
