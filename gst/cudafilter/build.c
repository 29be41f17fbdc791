/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/build.c: see cudafilter/build.h
 *
 * A kernel and its parameters are used as a pair. A kernel whose parameters are
 * not set yet is kept as the candidate. Parameters that do not fit it may be
 * meant for the running kernel.
 */

#include "cudafilter/build.h"
#include "cudafilter/pixel.h"

/* An expression is compiled for the names and types of its parameters. */
static gboolean
has_to_load (const GstCudaBuild *self, const GstCudaRequest *request,
    gboolean file_changed)
{
  if (!self->is_tried || request->choice_is_new || file_changed)
    return TRUE;
  return gst_cuda_choice_is_pixel (&request->choice)
         && !gst_cuda_pixel_same_params (self->tried_params, request->params);
}

static gboolean
load (GstCudaBuild *self, const GstCudaRequest *request, GError **error)
{
  gst_cuda_build_clear (self);
  self->is_tried = TRUE;
  if (request->params)
    self->tried_params = gst_structure_copy (request->params);
  self->candidate = gst_cuda_choice_load (
      &request->choice, self->context, request->params, error);
  return self->candidate != NULL;
}

static GstCudaPair *
try (GstCudaLoaded *loaded, const GstStructure *params,
    const GstCudaRequest *request, GError **error)
{
  GstStructure *arguments;

  if (!gst_cuda_loaded_fit (loaded, params, &arguments, error))
    return NULL;
  return gst_cuda_pair_new (loaded, params, arguments, request);
}

/* Builds a pair with the requested parameters. If these are old and belong to
 * another kernel, uses the parameters of the running kernel. */
static GstCudaPair *
build_candidate (GstCudaBuild *self, const GstCudaRequest *request,
    GstCudaLoaded *running, const GstStructure *given, GError **error)
{
  GstCudaPair *pair = try (self->candidate, request->params, request, error);

  if (pair || request->params_are_new || !running)
    return pair;
  pair = try (self->candidate, given, request, NULL);
  if (pair)
    g_clear_error (error);
  return pair;
}

/* Builds a pair of the running kernel with new parameters that fit it, or with
 * another output. Returns NULL if another kernel is requested. */
static GstCudaPair *
build_running (const GstCudaRequest *request, GstCudaLoaded *running,
    const GstStructure *given)
{
  if (!running || request->choice_is_new)
    return NULL;
  if (request->params_are_new)
    return try (running, request->params, request, NULL);
  return try (running, given, request, NULL);
}

GstCudaPair *
gst_cuda_build (GstCudaBuild *self, const GstCudaRequest *request,
    gboolean file_changed, GstCudaLoaded *running, const GstStructure *given,
    GError **error)
{
  GError *reason = NULL;
  GstCudaPair *pair = NULL;

  if (has_to_load (self, request, file_changed))
    load (self, request, &reason);
  if (self->candidate)
    pair = build_candidate (self, request, running, given, &reason);
  if (!pair && !file_changed) {
    pair = build_running (request, running, given);
    if (pair)
      g_clear_error (&reason);
  }
  if (reason)
    g_propagate_error (error, reason);
  else if (!pair)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The parameters do not fit the kernel that runs, and the one that was "
        "asked for could not be loaded");
  return pair;
}

void
gst_cuda_build_clear (GstCudaBuild *self)
{
  g_clear_pointer (&self->candidate, gst_cuda_loaded_unref);
  g_clear_pointer (&self->tried_params, gst_structure_free);
  self->is_tried = FALSE;
}
