/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.h: frames in GPU memory with any layout, and kernels that run on them
 *
 * Does not depend on elements or pipelines.
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

/* Returns a frame of the default layout, which is always the same for a format
 * and a size. The caller frees it. */
guint8 *frame_noise (const GstVideoInfo *info);

GstMemory *frame_memory_new (
    GstVkgdrContext *context, const guint8 *data, gsize size);

/* Launches a kernel as an element does. @in and @out may be the same buffer. */
gboolean frame_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *in, const GstVideoInfo *in_info, GstBuffer *out,
    const GstVideoInfo *out_info, const GstStructure *params, GError **error);

/* The time stamp of the frames of frame_through (). */
#define FRAME_TIME 7

/* Runs a kernel on @plain, a frame of the default layout. Returns the output in
 * the default layout, which the caller frees. The layouts on the device are
 * padded or not. Fails the test if the launch fails, or if the kernel changes
 * the padding. */
guint8 *frame_through (GstVkgdrKernel *kernel, const GstVideoInfo *in_info,
    guint8 *plain, gboolean in_padded, const GstVideoInfo *out_info,
    gboolean out_padded, gboolean in_place, const GstStructure *params);

/* Returns the kernel of an effect. Fails the test if it does not compile. */
GstVkgdrKernel *frame_effect (
    GstVkgdrContext *context, const GstEffect *effect);

G_END_DECLS

#endif /* __TEST_FRAMES_H__ */
