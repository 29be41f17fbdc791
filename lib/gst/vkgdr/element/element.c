/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/element.c: the context of an element, and its messages
 */

#include "element/element-private.h"

/* Milliseconds that a kernel without a time limit may still run at EOS: the
 * default limit of a GPU; and when the element is stopped, which the user waits
 * for. */
#define EOS_LIMIT 10000
#define STOP_LIMIT 5000

/**
 * SECTION:gstvkgdrelement
 * @title: Elements and contexts
 * @short_description: sharing a context in a pipeline
 *
 * An element calls gst_vkgdr_element_ensure_context() in its change to READY,
 * gst_vkgdr_element_handle_set_context() in its `set_context` function, and
 * gst_vkgdr_element_handle_context_query() in its `query` function.
 *
 * These functions read and write the pointer to a context under the object lock
 * of the element, and may be called from any thread.
 *
 * Since: 0.1
 */

/* --- what elements have posted -------------------------------------------- */

/* The last error of an element. A pipeline has a list of them, the oldest one
 * first. */
typedef struct {
  gconstpointer element; /* only compared */
  gchar *name;           /* of the element */
  gchar *text;
  GWeakRef refuser;     /* the element, if the error is about refused caps */
  guint32 state_cookie; /* of the pipeline: its state change */
} PostedError;

static void
posted_error_free (gpointer user_data)
{
  PostedError *posted = user_data;

  g_free (posted->name);
  g_free (posted->text);
  g_weak_ref_clear (&posted->refuser);
  g_free (posted);
}

static gboolean
is_about_caps (const GError *error)
{
  return g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE);
}

static PostedError *
posted_error_new (
    GstElement *element, const GError *error, guint32 state_cookie)
{
  PostedError *posted = g_new0 (PostedError, 1);

  posted->element = element;
  posted->name = gst_object_get_name (GST_OBJECT (element));
  posted->text = g_strdup (error->message);
  g_weak_ref_init (&posted->refuser, is_about_caps (error) ? element : NULL);
  posted->state_cookie = state_cookie;
  return posted;
}

/* Returns the pipeline of the element, or the outermost of its parents. The
 * caller owns it. */
static GstElement *
get_top (GstElement *element)
{
  GstObject *top = gst_object_ref (GST_OBJECT (element)), *parent;

  while ((parent = gst_object_get_parent (top))) {
    gst_object_unref (top);
    top = parent;
  }
  return GST_ELEMENT (top);
}

/* Returns the list of @top, which owns it. */
static GPtrArray *
get_posted_locked (GstElement *top)
{
  static const gchar key[] = "gst-vkgdr-posted-errors";
  GPtrArray *list = g_object_get_data (G_OBJECT (top), key);

  if (!list) {
    list = g_ptr_array_new_with_free_func (posted_error_free);
    g_object_set_data_full (
        G_OBJECT (top), key, list, (GDestroyNotify) g_ptr_array_unref);
  }
  return list;
}

/* Removes the last error of @element, and if @with_earlier, those from before
 * the pipeline's state change. */
static void
forget_locked (GstElement *top, GstElement *element, gboolean with_earlier)
{
  GPtrArray *list = get_posted_locked (top);
  guint i = list->len;

  while (i-- > 0) {
    const PostedError *posted = g_ptr_array_index (list, i);

    if (posted->element == element
        || (with_earlier && posted->state_cookie != top->state_cookie))
      g_ptr_array_remove_index (list, i);
  }
}

/* Returns the first error with this text, of @element or of any other one; NULL
 * if there is none. */
static const PostedError *
find_posted_locked (GstElement *top, const gchar *text, GstElement *element)
{
  const GPtrArray *list = get_posted_locked (top);
  guint i;

  for (i = 0; i < list->len; i++) {
    const PostedError *posted = g_ptr_array_index (list, i);

    if (g_str_equal (posted->text, text)
        && (!element || posted->element == element))
      return posted;
  }
  return NULL;
}

/* Notes that @element posts @error. Returns FALSE if it was the last error of
 * the element. Sets *@other (transfer full) to the first element that has
 * posted it, or NULL. */
