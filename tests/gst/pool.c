/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pool.c: tests of buffer pools: which buffer they return, and what its writer
 * gets
 */

#include "gate.h"
#include "slow.h"

#define SIZE 10000

/* --- the pool ------------------------------------------------------------ */

static GstBufferPool *
make_sized_pool (guint size, guint min, guint max)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, NULL, size, min, max);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

static GstBufferPool *
make_pool (guint min, guint max)
{
  return make_sized_pool (SIZE, min, max);
}

static GstBuffer *
acquire (GstBufferPool *pool)
{
  GstBuffer *buffer = NULL;

  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  return buffer;
}

static guint64
pointer_of (GstBuffer *buffer)
{
  return gst_vkgdr_memory_get_device_pointer (
      gst_buffer_peek_memory (buffer, 0));
}

static void
free_pool (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

/* Lets @stream read the buffer for @ms milliseconds, and releases the
 * buffer. */
static void
release_while_read (
    GstBuffer *buffer, GstVkgdrStream *stream, guint ms, gint *done)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_stream_delay (stream, ms, done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_buffer_unref (buffer);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (idle_buffers_come_first)
{
  GstBufferPool *pool = make_pool (3, 3);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBuffer *a = acquire (pool), *b = acquire (pool), *c = acquire (pool);
  guint64 idle = pointer_of (c), pa = pointer_of (a), pb = pointer_of (b);
  gint done = FALSE;

  test_gate_delay (stream, 0, NULL);
  release_while_read (a, stream, 50, NULL);
  release_while_read (b, stream, 50, &done);
  gst_buffer_unref (c);

  c = acquire (pool);
  fail_unless (pointer_of (c) == idle);
  fail_unless (!g_atomic_int_get (&done));
  test_gate_set (TRUE);
  /* If no buffer is idle, the pool waits for the one that was released
   * first. */
  a = acquire (pool);
  fail_unless (pointer_of (a) == pa);
  fail_unless (gst_vkgdr_memory_is_idle (gst_buffer_peek_memory (a, 0)));
  b = acquire (pool);
  fail_unless (pointer_of (b) == pb);
  fail_unless (g_atomic_int_get (&done));
  gst_buffer_unref (c);
  gst_buffer_unref (b);
  gst_buffer_unref (a);
  free_pool (pool);
}

/* Reads the buffer for @ms milliseconds on a stream that the library does not
 * know, and releases it. */
static void
release_while_read_on_unknown_stream (GstBuffer *buffer, guint ms, gint *done)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ | GST_MAP_VKGDR));
  test_stream_delay (stream, ms, done);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

/* The driver can record an event behind all work of the context: the pool hands
 * out the idle buffer, and waits only for the buffer that is in use. */
TEST (unknown_readers_do_not_block)
{
  GstBufferPool *pool = make_pool (2, 2);
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  GstBuffer *a = acquire (pool), *b = acquire (pool);
  guint64 pa = pointer_of (a), pb = pointer_of (b);
  gint done = FALSE;

  if (vkgdr_driver_load ()->cuCtxRecordEvent) {
    release_while_read_on_unknown_stream (b, 0, NULL);
    fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
    test_gate_delay (other, 100, &done);
    release_while_read_on_unknown_stream (a, 0, NULL);
    b = acquire (pool);
    fail_unless (pointer_of (b) == pb);
    fail_unless (!g_atomic_int_get (&done));
    test_gate_set (TRUE);
    a = acquire (pool);
    fail_unless (pointer_of (a) == pa);
    fail_unless (g_atomic_int_get (&done));
  }
  gst_buffer_unref (b);
  gst_buffer_unref (a);
  free_pool (pool);
}

/* An older driver cannot record such an event, so the pool waits for the whole
 * context. */
TEST (unknown_readers_with_old_driver)
{
  GstBufferPool *pool = make_pool (1, 1);
  gint done = FALSE;

  ((vkgdr_cuda *) vkgdr_driver_load ())->cuCtxRecordEvent = NULL;
  release_while_read_on_unknown_stream (acquire (pool), 50, &done);
  gst_buffer_unref (acquire (pool));
  fail_unless (g_atomic_int_get (&done));
  free_pool (pool);
}

/* A pool without a limit does not allocate more buffers because the device is
 * busy. */
TEST (busy_buffers_do_not_make_it_grow)
{
  GstBufferPool *pool = make_pool (0, 0);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstAllocator *allocator = NULL;
  guint i;

  gst_buffer_pool_config_get_allocator (config, &allocator, NULL);
  for (i = 0; i < 20; i++)
    release_while_read (acquire (pool), stream, 2, NULL);
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (GST_VKGDR_ALLOCATOR (allocator)),
      1);
  gst_structure_free (config);
  free_pool (pool);
}

