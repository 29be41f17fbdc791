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
  guint i;

  if (!g_atomic_int_get (&self->is_used))
    g_atomic_int_set (&self->is_used, TRUE);
  for (i = 0; i < GST_VKGDR_SPARES_MAX; i++)
    if (!g_atomic_pointer_get (&self->memories[i])
        && g_atomic_pointer_compare_and_exchange (
            &self->memories[i], NULL, memory))
      return TRUE;
  return FALSE;
}

GstVkgdrMemory *
gst_vkgdr_spares_take (GstVkgdrSpares *self)
{
  guint i;

  for (i = 0; i < GST_VKGDR_SPARES_MAX; i++) {
    GstVkgdrMemory *memory = g_atomic_pointer_get (&self->memories[i]);

    /* Another thread may have freed @memory. So before the exchange, the
     * pointer is only compared. */
    if (memory
        && g_atomic_pointer_compare_and_exchange (
            &self->memories[i], memory, NULL))
      return memory;
  }
  return NULL;
}

gboolean
gst_vkgdr_spares_is_empty (GstVkgdrSpares *self)
{
  guint i;

  for (i = 0; i < GST_VKGDR_SPARES_MAX; i++)
    if (g_atomic_pointer_get (&self->memories[i]))
      return FALSE;
  return TRUE;
}

void
gst_vkgdr_spares_reset_use (GstVkgdrSpares *self, gint64 now)
{
  self->since = now;
  g_atomic_int_set (&self->is_used, FALSE);
}

void
gst_vkgdr_spares_give (
    GstVkgdrSpares *self, GstVkgdrHeap *heap, GstVkgdrMemory *memory)
{
  gint64 since = g_atomic_int_get (&self->is_used) ? 0 : self->since;

  gst_vkgdr_heap_give (heap, &memory->block, since);
  g_free (memory);
}

void
gst_vkgdr_spares_empty (GstVkgdrSpares *self, GstVkgdrHeap *heap)
{
  GstVkgdrMemory *memory;

  while ((memory = gst_vkgdr_spares_take (self)))
    gst_vkgdr_spares_give (self, heap, memory);
}
