/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * states.c: tests of the elements in every order of states
 *
 * The elements run alone and in pipelines, with and without waits, with
 * flushes, and are stopped by another thread while data flow. Each change of
 * state has to succeed, data flow in PLAYING, nothing is held in READY, and
 * nothing is left at the end. The bytes are tested in elements.c.
 */

#include <gst/base/base.h>

#include "slow.h"
#include "util.h"

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampleborder)
GST_ELEMENT_REGISTER_DECLARE (vkgdrexampletint)

#define N_STATES 4 /* NULL, READY, PAUSED, PLAYING */

#define MAX_ORDER 4

/* The longest time of a change of state. */
#define PATIENCE (20 * GST_SECOND)

static GstState
nth_state (guint n)
{
  return GST_STATE_NULL + n;
}

static void
setup (void)
{
  test_setup ();
  test_frames_register ();
  GST_ELEMENT_REGISTER (vkgdrexampleborder, NULL);
  GST_ELEMENT_REGISTER (vkgdrexampletint, NULL);
}

/* --- every order --------------------------------------------------------- */

/* Calls @visit with one state after the other, so that every sequence of @order
 * states occurs. This is a de Bruijn sequence: each step takes the highest
 * state that makes a new sequence. It begins after NULL, and ends with NULL. */
static void
walk (guint order, void (*visit) (gpointer user_data, GstState state),
    gpointer user_data)
{
  gboolean seen[1 << 2 * MAX_ORDER] = { FALSE };
  guint mask = (1 << 2 * order) - 1, last = 0, next;
  gint n;

  g_assert (order <= MAX_ORDER);
  do {
    for (n = N_STATES - 1; n >= 0; n--) {
      next = (last << 2 | (guint) n) & mask;
      if (!seen[next])
        break;
    }
    if (n < 0)
      break;
    seen[next] = TRUE;
    last = next;
    visit (user_data, nth_state (n));
  } while (TRUE);
  visit (user_data, GST_STATE_NULL);
}

typedef struct {
  guint order;
  gboolean seen[1 << 2 * MAX_ORDER];
  guint n, last;
} Sequences;

static void
note_state (gpointer user_data, GstState state)
{
  Sequences *s = user_data;

  s->last =
      (s->last << 2 | (state - GST_STATE_NULL)) & ((1 << 2 * s->order) - 1);
  if (++s->n >= s->order)
    s->seen[s->last] = TRUE;
}

TEST_PARALLEL (2);

TEST_FIXTURE (setup, test_teardown);

/* Checks the walk itself: it contains every sequence. */
TEST (walk_has_all_orders)
{
  guint order, i;

  for (order = 1; order <= MAX_ORDER; order++) {
    Sequences s = { .order = order, .n = order - 1 }; /* the state before the
                                                       * first one is NULL */

    walk (order, note_state, &s);
    for (i = 0; i < 1u << 2 * order; i++)
      fail_unless (s.seen[i], "order %u: sequence %u is missing", order, i);
  }
}

/* --- one element --------------------------------------------------------- */

static const gchar *element_names[] = { "vkgdrupload", "cudafilter",
  "vkgdrdownload", "vkgdrexampletint", "vkgdrexampleborder" };

/* The length of the sequences. It is shorter if each start opens a device,
 * because drivers take long for that. */
static guint
alone_order (gboolean has_context)
{
  if (!has_context || test_is_on_valgrind ())
    return 2;
  return test_is_slow () ? 3 : 4;
}

static void
set_state_alone (gpointer element, GstState state)
{
  fail_unless_equals_int (
      gst_element_set_state (element, state), GST_STATE_CHANGE_SUCCESS);
}

