/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vulkan-thread.c: see vulkan-thread.h
 */

#include "vulkan-thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "thread.h"

struct vkgdr_vulkan_thread {
  pid_t process;
  pthread_t thread;
  unsigned users; /* guarded by users_lock */

  pthread_mutex_t lock; /* guards the fields below, and states of calls */
  pthread_cond_t changed;
  vkgdr_vulkan_call *first; /* the present call, and those that wait; or NULL */
};

/* Also held during the start of the thread, and while its end is awaited. */
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static vkgdr_vulkan_thread *current; /* guarded by users_lock */

/* A call without a function ends the thread. */
static void *
run_thread (void *data)
{
  vkgdr_vulkan_thread *self = data;
  bool goes_on = true;

  pthread_mutex_lock (&self->lock);
  while (goes_on) {
    vkgdr_vulkan_call *call = self->first;

    if (!call) {
      pthread_cond_wait (&self->changed, &self->lock);
      continue;
    }
    pthread_mutex_unlock (&self->lock);
    goes_on = call->function != NULL;
    vkgdr_error_restore (&call->error);
    if (goes_on)
      call->function (call->data);
    vkgdr_error_save (&call->error);
    pthread_mutex_lock (&self->lock);
    self->first = call->next;
    call->state = VKGDR_VULKAN_CALL_DONE;
    pthread_cond_broadcast (&self->changed);
  }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

static void
queue_locked (vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call)
{
  vkgdr_vulkan_call **last = &self->first;

  if (call->state != VKGDR_VULKAN_CALL_NEW)
    return;
  while (*last)
    last = &(*last)->next;
  *last = call;
  call->next = NULL;
  call->state = VKGDR_VULKAN_CALL_QUEUED;
  pthread_cond_broadcast (&self->changed);
}

static void
queue_and_wait (vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call)
{
  pthread_mutex_lock (&self->lock);
  queue_locked (self, call);
  while (call->state != VKGDR_VULKAN_CALL_DONE)
    pthread_cond_wait (&self->changed, &self->lock);
  pthread_mutex_unlock (&self->lock);
}

static void
destroy (vkgdr_vulkan_thread *self)
{
  pthread_cond_destroy (&self->changed);
  pthread_mutex_destroy (&self->lock);
  free (self);
}

static vkgdr_vulkan_thread *
create (void)
{
  vkgdr_vulkan_thread *self = calloc (1, sizeof (*self));
  int result;

  if (!self) {
    vkgdr_error_set ("no memory is left: end other programs");
    return NULL;
  }
  self->process = getpid ();
  pthread_mutex_init (&self->lock, NULL);
  pthread_cond_init (&self->changed, NULL);
  result = vkgdr_thread_start (&self->thread, "vulkan", run_thread, self);
  if (result == 0)
    return self;
  destroy (self);
  vkgdr_error_set ("the thread that calls Vulkan cannot be started (%s): "
                   "the limit of threads may be reached (ulimit -u)",
      strerror (result));
  return NULL;
}

static bool
is_of_this_process (const vkgdr_vulkan_thread *self)
{
  return self->process == getpid ();
}

vkgdr_vulkan_thread *
vkgdr_vulkan_thread_ref (void)
{
  vkgdr_vulkan_thread *self;

  pthread_mutex_lock (&users_lock);
  /* fork() does not copy the thread. */
  if (!current || !is_of_this_process (current))
    current = create ();
  self = current;
  if (self)
    self->users++;
  pthread_mutex_unlock (&users_lock);
  return self;
}

void
vkgdr_vulkan_thread_unref (vkgdr_vulkan_thread *self)
{
  vkgdr_vulkan_call end = { .function = NULL };

  if (!is_of_this_process (self))
    return;
  pthread_mutex_lock (&users_lock);
  if (--self->users == 0) {
    queue_and_wait (self, &end);
    pthread_join (self->thread, NULL);
    destroy (self);
    current = NULL;
  }
  pthread_mutex_unlock (&users_lock);
}

/* NVIDIA's driver crashes in vkCreateInstance() and vkCreateDevice() if the
 * process ends meanwhile. Nobody waits for calls that were only begun, so
 * exit() does. */
static void
wait_at_exit (void)
{
  vkgdr_vulkan_thread *self;

  pthread_mutex_lock (&users_lock);
  self = current;
  if (self && is_of_this_process (self)) {
    pthread_mutex_lock (&self->lock);
    while (self->first)
      pthread_cond_wait (&self->changed, &self->lock);
    pthread_mutex_unlock (&self->lock);
  }
  pthread_mutex_unlock (&users_lock);
}

static void
register_wait (void)
{
  atexit (wait_at_exit);
}

void
vkgdr_vulkan_thread_begin (vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  if (!is_of_this_process (self))
    return;
  pthread_once (&once, register_wait);
  pthread_mutex_lock (&self->lock);
  queue_locked (self, call);
  pthread_mutex_unlock (&self->lock);
}

/* fork() may have copied the lock while a thread of the parent held it. */
vkgdr_vulkan_call_state
vkgdr_vulkan_thread_get_state (
    vkgdr_vulkan_thread *self, const vkgdr_vulkan_call *call)
{
  vkgdr_vulkan_call_state state;

  if (!is_of_this_process (self))
    return call->state;
  pthread_mutex_lock (&self->lock);
  state = call->state;
  pthread_mutex_unlock (&self->lock);
  return state;
}

bool
vkgdr_vulkan_thread_wait (vkgdr_vulkan_thread *self, vkgdr_vulkan_call *call)
{
  if (is_of_this_process (self)) {
    queue_and_wait (self, call);
    return true;
  }
  if (call->state == VKGDR_VULKAN_CALL_DONE)
    return true;
  vkgdr_error_set ("this process was forked after the device was opened, and "
                   "neither Vulkan nor CUDA supports that: open the device "
                   "in this process");
  return false;
}

bool
vkgdr_vulkan_thread_run (
    vkgdr_vulkan_thread *self, void (*function) (void *), void *data)
{
  vkgdr_vulkan_call call = { .function = function, .data = data };

  /* The call is made by a function that already runs in the thread, for example
   * to describe an error. */
  if (pthread_equal (pthread_self (), self->thread)) {
    function (data);
    return true;
  }
  vkgdr_error_save (&call.error);
  if (!vkgdr_vulkan_thread_wait (self, &call))
    return false;
  vkgdr_error_restore (&call.error);
  return true;
}
