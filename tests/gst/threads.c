/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * threads.c: calls the functions that are documented as thread-safe from
 * several threads at once
 *
 * Most faults are found only with the thread sanitizer (scripts/test --tsan).
 * The tests do not depend on the order of the threads, or hold one of them at a
 * gate inside a call of the driver.
 */

#include <unistd.h>

#include "sync/stream.h"
#include "gate.h"

#define SIZE 10000

/* --- a crowd of threads -------------------------------------------------- */

#define N_THREADS 3
#define N_ROUNDS 200

typedef void (*Work) (GstVkgdrStream *stream, gint me);

static GstVkgdrAllocator *allocator;
static GstMemory *memory; /* all threads use it */
static gint arrived;      /* threads; atomic */

static gpointer
member (gpointer work)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  gint me = g_atomic_int_add (&arrived, 1);
  gint i;

  while (g_atomic_int_get (&arrived) < N_THREADS)
    g_thread_yield ();
  for (i = 0; i < N_ROUNDS; i++)
    (*(Work *) work) (stream, me);
  return NULL;
}

/* The CPU reads, a stream writes, and another one reads. */
static void
use_shared_memory (GstVkgdrStream *stream, gint me)
{
  GstMapFlags flags = me == 1 ? GST_MAP_WRITE : GST_MAP_READ;

  if (me == 0) {
    test_assert_read (memory, 1);
  } else {
    fail_unless (gst_vkgdr_memory_begin_access (memory, stream, flags, NULL));
    fail_unless (gst_vkgdr_memory_end_access (memory, stream, flags, NULL));
  }
}

/* Uses memories of two sizes, which share slabs. */
static void
use_small_memory (GstVkgdrStream *stream, gint me)
{
  const guint8 byte = me;
  g_autoptr (GstMemory) own = gst_vkgdr_allocator_alloc (
      allocator, g_random_boolean () ? 512 : 1024, NULL);
  const volatile guint8 *host;

  fail_unless (own != NULL);
  host = gst_vkgdr_memory_get_host_pointer (own);
  fail_unless (gst_vkgdr_memory_write (own, 0, &byte, 1, NULL));
  if (g_random_int_range (0, 20) == 0)
    gst_vkgdr_allocator_free_held (allocator);
  /* Another thread that has the same memory would have overwritten it. */
  fail_unless_equals_int (*host, me);
}

/* What all threads do. The last one needs a window. */
static Work works[] = { use_shared_memory, use_small_memory };

TEST_LOOP (crowd, test_hides_vulkan () ? 2 : 4)
{
  GThread *threads[N_THREADS];
  guint i;

  test_set_debug (__i__ % 2 ? "bar" : "");
  test_setup ();
  allocator = test_allocator ();
  memory = test_memory_new (test_context, SIZE);
  test_write (memory, 1);
  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("member", member, &works[__i__ / 2]);
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);

  gst_memory_unref (memory);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
  gst_object_unref (allocator);
  test_teardown ();
}

/* While one thread launches a kernel, others launch kernels on the same stream,
 * which end first. The first kernel is still watched. */
TEST (launches_of_others_end_first)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  GstVkgdrFence *first;
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 1000);
  first = gst_vkgdr_launch_begin (stream, "first", NULL);
  for (i = 0; i < 40; i++) {
    gst_vkgdr_launch_end (
        gst_vkgdr_launch_begin (stream, "other", NULL), TRUE, NULL);
    fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  }
  test_wait_for (!gst_vkgdr_stream_check (stream, NULL));
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"first\"");
  gst_vkgdr_launch_end (first, TRUE, NULL);
  /* The process would wait at its end while a kernel does not end. */
  test_wait_for (
      !gst_vkgdr_health_is_hung (gst_vkgdr_context_get_health (context)));
}

/* --- calls that overlap -------------------------------------------------- */

static vkgdr_cuda real; /* the driver's table before it is changed */
static gint n_calls;    /* of the functions below; atomic */

/* Holds the first call at the gate. */
static void
hold_first (CUstream unused)
{
  if (g_atomic_int_add (&n_calls, 1) == 0)
    test_gate_wait (NULL);
}

static CUresult
held_create (CUstream *stream, unsigned int flags)
{
  hold_first (NULL);
  return real.cuStreamCreate (stream, flags);
}

