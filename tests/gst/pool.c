/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pool.c: tests of buffer pools: which buffer they return, and what its writer
 * gets
 */

#include "gate.h"
#include "slow.h"

#define SIZE 10000

static GstMemory *
memory_of (GstBuffer *buffer)
{
  return gst_buffer_peek_memory (buffer, 0);
}

/* Maps the buffer. Returns whether the mapping is in the window. */
static gboolean
map (GstBuffer *buffer, GstMapInfo *info, GstMapFlags flags)
{
  fail_unless (gst_buffer_map (buffer, info, flags));
  return info->data == gst_vkgdr_memory_get_host_pointer (memory_of (buffer));
}

/* --- which buffer -------------------------------------------------------- */

/* Lets @stream read the buffer for @ms milliseconds, and releases the
 * buffer. */
static void
release_while_read (
    GstBuffer *buffer, GstVkgdrStream *stream, guint ms, gint *done)
{
  GstMemory *memory = memory_of (buffer);

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
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 3, 3);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBuffer *buffers[3];
  guint64 pointers[3];
  gint done = FALSE;
  guint i;

  for (i = 0; i < 3; i++) {
    buffers[i] = test_pool_acquire (pool);
    pointers[i] = test_device_pointer (buffers[i]);
  }
  test_gate_delay (stream, 0, NULL);
  release_while_read (buffers[1], stream, 50, NULL);
  release_while_read (buffers[2], stream, 50, &done);
  gst_buffer_unref (buffers[0]);
  /* If no buffer is idle, the pool waits for the one that was released
   * first. */
  for (i = 0; i < 3; i++) {
    if (i == 1) {
      fail_unless (!g_atomic_int_get (&done));
      test_gate_set (TRUE);
    }
    buffers[i] = test_pool_acquire (pool);
    fail_unless_equals_uint64 (test_device_pointer (buffers[i]), pointers[i]);
    fail_unless (gst_vkgdr_memory_is_idle (memory_of (buffers[i])));
  }
  fail_unless (g_atomic_int_get (&done));
  for (i = 0; i < 3; i++)
    gst_buffer_unref (buffers[i]);
  test_pool_free (pool);
}

/* Reads the buffer for @ms milliseconds on a stream that the library does not
 * know, and releases it. */
static void
release_while_read_on_unknown_stream (GstBuffer *buffer, guint ms, gint *done)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMapInfo info;

  map (buffer, &info, GST_MAP_READ | GST_MAP_VKGDR);
  test_stream_delay (stream, ms, done);
  gst_buffer_unmap (buffer, &info);
  gst_buffer_unref (buffer);
}

/* The driver can record an event behind all work of the context: the pool hands
 * out the idle buffer, and waits only for the buffer that is in use. */
TEST (unknown_readers_do_not_block)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 2, 2);
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  GstBuffer *a = test_pool_acquire (pool), *b = test_pool_acquire (pool);
  guint64 pa = test_device_pointer (a), pb = test_device_pointer (b);
  gint done = FALSE;

  if (vkgdr_driver_load ()->cuCtxRecordEvent) {
    release_while_read_on_unknown_stream (b, 0, NULL);
    fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
    test_gate_delay (other, 100, &done);
    release_while_read_on_unknown_stream (a, 0, NULL);
    b = test_pool_acquire (pool);
    fail_unless_equals_uint64 (test_device_pointer (b), pb);
    fail_unless (!g_atomic_int_get (&done));
    test_gate_set (TRUE);
    a = test_pool_acquire (pool);
    fail_unless_equals_uint64 (test_device_pointer (a), pa);
    fail_unless (g_atomic_int_get (&done));
  }
  gst_buffer_unref (b);
  gst_buffer_unref (a);
  test_pool_free (pool);
}

/* An older driver cannot record such an event, so the pool waits for the whole
 * context. */
TEST (unknown_readers_with_old_driver)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 1, 1);
  gint done = FALSE;

  ((vkgdr_cuda *) vkgdr_driver_load ())->cuCtxRecordEvent = NULL;
  release_while_read_on_unknown_stream (test_pool_acquire (pool), 50, &done);
  gst_buffer_unref (test_pool_acquire (pool));
  fail_unless (g_atomic_int_get (&done));
  test_pool_free (pool);
}

/* A pool without a limit does not allocate more buffers because the device is
 * busy. */
TEST (busy_buffers_do_not_make_it_grow)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 0, 0);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstAllocator *allocator = NULL;
  guint i;

  gst_buffer_pool_config_get_allocator (config, &allocator, NULL);
  for (i = 0; i < 20; i++)
    release_while_read (test_pool_acquire (pool), stream, 2, NULL);
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (GST_VKGDR_ALLOCATOR (allocator)),
      1);
  gst_structure_free (config);
  test_pool_free (pool);
}

/* --- what its writer gets ------------------------------------------------ */

TEST (content_is_undefined_again)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 1, 1);
  guint i;

  test_spy_install (test_context);
  for (i = 0; i < 2; i++) {
    g_autoptr (GstBuffer) buffer = test_pool_acquire (pool);
    GstMapInfo info;

    map (buffer, &info, GST_MAP_READWRITE);
    gst_buffer_unmap (buffer, &info);
    fail_unless_equals_int (test_spy.dtoh, 0);
  }
  test_pool_free (pool);
}

