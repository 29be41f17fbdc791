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

#include "gate.h"
#include "slow.h"
#include "table.h"

/* Whether @buffer has @size bytes, which are all @value. */
static gboolean
is_all (GstBuffer *buffer, gsize size, guint8 value)
{
  gboolean right;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return FALSE;
  right = map.size == size && map.data[0] == value
          && memcmp (map.data, map.data + 1, size - 1) == 0;
  gst_buffer_unmap (buffer, &map);
  return right;
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

static void
delay_transfer (CUstream stream)
{
  vkgdr_driver_load ()->cuLaunchHostFunc (stream, transfer_delay, NULL);
}

/* --- no frame is torn ---------------------------------------------------- */

#define N_STREAMS 4

/* The number of frames of each stream. */
#define FRAMES_SOFTWARE 250
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
  const gchar *source; /* properties of testframes */
  const gchar *upload; /* properties of vkgdrupload */
  guint side; /* of the frames; foreign memory is sent by DMA from 256 KiB on */
  guint part; /* on the software device, the number of frames and the spins are
               * divided by this */
  const gchar
      *path; /* the field of stats that counts bytes which are sent so */
} Variant;

static const Variant variants[] = {
  { "buffers=4", "access=direct", 64, 1, "bytes-direct" },
  { "buffers=4", "access=staged", 64, 1, "bytes-staged" },
  { "buffers=4", "access=auto", 64, 1, "bytes-direct" },
  { "buffers=1" TEST_FOREIGN, "", 512, 8, "bytes-dma" },
};

typedef struct {
  GstElement *pipeline;
  guint size;  /* of a frame */
  guint looks; /* the sink maps one frame in this many */
  gint frames, torn;
} Stream;

/* Needs no lock, because only the thread of the stream's sink calls it. */
static GstFlowReturn
check_sample (GstAppSink *sink, gpointer user_data)
{
  Stream *stream = user_data;
  g_autoptr (GstSample) sample = gst_app_sink_pull_sample (sink);
  guint8 expected = (guint8) stream->frames++;

  if (stream->frames % stream->looks == 0
      && !is_all (gst_sample_get_buffer (sample), stream->size, expected))
    stream->torn++;
  return GST_FLOW_OK;
}

static void
stream_start (
    Stream *stream, const Variant *variant, guint n_frames, gint spins)
{
  GstAppSinkCallbacks callbacks = { .new_sample = check_sample };

  stream->size = variant->side * variant->side;
  stream->frames = stream->torn = 0;
  stream->pipeline = test_launch (
      "testframes num-buffers=%u %s ! "
      "video/x-raw,format=GRAY8,width=%u,height=%u,framerate=1000/1 ! "
      "vkgdrupload name=up %s ! cudafilter source=\"" CHECK_SOURCE
      "\" params=\"params,spins=(int)%d\" ! cudafilter kernel=invert ! queue "
      "max-size-buffers=3 ! cudafilter kernel=invert ! vkgdrdownload ! queue "
      "max-size-buffers=3 ! appsink name=sink sync=false",
      n_frames, variant->source, variant->side, variant->side, variant->upload,
      spins);
  gst_app_sink_set_callbacks (
      GST_APP_SINK (test_find (stream->pipeline, "sink")), &callbacks, stream,
      NULL);
  test_set_context (stream->pipeline, test_context);
  gst_element_set_state (stream->pipeline, GST_STATE_PLAYING);
}

static void
setup (void)
{
  test_setup_bar ();
  test_frames_register ();
}

TEST_PARALLEL (3);

TEST_FIXTURE (setup, test_teardown);