static gboolean
note_error (GstElement *element, const GError *error, gchar **other)
{
  GstElement *top = get_top (element);
  const PostedError *first;
  gboolean is_new;

  GST_OBJECT_LOCK (top);
  is_new = !find_posted_locked (top, error->message, element);
  first = is_new ? find_posted_locked (top, error->message, NULL) : NULL;
  *other = first ? g_strdup (first->name) : NULL;
  if (is_new) {
    forget_locked (top, element, FALSE);
    g_ptr_array_add (get_posted_locked (top),
        posted_error_new (element, error, top->state_cookie));
  }
  GST_OBJECT_UNLOCK (top);
  gst_object_unref (top);
  return is_new;
}

/* Whether an element of the pipeline has posted this error. */
static gboolean
is_noted (GstElement *element, const gchar *text)
{
  GstElement *top = get_top (element);
  gboolean is_noted;

  GST_OBJECT_LOCK (top);
  is_noted = find_posted_locked (top, text, NULL) != NULL;
  GST_OBJECT_UNLOCK (top);
  gst_object_unref (top);
  return is_noted;
}

/**
 * gst_vkgdr_element_forget_error:
 * @element: an element
 *
 * Makes gst_vkgdr_element_post_error() post the next error of @element even if
 * it equals the last one. An element that calls gst_vkgdr_element_post_error()
 * calls this at a %GST_EVENT_FLUSH_STOP. #GstVkgdrBaseTransform does so.
 *
 * Thread-safe.
 *
 * Since: 0.3
 */
void
gst_vkgdr_element_forget_error (GstElement *element)
{
  GstElement *top;

  g_return_if_fail (GST_IS_ELEMENT (element));

  top = get_top (element);
  GST_OBJECT_LOCK (top);
  forget_locked (top, element, FALSE);
  GST_OBJECT_UNLOCK (top);
  gst_object_unref (top);
}

/* Called when the element starts. What another element has posted in this start
 * of the pipeline stays. */
static void
forget_earlier_errors (GstElement *element)
{
  GstElement *top = get_top (element);

  GST_OBJECT_LOCK (top);
  forget_locked (top, element, TRUE);
  GST_OBJECT_UNLOCK (top);
  gst_object_unref (top);
}

/* --- refused caps --------------------------------------------------------
 */

/* Returns the element behind @pad (transfer full), or NULL. */
static GstElement *
get_next (GstPad *pad)
{
  GstPad *peer = gst_pad_get_peer (pad);
  GstElement *next;

  while (peer && GST_IS_PROXY_PAD (peer)) { /* of a bin */
    GstProxyPad *inner = gst_proxy_pad_get_internal (GST_PROXY_PAD (peer));

    gst_object_unref (peer);
    peer = inner ? gst_pad_get_peer (GST_PAD (inner)) : NULL;
    gst_clear_object (&inner);
  }
  next = peer ? gst_pad_get_parent_element (peer) : NULL;
  gst_clear_object (&peer);
  return next;
}

typedef struct {
  GstElement *target;
  gboolean is_found;
} Search;

static gboolean
search (GstElement *element, GstPad *pad, gpointer user_data)
{
  GstElement *next = get_next (pad);
  Search *self = user_data;

  if (next == self->target)
    self->is_found = TRUE;
  else if (next)
    gst_element_foreach_src_pad (next, search, self);
  gst_clear_object (&next);
  return !self->is_found;
}

static gboolean
leads_to (GstElement *element, GstElement *target)
{
  Search self = { target, FALSE };

  gst_element_foreach_src_pad (element, search, &self);
  return self.is_found;
}

/* Returns the elements that have said why they refuse caps. */
static GList *
list_refusers (GstElement *element)
{
  GstElement *top = get_top (element), *refuser;
  GList *refusers = NULL;
  GPtrArray *list;
  guint i;

  GST_OBJECT_LOCK (top);
  list = get_posted_locked (top);
  for (i = 0; i < list->len; i++) {
    PostedError *posted = g_ptr_array_index (list, i);

    refuser = g_weak_ref_get (&posted->refuser);
    if (refuser)
      refusers = g_list_prepend (refusers, refuser);
  }
  GST_OBJECT_UNLOCK (top);
  gst_object_unref (top);
  return refusers;
}

/* Whether an element of the same stream has said why it refuses caps. */
static gboolean
is_explained (GstElement *element)
{
  GList *refusers = list_refusers (element), *l;
  gboolean is_explained = FALSE;

  for (l = refusers; l && !is_explained; l = l->next)
    is_explained = l->data == element || leads_to (element, l->data)
                   || leads_to (l->data, element);
  g_list_free_full (refusers, gst_object_unref);
  return is_explained;
}

