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

#include <gmodule.h>

#include "folder.h"
#include "slow.h"
#include "util.h"

/* --- the driver's table -------------------------------------------------- */

/* Kinds of objects that calls create and destroy. */
#define KINDS(X) \
  X (NOTHING) \
  X (CONTEXT) \
  X (STREAM) \
  X (EVENT) X (EXTERNAL) X (MEMORY) X (PINNED) X (REGISTERED) X (MODULE)

/* The calls that fail, and what they create. */
#define FAILING_CALLS(X) \
  X (cuDevicePrimaryCtxRetain, CONTEXT) \
  X (cuCtxPushCurrent, NOTHING) \
  X (cuCtxSynchronize, NOTHING) \
  X (cuStreamCreate, STREAM) \
  X (cuStreamWaitEvent, NOTHING) \
  X (cuStreamSynchronize, NOTHING) \
  X (cuStreamQuery, NOTHING) \
  X (cuEventCreate, EVENT) \
  X (cuEventRecord, NOTHING) \
  X (cuEventQuery, NOTHING) \
  X (cuEventSynchronize, NOTHING) \
  X (cuEventElapsedTime, NOTHING) \
  X (cuImportExternalMemory, EXTERNAL) \
  X (cuExternalMemoryGetMappedBuffer, MEMORY) \
  X (cuMemAlloc, MEMORY) \
  X (cuMemHostAlloc, PINNED) \
  X (cuMemHostRegister, REGISTERED) \
  X (cuMemcpyHtoDAsync, NOTHING) \
  X (cuMemcpyDtoHAsync, NOTHING) \
  X (cuModuleLoadDataEx, MODULE) \
  X (cuModuleGetFunction, NOTHING) \
  X (cuFuncGetAttribute, NOTHING) \
  X (cuOccupancyMaxPotentialBlockSize, NOTHING) \
  X (cuLaunchKernel, NOTHING)

/* The calls that destroy such objects. */
#define ENDING_CALLS(X) \
  X (cuDevicePrimaryCtxRelease, CONTEXT) \
  X (cuStreamDestroy, STREAM) \
  X (cuEventDestroy, EVENT) \
  X (cuDestroyExternalMemory, EXTERNAL) \
  X (cuMemFree, MEMORY) \
  X (cuMemFreeHost, PINNED) \
  X (cuMemHostUnregister, REGISTERED) \
  X (cuModuleUnload, MODULE)

#define KIND_ID(kind) kind,
#define KIND_NAME(kind) #kind,
#define CALL_ID(name, kind) CALL_##name,
#define CALL_NAME(name, kind) #name,

typedef enum { KINDS (KIND_ID) N_KINDS } Kind;
typedef enum { FAILING_CALLS (CALL_ID) N_CALLS } Call;

static const gchar *const kind_names[] = { KINDS (KIND_NAME) };
static const gchar *const call_names[] = { FAILING_CALLS (CALL_NAME) };

static vkgdr_cuda real;

typedef enum {
  ONCE,
  FOR_GOOD, /* this call and all later ones */
} Manner;

/* All of these variables are atomic. */
static gint made[N_CALLS]; /* since set_failing () */
static gint fails_call = -1;
static gint fails_at;
static gint fails_how;
static gint live[N_KINDS];

static gboolean
is_due (Call call)
{
  gint n = g_atomic_int_add (&made[call], 1) + 1;
  gint at = g_atomic_int_get (&fails_at);

  if (g_atomic_int_get (&fails_call) != (gint) call)
    return FALSE;
  return g_atomic_int_get (&fails_how) == ONCE ? n == at : n >= at;
}

/* Whether the result of the call says that the device has finished some work.
 * If such a call fails because the device is lost, no work may run any more. */
static gboolean
tells_of_work (Call call)
{
  return call == CALL_cuCtxSynchronize || call == CALL_cuStreamSynchronize
         || call == CALL_cuStreamQuery || call == CALL_cuEventQuery
         || call == CALL_cuEventSynchronize;
}

