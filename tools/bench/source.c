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

#include "helper.h"

/* --- how frames are written ----------------------------------------------- */

/* The size of the pattern of BENCH_FILL_COPY in bytes. The pattern stays in the
 * processor's cache, like a line of a frame that a producer has just
 * computed. */
#define PATTERN_SIZE ((gsize) 64 << 10)

void
bench_fill_init (BenchFill *fill, BenchFillKind kind, gsize area_size)
{
  gsize i;

  memset (fill, 0, sizeof (*fill));
  fill->kind = kind;
  if (kind == BENCH_FILL_MEMSET)
    return;
  fill->size =
      kind == BENCH_FILL_COPY ? PATTERN_SIZE : MAX (area_size, PATTERN_SIZE);
  fill->area = g_malloc (fill->size);
  for (i = 0; i < PATTERN_SIZE; i++)
    fill->area[i] = (guint8) (i * 7 + i / 251);
  for (; i < fill->size; i++)
    fill->area[i] = fill->area[i - PATTERN_SIZE];
}

void
bench_fill_clear (BenchFill *fill)
{
  g_clear_pointer (&fill->area, g_free);
}

void
bench_fill_write (BenchFill *fill, guint8 *data, gsize size, guint64 number)
{
  if (fill->kind == BENCH_FILL_MEMSET) {
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

enum { POOL_DOWNSTREAM, POOL_OWN };
enum { TOUCH_WRITE, TOUCH_READWRITE, TOUCH_NOTHING };

#define BENCH_TYPE_SOURCE (bench_source_get_type ())
G_DECLARE_FINAL_TYPE (BenchSource, bench_source, BENCH, SOURCE, GstPushSrc)

struct _BenchSource {
  GstPushSrc parent;

  GstCaps *caps;
  guint size;
  guint buffers;
  guint pool;
  guint touch;
  guint fill;
  guint area;
  guint interval;

  BenchFill writer;
  guint64 frame;
};

G_DEFINE_TYPE (BenchSource, bench_source, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

/* The property `caps` is the first one. These follow. The value of one with
 * @words is one of these. */
#define PROP_CAPS 1

static const struct {
  const gchar *name;
  const gchar *blurb;
  goffset offset;
  const gchar *const words[4];
} numbers[] = {
  { "size", "Bytes of a buffer, if the caps are not raw video",
      G_STRUCT_OFFSET (BenchSource, size) },
  { "buffers", "Smallest number of buffers that it goes through in turn",
      G_STRUCT_OFFSET (BenchSource, buffers) },
  { "pool",
      "Where buffers come from: downstream (or own, if it offers none), or own "
      "(a pool of ordinary memory)",
      G_STRUCT_OFFSET (BenchSource, pool), { "downstream", "own" } },
  { "touch",
      "What is done to a buffer: write (every byte), readwrite (reads every "
      "cache line back, too), or nothing",
      G_STRUCT_OFFSET (BenchSource, touch),
      { "write", "readwrite", "nothing" } },
  { "fill",
      "How a buffer is written: memset, copy (of a pattern of 64 KiB), or "
      "uncached (copies of all of a large area)",
      G_STRUCT_OFFSET (BenchSource, fill), { "memset", "copy", "uncached" } },
  { "area", "Bytes that are copied from in turn, with fill=uncached",
      G_STRUCT_OFFSET (BenchSource, area) },
  { "interval",
      "Microseconds to sleep before a buffer is written, like a live source",
      G_STRUCT_OFFSET (BenchSource, interval) },
};

static GstCaps *
bench_source_get_caps (GstBaseSrc *src, GstCaps *filter)
{
  BenchSource *self = BENCH_SOURCE (src);
  GstCaps *caps = self->caps ? gst_caps_ref (self->caps) : gst_caps_new_any ();
  GstCaps *result;

  if (!filter)
    return caps;
  result = gst_caps_intersect_full (filter, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (caps);
  return result;
}

/* The size of a frame follows from the caps. Other buffers have `size`
 * bytes. */
static gboolean
bench_source_set_caps (GstBaseSrc *src, GstCaps *caps)
{
  BenchSource *self = BENCH_SOURCE (src);
  GstVideoInfo info;
  gsize size = self->size;

  if (gst_video_info_from_caps (&info, caps))
    size = GST_VIDEO_INFO_SIZE (&info);
  if (size == 0) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("The size of a buffer is not known: set the property size."),
        ("%" GST_PTR_FORMAT, caps));
    return FALSE;
  }
  gst_base_src_set_blocksize (src, size);
  return TRUE;
}

/* Replaces the pools that downstream offers by a pool of ordinary memory. */
static void
replace_pools (GstBaseSrc *src, GstQuery *query)
{
  GstAllocationParams params;
  GstBufferPool *pool;
  GstCaps *caps = NULL;

  gst_allocation_params_init (&params);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  gst_query_add_allocation_param (query, NULL, &params);
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);

  gst_query_parse_allocation (query, &caps, NULL);
  if (!caps
      || !gst_structure_has_name (
          gst_caps_get_structure (caps, 0), "video/x-raw"))
    pool = gst_buffer_pool_new ();
  else
    pool = gst_video_buffer_pool_new ();
  gst_query_add_allocation_pool (
      query, pool, gst_base_src_get_blocksize (src), 0, MAX_BUFFERS);
  gst_object_unref (pool);
}

/* The pool has several buffers. A single buffer would stay in the processor's
 * cache, which does not happen in a real pipeline. */
static gboolean
bench_source_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  BenchSource *self = BENCH_SOURCE (src);
  GstBufferPool *pool = NULL;
  guint size, min, max;

  if (self->pool == POOL_OWN || gst_query_get_n_allocation_pools (query) == 0)
    replace_pools (src, query);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  min = MAX (min, MIN (self->buffers, MAX_BUFFERS));
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
  gboolean reads = self->touch == TOUCH_READWRITE;
  GstMapInfo map;

  if (self->interval > 0)
    g_usleep (self->interval);
  if (self->touch == TOUCH_NOTHING)
    return GST_FLOW_OK;
  if (!gst_buffer_map (
          buffer, &map, reads ? GST_MAP_READWRITE : GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
        ("A buffer cannot be mapped for writing."), (NULL));
    return GST_FLOW_ERROR;
  }
  bench_fill_write (&self->writer, map.data, map.size, self->frame);
  if (reads)
    read_lines (map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_OFFSET (buffer) = self->frame++;
  return GST_FLOW_OK;
}

static gboolean
bench_source_start (GstBaseSrc *src)
{
  BenchSource *self = BENCH_SOURCE (src);

  self->frame = 0;
  bench_fill_init (&self->writer, self->fill, self->area);
  return TRUE;
}

static gboolean
bench_source_stop (GstBaseSrc *src)
{
  bench_fill_clear (&BENCH_SOURCE (src)->writer);
  return TRUE;
}

/* Properties are set before the start, and not changed later. */
static void
bench_source_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  BenchSource *self = BENCH_SOURCE (object);
  guint i, number = id - PROP_CAPS - 1;
  guint *field;

  if (id == PROP_CAPS) {
    gst_caps_replace (&self->caps, (GstCaps *) gst_value_get_caps (value));
    return;
  }
  field = &G_STRUCT_MEMBER (guint, self, numbers[number].offset);
  if (!numbers[number].words[0]) {
    *field = g_value_get_uint (value);
    return;
  }
  for (i = 0; numbers[number].words[i]; i++)
    if (g_strcmp0 (numbers[number].words[i], g_value_get_string (value)) == 0) {
      *field = i;
      return;
    }
  g_warning ("%s: %s", pspec->name, numbers[number].blurb);
}