TEST (content_is_undefined_again)
{
  GstBufferPool *pool = make_pool (1, 1);
  GstBuffer *buffer = acquire (pool);
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  test_spy_install (test_context);
  buffer = acquire (pool);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  gst_buffer_unmap (buffer, &map);
  fail_unless_equals_int (test_spy.dtoh, 0);
  gst_buffer_unref (buffer);
  free_pool (pool);
}

/* A writer does not write all bytes of its buffers, such as the padding of
 * rows. So staging buffers contain no bytes that another pool has written. */
TEST (staging_buffers_belong_to_a_pool)
{
  guint i;

  for (i = 0; i < 3; i++) {
    GstBufferPool *pool = make_pool (0, 2);
    GstBuffer *buffer;
    GstMapInfo map;
    gsize k;

    g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
    buffer = acquire (pool);
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
    for (k = 0; k < map.size && map.data[k] == 0; k++)
      ;
    fail_unless_equals_uint64 (k, map.size);
    memset (map.data, 0xab, map.size);
    gst_buffer_unmap (buffer, &map);
    gst_buffer_unref (buffer);
    free_pool (pool);
  }
}

/* Maps @n buffers with @flags, and writes a pattern to each. The device has to
 * get it. */
static void
write_patterns (GstBufferPool *pool, guint n, GstMapFlags flags)
{
  guint i;

  for (i = 0; i < n; i++) {
    g_autoptr (GstBuffer) buffer = acquire (pool);
    GstMapInfo map;
    g_autofree guint8 *data = NULL;

    fail_unless (gst_buffer_map (buffer, &map, flags));
    /* The window is slow to read. */
    if (flags & GST_MAP_READ)
      fail_unless (map.data
                   != gst_vkgdr_memory_get_host_pointer (
                       gst_buffer_peek_memory (buffer, 0)));
    test_fill (map.data, map.size, i);
    gst_buffer_unmap (buffer, &map);
    data = test_device_bytes (gst_buffer_peek_memory (buffer, 0));
    fail_unless (test_matches (data, SIZE, i));
  }
}

TEST (auto_delivers_in_both_modes)
{
  GstBufferPool *pool = make_pool (0, 4);

  gint64 end = g_get_monotonic_time () + G_TIME_SPAN_SECOND;

  while (g_get_monotonic_time () < end) {
    write_patterns (pool, 50, GST_MAP_WRITE);
    write_patterns (pool, 1, GST_MAP_READWRITE);
  }
  free_pool (pool);
}

TEST_IF (wish_reaches_the_memory, !test_hides_vulkan ())
{
  GstBufferPool *pool = make_pool (0, 1);
  GstVkgdrAccess access[] = { GST_VKGDR_ACCESS_STAGED,
    GST_VKGDR_ACCESS_DIRECT };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (access); i++) {
    g_autoptr (GstBuffer) buffer = NULL;
    GstMemory *memory;
    GstMapInfo map;

    g_object_set (pool, "access", access[i], NULL);
    buffer = acquire (pool);
    memory = gst_buffer_peek_memory (buffer, 0);
    fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
    fail_unless_equals_int (
        map.data == gst_vkgdr_memory_get_host_pointer (memory),
        access[i] == GST_VKGDR_ACCESS_DIRECT);
    gst_memory_unmap (memory, &map);
  }
  free_pool (pool);
}

/* A writer that also reads always gets a staging buffer. */
TEST (auto_is_staged_for_readers)
{
  GstBufferPool *pool = make_pool (0, 4);
  gint64 end = g_get_monotonic_time () + G_TIME_SPAN_SECOND;

  while (g_get_monotonic_time () < end)
    write_patterns (pool, 10, GST_MAP_READWRITE);
  fail_unless_equals_int (
      gst_vkgdr_buffer_pool_get_access (GST_VKGDR_BUFFER_POOL (pool)),
      GST_VKGDR_ACCESS_STAGED);
  free_pool (pool);
}

/* Uses the processor for @ms milliseconds. */
static void
spend (guint ms)
{
  gint64 end = test_cpu_time () + ms * G_TIME_SPAN_MILLISECOND;

  while (test_cpu_time () < end)
    ;
}

/* A writer that lags: it holds buffers that it has not mapped yet. When it is
 * found to read what it writes, these are staged, too. */
TEST (auto_is_staged_for_lagging_readers)
{
  enum { N = 8 };
  GstBufferPool *pool = make_sized_pool (1 << 20, N, N);
  GstBuffer *held[N] = { NULL };
  guint i, n_direct = 0;

  for (i = 0; i < 100; i++) {
    GstBuffer **buffer = &held[i % N];
    GstMapInfo map;

    if (*buffer) {
      GstMemory *memory = gst_buffer_peek_memory (*buffer, 0);
      gboolean is_direct;

      fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
      is_direct = map.data == gst_vkgdr_memory_get_host_pointer (memory);
      n_direct += is_direct;
      spend (is_direct ? 200 : 1);
      gst_memory_unmap (memory, &map);
      gst_buffer_unref (*buffer);
    }
    *buffer = acquire (pool);
  }
  fail_unless (n_direct <= 2, "%u direct buffers", n_direct);
  for (i = 0; i < N; i++)
    gst_buffer_unref (held[i]);
  free_pool (pool);
}

