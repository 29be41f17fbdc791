/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/element.c: how elements come to share one GstVkgdrContext
 *
 * The usual order of GStreamer: what the element has, its neighbours, the
 * application, and only then a new one; before that one, what GStreamer's own
 * CUDA elements use.
 */

#include "element/element-private.h"

/**
 * SECTION:gstvkgdrelement
 * @title: Elements and contexts
 * @short_description: sharing a context in a pipeline
 *
 * An element calls gst_vkgdr_element_ensure_context() when it goes to READY,
 * and the two handlers from its `set_context` and `query` functions.
 *
 * The pointer to a context that these functions get is read and written without
 * a lock. An element whose `set_context` function may be called in any thread
 * hands them a pointer of its own stack, and stores the result under its lock.
 * All functions may be called from any thread then.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_element_debug);
#define GST_CAT_DEFAULT gst_vkgdr_element_debug

static void
init_debug (void)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_element_debug, "vkgdrelement", 0,
        "sharing of vkgdr contexts");
    g_once_init_leave (&done, 1);
  }
}

/**
 * gst_vkgdr_context_to_gst_context:
 * @context: a context
 *
 * Wraps a context for other elements, and for an application that sets it on a
 * pipeline with gst_element_set_context().
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

/**
 * gst_vkgdr_context_from_gst_context:
 * @gst_context: a #GstContext
 *
 * Undoes gst_vkgdr_context_to_gst_context().
 *
 * Returns: (transfer full) (nullable): the context that it carries, %NULL where
 *   it is of another type
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_context_from_gst_context (GstContext *gst_context)
{
  GstVkgdrContext *result = NULL;

  g_return_val_if_fail (GST_IS_CONTEXT (gst_context), NULL);

  if (gst_context_has_context_type (gst_context, GST_VKGDR_CONTEXT_TYPE))
    gst_structure_get (gst_context_get_structure (gst_context), "context",
        GST_TYPE_VKGDR_CONTEXT, &result, NULL);
  return result;
}

/* Takes the context out of @gst_context if it is for @device. */
static gboolean
adopt (GstElement *element, GstContext *gst_context, gint device,
    GstVkgdrContext **context)
{
  GstVkgdrContext *found;

  if (*context)
    return FALSE;
  found = gst_vkgdr_context_from_gst_context (gst_context);
  if (!found)
    return FALSE;
  if (device >= 0 && gst_vkgdr_context_get_device (found) != device) {
    GST_DEBUG_OBJECT (
        element, "%" GST_PTR_FORMAT " is not of device %d", found, device);
    gst_object_unref (found);
    return FALSE;
  }
  /* The bins above keep what they were told, over a restart as well. */
  if (gst_vkgdr_context_retire_if_lost (found)) {
    GST_INFO_OBJECT (element, "%" GST_PTR_FORMAT " has failed", found);
    gst_object_unref (found);
    return FALSE;
  }
  GST_INFO_OBJECT (element, "uses %" GST_PTR_FORMAT, found);
  *context = found;
  return TRUE;
}

typedef struct {
  GstElement *element;
  GstQuery *query;
} PeerQuery;

static gboolean
query_peer (GstElement *element, GstPad *pad, gpointer user_data)
{
  PeerQuery *ask = user_data;

  return !gst_pad_peer_query (pad, ask->query); /* FALSE ends the search */
}

/* Asks the neighbours; what they answer becomes the element's own context,
 * which reaches it through its set_context function. Returns the answer, which
 * is the caller's, or NULL. */
static GstContext *
ask_neighbours (GstElement *element, const gchar *type)
{
  PeerQuery ask = { element, gst_query_new_context (type) };
  GstContext *found = NULL;

  if (!gst_element_foreach_src_pad (element, query_peer, &ask)
      || !gst_element_foreach_sink_pad (element, query_peer, &ask)) {
    gst_query_parse_context (ask.query, &found);
    if (found) {
      gst_context_ref (found);
      gst_element_set_context (element, found);
    }
  }
  gst_query_unref (ask.query);
  return found;
}

/* The bins above answer by setting what they know of, and after them the
 * application, in its handler of the message. Returns what was set, which is
 * the caller's, or NULL: GstElement may still keep a context of before. */
static GstContext *
ask_application (GstElement *element, const gchar *type)
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

/* Takes @answer over, of the two above. The element's set_context function may
 * have adopted it before, in the same pointer. */
