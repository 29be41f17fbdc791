/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * picture.h: the samples and the colours of a video frame, for computations on
 * the CPU
 *
 * A picture has an array of integers for each component. GStreamer's functions
 * read the samples, and say what their levels mean. Nothing is shared
 * with the kernels that the tests compare with pictures.
 */

#ifndef __TEST_PICTURE_H__
#define __TEST_PICTURE_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

#define PICTURE_MAX_CHANNELS 4

/* One component in its own resolution. */
typedef struct {
  gint width, height;
  gint across, down; /* A sample belongs to so many pixels. */
  gint depth;        /* bits of a sample */
  gint black, range; /* the level of 0, and the distance to the level of 1 */
  gint top;          /* the largest level */
  gboolean is_chroma;
  gint *value;
} Channel;

/* The padding of RGBx is channel 3. */
typedef struct {
  Channel channel[PICTURE_MAX_CHANNELS];
  gint n_channels;
  gint width, height;
  gboolean rgb, yuv, alpha;
  gdouble kr, kb; /* the weights of red and of blue in luma */
} Picture;

/* A colour. The values are usually from 0 to 1, but are not clamped. They are
 * not multiplied by alpha. */
typedef struct {
  gdouble r, g, b, a;
} Colour;

/* Luma is 0 to 1, and colour differences are -0.5 to 0.5. */
typedef struct {
  gdouble y, u, v;
} Yuv;

/* picture_init() makes a picture of the format and size of @info, in which all
 * samples are 0. picture_read() makes one with the samples of @data, a frame of
 * the default layout. Both are cleared by picture_clear(). */
void picture_init (Picture *p, const GstVideoInfo *info);
void picture_read (Picture *p, const GstVideoInfo *info, const guint8 *data);
void picture_clear (Picture *p);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Picture, picture_clear)

/* The sample at (x, y), or the nearest one inside the picture. */
gint channel_at (const Channel *ch, gint x, gint y);

/* Luma of a pixel, from weights in units of 1/65536, rounded to the nearest
 * integer. Halves are rounded up. */
gint picture_luma_at (const Picture *p, gint x, gint y);

/* These use the matrix of the picture. */
Yuv picture_to_yuv (const Picture *p, Colour c);
Colour picture_from_yuv (const Picture *p, Yuv c);

/* The colour of the pixel at (x, y), or of the nearest one inside the
 * picture. */
Colour picture_colour_at (const Picture *p, gint x, gint y);

/* Gives each pixel of @out the colour that @paint returns for it. A sample of a
 * colour difference becomes the mean of its pixels, and padding its maximum. */
typedef Colour (*PicturePaint) (const Picture *in, const Picture *out, gint x,
    gint y, const GstStructure *params);
void picture_render (Picture *out, PicturePaint paint, const Picture *in,
    const GstStructure *params);

/* The number of samples by which two pictures of the same format differ by more
 * than @tolerance. The padding of RGBx is compared. */
guint picture_count_differences (
    const Picture *a, const Picture *b, gint tolerance);

G_END_DECLS

#endif /* __TEST_PICTURE_H__ */
