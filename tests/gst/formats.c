/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * formats.c: tests that kernels read and write every raw video format as
 * GStreamer does
 *
 * The reference is a Picture, for which GStreamer unpacks the samples. Each
 * format of the installed GStreamer is tested: kernels either support it, or
 * refuse it for a reason, and the table in docs/cudafilter.md says so.
 */

#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "bytes.h"
#include "case.h"
#include "frames.h"
#include "picture.h"

#define TABLE_BEGIN \
  "<!-- The table of formats: tests/gst/formats.c checks it -->\n"
#define TABLE_END "<!-- The end of the table of formats -->\n"

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

static void
setup (void)
{
  GError *error = NULL;

  frame_setup ();
  unpack = gst_vkgdr_kernel_new_from_source (
      frame_context, unpack_source, "unpack", NULL, NULL, &error);
  g_assert_no_error (error);
  pack = gst_vkgdr_kernel_new_from_source (
      frame_context, pack_source, "pack", NULL, NULL, &error);
  g_assert_no_error (error);
}

static void
teardown (void)
{
  gst_clear_object (&pack);
  gst_clear_object (&unpack);
  frame_teardown ();
}

/* --- reading and writing ------------------------------------------------- */

/* Compares the samples of a picture with those of its pixels: 16 bits for each
 * component, of which the first is alpha. If several pixels share a sample, the
 * kernel reads it for each of them, and writes it for the first one. */
static void
compare (const GstVideoInfo *info, const Picture *p, const guint8 *pixels,
    gboolean is_read, gboolean padded)
{
  const gchar *what = is_read ? "reading" : "writing";
  gint c, x, y;

  for (c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (y = 0; y < p->height; y++)
      for (x = 0; x < p->width; x++) {
        const Channel *ch = &p->channel[c];
        gint i = 4 * (y * p->width + x) + (c + 1) % 4;
        gint pixel = ((const guint16 *) pixels)[i] >> (16 - ch->depth);
        gint sample = channel_at (ch, x / ch->across, y / ch->down);

        if (!is_read && (x % ch->across || y % ch->down))
          continue;
        /* GStreamer swaps the colour differences of the last pixel of a row. In
         * pairs of pixels it reads V first, as the name says. */
        if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_VYUY && c > 0
            && x % 2 == 0 && x == p->width - 1)
          continue;
        if (pixel != sample)
          fail ("%s %s%s %dx%d: component %d of pixel %d, %d is %x, not %x",
              what, info->finfo->name, padded ? " padded" : "", p->width,
              p->height, c, x, y, is_read ? pixel : sample,
              is_read ? sample : pixel);
      }
}

static void
check_format (GstVideoFormat format, gint width, gint height, gboolean padded)
{
  g_autofree guint8 *noise = NULL, *read = NULL, *pixels = NULL,
                    *written = NULL, *again = NULL;
  g_auto (Picture) before = { 0 }, after = { 0 };
  GstVideoInfo info, wide;

  gst_video_info_set_format (&info, format, width, height);
  gst_video_info_set_format (&wide, GST_VIDEO_FORMAT_AYUV64, width, height);
  noise = frame_noise (&info);
  read =
      frame_through (unpack, &info, noise, padded, &wide, FALSE, FALSE, NULL);
  picture_read (&before, &info, noise);
  compare (&info, &before, read, TRUE, padded);

  pixels = frame_noise (&wide);
  written =
      frame_through (pack, &wide, pixels, FALSE, &info, padded, FALSE, NULL);
  picture_read (&after, &info, written);
  compare (&info, &after, pixels, FALSE, padded);
  /* The bits that belong to no sample are as GStreamer writes them, if rows end
   * with whole blocks of pixels. */
  again = g_memdup2 (written, info.size);
  picture_write (&after, &info, again);
  fail_unless (!GST_VIDEO_INFO_IS_YUV (&info) || width % 48 != 0
                   || memcmp (again, written, info.size) == 0,
      "%s: unused bits differ", info.finfo->name);
}

TEST_FIXTURE (setup, teardown);

TEST_LOOP (formats_are_read_and_written, G_N_ELEMENTS (sizes))
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);

  fail_unless (n > 80);
  for (i = 0; i < 2 * n; i++)
    check_format (
        formats[i / 2], sizes[__i__].width, sizes[__i__].height, i % 2);
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

/* Fails unless a line of @table has the format, and says "none" and why if the
 * format is refused. */
static void
check_line (const gchar *table, const gchar *format, const gchar *obstacle)
{
  g_autofree gchar *name = g_strdup_printf ("`%s`", format);
  g_autofree gchar *none = g_strdup_printf ("| none: %s |", obstacle);
  g_auto (GStrv) lines = g_strsplit (table, "\n", -1);
  guint i;

  for (i = 0; lines[i]; i++)
    if (strstr (lines[i], name))
      break;
  fail_unless (lines[i] && !strstr (lines[i], "| none") == !obstacle
                   && (!obstacle || g_str_has_prefix (lines[i], none)),
      "docs/cudafilter.md is wrong about %s", name);
}

TEST_FIXTURE (NULL, NULL);

TEST (only_formats_without_a_meaning_are_refused)
{
  g_autofree gchar *text = NULL;
  const gchar *table = NULL;
  guint i, n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);

  if (g_file_get_contents (DOCS_FOLDER "/cudafilter.md", &text, NULL, NULL)) {
    table = strstr (text, TABLE_BEGIN);
    fail_unless (table && strstr (table, TABLE_END));
    *strstr (table, TABLE_END) = '\0';
  }
  for (i = 0; i < n; i++) {
    const GstVideoFormatInfo *finfo = gst_video_format_get_info (all[i]);
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
    if (table)
      check_line (table, finfo->name, obstacle);
  }
  fail_if (is_listed (GST_VIDEO_FORMAT_UNKNOWN));
  fail_if (is_listed (GST_VIDEO_FORMAT_ENCODED));
}
