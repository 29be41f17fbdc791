/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * failures.c: every call of the driver fails, at every place where a pipeline
 * makes it
 *
 * After each failure, the pipeline either continues with the right bytes or
 * reports which call has failed. It does not hang, nothing is left behind, and
 * its next start works. The tests replace the driver's functions in the table
 * that the library uses. Each test is a process of its own, and has its own
 * table.
 */

#include "folder.h"
#include "util.h"

/* --- the driver's table -------------------------------------------------- */

/* The calls that fail, each of which the pipelines make, and the calls that
 * destroy what they create: the number of objects that a call adds, and the
 * call that has created them. */
#define CALLS(X) \
  X (cuDevicePrimaryCtxRetain, 1, cuDevicePrimaryCtxRetain) \
  X (cuCtxPushCurrent, 0, cuCtxPushCurrent) \
  X (cuStreamCreate, 1, cuStreamCreate) \
  X (cuStreamWaitEvent, 0, cuStreamWaitEvent) \
  X (cuEventCreate, 1, cuEventCreate) \
  X (cuEventRecord, 0, cuEventRecord) \
  X (cuEventQuery, 0, cuEventQuery) \
  X (cuEventElapsedTime, 0, cuEventElapsedTime) \
  X (cuImportExternalMemory, 1, cuImportExternalMemory) \
  X (cuExternalMemoryGetMappedBuffer, 1, cuMemAlloc) \
  X (cuMemAlloc, 1, cuMemAlloc) \
  X (cuMemHostAlloc, 1, cuMemHostAlloc) \
  X (cuMemcpyDtoHAsync, 0, cuMemcpyDtoHAsync) \
  X (cuMemcpyHtoDAsync, 0, cuMemcpyHtoDAsync) \
  X (cuMemHostRegister, 1, cuMemHostRegister) \
  X (cuModuleLoadDataEx, 1, cuModuleLoadDataEx) \
  X (cuModuleGetFunction, 0, cuModuleGetFunction) \
  X (cuFuncGetAttribute, 0, cuFuncGetAttribute) \
  X (cuFuncGetParamInfo, 0, cuFuncGetParamInfo) \
  X (cuOccupancyMaxPotentialBlockSize, 0, cuOccupancyMaxPotentialBlockSize) \
  X (cuLaunchKernel, 0, cuLaunchKernel) \
  X (cuDevicePrimaryCtxRelease, -1, cuDevicePrimaryCtxRetain) \
  X (cuStreamDestroy, -1, cuStreamCreate) \
  X (cuEventDestroy, -1, cuEventCreate) \
  X (cuDestroyExternalMemory, -1, cuImportExternalMemory) \
  X (cuMemFree, -1, cuMemAlloc) \
  X (cuMemFreeHost, -1, cuMemHostAlloc) \
  X (cuMemHostUnregister, -1, cuMemHostRegister) \
  X (cuModuleUnload, -1, cuModuleLoadDataEx)

#define CALL_ID(name, adds, maker) CALL_##name,
#define CALL_NAME(name, adds, maker) #name,

typedef enum { CALLS (CALL_ID) N_ALL_CALLS } Call;

/* The number of calls that fail. They come first. */
#define N_CALLS ((gint) CALL_cuDevicePrimaryCtxRelease)

static const gchar *const call_names[] = { CALLS (CALL_NAME) };

static vkgdr_cuda real;

/* All of these variables are atomic. */
static gint made[N_ALL_CALLS]; /* since set_failing () */
static gint live[N_ALL_CALLS]; /* objects, by the call that creates them */
static gint fails_call = -1;
static gint fails_first, fails_last; /* numbers of calls */

static gboolean
fails (Call call)
{
  gint n = g_atomic_int_add (&made[call], 1) + 1;

  if (g_atomic_int_get (&fails_call) != (gint) call
      || n < g_atomic_int_get (&fails_first)
      || n > g_atomic_int_get (&fails_last))
    return FALSE;
  /* This call says that the device has finished some work. If it fails because
   * the device is lost, no work may run any more. */
  if (call == CALL_cuEventQuery)
    real.cuCtxSynchronize ();
  return TRUE;
}

/* The functions here pass on as many arguments as the longest call has. A call
 * ignores those that it does not have. */
#define PARAMS \
  gsize a, gsize b, gsize c, gsize d, gsize e, gsize f, gsize g, gsize h, \
      gsize i, gsize j, gsize k
#define CALL_REAL(name) \
  ((CUresult (*) (PARAMS)) (void *) real.name) (a, b, c, d, e, f, g, h, i, j, k)

