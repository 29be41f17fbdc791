/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/plan.c: maps the elements of a tensor to the samples of a frame
 *
 * Positions are computed once for a frame, in double precision, and passed to
 * the kernel as fixed-point numbers. Colours are converted by one matrix from
 * the components of the frame to the channels of the tensor. Only computes:
 * knows neither devices nor kernels.
 */

#include <math.h>
#include <string.h>

#include "tensor/config.h"
#include "tensor/plan.h"

#define FIXED_ONE 4294967296.0
#define SAMPLE_MAX 255.0f

/* --- positions ----------------------------------------------------------- */

/* The part of the frame that is in the tensor, and its position in the tensor.
 */
typedef struct {
  GstVideoRectangle source;
  GstVideoRectangle picture;
} Placement;

static gint
scale_size (gint size, gdouble factor, gint max)
{
  return CLAMP ((gint) floor (size * factor + 0.5), 1, max);
}

static void
place_letterbox (const GstVkgdrTensorConfig *config, Placement *placement)
{
  const GstVideoRectangle *source = &placement->source;
  GstVideoRectangle *picture = &placement->picture;
  gdouble factor = MIN ((gdouble) config->width / source->w,
      (gdouble) config->height / source->h);

  picture->w = scale_size (source->w, factor, config->width);
  picture->h = scale_size (source->h, factor, config->height);
  picture->x = (config->width - picture->w) / 2;
  picture->y = (config->height - picture->h) / 2;
}

static void
place_crop (const GstVkgdrTensorConfig *config, Placement *placement)
{
  GstVideoRectangle *source = &placement->source;
  gdouble factor = MIN ((gdouble) source->w / config->width,
      (gdouble) source->h / config->height);
  gint width = scale_size (config->width, factor, source->w);
  gint height = scale_size (config->height, factor, source->h);

  source->x += (source->w - width) / 2;
  source->y += (source->h - height) / 2;
  source->w = width;
  source->h = height;
}

static gboolean
place (const GstVkgdrTensorConfig *config, const VkgdrFrame *frame,
    const GstVideoRectangle *region, Placement *placement, GError **error)
{
  GstVideoRectangle *source = &placement->source;

  *placement = (Placement){ { 0, 0, frame->width, frame->height },
    { 0, 0, config->width, config->height } };
  if (region)
    *source = *region;
  if (source->x < 0 || source->y < 0 || source->w < 1 || source->h < 1
      || source->w > frame->width - source->x
      || source->h > frame->height - source->y) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The region of %dx%d pixels at (%d, %d) is not a part of the frame, "
        "which has %dx%d",
        source->w, source->h, source->x, source->y, frame->width,
        frame->height);
    return FALSE;
  }
  if (config->resize == GST_VKGDR_TENSOR_RESIZE_LETTERBOX)
    place_letterbox (config, placement);
  else if (config->resize == GST_VKGDR_TENSOR_RESIZE_CROP)
    place_crop (config, placement);
  return TRUE;
}

static gint64
to_fixed (gdouble value)
{
  return (gint64) floor (value * FIXED_ONE + 0.5);
}

/* Maps @size pixels from @start on to @picture columns. There is one sample for
 * each 1 << @shift pixels. It is in the middle of its pixels, or at the first
 * one if it is @cosited. */
static void
set_axis (VkgdrTensorAxis *axis, gint start, gint size, gint picture,
    gint shift, gboolean cosited)
{
  gdouble unit = 1 << shift;
  gdouble scale = (gdouble) size / picture / unit;
  gdouble moved = cosited ? (1 - 1 / unit) / 2 : 0;
  gdouble support = MAX (scale, 1);

  axis->step = to_fixed (scale);
  axis->base = to_fixed (start / unit + scale / 2 + moved - 0.5);
  axis->support = to_fixed (support);
  axis->inverse = (gfloat) (1 / support);
  axis->first = start >> shift;
  axis->last = (start + size - 1) >> shift;
  axis->shift = shift;
}

