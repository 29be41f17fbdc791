/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/request.c: see cudafilter/request.h
 */

#include "cudafilter/request.h"

GstCudaRequest *
gst_cuda_request_copy (const GstCudaRequest *self)
{
  GstCudaRequest *copy = g_new (GstCudaRequest, 1);

  *copy = *self;
  gst_cuda_choice_copy (&copy->choice, &self->choice);
  if (self->params)
    copy->params = gst_structure_copy (self->params);
  if (self->output)
    gst_caps_ref (self->output);
  return copy;
}

gboolean
gst_cuda_request_is_new (const GstCudaRequest *self)
{
  return self->choice_is_new || self->params_are_new || self->output_is_new;
}

void
gst_cuda_request_set_old (GstCudaRequest *self)
{
  self->choice_is_new = self->params_are_new = self->output_is_new = FALSE;
}

void
gst_cuda_request_inherit (GstCudaRequest *self, const GstCudaRequest *earlier)
{
  self->choice_is_new |= earlier->choice_is_new;
  self->params_are_new |= earlier->params_are_new;
  self->output_is_new |= earlier->output_is_new;
}

void
gst_cuda_request_clear (GstCudaRequest *self)
{
  gst_cuda_choice_clear (&self->choice);
  g_clear_pointer (&self->params, gst_structure_free);
  gst_clear_caps (&self->output);
}

void
gst_cuda_request_free (GstCudaRequest *self)
{
  gst_cuda_request_clear (self);
  g_free (self);
}
