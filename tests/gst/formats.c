/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * formats.c: tests that kernels read and write every raw video format as
 * GStreamer does
 *
 * The reference is the function with which videoconvert unpacks a format. Each
 * format of the installed GStreamer is tested: kernels either support it, or
 * refuse it for a reason. The table in docs/cudafilter.md is compared with the
 * same list.
 */

#include <string.h>

#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "bytes.h"
#include "case.h"
#include "frames.h"

#define TABLE_BEGIN \
  "<!-- The table of formats: tests/gst/formats.c checks it -->\n"
#define TABLE_END "<!-- The end of the table of formats -->\n"

/* The version of GStreamer whose formats are in the table. */
#define TABLE_MAJOR 1
#define TABLE_MINOR 28

/* The number of samples of an unpacked pixel. The first one is alpha. */
#define N_SAMPLES 4

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

/* --- the reference ------------------------------------------------------- */

/* If the width of a frame of VYUY is odd, GStreamer swaps the colour
 * differences of the last pixel of a row. In pairs of pixels it reads V first,
 * as the name says. */
static gboolean
reference_is_wrong (const GstVideoInfo *info, gint x, guint c)
{
  gint width = GST_VIDEO_INFO_WIDTH (info);

  return GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_VYUY && (width & 1)
         && x == width - 1 && (c == 1 || c == 2);
}

/* Returns the samples of @plain, a frame of the default layout. The caller
 * frees them. */
static guint16 *
reference_unpack (const GstVideoInfo *info, guint8 *plain)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  const GstVideoFormatInfo *wide =
      gst_video_format_get_info (finfo->unpack_format);
  gboolean is_wide = GST_VIDEO_FORMAT_INFO_DEPTH (wide, 0) == 16;
  gint width = GST_VIDEO_INFO_WIDTH (info), i, y;
  gsize row = (gsize) width * N_SAMPLES;
  guint16 *all = g_new0 (guint16, row * GST_VIDEO_INFO_HEIGHT (info));
  gpointer data[GST_VIDEO_MAX_PLANES] = { NULL };
  /* Some of GStreamer's functions unpack a few pixels more. */
  g_autofree guint16 *line = g_new0 (guint16, row + 64);

  for (i = 0; i < (gint) GST_VIDEO_INFO_N_PLANES (info); i++)
    data[i] = plain + GST_VIDEO_INFO_PLANE_OFFSET (info, i);
  for (y = 0; y < GST_VIDEO_INFO_HEIGHT (info); y++) {
    finfo->unpack_func (finfo, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE, line, data,
        info->stride, 0, y, width);
    for (i = 0; i < (gint) row; i++)
      all[y * row + i] = is_wide ? line[i] : ((guint8 *) line)[i] << 8;
  }
  return all;
}

/* --- reading and writing ------------------------------------------------- */

/* Compares all samples of the format. With @by_owner, @wanted has a sample for
 * each pixel, and the kernel has written @got. If several pixels share a
 * sample, the kernel has written the sample of the first of these pixels. */
static void
compare (const GstVideoInfo *info, const gchar *what, const guint16 *wanted,
    const guint16 *got, gboolean by_owner)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  gint width = GST_VIDEO_INFO_WIDTH (info), x, y;
  guint c;

  for (y = 0; y < GST_VIDEO_INFO_HEIGHT (info); y++)
    for (x = 0; x < width; x++)
      for (c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); c++) {
        gint w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (finfo, c);
        gint h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (finfo, c);
        gint unused = 16 - GST_VIDEO_FORMAT_INFO_DEPTH (finfo, c);
        gsize here = ((gsize) y * width + x) * N_SAMPLES + (c + 1) % N_SAMPLES;
        gsize owner =
            ((gsize) (y >> h_sub << h_sub) * width + (x >> w_sub << w_sub))
                * N_SAMPLES
            + (c + 1) % N_SAMPLES;
        /* Some of GStreamer's functions set bits that belong to no sample. */
        gint want = wanted[by_owner ? owner : here] >> unused << unused;

        if (want != got[here] && !reference_is_wrong (info, x, c))
          fail ("%s %s %dx%d: component %u of pixel %d, %d is %x instead of %x",
              what, finfo->name, width, info->height, c, x, y, got[here], want);
      }
}

static void
check_reading (
    const GstVideoInfo *info, const GstVideoInfo *wide, gboolean padded)
{
  g_autofree guint8 *noise = frame_noise (info);
  g_autofree guint16 *wanted = reference_unpack (info, noise);
  g_autofree guint16 *got = (guint16 *) frame_through (
      unpack, info, noise, padded, wide, FALSE, FALSE, NULL);

  compare (info, padded ? "reading padded" : "reading", wanted, got, FALSE);
}

static void
check_writing (
    const GstVideoInfo *info, const GstVideoInfo *wide, gboolean padded)
{
  g_autofree guint8 *noise = frame_noise (wide);
  g_autofree guint8 *plain =
      frame_through (pack, wide, noise, FALSE, info, padded, FALSE, NULL);
  g_autofree guint16 *got = reference_unpack (info, plain);

  compare (info, padded ? "writing padded" : "writing", (guint16 *) noise, got,
      TRUE);
}

