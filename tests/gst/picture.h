/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * picture.h: the samples of a video frame, for computations on the CPU
 *
 * A picture has an array of integers for each component. It uses GStreamer's
 * tables of formats, and does not depend on effects or GPU memory.
 */

#ifndef __TEST_PICTURE_H__
#define __TEST_PICTURE_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

#define PICTURE_MAX_CHANNELS 4

/* One component in its own resolution. A sample belongs to @across by @down
 * pixels. */
typedef struct {
  gint width, height;
  gint across, down;
  gint *value;
} Channel;

/* The padding of RGBx is channel 3. */
typedef struct {
  Channel channel[PICTURE_MAX_CHANNELS];
  gint n_channels;
  gint width, height;
  gint depth;
  gboolean rgb, yuv, alpha;
  gboolean full;
  gdouble kr, kb;
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

/* Writes the samples to @data. Bytes that belong to no sample are not
 * changed. */
void picture_write (const Picture *p, const GstVideoInfo *info, guint8 *data);

/* picture_top() returns the largest value of a sample. picture_level() converts
 * a level for 8 bits to the picture's depth. The other functions return the
 * levels of black and of white for luma, red, green and blue. */
gint picture_top (const Picture *p);
gint picture_level (const Picture *p, gint eighth);
gint picture_black (const Picture *p);
gint picture_white (const Picture *p);

gboolean picture_is_chroma (const Picture *p, gint c);
gint picture_limit (const Picture *p, gint v);

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

/* Gives each pixel the colour that @paint returns. A sample of a colour
 * difference becomes the mean of its pixels, and padding its maximum. */
typedef Colour (*PicturePaint) (gint x, gint y, gpointer user_data);
void picture_render (Picture *p, PicturePaint paint, gpointer user_data);

/* The number of samples by which two frames of the default layout differ by
 * more than @tolerance. The padding of RGBx is compared, that of rows and
 * planes is not. With a tolerance of 0, the unused bits of a sample are
 * compared, too. */
guint picture_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b, gint tolerance);

G_END_DECLS

#endif /* __TEST_PICTURE_H__ */