guint
gst_vkgdr_tensor_plan_get_grid (const VkgdrFrame *frame, guint component)
{
  const VkgdrComponent *k = &frame->component[component];

  return k->w_sub > 0 || k->h_sub > 0 ? 1 : 0;
}

static void
set_places (const Placement *placement, const VkgdrFrame *frame,
    GstVideoChromaSite site, VkgdrTensorJob *job)
{
  const GstVideoRectangle *source = &placement->source;
  const GstVideoRectangle *picture = &placement->picture;
  gint w_sub = frame->component[1].w_sub, h_sub = frame->component[1].h_sub;

  job->left = picture->x;
  job->top = picture->y;
  job->picture_width = picture->w;
  job->picture_height = picture->h;
  job->x = source->x;
  job->y = source->y;
  job->region_width = source->w;
  job->region_height = source->h;
  job->scale_x = (gfloat) source->w / (gfloat) picture->w;
  job->scale_y = (gfloat) source->h / (gfloat) picture->h;
  set_axis (&job->grid[0].x, source->x, source->w, picture->w, 0, FALSE);
  set_axis (&job->grid[0].y, source->y, source->h, picture->h, 0, FALSE);
  set_axis (&job->grid[1].x, source->x, source->w, picture->w, w_sub,
      (site & GST_VIDEO_CHROMA_SITE_H_COSITED) != 0);
  set_axis (&job->grid[1].y, source->y, source->h, picture->h, h_sub,
      (site & GST_VIDEO_CHROMA_SITE_V_COSITED) != 0);
}

/* Returns the fields that are used, as VkgdrTensorJob.fields. A region of one
 * line has no line of the other field. */
static gint
choose_fields (
    GstVkgdrTensorFields wanted, gint fields, const GstVideoRectangle *source)
{
  if ((fields & VKGDR_BOTH) != VKGDR_BOTH)
    return 0;
  if (source->h == 1)
    return source->y % 2 ? VKGDR_BOTTOM : VKGDR_TOP;
  switch (wanted) {
  case GST_VKGDR_TENSOR_FIELDS_TOP:
    return VKGDR_TOP;
  case GST_VKGDR_TENSOR_FIELDS_BOTTOM:
    return VKGDR_BOTTOM;
  case GST_VKGDR_TENSOR_FIELDS_FIRST:
    return fields & VKGDR_TOP_FIRST ? VKGDR_TOP : VKGDR_BOTTOM;
  case GST_VKGDR_TENSOR_FIELDS_BOTH:
    break;
  }
  return VKGDR_BOTH;
}

/* The rows of a field are twice as far apart as those of the frame. So are the
 * rows of the picture that are made of one of two fields. */
static void
set_fields (const GstVkgdrTensorConfig *config, const VkgdrFrame *frame,
    const GstVideoRectangle *source, VkgdrTensorJob *job)
{
  gint i;

  job->fields = choose_fields (config->fields, frame->fields, source);
  for (i = 0; i < 2 && job->fields && job->fields != VKGDR_BOTH; i++) {
    VkgdrTensorAxis *axis = &job->grid[i].y;

    axis->support = MAX (axis->step / 2, to_fixed (1));
    axis->inverse = (gfloat) (FIXED_ONE / axis->support);
  }
}

static void
set_transform (const Placement *placement, GstVkgdrTensorTransform *transform)
{
  const GstVideoRectangle *source = &placement->source;
  const GstVideoRectangle *picture = &placement->picture;

  transform->scale_x = (gdouble) source->w / picture->w;
  transform->scale_y = (gdouble) source->h / picture->h;
  transform->offset_x = source->x - picture->x * transform->scale_x;
  transform->offset_y = source->y - picture->y * transform->scale_y;
}

/* --- colours ------------------------------------------------------------- */

/* The weights of the components in a channel. The components are fractions, see
 * set_row (). */
typedef gfloat Weights[TENSOR_MAX];