static void
check_format (GstVideoFormat format, gint width, gint height)
{
  GstVideoInfo info, wide;
  gint padded;

  gst_video_info_set_format (&info, format, width, height);
  gst_video_info_set_format (&wide, GST_VIDEO_FORMAT_AYUV64, width, height);
  for (padded = 0; padded < 2; padded++) {
    check_reading (&info, &wide, padded);
    check_writing (&info, &wide, padded);
  }
}

TEST_FIXTURE (setup, teardown);

TEST_LOOP (formats_are_read_and_written, G_N_ELEMENTS (sizes))
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);

  fail_unless (n > 80);
  for (i = 0; i < n; i++)
    check_format (formats[i], sizes[__i__].width, sizes[__i__].height);
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

/* Returns why kernels cannot use the format, or NULL. There are no other
 * reasons. */
static const gchar *
find_obstacle (const GstVideoFormatInfo *finfo)
{
  if (GST_VIDEO_FORMAT_INFO_IS_TILED (finfo))
    return "tiles";
  return GST_VIDEO_FORMAT_INFO_HAS_PALETTE (finfo) ? "palette" : NULL;
}

TEST_FIXTURE (NULL, NULL);

TEST (only_formats_without_a_meaning_are_refused)
{
  guint i, n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);

  for (i = 0; i < n; i++) {
    const GstVideoFormatInfo *finfo = gst_video_format_get_info (all[i]);
    const gchar *obstacle = find_obstacle (finfo);
    GstVideoInfo info;
    GError *error = NULL;
    gboolean ok;

    gst_video_info_set_format (&info, all[i], 64, 64);
    ok = gst_vkgdr_kernel_check_info (&info, &error);
    fail_unless (ok == is_listed (all[i]));
    fail_unless (ok == !obstacle, "%s", finfo->name);
    if (ok)
      continue;
    g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
    test_assert_contains (error->message, obstacle);
    g_clear_error (&error);
  }
  fail_if (is_listed (GST_VIDEO_FORMAT_UNKNOWN));
  fail_if (is_listed (GST_VIDEO_FORMAT_ENCODED));
}

/* --- the table ----------------------------------------------------------- */

static gchar *
describe_samples (const GstVideoFormatInfo *finfo)
{
  gint w = GST_VIDEO_FORMAT_INFO_W_SUB (finfo, 1);
  gint h = GST_VIDEO_FORMAT_INFO_H_SUB (finfo, 1);
  gint depth = GST_VIDEO_FORMAT_INFO_DEPTH (finfo, 0);
  guint n = GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo);
  const gchar *colour = "RGB";

  if (n == 1)
    colour = "gray";
  else if (GST_VIDEO_FORMAT_INFO_IS_YUV (finfo))
    colour = w == 0   ? "YUV 4:4:4"
             : w == 1 ? (h ? "YUV 4:2:0" : "YUV 4:2:2")
                      : (h ? "YUV 4:1:0" : "YUV 4:1:1");
  if (depth < 8)
    return g_strdup_printf ("%s, %s", colour, "5 or 6 bits");
  return g_strdup_printf (
      "%s%s, %d bits", colour, n == 4 ? " with alpha" : "", depth);
}

/* Checks that @table has the format in the row of its samples, or of the reason
 * why it is refused. */
static void
check_row (const gchar *table, const GstVideoFormatInfo *finfo)
{
  const gchar *obstacle = find_obstacle (finfo);
  g_autofree gchar *samples = obstacle ? g_strdup_printf ("none: %s", obstacle)
                                       : describe_samples (finfo);
  g_autofree gchar *start = g_strdup_printf ("\n| %s | `", samples);
  g_autofree gchar *name = g_strdup_printf ("`%s`", finfo->name);
  const gchar *row = strstr (table, start);
  g_autofree gchar *line =
      row ? g_strndup (row, strcspn (row + 1, "\n") + 1) : NULL;

  fail_unless (line && strstr (line, name),
      "docs/cudafilter.md lacks %s in the row \"%s\"", name, samples);
}

TEST (table_of_formats_is_true)
{
  const gchar *path = DOCS_FOLDER "/cudafilter.md";
  g_autofree gchar *text = NULL, *table = NULL;
  guint i, n, n_quotes = 0, major, minor, micro, nano;
  const GstVideoFormat *all = gst_video_formats_raw (&n);
  gchar *begin, *end;

  if (!g_file_get_contents (path, &text, NULL, NULL)) {
    g_printerr ("skipped: there is no %s\n", path);
    return;
  }
  begin = strstr (text, TABLE_BEGIN);
  end = strstr (text, TABLE_END);
  fail_unless (begin && end && begin < end);
  table = g_strndup (begin, end - begin);
  for (i = 0; i < n; i++)
    check_row (table, gst_video_format_get_info (all[i]));
  for (i = 0; table[i]; i++)
    n_quotes += table[i] == '`';
  gst_version (&major, &minor, &micro, &nano);
  if (major == TABLE_MAJOR && minor == TABLE_MINOR)
    fail_unless_equals_int (n_quotes, 2 * n);
}
