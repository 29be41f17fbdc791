/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rows.c: no frame is torn by filters in a row, in one thread or in several
 *
 * Each filter adds 1 to each byte, slowly. It reads the byte twice, early and
 * late. So a kernel that begins before the one in front of it has ended would
 * change the result. Some rows also have effects of the plugin.
 */

#include "util.h"

#define WIDTH 64
#define HEIGHT 48

#define FRAMES 60
#define FRAMES_SLOW 10

#define ADD_SOURCE \
  "__global__ void add (VkgdrFrame in, VkgdrFrame out, int spins) {" \
  " int x = blockIdx.x * blockDim.x + threadIdx.x;" \
  " int y = blockIdx.y * blockDim.y + threadIdx.y;" \
  " volatile unsigned char *p;" \
  " volatile int k = 0;" \
  " int early;" \
  " if (x >= out.width || y >= out.height) return;" \
  " p = in.plane[0].data + (long long) y * in.plane[0].stride + x;" \
  " early = *p;" \
  " while (k < spins) k = k + 1;" \
  " vkgdr_put (out, 0, x, y, (early == *p ? early + 1 : ~early) & 255); }"

/* --- frames -------------------------------------------------------------- */

typedef struct {
  guint n_filters; /* number of filters between the source and this sink */
  guint frames;
} Sink;

static GstFlowReturn
check_sample (GstAppSink *appsink, gpointer user_data)
{
  g_autoptr (GstSample) sample = gst_app_sink_pull_sample (appsink);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  Sink *sink = user_data;
  GstMapInfo map;
  guint i;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless_equals_int (map.size, WIDTH * HEIGHT);
  for (i = 0; i < WIDTH * HEIGHT; i++)
    test_check_byte (i, map.data[i],
        test_frame_byte (sink->frames, i % WIDTH, i / WIDTH) + sink->n_filters);
  sink->frames++;
  gst_buffer_unmap (buffer, &map);
  return GST_FLOW_OK;
}

/* Makes @sink check the frames that arrive at the appsink @name. */
static void
set_sink (GstElement *pipeline, const gchar *name, Sink *sink, guint n_filters)
{
  GstAppSinkCallbacks callbacks = { .new_sample = check_sample };
  g_autoptr (GstElement) appsink =
      gst_bin_get_by_name (GST_BIN (pipeline), name);

  *sink = (Sink){ n_filters, 0 };
  gst_app_sink_set_callbacks (GST_APP_SINK (appsink), &callbacks, sink, NULL);
}

#define F \
  " ! cudafilter source=\"" ADD_SOURCE "\" params=params,spins=(int)SPINS"
/* An effect of the plugin. Two of them leave the frame as it was. */
#define E(name) \
  " ! cudafilter name=" name " kernel=flip params=\"params,method=(int)2\""
#define SINK " ! vkgdrdownload ! queue ! appsink sync=false name="

static const struct {
  const gchar *filters;
  guint n_filters, n_others; /* number of filters in front of the sink "sink",
                              * and in front of "other" */
} rows[] = {
  { F F F F SINK "sink", 4, 0 },
  { F " ! identity" F " ! capsfilter" F SINK "sink", 3, 0 },
  { F " ! queue" F SINK "sink", 2, 0 },
  { F F " ! queue" F F " ! queue" F SINK "sink", 5, 0 },
  { F " ! tee name=t" F SINK "sink t." F F SINK "other", 2, 3 },
  { F " ! tee name=t ! queue" F SINK "sink t. ! queue" F F SINK "other", 2, 3 },
  { " ! tee name=t" F SINK "sink t. ! queue" F SINK "other", 1, 1 },
  { E ("a") E ("b") E ("c") E ("d") F SINK "sink", 1, 0 },
  { E ("a") F E ("b") F E ("c") E ("d") SINK "sink", 2, 0 },
  { F E ("a") E ("b") " ! queue" E ("c") E ("d") SINK "sink", 1, 0 },
  { E ("a") E ("b") " ! tee name=t" F SINK "sink t. ! queue" E ("c") E ("d")
          F SINK "other",
      1, 1 },
};

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST_LOOP (rows, G_N_ELEMENTS (rows))
{
  guint n_frames = test_is_slow () ? FRAMES_SLOW : FRAMES;
  gboolean has_other = rows[__i__].n_others > 0;
  g_autoptr (GString) filters = g_string_new (rows[__i__].filters);
  Sink sink, other;
  g_autoptr (GstElement) pipeline = NULL;

  test_frames_register ();
  /* Iterations between the two reads of a byte: about half a millisecond for a
   * frame. */
  g_string_replace (filters, "SPINS", test_is_software () ? "30" : "50000", 0);
  pipeline = test_launch (
      "testframes num-buffers=%u buffers=4 ! "
      "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=1000/1 "
      "! vkgdrupload%s",
      n_frames, WIDTH, HEIGHT, filters->str);
  test_set_context (pipeline, test_context);
  set_sink (pipeline, "sink", &sink, rows[__i__].n_filters);
  if (has_other)
    set_sink (pipeline, "other", &other, rows[__i__].n_others);
  test_play (pipeline);
  fail_unless_equals_int (sink.frames, n_frames);
  if (has_other)
    fail_unless_equals_int (other.frames, n_frames);
}
