/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy.c: copies to and from write-combined memory
 *
 * Asks the CPU once for the best instruction set, and shares large copies among
 * threads. Must not know what the memory belongs to.
 */

#include "copy.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include <vkgdr/vkgdr.h>

/* Bytes from which on a copy takes two threads by itself. One thread fills an
 * H200's window at 21 GB/s, two at 33, which is all that the bus carries, and a
 * thread takes some 20 us to start: worth it where one needs ten times that. */
#define TWO_THREADS_FROM ((size_t) 4 << 20)

/* Bytes that a thread copies at least, however many were asked for: 50 us of
 * work at 21 GB/s. */
#define MIN_BYTES_PER_THREAD ((size_t) 1 << 20)

/* Threads of a copy, whatever was asked for; more than a few gain nothing. */
#define MAX_THREADS 16

/* Bytes that the parts of a copy are multiples of: a page, so that no two
 * threads write into one line or fault on one page. */
#define PART_ALIGNMENT ((size_t) 4096)

/* What one thread copies. */
typedef struct part {
  pthread_t thread;
  bool started;
  void *dst;
  const void *src;
  size_t size;
} part;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const vkgdr_copy_functions *chosen;

unsigned int
vkgdr_copy_list (const vkgdr_copy_functions *list[VKGDR_COPY_MAX_ISAS])
{
  unsigned int n = 0;

#ifdef __x86_64__
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512f"))
    list[n++] = &vkgdr_copy_avx512;
  if (__builtin_cpu_supports ("avx2"))
    list[n++] = &vkgdr_copy_avx2;
  if (__builtin_cpu_supports ("sse4.1"))
    list[n++] = &vkgdr_copy_sse41;
#endif
  list[n++] = &vkgdr_copy_generic;
  return n;
}

static void
choose (void)
{
  const vkgdr_copy_functions *list[VKGDR_COPY_MAX_ISAS];

  vkgdr_copy_list (list);
  chosen = list[0];
}

static const vkgdr_copy_functions *
functions (void)
{
  pthread_once (&once, choose);
  return chosen;
}

const char *
vkgdr_copy_isa (void)
{
  return functions ()->name;
}

static unsigned int
choose_threads (size_t size, unsigned int threads)
{
  size_t most = size / MIN_BYTES_PER_THREAD;

  if (threads == 0)
    threads = size < TWO_THREADS_FROM ? 1 : 2;
  if (threads > MAX_THREADS)
    threads = MAX_THREADS;
  if (threads > most)
    threads = most;
  return threads ? threads : 1;
}

static void *
run_part (void *data)
{
  part *p = data;

  functions ()->to_bar (p->dst, p->src, p->size);
  return NULL;
}

/* Copies with n threads, this one included. Threads that cannot be had leave
 * their part to this one. */
static void
copy_in_parts (uint8_t *dst, const uint8_t *src, size_t size, unsigned int n)
{
  part parts[MAX_THREADS];
  size_t each = (size / n + PART_ALIGNMENT - 1) & ~(PART_ALIGNMENT - 1);
  sigset_t all, before;
  unsigned int i;

  /* The application's signals are none of these threads' business. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  for (i = 0; i < n; i++) {
    parts[i].dst = dst;
    parts[i].src = src;
    parts[i].size = i == n - 1 || each > size ? size : each;
    parts[i].started =
        i < n - 1
        && pthread_create (&parts[i].thread, NULL, run_part, &parts[i]) == 0;
    dst += parts[i].size;
    src += parts[i].size;
    size -= parts[i].size;
  }
  pthread_sigmask (SIG_SETMASK, &before, NULL);

  for (i = 0; i < n; i++) {
    if (!parts[i].started)
      run_part (&parts[i]);
  }
  for (i = 0; i < n; i++) {
    if (parts[i].started)
      pthread_join (parts[i].thread, NULL);
  }
}

void
vkgdr_copy_to_bar (
    void *dst, const void *src, size_t size, unsigned int threads)
{
  unsigned int n = choose_threads (size, threads);

  if (n == 1)
    functions ()->to_bar (dst, src, size);
  else
    copy_in_parts (dst, src, size, n);
}

void
vkgdr_copy_from_bar (void *dst, const void *src, size_t size)
{
  functions ()->from_bar (dst, src, size);
}
