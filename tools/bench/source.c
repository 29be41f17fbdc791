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

static GType
register_enum (gsize *type, const gchar *name, const GEnumValue *values)
{
  if (g_once_init_enter (type))
    g_once_init_leave (type, g_enum_register_static (name, values));
  return *type;
}

/* --- how frames are written ---------------------------------------------- */

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

GType
bench_fill_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { BENCH_FILL_MEMSET, "memset() of the frame's number", "memset" },
    { BENCH_FILL_COPY, "memcpy() of a pattern of 64 KiB, again and again",
        "copy" },
    { BENCH_FILL_UNCACHED, "memcpy() from all of a large area", "uncached" },
    { 0, NULL, NULL },
  };

  return register_enum (&type, "BenchSourceFill", values);
}

/* --- the element ---------------------------------------------------------- */

/* The largest number of buffers in its own pool. If downstream elements keep so
 * many buffers, the source waits until they return one. */
#define MAX_BUFFERS 16

/* The distance between two reads in bytes: a cache line. */
#define LINE 64

typedef enum { POOL_DOWNSTREAM, POOL_OWN } BenchSourcePool;
typedef enum { TOUCH_WRITE, TOUCH_READWRITE, TOUCH_NOTHING } BenchSourceTouch;

#define BENCH_TYPE_SOURCE (bench_source_get_type ())
G_DECLARE_FINAL_TYPE (BenchSource, bench_source, BENCH, SOURCE, GstPushSrc)

struct _BenchSource {
  GstPushSrc parent;

  GstCaps *caps;
  guint size;
  guint buffers;
  BenchSourcePool pool;
  BenchSourceTouch touch;
  BenchFillKind fill;
  guint area;
  guint interval; /* microseconds */

  BenchFill writer;
  guint64 frame;
};

enum {
  PROP_CAPS = 1,
  PROP_SIZE,
  PROP_BUFFERS,
  PROP_POOL,
  PROP_TOUCH,
  PROP_FILL,
  PROP_AREA,
  PROP_INTERVAL,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE (BenchSource, bench_source, GST_TYPE_PUSH_SRC)

static GType
pool_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { POOL_DOWNSTREAM, "What downstream offers, else as own", "downstream" },
    { POOL_OWN, "A pool of ordinary memory, recycled", "own" },
    { 0, NULL, NULL },
  };

  return register_enum (&type, "BenchSourcePool", values);
}

static GType
touch_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { TOUCH_WRITE, "Maps for writing, and writes every byte", "write" },
    { TOUCH_READWRITE, "Maps for both, and reads every cache line back, too",
        "readwrite" },
    { TOUCH_NOTHING, "Hands it on as it is", "nothing" },
    { 0, NULL, NULL },
  };

  return register_enum (&type, "BenchSourceTouch", values);
}

/* --- buffers ------------------------------------------------------------- */

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
static void
raise_min_buffers (BenchSource *self, GstQuery *query)
{
  GstBufferPool *pool = NULL;
  guint size, min, max;

  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  min = MAX (min, self->buffers);
  if (max > 0)
    min = MIN (min, max);
  gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  gst_clear_object (&pool);
}

static gboolean
bench_source_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  BenchSource *self = BENCH_SOURCE (src);

  if (self->pool == POOL_OWN || gst_query_get_n_allocation_pools (query) == 0)
    replace_pools (src, query);
  raise_min_buffers (self, query);
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

/* --- GObject ------------------------------------------------------------- */

/* Properties are set before the start, and not changed later. */
static void
bench_source_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  BenchSource *self = BENCH_SOURCE (object);

  switch (id) {
  case PROP_CAPS:
    gst_caps_replace (&self->caps, (GstCaps *) gst_value_get_caps (value));
    break;
  case PROP_SIZE:
    self->size = g_value_get_uint (value);
    break;
  case PROP_BUFFERS:
    self->buffers = g_value_get_uint (value);
    break;
  case PROP_POOL:
    self->pool = g_value_get_enum (value);
    break;
  case PROP_TOUCH:
    self->touch = g_value_get_enum (value);
    break;
  case PROP_FILL:
    self->fill = g_value_get_enum (value);
    break;
  case PROP_AREA:
    self->area = g_value_get_uint (value);
    break;
  case PROP_INTERVAL:
    self->interval = g_value_get_uint (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
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

  properties[PROP_CAPS] = g_param_spec_boxed (
      "caps", "Caps", "Caps of the stream", GST_TYPE_CAPS, flags);
  properties[PROP_SIZE] = g_param_spec_uint ("size", "Size",
      "Bytes of a buffer, where the caps are not raw video", 0, G_MAXINT, 0,
      flags);
  properties[PROP_BUFFERS] = g_param_spec_uint ("buffers", "Buffers",
      "Buffers that it goes through in turn, at least", 1, MAX_BUFFERS, 1,
      flags);
  properties[PROP_POOL] = g_param_spec_enum ("pool", "Pool",
      "Where buffers come from", pool_get_type (), POOL_DOWNSTREAM, flags);
  properties[PROP_TOUCH] = g_param_spec_enum ("touch", "Touch",
      "What is done to a buffer", touch_get_type (), TOUCH_WRITE, flags);
  properties[PROP_FILL] =
      g_param_spec_enum ("fill", "Fill", "How a buffer is written",
          bench_fill_get_type (), BENCH_FILL_MEMSET, flags);
  properties[PROP_AREA] = g_param_spec_uint ("area", "Area",
      "Bytes that are copied from in turn, with fill=uncached", 0, G_MAXUINT, 0,
      flags);
  properties[PROP_INTERVAL] = g_param_spec_uint ("interval", "Interval",
      "Microseconds to sleep before a buffer is written, like a live source", 0,
      G_MAXUINT, 0, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
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
  self->buffers = 1;
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

gboolean
bench_source_register (void)
{
  return gst_element_register (
      NULL, "vkgdrbenchsrc", GST_RANK_NONE, BENCH_TYPE_SOURCE);
}