TEST_FIXTURE (test_setup, test_teardown);

/* The CPU reads such a window as fast as ordinary memory. */
TEST (cached_window_is_direct)
{
  GstBufferPool *pool = make_pool (0, 1);
  vkgdr_device_info info;

  vkgdr_get_device_info (gst_vkgdr_context_get_handle (test_context), &info);
  write_patterns (pool, 20, GST_MAP_WRITE);
  if (info.host_cached)
    fail_unless_equals_int (
        gst_vkgdr_buffer_pool_get_access (GST_VKGDR_BUFFER_POOL (pool)),
        GST_VKGDR_ACCESS_DIRECT);
  free_pool (pool);
}

/* A writer that sleeps while it has a buffer mapped. Most of the time it does
 * not use the processor. */
static void
write_slowly (GstBufferPool *pool)
{
  g_autoptr (GstBuffer) buffer = acquire (pool);
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  memset (map.data, 1, 4096);
  g_usleep (5 * G_TIME_SPAN_MILLISECOND);
  gst_buffer_unmap (buffer, &map);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (auto_is_staged_for_waiting_writers)
{
  GstBufferPool *pool = make_sized_pool (1 << 20, 0, 1);
  guint i;

  for (i = 0; i < 50; i++)
    write_slowly (pool);
  fail_unless_equals_int (
      gst_vkgdr_buffer_pool_get_access (GST_VKGDR_BUFFER_POOL (pool)),
      GST_VKGDR_ACCESS_STAGED);
  free_pool (pool);
}

TEST_FIXTURE (NULL, NULL);

/* If a pool cannot allocate its first buffers, it frees those that it has
 * allocated. */
TEST (failed_start_leaves_nothing)
{
  GstVkgdrAllocator *allocator;
  GstStructure *config;
  GstBufferPool *pool;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_DEBUG", "bar=20M", TRUE);
  g_setenv ("SOFTCUDA_MEMORY", "1000000", TRUE);
  test_context = gst_vkgdr_context_new (-1, NULL);
  if (!test_context) /* there is no software device */
    return;
  allocator = test_allocator ();
  pool = gst_vkgdr_buffer_pool_new (test_context);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, NULL, 8 * 1024 * 1024, 4, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (!gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  gst_object_unref (pool);
  gst_object_unref (allocator);
  test_teardown ();
}

static void
take_message (GstBufferPool *pool, GError *error, gchar **message)
{
  g_free (*message);
  *message = g_strdup (error->message);
}

/* The caller only gets a flow return; the reason is in the pool's signal. */
TEST (failing_device_is_reported)
{
  GstVkgdrStream *stream;
  GstBuffer *buffer = NULL;
  gchar *message = NULL;
  GstBufferPool *pool;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  test_context = gst_vkgdr_context_new (-1, NULL);
  if (!test_context) /* there is no software device */
    return;
  pool = make_pool (1, 1);
  stream = test_stream_new (test_context);
  g_signal_connect (
      pool, "acquire-failed", G_CALLBACK (take_message), &message);
  buffer = acquire (pool);
  test_gate_delay (stream, 0, NULL);
  release_while_read (buffer, stream, 0, NULL);
  test_make_calls_fail ("cuEventQuery:1");
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_ERROR);
  test_make_calls_fail (NULL);
  fail_unless (message && strstr (message, "cuEventQuery"), "%s", message);
  /* The device may still read the buffer, so it is not used again. */
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_ERROR);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  g_free (message);
  free_pool (pool);
  gst_object_unref (stream);
  test_teardown ();
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* The signal has the reason also if the allocator refuses the alignment. */
TEST (refused_alignment_is_reported)
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstAllocationParams params = { 0, 4095, 0, 0 };
  g_autofree gchar *message = NULL;

  g_signal_connect (
      pool, "acquire-failed", G_CALLBACK (take_message), &message);
  gst_buffer_pool_config_set_params (config, NULL, SIZE, 1, 0);
  gst_buffer_pool_config_set_allocator (config, NULL, &params);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (!gst_buffer_pool_set_active (pool, TRUE));
  fail_unless (message && strstr (message, "4096"), "%s", message);
}

