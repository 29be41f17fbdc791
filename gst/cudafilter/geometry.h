/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/geometry.h: where a place of the input picture is in the output
 *
 * Metas and events that have places in a picture follow it with this. Knows
 * neither elements nor kernels.
 */

#ifndef __GST_CUDA_GEOMETRY_H__
#define __GST_CUDA_GEOMETRY_H__

#include <gst/video/video.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* A picture that is turned or mirrored, and scaled. */
typedef struct {
  GstVideoInfo in, out;
  const GstEffectTurn *turn; /* NULL: neither turned nor mirrored */
  /* A point (x, y) of the input is at row[0] and row[1] of the output, where a
   * row (a, b, c) is a * x + b * y + c. */
  gdouble row[2][3];
} GstCudaGeometry;

void gst_cuda_geometry_init (GstCudaGeometry *self, const GstVideoInfo *in,
    const GstVideoInfo *out, const GstEffectTurn *turn);

/* Whether all places stay where they are. */
gboolean gst_cuda_geometry_is_identity (const GstCudaGeometry *self);

/* Adds to @outbuf what becomes of @meta, a meta with places. Adds nothing if
 * the meta cannot follow the picture. */
void gst_cuda_geometry_move_meta (const GstCudaGeometry *self,
    GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf);

/* Returns @event (transfer full), which goes upstream, with the coordinates of
 * the input instead of those of the output. */
GstEvent *gst_cuda_geometry_move_event (
    const GstCudaGeometry *self, GstEvent *event);

G_END_DECLS

#endif /* __GST_CUDA_GEOMETRY_H__ */
