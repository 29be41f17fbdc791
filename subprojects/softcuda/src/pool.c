/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pool.c: spreads the blocks of launches over the processors
 *
 * Has a few threads that never end, and a list of jobs on which all of them
 * work. The first launch that needs the threads starts them. Knows nothing of
 * CUDA.
 */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "run.h"

/* More threads are not useful for a device that is meant for development. */
#define MAX_THREADS 16

/* A thread takes 1 / (SHARE_OF_REST * number of threads) of the remaining
 * blocks at a time. So it rarely takes the lock, and all threads end at about
 * the same time. */
#define SHARE_OF_REST 4

typedef struct pool_job {
  bool (*each) (void *data, uint64_t i);
  void *data;
  uint64_t next;
  uint64_t n;
  int workers; /* threads that work on it */
  bool failed;
  struct pool_job *after;
} pool_job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static pool_job *jobs;
static int n_threads = 1; /* including the caller's thread */
static bool started;

/* Runs the job part by part, without the lock. */
static void
work_locked (pool_job *job)
{
  job->workers++;
  while (job->next < job->n && !job->failed) {
    uint64_t first = job->next;
    uint64_t n = (job->n - first) / (SHARE_OF_REST * (uint64_t) n_threads) + 1;
    bool good = true;

    job->next += n;
    pthread_mutex_unlock (&lock);
    for (uint64_t i = 0; good && i < n; i++)
      good = job->each (job->data, first + i);
    pthread_mutex_lock (&lock);
    if (!good)
      job->failed = true;
  }
  if (--job->workers == 0)
    pthread_cond_broadcast (&done);
}

static pool_job *
find_open_job_locked (void)
{
  for (pool_job *job = jobs; job != NULL; job = job->after)
    if (job->next < job->n && !job->failed)
      return job;
  return NULL;
}

static void *
pool_thread (void *unused)
{
  pthread_setname_np (pthread_self (), "softcuda-pool");
  pthread_mutex_lock (&lock);
  for (;;) {
    pool_job *job = find_open_job_locked ();

    if (job != NULL)
      work_locked (job);
    else
      pthread_cond_wait (&wake, &lock);
  }
  return NULL;
}

/* If a thread cannot be started, the pool works without it. */
static void
start_locked (void)
{
  long wanted = sysconf (_SC_NPROCESSORS_ONLN);
  sigset_t all;
  sigset_t before;

  started = true;
  if (wanted > MAX_THREADS)
    wanted = MAX_THREADS;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  while (n_threads < wanted) {
    pthread_t thread;

    if (pthread_create (&thread, NULL, pool_thread, NULL) != 0)
      break;
    pthread_detach (thread);
    n_threads++;
  }
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}

bool
sc_pool_run (bool (*each) (void *data, uint64_t i), void *data, uint64_t n)
{
  pool_job job = { each, data, 0, n, 0, false, NULL };

  if (n == 1)
    return each (data, 0);
  pthread_mutex_lock (&lock);
  if (!started)
    start_locked ();
  job.after = jobs;
  jobs = &job;
  pthread_cond_broadcast (&wake);
  work_locked (&job);
  while (job.workers != 0)
    pthread_cond_wait (&done, &lock);
  for (pool_job **p = &jobs; *p != NULL; p = &(*p)->after) {
    if (*p == &job) {
      *p = job.after;
      break;
    }
  }
  pthread_mutex_unlock (&lock);
  return !job.failed;
}
