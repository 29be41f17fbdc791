/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * util.c: see util.h
 */

#include "util.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gst/base/gstpushsrc.h>

#include "slow.h"

TestSpy test_spy;

GstVkgdrContext *
test_context_new (void)
{
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (-1, &error);

  g_assert_no_error (error);
  return context;
}

GstVkgdrContext *test_context;

void
test_setup (void)
{
  test_context = test_context_new ();
}

gboolean
test_hides_vulkan (void)
{
  return g_strcmp0 (g_getenv ("VKGDR_DEBUG"), "no-vulkan") == 0;
}

void
test_set_debug (const gchar *words)
{
  if (!test_hides_vulkan ())
    g_setenv ("VKGDR_DEBUG", words, TRUE);
}

void
test_setup_bar (void)
{
  test_set_debug ("bar");
  test_setup ();
}

void
test_assert_last_ref (GstVkgdrContext *context)
{
  test_wait_for (GST_OBJECT_REFCOUNT_VALUE (context) == 1);
}

void
test_teardown (void)
{
  test_assert_last_ref (test_context);
  gst_object_unref (test_context);
}

void
test_set_context (GstElement *element, GstVkgdrContext *context)
{
  g_autoptr (GstContext) wrapped = gst_vkgdr_context_to_gst_context (context);

  gst_element_set_context (element, wrapped);
}

void
test_set_environment (const gchar *settings)
{
  g_auto (GStrv) list = g_strsplit (settings, " ", -1);
  guint i;

  for (i = 0; list[i]; i++) {
    g_auto (GStrv) pair = g_strsplit (list[i], "=", 2);

    if (pair[0])
      g_setenv (pair[0], pair[1], TRUE);
  }
}

GstHarness *
test_harness_parse (const gchar *description)
{
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description (description, TRUE, &error);
  GstHarness *h;

  g_assert_no_error (error);
  gst_object_ref_sink (bin);
  test_set_context (bin, test_context);
  h = gst_harness_new_with_element (bin, "sink", "src");
  gst_object_unref (bin);
  return h;
}

guint64
test_stat (GstElement *element, const gchar *field)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, field, &value), "%s has no %s",
      GST_OBJECT_NAME (element), field);
  return value;
}

guint64
test_stat_of (GstElement *bin, const gchar *name, const gchar *field)
{
  return test_stat (test_find (bin, name), field);
}

GstVkgdrAllocator *
test_allocator (void)
{
  return gst_vkgdr_context_get_allocator (test_context);
}

GstVkgdrStream *
test_stream_new (GstVkgdrContext *context)
{
  GError *error = NULL;
  GstVkgdrStream *stream = gst_vkgdr_stream_new (context, &error);

  g_assert_no_error (error);
  return stream;
}

GstBufferPool *
test_pool_new (const gchar *caps, guint size, guint min, guint max)
{
  return test_pool_start (
      gst_vkgdr_buffer_pool_new (test_context), caps, size, min, max);
}

GstBufferPool *
test_pool_start (
    GstBufferPool *pool, const gchar *caps, guint size, guint min, guint max)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstCaps) parsed = caps ? gst_caps_from_string (caps) : NULL;

  gst_buffer_pool_config_set_params (config, parsed, size, min, max);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

GstBuffer *
test_pool_acquire (GstBufferPool *pool)
{
  GstBuffer *buffer = NULL;

  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  return buffer;
}

void
test_pool_free (GstBufferPool *pool)
{
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
}

/* Returns the device pointer of the first memory of @buffer, also of memory of
 * GStreamer's CUDA elements, or 0. */
static guint64
get_device_pointer (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  guint64 pointer;
  GstMapInfo map;

  if (gst_is_vkgdr_memory (memory))
    return gst_vkgdr_memory_get_device_pointer (memory);
  if (!gst_vkgdr_is_cuda_memory (memory))
    return 0;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  pointer = (guintptr) map.data;
  gst_memory_unmap (memory, &map);
  return pointer;
}

