/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ordering.c: tests that fences hold, that no thread waits without need, and
 * that host memory stays within its limits
 *
 * Fast sources feed slow kernels over slow transfers. The kernels check on the
 * device, early and late, that every byte belongs to the right frame. The tests
 * delay, hold and count calls of the driver in the table of its functions. Each
 * test has a table of its own, because it is a process.
 */

#include <gst/check/gstharness.h>

#include "gate.h"
#include "slow.h"

static const vkgdr_cuda *
driver (void)
{
  return vkgdr_driver_load ();
}

/* The table before it is changed. */
static vkgdr_cuda real;

static vkgdr_cuda *
driver_for_changes (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) driver ();

  real = *table;
  return table;
}

/* --- slow transfers ------------------------------------------------------ */

/* How long transfers are delayed, in microseconds. Without a delay, a small
 * transfer would end before any use that does not wait for it. With equal
 * delays, no transfer would be overtaken by one of another stream. */
#define MOST_TAKE 100
#define SOME_TAKE 4000
#define SOME 8 /* one transfer in this many has the longer delay */

static void
transfer_delay (void *user_data)
{
  static gint n;

  g_usleep (g_atomic_int_add (&n, 1) % SOME == 0 ? SOME_TAKE : MOST_TAKE);
}

static CUresult
slow_htod (CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  real.cuLaunchHostFunc (stream, transfer_delay, NULL);
  return real.cuMemcpyHtoDAsync (dst, src, size, stream);
}

static CUresult
slow_dtoh (void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
  real.cuLaunchHostFunc (stream, transfer_delay, NULL);
  return real.cuMemcpyDtoHAsync (dst, src, size, stream);
}

static void
make_transfers_slow (void)
{
  vkgdr_cuda *table = driver_for_changes ();

  table->cuMemcpyHtoDAsync = slow_htod;
  table->cuMemcpyDtoHAsync = slow_dtoh;
}

/* --- no frame is torn ---------------------------------------------------- */

#define N_STREAMS 4
#define N_PATHS 2

/* The number of frames of each stream. */
#define FRAMES_SOFTWARE 400
#define FRAMES_GPU 1000

/* How long the kernel idles between its two looks at a pixel. On the software
 * device, which computes one pixel after the other, this is about a millisecond
 * for a frame. On a GPU, which computes all pixels at once, it is some
 * milliseconds. */
#define SPINS_SOFTWARE 150
#define SPINS_GPU 100000

/* The output is the frame's number, or its complement if the input has a wrong
 * byte. So frames of zeros and older frames are noticed, too. */
#define CHECK_SOURCE \
  TEST_FRAME_SOURCE \
  "__global__ void check (VkgdrFrame in, VkgdrFrame out, int spins) {" \
  " int x = blockIdx.x * blockDim.x + threadIdx.x;" \
  " int y = blockIdx.y * blockDim.y + threadIdx.y;" \
  " volatile unsigned char *p;" \
  " volatile int k = 0;" \
  " bool good;" \
  " if (x >= out.width || y >= out.height) return;" \
  " p = in.plane[0].data + (long long) y * in.plane[0].stride + x;" \
  " good = *p == expected (in.frame, x, y);" \
  " while (k < spins) k = k + 1;" \
  " good = good && *p == expected (in.frame, x, y);" \
  " vkgdr_put (out, 0, x, y, (int) (good ? in.frame : ~in.frame) & 255); }"

typedef struct {
  const gchar *name;
  guint buffers;       /* of the source */
  const gchar *source; /* other properties of testframes */
  const gchar *upload; /* properties of vkgdrupload */
  const gchar *filter; /* another filter in front of the one that checks */
  guint width, height; /* foreign memory is sent by DMA from 256 KiB on */
  guint part;          /* on the software device, the number of frames and the
                        * spins are divided by this */
  guint looks;         /* the sink maps one frame in this many */
  const gchar *paths[N_PATHS]; /* the fields of stats that count the bytes */
} Variant;

