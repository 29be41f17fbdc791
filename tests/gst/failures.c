/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * failures.c: every call of the driver fails, at every place where a pipeline
 * makes it
 *
 * After each failure, the pipeline either continues with the right bytes or
 * reports which call has failed. It does not hang, nothing is left behind, and
 * its next start works. The tests replace the driver's functions in the table
 * that the library uses. Each test is a process of its own, and has its own
 * table. errors.c has the tests of SOFTCUDA_FAIL, which makes calls fail from
 * outside of a program.
 */

#include <gmodule.h>

#include "folder.h"
#include "slow.h"
#include "util.h"

/* --- the driver's table -------------------------------------------------- */

/* The calls that fail: name, parameters, arguments, and the kind of object that
 * a successful call creates, or NOTHING. */
#define FAILING_CALLS(X) \
  X (cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), \
      (context, device), CONTEXT) \
  X (cuCtxPushCurrent, (CUcontext context), (context), NOTHING) \
  X (cuCtxSynchronize, (void), (), NOTHING) \
  X (cuStreamCreate, (CUstream * stream, unsigned int flags), (stream, flags), \
      STREAM) \
  X (cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags), \
      (stream, event, flags), NOTHING) \
  X (cuStreamSynchronize, (CUstream stream), (stream), NOTHING) \
  X (cuStreamQuery, (CUstream stream), (stream), NOTHING) \
  X (cuEventCreate, (CUevent * event, unsigned int flags), (event, flags), \
      EVENT) \
  X (cuEventRecord, (CUevent event, CUstream stream), (event, stream), \
      NOTHING) \
  X (cuEventQuery, (CUevent event), (event), NOTHING) \
  X (cuEventSynchronize, (CUevent event), (event), NOTHING) \
  X (cuEventElapsedTime, (float *ms, CUevent start, CUevent end), \
      (ms, start, end), NOTHING) \
  X (cuImportExternalMemory, \
      (CUexternalMemory * memory, \
          const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc), \
      (memory, desc), EXTERNAL) \
  X (cuExternalMemoryGetMappedBuffer, \
      (CUdeviceptr * pointer, CUexternalMemory memory, \
          const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc), \
      (pointer, memory, desc), MEMORY) \
  X (cuMemAlloc, (CUdeviceptr * pointer, size_t size), (pointer, size), \
      MEMORY) \
  X (cuMemHostAlloc, (void **pointer, size_t size, unsigned int flags), \
      (pointer, size, flags), PINNED) \
  X (cuMemHostRegister, (void *pointer, size_t size, unsigned int flags), \
      (pointer, size, flags), REGISTERED) \
  X (cuMemcpyHtoDAsync, \
      (CUdeviceptr dst, const void *src, size_t size, CUstream stream), \
      (dst, src, size, stream), NOTHING) \
  X (cuMemcpyDtoHAsync, \
      (void *dst, CUdeviceptr src, size_t size, CUstream stream), \
      (dst, src, size, stream), NOTHING) \
  X (cuModuleLoadDataEx, \
      (CUmodule * module, const void *image, unsigned int n_options, \
          CUjit_option *options, void **values), \
      (module, image, n_options, options, values), MODULE) \
  X (cuModuleGetFunction, \
      (CUfunction * function, CUmodule module, const char *name), \
      (function, module, name), NOTHING) \
  X (cuFuncGetAttribute, \
      (int *value, CUfunction_attribute attribute, CUfunction function), \
      (value, attribute, function), NOTHING) \
  X (cuOccupancyMaxPotentialBlockSize, \
      (int *min_grid_size, int *block_size, CUfunction function, \
          CUoccupancyB2DSize shared_of_block, size_t shared_size, \
          int block_size_limit), \
      (min_grid_size, block_size, function, shared_of_block, shared_size, \
          block_size_limit), \
      NOTHING) \
  X (cuLaunchKernel, \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, \
          unsigned int grid_z, unsigned int block_x, unsigned int block_y, \
          unsigned int block_z, unsigned int shared_bytes, CUstream stream, \
          void **params, void **extra), \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
          shared_bytes, stream, params, extra), \
      NOTHING)

