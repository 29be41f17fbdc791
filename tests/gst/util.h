/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * util.h: functions that the tests of the library and the elements share
 */

#ifndef __TEST_UTIL_H__
#define __TEST_UTIL_H__

#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/vkgdr/vkgdr.h>

#include "bytes.h"
#include "case.h"
#include "driver.h"
#include "memory/memory-private.h"
#include "slow.h"

G_BEGIN_DECLS

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstHarness, gst_harness_teardown)

/* Returns a context of the default device. Fails the test if there is none. */
GstVkgdrContext *test_context_new (void);

/* Whether the suite no-vulkan runs the test, so that no device has a window. */
gboolean test_hides_vulkan (void);
/* Sets VKGDR_DEBUG for the next context, but not in the suite no-vulkan. */
void test_set_debug (const gchar *words);

/* A checked fixture. @test_context is a context of a device with a window that
 * is not cached (test_setup_bar; in the suite no-vulkan without a window), or
 * of the device without changes (test_setup). test_teardown () checks that
 * nothing else holds it. */
extern GstVkgdrContext *test_context;
void test_setup_bar (void);
void test_setup (void);
/* Fails unless the caller has the only reference to @context, after freed
 * memory has been returned to the driver. */
void test_assert_last_ref (GstVkgdrContext *context);

void test_teardown (void);

/* Returns a harness of these elements, which use @test_context. So it accepts
 * memory of that context. */
GstHarness *test_harness_parse (const gchar *description);

/* Makes an element or a pipeline use @context. */
void test_set_context (GstElement *element, GstVkgdrContext *context);

/* Sets environment variables: "NAME=value NAME=value". */
void test_set_environment (const gchar *settings);

/* Returns a number of the property `stats` of @element, or of the element @name
 * in @bin. Fails the test if there is none. */
guint64 test_stat (GstElement *element, const gchar *field);
guint64 test_stat_of (GstElement *bin, const gchar *name, const gchar *field);

GstVkgdrStream *test_stream_new (GstVkgdrContext *context);

/* A pool of @test_context that is active. @caps may be NULL. The pool is
 * stopped when the test frees it. */
GstBufferPool *test_pool_new (
    const gchar *caps, guint size, guint min, guint max);
/* Starts any other pool, and returns it. */
GstBufferPool *test_pool_start (
    GstBufferPool *pool, const gchar *caps, guint size, guint min, guint max);
GstBuffer *test_pool_acquire (GstBufferPool *pool);
void test_pool_free (GstBufferPool *pool);

/* Returns an array (guint64) to which the device pointer of each buffer that
 * passes the pad of the element @name is appended: that of its first memory,
 * also of GStreamer's CUDA elements, or 0. */
GArray *test_note_pointers (
    GstElement *bin, const gchar *name, const gchar *pad);

/* Adds a probe to the pad of the element @name. */
void test_add_probe (GstElement *bin, const gchar *name, const gchar *pad,
    GstPadProbeType type, GstPadProbeCallback callback, gpointer user_data);

/* The kernel of @source, CUDA source with one kernel. */
GstVkgdrFunction *test_function_new (
    GstVkgdrContext *context, const gchar *source);

/* Allocates memory with the context's allocator. Fails the test if there is
 * none. */
GstMemory *test_memory_new (GstVkgdrContext *context, gsize size);

/* Returns a new reference to the allocator of @test_context. */
GstVkgdrAllocator *test_allocator (void);

/* Returns a buffer of @test_context whose memory shares its allocation with no
 * other memory. */
GstBuffer *test_exportable_buffer_new (gsize size);

/* Keeps @stream busy for @ms milliseconds. Sets *@done (nullable) to TRUE at
 * the end. */
void test_stream_delay (GstVkgdrStream *stream, guint ms, gint *done);

/* Returns the content on the device, which is transferred without a mapping.
 * The caller frees it. */
guint8 *test_device_bytes (GstMemory *memory);

/* Writes pattern number @seed to all bytes of a memory; fails the test unless
 * the CPU reads this pattern, or the device has it. */
void test_write (GstMemory *memory, guint seed);
void test_assert_read (GstMemory *memory, guint seed);
void test_assert_device (GstMemory *memory, guint seed);

/* Copies the content of a buffer. The caller frees it. */
guint8 *test_buffer_bytes (GstBuffer *buffer, gsize *size);

