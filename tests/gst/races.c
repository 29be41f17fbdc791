/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * races.c: tests of two threads that use one memory at the same time
 *
 * A gate holds the first thread inside a call of the driver. So the calls of
 * the threads always overlap in the same way.
 */

#include "gate.h"

#define SIZE 10000

static vkgdr_cuda real; /* the driver's table before it is changed */
static gint n_calls;    /* of the functions below; atomic */

/* Holds the first call at the gate. */
static void
hold_first (void)
{
  if (g_atomic_int_add (&n_calls, 1) == 0)
    test_gate_wait (NULL);
}

static CUresult
held_create (CUstream *stream, unsigned int flags)
{
  hold_first ();
  return real.cuStreamCreate (stream, flags);
}

static CUresult
held_htod (CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  hold_first ();
  return real.cuMemcpyHtoDAsync (dst, src, size, stream);
}

static CUresult
held_dtoh (void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
  hold_first ();
  return real.cuMemcpyDtoHAsync (dst, src, size, stream);
}

static vkgdr_cuda *
driver_for_changes (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
  return table;
}

static void
open_gate_and_join (GThread *thread)
{
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  g_thread_join (thread);
}

/* --- memory that is published while it is unmapped ------------------------ */

/* Memory that is mapped for writing through a staging buffer. */
typedef struct {
  GstMemory *memory;
  GstMapInfo map;
  gboolean is_published;
} Mapped;

/* Small memory outside of a pool is not cleared, so that no stream for
 * transfers exists. It is made by the first transfer. */
static void
mapped_init (Mapped *mapped)
{
  mapped->memory = test_memory_new (test_context, SIZE);
  fail_unless (gst_memory_map (mapped->memory, &mapped->map, GST_MAP_WRITE));
  test_fill (mapped->map.data, SIZE, 1);
  driver_for_changes ()->cuStreamCreate = held_create;
}

static gpointer
unmap (gpointer data)
{
  Mapped *mapped = data;

  gst_memory_unmap (mapped->memory, &mapped->map);
  return NULL;
}

static gpointer
publish (gpointer data)
{
  Mapped *mapped = data;

  mapped->is_published = gst_vkgdr_memory_publish (mapped->memory, NULL);
  return NULL;
}

static void
setup_without_window (void)
{
  test_set_debug ("no-window");
  test_setup ();
}

TEST_FIXTURE (setup_without_window, test_teardown);

/* The content is on its way when publishing returns, even if another thread has
 * begun to unmap the memory. */
TEST (publish_during_unmap)
{
  GThread *thread;
  Mapped mapped;

  mapped_init (&mapped);
  thread = g_thread_new ("unmap", unmap, &mapped);
  test_wait_for (g_atomic_int_get (&n_calls) > 0); /* it is at the gate */
  publish (&mapped);
  fail_unless (mapped.is_published);
  test_assert_device (mapped.memory, 1);
  open_gate_and_join (thread);
  test_assert_device (mapped.memory, 1);
  gst_memory_unref (mapped.memory);
}

/* The unmap sends the content and gives the staging buffer away while another
 * thread publishes the content. */
TEST (unmap_during_publish)
{
  GThread *thread;
  Mapped mapped;

  mapped_init (&mapped);
  thread = g_thread_new ("publish", publish, &mapped);
  test_wait_for (g_atomic_int_get (&n_calls) > 0); /* it is at the gate */
  unmap (&mapped);
  open_gate_and_join (thread);
  fail_unless (mapped.is_published);
  test_assert_device (mapped.memory, 1);
  gst_memory_unref (mapped.memory);
}

/* --- transfers for which the driver waits --------------------------------- */

typedef struct {
  GstMemory *memory;
  guint8 *data;
  gboolean is_upload;
} Transfer;

static gpointer
transfer (gpointer user_data)
{
  const Transfer *self = user_data;
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);

  if (self->is_upload)
    fail_unless (gst_vkgdr_memory_upload (
        self->memory, 0, self->data, SIZE, stream, NULL));
  else
    test_download (self->memory, self->data, stream);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  return NULL;
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* The driver may wait until memory that is not pinned is transferred. Other
 * threads can query the memory meanwhile. */
TEST_LOOP (transfer_blocks_no_other_thread, 2)
{
  Transfer self = { test_memory_new (test_context, SIZE), g_malloc (SIZE),
    __i__ == 0 };
  vkgdr_cuda *table = driver_for_changes ();
  GThread *thread;

  test_fill (self.data, SIZE, 1);
  if (!self.is_upload) {
    fail_unless (
        gst_vkgdr_memory_write (self.memory, 0, self.data, SIZE, NULL));
    memset (self.data, 0, SIZE);
  }
  table->cuMemcpyHtoDAsync = held_htod;
  table->cuMemcpyDtoHAsync = held_dtoh;
  thread = g_thread_new ("transfer", transfer, &self);
  test_wait_for (g_atomic_int_get (&n_calls) > 0); /* it is at the gate */
  gst_vkgdr_memory_is_idle (self.memory);
  open_gate_and_join (thread);
  fail_unless (test_matches (self.data, SIZE, 1));
  test_assert_device (self.memory, 1);
  gst_memory_unref (self.memory);
  g_free (self.data);
}