/* Sends flush events from both sides. No neighbour receives them. */
static void
set_state_and_flush (gpointer element, GstState state)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstPad) src = gst_element_get_static_pad (element, "src");

  set_state_alone (element, state);
  gst_pad_send_event (sink, gst_event_new_flush_start ());
  gst_pad_send_event (src, gst_event_new_flush_start ());
  gst_pad_send_event (sink, gst_event_new_flush_stop (TRUE));
  gst_pad_send_event (src, gst_event_new_flush_stop (TRUE));
  fail_unless_equals_int (GST_STATE (element), state);
}

static void
check_element (const gchar *name,
    void (*visit) (gpointer user_data, GstState state),
    GstVkgdrContext *context)
{
  g_autoptr (GstElement) element = gst_element_factory_make (name, NULL);
  GstBus *bus = gst_bus_new ();

  fail_unless (element != NULL, "there is no %s", name);
  gst_element_set_bus (element, bus);
  if (context) {
    test_set_context (element, context);
  }
  walk (alone_order (context != NULL), visit, element);
  fail_unless (
      gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR) == NULL, "%s fails", name);
  gst_bus_set_flushing (bus, TRUE);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  ASSERT_OBJECT_REFCOUNT (element, name, 1);
}

TEST_LOOP (element, G_N_ELEMENTS (element_names))
{
  check_element (element_names[__i__], set_state_alone, test_context);
}

TEST_LOOP (element_flushes, G_N_ELEMENTS (element_names))
{
  check_element (element_names[__i__], set_state_and_flush, test_context);
}

/* No context is given. The element opens the device, and closes it when it is
 * freed. */
TEST_LOOP (element_opens_the_device, G_N_ELEMENTS (element_names))
{
  guint fds = 0;
  guint i;

  for (i = 0; i < 3; i++) {
    check_element (element_names[__i__], set_state_alone, NULL);
    if (i == 0)
      fds = test_count_fds ();
  }
  test_assert_fds (fds);
}

/* --- pipelines ----------------------------------------------------------- */

#define FRAMES "video/x-raw,format=RGBx,width=64,height=48,framerate=1000/1"

static const gchar *pipelines[] = {
  "videotestsrc ! " FRAMES " ! vkgdrupload name=up ! "
  "cudafilter name=filter kernel=invert ! vkgdrdownload name=down ! "
  "fakesink name=sink sync=true",
  "videotestsrc ! " FRAMES " ! queue ! vkgdrupload name=up access=staged ! "
  "queue ! cudafilter name=filter kernel=blur ! queue ! "
  "vkgdrdownload name=down ! queue ! fakesink name=sink sync=true",
  /* a source that has no data in PAUSED */
  "videotestsrc is-live=true ! " FRAMES " ! vkgdrupload name=up ! queue ! "
  "cudafilter name=filter kernel=flip ! vkgdrdownload name=down ! "
  "fakesink name=sink sync=true",
  /* foreign memory, which is pinned and sent by DMA */
  "testframes foreign=true buffers=2 ! "
  "video/x-raw,format=GRAY8,width=512,height=512,framerate=1000/1 ! "
  "vkgdrupload name=up ! cudafilter name=filter pixel=rgba.r*=0.5f ! "
  "vkgdrdownload name=down ! fakesink name=sink sync=true",
  "videotestsrc ! " FRAMES " ! vkgdrupload name=up ! vkgdrexampletint ! "
  "vkgdrexampleborder name=filter ! vkgdrdownload name=down ! "
  "fakesink name=sink sync=true",
  "audiotestsrc samplesperbuffer=64 ! vkgdrupload name=up ! tee name=filter ! "
  "vkgdrdownload name=down ! fakesink name=sink sync=true",
};

typedef struct {
  GstElement *pipeline;
  GstBus *bus;
  GstVkgdrAllocator *allocator;
  GstElement *sink;
  gint frames; /* atomic */
  gint steps;
  gboolean is_changing;  /* the last state has not been reached yet */
  gboolean was_changing; /* the same, before the last step */
} Run;

static void
on_handoff (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer frames)
{
  g_atomic_int_inc ((gint *) frames);
}

