/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmemory.h: memory with a host and a device pointer
 *
 * Contains the memory's allocator, too. Knows nothing of the content.
 */

#ifndef __GST_VKGDR_MEMORY_H__
#define __GST_VKGDR_MEMORY_H__

#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

/**
 * GST_VKGDR_MEMORY_NAME:
 *
 * The memory type, and the name of the default allocator for
 * gst_allocator_find() after gst_vkgdr_init().
 *
 * Since: 0.1
 */
#define GST_VKGDR_MEMORY_NAME "VkgdrMemory"

/**
 * GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY:
 *
 * The caps feature of buffers whose memory is of this type.
 *
 * Since: 0.1
 */
#define GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY "memory:VkgdrMemory"

/**
 * GST_MAP_VKGDR:
 *
 * Maps a memory for the device: #GstMapInfo.data is the CUDA device pointer.
 * Its value is that of GStreamer's own `GST_MAP_CUDA`.
 *
 * Since: 0.1
 */
#define GST_MAP_VKGDR ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

/**
 * GstVkgdrAccess:
 * @GST_VKGDR_ACCESS_AUTO: the pool chooses one of the two modes, see
 *   #GstVkgdrBufferPool:access
 * @GST_VKGDR_ACCESS_DIRECT: a writer gets a pointer into the window
 * @GST_VKGDR_ACCESS_STAGED: a writer gets a staging buffer in pinned memory,
 *   which is sent by an asynchronous DMA transfer on unmap
 *
 * The memory that the CPU gets when it maps a memory for writing only. A
 * mapping that reads always gets host memory, unless the window is host-cached;
 * then all mappings get a pointer into the window.
 *
 * Since: 0.1
 */
typedef enum {
  GST_VKGDR_ACCESS_AUTO = 0,
  GST_VKGDR_ACCESS_DIRECT = 1,
  GST_VKGDR_ACCESS_STAGED = 2
} GstVkgdrAccess;

#define GST_TYPE_VKGDR_ACCESS (gst_vkgdr_access_get_type ())

GST_VKGDR_API
GType gst_vkgdr_access_get_type (void);

#define GST_TYPE_VKGDR_ALLOCATOR (gst_vkgdr_allocator_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrAllocator, gst_vkgdr_allocator, GST, VKGDR_ALLOCATOR, GstAllocator)

GST_VKGDR_API
void gst_vkgdr_init (void);

GST_VKGDR_API
GstVkgdrAllocator *gst_vkgdr_allocator_new (GstVkgdrContext *context);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_alloc (
    GstVkgdrAllocator *allocator, gsize size, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_alloc_exportable (
    GstVkgdrAllocator *allocator, gsize size, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_alloc_device_only (
    GstVkgdrAllocator *allocator, gsize size, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_alloc_pinned (
    GstVkgdrAllocator *allocator, gsize size, GError **error);

/**
 * GstVkgdrReleaseFunc:
 * @user_data: the data that was passed with the function
 *
 * Called once, in any thread, when wrapped memory of another library is not
 * used any more.
 *
 * Since: 0.1
 */
typedef void (*GstVkgdrReleaseFunc) (gpointer user_data);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_alloc_wrapped (GstVkgdrAllocator *allocator,
    guint64 device_pointer, gsize size, GstMemoryFlags flags,
    GstVkgdrReleaseFunc release, gpointer user_data, GError **error);

GST_VKGDR_API
guint gst_vkgdr_allocator_get_active_blocks (GstVkgdrAllocator *allocator);

GST_VKGDR_API
guint64 gst_vkgdr_allocator_get_managed_bytes (GstVkgdrAllocator *allocator);

GST_VKGDR_API
void gst_vkgdr_allocator_free_held (GstVkgdrAllocator *allocator);

GST_VKGDR_API
gint gst_vkgdr_memory_export_fd (
    GstMemory *memory, GBytes **description, gsize *offset, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_allocator_import_fd (
    GstVkgdrAllocator *allocator, gint fd, GBytes *description, GError **error);

GST_VKGDR_API
GstMemory *gst_vkgdr_memory_new_part (GstMemory *memory, gsize offset,
    gsize size, GstMemoryFlags flags, GstVkgdrReleaseFunc release,
    gpointer user_data);

GST_VKGDR_API
gboolean gst_is_vkgdr_memory (GstMemory *memory);

GST_VKGDR_API
gboolean gst_is_vkgdr_memory_of (GstMemory *memory, GstVkgdrContext *context);

GST_VKGDR_API
gboolean gst_is_vkgdr_buffer_of (GstBuffer *buffer, GstVkgdrContext *context);

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_memory_get_context (GstMemory *memory);

GST_VKGDR_API
guint64 gst_vkgdr_memory_get_device_pointer (GstMemory *memory);

GST_VKGDR_API
gpointer gst_vkgdr_memory_get_host_pointer (GstMemory *memory);

GST_VKGDR_API
void gst_vkgdr_memory_set_access (GstMemory *memory, GstVkgdrAccess access);

GST_VKGDR_API
gboolean gst_vkgdr_memory_begin_access (GstMemory *memory,
    GstVkgdrStream *stream, GstMapFlags flags, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_end_access (GstMemory *memory, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_upload (GstMemory *memory, gsize offset,
    gconstpointer data, gsize size, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_write (GstMemory *memory, gsize offset,
    gconstpointer data, gsize size, GError **error);

GST_VKGDR_API
GstVkgdrAccess gst_vkgdr_memory_get_write_times (
    GstMemory *memory, GstClockTime *map_time, GstClockTime *wait_time);

GST_VKGDR_API
gboolean gst_vkgdr_memory_is_idle (GstMemory *memory);

GST_VKGDR_API
gboolean gst_vkgdr_memory_wait_idle (GstMemory *memory, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_is_written (GstMemory *memory);

GST_VKGDR_API
gboolean gst_vkgdr_memory_wait_written (GstMemory *memory, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_publish (GstMemory *memory, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_H__ */
