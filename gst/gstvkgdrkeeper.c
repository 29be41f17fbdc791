/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkeeper.c: see gstvkgdrkeeper.h
 */

#include "gstvkgdrkeeper.h"

/* How often a wait may fail before the device is given up. */
#define WAITS 3

typedef struct {
  GstVkgdrContext *context;
  GstBuffer *buffer; /* NULL: the last one */
  GstMapInfo *maps;
  GstVkgdrFence *fence;
} Kept;

/* Microseconds between two looks, about what a frame takes on its way, and how
 * often, before the wait is left to the library. */
#define NAP 100
#define NAPS 100

struct _GstVkgdrKeeper {
  GThread *thread; /* NULL until there is something to keep */
  GAsyncQueue *queue;
};

GstVkgdrKeeper *
gst_vkgdr_keeper_new (void)
{
  GstVkgdrKeeper *keeper = g_new0 (GstVkgdrKeeper, 1);

  keeper->queue = g_async_queue_new ();
  return keeper;
}

/* Waits until the device has finished with what the fence stands for. FALSE if
 * nothing can tell that. */
static gboolean
wait_until_over (const Kept *kept)
{
  guint i;

  /* A look at the device takes time of the threads that give it work, so this
   * thread looks rarely. */
  for (i = 0; i < NAPS && !gst_vkgdr_fence_is_signaled (kept->fence); i++)
    g_usleep (NAP);
  for (i = 0; i < WAITS; i++)
    if (gst_vkgdr_fence_wait (kept->fence, NULL))
      return TRUE;
  return gst_vkgdr_fence_is_lost (kept->fence)
         && gst_vkgdr_context_synchronize (kept->context, NULL);
}

static void
let_go (Kept *kept)
{
  guint i;

  /* The device may still be reading: then the memory stays where it is. */
  if (!wait_until_over (kept))
    return;
  gst_object_unref (kept->context);
  gst_vkgdr_fence_unref (kept->fence);
  for (i = 0; i < gst_buffer_n_memory (kept->buffer); i++)
    gst_memory_unmap (gst_buffer_peek_memory (kept->buffer, i), &kept->maps[i]);
  g_free (kept->maps);
  gst_buffer_unref (kept->buffer);
}

static gpointer
run (gpointer user_data)
{
  GAsyncQueue *queue = user_data;
  gboolean last = FALSE;

  while (!last) {
    Kept *kept = g_async_queue_pop (queue);

    last = !kept->buffer;
    if (!last)
      let_go (kept);
    g_free (kept);
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

void
gst_vkgdr_keeper_keep (GstVkgdrKeeper *keeper, GstVkgdrContext *context,
    GstBuffer *buffer, GstMapInfo *maps, GstVkgdrFence *fence)
{
  Kept *kept = g_new (Kept, 1);

  kept->context = gst_object_ref (context);
  kept->buffer = gst_buffer_ref (buffer);
  kept->maps = maps;
  kept->fence = fence;
  g_async_queue_push (keeper->queue, kept);
  if (!keeper->thread)
    keeper->thread = g_thread_new ("vkgdr-keeper", run, keeper->queue);
}