static const Variant variants[] = {
  { "direct", 4, "", "access=direct", "", 64, 48, 1, 1, { "bytes-direct" } },
  { "staged", 4, "", "access=staged", "", 64, 48, 1, 1, { "bytes-staged" } },
  { "auto", 4, "", "access=auto", "", 64, 48, 1, 1,
      { "bytes-direct", "bytes-staged" } },
  { "two filters", 4, "", "access=staged", "! cudafilter kernel=copy", 64, 48,
      2, 1, { "bytes-staged" } },
  { "unseen", 4, "", "access=direct", "", 64, 48, 1, 2, { "bytes-direct" } },
  { "foreign", 1, "foreign=true", "", "", 512, 512, 8, 1,
      { "bytes-dma", "bytes-copied" } },
};

typedef struct {
  GstElement *pipeline;
  const Variant *variant;
  gint frames;
  gint torn;
  guint64 bytes[N_PATHS];
} Stream;

/* Needs no lock, because only the thread of the stream's sink calls it. */
static GstFlowReturn
check_sample (GstAppSink *sink, gpointer user_data)
{
  Stream *stream = user_data;
  const Variant *variant = stream->variant;
  GstSample *sample = gst_app_sink_pull_sample (sink);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  guint8 expected = (guint8) stream->frames++;
  GstMapInfo map;
  gsize i;

  if (stream->frames % variant->looks != 0) {
    gst_sample_unref (sample);
    return GST_FLOW_OK;
  }
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    stream->torn++;
  } else {
    for (i = 0; i < map.size && map.data[i] == expected; i++) {
    }
    if (i < map.size || map.size != variant->width * variant->height)
      stream->torn++;
    gst_buffer_unmap (buffer, &map);
  }
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

static void
stream_start (Stream *stream, const Variant *variant, GstContext *context,
    guint n_frames, gint spins)
{
  GstAppSinkCallbacks callbacks = { .new_sample = check_sample };
  g_autoptr (GstElement) sink = NULL, check = NULL;
  g_autofree gchar *params = NULL;

  stream->variant = variant;
  stream->frames = stream->torn = 0;
  stream->pipeline = test_launch (
      "testframes num-buffers=%u buffers=%u %s ! "
      "video/x-raw,format=GRAY8,width=%u,height=%u,framerate=1000/1 ! "
      "vkgdrupload name=up %s %s ! cudafilter name=check ! queue "
      "max-size-buffers=3 ! vkgdrdownload ! queue max-size-buffers=3 ! appsink "
      "name=sink sync=false",
      n_frames, variant->buffers, variant->source, variant->width,
      variant->height, variant->upload, variant->filter);
  check = gst_bin_get_by_name (GST_BIN (stream->pipeline), "check");
  params = g_strdup_printf ("params,spins=(int)%d", spins);
  g_object_set (check, "source", CHECK_SOURCE, NULL);
  gst_util_set_object_arg (G_OBJECT (check), "params", params);
  sink = gst_bin_get_by_name (GST_BIN (stream->pipeline), "sink");
  gst_app_sink_set_callbacks (GST_APP_SINK (sink), &callbacks, stream, NULL);
  gst_element_set_context (stream->pipeline, context);
}

static guint64
figure (GstElement *pipeline, const gchar *field)
{
  g_autoptr (GstElement) upload =
      gst_bin_get_by_name (GST_BIN (pipeline), "up");
  g_autoptr (GstStructure) stats = NULL;
  guint64 value = 0;

  g_object_get (upload, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, field, &value));
  return value;
}

/* Without a window, no frame is written directly. */
static gboolean
has_paths (const Variant *variant)
{
  return !test_hides_vulkan ()
         || !g_str_equal (variant->paths[0], "bytes-direct");
}

/* Checks that all bytes are counted in the variant's fields. */
static void
count_bytes (Stream *stream)
{
  const Variant *variant = stream->variant;
  guint64 sum = 0;
  guint i;

  if (!has_paths (variant))
    return;
  for (i = 0; i < N_PATHS && variant->paths[i]; i++) {
    stream->bytes[i] = figure (stream->pipeline, variant->paths[i]);
    sum += stream->bytes[i];
  }
  fail_unless_equals_uint64 (sum, figure (stream->pipeline, "bytes"));
}