/* A writer does not write all bytes of its buffers, such as the padding of
 * rows. So staging buffers contain no bytes that another pool has written. */
TEST (staging_buffers_belong_to_a_pool)
{
  static const guint8 zeros[SIZE] = { 0 };
  guint i;

  for (i = 0; i < 3; i++) {
    GstBufferPool *pool = test_pool_new (NULL, SIZE, 0, 2);
    GstBuffer *buffer;
    GstMapInfo info;

    g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
    buffer = test_pool_acquire (pool);
    map (buffer, &info, GST_MAP_WRITE);
    fail_unless (memcmp (info.data, zeros, SIZE) == 0);
    memset (info.data, 0xab, info.size);
    gst_buffer_unmap (buffer, &info);
    gst_buffer_unref (buffer);
    test_pool_free (pool);
  }
}

/* Maps a buffer with @flags, writes a pattern for @sleep microseconds in which
 * the writer does not use the processor. The device has to get it. Returns
 * whether the mapping was in the window. */
static gboolean
write_buffer (GstBufferPool *pool, guint seed, GstMapFlags flags, gulong sleep)
{
  g_autoptr (GstBuffer) buffer = test_pool_acquire (pool);
  gboolean is_direct;
  GstMapInfo info;

  is_direct = map (buffer, &info, flags);
  test_fill (info.data, SIZE, seed);
  if (sleep)
    g_usleep (sleep);
  gst_buffer_unmap (buffer, &info);
  if (!sleep)
    test_assert_device (memory_of (buffer), seed);
  return is_direct;
}

TEST (auto_delivers_in_both_modes)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 0, 4);
  gint64 end = g_get_monotonic_time () + G_TIME_SPAN_SECOND;
  guint i;

  for (i = 0; g_get_monotonic_time () < end; i++)
    if (i % 50)
      write_buffer (pool, i, GST_MAP_WRITE, 0);
    else /* the window is slow to read */
      fail_if (write_buffer (pool, i, GST_MAP_READWRITE, 0));
  test_pool_free (pool);
}

TEST_IF (wish_reaches_the_memory, !test_hides_vulkan ())
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 0, 1);

  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  fail_if (write_buffer (pool, 1, GST_MAP_WRITE, 0));
  g_object_set (pool, "access", GST_VKGDR_ACCESS_DIRECT, NULL);
  fail_unless (write_buffer (pool, 2, GST_MAP_WRITE, 0));
  test_pool_free (pool);
}

/* A writer that lags: it holds buffers that it has not mapped yet. When it is
 * found to read what it writes, these are staged, too. */
TEST (auto_is_staged_for_lagging_readers)
{
  enum { N = 8 };
  GstBufferPool *pool = test_pool_new (NULL, 1 << 20, N, N);
  GstBuffer *held[N] = { NULL };
  guint i, n_direct = 0;

  for (i = 0; i < 100; i++) {
    GstBuffer **buffer = &held[i % N];
    GstMapInfo info;

    if (*buffer) {
      gboolean is_direct = map (*buffer, &info, GST_MAP_WRITE);
      gint64 end =
          test_cpu_time () + (is_direct ? 200 : 1) * G_TIME_SPAN_MILLISECOND;

      n_direct += is_direct;
      while (test_cpu_time () < end)
        ;
      gst_buffer_unmap (*buffer, &info);
      gst_buffer_unref (*buffer);
    }
    *buffer = test_pool_acquire (pool);
  }
  fail_unless (n_direct <= 2, "%u direct buffers", n_direct);
  for (i = 0; i < N; i++)
    gst_buffer_unref (held[i]);
  test_pool_free (pool);
}

TEST_FIXTURE (NULL, NULL);

/* Writers, and the access mode that access=auto finds for them. */
static const struct {
  gboolean is_cached; /* the CPU reads the window as ordinary memory */
  GstMapFlags flags;
  gulong sleep;
  GstVkgdrAccess access;
} writers[] = {
  { FALSE, GST_MAP_READWRITE, 0, GST_VKGDR_ACCESS_STAGED },
  { FALSE, GST_MAP_WRITE, 5000, GST_VKGDR_ACCESS_STAGED },
  { TRUE, GST_MAP_WRITE, 0, GST_VKGDR_ACCESS_DIRECT },
};

TEST_LOOP (auto_suits_the_writer, G_N_ELEMENTS (writers))
{
  vkgdr_device_info device;
  GstBufferPool *pool;
  guint i;

  if (writers[__i__].is_cached)
    test_setup ();
  else
    test_setup_bar ();
  vkgdr_get_device_info (gst_vkgdr_context_get_handle (test_context), &device);
  pool = test_pool_new (NULL, writers[__i__].sleep ? 1 << 20 : SIZE, 0, 1);
  for (i = 0; i < 50; i++)
    write_buffer (pool, i, writers[__i__].flags, writers[__i__].sleep);
  if (!writers[__i__].is_cached || device.host_cached)
    fail_unless_equals_int (
        gst_vkgdr_buffer_pool_get_access (GST_VKGDR_BUFFER_POOL (pool)),
        writers[__i__].access);
  test_pool_free (pool);
  test_teardown ();
}

