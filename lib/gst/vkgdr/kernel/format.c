/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/format.c: the positions of the samples of a video format
 *
 * GStreamer's table describes formats whose samples are whole bytes or words of
 * two bytes. The tables here describe the others, and those for which
 * GStreamer's table is wrong in some versions. Knows nothing of frames and
 * buffers.
 */

#include <string.h>

#include <gst/vkgdr/gstvkgdrerror.h>
#include <gst/vkgdr/gstvkgdrkernel.h>

#include "kernel/format.h"

#define N_COMPONENTS VKGDR_MAX_PLANES

/* More than the number of formats; GStreamer 1.26 has 137. */
#define N_KNOWN 1024

/* The description of a format. */
typedef struct {
  gboolean is_usable;
  VkgdrFrame frame;
} Description;

/* --- formats that GStreamer's table does not describe -------------------- */

/* Fields of a VkgdrComponent; plane and subsampling are taken from GStreamer's
 * table. A component whose depth is 0 does not exist. */
typedef struct {
  guint8 offset, step, shift, depth;
  guint8 group, first, pitch, spacing;
} Place;

typedef struct {
  const gchar *name; /* older versions of GStreamer have no number for some */
  VkgdrOrder order;
  Place place[N_COMPONENTS];
} Layout;

/* One sample of @depth bits in each @step bytes, @shift bits from their start.
 */
#define BITS(step, shift, depth) \
  { \
    0, step, shift, depth, 1, 0, 1, 0 \
  }
/* Consecutive samples of 10 bits. A group of @step bytes has @group of them.
 * The samples of this component are those with the numbers @first, @first +
 * @pitch, @first + 2 * @pitch and so on. */
#define TENS(step, group, first, pitch) \
  { \
    0, step, 0, 10, group, first, pitch, 10 \
  }
/* Words of two bytes, in the form of GStreamer's table. */
#define WORD(offset, step, shift, depth) \
  { \
    offset, step, shift, depth, 1, 0, 1, 0 \
  }
/* All components of a format, in words of two bytes: two pixels as Y U Y V; one
 * pixel as U Y V A. */
#define YUYV(shift, depth) \
  { \
    WORD (0, 4, shift, depth), WORD (2, 8, shift, depth), \
        WORD (6, 8, shift, depth) \
  }
#define UYVA(shift, depth) \
  { \
    WORD (2, 8, shift, depth), WORD (0, 8, shift, depth), \
        WORD (4, 8, shift, depth), WORD (6, 8, shift, depth) \
  }