/* Checks that the streams have used all of the variant's paths. With
 * access=auto, a stream may end before it has tried direct access. */
static void
assert_paths (const Stream *streams, const Variant *variant)
{
  guint i, k;

  for (i = 0; has_paths (variant) && i < N_PATHS && variant->paths[i]; i++) {
    guint64 sum = 0;

    for (k = 0; k < N_STREAMS; k++)
      sum += streams[k].bytes[i];
    fail_unless (sum > 0, "no %s", variant->paths[i]);
  }
}

static void
stream_finish (Stream *stream, guint n_frames)
{
  const Variant *variant = stream->variant;
  GstBus *bus = gst_element_get_bus (stream->pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (bus,
      test_is_slow () ? GST_CLOCK_TIME_NONE : 50 * GST_SECOND,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GError *error = NULL;

  fail_unless (message != NULL, "%s: the stream does not end", variant->name);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  fail_unless (!error, "%s: %s", variant->name, error ? error->message : "");
  count_bytes (stream);
  gst_element_set_state (stream->pipeline, GST_STATE_NULL);
  fail_unless_equals_int (stream->frames, n_frames);
  fail_unless (stream->torn == 0, "%s: %d of %u frames are torn", variant->name,
      stream->torn, n_frames);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (stream->pipeline);
}

static void
setup (void)
{
  test_setup_bar ();
  test_frames_register ();
}

TEST_PARALLEL (2);

TEST_FIXTURE (setup, test_teardown);

TEST_LOOP (no_frame_of_any_stream_is_torn, G_N_ELEMENTS (variants))
{
  const Variant *variant = &variants[__i__];
  gboolean software = gst_vkgdr_context_is_software (test_context);
  guint part = variant->part * (test_is_slow () ? 4 : 1);
  guint n_frames = software ? FRAMES_SOFTWARE / part : FRAMES_GPU;
  gint spins = software ? SPINS_SOFTWARE / (gint) variant->part : SPINS_GPU;
  g_autoptr (GstContext) context =
      gst_vkgdr_context_to_gst_context (test_context);
  Stream streams[N_STREAMS];
  guint i;

  make_transfers_slow ();
  for (i = 0; i < N_STREAMS; i++)
    stream_start (&streams[i], variant, context, n_frames, spins);
  for (i = 0; i < N_STREAMS; i++)
    gst_element_set_state (streams[i].pipeline, GST_STATE_PLAYING);
  for (i = 0; i < N_STREAMS; i++)
    stream_finish (&streams[i], n_frames);
  assert_paths (streams, variant);
}

/* Pools do not hand out a buffer that the device still reads, so no pipeline
 * could test this. */
TEST (stream_that_writes_waits_for_all_readers)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstVkgdrStream) writer = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, 5000);
  g_autofree guint8 *newer = g_malloc (5000);
  GstVkgdrStream *readers[2];
  GstMemory *fetched[2];
  guint i;

  test_write (memory, 1);
  for (i = 0; i < 2; i++) {
    readers[i] = test_stream_new (test_context);
    fetched[i] = gst_vkgdr_allocator_alloc_pinned (allocator, 5000, NULL);
    fail_unless (fetched[i] != NULL);
    test_stream_delay (readers[i], 100 * (i + 1), NULL);
    fail_unless (gst_vkgdr_memory_fetch_rect (
        memory, 0, 0, fetched[i], 0, 0, memory->size, 1, readers[i], NULL));
  }
  test_fill (newer, 5000, 2);
  fail_unless (gst_vkgdr_memory_upload (memory, 0, newer, 5000, writer, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (writer, NULL));

  for (i = 0; i < 2; i++) {
    test_assert_read (fetched[i], 1);
    gst_memory_unref (fetched[i]);
    gst_object_unref (readers[i]);
  }
  test_assert_read (memory, 2);
}

/* --- no thread waits without need ---------------------------------------- */