static gboolean
fails (Call call)
{
  if (!is_due (call))
    return FALSE;
  if (tells_of_work (call))
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

#define FAILING(name, kind) \
  static CUresult failing_##name (PARAMS) \
  { \
    CUresult result = \
        fails (CALL_##name) ? CUDA_ERROR_UNKNOWN : CALL_REAL (name); \
\
    if (result == CUDA_SUCCESS) \
      g_atomic_int_inc (&live[kind]); \
    return result; \
  }
FAILING_CALLS (FAILING)

#define ENDING(name, kind) \
  static CUresult ending_##name (PARAMS) \
  { \
    g_atomic_int_add (&live[kind], -1); \
    return CALL_REAL (name); \
  }
ENDING_CALLS (ENDING)

static void
install (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
#define INSTALL_FAILING(name, kind) *(void **) &table->name = failing_##name;
  FAILING_CALLS (INSTALL_FAILING)
#define INSTALL_ENDING(name, kind) *(void **) &table->name = ending_##name;
  ENDING_CALLS (INSTALL_ENDING)
}

/* Lets the @n-th @call from now on fail. */
static void
set_failing (gint call, gint n, Manner manner)
{
  guint i;

  g_atomic_int_set (&fails_call, -1);
  for (i = 0; i < N_CALLS; i++)
    g_atomic_int_set (&made[i], 0);
  g_atomic_int_set (&fails_at, n);
  g_atomic_int_set (&fails_how, manner);
  g_atomic_int_set (&fails_call, call);
}

static void
set_working (void)
{
  set_failing (-1, 0, ONCE);
}

/* Other threads may still hold the last references, so this waits some
 * seconds. */
static void
assert_nothing_lives (const gchar *what)
{
  gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;
  guint i;

  for (i = CONTEXT; i < N_KINDS; i++) {
    while (g_atomic_int_get (&live[i]) != 0 && g_get_monotonic_time () < end)
      g_usleep (2000);
    fail_unless (g_atomic_int_get (&live[i]) == 0, "%s: %d too many of: %s",
        what, g_atomic_int_get (&live[i]), kind_names[i]);
  }
}

/* --- the pipeline -------------------------------------------------------- */

typedef struct {
  const gchar *source; /* properties of testframes */
  const gchar *access;
  guint side; /* of the frames; foreign memory is pinned from 512 on */
  guint n_frames;
} Variant;

static const Variant variants[] = {
  { "buffers=2", "direct", 32, 3 },
  { "buffers=2", "staged", 32, 3 },
  { "buffers=1 foreign=true", "auto", 512, 3 },
};

#define N_VARIANTS ((gint) G_N_ELEMENTS (variants))

static gboolean has_window;

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

  run->variant = variant;
  run->pipeline = test_launch (
      "testframes num-buffers=%u %s ! "
      "video/x-raw,format=GRAY8,width=%u,height=%u,framerate=1000/1 ! "
      "vkgdrupload access=%s ! cudafilter kernel=invert ! vkgdrdownload ! "
      "appsink name=sink sync=false",
      variant->n_frames, variant->source, variant->side, variant->side,
      variant->access);
  gst_app_sink_set_callbacks (
      GST_APP_SINK (test_find (run->pipeline, "sink")), &callbacks, run, NULL);
}

/* Plays to the end, and stops the pipeline. */
static GError *
run_play (Run *run)
{
  run->frames = run->unmapped = 0;
  run->wrong = FALSE;
  return test_play_result (run->pipeline);
}

/* The calls work again. */
static void
check_works (Run *run, const gchar *what)
{
  GError *error;

  set_working ();
  error = run_play (run);
  fail_unless (!error, "%s: the next start fails: %s", what,
      error ? error->message : "");
  fail_unless (!run->wrong && run->frames == run->variant->n_frames,
      "%s: the next start does not work", what);
}

static gboolean leaks;

/* Called by the leak checker. If the context cannot be entered, its memory is
 * not freed. */
G_MODULE_EXPORT int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return leaks;
}

