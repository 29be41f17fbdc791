/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * source.c: how frames are written, and the element vkgdrbenchsrc
 *
 * The element only does what any producer does: it takes a buffer from a pool,
 * maps it, writes every byte, and pushes it. Loops without GStreamer write in
 * the same way. Must not depend on the elements downstream.
 */

#include <string.h>

#include <gst/base/gstpushsrc.h>
#include <gst/video/video.h>
#include <gst/video/gstvideopool.h>

#include "bench.h"

/* --- how frames are written ----------------------------------------------- */

void
bench_fill_init (BenchFill *fill, gsize area_size)
{
  gsize i;

  fill->area = g_malloc (area_size);
  fill->size = area_size;
  fill->offset = 0;
  for (i = 0; i < area_size; i++)
    fill->area[i] = (guint8) (i * 7 + i / 251);
}

void
bench_fill_clear (BenchFill *fill)
{
  g_clear_pointer (&fill->area, g_free);
}

void
bench_fill_write (BenchFill *fill, guint8 *data, gsize size, guint64 number)
{
  if (fill->size == 0) {
    memset (data, (int) (number & 0xff), size);
    return;
  }
  while (size > 0) {
    gsize part = MIN (size, fill->size - fill->offset);

    memcpy (data, fill->area + fill->offset, part);
    fill->offset = (fill->offset + part) % fill->size;
    data += part;
    size -= part;
  }
}

/* --- the element ---------------------------------------------------------- */

/* The largest number of buffers in its own pool. If downstream elements keep so
 * many buffers, the source waits until they return one. */
#define MAX_BUFFERS 16

/* The distance between two reads in bytes: a cache line. */
#define LINE 64

#define BENCH_TYPE_SOURCE (bench_source_get_type ())
G_DECLARE_FINAL_TYPE (BenchSource, bench_source, BENCH, SOURCE, GstPushSrc)

/* @params has these fields: `caps`; `own-pool`, whether the source uses a pool
 * of ordinary memory, and not that of the next element; `touch`, what it does
 * to a buffer: write (every byte), readwrite (it reads every cache line back,
 * too) or nothing; `area`, see bench_fill_init(); and `interval`, how many
 * microseconds it sleeps before it writes a buffer, like a live source. */
struct _BenchSource {
  GstPushSrc parent;

  GstCaps *caps;
  gint has_own_pool;
  gint interval;
  gboolean writes;
  gboolean reads;
  BenchFill writer;
  guint64 frame;
};

G_DEFINE_TYPE (BenchSource, bench_source, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw"));

static GstCaps *
bench_source_get_caps (GstBaseSrc *src, GstCaps *filter)
{
  BenchSource *self = BENCH_SOURCE (src);

  return self->caps ? gst_caps_ref (self->caps) : gst_caps_new_empty ();
}

/* Replaces the pools that downstream offers by a pool of ordinary memory. */
static void
replace_pools (GstBaseSrc *src, GstQuery *query)
{
  GstBufferPool *pool = gst_video_buffer_pool_new ();

  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  gst_query_add_allocation_pool (
      query, pool, gst_base_src_get_blocksize (src), 0, MAX_BUFFERS);
  gst_object_unref (pool);
}

static gboolean
bench_source_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  BenchSource *self = BENCH_SOURCE (src);
  GstBufferPool *pool = NULL;
  guint size, min, max;

  if (self->has_own_pool || gst_query_get_n_allocation_pools (query) == 0)
    replace_pools (src, query);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  min = MAX (min, BENCH_BUFFERS);
  if (max > 0)
    min = MIN (min, max);
  gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  gst_clear_object (&pool);
  return GST_BASE_SRC_CLASS (bench_source_parent_class)
      ->decide_allocation (src, query);
}

/* The compiler must not leave out reads of volatile data. */
static void
read_lines (const volatile guint8 *data, gsize size)
{
  gsize offset;

  for (offset = 0; offset < size; offset += LINE)
    (void) data[offset];
}

static GstFlowReturn
bench_source_fill (GstPushSrc *src, GstBuffer *buffer)
{
  BenchSource *self = BENCH_SOURCE (src);
  GstMapInfo map;

  if (self->interval > 0)
    g_usleep (self->interval);
  if (!self->writes)
    return GST_FLOW_OK;
  if (!gst_buffer_map (
          buffer, &map, self->reads ? GST_MAP_READWRITE : GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
        ("A buffer cannot be mapped for writing."), (NULL));
    return GST_FLOW_ERROR;
  }
  bench_fill_write (&self->writer, map.data, map.size, self->frame);
  if (self->reads)
    read_lines (map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_OFFSET (buffer) = self->frame++;
  return GST_FLOW_OK;
}

/* The only property is set once, before the start. */
static void
bench_source_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  BenchSource *self = BENCH_SOURCE (object);
  const GstStructure *params = gst_value_get_structure (value);
  const gchar *touch = gst_structure_get_string (params, "touch");
  GstVideoInfo info;
  gint area = 0;

  gst_structure_get (params, "caps", GST_TYPE_CAPS, &self->caps, NULL);
  gst_structure_get_int (params, "own-pool", &self->has_own_pool);
  gst_structure_get_int (params, "interval", &self->interval);
  gst_structure_get_int (params, "area", &area);
  self->writes = g_strcmp0 (touch, "nothing") != 0;
  self->reads = g_strcmp0 (touch, "readwrite") == 0;
  bench_fill_init (&self->writer, area);
  if (self->caps && gst_video_info_from_caps (&info, self->caps))
    gst_base_src_set_blocksize (GST_BASE_SRC (self), info.size);
}

static void
bench_source_finalize (GObject *object)
{
  gst_clear_caps (&BENCH_SOURCE (object)->caps);
  bench_fill_clear (&BENCH_SOURCE (object)->writer);
  G_OBJECT_CLASS (bench_source_parent_class)->finalize (object);
}

static void
bench_source_class_init (BenchSourceClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);

  object_class->set_property = bench_source_set_property;
  object_class->finalize = bench_source_finalize;
  g_object_class_install_property (object_class, 1,
      g_param_spec_boxed ("params", "params", "What is written, and how",
          GST_TYPE_STRUCTURE, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Benchmark source",
      "Source", "Writes frames, and does nothing else", "gst-vkgdr developers");

  base_class->get_caps = bench_source_get_caps;
  base_class->decide_allocation = bench_source_decide_allocation;
  GST_PUSH_SRC_CLASS (klass)->fill = bench_source_fill;
}

static void
bench_source_init (BenchSource *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

void
bench_source_register (void)
{
  gst_element_register (
      NULL, "vkgdrbenchsrc", GST_RANK_NONE, BENCH_TYPE_SOURCE);
}
