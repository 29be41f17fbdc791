/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmapping.h: a mapped memory as an object
 *
 * For code that passes the pointer to other code, and unmaps the memory later,
 * when the other code has finished. Knows nothing of the content.
 */

#ifndef __GST_VKGDR_MAPPING_H__
#define __GST_VKGDR_MAPPING_H__

#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

/**
 * GstVkgdrMapping:
 *
 * A memory that stays mapped as long as the object has a reference, or until
 * gst_vkgdr_mapping_unmap(). It may be used from any thread.
 *
 * Since: 0.1
 */
typedef struct _GstVkgdrMapping GstVkgdrMapping;

#define GST_TYPE_VKGDR_MAPPING (gst_vkgdr_mapping_get_type ())

GST_VKGDR_API
GType gst_vkgdr_mapping_get_type (void);

GST_VKGDR_API
GstVkgdrMapping *gst_vkgdr_mapping_new (GstMemory *memory, GstMapFlags flags,
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);
GST_VKGDR_API
gboolean gst_vkgdr_mapping_add_stream (
    GstVkgdrMapping *mapping, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_mapping_lend (
    GstVkgdrMapping *mapping, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
GstVkgdrMapping *gst_vkgdr_mapping_ref (GstVkgdrMapping *mapping);

GST_VKGDR_API
void gst_vkgdr_mapping_unref (GstVkgdrMapping *mapping);

GST_VKGDR_API
void gst_vkgdr_mapping_unmap (GstVkgdrMapping *mapping);

GST_VKGDR_API
guint64 gst_vkgdr_mapping_get_pointer (GstVkgdrMapping *mapping);

GST_VKGDR_API
gsize gst_vkgdr_mapping_get_size (GstVkgdrMapping *mapping);

GST_VKGDR_API
GstMapFlags gst_vkgdr_mapping_get_flags (GstVkgdrMapping *mapping);

GST_VKGDR_API
GstMemory *gst_vkgdr_mapping_get_memory (GstVkgdrMapping *mapping);

GST_VKGDR_API
GstVkgdrStream *gst_vkgdr_mapping_get_stream (GstVkgdrMapping *mapping);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstVkgdrMapping, gst_vkgdr_mapping_unref)

G_END_DECLS

#endif /* __GST_VKGDR_MAPPING_H__ */