/* --- the element's pointer ------------------------------------------------ */

GstVkgdrContext *
gst_vkgdr_element_ref_context (GstElement *element, GstVkgdrContext **context)
{
  GstVkgdrContext *result;

  GST_OBJECT_LOCK (element);
  result = *context ? gst_object_ref (*context) : NULL;
  GST_OBJECT_UNLOCK (element);
  return result;
}

/* Sets *@context to @found (taken), unless another thread has replaced @old in
 * the meantime. Returns whether it is @found now. */
static gboolean
replace_context (GstElement *element, GstVkgdrContext **context,
    const GstVkgdrContext *old, GstVkgdrContext *found)
{
  GstVkgdrContext *unused = found;
  gboolean is_found;

  GST_OBJECT_LOCK (element);
  if (*context == old) {
    unused = *context;
    *context = found;
  }
  is_found = *context == found;
  GST_OBJECT_UNLOCK (element);
  gst_clear_object (&unused);
  return is_found;
}

/**
 * gst_vkgdr_element_ensure_context:
 * @element: an element
 * @device: index of the CUDA device that the element must use, or -1 for any
 * @context: (inout) (transfer full) (nullable): the element's context
 *
 * Makes sure that @context is set. The context comes, in this order, from the
 * neighbours, from the application, or from before the element was stopped.
 * Otherwise a new one is made and announced to other elements; if GStreamer's
 * own CUDA elements in the pipeline share a CUDA context, the new one uses this
 * CUDA context. On failure, posts an error message with the cause.
 *
 * Thread-safe, see above.
 *
 * Returns: whether @context is set
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_element_ensure_context (
    GstElement *element, gint device, GstVkgdrContext **context)
{
  gboolean ok, is_settled = FALSE;
  GError *error = NULL;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != NULL, FALSE);

  forget_earlier_errors (element);
  /* A query, a message or another thread may set a context in the meantime. The
   * first one is used, if it belongs to the device. */
  do {
    GstVkgdrContext *old = gst_vkgdr_element_ref_context (element, context);
    GstVkgdrContext *found = old ? gst_object_ref (old) : NULL;

    ok = gst_vkgdr_context_find (element, device, TRUE, &found, &error);
    if (ok)
      is_settled = replace_context (element, context, old, found);
    gst_clear_object (&old);
  } while (ok && !is_settled);
  if (!ok)
    GST_ELEMENT_ERROR (element, RESOURCE, NOT_FOUND, ("%s", error->message),
        ("device=%d", device));
  g_clear_error (&error);
  return ok;
}

/**
 * gst_vkgdr_element_handle_set_context:
 * @element: an element
 * @gst_context: (nullable): the argument of its `set_context` function
 * @device: index of the CUDA device that the element must use, or -1 for any
 * @context: (inout) (transfer full) (nullable): the element's context
 *
 * Sets @context to the context in @gst_context, if @context is not set and the
 * device matches.
 *
 * Thread-safe, see above.
 *
 * Returns: whether @context was set
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_element_handle_set_context (GstElement *element,
    GstContext *gst_context, gint device, GstVkgdrContext **context)
{
  GstVkgdrContext *found;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (context != NULL, FALSE);

  found = gst_vkgdr_element_ref_context (element, context);
  if (!found && gst_context
      && gst_vkgdr_context_adopt (element, gst_context, device, &found))
    return replace_context (element, context, NULL, found);
  gst_clear_object (&found);
  return FALSE;
}

static gboolean
is_query_for (GstQuery *query, const gchar *wanted)
{
  const gchar *type = NULL;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT)
    gst_query_parse_context_type (query, &type);
  return g_strcmp0 (type, wanted) == 0;
}

static gboolean
is_context_query (GstQuery *query)
{
  return is_query_for (query, GST_VKGDR_CONTEXT_TYPE)
         || (is_query_for (query, GST_VKGDR_CUDA_CONTEXT_TYPE)
             && gst_vkgdr_cuda_lib_get ());
}

/* Neighbours that start before this element, and whose property `device` is -1,
 * use the device that was chosen for this element. */
