/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pool.c: tests of buffer pools: which buffer they return, and what its writer
 * gets
 */

#include "device/device-private.h"
#include "gate.h"

#define SIZE 10000
#define MIB (1024 * 1024)

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

/* Releases the buffer while @stream reads it until the gate opens and for @ms
 * milliseconds after that. The library knows of that only if it @is_declared.
 */
static void
release_while_read (GstBuffer *buffer, GstVkgdrStream *stream,
    gboolean is_declared, guint ms, gint *done)
{
  GstMapInfo info;

  if (is_declared) {
    test_gate_access (memory_of (buffer), stream, GST_MAP_READ, ms, done);
  } else {
    map (buffer, &info, GST_MAP_READ | GST_MAP_VKGDR);
    test_gate_delay (stream, ms, done);
    gst_buffer_unmap (buffer, &info);
  }
  gst_buffer_unref (buffer);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* If no buffer is idle, the pool waits for the one that was released first. It
 * does not allocate another one, though its number of buffers has no limit.
 * __i__ is 0 if the library knows the readers. For unknown ones (1), the driver
 * records an event behind all work of the context. */
TEST_LOOP (idle_buffers_come_first, 2)
{
  static const guint order[] = { 2, 0, 1 };
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 3, 0);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBuffer *buffers[3];
  guint64 pointers[3];
  gint done = FALSE;
  guint i;

  for (i = 0; i < 3; i++) {
    buffers[i] = test_pool_acquire (pool);
    pointers[i] = gst_vkgdr_memory_get_device_pointer (memory_of (buffers[i]));
  }
  for (i = 0; i < 2; i++)
    release_while_read (
        buffers[i], stream, __i__ == 0, 50 + 250 * i, i == 1 ? &done : NULL);
  gst_buffer_unref (buffers[2]);
  for (i = 0; i < 3; i++) {
    if (i == 1) {
      fail_if (g_atomic_int_get (&done) || test_gate_was_missed ());
      test_gate_set (TRUE);
    }
    buffers[i] = test_pool_acquire (pool);
    fail_unless_equals_uint64 (
        gst_vkgdr_memory_get_device_pointer (memory_of (buffers[i])),
        pointers[order[i]]);
    fail_unless (gst_vkgdr_memory_is_idle (memory_of (buffers[i])));
  }
  fail_unless (g_atomic_int_get (&done));
  for (i = 0; i < 3; i++)
    gst_buffer_unref (buffers[i]);
  test_pool_free (pool);
}

/* --- what its writer gets ------------------------------------------------ */

/* Maps a buffer with @flags, and writes a pattern, which the device gets. The
 * writer does not use the processor for @sleep microseconds. */
static void
write_buffer (GstBufferPool *pool, guint seed, GstMapFlags flags, gulong sleep)
{
  g_autoptr (GstBuffer) buffer = test_pool_acquire (pool);
  GstMapInfo info;

  map (buffer, &info, flags);
  test_fill (info.data, SIZE, seed);
  if (sleep)
    g_usleep (sleep);
  gst_buffer_unmap (buffer, &info);
  if (!sleep)
    test_assert_device (memory_of (buffer), seed);
}

TEST (content_is_undefined_again)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 1, 1);
  guint i;

  test_spy_install (test_context);
  for (i = 0; i < 2; i++) {
    write_buffer (pool, i, GST_MAP_READWRITE, 1);
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
    g_autoptr (GstBuffer) buffer = NULL;
    GstMapInfo info;

    g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
    buffer = test_pool_acquire (pool);
    map (buffer, &info, GST_MAP_WRITE);
    fail_unless (memcmp (info.data, zeros, SIZE) == 0);
    memset (info.data, 0xab, info.size);
    gst_buffer_unmap (buffer, &info);
    test_pool_free (pool);
  }
}

/* All buffers of the pool are in use at the same time. With @reads, each is
 * also read. Returns whether all were written to the same staging buffer. */
