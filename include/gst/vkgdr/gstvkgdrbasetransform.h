/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrbasetransform.h: base class of the elements
 *
 * Provides what an element that uses a device needs: a shared context, and a
 * stream of its own. Knows nothing of the content of buffers.
 */

#ifndef __GST_VKGDR_BASE_TRANSFORM_H__
#define __GST_VKGDR_BASE_TRANSFORM_H__

#include <gst/base/gstbasetransform.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_BASE_TRANSFORM (gst_vkgdr_base_transform_get_type ())

GST_VKGDR_API
G_DECLARE_DERIVABLE_TYPE (GstVkgdrBaseTransform, gst_vkgdr_base_transform, GST,
    VKGDR_BASE_TRANSFORM, GstBaseTransform)

/**
 * GstVkgdrBaseTransformClass:
 * @parent_class: the parent class
 * @open: called when the element starts and has a context and a stream
 * @close: called when the element stops, before it releases both
 * @fill_stats: adds the element's statistics to #GstVkgdrBaseTransform:stats
 *
 * All functions are optional.
 *
 * Since: 0.1
 */
struct _GstVkgdrBaseTransformClass {
  GstBaseTransformClass parent_class;

  /**
   * GstVkgdrBaseTransformClass::open:
   * @transform: an element
   * @error: return location for a #GError
   *
   * Called when the element starts, once it has a context and a stream.
   *
   * Returns: %FALSE with @error set on failure; the element then posts the
   *   error and does not start
   *
   * Since: 0.1
   */
  gboolean (*open) (GstVkgdrBaseTransform *transform, GError **error);
  /**
   * GstVkgdrBaseTransformClass::close:
   * @transform: an element
   *
   * Called when the element stops, if #GstVkgdrBaseTransformClass.open was
   * successful: the work on the stream is done, and stream and context are
   * still available.
   *
   * Since: 0.1
   */
  void (*close) (GstVkgdrBaseTransform *transform);
  /**
   * GstVkgdrBaseTransformClass::fill_stats:
   * @transform: an element
   * @stats: an empty structure
   *
   * Called from any thread, in any state, when #GstVkgdrBaseTransform:stats is
   * read.
   *
   * Since: 0.1
   */
  void (*fill_stats) (GstVkgdrBaseTransform *transform, GstStructure *stats);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_base_transform_get_context (
    GstVkgdrBaseTransform *transform);

GST_VKGDR_API
GstVkgdrStream *gst_vkgdr_base_transform_get_stream (
    GstVkgdrBaseTransform *transform);

GST_VKGDR_API
GstVkgdrAllocator *gst_vkgdr_base_transform_get_allocator (
    GstVkgdrBaseTransform *transform);

GST_VKGDR_API
void gst_vkgdr_base_transform_post_error (
    GstVkgdrBaseTransform *transform, GError *error);

GST_VKGDR_API
GstBufferPool *gst_vkgdr_base_transform_new_pool (
    GstVkgdrBaseTransform *transform, GstCaps *caps, guint min_buffers);

GST_VKGDR_API
gboolean gst_vkgdr_base_transform_add_allocator (
    GstVkgdrBaseTransform *transform, GstQuery *query);

G_END_DECLS

#endif /* __GST_VKGDR_BASE_TRANSFORM_H__ */