/* Components are in the order of VkgdrModel. Padding is the fourth one. */
static const Layout layouts[] = {
  { "v210", VKGDR_BITS_LE,
      { TENS (4, 3, 1, 2), TENS (4, 3, 0, 4), TENS (4, 3, 2, 4) } },
  { "UYVP", VKGDR_BITS_BE,
      { TENS (5, 4, 1, 2), TENS (5, 4, 0, 4), TENS (5, 4, 2, 4) } },
  { "GRAY10_LE32", VKGDR_BITS_LE, { TENS (4, 3, 0, 1) } },
  { "NV12_10LE32", VKGDR_BITS_LE,
      { TENS (4, 3, 0, 1), TENS (4, 3, 0, 2), TENS (4, 3, 1, 2) } },
  { "NV16_10LE32", VKGDR_BITS_LE,
      { TENS (4, 3, 0, 1), TENS (4, 3, 0, 2), TENS (4, 3, 1, 2) } },
  { "NV12_10LE40", VKGDR_BITS_LE,
      { TENS (5, 4, 0, 1), TENS (5, 4, 0, 2), TENS (5, 4, 1, 2) } },
  { "NV16_10LE40", VKGDR_BITS_LE,
      { TENS (5, 4, 0, 1), TENS (5, 4, 0, 2), TENS (5, 4, 1, 2) } },
  /* U Y Y V Y Y */
  { "IYU1", VKGDR_BITS_LE,
      { { 1, 3, 0, 8, 2, 0, 1, 8 }, { 0, 6, 0, 8, 1, 0, 1, 0 },
          { 3, 6, 0, 8, 1, 0, 1, 0 } } },
  { "Y410", VKGDR_BITS_LE,
      { BITS (4, 10, 10), BITS (4, 0, 10), BITS (4, 20, 10),
          BITS (4, 30, 2) } },
  { "RGB10A2_LE", VKGDR_BITS_LE,
      { BITS (4, 0, 10), BITS (4, 10, 10), BITS (4, 20, 10),
          BITS (4, 30, 2) } },
  { "BGR10A2_LE", VKGDR_BITS_LE,
      { BITS (4, 20, 10), BITS (4, 10, 10), BITS (4, 0, 10),
          BITS (4, 30, 2) } },
  { "RGB10x2_LE", VKGDR_BITS_LE,
      { BITS (4, 0, 10), BITS (4, 10, 10), BITS (4, 20, 10) } },
  { "BGR10x2_LE", VKGDR_BITS_LE,
      { BITS (4, 20, 10), BITS (4, 10, 10), BITS (4, 0, 10) } },
  { "r210", VKGDR_BITS_BE,
      { BITS (4, 2, 10), BITS (4, 12, 10), BITS (4, 22, 10), BITS (4, 0, 2) } },
  { "RGB16", VKGDR_BITS_LE,
      { BITS (2, 11, 5), BITS (2, 5, 6), BITS (2, 0, 5) } },
  { "BGR16", VKGDR_BITS_LE,
      { BITS (2, 0, 5), BITS (2, 5, 6), BITS (2, 11, 5) } },
  { "RGB15", VKGDR_BITS_LE,
      { BITS (2, 10, 5), BITS (2, 5, 5), BITS (2, 0, 5), BITS (2, 15, 1) } },
  { "BGR15", VKGDR_BITS_LE,
      { BITS (2, 0, 5), BITS (2, 5, 5), BITS (2, 10, 5), BITS (2, 15, 1) } },
  { "VYUY", VKGDR_NATIVE,
      { WORD (1, 2, 0, 8), WORD (2, 4, 0, 8), WORD (0, 4, 0, 8) } },
  { "v216", VKGDR_NATIVE,
      { WORD (2, 4, 0, 16), WORD (0, 8, 0, 16), WORD (4, 8, 0, 16) } },
  { "Y210", VKGDR_NATIVE, YUYV (6, 10) },
  { "Y212_LE", VKGDR_NATIVE, YUYV (4, 12) },
  { "Y212_BE", VKGDR_SWAPPED, YUYV (4, 12) },
  { "Y216_LE", VKGDR_NATIVE, YUYV (0, 16) },
  { "Y216_BE", VKGDR_SWAPPED, YUYV (0, 16) },
  { "Y412_LE", VKGDR_NATIVE, UYVA (4, 12) },
  { "Y412_BE", VKGDR_SWAPPED, UYVA (4, 12) },
  { "Y416_LE", VKGDR_NATIVE, UYVA (0, 16) },
  { "Y416_BE", VKGDR_SWAPPED, UYVA (0, 16) },
};

static const Layout *
format_find_layout (const GstVideoFormatInfo *format)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (layouts); i++)
    if (g_str_equal (layouts[i].name, GST_VIDEO_FORMAT_INFO_NAME (format)))
      return &layouts[i];
  return NULL;
}

/* GStreamer's table does not describe padding. If a format has four components
 * in that table, the fourth one is alpha. */
static void
format_apply_layout (
    const GstVideoFormatInfo *format, const Layout *layout, VkgdrFrame *frame)
{
  guint c;

  for (c = 0; c < N_COMPONENTS && layout->place[c].depth > 0; c++) {
    const Place *place = &layout->place[c];
    VkgdrComponent *k = &frame->component[c];

    if (c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format)) {
      k->plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
      k->w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (format, c);
      k->h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (format, c);
    }
    k->offset = place->offset;
    k->step = place->step;
    k->shift = place->shift;
    k->depth = place->depth;
    k->group = place->group;
    k->first = place->first;
    k->pitch = place->pitch;
    k->spacing = place->spacing;
    k->order = layout->order;
  }
  frame->n_components = c;
}

/* --- formats that GStreamer's table describes ----------------------------- */

