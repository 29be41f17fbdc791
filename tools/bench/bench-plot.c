/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-plot.c: the results as a picture
 *
 * Bandwidth by size, both axes logarithmic, one panel a direction; and bars for
 * each pipeline, of which the longest of a case is full. Medians only. Must not
 * know how anything was measured.
 */

#include "bench-plot.h"

#include <math.h>
#include <string.h>

#include "bench-pipeline.h"
#include "bench-report.h"

/* All lengths are in pixels. */
#define WIDTH 960
#define MARGIN 24
#define TITLE_HEIGHT 56
#define PANEL_TITLE_HEIGHT 28
#define CURVES_HEIGHT 300
#define CURVES_LEFT 72
#define LEGEND_WIDTH 200
#define AXIS_HEIGHT 40
#define BAR_HEIGHT 14
#define CASE_GAP 10
#define BARS_LEFT 400
#define BARS_WIDTH 380

/* Letters of an error that are drawn. */
#define SHORT 14

/* Hues of ways and variants, apart from each other for the colour-blind, too
 * (Okabe and Ito). */
static const gchar *const colours[] = { "#0072b2", "#d55e00", "#009e73",
  "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a8a", "#b8a000", "#7a4a9e" };

typedef struct {
  GString *svg;
  gint y; /* below what has been drawn */
} Canvas;

/* --- pieces -------------------------------------------------------------- */

/* printf() with numbers that have a point in every locale: lengths are passed
 * as whole numbers, or as text of this. */
static const gchar *
coordinate (gdouble value, gchar text[G_ASCII_DTOSTR_BUF_SIZE])
{
  return g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, "%.1f", value);
}

static void
draw_text (Canvas *canvas, gdouble x, gdouble y, const gchar *attributes,
    const gchar *text)
{
  gchar xs[G_ASCII_DTOSTR_BUF_SIZE], ys[G_ASCII_DTOSTR_BUF_SIZE];
  gchar *valid = g_utf8_make_valid (text, -1);
  gchar *escaped = g_markup_escape_text (valid, -1);

  g_string_append_printf (canvas->svg, "<text x=\"%s\" y=\"%s\" %s>%s</text>\n",
      coordinate (x, xs), coordinate (y, ys), attributes, escaped);
  g_free (escaped);
  g_free (valid);
}

