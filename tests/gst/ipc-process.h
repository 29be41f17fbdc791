/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-process.h: what all tests of vkgdripcsink and vkgdripcsrc share
 */

#ifndef __TEST_IPC_PROCESS_H__
#define __TEST_IPC_PROCESS_H__

#include "util.h"

G_BEGIN_DECLS

/* For TEST_REQUIRE: skips the program if memory of the device cannot be
 * exported. */
void test_ipc_require_window (void);

/* A checked fixture: test_setup_bar (), or test_setup () if VKGDR_DEBUG is set;
 * the element "testframes"; and test_ipc_path, the path of a socket in a folder
 * of its own. */
extern gchar *test_ipc_path;
void test_ipc_setup (void);
void test_ipc_teardown (void);

/* Makes a pipeline of @source and a vkgdripcsink "ipc" with @properties, which
 * serves test_ipc_path. It has the test's context, and waits for its clients in
 * PAUSED. */
GstElement *test_ipc_new_server (const gchar *source, const gchar *properties);

/* Waits until @element has @n clients. */
void test_ipc_wait_clients (GstElement *element, guint n);

/* The size of all frames. */
#define TEST_IPC_WIDTH 64
#define TEST_IPC_HEIGHT 48
#define TEST_IPC_SIZE (TEST_IPC_WIDTH * TEST_IPC_HEIGHT) /* in bytes */
#define TEST_IPC_CAPS \
  "video/x-raw,format=GRAY8,width=64,height=48,framerate=1000/1"

/* Writes the bytes of a frame of "testframes"; returns whether all bytes of
 * @buffer belong to its timestamp. */
void test_ipc_fill (guint8 *bytes, guint number);
gboolean test_ipc_is_whole (GstBuffer *buffer);

G_END_DECLS

#endif /* __TEST_IPC_PROCESS_H__ */