/* @colour is 0 for red, 1 for green and 2 for blue. */
static void
weigh_colour (const VkgdrFrame *frame, guint colour, Weights weights)
{
  if (frame->model == VKGDR_GRAY) {
    weights[0] = 1;
  } else if (frame->model == VKGDR_RGB) {
    weights[colour] = 1;
  } else {
    weights[0] = 1;
    weights[1] = colour == 1 ? frame->u_to_g : colour == 2 ? frame->u_to_b : 0;
    weights[2] = colour == 1 ? frame->v_to_g : colour == 0 ? frame->v_to_r : 0;
  }
}

static void
weigh_luma (const VkgdrFrame *frame, Weights weights)
{
  weights[0] = 1;
  if (frame->model != VKGDR_RGB)
    return;
  weights[0] = frame->kr;
  weights[1] = 1 - frame->kr - frame->kb;
  weights[2] = frame->kb;
}

/* The fraction of a component is (sample - origin) * scale. */
static void
set_row (const VkgdrFrame *frame, const Weights weights, gfloat *row)
{
  guint c;

  for (c = 0; c < TENSOR_MAX; c++) {
    const VkgdrComponent *k = &frame->component[c];

    if (weights[c] == 0)
      continue;
    row[c] = SAMPLE_MAX * weights[c] * k->scale;
    row[TENSOR_MAX] -= row[c] * k->origin;
  }
}

static void
set_alpha_row (const VkgdrFrame *frame, gfloat *row)
{
  const Weights weights = { 0, 0, 0, 1 };

  if (frame->has_alpha)
    set_row (frame, weights, row);
  else
    row[TENSOR_MAX] = SAMPLE_MAX;
}

static void
set_channel (GstVkgdrTensorChannels channels, const VkgdrFrame *frame,
    guint channel, VkgdrTensorJob *job)
{
  gfloat *row = job->matrix[channel];
  Weights weights = { 0 };

  if (channels == GST_VKGDR_TENSOR_CHANNELS_GRAY)
    weigh_luma (frame, weights);
  else if (channels == GST_VKGDR_TENSOR_CHANNELS_BGR)
    weigh_colour (frame, 2 - channel, weights);
  else if (channel < 3)
    weigh_colour (frame, channel, weights);
  if (channel < 3)
    set_row (frame, weights, row);
  else
    set_alpha_row (frame, row);
}

static void
set_colours (const GstVkgdrTensorConfig *config, const VkgdrFrame *frame,
    VkgdrTensorJob *job)
{
  guint i, n = gst_vkgdr_tensor_config_get_n_channels (config);
  gfloat scale = gst_vkgdr_tensor_config_get_scale (config);

  for (i = 0; i < n; i++) {
    set_channel (config->channels, frame, i, job);
    job->factor[i] = scale / config->std[i];
    job->bias[i] = -config->mean[i] / config->std[i];
    job->pad[i] = i < 3 ? config->pad : 0;
  }
}

/* --- the whole job ------------------------------------------------------- */

/* Sets the fields that the kernel needs to read whole bytes or words. */
static void
set_samples (const VkgdrFrame *frame, VkgdrTensorJob *job)
{
  gint c;

  for (c = 0; c < frame->n_components; c++) {
    const VkgdrComponent *k = &frame->component[c];
    const VkgdrPlane *plane = &frame->plane[k->plane];

    job->data[c] = plane->data + k->offset;
    job->stride[c] = plane->stride;
    job->step[c] = k->step;
    job->shift[c] = k->shift;
    job->mask[c] = (1 << k->depth) - 1;
  }
}

gboolean
gst_vkgdr_tensor_plan (const GstVkgdrTensorConfig *config,
    const VkgdrFrame *frame, GstVideoChromaSite site,
    const GstVideoRectangle *region, VkgdrTensorJob *job,
    GstVkgdrTensorTransform *transform, GError **error)
{
  Placement placement;

  if (!place (config, frame, region, &placement, error))
    return FALSE;
  memset (job, 0, sizeof (*job));
  job->width = config->width;
  job->height = config->height;
  set_places (&placement, frame, site, job);
  set_fields (config, frame, &placement.source, job);
  set_samples (frame, job);
  set_colours (config, frame, job);
  if (transform)
    set_transform (&placement, transform);
  return TRUE;
}
