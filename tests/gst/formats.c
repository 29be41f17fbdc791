/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * formats.c: tests that kernels read and write every raw video format as
 * GStreamer does
 *
 * The reference is a Picture, for which GStreamer unpacks the samples. Each
 * format of the installed GStreamer is tested: kernels either support it, or
 * refuse it for a reason, and docs/cudafilter.md names it.
 */

#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "bytes.h"
#include "case.h"
#include "frames.h"
#include "picture.h"

/* Writes all samples of a frame as 16-bit numbers, with the bits at the top. */
static const gchar unpack_source[] =
    "__global__ void unpack (VkgdrFrame in, VkgdrFrame out)\n"
    "{\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "\n"
    "  if (x >= out.width || y >= out.height)\n"
    "    return;\n"
    "  for (int c = 0; c < 4; c++) {\n"
    "    bool is_there = c < in.n_components && (c < 3 || in.has_alpha);\n"
    "    int shift = 16 - in.component[c].depth;\n"
    "\n"
    "    vkgdr_put (out, c, x, y,\n"
    "        is_there ? vkgdr_get (in, c, x, y) << shift : 0);\n"
    "  }\n"
    "}\n";

/* The opposite of unpack(). */
static const gchar pack_source[] =
    "__global__ void pack (VkgdrFrame in, VkgdrFrame out)\n"
    "{\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "\n"
    "  for (int c = 0; c < out.n_components; c++)\n"
    "    if (vkgdr_has (out, c, x, y))\n"
    "      vkgdr_put (out, c, x, y,\n"
    "          vkgdr_get (in, c, x, y) >> (16 - out.component[c].depth));\n"
    "}\n";

static const struct {
  gint width, height;
} sizes[] = { { 1, 1 }, { 7, 5 }, { 26, 6 }, { 48, 4 } };

static GstVkgdrKernel *unpack, *pack;

static GstVkgdrKernel *
compile (const gchar *source, const gchar *name)
{
  GError *error = NULL;
  GstVkgdrKernel *kernel = gst_vkgdr_kernel_new_from_source (
      frame_context, source, name, NULL, NULL, &error);

  g_assert_no_error (error);
  return kernel;
}

/* --- reading and writing ------------------------------------------------- */

/* Compares the samples of a picture with those of its pixels: 16 bits for each
 * component, of which the first is alpha. If several pixels share a sample, the
 * kernel reads it for each of them, and writes it for the first one. */
static void
compare (const GstVideoInfo *info, const Picture *p, const guint8 *pixels,
    gboolean is_read)
{
  gint c, x, y;

  for (c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (y = 0; y < p->height; y++)
      for (x = 0; x < p->width; x++) {
        const Channel *ch = &p->channel[c];
        gint i = 4 * (y * p->width + x) + (c + 1) % 4;
        gint pixel = ((const guint16 *) pixels)[i] >> (16 - ch->depth);
        gint sample = channel_at (ch, x / ch->across, y / ch->down);

        if (pixel != sample
            && (is_read || (x % ch->across == 0 && y % ch->down == 0)))
          fail ("%s %s %dx%d: component %d of pixel %d, %d: %x in the pixel, "
                "%x in the frame",
              is_read ? "reading" : "writing", info->finfo->name, p->width,
              p->height, c, x, y, pixel, sample);
      }
}

/* Packs pixels of 16 bits for each component as GStreamer does. */
static void
pack_by_reference (const GstVideoInfo *info, guint8 *pixels, guint8 *data)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  const GstVideoFormatInfo *wide =
      gst_video_format_get_info (finfo->unpack_format);
  gpointer planes[GST_VIDEO_MAX_PLANES] = { NULL };
  gint width = info->width, i, y;

  for (i = 0; i < (gint) finfo->n_planes; i++)
    planes[i] = data + info->offset[i];
  for (y = 0; y < info->height; y++) {
    guint8 *row = pixels + (gsize) y * width * 8;

    if (GST_VIDEO_FORMAT_INFO_DEPTH (wide, 0) == 8)
      for (i = 0; i < 4 * width; i++)
        row[i] = row[2 * i + 1];
    finfo->pack_func (finfo, GST_VIDEO_PACK_FLAG_NONE, row, 0, planes,
        info->stride, GST_VIDEO_CHROMA_SITE_UNKNOWN, y, width);
  }
}