/* Lets the @n-th @call fail. A frame can be lost, with an error, but never has
 * wrong content. Returns whether the pipeline has made so many of these
 * calls. */
static gboolean
check_failure (
    const Variant *variant, Call call, gint n, Manner manner, guint fds)
{
  g_autofree gchar *what = g_strdup_printf ("%s, %s:%d%s", variant->access,
      call_names[call], n, manner == ONCE ? "" : " and all later ones");
  g_autoptr (GError) error = NULL;
  gboolean fired;
  Run run;

  run_init (&run, variant);
  set_failing (call, n, manner);
  error = run_play (&run);
  fired = g_atomic_int_get (&made[call]) >= n;
  fail_unless (!run.wrong, "%s: a frame has wrong bytes", what);
  if (error)
    fail_unless (strstr (error->message, call_names[call]) != NULL, "%s: %s",
        what, error->message);
  else
    fail_unless (run.frames + run.unmapped == variant->n_frames,
        "%s: %u frames without an error", what, run.frames);
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

/* Returns which call fails in the next round: each at first, then fewer. */
static gint
next_call (gint n, Manner manner)
{
  return manner != ONCE || test_is_slow () ? 2 * n : n + 1 + n / 4;
}

static void
check_failures (Call call, gint variant, Manner manner)
{
  const Variant *v = &variants[variant % N_VARIANTS];
  guint fds;
  gint n = 1;
  Run run;

  if (!test_is_software ())
    return;
  install ();
  leaks = call == CALL_cuCtxPushCurrent && manner != ONCE;
  /* Nothing tells then when a copy from upstream's memory has ended. Upstream
   * uses this memory again at the next start, which the thread sanitizer would
   * report. */
  if (leaks && test_is_slow ())
    v = &variants[0];
  run_init (&run, v);
  check_works (&run, v->access);
  gst_object_unref (run.pipeline);
  fds = test_count_fds ();
  while (n <= MAX_CALLS && check_failure (v, call, n, manner, fds))
    n = next_call (n, manner);
}

static void
setup (void)
{
  /* The test needs hundreds of starts. On a GPU, these take minutes, and test
   * nothing else. */
  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_DEBUG", "bar", FALSE); /* or "no-vulkan" */
  test_frames_register ();
  has_window = test_has_window ();
}

TEST_PARALLEL (2);

TEST_FIXTURE (setup, NULL);

/* Each call is tested with each variant, or with one of them if that takes too
 * long. Without a window, "direct" does the same as "staged". */
TEST_LOOP (each_call_fails, test_is_slow () ? N_CALLS : N_CALLS *N_VARIANTS)
{
  Call call = __i__ % N_CALLS;
  gint variant = test_is_slow () ? (gint) call : __i__ / N_CALLS;

  if (has_window || test_is_slow () || variant > 0)
    check_failures (call, variant, ONCE);
}

TEST_LOOP (each_call_goes_on_failing, N_CALLS)
{
  check_failures (__i__, __i__ + 1, FOR_GOOD);
}

/* --- memory that cannot be pinned ---------------------------------------- */

static gint n_told;

static void
count_told (GstDebugCategory *category, GstDebugLevel level, const gchar *file,
    const gchar *function, gint line, GObject *object, GstDebugMessage *message,
    gpointer user_data)
{
  if (level <= GST_LEVEL_INFO
      && strstr (gst_debug_message_get (message), "cannot be pinned"))
    g_atomic_int_inc (&n_told);
}

/* The memory that upstream recycles is copied instead, and one message says
 * so. Pinning is not tried again for each frame. */
TEST (memory_that_cannot_be_pinned)
{
  static const Variant variant = { "buffers=3 foreign=true", "auto", 512, 20 };
  guint i;
  Run run;

  if (!test_is_software ())
    return;
  install ();
  run_init (&run, &variant);
  gst_debug_set_threshold_for_name ("vkgdrpinning", GST_LEVEL_DEBUG);
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (count_told, NULL, NULL);
  set_failing (CALL_cuMemHostRegister, 1, FOR_GOOD);
  for (i = 0; i < 2; i++) {
    g_assert_no_error (run_play (&run));
    fail_unless (!run.wrong && run.frames == variant.n_frames);
  }
  fail_unless_equals_int (g_atomic_int_get (&n_told), 1);
  if (has_window) /* otherwise each frame is staged */
    fail_unless_equals_int (
        g_atomic_int_get (&made[CALL_cuMemcpyHtoDAsync]), 0);
  fail_unless (g_atomic_int_get (&made[CALL_cuMemHostRegister]) > 0);
  fail_unless (g_atomic_int_get (&made[CALL_cuMemHostRegister]) <= 2 * 3);
  gst_object_unref (run.pipeline);
  assert_nothing_lives ("pinning");
}

/* --- other elements ------------------------------------------------------ */

/* In these pipelines, no kernel with a time limit runs. The error of such a
 * kernel would come first. */
static const gchar *const others[] = {
  /* Upstream waits for its memory until the copy has ended. */
  "foreign=true buffers=1 ! %s ! vkgdrupload ! fakesink",
  "buffers=2 ! %s ! vkgdrupload ! vkgdrtensor width=8 height=8 ! fakesink",
  "buffers=2 ! %s ! vkgdripcsink socket-path=%s",
};

/* Plays one of these pipelines while the @n-th @call and all later ones fail.
 * Returns whether the pipeline has made so many of these calls. */
static gboolean
check_other (const gchar *other, Call call, gint n, const gchar *socket)
{
  g_autofree gchar *format =
      g_strconcat ("testframes num-buffers=20 ", other, NULL);
  GstElement *pipeline = test_launch (format,
      "video/x-raw,format=GRAY8,width=512,height=512,framerate=1000/1", socket);
  g_autoptr (GError) error = NULL;
  gboolean fired;

  set_failing (call, n, FOR_GOOD);
  error = test_play_result (pipeline);
  fired = g_atomic_int_get (&made[call]) >= n;
  /* If the import fails, memory is outside the window, which is an error only
   * for vkgdripcsink. */
  fail_unless (!error || strstr (error->message, call_names[call])
                   || (call == CALL_cuImportExternalMemory
                       && strstr (error->message, "no memory in the window")),
      "%s, %s:%d: %s", other, call_names[call], n, error ? error->message : "");
  set_working ();
  test_play (pipeline);
  gst_object_unref (pipeline);
  assert_nothing_lives (other);
  return fired;
}

static const Call other_calls[] = { CALL_cuEventQuery,
  CALL_cuImportExternalMemory, CALL_cuMemAlloc, CALL_cuMemHostAlloc };

/* An error that reaches the bus says which call has failed, even if the element
 * that cannot continue is upstream. */
TEST_LOOP (calls_of_other_elements_fail,
    G_N_ELEMENTS (other_calls) * G_N_ELEMENTS (others))
{
  const gchar *other = others[__i__ / G_N_ELEMENTS (other_calls)];
  Call call = other_calls[__i__ % G_N_ELEMENTS (other_calls)];
  g_autofree gchar *socket = NULL;
  gchar *folder;
  gint n = 1;

  /* Only memory in the window can be given to other processes. */
  if (!test_is_software () || (!has_window && strstr (other, "ipc")))
    return;
  install ();
  folder = g_dir_make_tmp ("vkgdr-failures-XXXXXX", NULL);
  socket = g_build_filename (folder, "socket", NULL);
  while (n <= MAX_CALLS && check_other (other, call, n, socket))
    n = 2 * n;
  folder_remove (folder);
}
