/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinned.c: see memory/pinned.h
 */

#include <string.h>

#include "memory/backing.h"
#include "memory/pinned.h"

typedef struct {
  gpointer data;
  gsize size;
  GstVkgdrFence *fence; /* a transfer may be pending until it is reached */
  gint64 since;         /* monotonic time when it was given back */
} Piece;

struct _GstVkgdrPinned {
  gint refcount;
  GstVkgdrContext *context;
  GMutex lock;
  GArray *kept;    /* of Piece, the oldest first */
  GHashTable *out; /* data -> size */
};

GstVkgdrPinned *
gst_vkgdr_pinned_new (GstVkgdrContext *context)
{
  GstVkgdrPinned *pinned = g_new0 (GstVkgdrPinned, 1);

  pinned->refcount = 1;
  pinned->context = gst_object_ref (context);
  g_mutex_init (&pinned->lock);
  pinned->kept = g_array_new (FALSE, FALSE, sizeof (Piece));
  pinned->out = g_hash_table_new (NULL, NULL);
  return pinned;
}

GstVkgdrPinned *
gst_vkgdr_pinned_ref (GstVkgdrPinned *pinned)
{
  g_atomic_int_inc (&pinned->refcount);
  return pinned;
}

void
gst_vkgdr_pinned_unref (GstVkgdrPinned *pinned)
{
  if (!g_atomic_int_dec_and_test (&pinned->refcount))
    return;
  gst_vkgdr_pinned_trim (pinned, G_MAXINT64);
  g_array_unref (pinned->kept);
  g_hash_table_unref (pinned->out);
  g_mutex_clear (&pinned->lock);
  gst_object_unref (pinned->context);
  g_free (pinned);
}

/* A block that is freed in another thread. */
typedef struct {
  GstVkgdrContext *context; /* not a reference */
  gpointer data;
} Garbage;

static void
free_garbage (gpointer user_data)
{
  Garbage *garbage = user_data;

  if (gst_vkgdr_context_push (garbage->context, NULL)) {
    gst_vkgdr_context_get_driver (garbage->context)
        ->cuMemFreeHost (garbage->data);
    gst_vkgdr_context_pop (garbage->context);
  }
  g_free (garbage);
}

/* The driver frees pinned memory only when the device is idle. */
static void
free_piece (GstVkgdrPinned *pinned, Piece *piece)
{
  Garbage *garbage = g_new0 (Garbage, 1);

  garbage->context = pinned->context;
  garbage->data = piece->data;
  gst_vkgdr_reclaim (pinned->context,
      piece->fence ? gst_vkgdr_fences_add (NULL, piece->fence) : NULL,
      free_garbage, garbage);
}

static gboolean
is_idle (const Piece *piece)
{
  return !piece->fence || gst_vkgdr_fence_is_signaled (piece->fence);
}

/* Takes the smallest kept piece that is idle and has at least @size and at most
 * twice @size bytes. If several have the same size, takes the one that was
 * given back last. */
static gpointer
take_kept_locked (GstVkgdrPinned *pinned, gsize size)
{
  gsize best_size = G_MAXSIZE;
  gint best = -1, i;
  Piece piece;

  for (i = (gint) pinned->kept->len - 1; i >= 0 && best_size > size; i--) {
    const Piece *p = &g_array_index (pinned->kept, Piece, i);

    if (p->size < size || p->size / 2 > size || p->size >= best_size
        || !is_idle (p))
      continue;
    best = i;
    best_size = p->size;
  }
  if (best < 0)
    return NULL;
  piece = g_array_index (pinned->kept, Piece, best);
  g_array_remove_index (pinned->kept, best);
  g_clear_pointer (&piece.fence, gst_vkgdr_fence_unref);
  g_hash_table_insert (pinned->out, piece.data, GSIZE_TO_POINTER (piece.size));
  return piece.data;
}

gpointer
gst_vkgdr_pinned_take (GstVkgdrPinned *pinned, gsize size, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (pinned->context);
  gpointer data;

  /* Blocks of nearly the same size can replace each other. */
  size = (MAX (size, 1) + GST_VKGDR_PAGE_ALIGNMENT - 1)
         / GST_VKGDR_PAGE_ALIGNMENT * GST_VKGDR_PAGE_ALIGNMENT;
  g_mutex_lock (&pinned->lock);
  data = take_kept_locked (pinned, size);
  g_mutex_unlock (&pinned->lock);
  if (data)
    return data;

  if (!gst_vkgdr_context_push (pinned->context, error))
    return NULL;
  if (!gst_vkgdr_check (cuda,
          cuda->cuMemHostAlloc (&data, size, CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc", error))
    data = NULL;
  gst_vkgdr_context_pop (pinned->context);
  if (!data)
    return NULL;
  memset (data, 0, size); /* it must not contain bytes of an earlier use */

  g_mutex_lock (&pinned->lock);
  g_hash_table_insert (pinned->out, data, GSIZE_TO_POINTER (size));
  g_mutex_unlock (&pinned->lock);
  return data;
}

void
gst_vkgdr_pinned_give (
    GstVkgdrPinned *pinned, gpointer data, GstVkgdrFence *fence)
{
  Piece piece = { data, 0, fence, g_get_monotonic_time () };

  g_mutex_lock (&pinned->lock);
  piece.size = GPOINTER_TO_SIZE (g_hash_table_lookup (pinned->out, data));
  g_hash_table_remove (pinned->out, data);
  g_array_append_val (pinned->kept, piece);
  g_mutex_unlock (&pinned->lock);
}

void
gst_vkgdr_pinned_trim (GstVkgdrPinned *pinned, gint64 since)
{
  GArray *unused = g_array_new (FALSE, FALSE, sizeof (Piece));
  guint i;

  g_mutex_lock (&pinned->lock);
  while (pinned->kept->len > 0
         && g_array_index (pinned->kept, Piece, 0).since <= since) {
    g_array_append_val (unused, g_array_index (pinned->kept, Piece, 0));
    g_array_remove_index (pinned->kept, 0);
  }
  g_mutex_unlock (&pinned->lock);

  for (i = 0; i < unused->len; i++)
    free_piece (pinned, &g_array_index (unused, Piece, i));
  g_array_unref (unused);
}

gboolean
gst_vkgdr_pinned_is_empty (GstVkgdrPinned *pinned)
{
  gboolean is_empty;

  g_mutex_lock (&pinned->lock);
  is_empty = pinned->kept->len == 0 && g_hash_table_size (pinned->out) == 0;
  g_mutex_unlock (&pinned->lock);
  return is_empty;
}
