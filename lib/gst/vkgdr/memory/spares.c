/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/spares.c: see memory/spares.h
 */

#include "memory/spares.h"

gboolean
gst_vkgdr_spares_fit (const GstVkgdrBlock *block)
{
  return block->host && !gst_vkgdr_block_is_private (block);
}

gboolean
gst_vkgdr_spares_keep (GstVkgdrSpares *self, GstVkgdrMemory *memory)
{
  if (self->n == GST_VKGDR_SPARES_MAX)
    return FALSE;
  self->memories[self->n++] = memory;
  self->since = 0;
  return TRUE;
}

GstVkgdrMemory *
gst_vkgdr_spares_take (GstVkgdrSpares *self, gsize maxsize)
{
  if (self->n == 0 || self->memories[self->n - 1]->mem.maxsize != maxsize)
    return NULL;
  self->since = 0;
  return self->memories[--self->n];
}

void
gst_vkgdr_spares_empty (GstVkgdrSpares *self, GstVkgdrHeap *heap)
{
  gint64 since = self->since;

  if (self->n > 0 && since == 0)
    since = g_get_monotonic_time ();
  while (self->n > 0) {
    GstVkgdrMemory *memory = self->memories[--self->n];

    gst_vkgdr_heap_give (heap, &memory->block, since);
    g_free (memory);
  }
}