static GstVkgdrContext *
get_announced_context (
    GstElement *element, gint device, GstVkgdrContext **context)
{
  GstVkgdrContext *known = gst_vkgdr_element_ref_context (element, context);

  if (known || device < 0 || GST_STATE (element) < GST_STATE_READY)
    return known;
  /* Without an error: the start of the element will report it. */
  if (gst_vkgdr_context_find (element, device, FALSE, &known, NULL))
    replace_context (element, context, NULL, known);
  return gst_vkgdr_element_ref_context (element, context);
}

/**
 * gst_vkgdr_element_handle_context_query:
 * @element: an element
 * @query: a query of one of its pads
 * @device: index of the CUDA device that the element must use, or -1 for any
 * @context: (inout) (transfer full) (nullable): the element's context
 *
 * Answers a context query for %GST_VKGDR_CONTEXT_TYPE, or for the CUDA context
 * type of GStreamer's own CUDA elements. If @device is given, and the element
 * has not started yet, @context is set to the context that the element will
 * use.
 *
 * Thread-safe, see above.
 *
 * Returns: whether @query was such a query and was answered
 *
 * Since: 0.3
 */
gboolean
gst_vkgdr_element_handle_context_query (GstElement *element, GstQuery *query,
    gint device, GstVkgdrContext **context)
{
  GstContext *gst_context = NULL;
  GstVkgdrContext *known;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (GST_IS_QUERY (query), FALSE);
  g_return_val_if_fail (context != NULL, FALSE);

  if (!is_context_query (query))
    return FALSE;
  known = get_announced_context (element, device, context);
  if (known && is_query_for (query, GST_VKGDR_CONTEXT_TYPE))
    gst_context = gst_vkgdr_context_to_gst_context (known);
  else if (known)
    gst_context = gst_vkgdr_cuda_context_offer (known);
  gst_clear_object (&known);
  if (!gst_context)
    return FALSE;

  gst_query_set_context (query, gst_context);
  gst_context_unref (gst_context);
  return TRUE;
}

/* Sets the domain and the code of GStreamer that match @error. Those of stream
 * errors stay. */
static void
get_gst_error (const GError *error, GQuark *domain, gint *code)
{
  static const struct {
    GstVkgdrError ours;
    gboolean is_resource;
    gint code;
  } codes[] = {
    { GST_VKGDR_ERROR_NO_DRIVER, TRUE, GST_RESOURCE_ERROR_NOT_FOUND },
    { GST_VKGDR_ERROR_NO_DEVICE, TRUE, GST_RESOURCE_ERROR_NOT_FOUND },
    { GST_VKGDR_ERROR_NOT_FOUND, TRUE, GST_RESOURCE_ERROR_NOT_FOUND },
    { GST_VKGDR_ERROR_NO_MEMORY, TRUE, GST_RESOURCE_ERROR_NO_SPACE_LEFT },
    { GST_VKGDR_ERROR_COMPILE, FALSE, GST_LIBRARY_ERROR_SETTINGS },
    { GST_VKGDR_ERROR_IMAGE, FALSE, GST_LIBRARY_ERROR_SETTINGS },
    { GST_VKGDR_ERROR_ARGUMENT, FALSE, GST_LIBRARY_ERROR_SETTINGS },
  };
  guint i;

  *domain = GST_LIBRARY_ERROR;
  *code = GST_LIBRARY_ERROR_FAILED;
  if (error->domain == GST_STREAM_ERROR) {
    *domain = error->domain;
    *code = error->code;
  }
  for (i = 0; i < G_N_ELEMENTS (codes); i++)
    if (g_error_matches (error, GST_VKGDR_ERROR, codes[i].ours)) {
      *domain = codes[i].is_resource ? GST_RESOURCE_ERROR : GST_LIBRARY_ERROR;
      *code = codes[i].code;
    }
}

/**
 * gst_vkgdr_element_post_error:
 * @element: an element
 * @error: an error of any domain
 *
 * Posts @error on the bus as the reason why the element stops, with the
 * matching domain and code of GStreamer. An element that returns
 * %GST_FLOW_ERROR must have posted an error.
 *
 * If the kernel of another element has failed, that element posts its error
 * first. If the last error of another element of the pipeline has the same
 * text, the message names that element: if the device fails, all
 * elements get the same error. An element does not repeat its last error, and
 * if caps are refused (%GST_STREAM_ERROR_WRONG_TYPE), only one element of a
 * stream says why, once, until the pipeline or that element starts again, or
 * the element is flushed.
 *
 * Thread-safe.
 *
 * Since: 0.2
 */