static void
run_init (Run *run, const gchar *description)
{
  memset (run, 0, sizeof (*run));
  run->pipeline = test_launch ("%s", description);
  run->bus = gst_element_get_bus (run->pipeline);
  run->allocator = test_allocator ();
  run->sink = gst_bin_get_by_name (GST_BIN (run->pipeline), "sink");
  test_set_context (run->pipeline, test_context);
  g_object_set (run->sink, "signal-handoffs", TRUE, NULL);
  g_signal_connect (
      run->sink, "handoff", G_CALLBACK (on_handoff), &run->frames);
}

/* Whether the error is one that GStreamer's own elements also cause if a
 * pipeline is stopped before it has started. If an event reaches a pad that is
 * being deactivated, pushing it fails, and the source posts an error. A queue
 * posts this error if it gets another event after the failure. Without elements
 * of this project, one in a hundred walks has this error, too. If an element of
 * this project fails, it posts its own error before. */
static gboolean
is_error_of_stopping (Run *run, GstMessage *message)
{
  GstObject *poster = GST_MESSAGE_SRC (message);
  g_autoptr (GError) error = NULL;
  gboolean result;

  gst_message_parse_error (message, &error, NULL);
  result =
      run->was_changing
      && (GST_IS_BASE_SRC (poster)
          || g_str_equal (G_OBJECT_TYPE_NAME (poster), "GstQueue"))
      && g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  return result;
}

/* Returns whether there was such an error. Fails if there is another one. */
static gboolean
check_errors (Run *run)
{
  GstMessage *message;
  gboolean has_stopped = FALSE;
  GError *error = NULL;
  gchar *details = NULL;

  while ((message = gst_bus_pop_filtered (run->bus, GST_MESSAGE_ERROR))) {
    gst_message_parse_error (message, &error, &details);
    fail_unless (is_error_of_stopping (run, message), "step %d: %s (%s)",
        run->steps, error->message, details);
    has_stopped = TRUE;
    g_clear_error (&error);
    g_free (details);
    gst_message_unref (message);
  }
  return has_stopped;
}

static GstStateChangeReturn
wait_for_state (Run *run, GstState *current)
{
  return gst_element_get_state (run->pipeline, current, NULL, PATIENCE);
}

/* Waits until the pipeline has reached @state. */
static void
check_arrival (Run *run, GstState state)
{
  GstStateChangeReturn result;
  GstState current;

  result = wait_for_state (run, &current);
  if (check_errors (run)) {
    gst_element_set_state (run->pipeline, GST_STATE_NULL);
    gst_element_set_state (run->pipeline, state);
    result = wait_for_state (run, &current);
    run->was_changing = FALSE;
    check_errors (run);
  }
  run->is_changing = run->was_changing = FALSE;
  fail_unless (result == GST_STATE_CHANGE_SUCCESS
                   || result == GST_STATE_CHANGE_NO_PREROLL,
      "step %d, to %s: %s", run->steps, gst_element_state_get_name (state),
      gst_element_state_change_return_get_name (result));
  fail_unless_equals_int (current, state);
  if (state > GST_STATE_READY)
    return;
  /* A block is active until the transfer of its content is over. */
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (run->allocator), 0);
}

/* Checks that frames arrive in PLAYING. */
static void
check_flow (Run *run)
{
  gint64 end = g_get_monotonic_time () + PATIENCE / GST_USECOND;
  gint before = g_atomic_int_get (&run->frames);

  while (g_atomic_int_get (&run->frames) - before < 3) {
    fail_unless (g_get_monotonic_time () < end, "nothing flows");
    g_usleep (500);
  }
  check_errors (run);
}

static void
set_state (Run *run, GstState state)
{
  run->steps++;
  run->was_changing = run->is_changing;
  run->is_changing = TRUE;
  fail_unless (
      gst_element_set_state (run->pipeline, state) != GST_STATE_CHANGE_FAILURE);
}

/* Checks that the pipeline still plays and ends, and that it leaves nothing
 * behind. */