/* The calls that destroy such objects. */
#define ENDING_CALLS(X) \
  X (cuDevicePrimaryCtxRelease, (CUdevice device), (device), CONTEXT) \
  X (cuStreamDestroy, (CUstream stream), (stream), STREAM) \
  X (cuEventDestroy, (CUevent event), (event), EVENT) \
  X (cuDestroyExternalMemory, (CUexternalMemory memory), (memory), EXTERNAL) \
  X (cuMemFree, (CUdeviceptr pointer), (pointer), MEMORY) \
  X (cuMemFreeHost, (void *pointer), (pointer), PINNED) \
  X (cuMemHostUnregister, (void *pointer), (pointer), REGISTERED) \
  X (cuModuleUnload, (CUmodule module), (module), MODULE)

typedef enum {
  NOTHING,
  CONTEXT,
  STREAM,
  EVENT,
  EXTERNAL,
  MEMORY,
  PINNED,
  REGISTERED,
  MODULE,
  N_KINDS
} Kind;

static const gchar *const kind_names[N_KINDS] = { "nothing", "context",
  "stream", "event", "external memory", "device memory", "pinned memory",
  "registered memory", "module" };

typedef enum {
#define CALL_ID(name, params, arguments, kind) CALL_##name,
  FAILING_CALLS (CALL_ID)
#undef CALL_ID
      N_CALLS
} Call;

static const gchar *const call_names[N_CALLS] = {
#define CALL_NAME(name, params, arguments, kind) #name,
  FAILING_CALLS (CALL_NAME)
#undef CALL_NAME
};

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