TEST_LOOP (no_frame_of_any_stream_is_torn, G_N_ELEMENTS (variants))
{
  const Variant *variant = &variants[__i__];
  gboolean software = gst_vkgdr_context_is_software (test_context);
  guint part = variant->part * (test_is_slow () ? 4 : 1);
  guint n_frames = software ? FRAMES_SOFTWARE / part : FRAMES_GPU;
  gint spins = software ? SPINS_SOFTWARE / (gint) variant->part : SPINS_GPU;
  Stream streams[N_STREAMS];
  guint64 bytes = 0;
  guint i;

  test_spy.before = delay_transfer;
  test_spy_install (test_context);
  for (i = 0; i < N_STREAMS; i++) {
    streams[i].looks = 1 + i % 2;
    stream_start (&streams[i], variant, n_frames, spins);
  }
  for (i = 0; i < N_STREAMS; i++) {
    test_play (streams[i].pipeline);
    fail_unless_equals_int (streams[i].frames, n_frames);
    fail_unless (streams[i].torn == 0, "%d of %u frames are torn",
        streams[i].torn, n_frames);
  }
  /* With access=auto, a stream may end before it has tried direct access.
   * Without a window, no frame is written directly. */
  for (i = 0; i < N_STREAMS; i++) {
    bytes += test_stat_of (streams[i].pipeline, "up", variant->path);
    gst_object_unref (streams[i].pipeline);
  }
  fail_unless (bytes > 0 || test_hides_vulkan (), "no %s", variant->path);
}

/* --- no thread waits without need ---------------------------------------- */

/* The number of buffers in a pool. */
#define N_BUFFERS 4

#define BLUR "cudafilter name=f kernel=blur"

/* The upload and the elements behind it, whether upstream has a pool of its
 * own, whether transfers are held at the gate instead of kernels, and how many
 * frames are pushed meanwhile. With vkgdrdownload, the output buffers of the
 * filter return at once to its pool, which has two buffers. */
static const struct {
  const gchar *elements;
  gboolean is_foreign, holds_transfers;
  guint n;
} feeds[] = {
  { "vkgdrupload access=direct ! " BLUR, FALSE, FALSE, N_BUFFERS },
  { "vkgdrupload ! " BLUR, TRUE, TRUE, N_BUFFERS },
  { "vkgdrupload access=staged ! " BLUR " ! vkgdrdownload", FALSE, FALSE, 2 },
  { "vkgdrupload ! " BLUR " ! vkgdrdownload", TRUE, FALSE, 2 },
};

/* The size of the square frames. Foreign memory of this size is sent by DMA. */
#define FRAME_SIZE (512 * 512)

static GstHarness *harness;
static GstBufferPool *own_pool; /* of upstream, or NULL */
static guint pushed, pulled;    /* frames */

static GstBuffer *
acquire (void)
{
  return own_pool ? test_pool_acquire (own_pool)
                  : gst_harness_create_buffer (harness, FRAME_SIZE);
}

/* Pushes @n frames, whose bytes are the frame's number. Returns the memory of
 * the first one. The pool owns it. */
static GstMemory *
push_frames (guint n)
{
  GstMemory *first = NULL;

  while (n-- > 0) {
    GstBuffer *buffer = acquire ();

    if (!first)
      first = gst_buffer_peek_memory (buffer, 0);
    gst_buffer_memset (buffer, 0, pushed, -1);
    GST_BUFFER_PTS (buffer) = pushed++ * GST_MSECOND;
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  return first;
}

static void
pull_all (void)
{
  for (; pulled < pushed; pulled++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);

    fail_unless (
        is_all (buffer, FRAME_SIZE, pulled), "frame %u is torn", pulled);
  }
}

/* Makes the pool allocate all its buffers, and pushes frames, until no work is
 * left that is only done once, and memory that comes a second time is pinned.
 */
static void
warm_up (guint n)
{
  GstBuffer *buffers[N_BUFFERS];
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = acquire ();
  for (i = 0; i < N_BUFFERS; i++)
    gst_buffer_unref (buffers[i]);
  while (pushed < 3 * N_BUFFERS) {
    push_frames (n);
    pull_all ();
  }
}

/* The streaming thread queues one frame after the other, although the kernel or
 * the transfer of the first frame has not begun. Upstream gets its memory back
 * when the transfer is done, and not earlier. */
