/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy.c: copies to and from write-combined memory
 *
 * Determines the best instruction set of the CPU once, and divides large copies
 * among threads. Must not know the owner of the memory.
 */

#include "copy.h"

#include <stdint.h>

#include "thread.h"
#include <vkgdr/vkgdr.h>

/* From this size on, in bytes, a copy uses two threads by default. One thread
 * fills an H200's window at 21 GB/s, two threads at 33 GB/s, which is the
 * bandwidth of the bus. Starting a thread takes about 20 us, so it is worth it
 * if one thread would need ten times as long. */
#define TWO_THREADS_FROM ((size_t) 4 << 20)

/* A thread copies about this many bytes or more, even if more threads were
 * requested: 50 us of work at 21 GB/s. */
#define MIN_BYTES_PER_THREAD ((size_t) 1 << 20)

/* The maximum number of threads, even if more were requested: more do not help.
 */
#define MAX_THREADS 16

/* The size of each thread's part, except the last one, is a multiple of this
 * many bytes: a page. If the destination begins at a page, no two threads write
 * to the same line or fault on the same page. */
#define PART_ALIGNMENT ((size_t) 4096)

/* The part of one thread. */
typedef struct part {
  pthread_t thread;
  bool started;
  void *dst;
  const void *src;
  size_t size;
} part;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vkgdr_copy_functions chosen;

static void
choose (void)
{
  vkgdr_copy_functions list[VKGDR_COPY_MAX_ISAS];

  vkgdr_copy_list (list);
  chosen = list[0];
}

static const vkgdr_copy_functions *
functions (void)
{
  pthread_once (&once, choose);
  return &chosen;
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

  if (most < 2) /* the most frequent case */
    return 1;
  if (threads == 0)
    threads = size < TWO_THREADS_FROM ? 1 : 2;
  if (threads > MAX_THREADS)
    threads = MAX_THREADS;
  if (threads > most)
    threads = most;
  return threads;
}

static void *
run_part (void *data)
{
  part *p = data;

  functions ()->to_bar (p->dst, p->src, p->size);
  return NULL;
}

/* Copies with n threads, including the calling thread, which also copies the
 * parts of threads that cannot be created. */
static void
copy_in_parts (uint8_t *dst, const uint8_t *src, size_t size, unsigned int n)
{
  part parts[MAX_THREADS];
  size_t each = (size / n + PART_ALIGNMENT - 1) & ~(PART_ALIGNMENT - 1);
  unsigned int i;

  for (i = 0; i < n; i++) {
    parts[i].dst = dst;
    parts[i].src = src;
    parts[i].size = i == n - 1 || each > size ? size : each;
    parts[i].started = i < n - 1
                       && vkgdr_thread_start (&parts[i].thread, "vkgdr-copy",
                              run_part, &parts[i])
                              == 0;
    dst += parts[i].size;
    src += parts[i].size;
    size -= parts[i].size;
  }
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
