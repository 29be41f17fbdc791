/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/child.c: the child object with the parameters
 *
 * Any thread may replace the child. Its signals are emitted without a lock,
 * because their handlers may use the element. Knows nothing of kernels.
 */

#include "cudafilter/cudafilter.h"

void
gst_cuda_filter_init_child (GstCudaFilter *self)
{
  self->child = gst_cuda_params_new (NULL, NULL);
  gst_object_set_parent (GST_OBJECT (self->child), GST_OBJECT (self));
  self->announced = gst_object_ref (self->child);
}

void
gst_cuda_filter_clear_child (GstCudaFilter *self)
{
  gst_object_unparent (GST_OBJECT (self->child));
  gst_clear_object (&self->child);
  gst_clear_object (&self->announced);
}

/* The parent is changed under the same lock as the child, so that exactly the
 * present child has a parent, whichever thread announces it. */
void
gst_cuda_filter_show (GstCudaFilter *self, GstCudaParams *child)
{
  GstCudaParams *old = self->child;

  if (child == old)
    return;
  self->child = gst_object_ref (child);
  self->requested.serial = gst_cuda_params_get_serial (child);
  gst_object_unparent (GST_OBJECT (old));
  gst_object_set_parent (GST_OBJECT (child), GST_OBJECT (self));
  gst_object_unref (old);
}

static void
emit_replaced (
    GstCudaFilter *self, GstCudaParams *removed, GstCudaParams *added)
{
  GstChildProxy *proxy = GST_CHILD_PROXY (self);

  gst_child_proxy_child_removed (
      proxy, G_OBJECT (removed), GST_OBJECT_NAME (removed));
  gst_child_proxy_child_added (
      proxy, G_OBJECT (added), GST_OBJECT_NAME (added));
}

/* One thread at a time emits, so that the signals come in pairs. If the child
 * is replaced meanwhile, this thread announces the new child, too. */
void
gst_cuda_filter_announce_child (GstCudaFilter *self)
{
  GST_OBJECT_LOCK (self);
  while (!self->is_announcing && self->announced != self->child) {
    GstCudaParams *removed = self->announced;
    GstCudaParams *added = gst_object_ref (self->child);

    self->announced = gst_object_ref (added);
    self->is_announcing = TRUE;
    GST_OBJECT_UNLOCK (self);
    emit_replaced (self, removed, added);
    gst_object_unref (removed);
    gst_object_unref (added);
    GST_OBJECT_LOCK (self);
    self->is_announcing = FALSE;
  }
  GST_OBJECT_UNLOCK (self);
}
