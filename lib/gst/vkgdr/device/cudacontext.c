/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/cudacontext.c: shares a CUDA context with GStreamer's CUDA elements
 *
 * Makes a GstCudaContext that uses the CUDA context of a GstVkgdrContext, and
 * the other way round. The new object holds a reference to the first one. As
 * long as the new object exists, it is found through the first one. Knows
 * nothing of memory.
 */

#include "device/device-private.h"

static GMutex lock;

static GQuark
counterpart_quark (void)
{
  return g_quark_from_static_string ("gst-vkgdr-counterpart");
}

static GQuark
owner_quark (void)
{
  return g_quark_from_static_string ("gst-vkgdr-owner");
}

static void
weak_ref_free (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

/* @made uses the CUDA context of @first. */
static void
link_objects (gpointer first, gpointer made)
{
  GWeakRef *ref = g_new (GWeakRef, 1);

  g_weak_ref_init (ref, made);
  g_object_set_qdata_full (first, counterpart_quark (), ref, weak_ref_free);
  g_object_set_qdata_full (
      made, owner_quark (), g_object_ref (first), g_object_unref);
}

/* Returns the other object, which the caller owns, or NULL. */
static gpointer
get_counterpart (gpointer object)
{
  gpointer owner = g_object_get_qdata (object, owner_quark ());
  GWeakRef *made = g_object_get_qdata (object, counterpart_quark ());

  if (owner)
    return g_object_ref (owner);
  return made ? g_weak_ref_get (made) : NULL;
}

GstCudaContext *
gst_vkgdr_cuda_context_get (
    const GstVkgdrCudaLib *lib, GstVkgdrContext *context)
{
  GstCudaContext *result;

  if (!gst_vkgdr_cuda_lib_uses (lib, gst_vkgdr_context_get_driver (context)))
    return NULL;
  g_mutex_lock (&lock);
  result = get_counterpart (context);
  if (!result) {
    result =
        lib->context_new_wrapped (gst_vkgdr_context_get_cuda_context (context),
            gst_vkgdr_context_get_device (context));
    if (result)
      link_objects (context, result);
  }
  g_mutex_unlock (&lock);
  return result;
}

GstContext *
gst_vkgdr_cuda_context_offer (GstVkgdrContext *context)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstCudaContext *cuda = NULL;
  GstContext *result;

  if (lib)
    cuda = gst_vkgdr_cuda_context_get (lib, context);
  if (!cuda)
    return NULL;
  result = gst_context_new (GST_VKGDR_CUDA_CONTEXT_TYPE, TRUE);
  gst_structure_set (gst_context_writable_structure (result),
      GST_VKGDR_CUDA_CONTEXT_TYPE, lib->context_get_type (), cuda,
      "cuda-device-id", G_TYPE_UINT, gst_vkgdr_context_get_device (context),
      NULL);
  g_object_unref (cuda);
  return result;
}

static GstVkgdrContext *
make_of (const vkgdr_cuda *cuda, gpointer handle)
{
  GstVkgdrContext *result;
  GError *error = NULL;
  CUcontext popped;

  if (cuda->cuCtxPushCurrent (handle) != CUDA_SUCCESS)
    return NULL;
  result = gst_vkgdr_context_new_from_current (&error);
  cuda->cuCtxPopCurrent (&popped);
  if (!result)
    GST_INFO (
        "the CUDA context of a GstCudaContext is not used: %s", error->message);
  g_clear_error (&error);
  return result;
}

GstVkgdrContext *
gst_vkgdr_cuda_context_adopt (GstContext *gst_context, gint device)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  const vkgdr_cuda *cuda = lib ? vkgdr_driver_load () : NULL;
  GstVkgdrContext *result = NULL;
  GstCudaContext *theirs = NULL;
  guint id = 0;

  if (!cuda || !gst_vkgdr_cuda_lib_uses (lib, cuda))
    return NULL;
  gst_structure_get (gst_context_get_structure (gst_context),
      GST_VKGDR_CUDA_CONTEXT_TYPE, lib->context_get_type (), &theirs, NULL);
  if (!theirs)
    return NULL;
  g_object_get (theirs, "cuda-device-id", &id, NULL);
  if (device < 0 || id == (guint) device) {
    g_mutex_lock (&lock);
    result = get_counterpart (theirs);
    if (!result) {
      result = make_of (cuda, lib->context_get_handle (theirs));
      if (result)
        link_objects (theirs, result);
    }
    g_mutex_unlock (&lock);
  }
  g_object_unref (theirs);
  return result;
}
