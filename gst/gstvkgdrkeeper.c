/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkeeper.c: see gstvkgdrkeeper.h
 */

#include "gstvkgdrkeeper.h"

typedef struct {
  GstBuffer *buffer; /* NULL: the thread has to end */
  GstMapInfo *maps;
  GstVkgdrFence *fence;
} Kept;

/* Microseconds between two queries of a fence, which is about the time of a
 * frame's transfer, and the number of queries after which the thread waits for
 * the fence instead. */
#define QUERY_INTERVAL 100
#define N_QUERIES 100

struct _GstVkgdrKeeper {
  GThread *thread; /* NULL until the first buffer is kept */
  GAsyncQueue *queue;
};

GstVkgdrKeeper *
gst_vkgdr_keeper_new (void)
{
  GstVkgdrKeeper *keeper = g_new0 (GstVkgdrKeeper, 1);

  keeper->queue = g_async_queue_new ();
  return keeper;
}

static void
kept_free (gpointer data)
{
  Kept *kept = data;
  guint i;

  gst_vkgdr_fence_unref (kept->fence);
  for (i = 0; i < gst_buffer_n_memory (kept->buffer); i++)
    gst_memory_unmap (gst_buffer_peek_memory (kept->buffer, i), &kept->maps[i]);
  g_free (kept->maps);
  gst_buffer_unref (kept->buffer);
  g_free (kept);
}

/* Waits until the device has finished, and releases the buffer. If a kernel
 * does not end, or the driver cannot be queried, the library releases it later.
 */
static void
wait_and_release (Kept *kept)
{
  guint i;

  /* A query delays the threads that queue work, so this thread queries rarely.
   */
  for (i = 0; i < N_QUERIES && !gst_vkgdr_fence_is_signaled (kept->fence); i++)
    g_usleep (QUERY_INTERVAL);
  if (gst_vkgdr_fence_wait (kept->fence, NULL))
    kept_free (kept);
  else
    gst_vkgdr_fence_release_later (kept->fence, kept_free, kept);
}

static gpointer
run (gpointer user_data)
{
  GAsyncQueue *queue = user_data;
  gboolean last = FALSE;

  while (!last) {
    Kept *kept = g_async_queue_pop (queue);

    last = !kept->buffer;
    if (last)
      g_free (kept);
    else
      wait_and_release (kept);
  }
  return NULL;
}

void
gst_vkgdr_keeper_free (GstVkgdrKeeper *keeper)
{
  if (keeper->thread) {
    g_async_queue_push (keeper->queue, g_new0 (Kept, 1));
    g_thread_join (keeper->thread);
  }
  g_async_queue_unref (keeper->queue);
  g_free (keeper);
}

/* Returns FALSE if no thread can be created. */
static gboolean
ensure_thread (GstVkgdrKeeper *keeper)
{
  GError *error = NULL;

  if (keeper->thread)
    return TRUE;
  keeper->thread =
      g_thread_try_new ("vkgdr-keeper", run, keeper->queue, &error);
  if (keeper->thread)
    return TRUE;
  GST_WARNING ("no thread; buffers are kept for longer: %s", error->message);
  g_error_free (error);
  return FALSE;
}

void
gst_vkgdr_keeper_keep (GstVkgdrKeeper *keeper, GstBuffer *buffer,
    GstMapInfo *maps, GstVkgdrFence *fence)
{
  Kept *kept = g_new (Kept, 1);

  kept->buffer = gst_buffer_ref (buffer);
  kept->maps = maps;
  kept->fence = fence;
  if (ensure_thread (keeper))
    g_async_queue_push (keeper->queue, kept);
  else
    gst_vkgdr_fence_release_later (fence, kept_free, kept);
}
