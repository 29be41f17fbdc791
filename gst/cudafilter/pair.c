/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pair.c: see cudafilter/pair.h
 */

#include "cudafilter/pair.h"

static GstStructure *
copy_params (const GstStructure *params)
{
  return params ? gst_structure_copy (params) : NULL;
}

void
gst_cuda_request_assign (GstCudaRequest *self, const GstCudaRequest *other)
{
  gst_cuda_request_clear (self);
  *self = *other;
  gst_cuda_choice_copy (&self->choice, &other->choice);
  self->params = copy_params (other->params);
  if (self->output)
    gst_caps_ref (self->output);
}

void
gst_cuda_request_clear (GstCudaRequest *self)
{
  gst_cuda_choice_clear (&self->choice);
  g_clear_pointer (&self->params, gst_structure_free);
  gst_clear_caps (&self->output);
}

GstCudaPair *
gst_cuda_pair_new (GstCudaLoaded *loaded, const GstStructure *params,
    const GstCudaRequest *request, GError **error)
{
  GstStructure *arguments;
  GstCudaPair *self;

  if (!gst_cuda_loaded_fit (loaded, params, &arguments, error))
    return NULL;
  self = g_atomic_rc_box_new0 (GstCudaPair);
  self->loaded = gst_cuda_loaded_ref (loaded);
  self->given = copy_params (params);
  self->arguments = arguments;
  if (request->output)
    self->output = gst_caps_ref (request->output);
  self->output_is_in_any_memory = request->output_is_in_any_memory;
  return self;
}

GstCudaPair *
gst_cuda_pair_ref (GstCudaPair *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
pair_clear (gpointer data)
{
  GstCudaPair *self = data;

  gst_cuda_loaded_unref (self->loaded);
  g_clear_pointer (&self->given, gst_structure_free);
  g_clear_pointer (&self->arguments, gst_structure_free);
  gst_clear_caps (&self->output);
}

void
gst_cuda_pair_unref (GstCudaPair *self)
{
  g_atomic_rc_box_release_full (self, pair_clear);
}
