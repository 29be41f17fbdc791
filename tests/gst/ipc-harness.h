/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-harness.h: a vkgdripcsink and a vkgdripcsrc in one process
 *
 * A test has one of each, in harnesses.
 */

#ifndef __TEST_IPC_HARNESS_H__
#define __TEST_IPC_HARNESS_H__

#include <gst/check/gstharness.h>

#include "ipc-process.h"
#include "util.h"

G_BEGIN_DECLS

/* The size of a frame in bytes. */
#define TEST_IPC_SIZE (TEST_IPC_WIDTH * TEST_IPC_HEIGHT)

/* NULL if the element does not exist. */
extern GstHarness *test_sink, *test_src;

/* Makes test_sink: a vkgdripcsink with @properties in the syntax of
 * gst-launch-1.0. It does not wait for the clock. */
void test_ipc_serve (const gchar *properties);

/* Makes test_src. test_ipc_connect () also waits until it is connected as the
 * only client. */
void test_ipc_start_client (void);
void test_ipc_connect (void);

/* Makes both. Returns FALSE, and prints why, if memory cannot be exported. */
gboolean test_ipc_begin (const gchar *properties);

/* Stop and free test_src, and test_sink, if they exist. The end of a test does
 * both. */
void test_ipc_disconnect (void);
void test_ipc_stop (void);

/* Makes frame @number, which shares its allocation with no other memory. */
GstBuffer *test_ipc_new_frame (guint number);

/* Fills @buffer with the content and the timestamp of frame @number, and
 * returns it. */
GstBuffer *test_ipc_fill (GstBuffer *buffer, guint number);

/* Push a buffer to test_sink. test_ipc_push () pushes a new frame. */
void test_ipc_push (guint number);
void test_ipc_push_buffer (GstBuffer *buffer);
void test_ipc_push_event (GstEvent *event);

/* Flushes test_sink, and pushes a segment. */
void test_ipc_flush (void);

/* Returns the next frame of test_src, which must be frame @number. The caller
 * frees it. */
GstBuffer *test_ipc_pull (guint number);
void test_ipc_pull_and_drop (guint number);

/* Returns the next event of this type. The caller frees it. */
GstEvent *test_ipc_pull_event (GstEventType type);

/* Returns a field of the property `stats` of test_sink. */
guint64 test_ipc_sink_stat (const gchar *name);

G_END_DECLS

#endif /* __TEST_IPC_HARNESS_H__ */
