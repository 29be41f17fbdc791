/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/pair.c: see cudafilter/pair.h
 */

#include "cudafilter/pair.h"

GstCudaPair *
gst_cuda_pair_new (GstCudaLoaded *loaded, const GstStructure *params,
    GstStructure *arguments, const GstCudaRequest *request)
{
  GstCudaPair *self = g_new0 (GstCudaPair, 1);

  self->loaded = gst_cuda_loaded_ref (loaded);
  if (params)
    self->given = gst_structure_copy (params);
  self->arguments = arguments;
  if (arguments)
    self->trial = gst_structure_copy (arguments);
  if (request->output)
    self->output = gst_caps_ref (request->output);
  self->output_is_in_any_memory = request->output_is_in_any_memory;
  return self;
}

void
gst_cuda_pair_free (GstCudaPair *self)
{
  gst_cuda_loaded_unref (self->loaded);
  g_clear_pointer (&self->given, gst_structure_free);
  gst_clear_caps (&self->output);
  gst_clear_object (&self->params);
  g_clear_pointer (&self->initial, gst_structure_free);
  g_clear_pointer (&self->arguments, gst_structure_free);
  g_clear_pointer (&self->trial, gst_structure_free);
  g_free (self);
}

void
gst_cuda_pair_attach (
    GstCudaPair *self, GstCudaParams *params, gboolean set_values, guint serial)
{
  self->params = gst_object_ref (params);
  if (set_values && self->arguments)
    self->initial = gst_structure_copy (self->arguments);
  self->serial = serial;
}

void
gst_cuda_pair_inherit (GstCudaPair *self, GstCudaPair *old)
{
  if (self->initial || self->params != old->params)
    return;
  self->initial = g_steal_pointer (&old->initial);
  self->serial = old->serial;
}

gboolean
gst_cuda_pair_enter (GstCudaPair *self)
{
  gboolean changes = self->initial != NULL;

  if (changes)
    gst_cuda_params_set_values (self->params, self->initial, self->serial);
  g_clear_pointer (&self->initial, gst_structure_free);
  /* Makes the next refresh read and check the values in any case. */
  self->arguments_serial = gst_cuda_params_get_serial (self->params) - 1;
  return changes;
}

gboolean
gst_cuda_pair_refresh (GstCudaPair *self, GstClockTime time, GError **error)
{
  GstStructure *good;

  if (GST_CLOCK_TIME_IS_VALID (time)
      && gst_object_has_active_control_bindings (GST_OBJECT (self->params)))
    gst_object_sync_values (GST_OBJECT (self->params), time);
  if (gst_cuda_params_get_serial (self->params) == self->arguments_serial)
    return TRUE;
  gst_cuda_params_read (self->params, self->trial, &self->arguments_serial);
  if (!gst_vkgdr_kernel_check_params (self->loaded->kernel, self->trial, error))
    return FALSE;
  good = self->trial;
  self->trial = self->arguments;
  self->arguments = good;
  return TRUE;
}
