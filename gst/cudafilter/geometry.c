/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/geometry.c: see cudafilter/geometry.h
 */

#include "cudafilter/geometry.h"
#include "gstvkgdrnavigation.h"

void
gst_cuda_geometry_init (GstCudaGeometry *self, const GstVideoInfo *in,
    const GstVideoInfo *out, const GstEffectTurn *turn)
{
  const gdouble from[] = { MAX (in->width, 1), MAX (in->height, 1) };
  const gdouble to[] = { MAX (out->width, 1), MAX (out->height, 1) };
  const gboolean reverses[] = { turn && turn->reverses_x,
    turn && turn->reverses_y };
  guint axis;

  memset (self, 0, sizeof (*self));
  self->in = *in;
  self->out = *out;
  self->turn = turn;
  for (axis = 0; axis < 2; axis++) {
    guint target = turn && turn->swaps_sides ? 1 - axis : axis;
    gdouble scale = to[target] / from[axis];

    self->row[target][axis] = reverses[axis] ? -scale : scale;
    self->row[target][2] = reverses[axis] ? to[target] : 0;
  }
}

gboolean
gst_cuda_geometry_is_identity (const GstCudaGeometry *self)
{
  return !self->turn && self->in.width == self->out.width
         && self->in.height == self->out.height;
}

/* From GStreamer 1.28 on, metas can follow any of these pictures. */
static gboolean
move_by_matrix (const GstCudaGeometry *self, GstBuffer *outbuf, GstMeta *meta,
    GstBuffer *inbuf)
{
#if GST_CHECK_VERSION(1, 27, 0)
  const GstVideoRectangle from = { 0, 0, self->in.width, self->in.height };
  const GstVideoRectangle to = { 0, 0, self->out.width, self->out.height };
  GstVideoMetaTransformMatrix m;
  guint i, k;

  gst_video_meta_transform_matrix_init (&m, &self->in, &from, &self->out, &to);
  for (i = 0; i < 2; i++)
    for (k = 0; k < 3; k++)
      m.matrix[i][k] = self->row[i][k];
  return meta->info->transform_func (
      outbuf, meta, inbuf, gst_video_meta_transform_matrix_get_quark (), &m);
#else
  return FALSE;
#endif
}

void
gst_cuda_geometry_move_meta (const GstCudaGeometry *self, GstBuffer *outbuf,
    GstMeta *meta, GstBuffer *inbuf)
{
  GstVideoMetaTransform sizes = { (GstVideoInfo *) &self->in,
    (GstVideoInfo *) &self->out };

  if (meta->info->transform_func && !move_by_matrix (self, outbuf, meta, inbuf)
      && !self->turn)
    meta->info->transform_func (outbuf, meta, inbuf,
        gst_video_meta_transform_scale_get_quark (), &sizes);
}

/* A row has one factor that is not 0, because pictures are turned by multiples
 * of 90 degrees. */
static void
move_back (gconstpointer data, gdouble *x, gdouble *y)
{
  const GstCudaGeometry *self = data;
  const gdouble out[] = { *x, *y };
  gdouble in[2];
  guint i;

  for (i = 0; i < 2; i++) {
    guint axis = self->row[i][0] != 0 ? 0 : 1;

    in[axis] = (out[i] - self->row[i][2]) / self->row[i][axis];
  }
  *x = in[0];
  *y = in[1];
}

GstEvent *
gst_cuda_geometry_move_event (const GstCudaGeometry *self, GstEvent *event)
{
  return gst_vkgdr_navigation_move (event, move_back, self);
}