/* --- failures ------------------------------------------------------------ */

/* If a pool cannot allocate its first buffers, it frees those that it has
 * allocated. */
TEST (failed_start_leaves_nothing)
{
  GstVkgdrAllocator *allocator;
  GstStructure *config;
  GstBufferPool *pool;

  if (!test_setup_software ("VKGDR_DEBUG=bar=20M SOFTCUDA_MEMORY=1000000"))
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

  if (!test_setup_software (""))
    return;
  pool = test_pool_new (NULL, SIZE, 1, 1);
  stream = test_stream_new (test_context);
  g_signal_connect (
      pool, "acquire-failed", G_CALLBACK (take_message), &message);
  buffer = test_pool_acquire (pool);
  test_gate_delay (stream, 0, NULL);
  release_while_read (buffer, stream, 0, NULL);
  test_make_calls_fail ("cuEventQuery:1");
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_ERROR);
  test_make_calls_fail (NULL);
  test_assert_contains (message, "cuEventQuery");
  /* The device may still read the buffer, so it is not used again. */
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_ERROR);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  g_free (message);
  test_pool_free (pool);
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
  test_assert_contains (message, "4096");
}

/* --- layouts ------------------------------------------------------------- */

/* If rows of video are multiples of 32 bytes, each plane can be a texture if
 * the pool is to make textures: it begins at a multiple of 512 bytes. This
 * needs a GstVideoMeta. */
static const struct {
  const gchar *caps;
  gboolean textures;
  gboolean meta; /* the option of GstVideoMeta */
  gint padding;  /* bytes at the right; -1: without the option of alignment */
  gint stride;   /* of the first plane; 0: there is no GstVideoMeta */
  gsize offset;  /* of the second plane; 0: a multiple of 512 */
} layouts[] = {
  { "I420,width=1920,height=1080", TRUE, TRUE, -1, 1920, 0 },
  { "I420,width=64,height=2", TRUE, TRUE, -1, 64, 0 },
  { "NV12,width=352,height=242", TRUE, TRUE, -1, 352, 0 },
  { "Y444,width=96,height=51", TRUE, TRUE, -1, 96, 0 },
  { "Y42B,width=64,height=5", TRUE, TRUE, -1, 64, 0 },
  { "YUV9,width=128,height=32", TRUE, TRUE, -1, 128, 0 },
  { "YVU9,width=256,height=6", TRUE, TRUE, -1, 256, 0 },
  /* Rows are no multiples of 32 bytes. */
  { "I420,width=322,height=242", TRUE, TRUE, -1, 324, 324 * 242 },
  /* GStreamer 1.28 sets an alignment for every pool, usually of zeros, which
   * does not count. Any other one does. */
  { "I420,width=1920,height=1080", TRUE, TRUE, 0, 1920, 1920 * 1088 },
  { "I420,width=1920,height=1080", TRUE, TRUE, 32, 1952, 1952 * 1080 },
  { "NV12,width=33,height=17", FALSE, TRUE, 31, 64, 64 * 18 },
  { "I420,width=1920,height=1080", TRUE, FALSE, -1, 0, 0 },
  { NULL, FALSE, TRUE, -1, 0, 0 },
};

TEST_LOOP (layouts, G_N_ELEMENTS (layouts))
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autofree gchar *text = layouts[__i__].caps ? g_strconcat (
                               "video/x-raw,format=", layouts[__i__].caps, NULL)
                                               : g_strdup ("image/jpeg");
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GstBuffer) buffer = NULL;
  const GstVideoMeta *meta;
  GstVideoAlignment align;
  GstVideoInfo info;
  guint i;

  info.size = SIZE;
  if (layouts[__i__].caps)
    fail_unless (gst_video_info_from_caps (&info, caps));
  g_object_set (pool, "textures", layouts[__i__].textures, NULL);
  gst_buffer_pool_config_set_params (config, caps, info.size, 1, 1);
  if (layouts[__i__].meta)
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (layouts[__i__].padding >= 0) {
    gst_video_alignment_reset (&align);
    align.padding_right = layouts[__i__].padding;
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment (config, &align);
  }
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  buffer = test_pool_acquire (pool);
  gst_buffer_pool_set_active (pool, FALSE);
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  fail_unless (gst_is_vkgdr_memory (memory_of (buffer)));
  meta = gst_buffer_get_video_meta (buffer);
  fail_unless_equals_int (meta ? meta->stride[0] : 0, layouts[__i__].stride);
  if (!meta)
    fail_unless_equals_int (gst_buffer_get_size (buffer), info.size);
  if (layouts[__i__].offset)
    fail_unless_equals_uint64 (meta->offset[1], layouts[__i__].offset);
  for (i = 0; meta && !layouts[__i__].offset && i < meta->n_planes; i++) {
    fail_unless_equals_int (meta->stride[i] % 32, 0);
    fail_unless_equals_int (meta->offset[i] % 512, 0);
  }
}