static void
run_clear (Run *run)
{
  GstMessage *message;

  set_state (run, GST_STATE_PLAYING);
  check_arrival (run, GST_STATE_PLAYING);
  check_flow (run);
  gst_element_send_event (run->pipeline, gst_event_new_eos ());
  message = gst_bus_timed_pop_filtered (
      run->bus, PATIENCE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL, "there is no end");
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  set_state (run, GST_STATE_NULL);
  check_arrival (run, GST_STATE_NULL);
  gst_object_unref (run->allocator);
  gst_object_unref (run->sink);
  gst_object_unref (run->bus);
  /* A thread of GStreamer may still hold the last message of the pipeline. */
  test_wait_for (GST_OBJECT_REFCOUNT_VALUE (run->pipeline) == 1);
  gst_object_unref (run->pipeline);
}

static void
go_and_wait (gpointer run, GstState state)
{
  set_state (run, state);
  check_arrival (run, state);
}

static void
go_and_play (gpointer run, GstState state)
{
  go_and_wait (run, state);
  if (state == GST_STATE_PLAYING)
    check_flow (run);
}

static void
go (gpointer run, GstState state)
{
  set_state (run, state);
}

static void
flush (Run *run)
{
  /* If the source does not run, it ignores the event. */
  gst_element_seek_simple (run->pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      (run->steps % 3) * 100 * GST_MSECOND);
}

/* Flushes once or twice, with and without waiting for the state. */
static void
go_and_flush (gpointer user_data, GstState state)
{
  Run *run = user_data;

  set_state (run, state);
  if (run->steps % 2)
    check_arrival (run, state);
  flush (run);
  if (run->steps % 5 == 0)
    flush (run);
  if (run->steps % 4)
    check_arrival (run, state);
}

static void
check_walk (guint i, void (*visit) (gpointer user_data, GstState state))
{
  Run run;

  run_init (&run, pipelines[i]);
  walk (test_is_slow () ? 2 : 3, visit, &run);
  run_clear (&run);
}

TEST_LOOP (pipeline, G_N_ELEMENTS (pipelines))
{
  check_walk (__i__, go_and_wait);
}

TEST_LOOP (pipeline_plays, G_N_ELEMENTS (pipelines))
{
  check_walk (__i__, go_and_play);
}

/* The next change of state comes before the previous one is complete. */
TEST_LOOP (pipeline_without_waits, G_N_ELEMENTS (pipelines))
{
  check_walk (__i__, go);
}

TEST_LOOP (pipeline_flushes, G_N_ELEMENTS (pipelines))
{
  check_walk (__i__, go_and_flush);
}

/* --- other threads ------------------------------------------------------- */

static guint
rounds (guint n)
{
  return test_is_slow () ? MAX (n / 10, 2) : n;
}

typedef struct {
  Run *run;
  gulong delay; /* microseconds */
} Stop;

static gpointer
stop (gpointer user_data)
{
  Stop *s = user_data;

  g_usleep (s->delay);
  gst_element_set_state (s->run->pipeline, GST_STATE_NULL);
  return NULL;
}

/* The pipeline is stopped at different moments of a start, and while data
 * flow. */
TEST_LOOP (another_thread_stops, G_N_ELEMENTS (pipelines))
{
  guint n = rounds (30), i;
  Run run;

  run_init (&run, pipelines[__i__]);
  for (i = 0; i < n; i++) {
    Stop s = { &run, i * 800 };
    GThread *thread = g_thread_new ("stop", stop, &s);

    set_state (&run, GST_STATE_PLAYING);
    g_thread_join (thread);
    /* the other thread may have been faster */
    set_state (&run, GST_STATE_NULL);
    check_arrival (&run, GST_STATE_NULL);
  }
  run_clear (&run);
}

typedef struct {
  Run *run;
  guint seed;
} Turns;

