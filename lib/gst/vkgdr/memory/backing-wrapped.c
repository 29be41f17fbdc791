/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-wrapped.c: device memory that another library allocated
 */

#include "memory/backing.h"

typedef struct {
  gpointer user_data;
  GDestroyNotify notify;
} Owner;

static void
wrapped_free (GstVkgdrAllocation *self)
{
  Owner *owner = self->data;

  if (owner->notify)
    owner->notify (owner->user_data);
  g_free (owner);
}

static const GstVkgdrBacking backing_wrapped = {
  .name = "wrapped",
  .free = wrapped_free,
};

GstVkgdrAllocation *
gst_vkgdr_allocation_new_wrapped (GstVkgdrContext *context, CUdeviceptr device,
    gsize size, gpointer user_data, GDestroyNotify notify)
{
  GstVkgdrAllocation *self = g_new0 (GstVkgdrAllocation, 1);
  Owner *owner = g_new0 (Owner, 1);

  owner->user_data = user_data;
  owner->notify = notify;
  self->backing = &backing_wrapped;
  self->context = gst_object_ref (context);
  self->size = size;
  self->device = device;
  self->data = owner;
  return self;
}