TEST_LOOP (pushing_waits_for_nothing, G_N_ELEMENTS (feeds))
{
  GstBufferPoolAcquireParams now = {
    .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT
  };
  guint n = feeds[__i__].n;
  GstBuffer *buffer = NULL;
  GstElement *filter;
  GstMemory *first;

  harness = test_harness_parse (feeds[__i__].elements);
  filter = test_find (harness->element, "f");
  gst_harness_set_src_caps_str (
      harness, "video/x-raw,format=GRAY8,width=512,height=512,framerate=1/1");
  if (feeds[__i__].is_foreign)
    own_pool = test_pool_start (
        gst_buffer_pool_new (), NULL, FRAME_SIZE, N_BUFFERS, N_BUFFERS);
  warm_up (n);

  if (feeds[__i__].holds_transfers)
    test_gate_transfers ();
  else
    test_gate_delay (
        gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (filter)),
        0, NULL);
  first = push_frames (n);
  fail_unless (!test_gate_was_missed (), "a frame waited for the device");
  fail_unless (own_pool || !gst_vkgdr_memory_is_idle (first));
  if (feeds[__i__].holds_transfers)
    fail_unless_equals_int (
        gst_buffer_pool_acquire_buffer (own_pool, &buffer, &now), GST_FLOW_EOS);
  test_gate_set (TRUE);
  pull_all ();
  fail_unless (own_pool || gst_vkgdr_memory_is_idle (first));
  gst_harness_teardown (harness);
  if (own_pool)
    test_pool_free (own_pool);
}

/* --- fences that cannot be queried --------------------------------------- */

static vkgdr_cuda real;         /* the driver's table before it is changed */
static gint refuses, n_refused; /* atomic; calls of the driver */

static gboolean
call_is_refused (void)
{
  if (!g_atomic_int_get (&refuses))
    return FALSE;
  g_atomic_int_inc (&n_refused);
  return TRUE;
}

static CUresult
refused_query (CUevent event)
{
  return call_is_refused () ? CUDA_ERROR_OUT_OF_MEMORY
                            : real.cuEventQuery (event);
}

static CUresult
refused_synchronize (void)
{
  return call_is_refused () ? CUDA_ERROR_OUT_OF_MEMORY
                            : real.cuCtxSynchronize ();
}

static void
set_flag (gpointer flag)
{
  g_atomic_int_set ((gint *) flag, TRUE);
}

/* For a while, the driver does not say whether the work is done. What the
 * device uses is kept until the work is done and the driver says so. */
TEST (fence_that_cannot_be_queried)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  vkgdr_cuda *table = test_change_driver (&real);
  g_autoptr (GstVkgdrFence) fence = NULL;
  gint done = FALSE, released = FALSE;

  table->cuEventQuery = refused_query;
  table->cuCtxSynchronize = refused_synchronize;
  test_gate_delay (stream, 100, &done);
  fence = gst_vkgdr_stream_record (stream, NULL);
  g_atomic_int_set (&refuses, TRUE);
  gst_vkgdr_fence_release_later (fence, set_flag, &released);
  test_wait_for (g_atomic_int_get (&n_refused) > 2);
  fail_if (g_atomic_int_get (&released) || test_gate_was_missed ());
  g_atomic_int_set (&refuses, FALSE);
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&released));
  fail_unless (g_atomic_int_get (&done));
}

/* --- host memory --------------------------------------------------------- */

/* The pieces of pinned memory that the driver has allocated and that are not
 * freed yet. The library frees them in another thread. */
static gint n_pinned, most_pinned; /* atomic */

static CUresult
counted_alloc (void **pointer, size_t size, unsigned int flags)
{
  gint n = g_atomic_int_add (&n_pinned, 1) + 1;

  if (n > g_atomic_int_get (&most_pinned))
    g_atomic_int_set (&most_pinned, n);
  return real.cuMemHostAlloc (pointer, size, flags);
}

static CUresult
counted_free (void *pointer)
{
  g_atomic_int_add (&n_pinned, -1);
  return real.cuMemFreeHost (pointer);
}

