/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frame-export.c: memory that the clients of frame servers get
 *
 * Knows nothing of clients. Thread-safe.
 */

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "frame-peer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vkgdr_export *all;
static uint64_t last_id;
static unsigned generation;
static vkgdr_export_watcher *watchers;

static vkgdr_export *
ref_locked (uint64_t key)
{
  vkgdr_export *one;

  for (one = all; one && one->key != key; one = one->next)
    ;
  if (one)
    one->refs++;
  return one;
}

vkgdr_export *
vkgdr_export_new (uint64_t key, int fd, const vkgdr_fd_info *info, bool *is_new)
{
  vkgdr_export *self = calloc (1, sizeof (*self)), *other;

  if (!self)
    return NULL;
  self->refs = 1;
  self->key = key;
  self->fd = fd;
  self->info = *info;
  pthread_mutex_lock (&lock);
  other = ref_locked (key);
  if (!other) {
    self->id = ++last_id;
    self->next = all;
    all = self;
  }
  pthread_mutex_unlock (&lock);
  if (is_new)
    *is_new = !other;
  if (!other)
    return self;
  close (fd);
  free (self);
  return other;
}

vkgdr_export *
vkgdr_export_ref (vkgdr_export *self)
{
  pthread_mutex_lock (&lock);
  self->refs++;
  pthread_mutex_unlock (&lock);
  return self;
}

static void
remove_locked (vkgdr_export *self)
{
  vkgdr_export_watcher *watcher;
  vkgdr_export **link;

  for (link = &all; *link != self; link = &(*link)->next)
    ;
  *link = self->next;
  generation++;
  for (watcher = watchers; watcher; watcher = watcher->next)
    eventfd_write (watcher->wake, 1);
}

void
vkgdr_export_unref (vkgdr_export *self)
{
  bool is_last;

  pthread_mutex_lock (&lock);
  is_last = --self->refs == 0;
  if (is_last)
    remove_locked (self);
  pthread_mutex_unlock (&lock);
  if (!is_last)
    return;
  close (self->fd);
  free (self);
}

unsigned
vkgdr_export_generation (void)
{
  unsigned result;

  pthread_mutex_lock (&lock);
  result = generation;
  pthread_mutex_unlock (&lock);
  return result;
}

bool
vkgdr_export_lives (uint64_t id)
{
  vkgdr_export *one;

  pthread_mutex_lock (&lock);
  for (one = all; one && one->id != id; one = one->next)
    ;
  pthread_mutex_unlock (&lock);
  return one != NULL;
}

void
vkgdr_export_watch (vkgdr_export_watcher *watcher)
{
  pthread_mutex_lock (&lock);
  watcher->next = watchers;
  watchers = watcher;
  pthread_mutex_unlock (&lock);
}

void
vkgdr_export_unwatch (vkgdr_export_watcher *watcher)
{
  vkgdr_export_watcher **link;

  pthread_mutex_lock (&lock);
  for (link = &watchers; *link != watcher; link = &(*link)->next)
    ;
  *link = watcher->next;
  pthread_mutex_unlock (&lock);
}