static gpointer
take_turns (gpointer user_data)
{
  Turns *t = user_data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (t->seed);
  guint n = rounds (30), i;

  for (i = 0; i < n; i++) {
    gst_element_set_state (
        t->run->pipeline, nth_state (g_rand_int_range (rand, 0, N_STATES)));
    if (i % 4 == 0)
      flush (t->run);
    g_usleep (g_rand_int_range (rand, 0, 3000));
  }
  return NULL;
}

TEST_LOOP (threads_disagree, G_N_ELEMENTS (pipelines))
{
  Turns turns[3];
  GThread *threads[G_N_ELEMENTS (turns)];
  guint i;
  Run run;

  run_init (&run, pipelines[__i__]);
  for (i = 0; i < G_N_ELEMENTS (turns); i++) {
    turns[i].run = &run;
    turns[i].seed = i;
    threads[i] = g_thread_new ("turns", take_turns, &turns[i]);
  }
  for (i = 0; i < G_N_ELEMENTS (turns); i++)
    g_thread_join (threads[i]);
  set_state (&run, GST_STATE_NULL);
  check_arrival (&run, GST_STATE_NULL);
  run_clear (&run);
}

typedef struct {
  GstElement *element;
  gint is_over; /* atomic */
} Question;

static gpointer
ask (gpointer user_data)
{
  Question *q = user_data;
  GstPad *pads[] = { gst_element_get_static_pad (q->element, "sink"),
    gst_element_get_static_pad (q->element, "src") };
  guint i;

  for (i = 0; !g_atomic_int_get (&q->is_over); i++)
    gst_caps_unref (gst_pad_query_caps (pads[i % 2], NULL));
  gst_object_unref (pads[0]);
  gst_object_unref (pads[1]);
  return NULL;
}

/* Another thread queries caps while the element starts, works with parameters
 * that change, and stops. */
TEST (caps_queries_all_the_time)
{
  guint n = rounds (20), i, k;
  GThread *thread;
  Question q;
  Run run;

  run_init (&run, pipelines[2]);
  q.element = gst_bin_get_by_name (GST_BIN (run.pipeline), "filter");
  g_atomic_int_set (&q.is_over, FALSE);
  thread = g_thread_new ("ask", ask, &q);
  for (i = 0; i < n; i++) {
    go_and_play (&run, GST_STATE_PLAYING);
    for (k = 0; k < 10; k++) {
      gst_util_set_object_arg (G_OBJECT (q.element), "params",
          k % 2 ? "params,method=2" : "params,method=4");
      g_usleep (200);
    }
    go_and_wait (&run, GST_STATE_READY);
  }
  g_atomic_int_set (&q.is_over, TRUE);
  g_thread_join (thread);
  gst_object_unref (q.element);
  run_clear (&run);
}

/* One element is stopped while the others run. Then the whole pipeline starts
 * again. */
static void
check_one_of_many (Run *run, const gchar *name, GstState state)
{
  g_autoptr (GstElement) element =
      gst_bin_get_by_name (GST_BIN (run->pipeline), name);

  set_state (run, GST_STATE_PLAYING);
  check_arrival (run, GST_STATE_PLAYING);
  check_flow (run);
  gst_element_set_locked_state (element, TRUE);
  fail_unless_equals_int (
      gst_element_set_state (element, state), GST_STATE_CHANGE_SUCCESS);
  g_usleep (2000);
  check_errors (run);
  gst_element_set_locked_state (element, FALSE);
  set_state (run, GST_STATE_READY);
  check_arrival (run, GST_STATE_READY);
  set_state (run, GST_STATE_PLAYING);
  check_arrival (run, GST_STATE_PLAYING);
  check_flow (run);
}

TEST_LOOP (one_of_many_stops, G_N_ELEMENTS (pipelines))
{
  static const gchar *names[] = { "up", "filter", "down" };
  guint i, k;
  Run run;

  run_init (&run, pipelines[__i__]);
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    for (k = 0; k < N_STATES - 1; k++)
      check_one_of_many (&run, names[i], nth_state (k));
  run_clear (&run);
}
