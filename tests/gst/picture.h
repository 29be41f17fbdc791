/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * picture.h: a video frame taken apart, for the CPU to compute with
 *
 * One array of integers a component, and what these mean. Knows formats, by
 * GStreamer's tables; neither effects nor GPU memory.
 */

#ifndef __TEST_PICTURE_H__
#define __TEST_PICTURE_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

#define PICTURE_MAX_CHANNELS 4

/* One component, at its own resolution: a sample serves @across by @down
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

/* A colour, 0 to 1, not clamped; alpha is not multiplied in. */
typedef struct {
  gdouble r, g, b, a;
} Colour;

/* Luma 0 to 1, and colour differences -0.5 to 0.5. */
typedef struct {
  gdouble y, u, v;
} Yuv;

/* A picture of what @info describes, black or whatever 0 is; and one with the
 * samples of @data, a frame of the default layout. Both are cleared by
 * picture_clear(). */
void picture_init (Picture *p, const GstVideoInfo *info);
void picture_read (Picture *p, const GstVideoInfo *info, const guint8 *data);
void picture_clear (Picture *p);

/* Puts the samples into @data; bytes that belong to none are left as they
 * are. */
void picture_write (const Picture *p, const GstVideoInfo *info, guint8 *data);

/* The largest sample; @eighth, a level of 8 bits, at the picture's depth; black
 * and white of luma, red, green and blue. */
gint picture_top (const Picture *p);
gint picture_level (const Picture *p, gint eighth);
gint picture_black (const Picture *p);
gint picture_white (const Picture *p);

gboolean picture_is_chroma (const Picture *p, gint c);
gint picture_limit (const Picture *p, gint v);

/* The sample at (x, y), or the nearest one there is. */
gint channel_at (const Channel *ch, gint x, gint y);

/* Luma of a pixel, from weights of 1/65536, nearest; halves of the sum up. */
gint picture_luma_at (const Picture *p, gint x, gint y);

/* By the picture's matrix. */
Yuv picture_to_yuv (const Picture *p, Colour c);
Colour picture_from_yuv (const Picture *p, Yuv c);

/* The colour of the pixel at (x, y), or of the nearest one. */
Colour picture_colour_at (const Picture *p, gint x, gint y);

/* Gives each pixel the colour that @paint says; samples of colour differences
 * become the mean of their pixels, padding its maximum. */
typedef Colour (*PicturePaint) (gint x, gint y, gpointer user_data);
void picture_render (Picture *p, PicturePaint paint, gpointer user_data);

/* The number of samples by which two frames of the default layout differ by
 * more than @tolerance, the padding of RGBx counted, that of rows and planes
 * not. With a tolerance of 0, a sample's unused bits count as well. */
guint picture_count_differences (
    const GstVideoInfo *info, const guint8 *a, const guint8 *b, gint tolerance);

G_END_DECLS

#endif /* __TEST_PICTURE_H__ */