void
test_add_probe (GstElement *bin, const gchar *name, const gchar *pad,
    GstPadProbeType type, GstPadProbeCallback callback, gpointer user_data)
{
  g_autoptr (GstPad) p =
      gst_element_get_static_pad (test_find (bin, name), pad);

  fail_unless (p != NULL, "%s:%s", name, pad);
  gst_pad_add_probe (p, type, callback, user_data, NULL);
}

static GstPadProbeReturn
note_pointer (GstPad *pad, GstPadProbeInfo *info, gpointer pointers)
{
  guint64 pointer = get_device_pointer (GST_PAD_PROBE_INFO_BUFFER (info));

  g_array_append_val ((GArray *) pointers, pointer);
  return GST_PAD_PROBE_OK;
}

GArray *
test_note_pointers (GstElement *bin, const gchar *name, const gchar *pad)
{
  GArray *pointers = g_array_new (FALSE, FALSE, sizeof (guint64));

  test_add_probe (
      bin, name, pad, GST_PAD_PROBE_TYPE_BUFFER, note_pointer, pointers);
  return pointers;
}

GstVkgdrFunction *
test_function_new (GstVkgdrContext *context, const gchar *source)
{
  GError *error = NULL;
  g_autoptr (GstVkgdrModule) module =
      gst_vkgdr_module_new_from_source (context, source, "test", &error);
  GstVkgdrFunction *function;

  g_assert_no_error (error);
  function = gst_vkgdr_module_get_function (module, NULL, &error);
  g_assert_no_error (error);
  return function;
}

GstMemory *
test_memory_new (GstVkgdrContext *context, gsize size)
{
  g_autoptr (GstVkgdrAllocator) allocator =
      gst_vkgdr_context_get_allocator (context);
  GError *error = NULL;
  GstMemory *memory = gst_vkgdr_allocator_alloc (allocator, size, &error);

  g_assert_no_error (error);
  return memory;
}

GstBuffer *
test_exportable_buffer_new (gsize size)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_exportable (allocator, size, NULL);
  GstBuffer *buffer = gst_buffer_new ();

  fail_unless (memory != NULL);
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

typedef struct {
  guint ms;
  gint *done;
} Delay;

static void
delay (void *user_data)
{
  g_autofree Delay *d = user_data;

  g_usleep (d->ms * 1000);
  if (d->done)
    g_atomic_int_set (d->done, TRUE);
}

void
test_stream_delay (GstVkgdrStream *stream, guint ms, gint *done)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  Delay *d = g_new (Delay, 1);

  d->ms = ms;
  d->done = done;
  fail_unless (gst_vkgdr_context_push (context, NULL));
  fail_unless_equals_int (
      cuda->cuLaunchHostFunc (gst_vkgdr_stream_get_handle (stream), delay, d),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);
}

guint8 *
test_device_bytes (GstMemory *memory)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  GstVkgdrContext *context = gst_vkgdr_memory_get_context (memory);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  guint8 *data = g_malloc (memory->size);

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL)
      && gst_vkgdr_context_push (context, NULL));
  fail_unless_equals_int (
      cuda->cuMemcpyDtoHAsync (data,
          gst_vkgdr_memory_get_device_pointer (memory), memory->size,
          gst_vkgdr_stream_get_handle (stream)),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);
  fail_unless (gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL)
               && gst_vkgdr_stream_synchronize (stream, NULL));
  return data;
}

void
test_write (GstMemory *memory, guint seed)
{
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, seed);
  gst_memory_unmap (memory, &map);
}

void
test_assert_read (GstMemory *memory, guint seed)
{
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, memory->size);
  fail_unless (test_matches (map.data, map.size, seed));
  gst_memory_unmap (memory, &map);
}

void
test_assert_device (GstMemory *memory, guint seed)
{
  g_autofree guint8 *data = test_device_bytes (memory);

  fail_unless (test_matches (data, memory->size, seed));
}