static gboolean
write_four_buffers (GstBufferPool *pool, gboolean reads)
{
  GstBuffer *buffers[4];
  gpointer first = NULL;
  gboolean is_same = TRUE;
  GstMapInfo info;
  guint i;

  for (i = 0; i < 4; i++) {
    buffers[i] = test_pool_acquire (pool);
    map (buffers[i], &info, GST_MAP_WRITE);
    first = i == 0 ? info.data : first;
    is_same = is_same && info.data == first;
    gst_buffer_unmap (buffers[i], &info);
    fail_unless (gst_vkgdr_memory_wait_idle (memory_of (buffers[i]), NULL));
    if (reads) {
      map (buffers[i], &info, GST_MAP_READ);
      gst_buffer_unmap (buffers[i], &info);
    }
  }
  for (i = 0; i < 4; i++)
    gst_buffer_unref (buffers[i]);
  return is_same;
}

/* A buffer whose content the CPU has needed keeps its staging buffer, but not
 * beyond the next release to the pool. */
TEST (staging_buffer_of_a_frame_that_was_read)
{
  GstBufferPool *pool = test_pool_new (NULL, SIZE, 4, 4);

  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  write_four_buffers (pool, TRUE);
  fail_unless (write_four_buffers (pool, FALSE));
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
  GstBufferPool *pool;
  guint i;

  if (writers[__i__].is_cached)
    test_setup ();
  else
    test_setup_bar ();
  pool = test_pool_new (NULL, writers[__i__].sleep ? 1 << 20 : SIZE, 0, 1);
  for (i = 0; i < 50; i++)
    write_buffer (pool, i, writers[__i__].flags, writers[__i__].sleep);
  if (!writers[__i__].is_cached
      || gst_vkgdr_context_is_host_cached (test_context))
    fail_unless_equals_int (
        gst_vkgdr_buffer_pool_get_access (GST_VKGDR_BUFFER_POOL (pool)),
        writers[__i__].access);
  test_pool_free (pool);
  test_teardown ();
}

/* Two pools take 16 buffers of 1 MiB each. @min: the number that each takes at
 * its start. @n, @n_least: how many of the first and, at least, of the second
 * one are in the window. */
static const struct {
  const gchar *window;
  guint min, n, n_least;
} windows[] = {
  /* A pool that grows leaves a quarter to others, for their first buffers. */
  { "bar=16M", 2, 12, 2 },
  /* One that starts leaves them a quarter of what is free. */
  { "bar=16M", 16, 12, 3 },
  { "bar=4M", 16, 3, 1 },
  /* The window is all of the device's memory, which others use, too. */
  { "", 2, 16, 16 },
};

TEST_LOOP (small_window_is_shared, G_N_ELEMENTS (windows))
{
  GstBufferPool *pools[2];
  GstBuffer *buffers[32];
  guint i, n[2] = { 0 };

  g_setenv ("SOFTCUDA_MEMORY", "41943040", TRUE);
  g_setenv ("VKGDR_DEBUG", windows[__i__].window, TRUE);
  TEST_NEEDS (
      *windows[__i__].window || test_is_software (), "the software device");
  test_setup ();
  for (i = 0; i < 32; i++) {
    if (i % 16 == 0)
      pools[i / 16] = test_pool_new (NULL, MIB, windows[__i__].min, 0);
    buffers[i] = test_pool_acquire (pools[i / 16]);
    n[i / 16] +=
        gst_vkgdr_memory_get_host_pointer (memory_of (buffers[i])) != NULL;
  }
  fail_unless (n[0] == windows[__i__].n && n[1] >= windows[__i__].n_least,
      "%u and %u", n[0], n[1]);
  for (i = 0; i < 32; i++)
    gst_buffer_unref (buffers[i]);
  for (i = 0; i < 2; i++)
    test_pool_free (pools[i]);
  test_teardown ();
}

/* The window has room for a part of the buffers of one pool. The writer, which
 * only writes, gets direct access to these; the others say nothing about it. It
 * writes few bytes, so that no other program can make a buffer look slow. */