/* Whether samples of more than 8 bits are words in the device's byte order. All
 * formats define their byte order, except two, which have that of the CPU.
 */
static gboolean
format_is_native (const GstVideoFormatInfo *format)
{
  gboolean is_le = !!GST_VIDEO_FORMAT_INFO_IS_LE (format);

  return GST_VIDEO_FORMAT_INFO_FORMAT (format) == GST_VIDEO_FORMAT_ARGB64
         || GST_VIDEO_FORMAT_INFO_FORMAT (format) == GST_VIDEO_FORMAT_AYUV64
         || is_le == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
}

/* For V of P010 and similar formats, GStreamer's table counts samples, not
 * bytes. */
static gint
format_get_offset (const GstVideoFormatInfo *format, guint component)
{
  gint offset = GST_VIDEO_FORMAT_INFO_POFFSET (format, component);
  gboolean words = GST_VIDEO_FORMAT_INFO_DEPTH (format, component) > 8;

  return words && (offset & 1) ? 2 * offset : offset;
}

/* Whether the table has another component at the same position. Such entries do
 * not contain the real positions. */
static gboolean
format_is_ambiguous (const GstVideoFormatInfo *format, guint component)
{
  guint c;

  for (c = 0; c < component; c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (format, c)
            == GST_VIDEO_FORMAT_INFO_PLANE (format, component)
        && format_get_offset (format, c)
               == format_get_offset (format, component))
      return TRUE;
  return FALSE;
}

/* Whether its samples are whole bytes, or words of two bytes. */
static gboolean
format_is_plain (const GstVideoFormatInfo *format, guint component)
{
  gint depth = GST_VIDEO_FORMAT_INFO_DEPTH (format, component);
  gint shift = GST_VIDEO_FORMAT_INFO_SHIFT (format, component);

  if (GST_VIDEO_FORMAT_INFO_PSTRIDE (format, component) <= 0
      || format_is_ambiguous (format, component))
    return FALSE;
  return depth > 8 ? depth + shift <= 16 : depth == 8 && shift == 0;
}

static gboolean
format_read_table (const GstVideoFormatInfo *format, VkgdrFrame *frame)
{
  guint c, n = GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format);

  for (c = 0; c < n; c++) {
    VkgdrComponent *k = &frame->component[c];

    if (!format_is_plain (format, c))
      return FALSE;
    k->plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
    k->w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (format, c);
    k->h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (format, c);
    k->offset = format_get_offset (format, c);
    k->step = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c);
    k->shift = GST_VIDEO_FORMAT_INFO_SHIFT (format, c);
    k->depth = GST_VIDEO_FORMAT_INFO_DEPTH (format, c);
    k->group = k->pitch = 1;
    if (k->depth > 8 && !format_is_native (format))
      k->order = VKGDR_SWAPPED;
  }
  frame->n_components = n;
  return n > 0;
}

/* RGBx and similar formats: the padding is the byte that belongs to no
 * component. */
static void
format_add_padding (VkgdrFrame *frame)
{
  gint c, missing = 0 + 1 + 2 + 3;

  if (frame->model != VKGDR_RGB || frame->n_components != 3
      || frame->n_planes != 1 || frame->component[0].step != 4
      || frame->component[0].depth != 8)
    return;
  for (c = 0; c < 3; c++)
    missing -= frame->component[c].offset;
  frame->component[3] = frame->component[0];
  frame->component[3].offset = missing;
  frame->n_components = 4;
}