#define HOOK(name, adds, maker) \
  static CUresult hook_##name (PARAMS) \
  { \
    CUresult result = \
        fails (CALL_##name) ? CUDA_ERROR_UNKNOWN : CALL_REAL (name); \
\
    if (result == CUDA_SUCCESS) \
      g_atomic_int_add (&live[CALL_##maker], adds); \
    return result; \
  }
CALLS (HOOK)

static void
install (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
#define INSTALL(name, adds, maker) *(void **) &table->name = hook_##name;
  CALLS (INSTALL)
}

/* Lets the @n-th @call from now on fail, and all later ones, or only this
 * one. */
static void
set_failing (gint call, gint n, gboolean for_good)
{
  guint i;

  g_atomic_int_set (&fails_call, -1);
  for (i = 0; i < N_ALL_CALLS; i++)
    g_atomic_int_set (&made[i], 0);
  g_atomic_int_set (&fails_first, n);
  g_atomic_int_set (&fails_last, for_good ? G_MAXINT : n);
  g_atomic_int_set (&fails_call, call);
}

/* Other threads may still hold the last references, so this waits some
 * seconds. */
static void
assert_nothing_lives (const gchar *what)
{
  gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;
  guint i;

  for (i = 0; i < N_ALL_CALLS; i++) {
    while (g_atomic_int_get (&live[i]) != 0 && g_get_monotonic_time () < end)
      g_usleep (2000);
    fail_unless (g_atomic_int_get (&live[i]) == 0, "%s: %d too many of: %s",
        what, g_atomic_int_get (&live[i]), call_names[i]);
  }
}

/* --- the pipelines ------------------------------------------------------- */

#define FILTER " ! cudafilter kernel=invert ! vkgdrdownload ! appsink name=sink"

typedef struct {
  const gchar *source;   /* properties of testframes */
  const gchar *elements; /* SOCKET is the path of a socket */
  guint side; /* of the frames; foreign memory is pinned from 512 on */
  guint n_frames;
} Variant;

static const Variant variants[] = {
  { "buffers=2", "vkgdrupload access=direct" FILTER, 32, 3 },
  { "buffers=2", "vkgdrupload access=staged" FILTER, 32, 3 },
  { "buffers=1" TEST_FOREIGN, "vkgdrupload" FILTER, 512, 3 },
  /* No kernel with a time limit runs. The error of such a kernel would come
   * first. Upstream waits for its memory until the copy has ended. */
  { "buffers=1" TEST_FOREIGN, "vkgdrupload ! fakesink", 512, 6 },
  { "buffers=2", "vkgdrupload ! vkgdrtensor width=8 height=8 ! fakesink", 512,
      6 },
  { "buffers=2", "vkgdripcsink socket-path=\"SOCKET\"", 512, 6 },
};

#define N_FILTERS 3
#define N_OTHERS 3

typedef struct {
  const Variant *variant;
  GstElement *pipeline;
  guint frames;   /* with the right content */
  guint unmapped; /* which the sink could not map */
  gboolean wrong;
} Run;

static GstFlowReturn
check_sample (GstAppSink *sink, gpointer user_data)
{
  Run *run = user_data;
  g_autoptr (GstSample) sample = gst_app_sink_pull_sample (sink);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  guint frame = GST_BUFFER_PTS (buffer) / GST_MSECOND, x, y;
  guint side = run->variant->side;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    run->unmapped++;
    return GST_FLOW_OK;
  }
  for (y = 0; y < side; y++)
    for (x = 0; x < side; x++)
      run->wrong |=
          map.data[y * side + x] != 255 - test_frame_byte (frame, x, y);
  run->frames++;
  gst_buffer_unmap (buffer, &map);
  return GST_FLOW_OK;
}

static void
run_init (Run *run, const Variant *variant)
{
  GstAppSinkCallbacks callbacks = { .new_sample = check_sample };
  g_autoptr (GString) elements = g_string_new (variant->elements);
  g_autofree gchar *socket = g_build_filename (folder, "socket", NULL);
  g_autoptr (GstElement) sink = NULL;

  g_string_replace (elements, "SOCKET", socket, 0);
  run->variant = variant;
  run->pipeline = test_launch (
      "testframes num-buffers=%u %s ! "
      "video/x-raw,format=GRAY8,width=%u,height=%u,framerate=1000/1 ! %s",
      variant->n_frames, variant->source, variant->side, variant->side,
      elements->str);
  sink = gst_bin_get_by_name (GST_BIN (run->pipeline), "sink");
  if (!sink)
    return;
  g_object_set (sink, "sync", FALSE, NULL);
  gst_app_sink_set_callbacks (GST_APP_SINK (sink), &callbacks, run, NULL);
}

/* Plays to the end, and stops the pipeline. If there is no error, all frames
 * have arrived. */
static GError *
run_play (Run *run)
{
  GError *error;

  run->frames = run->unmapped = 0;
  run->wrong = FALSE;
  error = test_play_result (run->pipeline);
  fail_unless (
      !run->wrong, "%s: a frame has wrong bytes", run->variant->elements);
  if (!error && strstr (run->variant->elements, "appsink"))
    fail_unless_equals_int (
        run->frames + run->unmapped, run->variant->n_frames);
  return error;
}

/* The calls work again. */
static void
check_works (Run *run, const gchar *what)
{
  GError *error;

  set_failing (-1, 0, FALSE);
  error = run_play (run);
  fail_unless (!error && run->unmapped == 0, "%s: the next start fails: %s",
      what, error ? error->message : "");
}

/* Lets the @n-th @call fail. A frame can be lost, with an error that says which
 * call has failed, but never has wrong content. Returns whether the pipeline
 * has made so many of these calls. */
static gboolean
check_failure (
    const Variant *variant, Call call, gint n, gboolean for_good, guint fds)
{
  g_autofree gchar *what = g_strdup_printf ("%s, %s:%d%s", variant->elements,
      call_names[call], n, for_good ? "+" : "");
  g_autoptr (GError) error = NULL;
  gboolean fired;
  Run run;

  run_init (&run, variant);
  set_failing (call, n, for_good);
  error = run_play (&run);
  fired = g_atomic_int_get (&made[call]) >= n;
  /* If the import fails, memory is outside the window, which is an error only
   * for vkgdripcsink. */
  fail_unless (!error || strstr (error->message, call_names[call])
                   || (call == CALL_cuImportExternalMemory
                       && strstr (error->message, "no memory in the window")),
      "%s: %s", what, error ? error->message : "");
  /* Memory of upstream that cannot be pinned is copied instead. Pinning is not
   * tried again for each frame. */
  if (call == CALL_cuMemHostRegister)
    fail_unless (!error && g_atomic_int_get (&made[call]) <= 2);
  check_works (&run, what);
  gst_object_unref (run.pipeline);
  /* If a context cannot be entered, its memory cannot be freed. */
  if (call != CALL_cuCtxPushCurrent) {
    assert_nothing_lives (what);
    test_assert_fds (fds);
  }
  return fired;
}

/* Calls after these are made at the same places in the code as earlier ones. */
#define MAX_CALLS 80

/* Each call fails at first, then fewer of them. */
static void
check_failures (Call call, const Variant *v, gboolean for_good)
{
  guint fds;
  gint n = 1;
  Run run;

  /* If the context cannot be entered, its memory is not freed. */
  test_leaks = call == CALL_cuCtxPushCurrent && for_good;
  run_init (&run, v);
  check_works (&run, v->elements);
  gst_object_unref (run.pipeline);
  fds = test_count_fds ();
  while (n <= MAX_CALLS && check_failure (v, call, n, for_good, fds))
    n = for_good || test_is_slow () ? 2 * n : n + 1 + n / 2;
}

/* The test needs hundreds of starts. On a GPU, these take minutes, and test
 * nothing else. */
static void
require_software (void)
{
  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_DEBUG", "bar", TRUE);
  test_require_software ();
}

static void
setup (void)
{
  folder_setup ();
  test_frames_register ();
  install ();
}

TEST_REQUIRE (require_software);

TEST_PARALLEL (2);

TEST_FIXTURE (setup, folder_teardown);

/* Each call is tested in each pipeline, or in one of them if that takes too
 * long. */
TEST_LOOP (each_call_fails, N_CALLS)
{
  guint first = __i__ % N_FILTERS, i;

  for (i = 0; i < (test_is_slow () ? 1 : N_FILTERS); i++)
    check_failures (__i__, &variants[(first + i) % N_FILTERS], FALSE);
  /* Nothing tells when a copy from upstream's memory has ended if the context
   * cannot be entered. Upstream uses this memory again at the next start, which
   * the thread sanitizer would report. */
  if (__i__ == CALL_cuCtxPushCurrent && test_is_slow ())
    first = 0;
  check_failures (__i__, &variants[first], TRUE);
}

static const Call other_calls[] = { CALL_cuEventQuery,
  CALL_cuImportExternalMemory, CALL_cuMemAlloc, CALL_cuMemHostAlloc };

/* An error that reaches the bus says which call has failed, even if the element
 * that cannot continue is upstream. */
TEST_LOOP (calls_of_other_elements_fail, N_OTHERS)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (other_calls); i++)
    check_failures (other_calls[i], &variants[N_FILTERS + __i__], TRUE);
}