static void
check_format (GstVideoFormat format, gint width, gint height, gboolean padded)
{
  g_autofree guint8 *noise = NULL, *read = NULL, *pixels = NULL,
                    *written = NULL, *packed = NULL;
  g_auto (Picture) before = { 0 }, after = { 0 };
  GstVideoInfo info, wide;

  /* GStreamer swaps the colour differences of the last pixel of a row. In pairs
   * of pixels V is the first one, as the name says. */
  if (format == GST_VIDEO_FORMAT_VYUY && width % 2)
    return;
  gst_video_info_set_format (&info, format, width, height);
  gst_video_info_set_format (&wide, GST_VIDEO_FORMAT_AYUV64, width, height);
  noise = frame_noise (&info);
  read =
      frame_through (unpack, &info, noise, padded, &wide, FALSE, FALSE, NULL);
  picture_read (&before, &info, noise);
  compare (&info, &before, read, TRUE);

  pixels = frame_noise (&wide);
  written =
      frame_through (pack, &wide, pixels, FALSE, &info, padded, FALSE, NULL);
  picture_read (&after, &info, written);
  compare (&info, &after, pixels, FALSE);
  /* Bits that belong to no sample are as GStreamer writes them, if rows end
   * with whole blocks of pixels. */
  packed = g_memdup2 (written, info.size);
  if (GST_VIDEO_INFO_IS_YUV (&info) && width % 48 == 0)
    pack_by_reference (&info, pixels, packed);
  fail_unless (memcmp (packed, written, info.size) == 0,
      "%s: unused bits differ", info.finfo->name);
}

TEST_FIXTURE (frame_setup, frame_teardown);

TEST_LOOP (formats_are_read_and_written, G_N_ELEMENTS (sizes))
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);

  fail_unless (n > 80);
  unpack = compile (unpack_source, "unpack");
  pack = compile (pack_source, "pack");
  for (i = 0; i < 2 * n; i++)
    check_format (
        formats[i / 2], sizes[__i__].width, sizes[__i__].height, i % 2);
  gst_object_unref (pack);
  gst_object_unref (unpack);
}

/* --- which formats ------------------------------------------------------- */

static gboolean
is_listed (GstVideoFormat format)
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);

  for (i = 0; i < n; i++)
    if (formats[i] == format)
      return TRUE;
  return FALSE;
}

TEST_FIXTURE (NULL, NULL);

/* docs/cudafilter.md names all formats. */
TEST (only_formats_without_a_meaning_are_refused)
{
  g_autofree gchar *text = NULL;
  guint i, n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);

  g_file_get_contents (DOCS_FOLDER "/cudafilter.md", &text, NULL, NULL);
  for (i = 0; i < n; i++) {
    const GstVideoFormatInfo *finfo = gst_video_format_get_info (all[i]);
    g_autofree gchar *name = g_strdup_printf ("`%s`", finfo->name);
    const gchar *obstacle = GST_VIDEO_FORMAT_INFO_IS_TILED (finfo) ? "tiles"
                            : GST_VIDEO_FORMAT_INFO_HAS_PALETTE (finfo)
                                ? "palette"
                                : NULL;
    GError *error = NULL;
    GstVideoInfo info;

    gst_video_info_set_format (&info, all[i], 64, 64);
    fail_unless_equals_int (is_listed (all[i]), !obstacle);
    fail_unless_equals_int (
        gst_vkgdr_kernel_check_info (&info, &error), !obstacle);
    if (obstacle)
      test_assert_error_says (&error, GST_VKGDR_ERROR_ARGUMENT, obstacle);
    if (text)
      test_assert_contains (text, name);
  }
  fail_if (is_listed (GST_VIDEO_FORMAT_UNKNOWN));
  fail_if (is_listed (GST_VIDEO_FORMAT_ENCODED));
}
