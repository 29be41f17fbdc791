/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * border.c: an example of an element that works with the CPU on frames in GPU
 * memory
 *
 * vkgdrexampleborder draws a black border. Its function gets frames that are
 * mapped for the CPU. The base class waits until the device has finished with
 * them, and transfers them from and to the device. This file is a complete
 * plugin.
 *
 *   gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter kernel=invert
 *     ! vkgdrexampleborder ! vkgdrdownload ! autovideosink
 */

#include <string.h>

#include <gst/vkgdr/vkgdr.h>

#ifndef PACKAGE
#define PACKAGE "vkgdr-examples"
#endif

#define TYPE_BORDER (border_get_type ())
G_DECLARE_FINAL_TYPE (Border, border, EXAMPLE, BORDER, GstVkgdrVideoFilter)

/* Pixels. */
#define WIDTH 8

struct _Border {
  GstVkgdrVideoFilter parent;
};

#define CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES ( \
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, "{ RGBx, BGRx, RGB, BGR, GRAY8 }")

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampleborder)
G_DEFINE_TYPE (Border, border, GST_TYPE_VKGDR_VIDEO_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrexampleborder, "vkgdrexampleborder", GST_RANK_NONE, TYPE_BORDER)

/* If the input has no other user, @output is @input. Otherwise @output is another
 * frame with undefined content. */
static gboolean
border_filter_frame_cpu (GstVkgdrVideoFilter *filter, GstVideoFrame *input,
    GstVideoFrame *output, GError **error)
{
  gint width = GST_VIDEO_FRAME_WIDTH (output);
  gint height = GST_VIDEO_FRAME_HEIGHT (output);
  gint step = GST_VIDEO_FRAME_COMP_PSTRIDE (output, 0);
  gint y, sides = MIN (WIDTH, width);

  if (output != input)
    gst_video_frame_copy (output, input);
  for (y = 0; y < height; y++) {
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (output, 0)
                  + (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (output, 0);

    if (y < WIDTH || y >= height - WIDTH) {
      memset (row, 0, (gsize) width * step);
      continue;
    }
    memset (row, 0, (gsize) sides * step);
    memset (row + (gsize) (width - sides) * step, 0, (gsize) sides * step);
  }
  return TRUE;
}

static void
border_class_init (BorderClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Border",
      "Filter/Effect/Video", "Draws a border with the CPU",
      "gst-vkgdr developers");

  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame_cpu =
      border_filter_frame_cpu;
}

static void
border_init (Border *self)
{
  gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (self), TRUE);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (vkgdrexampleborder, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, vkgdrexampleborder,
    "An example: draws a border with the CPU", plugin_init, "0.1", "LGPL",
    PACKAGE, "https://gstreamer.freedesktop.org")