guint8 *
test_buffer_bytes (GstBuffer *buffer, gsize *size)
{
  gpointer data;

  gst_buffer_extract_dup (buffer, 0, -1, &data, size);
  return data;
}

void
test_assert_says (GError *error, const gchar *parts)
{
  fail_unless (error != NULL, "there is no error, instead of: %s", parts);
  test_assert_contains (error->message, parts);
  g_error_free (error);
}

void
test_assert_fds (guint expected)
{
  g_autofree gchar *list = g_strdup_printf ("ls -l /proc/%d/fd", getpid ());
  gint64 deadline = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;

  while (test_count_fds () > expected && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  if (test_count_fds () > expected)
    fail ("not %u file descriptors: %d", expected, system (list));
}

GstElement *
test_launch (const gchar *format, ...)
{
  GError *error = NULL;
  GstElement *pipeline;
  g_autofree gchar *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  pipeline = gst_parse_launch (text, &error);
  fail_unless (error == NULL, "%s: %s", text, error ? error->message : "");
  return pipeline;
}

GstElement *
test_find (GstElement *bin, const gchar *name)
{
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (bin), name);

  fail_unless (element != NULL, "there is no %s", name);
  return element;
}

GstVkgdrContext *
test_context_of (GstElement *bin, const gchar *name)
{
  return gst_vkgdr_base_transform_get_context (
      GST_VKGDR_BASE_TRANSFORM (test_find (bin, name)));
}

gchar *
test_message_text (GstMessage *message)
{
  const GstStructure *fields = gst_message_get_structure (message);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *details = NULL;

  if (fields)
    gst_structure_get (fields, "gerror", G_TYPE_ERROR, &error, "debug",
        G_TYPE_STRING, &details, NULL);
  return g_strdelimit (
      g_strdup_printf ("%s of %s: %s (%s)", GST_MESSAGE_TYPE_NAME (message),
          GST_MESSAGE_SRC_NAME (message), error ? error->message : "no text",
          details ? details : "no details"),
      "\n", ' ');
}

void
test_preroll (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = NULL;
  g_autofree gchar *text = NULL;
  GstStateChangeReturn result;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  result = gst_element_get_state (pipeline, NULL, NULL, 50 * GST_SECOND);
  if (result == GST_STATE_CHANGE_SUCCESS)
    return;
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  text = message ? test_message_text (message) : NULL;
  fail ("not in PAUSED: %s, %s",
      gst_element_state_change_return_get_name (result),
      text ? text : "without an error");
}

/* Plays until the end or until an error, which it returns. With @parts, plays
 * until an error that contains them. */
static GError *
play_until (GstElement *pipeline, const gchar *parts)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessageType types = GST_MESSAGE_ERROR | (parts ? 0 : GST_MESSAGE_EOS);
  GError *error = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  do {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, test_is_slow () ? GST_CLOCK_TIME_NONE : 50 * GST_SECOND, types);

    fail_unless (message != NULL,
        "neither \"%s\" nor an end; the last error: %s", parts,
        error ? error->message : "none");
    g_clear_error (&error);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
  } while (parts && !test_contains (error->message, parts));
  return error;
}

void
test_play_on (GstElement *pipeline)
{
  GError *error = play_until (pipeline, NULL);

  g_assert_no_error (error);
}

GError *
test_play_result (GstElement *pipeline)
{
  GError *error = play_until (pipeline, NULL);

  gst_element_set_state (pipeline, GST_STATE_NULL);
  return error;
}

GError *
test_play_error (GstElement *pipeline)
{
  GError *error = test_play_result (pipeline);

  fail_unless (error != NULL, "there was no error");
  return error;
}

GError *
test_play_error_with (GstElement *pipeline, const gchar *parts)
{
  GError *error = play_until (pipeline, parts);

  gst_element_set_state (pipeline, GST_STATE_NULL);
  return error;
}