/* Starts a thread. Returns when it is at the gate. */
static GThread *
start_held (GThreadFunc work, gpointer user_data)
{
  GThread *thread = g_thread_new ("held", work, user_data);

  test_wait_for (g_atomic_int_get (&n_calls) > 0);
  return thread;
}

static void
open_gate_and_join (GThread *thread)
{
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  g_thread_join (thread);
}

static gpointer
unmap (gpointer map)
{
  gst_memory_unmap (memory, map);
  return NULL;
}

static gpointer
publish (gpointer map)
{
  fail_unless (gst_vkgdr_memory_publish (memory, NULL));
  return NULL;
}

static void
setup_without_window (void)
{
  test_set_debug ("no-window");
  test_setup ();
}

TEST_FIXTURE (setup_without_window, test_teardown);

/* One thread is held at the gate while it unmaps or publishes the memory, and
 * another one does the other. The content is on its way when publishing
 * returns, even if another thread has begun to unmap the memory. An unmap may
 * give the staging buffer away while another thread publishes the content.
 *
 * Small memory outside of a pool is not cleared, so that no stream for
 * transfers exists. It is made by the first transfer. */
TEST_LOOP (publish_and_unmap, 2)
{
  static const GThreadFunc work[] = { unmap, publish };
  GThread *thread;
  GstMapInfo map;

  memory = test_memory_new (test_context, SIZE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, SIZE, 1);
  test_change_driver (&real)->cuStreamCreate = held_create;
  thread = start_held (work[__i__], &map);
  work[1 - __i__](&map);
  if (__i__ == 0)
    test_assert_device (memory, 1);
  open_gate_and_join (thread);
  test_assert_device (memory, 1);
  gst_memory_unref (memory);
}

static gpointer
read_memory (gpointer map)
{
  fail_unless (gst_memory_map (memory, map, GST_MAP_READ));
  return NULL;
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* Two threads map imported memory for reading. One of them is held at the gate
 * before it fetches the content, while the other one fetches it. The exporter
 * then changes the content. The bytes that the second thread has mapped do not
 * change any more. */
TEST (second_reader_fetches_nothing)
{
  g_autoptr (GBytes) description = NULL;
  GstMemory *exported;
  GThread *thread;
  GstMapInfo maps[2];
  gsize offset, i;
  gint fd;

  TEST_NEEDS (test_has_window (), "a window");
  allocator = gst_vkgdr_allocator_new (test_context);
  exported = gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  test_write (exported, 1);
  fd = gst_vkgdr_memory_export_fd (exported, &description, &offset, NULL);
  gst_object_unref (allocator);
  allocator = gst_vkgdr_allocator_new (test_context);
  memory = gst_vkgdr_allocator_import_fd (allocator, fd, description, NULL);
  fail_unless (memory != NULL);
  close (fd);

  test_change_driver (&real)->cuStreamCreate = held_create;
  thread = start_held (read_memory, &maps[0]);
  read_memory (&maps[1]);
  test_write (exported, 2);
  fail_unless (gst_vkgdr_memory_wait_idle (exported, NULL));
  open_gate_and_join (thread);
  for (i = 0; i < SIZE; i++)
    test_check_byte (i, maps[1].data[offset + i], test_pattern (i, 1));
  for (i = 0; i < 2; i++)
    gst_memory_unmap (memory, &maps[i]);
  gst_memory_unref (memory);
  gst_memory_unref (exported);
  gst_object_unref (allocator);
}

static gpointer
upload (gpointer bytes)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);

  fail_unless (gst_vkgdr_memory_upload (memory, 0, bytes, SIZE, stream, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  return NULL;
}

/* The driver may wait until memory that is not pinned is transferred. Other
 * threads can query the memory meanwhile. */
TEST (transfer_blocks_no_other_thread)
{
  guint8 bytes[SIZE];
  GThread *thread;

  memory = test_memory_new (test_context, SIZE);
  test_fill (bytes, SIZE, 1);
  test_spy.before = hold_first;
  test_spy_install (test_context);
  thread = start_held (upload, bytes);
  gst_vkgdr_memory_is_idle (memory);
  open_gate_and_join (thread);
  test_assert_device (memory, 1);
  gst_memory_unref (memory);
}
