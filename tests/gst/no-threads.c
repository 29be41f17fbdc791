/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * no-threads.c: tests of a process that cannot create threads
 *
 * It continues, or reports the reason why it cannot. Buffers that the device
 * still reads are kept, with a thread and without one.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "gstvkgdrkeeper.h"
#include "ipc-process.h"
#include "util.h"

/* Threads of this name cannot be created. */
static const gchar *refused;
static gint n_refusals; /* atomic; how many threads were refused */

/* Replaces the function of GLib. */
__attribute__ ((visibility ("default"))) GThread *
g_thread_try_new (
    const gchar *name, GThreadFunc func, gpointer data, GError **error)
{
  static GThread *(*real) (const gchar *, GThreadFunc, gpointer, GError **);

  if (refused && g_strcmp0 (name, refused) == 0) {
    g_atomic_int_inc (&n_refusals);
    g_set_error_literal (
        error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "no thread to be had");
    return NULL;
  }
  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "g_thread_try_new");
  return real (name, func, data, error);
}

/* libvkgdr cannot create its next thread but so many; 0: no limit. */
static gint n_until_refusal; /* atomic */

/* Replaces the function of libc. */
__attribute__ ((visibility ("default"))) int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
    void *(*run) (void *), void *data)
{
  static int (*real) (
      pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
  Dl_info caller;

  if (g_atomic_int_get (&n_until_refusal) > 0
      && dladdr (__builtin_return_address (0), &caller) != 0
      && strstr (caller.dli_fname, "libvkgdr.so")
      && g_atomic_int_dec_and_test (&n_until_refusal))
    return EAGAIN;
  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "pthread_create");
  return real (thread, attributes, run, data);
}

/* The frames are in the source's own memory, and are large enough for DMA. */
#define PIPELINE \
  "videotestsrc num-buffers=20 ! " \
  "video/x-raw,format=RGBA,width=640,height=480 " \
  "! identity drop-allocation=true ! vkgdrupload ! cudafilter kernel=copy " \
  "kernel-timeout=0 ! " \
  "vkgdrdownload ! fakesink"

static const struct {
  const gchar *thread;
  const gchar *error; /* NULL if the pipeline works */
} cases[] = {
  { "cudafilter", "cannot be started: no thread to be had" },
  { "vkgdr-keeper", NULL },
  { "vkgdr-reclaim", NULL },
};

TEST_LOOP (pipelines, G_N_ELEMENTS (cases))
{
  g_autoptr (GstElement) pipeline = test_launch (PIPELINE);
  GError *error;

  refused = cases[__i__].thread;
  error = test_play_result (pipeline);
  if (cases[__i__].error)
    test_assert_says (error, cases[__i__].error);
  else
    g_assert_no_error (error);
  fail_unless (g_atomic_int_get (&n_refusals) > 0, "no thread was refused");
  refused = NULL;
  test_play (pipeline);
}

/* libvkgdr's first thread calls Vulkan. Without a window, the pipeline would be
 * slower, and the user would not know why. */
TEST_IF (vulkan, !test_hides_vulkan ())
{
  g_autoptr (GstElement) pipeline = test_launch (PIPELINE);

  g_atomic_int_set (&n_until_refusal, 1);
  test_assert_says (
      test_play_error (pipeline), "calls Vulkan cannot be started|ulimit -u");
  test_play (pipeline);
}

/* --- other processes ----------------------------------------------------- */

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* libvkgdr makes the threads of the server. Without Vulkan, it makes and ends a
 * thread before that, in which it looks for Vulkan. */
TEST_LOOP (ipc_sink, 2)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=20 ! vkgdripcsink socket-path=%s",
          test_ipc_path);

  g_atomic_int_set (&n_until_refusal, __i__ + 1 + test_hides_vulkan ());
  test_assert_says (
      test_play_error (pipeline), "serves clients cannot be started");
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  fail_if (gst_element_set_state (pipeline, GST_STATE_PAUSED)
           == GST_STATE_CHANGE_FAILURE);
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- the keeper ---------------------------------------------------------- */

static void
set_flag (gpointer flag)
{
  g_atomic_int_set ((gint *) flag, TRUE);
}

/* Keeps a buffer of ordinary memory until @stream has done the work that is
 * queued on it. Sets *@freed when the buffer is freed. */
static void
keep (GstVkgdrKeeper *keeper, GstVkgdrStream *stream, gint *freed)
{
  static guint8 data[64];
  g_autoptr (GstBuffer) buffer = gst_buffer_new_wrapped_full (
      0, data, sizeof (data), 0, sizeof (data), freed, set_flag);
  GstMapInfo *maps = g_new0 (GstMapInfo, 1);

  fail_unless (
      gst_memory_map (gst_buffer_peek_memory (buffer, 0), maps, GST_MAP_READ));
  gst_vkgdr_keeper_keep (
      keeper, buffer, maps, gst_vkgdr_stream_record (stream, NULL));
}

TEST_FIXTURE (test_setup, test_teardown);

TEST (keeper)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstVkgdrKeeper *keeper = gst_vkgdr_keeper_new ();
  gint done = FALSE, freed = FALSE;

  refused = "vkgdr-keeper";
  test_stream_delay (stream, 300, &done);
  keep (keeper, stream, &freed);
  fail_if (g_atomic_int_get (&freed) && !g_atomic_int_get (&done));
  test_wait_for (g_atomic_int_get (&freed));
  fail_unless (g_atomic_int_get (&done));
  gst_vkgdr_keeper_free (keeper);
}

/* For a while, the driver cannot be queried whether the work is done. The
 * buffer is kept until the driver can be queried, even if the keeper is freed
 * earlier. */
TEST (keeper_with_a_lost_fence)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstVkgdrKeeper *keeper = gst_vkgdr_keeper_new ();
  gint freed = FALSE, done = FALSE;

  test_stream_delay (stream, 500, &done);
  if (test_is_software ())
    test_make_calls_fail ("cuEventQuery:1+:CUDA_ERROR_OUT_OF_MEMORY,"
                          "cuCtxSynchronize:1+:CUDA_ERROR_OUT_OF_MEMORY");
  keep (keeper, stream, &freed);
  gst_vkgdr_keeper_free (keeper);
  if (test_is_software ())
    test_make_calls_fail (NULL);
  test_wait_for (g_atomic_int_get (&freed));
  fail_unless (g_atomic_int_get (&done));
}
