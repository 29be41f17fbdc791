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

/* A call that a thread of the application waits for. */
typedef struct {
  void (*function) (void *); /* NULL: the thread shall end */
  void *data;
  vkgdr_error error; /* the caller's last error */
} call;

struct vkgdr_vulkan_thread {
  pid_t process;
  pthread_t thread;
  unsigned users; /* guarded by users_lock */

  pthread_mutex_t turn; /* held by the thread that calls */
  pthread_mutex_t lock; /* guards the field below */
  pthread_cond_t changed;
  call *call; /* the present call, or NULL */
};

/* Also held during the start of the thread, and while its end is awaited. */
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static vkgdr_vulkan_thread *current; /* guarded by users_lock */

static void *
run_thread (void *data)
{
  vkgdr_vulkan_thread *self = data;
  bool goes_on = true;

  pthread_mutex_lock (&self->lock);
  while (goes_on) {
    call *c = self->call;

    if (!c) {
      pthread_cond_wait (&self->changed, &self->lock);
      continue;
    }
    pthread_mutex_unlock (&self->lock);
    goes_on = c->function != NULL;
    vkgdr_error_restore (&c->error);
    if (goes_on)
      c->function (c->data);
    vkgdr_error_save (&c->error);
    pthread_mutex_lock (&self->lock);
    self->call = NULL;
    pthread_cond_broadcast (&self->changed);
  }
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* Gives @c to the thread, and waits for it. */
static void
wait_for (vkgdr_vulkan_thread *self, call *c)
{
  pthread_mutex_lock (&self->turn);
  pthread_mutex_lock (&self->lock);
  self->call = c;
  pthread_cond_broadcast (&self->changed);
  while (self->call)
    pthread_cond_wait (&self->changed, &self->lock);
  pthread_mutex_unlock (&self->lock);
  pthread_mutex_unlock (&self->turn);
}

static void
destroy (vkgdr_vulkan_thread *self)
{
  pthread_cond_destroy (&self->changed);
  pthread_mutex_destroy (&self->lock);
  pthread_mutex_destroy (&self->turn);
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
  pthread_mutex_init (&self->turn, NULL);
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
  call end = { .function = NULL };

  if (!is_of_this_process (self))
    return;
  pthread_mutex_lock (&users_lock);
  if (--self->users == 0) {
    wait_for (self, &end);
    pthread_join (self->thread, NULL);
    destroy (self);
    current = NULL;
  }
  pthread_mutex_unlock (&users_lock);
}

bool
vkgdr_vulkan_thread_run (
    vkgdr_vulkan_thread *self, void (*function) (void *), void *data)
{
  call c = { .function = function, .data = data };

  /* The call is made by a function that already runs in the thread, for example
   * to describe an error. */
  if (pthread_equal (pthread_self (), self->thread)) {
    function (data);
    return true;
  }
  if (!is_of_this_process (self)) {
    vkgdr_error_set ("this process was forked after the device was opened, and "
                     "neither Vulkan nor CUDA supports that: open the device "
                     "in this process");
    return false;
  }
  vkgdr_error_save (&c.error);
  wait_for (self, &c);
  vkgdr_error_restore (&c.error);
  return true;
}