void
gst_vkgdr_element_post_error (GstElement *element, const GError *error)
{
  gchar *text, *other;
  GQuark domain;
  gint code;

  g_return_if_fail (GST_IS_ELEMENT (element));
  g_return_if_fail (error != NULL);

  gst_vkgdr_launch_check_all ();
  if ((is_about_caps (error) && is_explained (element))
      || !note_error (element, error, &other)) {
    GST_DEBUG_OBJECT (element, "repeated error: %s", error->message);
    return;
  }
  text = other ? g_strdup_printf ("%s stops, as %s does: %s",
             GST_OBJECT_NAME (element), other, error->message)
               : g_strdup (error->message);
  get_gst_error (error, &domain, &code);
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code,
      g_utf8_make_valid (text, -1), NULL, __FILE__, GST_FUNCTION, __LINE__);
  g_free (text);
  g_free (other);
}

/* Posts @error unless an element of the pipeline has posted it. */
static void
post_late_error (GstElement *element, const GError *error)
{
  gst_vkgdr_launch_check_all ();
  if (is_noted (element, error->message))
    GST_DEBUG_OBJECT (element, "known error: %s", error->message);
  else
    gst_vkgdr_element_post_error (element, error);
}

/**
 * gst_vkgdr_element_finish_work:
 * @element: an element
 * @stream: a stream of the element
 *
 * Waits for the work on @stream. Must be called by elements that do not derive
 * from #GstVkgdrBaseTransform when EOS arrives and when they stop, as that
 * class does.
 *
 * Kernels that have no time limit get one, so that an endless kernel blocks no
 * pipeline: 10 seconds, or 5 while @element stops. What other elements queued
 * is waited for as long. Posts an error on the bus if the work fails or does
 * not end, unless an element has already posted the same error. Thread-safe.
 *
 * Returns: %TRUE if the work is done
 *
 * Since: 0.3
 */
gboolean
gst_vkgdr_element_finish_work (GstElement *element, GstVkgdrStream *stream)
{
  gboolean is_stopping;
  GError *error = NULL;

  g_return_val_if_fail (GST_IS_ELEMENT (element), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  is_stopping = GST_STATE_TARGET (element) < GST_STATE_PAUSED;
  if (gst_vkgdr_stream_finish (
          stream, is_stopping ? STOP_LIMIT : EOS_LIMIT, &error))
    return TRUE;
  post_late_error (element, error);
  g_error_free (error);
  return FALSE;
}

/**
 * gst_vkgdr_element_post_dropped:
 * @element: an element
 * @error: the reason, for example from gst_vkgdr_buffer_check_video()
 *
 * Posts a warning on the bus that @element drops a buffer. The stream goes on.
 *
 * Thread-safe.
 *
 * Since: 0.3
 */
void
gst_vkgdr_element_post_dropped (GstElement *element, const GError *error)
{
  g_return_if_fail (GST_IS_ELEMENT (element));
  g_return_if_fail (error != NULL);

  GST_ELEMENT_WARNING (element, STREAM, FORMAT,
      ("A buffer is dropped: %s", error->message), (NULL));
}

static void
on_pool_failed (GstElement *self, GError *error, GstVkgdrBufferPool *pool)
{
  gst_vkgdr_element_post_error (self, error);
}

/**
 * gst_vkgdr_element_post_pool_errors:
 * @element: an element
 * @pool: a pool that the element proposes to its neighbours
 *
 * Makes @element post an error on the bus when @pool cannot hand out a buffer,
 * or the CPU cannot write to one. A neighbour that uses the pool only knows
 * that this has failed, but not why.
 *
 * This ends when @element or @pool is finalized. Thread-safe.
 *
 * Since: 0.2
 */
void
gst_vkgdr_element_post_pool_errors (
    GstElement *element, GstVkgdrBufferPool *pool)
{
  g_return_if_fail (GST_IS_ELEMENT (element));
  g_return_if_fail (GST_IS_VKGDR_BUFFER_POOL (pool));

  g_signal_connect_object (pool, "acquire-failed", G_CALLBACK (on_pool_failed),
      element, G_CONNECT_SWAPPED);
  g_signal_connect_object (pool, "map-failed", G_CALLBACK (on_pool_failed),
      element, G_CONNECT_SWAPPED);
}