static CUresult
gated_launch (CUfunction function, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
    unsigned int block_z, unsigned int shared_bytes, CUstream stream,
    void **params, void **extra)
{
  real.cuLaunchHostFunc (stream, test_gate_wait, NULL);
  return real.cuLaunchKernel (function, grid_x, grid_y, grid_z, block_x,
      block_y, block_z, shared_bytes, stream, params, extra);
}

/* The number of buffers in a pool. */
#define N_BUFFERS 4

static const struct {
  const gchar *upload;
  gboolean foreign;
  const gchar *end; /* of the pipeline */
  guint n;          /* frames that are pushed before the first kernel begins */
} unblocked[] = {
  { "access=direct", FALSE, "", N_BUFFERS },
  { "access=staged", FALSE, "", N_BUFFERS },
  { "", TRUE, "", N_BUFFERS },
  /* With vkgdrdownload, the output buffers of the filter return at once to its
   * pool, which has two buffers. */
  { "access=direct", FALSE, "! vkgdrdownload", 2 },
  { "access=staged", FALSE, "! vkgdrdownload", 2 },
  { "", TRUE, "! vkgdrdownload", 2 },
};

/* The side of the square frames. Foreign memory of this size is sent by DMA. */
#define SIDE 512

typedef struct {
  GstHarness *harness;
  GstBufferPool *pool; /* a pool of upstream's own, or NULL */
  guint pushed, pulled;
} Feed;

static GstBufferPool *
own_pool (void)
{
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (
      config, NULL, SIDE * SIDE, N_BUFFERS, N_BUFFERS);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

static GstBuffer *
feed_acquire (Feed *feed)
{
  GstBuffer *buffer = NULL;

  if (!feed->pool)
    return gst_harness_create_buffer (feed->harness, SIDE * SIDE);
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (feed->pool, &buffer, NULL), GST_FLOW_OK);
  return buffer;
}

/* Makes the pool allocate all its buffers before the first frame. */
static void
feed_fill_pool (Feed *feed)
{
  GstBuffer *buffers[N_BUFFERS];
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = feed_acquire (feed);
  for (i = 0; i < N_BUFFERS; i++)
    gst_buffer_unref (buffers[i]);
}

/* Returns the memory of the buffer that was pushed. The pool owns it. */
static GstMemory *
feed_push (Feed *feed)
{
  GstBuffer *buffer = feed_acquire (feed);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (y = 0; y < SIDE; y++)
    for (x = 0; x < SIDE; x++)
      map.data[y * SIDE + x] = test_frame_byte (feed->pushed, x, y);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = feed->pushed++ * GST_MSECOND;
  fail_unless_equals_int (
      gst_harness_push (feed->harness, buffer), GST_FLOW_OK);
  return memory;
}

static void
feed_pull_all (Feed *feed)
{
  for (; feed->pulled < feed->pushed; feed->pulled++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (feed->harness);
    GstMapInfo map;
    gsize i;

    fail_unless (buffer != NULL);
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    fail_unless_equals_int (map.size, SIDE * SIDE);
    for (i = 0; i < map.size && map.data[i] == (guint8) feed->pulled; i++) {
    }
    fail_unless (
        i == map.size, "frame %u is torn at %u", feed->pulled, (guint) i);
    gst_buffer_unmap (buffer, &map);
  }
}

/* The streaming thread queues one frame after the other, although the kernel of
 * the first frame has not begun. */