/* Fails the test unless there is an error whose message contains @parts (see
 * test_contains ()). Frees it. */
void test_assert_says (GError *error, const gchar *parts);

/* Fails the test unless the number of open file descriptors falls to @expected
 * or less. A thread that has just ended may close its descriptors a moment
 * later. */
void test_assert_fds (guint expected);

/* Parses a pipeline. Fails the test if it cannot be parsed. */
GstElement *test_launch (const gchar *format, ...) G_GNUC_PRINTF (1, 2);

/* Returns the element @name of @bin, to which @bin keeps a reference. */
GstElement *test_find (GstElement *bin, const gchar *name);

/* Returns the context that this element has. */
GstVkgdrContext *test_context_of (GstElement *bin, const gchar *name);

/* Returns a line with the message's type and source, and its error, warning or
 * info with the details, for the text of a failed test. The caller frees it. */
gchar *test_message_text (GstMessage *message);

/* Waits until the pipeline is in PAUSED. Fails the test if it does not get
 * there. */
void test_preroll (GstElement *pipeline);

/* Plays to the end, and lets the pipeline in PLAYING. */
void test_play_on (GstElement *pipeline);

/* Plays to the end. Fails the test on an error. */
void test_play (GstElement *pipeline);

/* Plays until the end or until an error, and stops. Returns the error, which
 * the caller frees, or NULL. */
GError *test_play_result (GstElement *pipeline);

/* The same, but fails the test if there is no error. */
GError *test_play_error (GstElement *pipeline);

/* Plays until an error whose message contains @parts (see test_contains ()),
 * and stops. Other errors may come first: a source that finds no caps posts
 * one, and then ends its stream. */
GError *test_play_error_with (GstElement *pipeline, const gchar *parts);

/* Pulls all buffers of the appsink named "sink" until EOS, and stops the
 * pipeline. The caller frees them. */
GPtrArray *test_play_buffers (GstElement *pipeline);

/* Frames of GRAY8, in which each byte depends on the frame and on its
 * position. */
guint8 test_frame_byte (guint frame, guint x, guint y);

/* The same in CUDA C, as expected (frame, x, y). */
#define TEST_FRAME_SOURCE \
  "__device__ static unsigned char " \
  "expected (unsigned long long frame, int x, int y) {" \
  " return (unsigned char) (frame * 7 + y * 5 + x); }"

/* Registers the element "testframes", a source of GRAY8 that fills its buffers
 * with test_frame_byte () as fast as possible. The buffers are from the pool
 * that downstream offers, and the property `buffers` is the minimum number of
 * its buffers. If downstream offers none, they are from a pool of the source,
 * of ordinary memory, and `buffers` is the maximum number. Behind TEST_FOREIGN,
 * no pool is offered. */
#define TEST_FOREIGN " ! identity drop-allocation=true"
void test_frames_register (void);

/* Returns the driver's table of functions, so that the test can replace some.
 * *@real gets the functions as they were. */
vkgdr_cuda *test_change_driver (vkgdr_cuda *real);

/* Counts transfers to the device and to the host, after test_spy_install () has
 * replaced the functions in the table of entry points. The table belongs to the
 * process, and each test is a process. */
typedef struct {
  guint htod;
  guint dtoh;
  void (*before) (CUstream stream); /* called before each, or NULL */
} TestSpy;

extern TestSpy test_spy;
void test_spy_install (GstVkgdrContext *context);

/* Whether the default device is the software device. Loads the driver. */
gboolean test_is_software (void);

/* For TEST_REQUIRE: skip the program unless the default device is the software
 * device, or unless it is an NVIDIA GPU. */
void test_require_software (void);
void test_require_gpu (void);

/* Whether the default device has a window. Opens the device. If there is no
 * window, prints that the test is skipped, because there is nothing to
 * check. */
gboolean test_has_window (void);

/* Makes calls of the software driver fail, as SOFTCUDA_FAIL does. With NULL,
 * they work again. The driver must have been opened. */
void test_make_calls_fail (const gchar *spec);

/* Returns how often this thread has called @name of the software driver, or
 * with "*" any entry point. The driver must have been opened. */
gulong test_count_calls (const gchar *name);

/* Waits until the properties of a cudafilter have taken effect for its next
 * frame. */
void test_settle (GstElement *filter);

G_END_DECLS

#endif /* __TEST_UTIL_H__ */
