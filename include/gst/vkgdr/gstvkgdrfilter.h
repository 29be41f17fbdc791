/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrfilter.h: base class of elements that make one output buffer from
 * each input buffer
 *
 * A subclass queues work on a stream; the base class handles buffers, their
 * order and the statistics. Knows nothing of kernels, nor of the content.
 */

#ifndef __GST_VKGDR_FILTER_H__
#define __GST_VKGDR_FILTER_H__

#include <gst/vkgdr/gstvkgdrbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_FILTER (gst_vkgdr_filter_get_type ())

GST_VKGDR_API
G_DECLARE_DERIVABLE_TYPE (
    GstVkgdrFilter, gst_vkgdr_filter, GST, VKGDR_FILTER, GstVkgdrBaseTransform)

/**
 * GstVkgdrFilterClass:
 * @parent_class: the parent class
 * @negotiated: the caps are known or have changed
 * @filter: queues the work on a buffer
 *
 * A subclass has to provide @filter.
 *
 * Since: 0.1
 */
struct _GstVkgdrFilterClass {
  GstVkgdrBaseTransformClass parent_class;

  /**
   * GstVkgdrFilterClass::negotiated:
   * @filter: a filter
   * @input_caps: the caps of its input
   * @output_caps: the caps of its output
   * @error: return location for a #GError
   *
   * Called when the caps are known or have changed, in the streaming thread.
   *
   * Returns: %FALSE with @error set if the filter does not support the caps;
   *   the element then posts the error and fails
   *
   * Since: 0.1
   */
  gboolean (*negotiated) (GstVkgdrFilter *filter, GstCaps *input_caps,
      GstCaps *output_caps, GError **error);
  /**
   * GstVkgdrFilterClass::filter:
   * @filter: a filter
   * @input: the buffer to read
   * @output: the buffer to write, or @input: see
   * gst_vkgdr_filter_set_in_place()
   * @stream: the filter's stream
   * @error: return location for a #GError
   *
   * Queues work on @stream that reads @input and writes @output, and does not
   * wait for it. Their memory is of type %GST_VKGDR_MEMORY_NAME and not mapped.
   * The base class orders the work with other users of the memory.
   *
   * The function may also map a buffer for the CPU before it queues any work on
   * it. Mapping waits for pending work of the device, and fetches the content;
   * unmapping sends the written content to the device.
   *
   * Returns: %FALSE with @error set on failure; the element then posts the
   *   error and fails
   *
   * Since: 0.1
   */
  gboolean (*filter) (GstVkgdrFilter *filter, GstBuffer *input,
      GstBuffer *output, GstVkgdrStream *stream, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_VKGDR_API
void gst_vkgdr_filter_set_in_place (GstVkgdrFilter *filter, gboolean in_place);

G_END_DECLS

#endif /* __GST_VKGDR_FILTER_H__ */
