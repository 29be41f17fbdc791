/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * util.h: what the tests of the library and the elements share
 */

#ifndef __TEST_UTIL_H__
#define __TEST_UTIL_H__

#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>
#include <gst/vkgdr/vkgdr.h>

#include "memory/memory-private.h"

G_BEGIN_DECLS

/* A context of the default device; fails the test where there is none. */
GstVkgdrContext *test_context_new (void);

/* A checked fixture: @test_context, of a device whose window is not cached, or
 * as it is; and after the test, that nobody holds it any more. */
extern GstVkgdrContext *test_context;
void test_setup_bar (void);
void test_setup (void);
/* Fails unless nobody else has @context, once what was freed has been given
 * back to the driver. */
void test_assert_last_ref (GstVkgdrContext *context);

void test_teardown (void);

/* Runs this test program once more, in a process whose end is part of the test:
 * with the environment variable @name set to @value, for which the program has
 * another suite, and without libcheck's processes. Fails the test unless the
 * exit status is 0. */
void test_run_again (const gchar *name, const gchar *value);

GstVkgdrStream *test_stream_new (GstVkgdrContext *context);

/* Memory of the context's allocator; fails the test where there is none. */
GstMemory *test_memory_new (GstVkgdrContext *context, gsize size);

/* Keeps @stream busy for @ms milliseconds; sets *@done (nullable) to TRUE when
 * it is over. */
void test_stream_delay (GstVkgdrStream *stream, guint ms, gint *done);

/* What the device holds, fetched without a mapping; the caller frees it. */
guint8 *test_device_bytes (GstMemory *memory);

/* The byte at @i of pattern number @seed. */
guint8 test_pattern (gsize i, guint seed);
void test_fill (guint8 *data, gsize size, guint seed);
gboolean test_matches (const guint8 *data, gsize size, guint seed);

/* Open file descriptors of this process. */
guint test_count_fds (void);

/* Fails the test unless there come to be no more than @expected. A thread that
 * has just ended may give its own back a moment later. */
void test_assert_fds (guint expected);

/* A parsed pipeline; fails the test where it cannot be parsed. */
GstElement *test_launch (const gchar *format, ...) G_GNUC_PRINTF (1, 2);

/* Plays to the end; fails the test on an error. */
void test_play (GstElement *pipeline);

/* Plays until the end, NULL, or until there is an error, which it returns, and
 * stops. The caller frees it. */
GError *test_play_result (GstElement *pipeline);

/* The same; fails the test where the stream ends without an error. */
GError *test_play_error (GstElement *pipeline);

/* Pulls all buffers of the appsink named "sink" until EOS; the caller frees
 * them. Leaves the pipeline stopped. */
GPtrArray *test_play_buffers (GstElement *pipeline);

/* Frames of GRAY8, each byte of which says what frame it is of, and where. */
guint8 test_frame_byte (guint frame, guint x, guint y);

/* The same in CUDA C, as expected (frame, x, y). */
#define TEST_FRAME_SOURCE \
  "__device__ static unsigned char " \
  "expected (unsigned long long frame, int x, int y) {" \
  " return (unsigned char) (frame * 7 + y * 5 + x); }"

/* Registers the element "testframes", a source of GRAY8 that fills its buffers
 * with test_frame_byte () as fast as it can. They are from downstream's pool,
 * or with foreign=true from one of its own, of ordinary memory; either way of
 * as many buffers as its property `buffers` says, at least or at the most. */
void test_frames_register (void);

/* As gst_check_vkgdr_spy_*: calls of the driver, counted. The table of entry
 * points is shared by the process, and each test is a process. */
typedef struct {
  guint htod;
  guint dtoh;
} TestSpy;

extern TestSpy test_spy;
void test_spy_install (GstVkgdrContext *context);

/* Whether the default device is the software one; opens it. */
gboolean test_is_software (void);

/* Whether the default device has a window; opens it. Without one, a test that
 * is about the window has nothing to check: it prints that it is skipped. */
gboolean test_has_window (void);

/* Lets calls of the software driver fail, as SOFTCUDA_FAIL does, or with NULL
 * none any more. That driver must have been opened. */
void test_make_calls_fail (const gchar *spec);

/* How often this thread has called @name of the software driver, or with "*"
 * any entry point. That driver must have been opened. */
gulong test_count_calls (const gchar *name);

/* Waits until what was set on a cudafilter is ready for its next frame. */
void test_settle (GstElement *filter);

G_END_DECLS

#endif /* __TEST_UTIL_H__ */