static void
adopt_answer (GstElement *element, GstContext *answer, gint device,
    GstVkgdrContext **context)
{
  if (!answer)
    return;
  adopt (element, answer, device, context);
  gst_context_unref (answer);
}

static void
warn_of_software (GstElement *element)
{
  const gchar *why = vkgdr_driver_why_software ();

  if (why)
    GST_ELEMENT_WARNING (element, RESOURCE, NOT_FOUND,
        ("No NVIDIA GPU is used: frames are processed by the CPU, slowly."),
        ("%s. VKGDR_DRIVER=software in the environment asks for this device "
         "and "
         "silences the warning.",
            why));
}

/* Takes @made over, and tells the others. */
static void
publish (GstElement *element, GstVkgdrContext *made, GstVkgdrContext **context)
{
  GstContext *gst_context = gst_vkgdr_context_to_gst_context (made);

  *context = made;
  gst_element_set_context (element, gst_context);
  gst_element_post_message (element,
      gst_message_new_have_context (GST_OBJECT_CAST (element), gst_context));
}

/* What the element was given, or gave, before it was stopped: GstElement keeps
 * it. */
static void
take_up_again (GstElement *element, gint device, GstVkgdrContext **context)
{
  GstContext *kept = gst_element_get_context (element, GST_VKGDR_CONTEXT_TYPE);

  if (!kept)
    return;
  adopt (element, kept, device, context);
  gst_context_unref (kept);
}

/* The context of GStreamer's own CUDA elements that the element was told of, or
 * that @neighbours (if they are to be asked) or the application have; the
 * caller's, or NULL. */
static GstContext *
find_cuda_context (GstElement *element, gboolean neighbours)
{
  const gchar *type = GST_VKGDR_CUDA_CONTEXT_TYPE;
  GstContext *found = gst_element_get_context (element, type);

  if (!found && neighbours)
    found = ask_neighbours (element, type);
  return found ? found : ask_application (element, type);
}

/* Takes @theirs, which may be NULL. Where their elements came first, it is
 * their CUDA context that counts: memory of one is of no use in another. */
static gboolean
join_cuda_elements (GstElement *element, GstContext *theirs, gint device,
    GstVkgdrContext **context)
{
  GstVkgdrContext *made;

  if (!theirs)
    return FALSE;
  made = gst_vkgdr_cuda_context_adopt (theirs, device);
  gst_context_unref (theirs);
  if (!made)
    return FALSE;
  GST_INFO_OBJECT (element, "shares a CUDA context by %" GST_PTR_FORMAT, made);
  publish (element, made, context);
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
  publish (element, made, context);
  return TRUE;
}

/* As gst_vkgdr_element_ensure_context (), but that no neighbour is asked: it is
 * the question of one that led here. */
void
gst_vkgdr_element_open_device (
    GstElement *element, gint device, GstVkgdrContext **context)
{
  init_debug ();
  take_up_again (element, device, context);
  if (!*context)
    adopt_answer (element, ask_application (element, GST_VKGDR_CONTEXT_TYPE),
        device, context);
  if (!*context && gst_vkgdr_cuda_lib_get ())
    join_cuda_elements (
        element, find_cuda_context (element, FALSE), device, context);
  if (!*context)
    make_context (element, device, context, NULL);
}