void
test_play (GstElement *pipeline)
{
  GError *error = test_play_result (pipeline);

  g_assert_no_error (error);
}

GPtrArray *
test_play_buffers (GstElement *pipeline)
{
  GPtrArray *buffers =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_buffer_unref);
  GstAppSink *sink = GST_APP_SINK (test_find (pipeline, "sink"));
  GstSample *sample;

  g_object_set (sink, "sync", FALSE, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_try_pull_sample (sink, 50 * GST_SECOND))) {
    g_ptr_array_add (buffers, gst_buffer_ref (gst_sample_get_buffer (sample)));
    gst_sample_unref (sample);
  }
  test_play (pipeline);
  return buffers;
}

/* --- a source ------------------------------------------------------------ */

guint8
test_frame_byte (guint frame, guint x, guint y)
{
  return (guint8) (frame * 7 + y * 5 + x);
}

#define TEST_TYPE_FRAMES (test_frames_get_type ())
G_DECLARE_FINAL_TYPE (TestFrames, test_frames, TEST, FRAMES, GstPushSrc)

struct _TestFrames {
  GstPushSrc parent;

  guint buffers;
  GstVideoInfo info;
  guint frame;
};

G_DEFINE_TYPE (TestFrames, test_frames, GST_TYPE_PUSH_SRC)

enum { PROP_BUFFERS = 1 };

static gboolean
frames_start (GstBaseSrc *src)
{
  TEST_FRAMES (src)->frame = 0;
  return TRUE;
}

static gboolean
frames_set_caps (GstBaseSrc *src, GstCaps *caps)
{
  return gst_video_info_from_caps (&TEST_FRAMES (src)->info, caps);
}

static gboolean
frames_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  TestFrames *self = TEST_FRAMES (src);
  GstBufferPool *pool = NULL;
  guint size, min, max;

  if (gst_query_get_n_allocation_pools (query) > 0) {
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool (
        query, 0, pool, size, self->buffers, max);
  } else {
    pool = gst_video_buffer_pool_new ();
    gst_query_add_allocation_pool (
        query, pool, self->info.size, 0, self->buffers);
  }
  gst_clear_object (&pool);
  return GST_BASE_SRC_CLASS (test_frames_parent_class)
      ->decide_allocation (src, query);
}

static GstFlowReturn
frames_fill (GstPushSrc *src, GstBuffer *buffer)
{
  TestFrames *self = TEST_FRAMES (src);
  GstVideoFrame frame;
  gint x, y;

  if (!gst_video_frame_map (&frame, &self->info, buffer, GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, WRITE, ("A buffer cannot be mapped."), (NULL));
    return GST_FLOW_ERROR;
  }
  for (y = 0; y < self->info.height; y++)
    for (x = 0; x < self->info.width; x++)
      ((guint8 *) frame.data[0])[y * frame.info.stride[0] + x] =
          test_frame_byte (self->frame, x, y);
  gst_video_frame_unmap (&frame);
  GST_BUFFER_PTS (buffer) = self->frame++ * GST_MSECOND;
  return GST_FLOW_OK;
}

static void
frames_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  TEST_FRAMES (object)->buffers = g_value_get_uint (value);
}

static void
test_frames_class_init (TestFramesClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *src_class = GST_BASE_SRC_CLASS (klass);
  g_autoptr (GstCaps) caps =
      gst_caps_from_string (GST_VIDEO_CAPS_MAKE ("GRAY8"));

  G_OBJECT_CLASS (klass)->set_property = frames_set_property;
  g_object_class_install_property (G_OBJECT_CLASS (klass), PROP_BUFFERS,
      g_param_spec_uint ("buffers", "Buffers", "Buffers in the pool", 1, 100, 4,
          G_PARAM_WRITABLE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS));
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_element_class_set_static_metadata (element_class, "Test frames",
      "Source/Video", "Makes frames that can be told apart", "nobody");
  src_class->start = frames_start;
  src_class->set_caps = frames_set_caps;
  src_class->decide_allocation = frames_decide_allocation;
  GST_PUSH_SRC_CLASS (klass)->fill = frames_fill;
}

