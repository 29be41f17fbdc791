/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinned.c: see memory/pinned.h
 */

#include "memory/pinned.h"

/* The maximum size in bytes of all kept blocks, in addition to the bytes of
 * gst_vkgdr_pinned_expect (). It is enough for eight 4K RGBA frames, as in a
 * pipeline with a few queues, and small compared to the memory of a host with a
 * GPU. */
#define KEPT_MAX (256 * 1024 * 1024)

/* Sizes are rounded up to a multiple of this many bytes, so that blocks of
 * nearly the same size can replace each other. */
#define GRANULE (64 * 1024)

typedef struct {
  gpointer data;
  gsize size;
  GstVkgdrFence *fence; /* a transfer may be pending until it is reached */
} Piece;

struct _GstVkgdrPinned {
  gint refcount;
  GstVkgdrContext *context;
  GMutex lock;
  GArray *kept;    /* of Piece, the oldest first */
  GHashTable *out; /* data -> size */
  gsize kept_bytes;
  gsize expected_bytes;
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
  gst_vkgdr_pinned_trim (pinned);
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
  GPtrArray *fences = NULL;

  garbage->context = pinned->context;
  garbage->data = piece->data;
  if (piece->fence) {
    fences =
        g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
    g_ptr_array_add (fences, piece->fence);
  }
  gst_vkgdr_reclaim (pinned->context, fences, free_garbage, garbage);
}

/* Must be called with the lock held. The maximum size of all kept pieces. */
static gsize
get_limit (const GstVkgdrPinned *pinned)
{
  return KEPT_MAX + pinned->expected_bytes;
}

/* Must be called with the lock held. */
static Piece
remove_kept (GstVkgdrPinned *pinned, guint i)
{
  Piece piece = g_array_index (pinned->kept, Piece, i);

  g_array_remove_index (pinned->kept, i);
  pinned->kept_bytes -= piece.size;
  return piece;
}

/* Frees the oldest pieces, so that at most @limit bytes are kept. */
static void
free_oldest (GstVkgdrPinned *pinned, gsize limit)
{
  GArray *excess = g_array_new (FALSE, FALSE, sizeof (Piece));
  guint i;

  g_mutex_lock (&pinned->lock);
  while (pinned->kept_bytes > limit) {
    Piece piece = remove_kept (pinned, 0);

    g_array_append_val (excess, piece);
  }
  g_mutex_unlock (&pinned->lock);

  for (i = 0; i < excess->len; i++)
    free_piece (pinned, &g_array_index (excess, Piece, i));
  g_array_unref (excess);
}

static gboolean
is_idle (const Piece *piece)
{
  return !piece->fence || gst_vkgdr_fence_is_signaled (piece->fence);
}

/* Must be called with the lock held. Takes the smallest kept piece that is
 * idle, and has at least @size and at most twice @size bytes. If several have
 * the same size, takes the last one. */
static gpointer
take_kept (GstVkgdrPinned *pinned, gsize size)
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
  piece = remove_kept (pinned, best);
  g_clear_pointer (&piece.fence, gst_vkgdr_fence_unref);
  g_hash_table_insert (pinned->out, piece.data, GSIZE_TO_POINTER (piece.size));
  return piece.data;
}

gpointer
gst_vkgdr_pinned_take (GstVkgdrPinned *pinned, gsize size, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (pinned->context);
  gpointer data;

  size = (MAX (size, 1) + GRANULE - 1) / GRANULE * GRANULE;
  g_mutex_lock (&pinned->lock);
  data = take_kept (pinned, size);
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

  g_mutex_lock (&pinned->lock);
  g_hash_table_insert (pinned->out, data, GSIZE_TO_POINTER (size));
  g_mutex_unlock (&pinned->lock);
  return data;
}

void
gst_vkgdr_pinned_give (
    GstVkgdrPinned *pinned, gpointer data, GstVkgdrFence *fence)
{
  Piece piece = { data, 0, fence };
  gboolean keep;

  g_mutex_lock (&pinned->lock);
  piece.size = GPOINTER_TO_SIZE (g_hash_table_lookup (pinned->out, data));
  g_hash_table_remove (pinned->out, data);
  keep = pinned->kept_bytes + piece.size <= get_limit (pinned);
  if (keep) {
    g_array_append_val (pinned->kept, piece);
    pinned->kept_bytes += piece.size;
  }
  g_mutex_unlock (&pinned->lock);

  if (!keep)
    free_piece (pinned, &piece);
}

void
gst_vkgdr_pinned_expect (GstVkgdrPinned *pinned, gssize bytes)
{
  gsize limit;

  g_mutex_lock (&pinned->lock);
  pinned->expected_bytes += bytes;
  limit = get_limit (pinned);
  g_mutex_unlock (&pinned->lock);
  if (bytes < 0)
    free_oldest (pinned, limit);
}

void
gst_vkgdr_pinned_count (GstVkgdrPinned *pinned, guint *n_held, guint *n_active)
{
  g_mutex_lock (&pinned->lock);
  *n_held = pinned->kept->len;
  *n_active = g_hash_table_size (pinned->out);
  g_mutex_unlock (&pinned->lock);
}

void
gst_vkgdr_pinned_trim (GstVkgdrPinned *pinned)
{
  free_oldest (pinned, 0);
}
