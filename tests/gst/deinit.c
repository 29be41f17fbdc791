/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * deinit.c: tests that gst_deinit () ends the library's threads
 *
 * Otherwise they would use objects of GStreamer after these are freed. A
 * process can call gst_deinit () only once, so each case is a process of its
 * own.
 */

#include <unistd.h>

#include "slow.h"
#include "util.h"

/* How long the device is still busy when gst_deinit () is called, in
 * milliseconds. gst_deinit () waits until the end of SHORT_WORK, but not until
 * the end of LONG_WORK. */
#define SHORT_WORK 300
#define LONG_WORK 8000

/* The longest time of gst_deinit (), in microseconds. */
#define LIMIT (5 * G_TIME_SPAN_SECOND)

/* --- in the process that ends -------------------------------------------- */

static gint is_done;

/* Runs a pipeline that starts a thread for its kernels, and a thread that frees
 * memory. */
static void
play (void)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=64 "
      "! vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload ! fakesink");

  test_play (pipeline);
}

static void
finish (gpointer user_data)
{
  g_atomic_int_set (&is_done, TRUE);
}

/* Keeps the device busy for @ms milliseconds. The library then calls
 * finish (). */
static void
release_later (guint ms)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  g_autoptr (GstVkgdrFence) fence = NULL;

  test_stream_delay (stream, ms, NULL);
  fence = gst_vkgdr_stream_record (stream, NULL);
  fail_unless (fence != NULL);
  gst_vkgdr_fence_release_later (fence, finish, NULL);
}

/* Returns the number of threads of this process whose names begin with
 * "vkgdr". */
static guint
count_threads (void)
{
  GDir *folder = g_dir_open ("/proc/self/task", 0, NULL);
  const gchar *id;
  guint n = 0;

  fail_unless (folder != NULL);
  while ((id = g_dir_read_name (folder))) {
    g_autofree gchar *path =
        g_build_filename ("/proc/self/task", id, "comm", NULL);
    g_autofree gchar *name = NULL;

    if (g_file_get_contents (path, &name, NULL, NULL)
        && g_str_has_prefix (name, "vkgdr"))
      n++;
  }
  g_dir_close (folder);
  return n;
}

typedef enum { IDLE, SHORT, LONG } Work;

static const gchar *const works[] = { "idle", "short", "long" };

static gint
find_work (void)
{
  const gchar *wanted = test_again ();
  gint i;

  for (i = 0; wanted && i < (gint) G_N_ELEMENTS (works); i++)
    if (g_str_equal (wanted, works[i]))
      return i;
  return -1;
}

TEST_PARALLEL (3);

/* The value of test_again () is the name of the work that it does first. */
TEST_IF (end, test_again ())
{
  Work work = find_work ();
  gint64 begun;

  if (work == IDLE)
    play ();
  else
    release_later (work == SHORT ? SHORT_WORK : LONG_WORK);
  while (count_threads () == 0) /* a thread gets its name when it first runs */
    g_usleep (1000);
  begun = g_get_monotonic_time ();
  gst_deinit ();
  fail_unless (g_get_monotonic_time () - begun < test_limit (LIMIT));
  fail_unless (work != SHORT || g_atomic_int_get (&is_done));
  /* The system lists a thread for a moment after its end. LONG_WORK takes
   * longer than all of this, so no thread ends only because it has ended. */
  begun = g_get_monotonic_time ();
  while (count_threads () > 0) {
    fail_unless (g_get_monotonic_time () - begun < 2 * G_TIME_SPAN_SECOND,
        "a thread is left");
    g_usleep (1000);
  }
  _exit (0); /* GstCheck calls gst_deinit () when the process exits */
}

/* --- the test ------------------------------------------------------------ */

TEST_LOOP (no_thread_is_left, G_N_ELEMENTS (works))
{
  test_run_again ("end", works[__i__]);
}