TEST (window_for_a_part_of_a_pool)
{
  GstBuffer *held[16] = { NULL };
  guint i, n_in_window = 0;
  GstBufferPool *pool;

  g_setenv ("VKGDR_DEBUG", "bar=8M", TRUE);
  test_setup ();
  pool = test_pool_new (NULL, 1000 * 1024, 0, 0);
  for (i = 0; i < 200; i++) {
    GstBuffer *buffer = test_pool_acquire (pool);
    GstMemory *memory = memory_of (buffer);
    gboolean in_window = gst_vkgdr_memory_get_host_pointer (memory) != NULL;
    GstMapInfo info;

    fail_unless (gst_buffer_map (buffer, &info, GST_MAP_WRITE));
    info.data[0] = i;
    gst_buffer_unmap (buffer, &info);
    if (i >= 100) {
      fail_unless_equals_int (
          gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
          in_window ? GST_VKGDR_ACCESS_DIRECT : GST_VKGDR_ACCESS_STAGED);
      n_in_window += in_window;
    }
    gst_clear_buffer (&held[i % 16]);
    held[i % 16] = buffer;
  }
  fail_unless (n_in_window > 0 && n_in_window < 100, "%u", n_in_window);
  for (i = 0; i < G_N_ELEMENTS (held); i++)
    gst_clear_buffer (&held[i]);
  test_pool_free (pool);
  test_teardown ();
}

static void
keep_error (GstBufferPool *pool, const GError *error, GError **kept)
{
  *kept = g_error_copy (error);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* The signal has the reason also if the allocator refuses the alignment. */
TEST (refused_alignment_is_reported)
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstAllocationParams params = { 0, 4095, 0, 0 };
  GError *error = NULL;

  g_signal_connect (pool, "acquire-failed", G_CALLBACK (keep_error), &error);
  gst_buffer_pool_config_set_params (config, NULL, SIZE, 1, 0);
  gst_buffer_pool_config_set_allocator (config, NULL, &params);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (!gst_buffer_pool_set_active (pool, TRUE));
  test_assert_says (error, "4096");
}

/* --- layouts ------------------------------------------------------------- */

#define RAW "video/x-raw,format="

/* If rows of video are multiples of 32 bytes, each plane can be a texture if
 * the pool is to make textures: it begins at a multiple of 512 bytes. This
 * needs a GstVideoMeta. */
static const struct {
  const gchar *caps;
  gboolean textures;
  gboolean meta; /* the option of GstVideoMeta */
  gint padding;  /* bytes at the right; -1: without the option of alignment */
  gint stride;   /* of the first plane; 0: there is no GstVideoMeta */
  gsize offset;  /* of the second plane */
} layouts[] = {
  { RAW "NV12,width=352,height=242", TRUE, TRUE, -1, 352, 176 * 512 },
  /* Rows are no multiples of 32 bytes. */
  { RAW "I420,width=322,height=242", TRUE, TRUE, -1, 324, 324 * 242 },
  /* GStreamer 1.28 sets an alignment for every pool, usually of zeros, which
   * does not count. Any other one does. */
  { RAW "I420,width=1920,height=1080", TRUE, TRUE, 0, 1920, 1920 * 1088 },
  { RAW "I420,width=1920,height=1080", TRUE, TRUE, 32, 1952, 1952 * 1080 },
  { RAW "NV12,width=33,height=17", FALSE, TRUE, 31, 64, 64 * 18 },
  { RAW "I420,width=1920,height=1080", TRUE, FALSE, -1, 0, 0 },
  { "image/jpeg", FALSE, TRUE, -1, 0, 0 },
};

TEST_LOOP (layouts, G_N_ELEMENTS (layouts))
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstCaps) caps = gst_caps_from_string (layouts[__i__].caps);
  g_autoptr (GstBuffer) buffer = NULL;
  const GstVideoMeta *meta;
  GstVideoAlignment align;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps) || info.size == 0)
    info.size = SIZE;
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
  meta = gst_buffer_get_video_meta (buffer);
  fail_unless_equals_int (meta ? meta->stride[0] : 0, layouts[__i__].stride);
  if (meta) {
    fail_unless_equals_uint64 (meta->offset[1], layouts[__i__].offset);
  } else {
    fail_unless_equals_int (gst_buffer_get_size (buffer), info.size);
  }
}