/* Buffers of video have its layout. Buffers of other caps have none. */
TEST (video_and_other_caps)
{
  const gchar *texts[] = { "video/x-raw,format=NV12,width=33,height=17",
    "audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved",
    "image/jpeg" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (texts); i++) {
    GstBufferPool *pool = gst_vkgdr_buffer_pool_new (test_context);
    GstStructure *config = gst_buffer_pool_get_config (pool);
    GstCaps *caps = gst_caps_from_string (texts[i]);
    GstVideoAlignment align;
    GstVideoMeta *meta;
    GstBuffer *buffer;

    gst_buffer_pool_config_set_params (config, caps, SIZE, 0, 0);
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (i == 0) {
      gst_video_alignment_reset (&align);
      align.padding_right = 31;
      gst_buffer_pool_config_add_option (
          config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
      gst_buffer_pool_config_set_video_alignment (config, &align);
    }
    fail_unless (gst_buffer_pool_set_config (pool, config));
    fail_unless (gst_buffer_pool_set_active (pool, TRUE));
    buffer = acquire (pool);
    fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
    fail_unless (gst_is_vkgdr_memory (gst_buffer_peek_memory (buffer, 0)));
    meta = gst_buffer_get_video_meta (buffer);
    fail_unless_equals_int (meta != NULL, i == 0);
    if (meta)
      fail_unless (meta->stride[0] >= 64);
    else
      fail_unless_equals_int (gst_buffer_get_size (buffer), SIZE);
    gst_buffer_unref (buffer);
    gst_caps_unref (caps);
    free_pool (pool);
  }
}

/* Acquires a frame of @format from a pool whose planes become textures. With
 * @meta, the pool has the option of GstVideoMeta; with @padding (nullable),
 * that of an alignment, with so many bytes at the right. */
static GstBuffer *
acquire_textures_with (const gchar *format, gboolean meta, const guint *padding)
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstCaps) caps = gst_caps_from_string (format);
  GstBuffer *buffer = NULL;
  GstVideoAlignment align;
  GstVideoInfo info;

  fail_unless (gst_video_info_from_caps (&info, caps));
  g_object_set (pool, "textures", TRUE, NULL);
  gst_buffer_pool_config_set_params (config, caps, info.size, 1, 1);
  if (meta)
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (padding) {
    gst_video_alignment_reset (&align);
    align.padding_right = *padding;
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment (config, &align);
  }
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  gst_buffer_pool_set_active (pool, FALSE);
  return buffer;
}

static GstBuffer *
acquire_textures (const gchar *format, gboolean meta)
{
  return acquire_textures_with (format, meta, NULL);
}

/* If rows are multiples of 32 bytes, each plane begins at a multiple of 512
 * bytes. This needs a GstVideoMeta. */
TEST (planes_of_textures)
{
  static const gchar *formats[] = {
    "video/x-raw,format=I420,width=1920,height=1080",
    "video/x-raw,format=I420,width=64,height=2",
    "video/x-raw,format=NV12,width=352,height=242",
    "video/x-raw,format=Y444,width=96,height=51",
    "video/x-raw,format=Y42B,width=64,height=5",
    "video/x-raw,format=YUV9,width=128,height=32",
    "video/x-raw,format=YVU9,width=256,height=6",
  };
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autoptr (GstBuffer) buffer = acquire_textures (formats[i], TRUE);
    const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

    fail_unless (meta != NULL);
    for (k = 0; k < meta->n_planes; k++) {
      fail_unless_equals_int (meta->stride[k] % 32, 0);
      fail_unless (meta->offset[k] % 512 == 0,
          "plane %u begins at %" G_GSIZE_FORMAT, k, meta->offset[k]);
    }
  }
}

/* GStreamer 1.28 sets an alignment for every pool, usually of zeros, which does
 * not count. Any other one does. */
TEST (alignment_of_textures)
{
  static const guint paddings[] = { 0, 32 };
  static const gsize offsets[] = { 1920 * 1088, 1952 * 1080 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (paddings); i++) {
    g_autoptr (GstBuffer) buffer = acquire_textures_with (
        "video/x-raw,format=I420,width=1920,height=1080", TRUE, &paddings[i]);
    const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

    fail_unless_equals_uint64 (meta->offset[1], offsets[i]);
  }
}

/* Without a GstVideoMeta, frames have the default layout. If rows are not
 * multiples of 32 bytes, the layout is not changed. */
TEST (planes_of_no_textures)
{
  GstBuffer *buffer = acquire_textures (
      "video/x-raw,format=I420,width=1920,height=1080", FALSE);
  const GstVideoMeta *meta;

  fail_unless (gst_buffer_get_video_meta (buffer) == NULL);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 1920 * 1080 * 3 / 2);
  gst_buffer_unref (buffer);

  buffer =
      acquire_textures ("video/x-raw,format=I420,width=322,height=242", TRUE);
  meta = gst_buffer_get_video_meta (buffer);
  fail_unless_equals_int (meta->offset[1], 324 * 242);
  gst_buffer_unref (buffer);
}