/**
 * gst_vkgdr_element_ensure_context:
 * @element: an element
 * @device: index of the CUDA device that it must use, or -1 for any
 * @context: (inout) (transfer full) (nullable): where it keeps its context
 *
 * Sees to it that @context is set: from the neighbours, else from the
 * application, else from what the element had before it was stopped, else with
 * the CUDA context that GStreamer's own CUDA elements in the pipeline share,
 * else by making one and telling the others. On failure an error message that
 * names the cause has been posted.
 *
 * Not thread-safe: no other thread may use @context meanwhile.
 *
 * Returns: whether @context is set
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_element_ensure_context (
    GstElement *element, gint device, GstVkgdrContext **context)
{
  GError *error = NULL;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != NULL, FALSE);

  init_debug ();
  if (*context && device >= 0
      && gst_vkgdr_context_get_device (*context) != device)
    gst_clear_object (context);
  if (!*context)
    adopt_answer (element, ask_neighbours (element, GST_VKGDR_CONTEXT_TYPE),
        device, context);
  if (!*context)
    adopt_answer (element, ask_application (element, GST_VKGDR_CONTEXT_TYPE),
        device, context);
  if (!*context)
    take_up_again (element, device, context);
  if (*context)
    return TRUE;
  if (gst_vkgdr_cuda_lib_get ()
      && join_cuda_elements (
          element, find_cuda_context (element, TRUE), device, context))
    return TRUE;
  if (make_context (element, device, context, &error))
    return TRUE;
  GST_ELEMENT_ERROR (element, RESOURCE, NOT_FOUND, ("%s", error->message),
      ("device=%d", device));
  g_clear_error (&error);
  return FALSE;
}

/**
 * gst_vkgdr_element_handle_set_context:
 * @element: an element
 * @gst_context: (nullable): what its `set_context` function was given
 * @device: index of the CUDA device that it must use, or -1 for any
 * @context: (inout) (transfer full) (nullable): where it keeps its context
 *
 * Takes the context over where the element has none yet and it fits.
 *
 * Not thread-safe: no other thread may use @context meanwhile.
 *
 * Returns: whether it was taken over
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_element_handle_set_context (GstElement *element,
    GstContext *gst_context, gint device, GstVkgdrContext **context)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != NULL, FALSE);

  init_debug ();
  return gst_context && adopt (element, gst_context, device, context);
}

static gboolean
is_asked_for (GstQuery *query, const gchar *wanted)
{
  const gchar *type = NULL;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT)
    gst_query_parse_context_type (query, &type);
  return g_strcmp0 (type, wanted) == 0;
}

gboolean
gst_vkgdr_element_is_asked (GstQuery *query)
{
  return is_asked_for (query, GST_VKGDR_CONTEXT_TYPE)
         || (is_asked_for (query, GST_VKGDR_CUDA_CONTEXT_TYPE)
             && gst_vkgdr_cuda_lib_get ());
}

/**
 * gst_vkgdr_element_handle_context_query:
 * @element: an element
 * @query: a query of one of its pads
 * @context: (nullable): its context
 *
 * Answers a query for %GST_VKGDR_CONTEXT_TYPE, and one of GStreamer's own CUDA
 * elements for a CUDA context.
 *
 * Not thread-safe: no other thread may use @context meanwhile.
 *
 * Returns: whether @query was one, and was answered
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_element_handle_context_query (
    GstElement *element, GstQuery *query, GstVkgdrContext *context)
{
  GstContext *gst_context;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (GST_IS_QUERY (query), FALSE);

  if (!context || !gst_vkgdr_element_is_asked (query))
    return FALSE;
  if (is_asked_for (query, GST_VKGDR_CONTEXT_TYPE))
    gst_context = gst_vkgdr_context_to_gst_context (context);
  else
    gst_context = gst_vkgdr_cuda_context_offer (context);
  if (!gst_context)
    return FALSE;

  gst_query_set_context (query, gst_context);
  gst_context_unref (gst_context);
  return TRUE;
}

/**
 * gst_vkgdr_element_post_error:
 * @element: an element
 * @error: an error, of this library or of another
 *
 * Posts @error on the bus as the reason why the element stops, with the domain
 * and code that GStreamer has for such errors.
 *
 * Thread-safe.
 *
 * Since: 0.2
 */
void
gst_vkgdr_element_post_error (GstElement *element, const GError *error)
{
  g_return_if_fail (GST_IS_ELEMENT (element));
  g_return_if_fail (error != NULL);

  if (error->domain != GST_VKGDR_ERROR) {
    GST_ELEMENT_ERROR (
        element, LIBRARY, FAILED, ("%s", error->message), (NULL));
    return;
  }
  switch ((GstVkgdrError) error->code) {
  case GST_VKGDR_ERROR_NO_DRIVER:
  case GST_VKGDR_ERROR_NO_DEVICE:
  case GST_VKGDR_ERROR_NOT_FOUND:
    GST_ELEMENT_ERROR (
        element, RESOURCE, NOT_FOUND, ("%s", error->message), (NULL));
    break;
  case GST_VKGDR_ERROR_NO_MEMORY:
    GST_ELEMENT_ERROR (
        element, RESOURCE, NO_SPACE_LEFT, ("%s", error->message), (NULL));
    break;
  case GST_VKGDR_ERROR_COMPILE:
  case GST_VKGDR_ERROR_IMAGE:
  case GST_VKGDR_ERROR_ARGUMENT:
    GST_ELEMENT_ERROR (
        element, LIBRARY, SETTINGS, ("%s", error->message), (NULL));
    break;
  case GST_VKGDR_ERROR_FAILED:
    GST_ELEMENT_ERROR (
        element, LIBRARY, FAILED, ("%s", error->message), (NULL));
    break;
  }
}