static void
draw_line (Canvas *canvas, gdouble x1, gdouble y1, gdouble x2, gdouble y2)
{
  gchar t[4][G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (canvas->svg,
      "<path class=\"grid\" d=\"M%s %sL%s %s\"/>\n", coordinate (x1, t[0]),
      coordinate (y1, t[1]), coordinate (x2, t[2]), coordinate (y2, t[3]));
}

static void
draw_box (Canvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
    const gchar *colour)
{
  gchar t[4][G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (canvas->svg,
      "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"/>\n",
      coordinate (x, t[0]), coordinate (y, t[1]), coordinate (width, t[2]),
      coordinate (height, t[3]), colour);
}

static const gchar *
colour_of (guint index)
{
  return colours[index % G_N_ELEMENTS (colours)];
}

/* --- bandwidth by size --------------------------------------------------- */

/* What a panel spans: sizes and GB/s, as powers. */
typedef struct {
  gdouble min_bytes, max_bytes; /* log2 */
  gdouble min_rate, max_rate;   /* log10, whole */
  gint top;
} Axes;

static gdouble
median_rate (const BenchPoint *point)
{
  BenchSummary seconds = bench_samples_summarize (&point->seconds);

  return seconds.median > 0 ? point->bytes / seconds.median / 1e9 : 0;
}

static gdouble
map_bytes (const Axes *axes, gsize bytes)
{
  gdouble width = WIDTH - 2 * MARGIN - CURVES_LEFT - LEGEND_WIDTH;
  gdouble span = MAX (axes->max_bytes - axes->min_bytes, 1);

  return MARGIN + CURVES_LEFT
         + width * (log2 ((gdouble) bytes) - axes->min_bytes) / span;
}

static gdouble
map_rate (const Axes *axes, gdouble rate)
{
  gdouble span = axes->max_rate - axes->min_rate;

  return axes->top + CURVES_HEIGHT * (axes->max_rate - log10 (rate)) / span;
}

static void
span_axes (Axes *axes, const GPtrArray *curves, BenchDirection direction)
{
  gdouble min = INFINITY, max = 0;
  gsize least = G_MAXSIZE, most = 1;
  guint i, j;

  for (i = 0; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    for (j = 0; curve->direction == direction && j < curve->points->len; j++) {
      const BenchPoint *point = g_ptr_array_index (curve->points, j);
      gdouble rate = median_rate (point);

      if (rate <= 0)
        continue;
      min = MIN (min, rate);
      max = MAX (max, rate);
      least = MIN (least, point->bytes);
      most = MAX (most, point->bytes);
    }
  }
  if (max <= 0) /* nothing to draw */
    min = max = least = 1;
  axes->min_bytes = log2 ((gdouble) least);
  axes->max_bytes = log2 ((gdouble) most);
  axes->min_rate = floor (log10 (min));
  axes->max_rate = MAX (ceil (log10 (max)), axes->min_rate + 1);
}

static void
draw_grid (Canvas *canvas, const Axes *axes)
{
  gdouble left = MARGIN + CURVES_LEFT;
  gdouble right = WIDTH - MARGIN - LEGEND_WIDTH;
  gdouble bottom = axes->top + CURVES_HEIGHT;
  gint power;

  for (power = axes->min_rate; power <= axes->max_rate; power++) {
    gdouble y = map_rate (axes, pow (10, power));
    gchar *text = g_strdup_printf ("%g GB/s", pow (10, power));

    draw_line (canvas, left, y, right, y);
    draw_text (canvas, left - 6, y + 4, "text-anchor=\"end\"", text);
    g_free (text);
  }
  for (power = axes->min_bytes; power <= axes->max_bytes; power += 2) {
    gdouble x = map_bytes (axes, (gsize) 1 << power);
    gchar *text = bench_report_size ((gsize) 1 << power);

    draw_line (canvas, x, axes->top, x, bottom);
    draw_text (canvas, x, bottom + 18, "text-anchor=\"middle\"", text);
    g_free (text);
  }
}

static void
draw_curve (
    Canvas *canvas, const Axes *axes, const BenchCurve *curve, guint number)
{
  gboolean dashed = g_str_has_prefix (curve->id, "ram-");
  gdouble legend = WIDTH - MARGIN - LEGEND_WIDTH + 12;
  gdouble y = axes->top + 12 + number * 20;
  gchar step = 'M';
  guint i;

  g_string_append_printf (canvas->svg,
      "<path class=\"curve\" stroke=\"%s\"%s d=\"", colour_of (number),
      dashed ? " stroke-dasharray=\"5 4\"" : "");
  for (i = 0; i < curve->points->len; i++) {
    const BenchPoint *point = g_ptr_array_index (curve->points, i);
    gchar xs[G_ASCII_DTOSTR_BUF_SIZE], ys[G_ASCII_DTOSTR_BUF_SIZE];
    gdouble rate = median_rate (point);

    if (rate <= 0)
      continue;
    g_string_append_printf (canvas->svg, "%c%s %s", step,
        coordinate (map_bytes (axes, point->bytes), xs),
        coordinate (map_rate (axes, rate), ys));
    step = 'L';
  }
  g_string_append (canvas->svg, "\"/>\n");
  draw_box (canvas, legend, y - 5, 18, 4, colour_of (number));
  draw_text (canvas, legend + 24, y, "", curve->label);
}

static void
draw_curves (Canvas *canvas, const GPtrArray *curves, BenchDirection direction)
{
  guint number = 0;
  Axes axes;
  guint i;

  draw_text (canvas, MARGIN, canvas->y + 16, "class=\"panel\"",
      direction == BENCH_TO_DEVICE ? "Copies to the device"
                                   : "Copies from the device");
  axes.top = canvas->y + PANEL_TITLE_HEIGHT;
  span_axes (&axes, curves, direction);
  draw_grid (canvas, &axes);
  for (i = 0; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    if (curve->direction == direction)
      draw_curve (canvas, &axes, curve, number++);
  }
  canvas->y = axes.top + CURVES_HEIGHT + AXIS_HEIGHT;
}

/* --- pipelines ----------------------------------------------------------- */

/* The same for a variant in all cases. */
static const gchar *
colour_of_variant (const BenchVariant *variant)
{
  static const struct {
    const gchar *id;
    guint colour;
  } known[] = {
    { BENCH_VKGDR, 0 },
    { BENCH_DOWNLOAD, 0 },
    { BENCH_CUDA, 1 },
    { BENCH_KERNEL, 2 },
    { BENCH_NONE, 7 },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (known); i++)
    if (strcmp (known[i].id, variant->id) == 0)
      return colour_of (known[i].colour);
  return colour_of (3);
}

static gchar *
describe_bar (const BenchCase *c, const BenchVariant *variant)
{
  gchar *number, *text;

  if (variant->samples.error)
    return g_strdup (strlen (variant->samples.error) <= SHORT
                         ? variant->samples.error
                         : "failed");
  number =
      bench_report_number (bench_samples_summarize (&variant->samples).median);
  text = g_strdup_printf ("%s %s", number, bench_unit_name (c->unit));
  g_free (number);
  return text;
}

static void
draw_bar (Canvas *canvas, const BenchCase *c, guint index, gdouble longest)
{
  const BenchVariant *variant = g_ptr_array_index (c->variants, index);
  BenchSummary summary = bench_samples_summarize (&variant->samples);
  gdouble length = longest > 0 ? BARS_WIDTH * summary.median / longest : 0;
  gchar *text = describe_bar (c, variant);

  draw_text (canvas, BARS_LEFT - 8, canvas->y + BAR_HEIGHT - 3,
      "text-anchor=\"end\"", variant->label);
  draw_box (canvas, BARS_LEFT, canvas->y + 1, length, BAR_HEIGHT - 2,
      colour_of_variant (variant));
  draw_text (
      canvas, BARS_LEFT + length + 6, canvas->y + BAR_HEIGHT - 3, "", text);
  canvas->y += BAR_HEIGHT;
  g_free (text);
}

static void
draw_case (Canvas *canvas, const BenchCase *c)
{
  gdouble longest = 0;
  guint i;

  for (i = 0; i < c->variants->len; i++) {
    const BenchVariant *variant = g_ptr_array_index (c->variants, i);

    longest = MAX (longest, bench_samples_summarize (&variant->samples).median);
  }
  draw_text (canvas, MARGIN, canvas->y + BAR_HEIGHT - 3, "", c->title);
  for (i = 0; i < c->variants->len; i++)
    draw_bar (canvas, c, i, longest);
  canvas->y += CASE_GAP;
}

static void
draw_cases (Canvas *canvas, const GPtrArray *cases)
{
  guint i;

  draw_text (canvas, MARGIN, canvas->y + 16, "class=\"panel\"",
      "Pipelines: the longest bar of each is full");
  canvas->y += PANEL_TITLE_HEIGHT;
  for (i = 0; i < cases->len; i++)
    draw_case (canvas, g_ptr_array_index (cases, i));
}

/* --- the whole ----------------------------------------------------------- */

static void
draw_title (Canvas *canvas, const GstStructure *machine)
{
  gchar *text =
      g_strdup_printf ("%s, %s", gst_structure_get_string (machine, "name"),
          gst_structure_get_string (machine, "cpu"));
  gchar *versions = g_strdup_printf ("vkgdr-bench " VKGDR_VERSION ", %s, %s",
      gst_structure_get_string (machine, "gstreamer"),
      gst_structure_get_string (machine, "date"));

  draw_text (canvas, MARGIN, canvas->y + 12, "class=\"panel\"", text);
  draw_text (canvas, MARGIN, canvas->y + 32, "", versions);
  canvas->y += TITLE_HEIGHT;
  g_free (text);
  g_free (versions);
}

gchar *
bench_plot_draw (const BenchResults *results, const GstStructure *machine)
{
  Canvas canvas = { g_string_new (NULL), MARGIN };
  gchar *result;

  draw_title (&canvas, machine);
  if (results->curves) {
    draw_curves (&canvas, results->curves, BENCH_TO_DEVICE);
    draw_curves (&canvas, results->curves, BENCH_FROM_DEVICE);
  }
  if (results->cases)
    draw_cases (&canvas, results->cases);

  result = g_strdup_printf (
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\">\n"
      "<style>text { font: 12px sans-serif; fill: #222 } "
      ".panel { font-size: 15px; font-weight: bold } "
      ".grid { stroke: #ddd; fill: none } "
      ".curve { stroke-width: 2; fill: none }</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
      "%s</svg>\n",
      WIDTH, canvas.y + MARGIN, WIDTH, canvas.y + MARGIN, canvas.svg->str);
  g_string_free (canvas.svg, TRUE);
  return result;
}