TEST_LOOP (pushing_waits_for_no_kernel, G_N_ELEMENTS (unblocked))
{
  g_autofree gchar *elements = g_strdup_printf (
      "vkgdrupload %s ! cudafilter source=\"" CHECK_SOURCE "\" params=\"params,"
      "spins=(int)0\" %s",
      unblocked[__i__].upload, unblocked[__i__].end);
  Feed feed = { .harness = gst_harness_new_parse (elements) };
  GstMemory *first = NULL;
  guint i;

  gst_harness_set_src_caps_str (feed.harness,
      "video/x-raw,format=GRAY8,width=512,height=512,framerate=1/1");
  if (unblocked[__i__].foreign)
    feed.pool = own_pool ();
  driver_for_changes ()->cuLaunchKernel = gated_launch;

  /* After these frames, no work is left that is only done once, and memory that
   * comes a second time is pinned. */
  test_gate_set (TRUE);
  feed_fill_pool (&feed);
  while (feed.pushed < 3 * N_BUFFERS) {
    for (i = 0; i < unblocked[__i__].n; i++)
      feed_push (&feed);
    feed_pull_all (&feed);
  }

  test_gate_set (FALSE);
  for (i = 0; i < unblocked[__i__].n; i++) {
    GstMemory *memory = feed_push (&feed);

    if (i == 0)
      first = memory;
  }
  fail_unless (!test_gate_was_missed (), "frame %u waited for a kernel", i);
  if (!feed.pool)
    fail_unless (!gst_vkgdr_memory_is_idle (first));
  test_gate_set (TRUE);
  feed_pull_all (&feed);
  if (!feed.pool)
    fail_unless (gst_vkgdr_memory_is_idle (first));

  gst_harness_teardown (feed.harness);
  if (feed.pool)
    gst_buffer_pool_set_active (feed.pool, FALSE);
  gst_clear_object (&feed.pool);
}

/* Pushing does not wait for transfers either. Upstream gets its memory back
 * when the transfer is done, and not earlier. */
TEST (sent_memory_is_kept)
{
  GstBufferPoolAcquireParams now = {
    .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT
  };
  Feed feed = { .harness = gst_harness_new_parse (
                    "vkgdrupload ! cudafilter source=\"" CHECK_SOURCE
                    "\" params=\"params,spins=(int)0\"") };
  GstBuffer *buffer = NULL;
  guint i;

  gst_harness_set_src_caps_str (feed.harness,
      "video/x-raw,format=GRAY8,width=512,height=512,framerate=1/1");
  feed.pool = own_pool ();
  for (i = 0; i < 2 * N_BUFFERS; i++)
    feed_push (&feed);
  feed_pull_all (&feed);

  test_gate_transfers ();
  for (i = 0; i < N_BUFFERS; i++)
    feed_push (&feed);
  fail_unless (!test_gate_was_missed (), "a transfer was waited for");
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (feed.pool, &buffer, &now), GST_FLOW_EOS);
  test_gate_set (TRUE);
  for (i = 0; i < N_BUFFERS; i++)
    feed_push (&feed);
  feed_pull_all (&feed);

  gst_harness_teardown (feed.harness);
  gst_buffer_pool_set_active (feed.pool, FALSE);
  gst_object_unref (feed.pool);
}

/* --- host memory --------------------------------------------------------- */

/* Pinned memory that the driver has allocated and that is not freed yet. */
static struct {
  GMutex lock;
  GHashTable *sizes; /* the keys are addresses */
  gsize bytes, peak_bytes;
  guint peak_pieces;
} pinned;

static CUresult
counted_alloc (void **pointer, size_t size, unsigned int flags)
{
  CUresult result = real.cuMemHostAlloc (pointer, size, flags);

  if (result != CUDA_SUCCESS)
    return result;
  g_mutex_lock (&pinned.lock);
  g_hash_table_insert (pinned.sizes, *pointer, GSIZE_TO_POINTER (size));
  pinned.bytes += size;
  pinned.peak_bytes = MAX (pinned.peak_bytes, pinned.bytes);
  pinned.peak_pieces =
      MAX (pinned.peak_pieces, g_hash_table_size (pinned.sizes));
  g_mutex_unlock (&pinned.lock);
  return result;
}

static CUresult
counted_free (void *pointer)
{
  g_mutex_lock (&pinned.lock);
  pinned.bytes -=
      GPOINTER_TO_SIZE (g_hash_table_lookup (pinned.sizes, pointer));
  g_hash_table_remove (pinned.sizes, pointer);
  g_mutex_unlock (&pinned.lock);
  return real.cuMemFreeHost (pointer);
}

static void
count_pinned (void)
{
  vkgdr_cuda *table = driver_for_changes ();

  pinned.sizes = g_hash_table_new (NULL, NULL);
  table->cuMemHostAlloc = counted_alloc;
  table->cuMemFreeHost = counted_free;
}

