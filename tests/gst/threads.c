/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * threads.c: calls the functions that are documented as thread-safe from
 * several threads at once
 *
 * Most faults are found only with the thread sanitizer (scripts/test --tsan).
 * The tests do not depend on the order of the threads.
 */

#include <string.h>

#include "sync/stream.h"
#include "util.h"

#define N_THREADS 3
#define N_ROUNDS 200
#define SIZE 5000

typedef struct _Crowd Crowd;
typedef void (*Work) (Crowd *crowd, GstVkgdrStream *stream, gint me);

struct _Crowd {
  GstVkgdrContext *context;
  GstVkgdrAllocator *allocator;
  GstMemory *memory; /* all threads use it */
  Work work;
  gint arrived;
  gint next;
};

static gpointer
member (gpointer data)
{
  Crowd *crowd = data;
  g_autoptr (GstVkgdrStream) stream = test_stream_new (crowd->context);
  gint me = g_atomic_int_add (&crowd->next, 1);
  gint i;

  g_atomic_int_inc (&crowd->arrived);
  while (g_atomic_int_get (&crowd->arrived) < N_THREADS)
    g_thread_yield ();
  for (i = 0; i < N_ROUNDS; i++)
    crowd->work (crowd, stream, me);
  return NULL;
}

static void
run (Work work, const gchar *debug)
{
  Crowd crowd = { .work = work };
  GThread *threads[N_THREADS];
  guint i;

  test_set_debug (debug);
  crowd.context = test_context_new ();
  crowd.allocator = gst_vkgdr_context_get_allocator (crowd.context);
  crowd.memory = test_memory_new (crowd.context, SIZE);
  test_write (crowd.memory, 1);

  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("member", member, &crowd);
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);

  gst_memory_unref (crowd.memory);
  fail_unless (gst_vkgdr_context_synchronize (crowd.context, NULL));
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (crowd.allocator), 0);
  gst_vkgdr_allocator_free_held (crowd.allocator);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (crowd.allocator), 0);
  gst_object_unref (crowd.allocator);
  test_assert_last_ref (crowd.context);
  gst_object_unref (crowd.context);
}

static void
access_from_streams (Crowd *crowd, GstVkgdrStream *stream, gint me)
{
  GstMapFlags flags = me == 0 ? GST_MAP_WRITE : GST_MAP_READ;

  fail_unless (
      gst_vkgdr_memory_begin_access (crowd->memory, stream, flags, NULL));
  fail_unless (
      gst_vkgdr_memory_end_access (crowd->memory, stream, flags, NULL));
}

static void
read_and_launch (Crowd *crowd, GstVkgdrStream *stream, gint me)
{
  if (me == 0)
    access_from_streams (crowd, stream, 1);
  else
    test_assert_read (crowd->memory, 1);
}

static void
use_own_memory (Crowd *crowd, GstVkgdrStream *stream, gint me)
{
  g_autoptr (GstMemory) memory =
      gst_allocator_alloc (GST_ALLOCATOR (crowd->allocator), SIZE, NULL);
  GstMapInfo map;

  fail_unless (memory != NULL);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  memset (map.data, me, map.size);
  gst_memory_unmap (memory, &map);
}

/* Uses memories of two sizes, which share slabs. */
static void
use_small_memory (Crowd *crowd, GstVkgdrStream *stream, gint me)
{
  const guint8 byte = me;
  g_autoptr (GstMemory) memory = gst_vkgdr_allocator_alloc (
      crowd->allocator, g_random_boolean () ? 512 : 1024, NULL);
  const volatile guint8 *host;

  fail_unless (memory != NULL);
  host = gst_vkgdr_memory_get_host_pointer (memory);
  fail_unless (gst_vkgdr_memory_write (memory, 0, &byte, 1, NULL));
  if (g_random_int_range (0, 20) == 0)
    gst_vkgdr_allocator_free_held (crowd->allocator);
  /* Another thread that has the same memory would have overwritten it. */
  fail_unless_equals_int (*host, me);
}

/* What all threads do. The last one needs a window. */
static const Work works[] = { access_from_streams, read_and_launch,
  use_own_memory, use_small_memory };

#define N_WORKS ((gint) G_N_ELEMENTS (works))

TEST_LOOP (crowd, 2 * (test_hides_vulkan () ? N_WORKS - 1 : N_WORKS))
{
  run (works[__i__ / 2], __i__ % 2 ? "bar" : "");
}

#define LIMIT 1000 /* the time limit of a kernel, in milliseconds */

#define N_LAUNCHES 40

/* While one thread launches a kernel, others launch kernels on the same stream,
 * which end first. The first kernel is still watched. */
TEST (launches_of_others_end_first)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  GstVkgdrLaunch *first, *other;
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  first = gst_vkgdr_launch_begin (stream, "first", NULL);
  for (i = 0; i < N_LAUNCHES; i++) {
    other = gst_vkgdr_launch_begin (stream, "other", NULL);
    gst_vkgdr_launch_end (other, TRUE);
    fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  }
  test_wait_for (!gst_vkgdr_stream_check (stream, NULL));
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"first\"");
  gst_vkgdr_launch_end (first, TRUE);
  /* The process would wait at its end while a kernel does not end. */
  test_wait_for (
      !gst_vkgdr_health_is_hung (gst_vkgdr_context_get_health (context)));
}
