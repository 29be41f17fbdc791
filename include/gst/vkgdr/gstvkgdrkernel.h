/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkernel.h: a CUDA kernel that works on video frames, or on samples
 *
 * Knows nothing of elements, nor of the order of work. The declarations for a
 * kernel's source are in vkgdr/kernel.h.
 */

#ifndef __GST_VKGDR_KERNEL_H__
#define __GST_VKGDR_KERNEL_H__

#include <gst/audio/audio.h>
#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrcompileoptions.h>
#include <gst/vkgdr/gstvkgdrstream.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_KERNEL (gst_vkgdr_kernel_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrKernel, gst_vkgdr_kernel, GST, VKGDR_KERNEL, GstObject)

GST_VKGDR_API
GstVkgdrKernel *gst_vkgdr_kernel_new_from_source (GstVkgdrContext *context,
    const gchar *source, const gchar *name, const gchar *entry,
    GstVkgdrCompileOptions *options, GError **error);

GST_VKGDR_API
GstVkgdrKernel *gst_vkgdr_kernel_new_from_image (GstVkgdrContext *context,
    GBytes *image, const gchar *name, const gchar *entry, GError **error);

GST_VKGDR_API
GstVkgdrKernel *gst_vkgdr_kernel_new_from_file (GstVkgdrContext *context,
    const gchar *path, const gchar *entry, GstVkgdrCompileOptions *options,
    GError **error);

GST_VKGDR_API
gchar **gst_vkgdr_kernel_list_include_files (
    const gchar *path, GstVkgdrCompileOptions *options, GError **error);

GST_VKGDR_API
gchar *gst_vkgdr_kernel_describe_compiler (
    GstVkgdrContext *context, GError **error);

GST_VKGDR_API
const gchar *gst_vkgdr_kernel_get_entry (GstVkgdrKernel *kernel);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_takes_frames (GstVkgdrKernel *kernel);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_takes_samples (GstVkgdrKernel *kernel);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_may_run_in_place (GstVkgdrKernel *kernel);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_set_block_size (
    GstVkgdrKernel *kernel, guint x, guint y, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_set_grid_size (
    GstVkgdrKernel *kernel, guint x, guint y, GError **error);

GST_VKGDR_API
void gst_vkgdr_kernel_set_tile_size (GstVkgdrKernel *kernel, guint x, guint y);
GST_VKGDR_API
void gst_vkgdr_kernel_set_runs_on_fields (
    GstVkgdrKernel *kernel, gboolean runs_on_fields);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_check_params (
    GstVkgdrKernel *kernel, const GstStructure *params, GError **error);

GST_VKGDR_API
const GstVideoFormat *gst_vkgdr_kernel_list_formats (guint *n_formats);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_check_info (const GstVideoInfo *info, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_check_frame (
    GstBuffer *frame, const GstVideoInfo *info, GError **error);

GST_VKGDR_API
void gst_vkgdr_buffer_crop_metas (
    GstBuffer *cropped, GstBuffer *frame, guint width, guint height);

GST_VKGDR_API
GstBuffer *gst_vkgdr_buffer_apply_crop (
    GstBuffer *buffer, GError **error) G_GNUC_WARN_UNUSED_RESULT;

GST_VKGDR_API
gboolean gst_vkgdr_kernel_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *input, const GstVideoInfo *input_info, GstBuffer *output,
    const GstVideoInfo *output_info, guint64 frame, const GstStructure *params,
    GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_kernel_run_samples (GstVkgdrKernel *kernel,
    GstVkgdrStream *stream, GstBuffer *input, GstBuffer *output,
    const GstAudioInfo *info, guint64 frame, const GstStructure *params,
    GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_KERNEL_H__ */
