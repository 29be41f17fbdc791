/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * unknown-streams.c: readers on streams that the library does not know see no
 * torn frame
 *
 * A consumer of memory:CUDAMemory may work as GStreamer's own CUDA elements do:
 * it maps the frame, launches a kernel on a stream of its own, unmaps the frame
 * and frees it at once. The consumer here calls the driver directly, so the
 * library does not know its kernel. The kernel is slower than the source. It
 * reads each byte twice, early and late, and records on the device which frames
 * had a byte of another frame. Skipped if GStreamer's CUDA elements are not
 * installed, or are older than 1.24.
 */

#include "kernel/module.h"
#include "nvcodec.h"
#include "slow.h"
#include "util.h"

#define WIDTH 64
#define HEIGHT 48

/* Number of frames of one run. */
#define FRAMES_GPU 10000
#define FRAMES_SOFTWARE 1000
#define FRAMES_SLOW 60

/* Iterations of the empty loop between the two reads of a pixel. They take
 * several times as long as writing a frame. */
#define SPINS_GPU 10000
#define SPINS_SOFTWARE 100

#define N_STREAMS 2

/* Bits that the kernel sets for each frame. */
#define SEEN 1
#define TORN 2

#define SOURCE \
  TEST_FRAME_SOURCE \
  "__global__ void look (const unsigned char *data, int stride, int width," \
  " int height, unsigned long long frame, int spins, int *notes) {" \
  " int x = blockIdx.x * blockDim.x + threadIdx.x;" \
  " int y = blockIdx.y * blockDim.y + threadIdx.y;" \
  " const volatile unsigned char *p;" \
  " volatile int k = 0;" \
  " bool good;" \
  " if (x >= width || y >= height) return;" \
  " p = data + (long long) y * stride + x;" \
  " good = *p == expected (frame, x, y);" \
  " while (k < spins) k = k + 1;" \
  " good = good && *p == expected (frame, x, y);" \
  " if (!good) atomicOr (&notes[frame], 2);" \
  " if (x == 0 && y == 0) atomicOr (&notes[frame], 1); }"

typedef struct {
  const vkgdr_cuda *cuda;
  CUfunction look;
  CUstream streams[N_STREAMS];
  CUdeviceptr notes; /* one gint for each frame */
  guint n_frames;
  gint spins;
  guint64 frame;
  guint failures;
} Reader;

static void
reader_init (Reader *self, GstVkgdrFunction *function, guint n_frames)
{
  guint i;

  self->cuda = vkgdr_driver_load ();
  self->look = function->function;
  self->n_frames = n_frames;
  self->spins = test_is_software () ? SPINS_SOFTWARE : SPINS_GPU;
  self->frame = self->failures = 0;
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  for (i = 0; i < N_STREAMS; i++)
    fail_unless_equals_int (
        self->cuda->cuStreamCreate (&self->streams[i], CU_STREAM_NON_BLOCKING),
        CUDA_SUCCESS);
  fail_unless_equals_int (
      self->cuda->cuMemAlloc (&self->notes, n_frames * sizeof (gint)),
      CUDA_SUCCESS);
  fail_unless_equals_int (
      self->cuda->cuMemsetD8 (self->notes, 0, n_frames * sizeof (gint)),
      CUDA_SUCCESS);
  /* The streams are non-blocking, so they do not wait for cuMemsetD8 (). */
  fail_unless_equals_int (self->cuda->cuCtxSynchronize (), CUDA_SUCCESS);
  gst_vkgdr_context_pop (test_context);
}

static CUresult
launch (Reader *self, const void *data, gint stride)
{
  gint width = WIDTH, height = HEIGHT;
  void *arguments[] = { &data, &stride, &width, &height, &self->frame,
    &self->spins, &self->notes };

  return self->cuda->cuLaunchKernel (self->look, (WIDTH + 15) / 16,
      (HEIGHT + 15) / 16, 1, 16, 16, 1, 0,
      self->streams[self->frame % N_STREAMS], arguments, NULL);
}

/* Called in the streaming thread. */
static void
reader_take (Reader *self, GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  if (self->frame >= self->n_frames || !gst_vkgdr_is_cuda_memory (memory)
      || !gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR)) {
    self->failures++;
    return;
  }
  if (!gst_vkgdr_context_push (test_context, NULL)
      || launch (self, map.data, meta ? meta->stride[0] : WIDTH)
             != CUDA_SUCCESS)
    self->failures++;
  gst_vkgdr_context_pop (test_context);
  gst_memory_unmap (memory, &map);
  self->frame++;
}

static GstFlowReturn
on_sample (GstAppSink *sink, gpointer user_data)
{
  g_autoptr (GstSample) sample = gst_app_sink_pull_sample (sink);

  reader_take (user_data, gst_sample_get_buffer (sample));
  return GST_FLOW_OK;
}

/* Waits for the reader's streams, and frees its resources. Returns the notes.
 */
static gint *
reader_finish (Reader *self)
{
  gint *notes = g_new0 (gint, self->n_frames);
  guint i;

  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  for (i = 0; i < N_STREAMS; i++) {
    fail_unless_equals_int (
        self->cuda->cuStreamSynchronize (self->streams[i]), CUDA_SUCCESS);
    self->cuda->cuStreamDestroy (self->streams[i]);
  }
  fail_unless_equals_int (self->cuda->cuMemcpyDtoH (notes, self->notes,
                              self->n_frames * sizeof (gint)),
      CUDA_SUCCESS);
  self->cuda->cuMemFree (self->notes);
  gst_vkgdr_context_pop (test_context);
  return notes;
}

static void
play (Reader *reader, const gchar *upload)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_sample };
  g_autoptr (GstElement) pipeline = test_launch (
      "testframes num-buffers=%u ! "
      "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=1000/1 ! "
      "vkgdrupload %s ! "
      "video/x-raw(" GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA ") ! "
      "appsink name=sink sync=false",
      reader->n_frames, WIDTH, HEIGHT, upload);

  gst_app_sink_set_callbacks (
      GST_APP_SINK (test_find (pipeline, "sink")), &callbacks, reader, NULL);
  test_set_context (pipeline, test_context);
  test_play (pipeline);
}

static const gchar *uploads[] = { "access=direct", "access=staged",
  "access=auto" };

static void
setup (void)
{
  test_nvcodec_load ();
  test_setup_bar ();
  test_frames_register ();
}

TEST_REQUIRE (test_nvcodec_require);

TEST_FIXTURE (setup, test_teardown);

TEST_LOOP (no_frame_is_torn, G_N_ELEMENTS (uploads))
{
  guint n_frames = test_is_slow ()        ? FRAMES_SLOW
                   : !test_is_software () ? FRAMES_GPU
                                          : FRAMES_SOFTWARE;
  g_autoptr (GstVkgdrFunction) function =
      test_function_new (test_context, SOURCE);
  guint torn = 0, seen = 0, i;
  Reader reader;
  g_autofree gint *notes = NULL;

  reader_init (&reader, function, n_frames);
  play (&reader, uploads[__i__]);
  notes = reader_finish (&reader);
  for (i = 0; i < n_frames; i++) {
    seen += (notes[i] & SEEN) != 0;
    torn += (notes[i] & TORN) != 0;
  }
  fail_unless_equals_int (reader.failures, 0);
  fail_unless_equals_int (seen, n_frames);
  fail_unless (torn == 0, "%s: %u of %u frames are torn", uploads[__i__], torn,
      n_frames);
}
