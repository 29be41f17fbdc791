/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * no-threads.c: tests of a process that cannot create threads
 *
 * It continues, or reports the reason why it cannot.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "ipc-process.h"
#include "util.h"

/* Threads of this name cannot be created; NULL: all can. */
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
      && g_atomic_int_dec_and_test (&n_until_refusal)) {
    g_atomic_int_inc (&n_refusals);
    return EAGAIN;
  }
  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "pthread_create");
  return real (thread, attributes, run, data);
}

/* The frames are in the source's own memory, and are large enough for DMA. */
#define PIPELINE \
  "videotestsrc num-buffers=20 ! " \
  "video/x-raw,format=RGBA,width=640,height=480 " \
  "! identity drop-allocation=true ! vkgdrupload name=upload ! cudafilter " \
  "kernel=copy " \
  "kernel-timeout=0 ! " \
  "vkgdrdownload ! fakesink"

static const struct {
  const gchar *thread; /* NULL: the first one of libvkgdr, which calls Vulkan */
  const gchar *error;  /* NULL if the pipeline works */
} cases[] = {
  { "cudafilter", "cannot be started: no thread to be had" },
  { "vkgdr-reclaim", NULL },
  { "vkgdr-timer", NULL },
  /* Without a window, the pipeline would be slower, and the user would not know
   * why. */
  { NULL, "calls Vulkan cannot be started|ulimit -u" },
};

static gint n_buffers; /* atomic; how many of the source are not freed */

static void
on_freed (gpointer unused)
{
  g_atomic_int_add (&n_buffers, -1);
}

static GstPadProbeReturn
watch_buffer (GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  GQuark quark = g_quark_from_static_string ("test-watched");
  GstMiniObject *buffer = GST_MINI_OBJECT (GST_PAD_PROBE_INFO_BUFFER (info));

  if (!gst_mini_object_get_qdata (buffer, quark)) {
    gst_mini_object_set_qdata (buffer, quark, &n_buffers, on_freed);
    g_atomic_int_inc (&n_buffers);
  }
  return GST_PAD_PROBE_OK;
}

/* The source gets all its buffers back. */
TEST_LOOP (pipelines, G_N_ELEMENTS (cases))
{
  g_autoptr (GstElement) pipeline = test_launch (PIPELINE);
  GError *error;

  test_add_probe (pipeline, "upload", "sink", GST_PAD_PROBE_TYPE_BUFFER,
      watch_buffer, NULL);
  refused = cases[__i__].thread;
  g_atomic_int_set (&n_until_refusal, !refused);
  error = test_play_result (pipeline);
  if (cases[__i__].error)
    test_assert_says (error, cases[__i__].error);
  else
    g_assert_no_error (error);
  fail_unless (g_atomic_int_get (&n_refusals) > 0, "no thread was refused");
  test_wait_for (g_atomic_int_get (&n_buffers) == 0);
  refused = NULL;
  test_play (pipeline);
}

/* --- other processes ----------------------------------------------------- */

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* libvkgdr makes the threads of the server. */
TEST_LOOP (ipc_sink, 2)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=20 ! vkgdripcsink socket-path=\"%s\"",
      test_ipc_path);

  g_atomic_int_set (&n_until_refusal, __i__ + 1);
  test_assert_says (
      test_play_error (pipeline), "serves clients cannot be started");
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  fail_if (gst_element_set_state (pipeline, GST_STATE_PAUSED)
           == GST_STATE_CHANGE_FAILURE);
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  gst_element_set_state (pipeline, GST_STATE_NULL);
}