static void
bench_source_finalize (GObject *object)
{
  BenchSource *self = BENCH_SOURCE (object);

  gst_clear_caps (&self->caps);
  G_OBJECT_CLASS (bench_source_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  GParamFlags flags =
      G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  GParamSpec *spec;
  guint i;

  g_object_class_install_property (object_class, PROP_CAPS,
      g_param_spec_boxed (
          "caps", "caps", "Caps of the stream", GST_TYPE_CAPS, flags));
  for (i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const gchar *name = numbers[i].name, *blurb = numbers[i].blurb;

    if (numbers[i].words[0])
      spec =
          g_param_spec_string (name, name, blurb, numbers[i].words[0], flags);
    else
      spec = g_param_spec_uint (name, name, blurb, 0, G_MAXINT, 0, flags);
    g_object_class_install_property (object_class, PROP_CAPS + 1 + i, spec);
  }
}

static void
bench_source_class_init (BenchSourceClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);

  object_class->set_property = bench_source_set_property;
  object_class->finalize = bench_source_finalize;
  install_properties (object_class);

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Benchmark source",
      "Source", "Writes frames, and does nothing else", "gst-vkgdr developers");

  base_class->get_caps = bench_source_get_caps;
  base_class->set_caps = bench_source_set_caps;
  base_class->decide_allocation = bench_source_decide_allocation;
  base_class->start = bench_source_start;
  base_class->stop = bench_source_stop;
  GST_PUSH_SRC_CLASS (klass)->fill = bench_source_fill;
}

static void
bench_source_init (BenchSource *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

gboolean
bench_source_register (void)
{
  return gst_element_register (
      NULL, "vkgdrbenchsrc", GST_RANK_NONE, BENCH_TYPE_SOURCE);
}