static void
test_frames_init (TestFrames *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

void
test_frames_register (void)
{
  gst_element_register (NULL, "testframes", GST_RANK_NONE, TEST_TYPE_FRAMES);
}

/* --- calls of the driver ------------------------------------------------- */

vkgdr_cuda *
test_change_driver (vkgdr_cuda *copy)
{
  *copy = *vkgdr_driver_load ();
  return (vkgdr_cuda *) vkgdr_driver_load ();
}

static vkgdr_cuda real;

static CUresult
spy_htod (CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  g_atomic_int_inc ((gint *) &test_spy.htod);
  if (test_spy.before)
    test_spy.before (stream);
  return real.cuMemcpyHtoDAsync (dst, src, size, stream);
}

static CUresult
spy_dtoh (void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
  g_atomic_int_inc ((gint *) &test_spy.dtoh);
  if (test_spy.before)
    test_spy.before (stream);
  return real.cuMemcpyDtoHAsync (dst, src, size, stream);
}

void
test_spy_install (GstVkgdrContext *context)
{
  vkgdr_cuda *table = test_change_driver (&real);

  table->cuMemcpyHtoDAsync = spy_htod;
  table->cuMemcpyDtoHAsync = spy_dtoh;
}

gboolean
test_is_software (void)
{
  return vkgdr_driver_load () && vkgdr_driver_is_software ();
}

/* A child process looks for the device, because each test is forked from this
 * process, and CUDA does not work in a process that is forked after CUDA was
 * started. */
static void
require_driver (gboolean software)
{
  int status = 1;
  pid_t child = fork ();

  if (child == 0)
    _exit (!vkgdr_driver_load () || vkgdr_driver_is_software () != software);
  if (child < 0 || waitpid (child, &status, 0) != child || status != 0) {
    g_print ("skipped: %s\n",
        software ? "not the software device" : "there is no NVIDIA GPU");
    exit (77); /* for Meson, this means skipped */
  }
}

void
test_require_software (void)
{
  require_driver (TRUE);
}

void
test_require_gpu (void)
{
  require_driver (FALSE);
}

gboolean
test_has_window (void)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstStructure) description = gst_vkgdr_context_describe (context);
  gboolean has_window = FALSE;

  g_assert (gst_structure_get_boolean (description, "has-window", &has_window));
  return has_window;
}

/* Returns a function of the software driver. The library keeps this driver
 * loaded. */
static void *
find_in_driver (const gchar *name)
{
  g_autofree gchar *path =
      g_build_filename (vkgdr_driver_softcuda_dir (), "libcuda.so.1", NULL);
  void *driver = dlopen (path, RTLD_NOW | RTLD_NOLOAD);
  void *symbol;

  fail_unless (driver != NULL, "%s", path);
  symbol = dlsym (driver, name);
  fail_unless (symbol != NULL, "%s", name);
  dlclose (driver);
  return symbol;
}

void
test_make_calls_fail (const gchar *spec)
{
  CUresult (*make_fail) (const char *spec) = NULL;

  *(void **) &make_fail = find_in_driver ("softcudaFail");
  fail_unless_equals_int (make_fail (spec), CUDA_SUCCESS);
}

gulong
test_count_calls (const gchar *name)
{
  unsigned long (*count) (const char *name) = NULL;

  *(void **) &count = find_in_driver ("softcudaCountCalls");
  return count (name);
}

static gboolean
is_pending (GstElement *filter)
{
  gboolean pending = FALSE;
  g_autoptr (GstStructure) stats = NULL;

  g_object_get (filter, "stats", &stats, NULL);
  fail_unless (gst_structure_get_boolean (stats, "pending", &pending));
  return pending;
}

void
test_settle (GstElement *filter)
{
  test_wait_for (!is_pending (filter));
}