static gboolean
format_make_frame (const GstVideoFormatInfo *format, VkgdrFrame *frame)
{
  const Layout *layout = format_find_layout (format);

  if (GST_VIDEO_FORMAT_INFO_HAS_PALETTE (format)
      || GST_VIDEO_FORMAT_INFO_IS_TILED (format)
      || GST_VIDEO_FORMAT_INFO_N_PLANES (format) > VKGDR_MAX_PLANES
      || GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format) > N_COMPONENTS
      || !(GST_VIDEO_FORMAT_INFO_IS_RGB (format)
           || GST_VIDEO_FORMAT_INFO_IS_YUV (format)
           || GST_VIDEO_FORMAT_INFO_IS_GRAY (format)))
    return FALSE;
  frame->model = GST_VIDEO_FORMAT_INFO_IS_RGB (format)   ? VKGDR_RGB
                 : GST_VIDEO_FORMAT_INFO_IS_YUV (format) ? VKGDR_YUV
                                                         : VKGDR_GRAY;
  frame->n_planes = GST_VIDEO_FORMAT_INFO_N_PLANES (format);
  /* Not all formats that have alpha have the flag. */
  frame->has_alpha = GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format) == 4;
  if (layout) {
    format_apply_layout (format, layout, frame);
    return TRUE;
  }
  if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (format)
      || !format_read_table (format, frame))
    return FALSE;
  format_add_padding (frame);
  return TRUE;
}

/* --- functions for other files of the library ---------------------------- */

/* The results are kept until the process ends, because this is called for each
 * frame. */
static const Description *
format_get_description (const GstVideoFormatInfo *format)
{
  static Description *known[N_KNOWN];
  Description **slot = &known[GST_VIDEO_FORMAT_INFO_FORMAT (format)];
  Description *description = g_atomic_pointer_get (slot);

  if (description)
    return description;
  description = g_new0 (Description, 1);
  description->is_usable = format_make_frame (format, &description->frame);
  if (g_atomic_pointer_compare_and_exchange (slot, NULL, description))
    return description;
  g_free (description);
  return g_atomic_pointer_get (slot);
}

gboolean
gst_vkgdr_format_describe (const GstVideoFormatInfo *format, VkgdrFrame *frame)
{
  const Description *description = format_get_description (format);

  if (description->is_usable)
    *frame = description->frame;
  return description->is_usable;
}

gsize
gst_vkgdr_format_measure_row (const VkgdrComponent *k, gint samples)
{
  gsize number, bits;

  if (k->order < VKGDR_BITS_LE)
    return k->offset + (gsize) (samples - 1) * k->step + (k->depth > 8 ? 2 : 1);
  number = k->first + (gsize) (samples - 1) * k->pitch;
  bits = k->shift + number % k->group * k->spacing + k->depth;
  return k->offset + number / k->group * k->step + (bits + 7) / 8;
}

void
gst_vkgdr_format_set_error (const GstVideoFormatInfo *format, GError **error)
{
  const gchar *why = "its layout is not known";

  if (GST_VIDEO_FORMAT_INFO_IS_TILED (format))
    why = "it has tiles in place of rows";
  else if (GST_VIDEO_FORMAT_INFO_HAS_PALETTE (format))
    why = "its samples are indices into a palette";
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernels cannot be run on the format %s: %s. Convert the frames first, "
      "with videoconvert",
      GST_VIDEO_FORMAT_INFO_NAME (format), why);
}

/* --- public functions ---------------------------------------------------- */

static gpointer
format_make_list (gpointer data)
{
  guint i, n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);
  GArray *list = g_array_new (TRUE, FALSE, sizeof (GstVideoFormat));

  for (i = 0; i < n; i++) {
    const GstVideoFormatInfo *format = gst_video_format_get_info (all[i]);
    VkgdrFrame frame = { 0 };

    if (gst_vkgdr_format_describe (format, &frame))
      g_array_append_val (list, all[i]);
  }
  return list;
}

/**
 * gst_vkgdr_kernel_list_formats:
 * @n_formats: (out): the number of formats
 *
 * Lists the video formats on which kernels can be run, that is, those for which
 * gst_vkgdr_kernel_check_info() returns %TRUE. Elements that run kernels use
 * the list for their caps. The formats are in GStreamer's order of preference.
 *
 * Thread-safe.
 *
 * Returns: (transfer none) (array length=n_formats): the formats
 *
 * Since: 0.2
 */
const GstVideoFormat *
gst_vkgdr_kernel_list_formats (guint *n_formats)
{
  static GOnce once = G_ONCE_INIT;
  const GArray *list;

  g_return_val_if_fail (n_formats != NULL, NULL);

  list = g_once (&once, format_make_list, NULL);
  *n_formats = list->len;
  return (const GstVideoFormat *) list->data;
}
