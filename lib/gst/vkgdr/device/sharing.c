/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/sharing.c: finds the context that an element shares with others
 *
 * Knows nothing of streams, and not where an element keeps its context.
 */

#include "device/device-private.h"

/* Initialised by the class of GstVkgdrContext. */
GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_context_debug);
#define GST_CAT_DEFAULT gst_vkgdr_context_debug

gboolean
gst_vkgdr_context_adopt (GstElement *element, GstContext *gst_context,
    gint device, GstVkgdrContext **context)
{
  GstVkgdrContext *found = NULL;

  if (*context
      || !gst_context_has_context_type (gst_context, GST_VKGDR_CONTEXT_TYPE)
      || !gst_structure_get (gst_context_get_structure (gst_context), "context",
          GST_TYPE_VKGDR_CONTEXT, &found, NULL)
      || !found)
    return FALSE;
  if (device >= 0 && gst_vkgdr_context_get_device (found) != device) {
    GST_DEBUG_OBJECT (element,
        "%" GST_PTR_FORMAT " does not belong to device %d", found, device);
    gst_object_unref (found);
    return FALSE;
  }
  GST_INFO_OBJECT (element, "uses %" GST_PTR_FORMAT, found);
  *context = found;
  return TRUE;
}

static gboolean
query_peer (GstElement *element, GstPad *pad, gpointer query)
{
  return !gst_pad_peer_query (pad, query); /* FALSE ends the search */
}

/* Queries the neighbours. If one answers, its context is set on the element,
 * which calls its set_context function. Returns the answer, which the caller
 * owns, or NULL. */
static GstContext *
query_neighbours (GstElement *element, const gchar *type)
{
  GstQuery *query = gst_query_new_context (type);
  GstContext *found = NULL;

  if (!gst_element_foreach_src_pad (element, query_peer, query)
      || !gst_element_foreach_sink_pad (element, query_peer, query)) {
    gst_query_parse_context (query, &found);
    if (found) {
      gst_context_ref (found);
      gst_element_set_context (element, found);
    }
  }
  gst_query_unref (query);
  return found;
}

/* Posts a NEED_CONTEXT message. Bins answer it by setting the contexts that
 * they know, then the application may set one in its handler. Returns the
 * context that was set, which the caller owns, or NULL if the element still has
 * the same context as before. */
static GstContext *
request_from_application (GstElement *element, const gchar *type)
{
  GstContext *before = gst_element_get_context (element, type);
  GstContext *after;

  gst_element_post_message (
      element, gst_message_new_need_context (GST_OBJECT_CAST (element), type));
  after = gst_element_get_context (element, type);
  if (after == before)
    g_clear_pointer (&after, gst_context_unref);
  g_clear_pointer (&before, gst_context_unref);
  return after;
}

/* Takes ownership of @answer (nullable). The element's set_context function may
 * already have set *@context; in this case, @answer is not used. */
static void
adopt_answer (GstElement *element, GstContext *answer, gint device,
    GstVkgdrContext **context)
{
  if (!answer)
    return;
  gst_vkgdr_context_adopt (element, answer, device, context);
  gst_context_unref (answer);
}

static void
warn_of_software (GstElement *element)
{
  const gchar *why = vkgdr_driver_why_software ();

  if (why)
    GST_ELEMENT_WARNING (element, RESOURCE, NOT_FOUND,
        ("No NVIDIA GPU is used: frames are processed by the CPU, slowly."),
        ("%s. Set VKGDR_DRIVER=software in the environment to select this "
         "device without this warning.",
            why));
}

/* Sets @context to @made (taken), and announces it to other elements. */
static void
announce (GstElement *element, GstVkgdrContext *made, GstVkgdrContext **context)
{
  GstContext *gst_context = gst_vkgdr_context_to_gst_context (made);

  *context = made;
  gst_element_set_context (element, gst_context);
  gst_element_post_message (element,
      gst_message_new_have_context (GST_OBJECT_CAST (element), gst_context));
}

/* Looks for a context of GStreamer's own CUDA elements: first on the element,
 * then on its neighbours if @neighbours is TRUE, and then at the application.
 * Returns the context, which the caller owns, or NULL if there is none. */
static GstContext *
find_gst_cuda_context (GstElement *element, gboolean neighbours)
{
  const gchar *type = GST_VKGDR_CUDA_CONTEXT_TYPE;
  GstContext *found = gst_element_get_context (element, type);

  if (!found && neighbours)
    found = query_neighbours (element, type);
  return found ? found : request_from_application (element, type);
}

/* Takes ownership of @cuda_context (nullable). If GStreamer's CUDA elements
 * have a CUDA context already, the element shares it, because it could not use
 * memory of another CUDA context. */
static gboolean
join_cuda_elements (GstElement *element, GstContext *cuda_context, gint device,
    GstVkgdrContext **context)
{
  GstVkgdrContext *made;

  if (!cuda_context)
    return FALSE;
  made = gst_vkgdr_cuda_context_adopt (cuda_context, device);
  gst_context_unref (cuda_context);
  if (!made)
    return FALSE;
  GST_INFO_OBJECT (element, "shares a CUDA context by %" GST_PTR_FORMAT, made);
  announce (element, made, context);
  return TRUE;
}

static gboolean
make_context (
    GstElement *element, gint device, GstVkgdrContext **context, GError **error)
{
  GstVkgdrContext *made = gst_vkgdr_context_new (device, error);

  if (!made)
    return FALSE;
  if (gst_vkgdr_context_is_software (made))
    warn_of_software (element);
  announce (element, made, context);
  return TRUE;
}

gboolean
gst_vkgdr_context_find (GstElement *element, gint device, gboolean may_query,
    GstVkgdrContext **context, GError **error)
{
  if (*context && device >= 0
      && gst_vkgdr_context_get_device (*context) != device)
    gst_clear_object (context);
  if (!*context && may_query)
    adopt_answer (element, query_neighbours (element, GST_VKGDR_CONTEXT_TYPE),
        device, context);
  if (!*context)
    adopt_answer (element,
        request_from_application (element, GST_VKGDR_CONTEXT_TYPE), device,
        context);
  /* The context that the element had before it was stopped. */
  if (!*context)
    adopt_answer (element,
        gst_element_get_context (element, GST_VKGDR_CONTEXT_TYPE), device,
        context);
  return *context
         || (gst_vkgdr_cuda_lib_get ()
             && join_cuda_elements (element,
                 find_gst_cuda_context (element, may_query), device, context))
         || make_context (element, device, context, error);
}

/**
 * gst_vkgdr_context_to_gst_context:
 * @context: a context
 *
 * Wraps a context in a #GstContext, for other elements, or for an application
 * that sets it on a pipeline with gst_element_set_context().
 *
 * Returns: (transfer full): a persistent #GstContext that carries @context
 *
 * Since: 0.1
 */
GstContext *
gst_vkgdr_context_to_gst_context (GstVkgdrContext *context)
{
  GstContext *result;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  result = gst_context_new (GST_VKGDR_CONTEXT_TYPE, TRUE);
  gst_structure_set (gst_context_writable_structure (result), "context",
      GST_TYPE_VKGDR_CONTEXT, context, NULL);
  return result;
}
