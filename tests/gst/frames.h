/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.h: frames in GPU memory for kernels to run on, laid out as one likes
 *
 * Knows nothing of elements and pipelines.
 */

#ifndef __TEST_FRAMES_H__
#define __TEST_FRAMES_H__

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* A fixture: a context of the default device, and a stream of it. */
extern GstVkgdrContext *frame_context;
extern GstVkgdrStream *frame_stream;
void frame_setup (void);
void frame_teardown (void);

/* How a frame lies in its buffer. */
typedef struct {
  gsize offset[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  gsize size;
  gboolean meta;
} FrameLayout;

/* GStreamer's own layout, or one with bytes in front, and behind each row. */
FrameLayout frame_layout (const GstVideoInfo *info, gboolean padded);

/* Bytes for a frame of the default layout, which the caller frees: always the
 * same ones for a width. */
guint8 *frame_noise (const GstVideoInfo *info);

GstMemory *frame_memory_new (
    GstVkgdrContext *context, const guint8 *data, gsize size);

/* A buffer with the samples of @plain (nullable), a frame of the default
 * layout; all else in it is a guard. */
GstBuffer *frame_new (GstVkgdrContext *context, const GstVideoInfo *info,
    const FrameLayout *l, guint8 *plain);

/* The samples in the default layout; the caller frees them. Fails the test
 * where anything around them was touched. */
guint8 *frame_read (
    const GstVideoInfo *info, const FrameLayout *l, GstBuffer *buffer);

/* Launches a kernel as an element does it; @in and @out may be one buffer. */
gboolean frame_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *in, const GstVideoInfo *in_info, GstBuffer *out,
    const GstVideoInfo *out_info, const GstStructure *params, GError **error);

/* The kernel of an effect; fails the test where it does not compile. */
GstVkgdrKernel *frame_effect (
    GstVkgdrContext *context, const GstEffect *effect);

G_END_DECLS

#endif /* __TEST_FRAMES_H__ */