#define FAILING(name, params, arguments, kind) \
  static CUresult failing_##name params \
  { \
    CUresult result = CUDA_ERROR_UNKNOWN; \
\
    if (!fails (CALL_##name)) \
      result = real.name arguments; \
    if (result == CUDA_SUCCESS) \
      g_atomic_int_inc (&live[kind]); \
    return result; \
  }
FAILING_CALLS (FAILING)

#define ENDING(name, params, arguments, kind) \
  static CUresult ending_##name params \
  { \
    g_atomic_int_add (&live[kind], -1); \
    return real.name arguments; \
  }
ENDING_CALLS (ENDING)

static void
install (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
#define INSTALL_FAILING(name, params, arguments, kind) \
  table->name = failing_##name;
  FAILING_CALLS (INSTALL_FAILING)
#define INSTALL_ENDING(name, params, arguments, kind) \
  table->name = ending_##name;
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

static gboolean
something_lives (void)
{
  guint i;

  for (i = CONTEXT; i < N_KINDS; i++)
    if (g_atomic_int_get (&live[i]) != 0)
      return TRUE;
  return FALSE;
}

/* Other threads may still hold the last references, so this waits some
 * seconds. */
static void
assert_nothing_lives (const gchar *what)
{
  guint i;

  for (i = 0; i < 500 && something_lives (); i++)
    g_usleep (10 * 1000);
  for (i = CONTEXT; i < N_KINDS; i++)
    fail_unless (g_atomic_int_get (&live[i]) == 0, "%s: %d too many of: %s",
        what, g_atomic_int_get (&live[i]), kind_names[i]);
}

/* --- the pipeline -------------------------------------------------------- */

#define N_FRAMES 3

static const struct {
  const gchar *name;
  const gchar *source; /* properties of testframes */
  const gchar *access;
  guint side; /* of the frames; foreign memory is pinned from 512 on */
} variants[] = {
  { "direct", "buffers=2", "direct", 32 },
  { "staged", "buffers=2", "staged", 32 },
  { "foreign", "buffers=1 foreign=true", "auto", 512 },
};

static gboolean has_window;

typedef struct {
  GstElement *pipeline;
  guint side;
  guint frames;   /* with the right content */
  guint unmapped; /* which the sink could not map */
  gboolean wrong;
} Run;

static GstFlowReturn
check_sample (GstAppSink *sink, gpointer user_data)
{
  Run *run = user_data;
  GstSample *sample = gst_app_sink_pull_sample (sink);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  guint frame = GST_BUFFER_PTS (buffer) / GST_MSECOND, x, y;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    run->unmapped++;
    gst_sample_unref (sample);
    return GST_FLOW_OK;
  }
  for (y = 0; y < run->side; y++)
    for (x = 0; x < run->side; x++)
      run->wrong |=
          map.data[y * run->side + x] != 255 - test_frame_byte (frame, x, y);
  run->frames++;
  gst_buffer_unmap (buffer, &map);
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

static void
run_init (Run *run, guint variant)
{
  GstAppSinkCallbacks callbacks = { .new_sample = check_sample };
  g_autoptr (GstElement) sink = NULL;

  run->side = variants[variant].side;
  run->pipeline = test_launch (
      "testframes num-buffers=%d %s ! "
      "video/x-raw,format=GRAY8,width=%u,height=%u,framerate=1000/1 ! "
      "vkgdrupload access=%s ! cudafilter kernel=invert ! vkgdrdownload ! "
      "appsink name=sink sync=false",
      N_FRAMES, variants[variant].source, run->side, run->side,
      variants[variant].access);
  sink = gst_bin_get_by_name (GST_BIN (run->pipeline), "sink");
  gst_app_sink_set_callbacks (GST_APP_SINK (sink), &callbacks, run, NULL);
}

/* Plays to the end, and stops the pipeline. */
static GError *
run_play (Run *run)
{
  run->frames = run->unmapped = 0;
  run->wrong = FALSE;
  return test_play_result (run->pipeline);
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

/* A frame can be lost, with an error, but never has wrong content. */
static void
check_result (Run *run, const gchar *what, const gchar *call, GError *error)
{
  fail_unless (!run->wrong, "%s: a frame has wrong bytes", what);
  if (error)
    fail_unless (
        strstr (error->message, call) != NULL, "%s: %s", what, error->message);
  else
    fail_unless (run->frames + run->unmapped == N_FRAMES,
        "%s: %u frames without an error", what, run->frames);
}

static void
check_works (Run *run, const gchar *what)
{
  GError *error;

  set_working ();
  error = run_play (run);
  fail_unless (!error, "%s: the next start fails: %s", what,
      error ? error->message : "");
  fail_unless (!run->wrong && run->frames == N_FRAMES,
      "%s: the next start does not work", what);
}

/* Lets the @n-th @call fail. Returns whether the pipeline has made so many of
 * these calls. */
static gboolean
check_failure (guint variant, Call call, gint n, Manner manner, guint fds)
{
  g_autofree gchar *what =
      g_strdup_printf ("%s, %s:%d%s", variants[variant].name, call_names[call],
          n, manner == ONCE ? "" : " and all later ones");
  gboolean fired;
  GError *error;
  Run run;

  run_init (&run, variant);
  set_failing (call, n, manner);
  error = run_play (&run);
  fired = g_atomic_int_get (&made[call]) >= n;
  check_result (&run, what, call_names[call], error);
  check_works (&run, what);
  g_clear_error (&error);
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

/* Returns which call fails in the next round. */
static gint
next_call (gint n, Manner manner)
{
  if (manner != ONCE || test_is_slow ())
    return 2 * n;
  return n + 1 + n / 8; /* each call at first, then fewer */
}

/* Each call is tested with each variant. If that takes too long, it is tested
 * with one variant. */
static gint
count_cases (void)
{
  return test_is_slow () ? N_CALLS : N_CALLS * G_N_ELEMENTS (variants);
}

/* Without a window, "direct" does the same as "staged". If each call is tested
 * with one variant, all cases are needed. */
static gboolean
is_repetition (guint variant)
{
  return !has_window && !test_is_slow ()
         && g_str_equal (variants[variant].access, "direct");
}

static void
check_failures (gint i, Manner manner)
{
  Call call = i % N_CALLS;
  guint variant = (i / N_CALLS + call + manner) % G_N_ELEMENTS (variants);
  guint fds;
  gint n = 1;
  Run run;

  if (!test_is_software () || is_repetition (variant))
    return;
  install ();
  leaks = call == CALL_cuCtxPushCurrent && manner != ONCE;
  /* Nothing tells then when a copy from upstream's memory has ended. Upstream
   * uses this memory again at the next start, which the thread sanitizer would
   * report. */
  if (leaks && test_is_slow ())
    variant = 0;
  run_init (&run, variant);
  check_works (&run, variants[variant].name);
  gst_object_unref (run.pipeline);
  fds = test_count_fds ();
  while (n <= MAX_CALLS && check_failure (variant, call, n, manner, fds))
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

TEST_LOOP (each_call_fails, count_cases ())
{
  check_failures (__i__, ONCE);
}

TEST_LOOP (each_call_goes_on_failing, count_cases ())
{
  check_failures (__i__, FOR_GOOD);
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
 * so. */
TEST (memory_that_cannot_be_pinned)
{
  GstElement *pipeline;

  if (!test_is_software ())
    return;
  install ();
  pipeline = test_launch (
      "testframes num-buffers=20 buffers=3 foreign=true ! "
      "video/x-raw,format=GRAY8,width=512,height=512,framerate=1000/1 ! "
      "vkgdrupload ! fakesink");

  gst_debug_set_threshold_for_name ("vkgdrpinning", GST_LEVEL_DEBUG);
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (count_told, NULL, NULL);
  set_failing (CALL_cuMemHostRegister, 1, FOR_GOOD);
  test_play (pipeline);
  test_play (pipeline);
  fail_unless_equals_int (g_atomic_int_get (&n_told), 1);
  if (has_window) /* otherwise each frame is staged */
    fail_unless_equals_int (
        g_atomic_int_get (&made[CALL_cuMemcpyHtoDAsync]), 0);
  fail_unless (g_atomic_int_get (&made[CALL_cuMemHostRegister]) > 0);
  /* Pinning is not tried again for each frame. */
  fail_unless (g_atomic_int_get (&made[CALL_cuMemHostRegister]) <= 2 * 3);
  gst_object_unref (pipeline);
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
check_other (guint other, Call call, gint n, const gchar *socket)
{
  g_autofree gchar *format =
      g_strconcat ("testframes num-buffers=20 ", others[other], NULL);
  GstElement *pipeline = test_launch (format,
      "video/x-raw,format=GRAY8,width=512,height=512,framerate=1000/1", socket);
  gboolean fired;
  GError *error;

  set_failing (call, n, FOR_GOOD);
  error = test_play_result (pipeline);
  fired = g_atomic_int_get (&made[call]) >= n;
  /* If the import fails, memory is outside the window, which is an error only
   * for vkgdripcsink. */
  fail_unless (!error || strstr (error->message, call_names[call])
                   || (call == CALL_cuImportExternalMemory
                       && strstr (error->message, "no memory in the window")),
      "%s, %s:%d: %s", others[other], call_names[call], n,
      error ? error->message : "");
  g_clear_error (&error);
  set_working ();
  test_play (pipeline);
  gst_object_unref (pipeline);
  assert_nothing_lives (others[other]);
  return fired;
}

/* An error that reaches the bus says which call has failed, even if the element
 * that cannot continue is upstream. */
TEST_LOOP (calls_of_other_elements_fail, 4 * G_N_ELEMENTS (others))
{
  static const Call calls[] = { CALL_cuEventQuery, CALL_cuImportExternalMemory,
    CALL_cuMemAlloc, CALL_cuMemHostAlloc };
  guint other = __i__ / G_N_ELEMENTS (calls);
  Call call = calls[__i__ % G_N_ELEMENTS (calls)];
  gchar *folder, *socket;
  gint n = 1;

  /* Only memory in the window can be given to other processes. */
  if (!test_is_software () || (!has_window && strstr (others[other], "ipc")))
    return;
  install ();
  folder = g_dir_make_tmp ("vkgdr-failures-XXXXXX", NULL);
  socket = g_build_filename (folder, "socket", NULL);
  while (n <= MAX_CALLS && check_other (other, call, n, socket))
    n = 2 * n;
  folder_remove (folder);
  g_free (socket);
}
