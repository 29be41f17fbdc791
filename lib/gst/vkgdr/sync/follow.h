/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/follow.h: elements in a row queue their work on one CUDA stream
 *
 * Work of the same CUDA stream needs no wait between its parts. So an element
 * may queue its work on the CUDA stream that has written its input, if the same
 * thread has queued that work: then both elements are in a row, and their work
 * could hardly overlap. The order of accesses never depends on this, because
 * each memory has its fences in any case.
 */

#ifndef __GST_VKGDR_FOLLOW_H__
#define __GST_VKGDR_FOLLOW_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* Must be called before the first work on @stream, to let other elements queue
 * work on its CUDA stream. */
void gst_vkgdr_stream_allow_followers (GstVkgdrStream *stream);

/* Chooses the stream for the next work of an element. @own is the element's
 * stream, and @current the stream that was chosen last. @written (nullable) is
 * the fence behind the input's content. Replaces @current by a stream on the
 * CUDA stream of @written, whose kernels have the limit, the name and the
 * signal of @own; or by @own if that is not possible; or keeps @current if
 * @written is NULL. Work that was queued on the old stream comes before work on
 * the new one. */
gboolean gst_vkgdr_stream_follow (GstVkgdrStream *own, GstVkgdrStream **current,
    GstVkgdrFence *written, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FOLLOW_H__ */