static void
count_pinned (void)
{
  vkgdr_cuda *table = test_change_driver (&real);

  table->cuMemHostAlloc = counted_alloc;
  table->cuMemFreeHost = counted_free;
}

#define POOL_SIZE 300000

/* Writes @n frames that @stream reads, with all buffers of the pool in use at
 * the same time. With @waits, each frame is read before the next one is
 * written. The pool may not have more than @n_pieces of pinned memory then. */
static void
write_frames (GstBufferPool *pool, GstVkgdrAccess access,
    GstVkgdrStream *stream, guint n, gboolean waits, gint n_pieces)
{
  GstBuffer *held[N_BUFFERS];
  guint i;

  g_object_set (pool, "access", access, NULL);
  for (i = 0; i < n; i++) {
    GstBuffer **buffer = &held[i % N_BUFFERS];
    GstMemory *memory;

    if (i >= N_BUFFERS)
      gst_buffer_unref (*buffer);
    *buffer = test_pool_acquire (pool);
    memory = gst_buffer_peek_memory (*buffer, 0);
    gst_buffer_memset (*buffer, 0, i, POOL_SIZE);
    fail_unless (
        gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
    if (waits)
      fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
    fail_unless (
        gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  }
  if (waits)
    fail_unless (is_all (held[0], POOL_SIZE, n - N_BUFFERS));
  for (i = 0; i < N_BUFFERS; i++)
    gst_buffer_unref (held[i]);
  fail_unless (g_atomic_int_get (&most_pinned) <= n_pieces, "%d pieces",
      g_atomic_int_get (&most_pinned));
}

/* Frames that are only written go through one staging buffer, which stays in
 * the CPU's cache, even if all frames are in use. A frame that the CPU reads
 * has one of its own. If the access mode changes repeatedly, each buffer has at
 * most one staging buffer. A buffer with direct access keeps none. */
TEST (host_memory_of_a_pool)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBufferPool *pool = test_pool_new (NULL, POOL_SIZE, N_BUFFERS, N_BUFFERS);
  guint i;

  count_pinned ();
  write_frames (pool, GST_VKGDR_ACCESS_STAGED, stream, 3 * N_BUFFERS, TRUE, 2);
  for (i = 0; i < 3; i++) {
    write_frames (pool, GST_VKGDR_ACCESS_STAGED, stream, 200, FALSE, N_BUFFERS);
    fail_unless (g_atomic_int_get (&n_pinned) > 0);
    write_frames (pool, GST_VKGDR_ACCESS_DIRECT, stream, 200, FALSE, N_BUFFERS);
  }
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  gst_vkgdr_allocator_free_held (allocator);
  if (!test_hides_vulkan ())
    test_wait_for (g_atomic_int_get (&n_pinned) == 0);
  test_pool_free (pool);
}

/* The library keeps as many staging buffers as the pools have used, for their
 * next frames. When the pools are gone, it keeps only 256 MiB of them. */
TEST (unused_staging_buffers_are_freed)
{
  GstBufferPool *pool;
  GstBuffer *held[3];
  GstMapInfo maps[3];
  guint i, round;

  TEST_NEEDS (!test_is_on_valgrind (), "memory for Valgrind's copies");
  pool = test_pool_new (NULL, 100 * 1024 * 1024, 3, 3);
  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  count_pinned ();
  for (round = 0; round < 2; round++) {
    for (i = 0; i < 3; i++) {
      held[i] = test_pool_acquire (pool);
      fail_unless (gst_buffer_map (held[i], &maps[i], GST_MAP_WRITE));
    }
    for (i = 0; i < 3; i++) {
      gst_buffer_unmap (held[i], &maps[i]);
      gst_buffer_unref (held[i]);
    }
    fail_unless (g_atomic_int_get (&n_pinned) >= 3);
  }
  test_pool_free (pool);
  test_wait_for (g_atomic_int_get (&n_pinned) <= 2);
}