/* This needs the lock, because the library frees pinned memory in another
 * thread. */
static gsize
get_pinned_bytes (void)
{
  gsize bytes;

  g_mutex_lock (&pinned.lock);
  bytes = pinned.bytes;
  g_mutex_unlock (&pinned.lock);
  return bytes;
}

/* How much larger than needed a piece of pinned memory may be. */
#define PINNED_SLACK (64 * 1024)

static void
assert_pinned (guint n_buffers, gsize size)
{
  g_mutex_lock (&pinned.lock);
  fail_unless (pinned.peak_pieces <= n_buffers, "%u pieces for %u buffers",
      pinned.peak_pieces, n_buffers);
  fail_unless (pinned.peak_bytes <= n_buffers * (size + PINNED_SLACK),
      "%" G_GSIZE_FORMAT " bytes for %u buffers of %" G_GSIZE_FORMAT,
      pinned.peak_bytes, n_buffers, size);
  g_mutex_unlock (&pinned.lock);
}

#define POOL_SIZE 300000

static GstBufferPool *
pool_new (gsize size)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, NULL, size, N_BUFFERS, N_BUFFERS);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

/* Writes @n frames. All buffers of the pool are used at the same time, and
 * @stream reads each of them. */
static void
write_and_read (
    GstBufferPool *pool, GstVkgdrAccess access, GstVkgdrStream *stream, guint n)
{
  GstBuffer *held[N_BUFFERS];
  guint i, k;

  g_object_set (pool, "access", access, NULL);
  for (i = 0; i < n; i += N_BUFFERS) {
    for (k = 0; k < N_BUFFERS; k++) {
      GstMemory *memory;
      GstMapInfo map;

      fail_unless_equals_int (
          gst_buffer_pool_acquire_buffer (pool, &held[k], NULL), GST_FLOW_OK);
      fail_unless (gst_buffer_map (held[k], &map, GST_MAP_WRITE));
      memset (map.data, (gint) (i + k), map.size);
      gst_buffer_unmap (held[k], &map);
      memory = gst_buffer_peek_memory (held[k], 0);
      fail_unless (
          gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
      fail_unless (
          gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
    }
    for (k = 0; k < N_BUFFERS; k++)
      gst_buffer_unref (held[k]);
  }
}

TEST_IF (host_memory_of_a_pool, !test_hides_vulkan ())
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstBufferPool) pool = pool_new (POOL_SIZE);
  guint i;

  count_pinned ();
  write_and_read (pool, GST_VKGDR_ACCESS_DIRECT, stream, 200);
  assert_pinned (0, POOL_SIZE);
  /* If the access mode changes repeatedly, each buffer has at most one staging
   * buffer. */
  for (i = 0; i < 3; i++) {
    write_and_read (pool, GST_VKGDR_ACCESS_STAGED, stream, 200);
    assert_pinned (N_BUFFERS, POOL_SIZE);
    fail_unless (get_pinned_bytes () > 0);
    write_and_read (pool, GST_VKGDR_ACCESS_DIRECT, stream, 200);
    assert_pinned (N_BUFFERS, POOL_SIZE);
  }
  write_and_read (pool, GST_VKGDR_ACCESS_AUTO, stream, 600);
  assert_pinned (N_BUFFERS, POOL_SIZE);
  /* A buffer with direct access keeps no staging buffer. */
  write_and_read (pool, GST_VKGDR_ACCESS_DIRECT, stream, 200);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  gst_vkgdr_allocator_free_held (allocator);
  while (get_pinned_bytes () > 0) /* the test has a time limit */
    g_usleep (1000);

  gst_buffer_pool_set_active (pool, FALSE);
}

/* Writes a frame of @value, staged, and waits until it is on the device. */
static GstBuffer *
write_staged (GstBufferPool *pool, GstVkgdrStream *stream, guint8 value)
{
  GstMemory *memory;
  GstBuffer *buffer;
  GstMapInfo map;

  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  memset (map.data, value, map.size);
  gst_buffer_unmap (buffer, &map);
  memory = gst_buffer_peek_memory (buffer, 0);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  return buffer;
}

