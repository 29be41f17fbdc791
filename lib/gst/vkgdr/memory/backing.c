/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing.c: see memory/backing.h
 */

#include "memory/backing.h"

GstVkgdrAllocation *
gst_vkgdr_allocation_new (const GstVkgdrBacking *backing,
    GstVkgdrContext *context, gsize size, GError **error)
{
  GstVkgdrAllocation *self;
  gboolean ok;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  self = g_new0 (GstVkgdrAllocation, 1);
  self->backing = backing;
  self->context = context;
  self->size = size;
  ok = backing->allocate (self, error);
  gst_vkgdr_context_pop (context);
  if (!ok) {
    g_free (self);
    return NULL;
  }
  gst_object_ref (context);
  return self;
}

static void
free_now (gpointer data)
{
  GstVkgdrAllocation *self = data;

  self->backing->free (self);
  gst_object_unref (self->context);
  g_free (self);
}

void
gst_vkgdr_allocation_free (GstVkgdrAllocation *allocation)
{
  if (allocation->backing->free_waits)
    gst_vkgdr_reclaim (allocation->context, NULL, free_now, allocation);
  else
    free_now (allocation);
}

void
gst_vkgdr_allocation_free_lost (
    GstVkgdrAllocation *allocation, GPtrArray *fences)
{
  gst_vkgdr_reclaim (allocation->context, fences, free_now, allocation);
}