/* Frames that are only written go through one staging buffer, which stays in
 * the CPU's cache, even if all frames are in use. If the CPU reads a frame, its
 * content is fetched from the device, and the frame keeps its staging buffer.
 */
TEST (written_frames_share_a_staging_buffer)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstBufferPool) pool = pool_new (POOL_SIZE);
  GstBuffer *held[N_BUFFERS];
  guint i, round;

  count_pinned ();
  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  for (round = 0; round < 3; round++) {
    for (i = 0; i < N_BUFFERS; i++)
      held[i] = write_staged (pool, stream, round * N_BUFFERS + i);
    assert_pinned (round == 2 ? 2 : 1, POOL_SIZE);
    if (round == 1) {
      GstMapInfo map;

      fail_unless (gst_buffer_map (held[0], &map, GST_MAP_READ));
      fail_unless_equals_int (map.data[0], N_BUFFERS);
      fail_unless_equals_int (map.data[map.size - 1], N_BUFFERS);
      gst_buffer_unmap (held[0], &map);
    }
    for (i = 0; i < N_BUFFERS; i++)
      gst_buffer_unref (held[i]);
  }

  gst_buffer_pool_set_active (pool, FALSE);
}

/* The library keeps as many staging buffers as the pools have used, for their
 * next frames. When the pools are gone, it keeps only 256 MiB of them. */
TEST_IF (unused_staging_buffers_are_freed, !test_is_on_valgrind ())
{
  const gsize size = 100 * 1024 * 1024, limit = 256 * 1024 * 1024;
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstBufferPool *pool = pool_new (size);
  GstBuffer *held[3];
  GstMapInfo maps[3];
  guint i, round;

  count_pinned ();
  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  for (round = 0; round < 2; round++) {
    for (i = 0; i < 3; i++) {
      fail_unless_equals_int (
          gst_buffer_pool_acquire_buffer (pool, &held[i], NULL), GST_FLOW_OK);
      fail_unless (gst_buffer_map (held[i], &maps[i], GST_MAP_WRITE));
    }
    for (i = 0; i < 3; i++) {
      gst_buffer_unmap (held[i], &maps[i]);
      gst_buffer_unref (held[i]);
    }
    fail_unless (get_pinned_bytes () >= 3 * size);
    assert_pinned (N_BUFFERS, size);
  }
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  while (get_pinned_bytes () > limit) /* the test has a time limit */
    g_usleep (1000);
}

static GstPadProbeReturn
note_memory (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  guint64 pointer =
      gst_vkgdr_memory_get_device_pointer (gst_buffer_peek_memory (buffer, 0));

  g_hash_table_add (user_data, (gpointer) (guintptr) pointer);
  return GST_PAD_PROBE_OK;
}

/* The same in a pipeline with the pool of vkgdrupload. __i__ is 0 for direct
 * access, and 1 for staged access. */
TEST_RANGE (host_memory_of_a_pipeline, test_hides_vulkan () ? 1 : 0, 2)
{
  g_autoptr (GHashTable) memories = g_hash_table_new (NULL, NULL);
  g_autoptr (GstElement) pipeline = test_launch (
      "testframes num-buffers=200 ! "
      "video/x-raw,format=GRAY8,width=640,height=480,framerate=1000/1 ! "
      "vkgdrupload name=up access=%s ! queue max-size-buffers=2 ! cudafilter ! "
      "fakesink",
      __i__ ? "staged" : "direct");
  g_autoptr (GstElement) upload =
      gst_bin_get_by_name (GST_BIN (pipeline), "up");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (upload, "src");

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, note_memory, memories, NULL);
  test_set_context (pipeline, test_context);
  count_pinned ();
  test_play (pipeline);
  if (__i__ == 0)
    assert_pinned (0, 640 * 480);
  else
    assert_pinned (g_hash_table_size (memories), 640 * 480);
  fail_unless (__i__ == 0 || pinned.peak_pieces > 0);
}
